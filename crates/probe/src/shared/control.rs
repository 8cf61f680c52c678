//! What the measuring threads and the rest of the program tell each other: atomics, nothing that blocks.

use punctual_kernel::rests::{CYCLE_NS, rest_end};
use punctual_kernel::watchdog;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared by all threads of a run.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Set to end the run.
    stop: AtomicBool,
    /// Set by a thread that saw a wakeup over the limit.
    breached: AtomicBool,
    /// Set by a thread that found the rest of the program starved.
    starved: AtomicBool,
    /// Counted up by the rest of the program as it goes about its work.
    heartbeat: AtomicU64,
    /// How many CPUs are measured; 0 counts as one.
    cpus: AtomicU64,
    /// Until when the measured CPUs count as crowded, ns of `CLOCK_MONOTONIC`.
    crowded_until_ns: AtomicU64,
    /// Rests that threads took because of that.
    rests: AtomicU64,
    /// When to begin, ns of `CLOCK_MONOTONIC`; 0: not yet.
    start_ns: AtomicU64,
    /// When to end, ns of `CLOCK_MONOTONIC`.
    end_ns: AtomicU64,
}

impl Control {
    pub(crate) fn start(&self, start_ns: u64, end_ns: u64) {
        self.end_ns.store(end_ns, Ordering::Relaxed);
        self.start_ns.store(start_ns, Ordering::Release);
    }

    /// (start, end), once both are known.
    pub(crate) fn times(&self) -> Option<(u64, u64)> {
        let start = self.start_ns.load(Ordering::Acquire);
        (start != 0).then(|| (start, self.end_ns.load(Ordering::Relaxed)))
    }

