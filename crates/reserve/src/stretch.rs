//! What became of the jobs of a stretch: a thread that is behind may work off several in a row without a sleep between them.

use crate::Activation;

/// After fewer jobs with a sleep of their own it is not known how much CPU time one usually takes.
const ENOUGH: u64 = 8;

/// How much CPU time a job with a sleep of its own takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Usual {
    jobs: u64,
    executed_ns: u64,
}

impl Usual {
    /// Takes one that executed this long, ns.
    pub(crate) fn take(&mut self, executed_ns: u64) {
        self.jobs += 1;
        self.executed_ns = self.executed_ns.saturating_add(executed_ns);
    }

    /// The mean, ns, above 0; `otherwise_ns` as long as too few are known.
    pub(crate) fn or(&self, otherwise_ns: u64) -> u64 {
        if self.jobs < ENOUGH { otherwise_ns.max(1) } else { (self.executed_ns / self.jobs).max(1) }
    }
}

/// The jobs that are judged: their period and deadline, and the CPU time that one usually takes, all ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) period_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) usual_ns: u64,
}

/// What became of the jobs that were released within a stretch. Those that were certainly passed over are none of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StretchJobs {
    /// Certainly.
    pub(crate) on_time: u64,
    /// Certainly.
    pub(crate) late: u64,
    /// On time, late, or passed over.
    pub(crate) unclear: u64,
    /// Those among them that were worked off without a sleep before them.
    pub(crate) caught_up: u64,
}

/// How many of the jobs released within a stretch were worked off in it.
enum WorkedOff {
    One,
    All,
    Unknown,
}

/// Judges the jobs of a stretch in which so many were released, the first at its beginning.
pub(crate) fn judge(stretch: &Activation, released: u64, kind: Kind) -> StretchJobs {
    let first_is_late = u64::from(stretch.response_ns() > kind.deadline_ns);
    let first_is_on_time = 1 - first_is_late;
    match worked_off(stretch, released, kind) {
        WorkedOff::One => StretchJobs { on_time: first_is_on_time, late: first_is_late, ..StretchJobs::default() },
        WorkedOff::All => {
            let (least, most) = late_of_all(stretch, released, kind);
            StretchJobs { on_time: released - most, late: least, unclear: most - least, caught_up: released - 1 }
        }
        WorkedOff::Unknown => {
            let late = first_is_late.min(late_of_all(stretch, released, kind).0);
            let unclear = released - first_is_on_time - late;
            StretchJobs { on_time: first_is_on_time, late, unclear, caught_up: 0 }
        }
    }
}

/// By how much it executed: as much as these jobs usually take together, or as one does.
fn worked_off(stretch: &Activation, released: u64, kind: Kind) -> WorkedOff {
    let (executed_ns, usual_ns) = (stretch.executed_ns, kind.usual_ns);
    if released == 1 {
        return WorkedOff::One;
    }
    // Jobs in a row find their data in the caches.
    let is_work_of_all = executed_ns.saturating_mul(4) >= usual_ns.saturating_mul(released).saturating_mul(3);
    // Otherwise the first job was long by its own work: a usual one would have ended before the next release.
    let waited_ns = stretch.response_ns().saturating_sub(executed_ns);
    let was_behind = waited_ns.saturating_add(usual_ns + usual_ns / 4) >= kind.period_ns;
    if is_work_of_all && was_behind {
        WorkedOff::All
    } else if executed_ns.saturating_mul(4) <= usual_ns.saturating_mul(5) {
        WorkedOff::One
    } else {
        WorkedOff::Unknown
    }
}

