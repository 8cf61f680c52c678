//! Stalls: late wakeups with one cause, counted once.
//!
//! A wakeup that was due at e and late by v says that nothing ran from e to e + v. Two such spans of one task that
//! overlap, or lie within [`GAP_NS`] (or two periods) of each other, are one stall; so are spans of different tasks
//! that overlap, because whatever held up one held up both. A stall has a greatest length, [`MAX_STALL_NS`]: a storm of
//! late wakeups that goes on for a minute is not one stall.

use crate::input::{Late, ObservedTask};

/// Late wakeups of one task this close to each other are taken to have one cause, ns: a convention.
pub const GAP_NS: u64 = 10_000_000;

/// A stall lasts no longer than this, ns, unless a single wakeup waited longer: what continues beyond that is another
/// stall. A convention too.
pub const MAX_STALL_NS: u64 = 100_000_000;

/// Above this many late wakeups in a gap's time, closeness no longer says anything about causes.
pub(crate) const DENSE: f64 = 0.05;

/// A stall of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// Which of the input's tasks.
    pub task: usize,
    /// When its first late wakeup was due, ns of observed time.
    pub start_ns: u64,
    /// When the last of its late wakeups ran, ns of observed time.
    pub end_ns: u64,
    /// The largest lateness in it, ns.
    pub peak_ns: u64,
    /// Late wakeups in it that were measured.
    pub late: u64,
    /// Late wakeups in it, including those filled in for skipped activations.
    pub filled: u64,
    /// The stall of the machine that it is part of: stalls of several tasks with one cause have the same number.
    pub cause: usize,
}

/// The stalls above one level of lateness.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Each task's stalls, in the order of their beginning.
    pub of_tasks: Vec<Stall>,
    /// How many there are, with those that hit several tasks at once merged.
    pub count: usize,
    /// Late wakeups that were measured.
    pub late: u64,
    /// Late wakeups, including those filled in for skipped activations.
    pub filled: u64,
}

impl Stalls {
    /// Stalls per measured late wakeup: 1 where late wakeups come singly, less where they cluster. `None` if none was
    /// late.
    pub fn extremal_index(&self) -> Option<f64> {
        (self.late > 0).then(|| self.of_tasks.len() as f64 / self.late as f64)
    }

    /// The largest lateness of each cause and when it began, in the order of time: (peak ns, start ns).
    pub fn peaks(&self) -> Vec<(u64, u64)> {
        let mut peaks: Vec<(u64, u64)> = vec![(0, u64::MAX); self.count];
        for stall in &self.of_tasks {
            let peak = &mut peaks[stall.cause];
            *peak = (peak.0.max(stall.peak_ns), peak.1.min(stall.start_ns));
        }
        peaks
    }
}

/// Finds the stalls among late wakeups (in the order of their times) above a level, ns.
///
/// `fill_in`: activations that were skipped behind a late wakeup count as the late wakeups they would have been, each a
/// period less late than the previous one.
pub fn stalls(largest: &[Late], tasks: &[ObservedTask], level_ns: u64, exposure_ns: f64, fill_in: bool) -> Stalls {
    let mut counts = vec![0u64; tasks.len()];
    for late in largest.iter().filter(|late| late.value_ns > level_ns) {
        counts[late.task] += 1;
    }
    let gaps: Vec<u64> = tasks
        .iter()
        .zip(&counts)
        .map(|(task, &count)| {
            let gap = GAP_NS.max(2 * task.period_ns);
            if count as f64 * gap as f64 <= DENSE * exposure_ns { gap } else { 0 }
        })
        .collect();
    let mut found = Stalls::default();
    let mut open: Vec<Option<usize>> = vec![None; tasks.len()];
    // Until when the wakeup that opened a stall waited: whatever was due meanwhile is part of the stall, however long
    // that was.
    let mut held = vec![0u64; tasks.len()];
    for late in largest.iter().filter(|late| late.value_ns > level_ns) {
        let end_ns = late.at_ns.saturating_add(late.value_ns);
        let skipped = if fill_in { (late.value_ns - level_ns).div_ceil(tasks[late.task].period_ns.max(1)) } else { 1 };
        found.late += 1;
        found.filled = found.filled.saturating_add(skipped);
        let current = open[late.task].map(|index| &mut found.of_tasks[index]);
        match current {
            Some(stall)
                if late.at_ns <= held[late.task]
                    || (late.at_ns <= stall.end_ns.saturating_add(gaps[late.task])
                        && late.at_ns - stall.start_ns < MAX_STALL_NS) =>
            {
                stall.end_ns = stall.end_ns.max(end_ns);
                stall.peak_ns = stall.peak_ns.max(late.value_ns);
                stall.late += 1;
                stall.filled = stall.filled.saturating_add(skipped);
            }
            _ => {
                open[late.task] = Some(found.of_tasks.len());
                held[late.task] = end_ns;
                found.of_tasks.push(Stall {
                    task: late.task,
                    start_ns: late.at_ns,
                    end_ns,
                    peak_ns: late.value_ns,
                    late: 1,
                    filled: skipped,
                    cause: 0,
                });
            }
        }
    }
    found.tell_causes();
    found
}

impl Stalls {
    /// Numbers the causes: stalls that overlap share one. Stalls are in the order of their beginning, because late
    /// wakeups were.
    fn tell_causes(&mut self) {
        let (mut reached, mut first) = (0, 0);
        for (index, stall) in self.of_tasks.iter_mut().enumerate() {
            if index == 0 || stall.start_ns > reached || stall.start_ns - first >= MAX_STALL_NS {
                self.count += 1;
                (first, reached) = (stall.start_ns, stall.end_ns);
            }
            reached = reached.max(stall.end_ns);
            stall.cause = self.count - 1;
        }
    }
}

