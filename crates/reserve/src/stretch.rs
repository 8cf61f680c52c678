//! What became of the jobs of a stretch: a thread that is behind may work off several in a row without a sleep between them.

use crate::habits::WhenBehind;
use crate::looks::{Kind, Looks, looks};
use crate::{Activation, Habits};

/// What became of the jobs that were released within a stretch. Those that are not due where a loop does not keep to a grid are none of
/// these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StretchJobs {
    /// Certainly.
    pub(crate) on_time: u64,
    /// Certainly.
    pub(crate) late: u64,
    /// Certainly passed over.
    pub(crate) missing: u64,
    /// On time, late, or passed over.
    pub(crate) unclear: u64,
    /// Those among them that were worked off without a sleep before them.
    pub(crate) caught_up: u64,
}

/// How many of the jobs released within a stretch were worked off in it.
enum WorkedOff {
    One,
    /// Whether each of them took about as long as any other.
    All(bool),
    Unknown,
}

/// Judges the jobs of a stretch in which so many were released, the first at its beginning.
pub(crate) fn judge(stretch: &Activation, released: u64, kind: Kind, habits: &Habits) -> StretchJobs {
    let first_is_late = u64::from(stretch.response_ns() > kind.deadline_ns);
    let first = StretchJobs { on_time: 1 - first_is_late, late: first_is_late, ..StretchJobs::default() };
    match worked_off(stretch, released, kind, habits) {
        WorkedOff::One => match habits.keeps_grid() {
            Some(true) => StretchJobs { missing: released - 1, ..first },
            Some(false) => first,
            None => StretchJobs { unclear: released - 1, ..first },
        },
        WorkedOff::All(is_even) => {
            let (least, most) = late_of_all(stretch, released, kind, is_even);
            let (unclear, caught_up) = (most - least, released - 1);
            StretchJobs { on_time: released - most, late: least, unclear, caught_up, missing: 0 }
        }
        WorkedOff::Unknown => {
            let late = first_is_late.min(late_of_all(stretch, released, kind, false).0);
            StretchJobs { on_time: first.on_time, late, unclear: released - first.on_time - late, ..first }
        }
    }
}

/// By how much it executed, and by what the loop does when it is behind.
fn worked_off(stretch: &Activation, released: u64, kind: Kind, habits: &Habits) -> WorkedOff {
    // A loop that sleeps for the same time after each job has none left.
    if released == 1 || habits.keeps_grid() == Some(false) {
        return WorkedOff::One;
    }
    match (looks(stretch, released, kind), habits.when_behind()) {
        (_, WhenBehind::PassesOver) | (Looks::LikeOne, WhenBehind::Unknown) => WorkedOff::One,
        (Looks::LikeAll, WhenBehind::CatchesUp) => WorkedOff::All(true),
        (Looks::LikeAll, WhenBehind::Unknown) if !habits.may_be_one_long_job(stretch.executed_ns) => {
            WorkedOff::All(true)
        }
        (Looks::Longer, WhenBehind::CatchesUp) => WorkedOff::All(false),
        _ => WorkedOff::Unknown,
    }
}

