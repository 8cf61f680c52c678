//! Programs whose threads take a name of their own, as a server that makes one for each connection.
//!
//! A thread that takes a selected name is followed once this process hears of it. By then one that is made for a single piece of work sleeps already, or has ended.
//! So where two threads of a program have taken such a name, all of its threads are followed, and with them those that they make from then on.

use std::collections::{HashMap, HashSet};

/// So many threads of a program have to take a selected name.
const MIN_NAMED: usize = 2;
/// So many programs are told apart at most.
const MAX_PROGRAMS: usize = 1_024;
/// A program with more threads than these is left as it is: to follow all of them costs more than it tells.
pub(super) const MAX_THREADS: usize = 64;

/// Which programs these are.
#[derive(Default)]
pub(super) struct Makers {
    /// Threads that took a selected name, by process: no more than are needed.
    named: HashMap<u32, HashSet<u32>>,
}

impl Makers {
    /// A thread of a process took a selected name. Returns whether the threads of that process are to be followed from now on.
    pub(super) fn took_name(&mut self, tid: u32, process: u32) -> bool {
        if tid == process || self.named.len() >= MAX_PROGRAMS && !self.named.contains_key(&process) {
            return false;
        }
        let named = self.named.entry(process).or_default();
        named.len() < MIN_NAMED && named.insert(tid) && named.len() == MIN_NAMED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_thread_of_a_program_that_takes_a_name_shows_that_it_makes_such_threads() {
        let mut makers = Makers::default();
        let told = [(41, 40), (41, 40), (51, 50), (42, 40), (43, 40), (60, 60), (61, 60)];
        let found: Vec<bool> = told.into_iter().map(|(tid, process)| makers.took_name(tid, process)).collect();
        assert_eq!(found, [false, false, false, true, false, false, false], "a first thread makes the others");
    }

    #[test]
    fn programs_are_kept_within_bounds() {
        let mut makers = Makers::default();
        (1..3 * MAX_PROGRAMS as u32).for_each(|process| {
            makers.took_name(100_000 + process, process);
        });
        assert_eq!(makers.named.len(), MAX_PROGRAMS);
    }
}
