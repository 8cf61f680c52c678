//! Which loops may have started the threads that never slept.
//!
//! Nothing says who started a thread. One of the loop's own process may be the loop's, as with `SIGEV_THREAD`, and so may one that
//! was a process, as with a fork for each job, unless it ended before the loop began.

use super::cycle_count::CycleCount;
use crate::document::without_sleep::{Unslept, WithoutSleep};
use crate::format::bounds::MAX_TASKS;
use crate::{Followed, Wakeup};
use std::collections::{BTreeMap, HashMap};

/// When each thread began to loop, held against the threads that never slept.
pub(super) struct Starters<'a> {
    rows: Vec<&'a WithoutSleep>,
    /// By thread: its process, the last where its number was used again.
    processes: HashMap<u32, u32>,
    /// By thread: when it first woke, ns, and whether by a timer of its own.
    began: HashMap<u32, (u64, bool)>,
    /// By the name and policy of loops, and their process: when the first of these loops began, ns.
    loops: BTreeMap<String, HashMap<u32, u64>>,
}

impl<'a> Starters<'a> {
    pub(super) fn new(followed: Option<&'a Followed>) -> Starters<'a> {
        let rows = followed.into_iter().flat_map(|followed| &followed.without_sleep);
        let rows: Vec<&WithoutSleep> = rows.filter(|row| !row.is_context).collect();
        // Nearly every recording has none.
        let threads = followed.filter(|_| !rows.is_empty()).into_iter().flat_map(|followed| &followed.threads);
        let processes = threads.map(|thread| (thread.tid, thread.process)).collect();
        Starters { rows, processes, began: HashMap::new(), loops: BTreeMap::new() }
    }

    /// Takes a thread's next wakeup, and whether one of its own timers caused it. A loop of timers begins with the first of them:
    /// before that, a program waits for what it needs.
    pub(super) fn take(&mut self, wakeup: &Wakeup, is_by_timer: bool) {
        // A file may name any number of threads.
        if self.rows.is_empty() || (self.began.len() >= MAX_TASKS && !self.began.contains_key(&wakeup.tid)) {
            return;
        }
        let began = self.began.entry(wakeup.tid).or_insert((wakeup.expected_ns, is_by_timer));
        if is_by_timer && !began.1 {
            *began = (wakeup.expected_ns, true);
        }
    }

    /// Takes a thread that is a loop, and its name and policy.
    pub(super) fn is_loop(&mut self, tid: u32, measure: &str) {
        let Some((began_ns, _)) = self.began.get(&tid) else { return };
        let processes = self.loops.entry(measure.to_owned()).or_default();
        // 0 if that is not known, as of threads that are not told apart.
        let process = self.processes.get(&tid).copied().unwrap_or(0);
        let first_ns = processes.entry(process).or_insert(*began_ns);
        *first_ns = (*first_ns).min(*began_ns);
    }

    /// Notes with the cycles of each name and policy which threads loops of it may have started.
    pub(super) fn note_started(&self, by_name: &mut BTreeMap<String, CycleCount>) {
        for (measure, unslept) in self.started() {
            let count = by_name.entry(measure.to_owned()).or_default();
            (count.without_sleep, count.longest_without_sleep_ns) = (unslept.threads, unslept.longest_executed_ns);
        }
    }

    fn started(&self) -> impl Iterator<Item = (&str, Unslept)> {
        self.loops.iter().map(|(measure, processes)| {
            let first_ns = processes.values().copied().min().unwrap_or(u64::MAX);
            let may_be_theirs = |row: &&&WithoutSleep| {
                let own_ns = processes.get(&row.process).or_else(|| processes.get(&0)).copied();
                let began_ns = if row.process == 0 { Some(first_ns) } else { own_ns };
                began_ns.is_some_and(|began_ns| row.last_ended_ns >= began_ns)
            };
            (measure.as_str(), Unslept::of(self.rows.iter().filter(may_be_theirs).copied()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FollowedThread;

    const MS: u64 = 1_000_000;

    fn row(process: u32, threads: u64, last_ended_ns: u64) -> WithoutSleep {
        let longest_executed_ns = threads * 1_000;
        WithoutSleep { process, threads, last_ended_ns, longest_executed_ns, ..WithoutSleep::default() }
    }

    /// What loops of this process may have started of these, where a thread of it woke at first for something else, after 5 ms, and
    /// then by its timer from 10 ms on.
    fn started(process: u32, rows: Vec<WithoutSleep>) -> Option<Unslept> {
        let threads = vec![FollowedThread { tid: 7, process, ..FollowedThread::default() }];
        let followed = Followed { without_sleep: rows, threads, ..Followed::default() };
        let mut starters = Starters::new(Some(&followed));
        for (due_ns, is_by_timer) in [(5 * MS, false), (10 * MS, true), (12 * MS, false), (20 * MS, true)] {
            starters.take(&Wakeup { tid: 7, expected_ns: due_ns, ..Wakeup::default() }, is_by_timer);
        }
        starters.is_loop(7, "loop other");
        starters.started().map(|(measure, unslept)| (measure == "loop other").then_some(unslept)).next().flatten()
    }

    #[test]
    fn a_loop_may_have_started_threads_of_its_process_and_processes_since_it_began() {
        for (row, may_be_its_own) in [
            (row(40, 3, 11 * MS), true),
            // A process, whose parent nobody knows.
            (row(0, 3, 11 * MS), true),
            // A thread of another process.
            (row(41, 3, 11 * MS), false),
            // What a program starts before its loop is no work of that.
            (row(40, 3, 10 * MS - 1), false),
            (row(0, 3, 6 * MS), false),
            (WithoutSleep { is_context: true, ..row(40, 3, 11 * MS) }, false),
        ] {
            let threads = started(40, vec![row.clone()]).map_or(0, |unslept| unslept.threads);
            assert_eq!(threads, if may_be_its_own { 3 } else { 0 }, "{row:?}");
        }
        let unslept = started(40, vec![row(40, 3, 11 * MS), row(0, 9, 12 * MS), row(41, 99, 12 * MS)]);
        assert_eq!(unslept, Some(Unslept { threads: 12, longest_executed_ns: 9_000 }));
        // Where it is not known whose loop it is, they may be of its process.
        assert_eq!(started(0, vec![row(41, 3, 11 * MS)]).map(|unslept| unslept.threads), Some(3));
        assert_eq!(started(40, Vec::new()), None);
    }
}
