//! A recurring job, and the periodic one in what a thread did.

/// A recurring job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// From one release to the next, ns.
    pub period_ns: u64,
    /// The most CPU time that it takes, ns.
    pub work_ns: u64,
    /// From its release to its deadline, ns.
    pub deadline_ns: u64,
}

/// One activation of a thread: it was released, worked, and went to sleep again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activation {
    /// When it was to run: its timer was due, or it was woken; ns.
    pub released_ns: u64,
    /// From its release until it ran, ns.
    pub latency_ns: u64,
    /// When it slept again, ns.
    pub finished_ns: u64,
    /// How long it had a CPU meanwhile, ns.
    pub executed_ns: u64,
}

impl Activation {
    /// From its release to its end, ns.
    pub fn response_ns(&self) -> u64 {
        self.finished_ns.saturating_sub(self.released_ns)
    }
}

/// CPU time of a job's activations, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Half of them take no more.
    pub median_ns: u64,
    /// 99 of 100 take no more.
    pub p99_ns: u64,
    /// None takes more.
    pub max_ns: u64,
}

/// The job of a thread that wakes periodically.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodicJob {
    /// From one release to the next: the median, ns.
    pub period_ns: u64,
    /// How many activations it was found in, each of them one job.
    pub jobs: usize,
    /// How many more were left out: the next one was due several periods later, so each may have been several jobs in one go,
    /// or wakeups between them were not seen.
    pub merged: usize,
    /// How many of a thousand intervals lie within a quarter of the period.
    pub regular_thousandths: u64,
    /// CPU time of one job.
    pub work: Work,
    /// The longest from a release to its end, ns.
    pub worst_response_ns: u64,
}

/// Why no periodic job was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotPeriodic {
    /// It woke only this often.
    TooFew(usize),
    /// Only this many of a thousand intervals lie within a quarter of the median.
    Irregular(u64),
    /// So many of its wakeups together make this period, ns, and 99 of 100 times take at most this CPU time, ns: each job waits for
    /// something within.
    Parts {
        /// How many wakeups.
        parts: usize,
        /// Their period, ns.
        period_ns: u64,
        /// What they take together, ns.
        work_ns: u64,
    },
    /// It is periodic, but its jobs have to be done within this time, ns, which is shorter than any reservation's period.
    TooShort(u64),
}

/// Fewer activations show no period.
const MIN_JOBS: usize = 20;
/// This many of a thousand intervals must be like the median.
pub const MIN_REGULAR_THOUSANDTHS: u64 = 800;
/// A job in more parts is not looked for.
const MAX_PARTS: usize = 4;

/// Finds the period in the releases of a thread, in order of time, and what its activations take.
///
/// Each activation counts as a job of its own: a thread that sleeps in the middle of its job, for a lock or for an answer, has no
/// period here. Only where the next one is due several periods later it may be several jobs, since a thread that is late does not
/// sleep between them; of such an activation nothing is known of a single job.
///
/// # Errors
/// Why there is none.
pub fn periodic(activations: &[Activation]) -> Result<PeriodicJob, NotPeriodic> {
    if activations.len() < MIN_JOBS {
        return Err(NotPeriodic::TooFew(activations.len()));
    }
    let mut intervals: Vec<u64> =
        activations.windows(2).map(|pair| pair[1].released_ns.saturating_sub(pair[0].released_ns)).collect();
    intervals.sort_unstable();
    let period_ns = intervals[intervals.len() / 2].max(1);
    let regular = intervals.iter().filter(|&&interval| interval.abs_diff(period_ns) <= period_ns / 4).count();
    let regular_thousandths = (regular * 1_000 / intervals.len()) as u64;
    if regular_thousandths < MIN_REGULAR_THOUSANDTHS {
        return Err(in_parts(activations).unwrap_or(NotPeriodic::Irregular(regular_thousandths)));
    }
    let is_one_job = |(index, activation): &(usize, &Activation)| {
        let until_ns = activations.get(index + 1).map_or(activation.finished_ns, |next| next.released_ns);
        until_ns.saturating_sub(activation.released_ns) <= period_ns + period_ns / 2
    };
    // There are some: most intervals are like the period.
    let singles = activations.iter().enumerate().filter(is_one_job);
    let mut work: Vec<u64> = singles.map(|(_, activation)| activation.executed_ns).collect();
    work.sort_unstable();
    let at = |thousandths: usize| work[((work.len() - 1) * thousandths).div_ceil(1_000)];
    Ok(PeriodicJob {
        period_ns,
        jobs: work.len(),
        merged: activations.len() - work.len(),
        regular_thousandths,
        work: Work { median_ns: at(500), p99_ns: at(990), max_ns: at(1_000) },
        worst_response_ns: activations.iter().map(Activation::response_ns).max().unwrap_or(0),
    })
}

