//! Under which name and policy the cycles of a thread count that had several.

use crate::Task;
use std::collections::BTreeMap;

/// The names and policies of one thread, each with its wakeups, in the order in which it took them.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    wakeups: Vec<(&'a str, u64)>,
    /// How many wakeups nobody saw, under any of them.
    pub(super) unseen: u64,
}

impl<'a> Names<'a> {
    pub(super) fn take(&mut self, task: &'a Task) {
        let counters = &task.counters;
        self.unseen = self.unseen.saturating_add(counters.unobserved).saturating_add(counters.lost);
        match self.wakeups.iter_mut().find(|(measure, _)| *measure == task.measure) {
            Some((_, wakeups)) => *wakeups = wakeups.saturating_add(counters.wakeups),
            None => self.wakeups.push((&task.measure, counters.wakeups)),
        }
    }

    /// The one under which it woke most often; of several the last.
    pub(super) fn most_often(&self) -> Option<&'a str> {
        self.wakeups.iter().max_by_key(|(_, wakeups)| *wakeups).map(|(measure, _)| *measure)
    }

    /// The wakeups under each under which it woke, if these are several.
    pub(super) fn several(&self) -> Option<BTreeMap<String, u64>> {
        let woke = self.wakeups.iter().filter(|(_, wakeups)| *wakeups > 0);
        let woke: BTreeMap<String, u64> = woke.map(|(measure, wakeups)| ((*measure).to_owned(), *wakeups)).collect();
        (woke.len() > 1).then_some(woke)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counters;

    #[test]
    fn a_thread_counts_under_the_name_with_which_it_woke_most_often() {
        let task = |measure: &str, wakeups, unobserved| Task {
            measure: measure.to_owned(),
            tid: 7,
            cpu: None,
            period_ns: 0,
            counters: Counters { wakeups, unobserved, ..Counters::default() },
        };
        let tasks = [task("a other", 3, 1), task("a fifo:50", 400, 2), task("a other", 297, 0), task("b other", 0, 0)];
        let mut names = Names::default();
        tasks.iter().for_each(|task| names.take(task));
        assert_eq!((names.most_often(), names.unseen), (Some("a fifo:50"), 3));
        let several = [("a fifo:50".to_owned(), 400), ("a other".to_owned(), 300)];
        assert_eq!(names.several(), Some(several.into()));
        // Alone, it is what the thread counts under anyway.
        let mut names = Names::default();
        names.take(&tasks[3]);
        names.take(&tasks[0]);
        assert_eq!((names.most_often(), names.several()), (Some("a other"), None));
    }
}
