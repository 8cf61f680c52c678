//! Whether real-time threads leave the rest of their program no CPU time.

use crate::clock;

/// The rest of the program is starved when it makes no progress for this long while the threads take the CPUs, ns.
const STARVED_NS: u64 = 5_000_000_000;
/// The most that one look may add, ns: a program that was stopped as a whole was not starved.
const STEP_NS: u64 = 20_000_000;
/// The threads take the CPUs if this program used so many hundredths of them in the second half of that time. One that
/// used less waits for something else: a disk, or the many others of a busy machine.
const TAKEN_SHARE: u64 = 75;

/// A real-time thread's watch over the rest of its program, which increments a counter as it does its work.
#[derive(Debug, Default)]
pub struct Watchdog {
    seen: u64,
    last_ns: u64,
    without_progress_ns: u64,
    /// When half of the time had passed, and the CPU time that this program had used by then, ns.
    halfway: Option<(u64, u64)>,
}

impl Watchdog {
    /// Looks at the count now, ns of `CLOCK_MONOTONIC`; returns whether the threads, which run on so many `cpus`,
    /// starve whoever counts. Call it about as often as the thread wakes.
    #[inline]
    pub fn finds_starved(&mut self, count: u64, cpus: u64, now_ns: u64) -> bool {
        self.look(count, cpus, now_ns, clock::process_cpu_ns)
    }

    #[inline]
    fn look(&mut self, count: u64, cpus: u64, now_ns: u64, used_ns: impl Fn() -> u64) -> bool {
        let step_ns = now_ns.saturating_sub(std::mem::replace(&mut self.last_ns, now_ns)).min(STEP_NS);
        if count != self.seen {
            self.seen = count;
            self.without_progress_ns = 0;
            self.halfway = None;
            return false;
        }
        self.without_progress_ns += step_ns;
        self.without_progress_ns > STARVED_NS / 2 && self.look_closer(cpus, now_ns, used_ns())
    }

    #[cold]
    fn look_closer(&mut self, cpus: u64, now_ns: u64, used_ns: u64) -> bool {
        let (since_ns, used_before_ns) = *self.halfway.get_or_insert((now_ns, used_ns));
        if self.without_progress_ns <= STARVED_NS {
            return false;
        }
        self.without_progress_ns = STARVED_NS / 2;
        self.halfway = None;
        let available_ns = now_ns.saturating_sub(since_ns).saturating_mul(cpus.max(1));
        used_ns.saturating_sub(used_before_ns) >= available_ns / 100 * TAKEN_SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Whether it barks within so many seconds without progress, while the program uses so many hundredths of the CPUs.
    fn barks(watchdog: &mut Watchdog, seconds: u64, cpus: u64, share: u64) -> bool {
        let begin = watchdog.last_ns;
        let times = (1..=seconds * SECOND_NS / STEP_NS).map(|step| begin + step * STEP_NS);
        let mut looks = times.map(|now| watchdog.look(1, cpus, now, || now / 100 * share * cpus));
        looks.any(|starved| starved)
    }

    #[test]
    fn a_starved_program_is_noticed_and_a_stopped_one_is_not() {
        let mut watchdog = Watchdog::default();
        assert!(!watchdog.look(1, 1, 1, || 0));
        // Stopped for an hour: one step.
        assert!(!watchdog.look(1, 1, 3_600 * SECOND_NS, || 3_600 * SECOND_NS));
        assert!(barks(&mut watchdog, 6, 1, 90));
    }

    #[test]
    fn a_program_that_waits_for_others_is_not_starved_by_its_threads() {
        for cpus in [1, 2, 64] {
            let mut watchdog = Watchdog::default();
            assert!(!barks(&mut watchdog, 600, cpus, 60), "{cpus}");
            assert!(barks(&mut watchdog, 10, cpus, 80), "{cpus}");
        }
    }

    #[test]
    fn progress_resets_the_watch() {
        let mut watchdog = Watchdog::default();
        let mut starved = (0..10_000).map(|step| watchdog.look(step / 100, 1, step * STEP_NS, || step * STEP_NS));
        assert!(!starved.any(|starved| starved));
    }
}