    /// Threads that measure have rested so often because they left their CPUs nothing.
    pub(crate) fn rests(&self) -> u64 {
        self.rests.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    #[cold]
    pub(crate) fn breach(&self) {
        self.breached.store(true, Ordering::Relaxed);
        self.stop();
    }

    pub(crate) fn is_breached(&self) -> bool {
        self.breached.load(Ordering::Relaxed)
    }

    /// Says on how many CPUs the threads run.
    pub(crate) fn set_cpus(&self, cpus: usize) {
        self.cpus.store(cpus as u64, Ordering::Relaxed);
    }

    pub(crate) fn beat(&self) {
        self.heartbeat.fetch_add(1, Ordering::Relaxed);
    }

    #[cold]
    fn starve(&self) {
        self.starved.store(true, Ordering::Relaxed);
        self.stop();
    }

    pub(crate) fn is_starved(&self) -> bool {
        self.starved.load(Ordering::Relaxed)
    }
}

/// A thread has fallen behind when it missed points of its grid with every so manyeth wakeup of a cycle ...
const BEHIND_SHARE: u64 = 4;
/// ... or slept before less than every so manyeth: one that has a little more to do than there is time misses little, and leaves
/// nothing.
const SLEEPS_SHARE: u64 = 2;
/// That is asked of so many wakeups at least: one that is held up once is not behind, ...
const MIN_WAKEUPS: u64 = 10;
/// ... and where so many points of its grid had gone by. Others may leave it few wakeups.
const MIN_POINTS: u64 = 100;
/// When one has fallen behind, all rest for so many cycles.
const CROWDED_CYCLES: u64 = 4;

/// A measuring thread's look at whether there are more wakeups than its CPU can carry: then nobody else would run there. All
/// threads of the run then rest together, in the last part of each cycle, and the points of the grid in it are missed.
#[derive(Debug, Default)]
pub(crate) struct Crowding {
    cycle: u64,
    points: u64,
    wakeups: u64,
    behind: u64,
    /// How often the thread had slept when the cycle began.
    slept: u64,
}

impl Crowding {
    /// Counts a wakeup that missed so many points of the grid; when the rest ends that the thread is to take now, ns, if it is to
    /// take one. How often the thread has slept is asked at the beginning of each cycle only.
    #[inline]
    pub(crate) fn check(
        &mut self,
        control: &Control,
        now_ns: u64,
        missed: u64,
        slept: impl FnOnce() -> u64,
    ) -> Option<u64> {
        self.points += 1 + missed;
        self.wakeups += 1;
        self.behind += u64::from(missed > 0);
        let cycle = now_ns / CYCLE_NS;
        if cycle != self.cycle {
            let slept = slept();
            let is_judged = self.wakeups >= MIN_WAKEUPS && self.points >= MIN_POINTS;
            let is_behind = self.behind * BEHIND_SHARE >= self.wakeups;
            let is_awake = slept.saturating_sub(self.slept) * SLEEPS_SHARE < self.wakeups;
            if is_judged && (is_behind || is_awake) {
                control.crowded_until_ns.store((cycle + CROWDED_CYCLES) * CYCLE_NS, Ordering::Relaxed);
            }
            *self = Crowding { cycle, slept, ..Crowding::default() };
        }
        let rest_end = rest_end(now_ns)?;
        if now_ns >= control.crowded_until_ns.load(Ordering::Relaxed) {
            return None;
        }
        control.rests.fetch_add(1, Ordering::Relaxed);
        Some(rest_end)
    }
}

/// A measuring thread's watch over the rest of the program: ends the run when that is starved.
#[derive(Debug, Default)]
pub(crate) struct Watchdog(watchdog::Watchdog);

impl Watchdog {
    #[inline]
    pub(crate) fn check(&mut self, control: &Control, now_ns: u64) {
        let beat = control.heartbeat.load(Ordering::Relaxed);
        if self.0.finds_starved(beat, control.cpus.load(Ordering::Relaxed), now_ns) {
            control.starve();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_kernel::rests::REST_NS;

    #[test]
    fn threads_that_fall_behind_make_all_rest() {
        let control = Control::default();
        let (mut behind, mut keeps_up) = (Crowding::default(), Crowding::default());
        let step = 100_000;
        let mut rests = 0;
        // Each of them sleeps before each wakeup.
        let slept = |now: u64| move || now / step;
        let times =
            |cycles: std::ops::Range<u64>| (cycles.start * CYCLE_NS..cycles.end * CYCLE_NS).step_by(step as usize);
        for now in times(0..20) {
            assert_eq!(keeps_up.check(&control, now, 0, slept(now)), None);
        }
        // One that is held up once, for however long, is not behind.
        for now in times(20..30) {
            assert_eq!(behind.check(&control, now, u64::from(now % CYCLE_NS == 0) * 1_000, slept(now)), None);
        }
        for now in times(30..40) {
            behind.check(&control, now, u64::from(now % 2 == 0), slept(now));
            let rest = keeps_up.check(&control, now, 0, slept(now));
            rests += u64::from(rest.is_some_and(|end| end > now && end % CYCLE_NS == 0));
        }
        assert!(rests > 500, "{rests}");
        assert!(control.rests() >= rests);
    }

    #[test]
    fn a_thread_that_does_not_sleep_is_behind_though_it_misses_little() {
        // Each wakeup takes a hundredth more than there is, and the thread misses a point with every hundredth.
        let (interval, period) = (10_000, 10_100);
        for (sleeps_before_each, expected) in [(1, true), (2, false)] {
            let (control, mut thread, mut rests) = (Control::default(), Crowding::default(), 0);
            for number in 0..10 * CYCLE_NS / period {
                let missed = u64::from(number % 100 == 0);
                let slept = || number * sleeps_before_each / 3;
                rests += u64::from(thread.check(&control, number * interval, missed, slept).is_some());
            }
            assert_eq!(rests > 500, expected, "{rests}");
        }
    }

    #[test]
    fn a_thread_to_which_others_leave_little_is_behind_in_that() {
        let (control, interval) = (Control::default(), 50_000);
        let (mut starved, mut rests, mut slept) = (Crowding::default(), 0, 0);
        for cycle in 1..20 {
            // Twenty wakeups in a rest, after those who take the CPU outside of it.
            let begin = (cycle + 1) * CYCLE_NS - REST_NS;
            starved.check(&control, begin, (CYCLE_NS - REST_NS) / interval, || slept);
            for number in 1..20 {
                slept += 1;
                let rest = starved.check(&control, begin + number * 400_000, 7, || slept);
                rests += u64::from(rest.is_some());
            }
        }
        assert!(rests > 100, "{rests}");
        // One wakeup after a long time is nobody's fault.
        let (control, mut held_up) = (Control::default(), Crowding::default());
        for cycle in 1..20 {
            let begin = (cycle + 1) * CYCLE_NS - REST_NS;
            assert_eq!(held_up.check(&control, begin, (CYCLE_NS - REST_NS) / interval, || cycle), None);
        }
    }
}