/// Whether each few wakeups together make a period. They are held to a tenth of it: sums of intervals that differ by chance are alike
/// more often than these are.
fn in_parts(activations: &[Activation]) -> Option<NotPeriodic> {
    (2..=MAX_PARTS).find_map(|parts| {
        if activations.len() < MIN_JOBS * parts {
            return None;
        }
        let together = activations.windows(parts + 1);
        let mut periods: Vec<u64> =
            together.map(|some| some[parts].released_ns.saturating_sub(some[0].released_ns)).collect();
        periods.sort_unstable();
        let period_ns = periods[periods.len() / 2].max(1);
        let regular = periods.iter().filter(|&&period| period.abs_diff(period_ns) <= period_ns / 10).count();
        let is_regular = (regular * 1_000 / periods.len()) as u64 >= MIN_REGULAR_THOUSANDTHS;
        let mut work: Vec<u64> =
            activations.windows(parts).map(|some| some.iter().map(|part| part.executed_ns).sum()).collect();
        work.sort_unstable();
        let work_ns = work[((work.len() - 1) * 990).div_ceil(1_000)];
        is_regular.then_some(NotPeriodic::Parts { parts, period_ns, work_ns })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_random::Random;

    #[test]
    fn wakeups_that_make_a_period_together_are_parts_of_a_job_and_uneven_ones_are_none() {
        let at = |released_ns, executed_ns| Activation {
            released_ns,
            latency_ns: 0,
            finished_ns: released_ns + executed_ns,
            executed_ns,
        };
        let mut random = Random(7);
        // A server of sound wakes at its timer, and again when its client has answered.
        let of_two: Vec<Activation> = (0..200)
            .flat_map(|number| {
                let begins = number * 5_333_333;
                [at(begins, 40_000), at(begins + 300_000 + random.below(100_000), 60_000)]
            })
            .collect();
        assert_eq!(periodic(&of_two), Err(NotPeriodic::Parts { parts: 2, period_ns: 5_333_333, work_ns: 100_000 }));
        // Intervals that differ by half, by chance: their sums are no period.
        let mut now = 0;
        let uneven: Vec<Activation> = (0..400)
            .map(|_| {
                now += 500_000 + random.below(1_000_000);
                at(now, 10_000)
            })
            .collect();
        assert!(matches!(periodic(&uneven), Err(NotPeriodic::Irregular(_))), "{:?}", periodic(&uneven));
    }

    fn thread(period_ns: u64, jitter_ns: u64, count: u64, random: &mut Random) -> Vec<Activation> {
        (0..count)
            .map(|number| {
                let released_ns = 1_000_000_000 + number * period_ns + random.below(jitter_ns + 1);
                let executed_ns = period_ns / 10 + random.below(period_ns / 10);
                let finished_ns = released_ns + 5_000 + executed_ns;
                Activation { released_ns, latency_ns: 5_000, finished_ns, executed_ns }
            })
            .collect()
    }

    #[test]
    fn what_may_be_several_jobs_in_one_go_is_no_long_job() {
        let mut activations = thread(1_000_000, 0, 400, &mut Random(5));
        // It came late, did the next job without sleeping, and its timer was due again two periods later; so it was at the end.
        for late in [100, 200, 398] {
            activations[late].executed_ns = 1_537_539;
            activations[late].finished_ns = activations[late].released_ns + 1_600_000;
        }
        for swallowed in [399, 201, 101] {
            activations.remove(swallowed);
        }
        let job = periodic(&activations).unwrap();
        assert_eq!((job.period_ns, job.jobs, job.merged), (1_000_000, 394, 3));
        assert!(job.work.max_ns < 200_000, "{job:?}");
        assert!(job.worst_response_ns >= 1_600_000, "{job:?}");
        // A long job that leaves room for the next one is one.
        activations[50].executed_ns = 900_000;
        assert_eq!(periodic(&activations).unwrap().work.max_ns, 900_000);
    }

    #[test]
    fn a_period_is_found_under_jitter_and_not_where_there_is_none() {
        let mut random = Random(3);
        for period_ns in [500_000, 1_333_333, 10_000_000] {
            let job = periodic(&thread(period_ns, period_ns / 10, 200, &mut random)).unwrap();
            assert!(job.period_ns.abs_diff(period_ns) < period_ns / 20, "{job:?}");
            assert!(job.work.median_ns <= job.work.p99_ns && job.work.p99_ns <= job.work.max_ns);
            assert!(job.work.max_ns < period_ns / 5 && job.worst_response_ns == job.work.max_ns + 5_000);
        }
        let mut at = 0;
        let by_chance: Vec<Activation> = (0..200)
            .map(|_| {
                at += (1e6 * random.exponential()) as u64;
                Activation { released_ns: at, latency_ns: 0, finished_ns: at + 10, executed_ns: 10 }
            })
            .collect();
        assert!(matches!(periodic(&by_chance), Err(NotPeriodic::Irregular(share)) if share < 500));
        assert_eq!(periodic(&by_chance[..19]), Err(NotPeriodic::TooFew(19)));
    }
}