/// A level, ns, above which late wakeups are rare enough for closeness to separate causes, and above which all are
/// known: the least level that gives many peaks to judge a tail by.
pub(crate) fn peak_level(largest: &[Late], tasks: &[ObservedTask], complete_above_ns: u64, exposure_ns: f64) -> u64 {
    let gap = tasks.iter().map(|task| GAP_NS.max(2 * task.period_ns)).max().unwrap_or(GAP_NS);
    let rare = (DENSE * exposure_ns / gap as f64 * tasks.len().max(1) as f64) as usize;
    let keep = rare.max(500);
    if largest.len() <= keep {
        return complete_above_ns;
    }
    let mut values: Vec<u64> = largest.iter().map(|late| late.value_ns).collect();
    let (_, level, _) = values.select_nth_unstable_by_key(keep, |&value| std::cmp::Reverse(value));
    complete_above_ns.max(*level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn task() -> ObservedTask {
        ObservedTask { tid: 1, cpu: None, period_ns: MS, wakeups: 1_000, missed: Some(1) }
    }

    fn late(task: usize, at_ms: u64, value_ms: u64) -> Late {
        Late { at_ns: at_ms * MS, task, value_ns: value_ms * MS }
    }

    #[test]
    fn one_blackout_is_one_stall_however_it_is_sampled() {
        // 20 ms without running: once as the single wakeup of a thread that skips, once as twenty of one that catches
        // up.
        let skipping = stalls(&[late(0, 1_000, 20)], &[task()], 5 * MS, 1e12, true);
        assert_eq!((skipping.count, skipping.late, skipping.filled), (1, 1, 15));
        let all: Vec<Late> = (0..20).map(|index| late(0, 1_000 + index, 20 - index)).collect();
        let catching_up = stalls(&all, &[task()], 5 * MS, 1e12, false);
        assert_eq!((catching_up.count, catching_up.late, catching_up.filled), (1, 15, 15));
        assert_eq!(catching_up.peaks(), skipping.peaks());
        assert_eq!(catching_up.extremal_index(), Some(1.0 / 15.0));
    }

    #[test]
    fn tasks_held_up_together_have_one_cause() {
        let tasks = [task(), task()];
        let found = stalls(&[late(0, 100, 20), late(1, 101, 19), late(1, 500, 9)], &tasks, MS, 1e12, false);
        assert_eq!((found.count, found.of_tasks.len()), (2, 3));
        assert_eq!(found.peaks(), vec![(20 * MS, 100 * MS), (9 * MS, 500 * MS)]);
    }

    #[test]
    fn a_storm_is_no_one_stall() {
        // 40 s of wakeups 6 ms late every 8 ms, on one CPU and on two in turn: never further apart than the gap.
        let one: Vec<Late> = (0..5_000).map(|index| late(0, 1_000 + 8 * index, 6)).collect();
        let found = stalls(&one, &[task()], 5 * MS, 1e13, false);
        assert!(found.count >= 380 && found.of_tasks.iter().all(|stall| stall.end_ns - stall.start_ns <= 120 * MS));
        let two: Vec<Late> = (0..5_000).map(|index| late(index as usize % 2, 1_000 + 8 * index, 9)).collect();
        assert!(stalls(&two, &[task(), task()], 5 * MS, 1e13, false).count >= 300);
        // One wakeup that waited 500 ms, and those that were due meanwhile, are one stall.
        let all: Vec<Late> = (0..500).map(|index| late(0, 1_000 + index, 500 - index)).collect();
        assert_eq!(stalls(&all, &[task()], 5 * MS, 1e12, false).count, 1);
    }

    #[test]
    fn where_everything_is_late_nothing_is_merged() {
        // Every wakeup is late by 15 us: not one stall of a second, but as many as there are wakeups.
        let all: Vec<Late> = (0..1_000).map(|index| Late { at_ns: index * MS, task: 0, value_ns: 15_000 }).collect();
        let found = stalls(&all, &[task()], 10_000, 1e9, false);
        assert_eq!(found.count, 1_000);
    }

    proptest! {
        #[test]
        fn every_late_wakeup_is_in_one_stall(mut all in prop::collection::vec((0..2_000u64, 0..2usize, 0..60u64), 0..80), level in 0..30u64, fill_in: bool) {
            all.sort_unstable();
            let all: Vec<Late> = all.into_iter().map(|(at, task, value)| late(task, at, value)).collect();
            let tasks = [task(), task()];
            let found = stalls(&all, &tasks, level * MS, 1e13, fill_in);
            let over = all.iter().filter(|late| late.value_ns > level * MS).count() as u64;
            prop_assert_eq!(found.late, over);
            prop_assert_eq!(found.of_tasks.iter().map(|stall| stall.late).sum::<u64>(), over);
            prop_assert!(found.filled >= found.late && found.count <= found.of_tasks.len());
            prop_assert_eq!(found.peaks().iter().map(|peak| peak.0).max(), all.iter().map(|late| late.value_ns).filter(|&value| value > level * MS).max());
            // Raising the level never uncovers later ends or higher peaks.
            let higher = stalls(&all, &tasks, (level + 5) * MS, 1e13, fill_in);
            prop_assert!(higher.late <= found.late);
        }
    }
}