/// How many jobs were late, at least and at most, if all were worked off. At the earliest each ended with the next release, or the thread
/// would have slept, though not before its equal part of the work if it was about that; at the latest with the stretch.
fn late_of_all(stretch: &Activation, released: u64, kind: Kind, is_even: bool) -> (u64, u64) {
    let length_ns = stretch.response_ns();
    let (mut least, mut most) = (0, 0);
    for number in 0..released {
        let after_ns = number.saturating_mul(kind.period_ns);
        let works_ns = if is_even { stretch.executed_ns.saturating_mul(number + 1) / released } else { 0 };
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
    use crate::habits::Pace;
    use proptest::prelude::*;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    /// A stretch of a thread with 450 us of work every 1 ms.
    fn stretch(latency_ns: u64, executed_ns: u64, length_ns: u64) -> Activation {
        Activation { released_ns: 5 * MS, latency_ns, finished_ns: 5 * MS + length_ns, executed_ns }
    }

    fn kind(deadline_ns: u64) -> Kind {
        Kind { period_ns: MS, deadline_ns, usual_ns: 450 * US, longest_ns: 450 * US }
    }

    /// What is known of a loop after these stretches; it keeps to its grid.
    fn after(stretches: &[(Activation, u64)]) -> Habits {
        let (mut pace, mut habits) = (Pace::default(), Habits::default());
        for number in 0..8 {
            let released_ns = number * MS;
            let finished_ns = released_ns + (450 + 10 * (number % 2)) * US;
            pace.take(&Activation { released_ns, latency_ns: 0, finished_ns, executed_ns: 450 * US }, MS, &mut habits);
        }
        assert_eq!(habits.keeps_grid(), Some(true));
        habits.with(stretches.iter(), kind(MS))
    }

    fn jobs(on_time: u64, late: u64, missing: u64, unclear: u64, caught_up: u64) -> StretchJobs {
        StretchJobs { on_time, late, missing, unclear, caught_up }
    }

    #[test]
    fn jobs_that_were_worked_off_in_a_row_are_judged_by_their_own_deadlines() {
        // Latency, CPU time and length in us, the jobs released, the deadline in ms; what became of them.
        for (latency, executed, length, released, deadline, expected) in [
            // It was 2.1 ms late, and made up for it.
            (2_100, 1_800, 3_900, 4, 7, jobs(4, 0, 0, 0, 3)),
            (2_100, 1_800, 3_900, 4, 1, jobs(1, 3, 0, 0, 3)),
            // Nothing tells when the first one ended: before 3 ms, or with the stretch.
            (2_100, 1_800, 3_900, 4, 3, jobs(3, 0, 0, 1, 3)),
            // It was too late when it began.
            (8_000, 6_750, 14_750, 15, 7, jobs(7, 3, 0, 5, 14)),
            // One job took that long; the others are passed over.
            (2_100, 450, 3_900, 4, 7, jobs(1, 0, 3, 0, 0)),
            (2_100, 450, 3_900, 4, 3, jobs(0, 1, 3, 0, 0)),
            // Two to four were worked off, or none but the first one, and slowly.
            (2_100, 1_000, 3_900, 4, 7, jobs(1, 0, 0, 3, 0)),
            (2_100, 1_000, 3_900, 4, 3, jobs(0, 0, 0, 4, 0)),
            // Its own work was long, and another job of the usual length may have followed.
            (10, 1_300, 1_400, 2, 7, jobs(1, 0, 0, 1, 0)),
            (10, 1_300, 1_400, 2, 1, jobs(0, 1, 0, 1, 0)),
            // The next one had a wakeup of its own.
            (2_100, 1_800, 3_900, 1, 3, jobs(0, 1, 0, 0, 0)),
        ] {
            let what = stretch(latency * US, executed * US, length * US);
            let found = judge(&what, released, kind(deadline * MS), &after(&[]));
            assert_eq!(found, expected, "{latency} {executed} {length}, {released} jobs within {deadline} ms");
        }
    }

    #[test]
    fn what_the_loop_did_before_decides_what_cpu_time_alone_does_not() {
        let like_one = (stretch(2_100 * US, 450 * US, 3_900 * US), 4);
        let like_all = (stretch(2_100 * US, 1_800 * US, 3_900 * US), 4);
        let long = |executed: u64, released: u64| (stretch(10 * US, executed * US, released * MS - 100 * US), released);
        let between = stretch(2_100 * US, 1_000 * US, 3_900 * US);
        let judged = |what: &Activation, before: &[(Activation, u64)]| judge(what, 4, kind(MS), &after(before));
        // It passed over jobs: one job took as long as four.
        assert_eq!(judged(&like_all.0, &[like_one, like_one]), jobs(0, 1, 3, 0, 0));
        assert_eq!(judged(&between, &[like_one, like_one]), jobs(0, 1, 3, 0, 0));
        // It caught up: four jobs took no longer than one, or something else happened.
        assert_eq!(judged(&like_one.0, &[like_all, like_all]), jobs(0, 1, 0, 3, 0));
        assert_eq!(judged(&between, &[like_all, like_all]), jobs(0, 1, 0, 3, 0));
        // One job took as long before.
        let once = [long(1_800, 2)];
        assert_eq!(judged(&like_all.0, &once), jobs(0, 1, 0, 3, 0));
        // A long job with others that were worked off takes longer the more these are; alone it does not.
        let with_others = [long(1_500, 2), long(1_950, 3), long(2_400, 4), long(2_850, 5)];
        assert_eq!(judged(&long(2_400, 4).0, &with_others), jobs(1, 3, 0, 0, 3));
        let alone = [long(1_850, 2), long(1_860, 2), long(1_860, 3), long(1_850, 3)];
        assert_eq!(judged(&long(2_400, 4).0, &alone), jobs(0, 1, 3, 0, 0));
        assert_eq!(judged(&long(2_400, 4).0, &alone[..3]), jobs(0, 1, 0, 3, 0), "too little is known");
    }

    #[test]
    fn a_loop_that_sleeps_for_the_same_time_after_each_job_passes_over_none() {
        let (mut pace, mut habits) = (Pace::default(), Habits::default());
        let mut released_ns = 0;
        for number in 0..8 {
            let finished_ns = released_ns + (450 + 10 * (number % 2)) * US;
            pace.take(&Activation { released_ns, latency_ns: 0, finished_ns, executed_ns: 450 * US }, MS, &mut habits);
            released_ns = finished_ns + 550 * US;
        }
        assert_eq!(habits.keeps_grid(), Some(false));
        let found = judge(&stretch(2_100 * US, 450 * US, 3_900 * US), 4, kind(MS), &habits);
        assert_eq!(found, jobs(0, 1, 0, 0, 0));
        // Nothing is known of it: they were passed over, or not due.
        let found = judge(&stretch(2_100 * US, 450 * US, 3_900 * US), 4, kind(MS), &Habits::default());
        assert_eq!(found, jobs(0, 1, 0, 3, 0));
    }

    proptest! {
        #[test]
        fn no_job_is_counted_twice_and_a_later_deadline_makes_none_late(
            latency_ns in 0..20 * MS, executed_ns in 0..20 * MS, waited_ns in 0..20 * MS, deadline_ns in 1..30 * MS,
        ) {
            let stretch = stretch(latency_ns, executed_ns, latency_ns + executed_ns + waited_ns);
            let released = stretch.response_ns().saturating_sub(1) / MS + 1;
            let habits = after(&[]);
            let of = |deadline_ns| judge(&stretch, released, kind(deadline_ns), &habits);
            let (found, later) = (of(deadline_ns), of(deadline_ns + MS));
            prop_assert_eq!(found.on_time + found.late + found.missing + found.unclear, released, "{:?}", found);
            prop_assert!(found.caught_up < released);
            prop_assert!(later.late <= found.late && later.on_time >= found.on_time, "{:?} {:?}", found, later);
            let is_late = stretch.response_ns() > deadline_ns;
            prop_assert!(is_late || found.late == 0, "{:?}", found);
        }
    }
}
