//! What the CPU time of a stretch looks like: that of one job, or of several in a row.

use crate::Activation;

/// After fewer jobs with a sleep of their own it is not known how much CPU time one usually takes.
const ENOUGH: u64 = 8;

/// How much CPU time a job with a sleep of its own takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Usual {
    jobs: u64,
    executed_ns: u64,
    longest_ns: u64,
}

impl Usual {
    /// Takes one that executed this long, ns.
    pub(crate) fn take(&mut self, executed_ns: u64) {
        self.jobs += 1;
        self.executed_ns = self.executed_ns.saturating_add(executed_ns);
        self.longest_ns = self.longest_ns.max(executed_ns);
    }

    /// The mean, ns, above 0; `otherwise_ns` as long as too few are known.
    pub(crate) fn or(&self, otherwise_ns: u64) -> u64 {
        if self.jobs < ENOUGH { otherwise_ns.max(1) } else { (self.executed_ns / self.jobs).max(1) }
    }

    /// The longest, ns, or this if it is longer.
    pub(crate) fn longest_or(&self, otherwise_ns: u64) -> u64 {
        self.longest_ns.max(otherwise_ns)
    }
}

/// The jobs that are judged: their period and deadline, and the CPU time that one usually takes, and at most; all ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) period_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) usual_ns: u64,
    pub(crate) longest_ns: u64,
}

/// What the CPU time of a stretch looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looks {
    /// As much as one job usually takes.
    LikeOne,
    /// As much as all that were released within it usually take, of a thread that was behind.
    LikeAll,
    /// More than that: one of them was longer than any that had a sleep of its own.
    Longer,
    /// None of these.
    Between,
}

/// What the CPU time of a stretch looks like in which so many jobs, two or more, were released.
pub(crate) fn looks(stretch: &Activation, released: u64, kind: Kind) -> Looks {
    let (executed_ns, usual_ns) = (stretch.executed_ns, kind.usual_ns);
    let of_longest_ns = kind.longest_ns.saturating_mul(released);
    if executed_ns > of_longest_ns.saturating_add(of_longest_ns / 8) {
        return Looks::Longer;
    }
    // Jobs in a row find their data in the caches.
    let is_work_of_all = executed_ns.saturating_mul(4) >= usual_ns.saturating_mul(released).saturating_mul(3);
    // Otherwise the first job was long by its own work: a usual one would have ended before the next release.
    let waited_ns = stretch.response_ns().saturating_sub(executed_ns);
    let was_behind = waited_ns.saturating_add(usual_ns + usual_ns / 4) >= kind.period_ns;
    if is_work_of_all && was_behind {
        Looks::LikeAll
    } else if executed_ns.saturating_mul(4) <= usual_ns.saturating_mul(5) {
        Looks::LikeOne
    } else {
        Looks::Between
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_work_is_known_after_a_few_jobs() {
        let mut usual = Usual::default();
        for number in 0..ENOUGH {
            assert_eq!(usual.or(700), 700, "{number} jobs");
            usual.take(400 + 100 * (number % 2));
        }
        assert_eq!((usual.or(700), Usual::default().or(0)), (450, 1));
        assert_eq!((usual.longest_or(300), usual.longest_or(700)), (500, 700));
    }

    #[test]
    fn a_stretch_looks_like_one_job_like_all_or_like_a_long_one() {
        // Jobs of 400 us, the longest 450 us, every 1 ms: CPU time and length in us, and the jobs released within that.
        let kind = Kind { period_ns: 1_000, deadline_ns: 1_000, usual_ns: 400, longest_ns: 450 };
        for (executed_ns, length_ns, released, expected) in [
            (420, 3_900, 4, Looks::LikeOne),
            (500, 1_100, 2, Looks::LikeOne),
            (501, 2_900, 3, Looks::Between),
            (1_199, 3_900, 4, Looks::Between),
            (1_200, 3_900, 4, Looks::LikeAll),
            // Nothing kept it from the CPU: its first job was long.
            (1_200, 1_210, 2, Looks::Longer),
            (1_000, 1_010, 2, Looks::Between),
            (2_025, 3_900, 4, Looks::LikeAll),
            (2_026, 3_900, 4, Looks::Longer),
        ] {
            let stretch =
                Activation { released_ns: 5_000, latency_ns: 10, finished_ns: 5_000 + length_ns, executed_ns };
            assert_eq!(looks(&stretch, released, kind), expected, "{executed_ns} {length_ns} {released}");
        }
    }
}
