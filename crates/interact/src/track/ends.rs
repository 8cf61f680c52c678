//! When a program is done with its CPUs.

use punctual_probe::terminal::Seen;
use std::collections::{HashMap, HashSet};

/// A longer pause than this ends it, ns: the paper's samples are 1 ms long, research on this kind of machine found 100
/// us.
const PAUSE_NS: u64 = 100_000;
/// How many threads that could go on are remembered.
const MAX_THREADS: usize = 1_024;

/// Finds the end of what began when an input was taken.
#[derive(Default)]
pub(super) struct Ends {
    last_ns: Option<u64>,
    is_over: bool,
    /// Threads that were made to leave their CPU and could go on.
    would_go_on: HashSet<u32>,
}

impl Ends {
    pub(super) fn begin(&mut self) {
        (self.last_ns, self.is_over) = (None, false);
    }

    /// A thread ran from then until now; returns the end, once it is known. `ready` are those that have a CPU or wait for one,
    /// and since when.
    pub(super) fn ran(&mut self, seen: &Seen, from_ns: u64, ready: &HashMap<u32, u64>) -> Option<u64> {
        let before = self.last_ns;
        let had_others = !self.would_go_on.is_empty() || is_any_ready(ready, before);
        if seen.slept() {
            self.would_go_on.remove(&seen.tid);
        } else if self.would_go_on.len() < MAX_THREADS {
            self.would_go_on.insert(seen.tid);
        }
        self.goes_on(from_ns, seen.at_ns, had_others)
    }

    fn goes_on(&mut self, from_ns: u64, at_ns: u64, had_others: bool) -> Option<u64> {
        let before = self.last_ns;
        if self.is_over {
            return None;
        }
        if let Some(before) = before.filter(|before| !had_others && from_ns > before + PAUSE_NS) {
            self.is_over = true;
            return Some(before);
        }
        self.last_ns = Some(at_ns.max(before.unwrap_or(0)));
        None
    }

    /// A thread among those that are ready still has its CPU, or has had one since then; returns the end, once it is known.
    pub(super) fn is_running(&mut self, since_ns: u64, at_ns: u64, ready: &HashMap<u32, u64>) -> Option<u64> {
        let had_others = !self.would_go_on.is_empty() || is_any_ready(ready, self.last_ns);
        self.goes_on(since_ns, at_ns, had_others)
    }

    /// This thread has ended.
    pub(super) fn forget(&mut self, tid: u32) {
        self.would_go_on.remove(&tid);
    }

    /// The end, if nothing more comes.
    pub(super) fn last(&self, ready: &HashMap<u32, u64>) -> Option<u64> {
        self.last_ns.filter(|_| !self.is_over && !is_any_ready(ready, self.last_ns))
    }
}

/// Whether any thread has had a CPU, or waited for one, since so soon after then that there was no pause.
fn is_any_ready(ready: &HashMap<u32, u64>, last_ns: Option<u64>) -> bool {
    last_ns.is_some_and(|last_ns| ready.values().any(|since| *since <= last_ns + PAUSE_NS))
}
