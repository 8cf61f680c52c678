//! Cycles of somebody else's loop: how many there were, and how many took longer than the period that they should keep.

use crate::format::bounds::MAX_TASKS;
use crate::{OTHERS, Recording, Result, WakerKind, Wakeup};
use std::collections::{BTreeMap, HashMap};

/// The cycles of one thread, or of several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CycleCount {
    /// Cycles that ended while it was measured.
    pub cycles: u64,
    /// Of these, those that took longer than the period, from when the cycle was due until the thread slept again.
    pub overruns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
}

impl CycleCount {
    /// Adds the cycles of others.
    pub fn add(&mut self, other: &CycleCount) {
        self.cycles = self.cycles.saturating_add(other.cycles);
        self.overruns = self.overruns.saturating_add(other.overruns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }

    fn take(&mut self, length_ns: u64, period_ns: u64) {
        self.cycles += 1;
        self.overruns += u64::from(length_ns > period_ns);
        self.longest_ns = self.longest_ns.max(length_ns);
    }
}

/// Puts the wakeups of followed threads together to cycles.
///
/// A loop may sleep several times in a cycle: for a lock, a page, an answer. Of a thread whose own timers begin its cycles, one goes
/// from when its timer was due to the last time it slept before the next. Of a thread that others wake, one begins with the first
/// wakeup that comes half a period or more after the one before began. Which of them a thread is, is known at the end.
#[derive(Debug)]
pub struct Cycles {
    period_ns: u64,
    threads: HashMap<u32, Thread>,
}

#[derive(Debug, Default)]
struct Thread {
    by_timer: Series,
    by_time: Series,
}

/// Cycles by one rule, and the one that goes on.
#[derive(Debug, Default)]
struct Series {
    count: CycleCount,
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    due_ns: u64,
    /// When the thread slept; `None` where that was not seen.
    slept_ns: Option<u64>,
}

impl Series {
    fn take(&mut self, wakeup: &Wakeup, begins: bool, period_ns: u64) {
        let began = wakeup.expected_ns.saturating_add(wakeup.total_ns);
        let slept_ns = wakeup.work_ns.map(|work| began.saturating_add(work));
        if begins {
            self.close(period_ns);
            self.open = Some(Open { due_ns: wakeup.expected_ns, slept_ns });
        } else if let Some(open) = &mut self.open {
            open.slept_ns = slept_ns;
        }
    }

    fn close(&mut self, period_ns: u64) {
        if let Some(Open { due_ns, slept_ns: Some(slept) }) = self.open.take() {
            self.count.take(slept.saturating_sub(due_ns), period_ns);
        }
    }
}

impl Cycles {
    /// Of loops that should begin anew this often, ns.
    pub fn new(period_ns: u64) -> Cycles {
        Cycles { period_ns, threads: HashMap::new() }
    }

    /// Takes a thread's next wakeup, and whether a timer of its own made it.
    pub fn take(&mut self, wakeup: &Wakeup, is_by_timer: bool) {
        // A file may name any number of threads; no measurement follows so many.
        if self.threads.len() >= MAX_TASKS && !self.threads.contains_key(&wakeup.tid) {
            return;
        }
        let period_ns = self.period_ns;
        let thread = self.threads.entry(wakeup.tid).or_default();
        thread.by_timer.take(wakeup, is_by_timer, period_ns);
        let is_apart = |open: Open| wakeup.expected_ns.saturating_sub(open.due_ns).saturating_mul(2) >= period_ns;
        let begins = thread.by_time.open.is_none_or(is_apart);
        thread.by_time.take(wakeup, begins, period_ns);
    }

    /// What was counted of each thread, by its id.
    pub fn finish(self) -> impl Iterator<Item = (u32, CycleCount)> {
        let period_ns = self.period_ns;
        self.threads.into_iter().map(move |(tid, mut thread)| {
            thread.by_timer.close(period_ns);
            thread.by_time.close(period_ns);
            let (timer, time) = (thread.by_timer.count, thread.by_time.count);
            (tid, if timer.cycles.saturating_mul(2) >= time.cycles { timer } else { time })
        })
    }
}

impl Recording {
    /// The cycles of its followed threads, by name and policy, as loops that should begin anew this often, ns.
    ///
    /// # Errors
    /// As for [`Recording::for_each_wakeup`].
    pub fn cycles(&self, period_ns: u64) -> Result<BTreeMap<String, CycleCount>> {
        let document = self.document();
        let wakers = document.followed.as_ref().map_or(&[][..], |followed| &followed.wakers);
        let mut cycles = Cycles::new(period_ns);
        self.for_each_wakeup(|wakeup| {
            let waker = wakeup.woken_by.and_then(|position| wakers.get(position as usize));
            cycles.take(wakeup, waker.is_some_and(|waker| waker.kind == WakerKind::Timer));
        })?;
        // A thread that changed its name or policy counts for what it was at last.
        let names: HashMap<u32, &str> = document.tasks.iter().map(|task| (task.tid, task.measure.as_str())).collect();
        let mut named: BTreeMap<String, CycleCount> = BTreeMap::new();
        for (tid, count) in cycles.finish().filter(|(_, count)| count.cycles > 0) {
            let name = names.get(&tid).copied().unwrap_or(OTHERS);
            named.entry(name.to_owned()).or_default().add(&count);
        }
        Ok(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A wakeup that was due then, ran 100 us late and slept again after this much work, ns.
    fn wakeup(due: u64, work: Option<u64>) -> Wakeup {
        Wakeup { tid: 7, expected_ns: due, total_ns: 100_000, work_ns: work, ..Wakeup::default() }
    }

    fn counted(wakeups: &[(u64, Option<u64>, bool)]) -> CycleCount {
        let mut cycles = Cycles::new(MS);
        wakeups.iter().for_each(|(due, work, by_timer)| cycles.take(&wakeup(*due, *work), *by_timer));
        cycles.finish().next().map_or_else(CycleCount::default, |(_, count)| count)
    }

    #[test]
    fn a_cycle_goes_from_its_timer_to_the_last_sleep_before_the_next() {
        let (short, long) = (Some(200_000), Some(900_001));
        // The second cycle sleeps for a lock, goes on late and has run over.
        let count =
            counted(&[(0, short, true), (MS, short, true), (MS + 950_000, short, false), (3 * MS, short, true)]);
        assert_eq!(count, CycleCount { cycles: 3, overruns: 1, longest_ns: 1_250_000 });
        // To end with the period is to keep it; a nanosecond more is not.
        let count = counted(&[(0, Some(900_000), true), (MS, long, true)]);
        assert_eq!(count, CycleCount { cycles: 2, overruns: 1, longest_ns: 1_000_001 });
    }

    #[test]
    fn whoever_is_woken_by_others_begins_anew_after_half_a_period() {
        let short = Some(100_000);
        let count = counted(&[(0, short, false), (300_000, short, false), (MS, short, false), (2 * MS, short, false)]);
        assert_eq!(count, CycleCount { cycles: 3, overruns: 0, longest_ns: 500_000 });
        // One sleep on a timer at the beginning makes no loop of timers.
        let mut driven = vec![(0, short, true)];
        driven.extend((1..20).map(|number| (number * MS, short, false)));
        assert_eq!(counted(&driven), CycleCount { cycles: 20, overruns: 0, longest_ns: 200_000 });
    }

    #[test]
    fn a_cycle_that_nobody_saw_end_is_none() {
        assert_eq!(counted(&[(0, Some(1), true), (MS, None, true)]).cycles, 1);
        assert_eq!(counted(&[]), CycleCount::default());
    }
}