/// How many jobs were late, at least and at most, if all were worked off. At the earliest each ended as if nothing but its equal
/// part of the work came before its end, though not before the next release, or the thread would have slept; at the latest with the
/// stretch.
fn late_of_all(stretch: &Activation, released: u64, kind: Kind) -> (u64, u64) {
    let length_ns = stretch.response_ns();
    let (mut least, mut most) = (0, 0);
    for number in 0..released {
        let after_ns = number.saturating_mul(kind.period_ns);
        let works_ns = stretch.executed_ns.saturating_mul(number + 1) / released;
        let earliest_ns = if number + 1 == released {
            length_ns
        } else {
            let next_ns = after_ns.saturating_add(kind.period_ns).saturating_add(1);
            stretch.latency_ns.saturating_add(works_ns).max(next_ns).min(length_ns)
        };
        let is_late = |ended_ns: u64| u64::from(ended_ns.saturating_sub(after_ns) > kind.deadline_ns);
        least += is_late(earliest_ns);
        most += is_late(length_ns);
    }
    (least, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    /// A stretch of a thread with 450 us of work every 1 ms.
    fn stretch(latency_ns: u64, executed_ns: u64, length_ns: u64) -> Activation {
        Activation { released_ns: 5 * MS, latency_ns, finished_ns: 5 * MS + length_ns, executed_ns }
    }

    fn kind(deadline_ns: u64) -> Kind {
        Kind { period_ns: MS, deadline_ns, usual_ns: 450 * US }
    }

    #[test]
    fn jobs_that_were_worked_off_in_a_row_are_judged_by_their_own_deadlines() {
        let jobs = |on_time, late, unclear, caught_up| StretchJobs { on_time, late, unclear, caught_up };
        // Latency, CPU time and length in us, the jobs released, the deadline in ms; what became of them.
        for (latency, executed, length, released, deadline, expected) in [
            // It was 2.1 ms late, and made up for it.
            (2_100, 1_800, 3_900, 4, 7, jobs(4, 0, 0, 3)),
            (2_100, 1_800, 3_900, 4, 1, jobs(1, 3, 0, 3)),
            // Nothing tells when the first one ended: before 3 ms, or with the stretch.
            (2_100, 1_800, 3_900, 4, 3, jobs(3, 0, 1, 3)),
            // It was too late when it began.
            (8_000, 6_750, 14_750, 15, 7, jobs(7, 3, 5, 14)),
            // One job took that long; the others are passed over.
            (2_100, 450, 3_900, 4, 7, jobs(1, 0, 0, 0)),
            (2_100, 450, 3_900, 4, 3, jobs(0, 1, 0, 0)),
            // Two to four were worked off, or none but the first one, and slowly.
            (2_100, 1_000, 3_900, 4, 7, jobs(1, 0, 3, 0)),
            (2_100, 1_000, 3_900, 4, 3, jobs(0, 0, 4, 0)),
            // Its own work was long, and another job of the usual length may have followed.
            (10, 1_300, 1_400, 2, 7, jobs(1, 0, 1, 0)),
            (10, 1_300, 1_400, 2, 1, jobs(0, 1, 1, 0)),
            // The next one had a wakeup of its own.
            (2_100, 1_800, 3_900, 1, 3, jobs(0, 1, 0, 0)),
        ] {
            let what = stretch(latency * US, executed * US, length * US);
            let found = judge(&what, released, kind(deadline * MS));
            assert_eq!(found, expected, "{latency} {executed} {length}, {released} jobs within {deadline} ms");
        }
    }

    #[test]
    fn the_usual_work_is_known_after_a_few_jobs() {
        let mut usual = Usual::default();
        for number in 0..ENOUGH {
            assert_eq!(usual.or(700), 700, "{number} jobs");
            usual.take(400 + 100 * (number % 2));
        }
        assert_eq!((usual.or(700), Usual::default().or(0)), (450, 1));
    }

    proptest! {
        #[test]
        fn no_job_is_counted_twice_and_a_later_deadline_makes_none_late(
            latency_ns in 0..20 * MS, executed_ns in 0..20 * MS, waited_ns in 0..20 * MS, deadline_ns in 1..30 * MS,
        ) {
            let stretch = stretch(latency_ns, executed_ns, latency_ns + executed_ns + waited_ns);
            let released = stretch.response_ns().saturating_sub(1) / MS + 1;
            let of = |deadline_ns| judge(&stretch, released, kind(deadline_ns));
            let (found, later) = (of(deadline_ns), of(deadline_ns + MS));
            prop_assert!(found.on_time + found.late + found.unclear <= released, "{:?}", found);
            prop_assert!(found.caught_up < released);
            prop_assert!(later.late <= found.late && later.on_time >= found.on_time, "{:?} {:?}", found, later);
            let is_late = stretch.response_ns() > deadline_ns;
            prop_assert!(is_late || found.late == 0, "{:?}", found);
        }
    }
}
