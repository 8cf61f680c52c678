//! Which process each thread of an episode belonged to: events name only threads.

use super::late_wakeup::LateWakeup;
use super::rings::Copied;
use punctual_kernel::clock;
use punctual_kernel::stat_line::number_in_status;
use punctual_recording::episode::{Event, Process};
use punctual_recording::printable;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// At most this many of an episode's threads are looked up by number: those of a program that keeps starting others
/// would use up the time that evidence needs.
const MAX_ASKED: usize = 64;
/// How long what was read stays valid, ns: a number is reused only after tens of thousands of others.
const HOLDS_NS: u64 = 1_000_000_000;
/// How much is remembered at most, threads and processes each.
const MAX_REMEMBERED: usize = 4_096;

/// Knows which threads belong to which processes, and the names of these.
pub(super) struct Processes {
    /// In a PID namespace the kernel's programs know threads by other numbers than `/proc` does.
    are_numbered_alike: bool,
    /// The process of a thread, and when that was read; 0: the thread was gone.
    threads: HashMap<u32, (u32, u64)>,
    names: HashMap<u32, (String, u64)>,
}

impl Processes {
    pub(super) fn new() -> Processes {
        let are_numbered_alike = !clock::in_pid_namespace();
        Processes { are_numbered_alike, threads: HashMap::new(), names: HashMap::new() }
    }

    /// The processes of the threads that appear in an episode. Samples name theirs; for others `/proc` does, as long as
    /// they exist.
    pub(super) fn of(&mut self, late: &LateWakeup, copied: &[(u32, Copied)], events: &[Event]) -> Vec<Process> {
        if !self.are_numbered_alike {
            return Vec::new();
        }
        let now_ns = clock::monotonic_ns();
        if self.threads.len() > MAX_REMEMBERED || self.names.len() > MAX_REMEMBERED {
            self.threads.clear();
            self.names.clear();
        }
        let stacks = copied.iter().flat_map(|(_, copied)| &copied.stacks);
        let mut known: BTreeMap<u32, u32> = stacks.map(|stack| (stack.tid, stack.process)).collect();
        let ran: BTreeSet<u32> = events.iter().map(|event| event.tid).collect();
        let asked = [late.tid].into_iter().chain(ran).filter(|tid| *tid != 0 && !known.contains_key(tid));
        let asked: BTreeSet<u32> = asked.take(MAX_ASKED).collect();
        known.extend(asked.into_iter().map(|tid| (tid, self.process_of(tid, now_ns))));
        let mut processes: BTreeMap<u32, Process> = BTreeMap::new();
        for (tid, number) in known.into_iter().filter(|(tid, number)| *tid != 0 && *number != 0) {
            let new = || Process { number, name: self.name_of(number, now_ns), threads: Vec::new() };
            processes.entry(number).or_insert_with(new).threads.push(tid);
        }
        processes.into_values().collect()
    }

    fn process_of(&mut self, tid: u32, now_ns: u64) -> u32 {
        let known = self.threads.get(&tid).filter(|(_, read_ns)| now_ns.saturating_sub(*read_ns) < HOLDS_NS);
        if let Some((process, _)) = known {
            return *process;
        }
        let status = std::fs::read(format!("/proc/{tid}/status")).unwrap_or_default();
        // For one that is gone, what was known still holds: nobody else has its number.
        let before = self.threads.get(&tid).map_or(0, |(process, _)| *process);
        let process = number_in_status(&String::from_utf8_lossy(&status), "Tgid").unwrap_or(before);
        self.threads.insert(tid, (process, now_ns));
        process
    }

    /// A process's name; nothing if it is gone.
    fn name_of(&mut self, number: u32, now_ns: u64) -> String {
        let known = self.names.get(&number).filter(|(_, read_ns)| now_ns.saturating_sub(*read_ns) < HOLDS_NS);
        if let Some((name, _)) = known {
            return name.clone();
        }
        let text = std::fs::read(format!("/proc/{number}/comm")).unwrap_or_default();
        let text = text.strip_suffix(b"\n").unwrap_or(&text);
        let before = self.names.get(&number).map(|(name, _)| name.clone()).filter(|_| text.is_empty());
        let name = before.unwrap_or_else(|| printable(&String::from_utf8_lossy(text)));
        self.names.insert(number, (name.clone(), now_ns));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_of_this_process_and_one_that_is_gone_of_none() {
        let mut processes = Processes::new();
        let own = clock::thread_id();
        assert_eq!(processes.process_of(own, 1), std::process::id());
        assert_eq!(processes.process_of(u32::MAX, 1), 0);
        assert!(!processes.name_of(std::process::id(), 1).is_empty());
        assert_eq!(processes.name_of(u32::MAX, 1), "");
        // What was known still holds.
        processes.threads.insert(u32::MAX - 1, (7, 1));
        processes.names.insert(u32::MAX - 1, ("gone".to_owned(), 1));
        let later = 2 * HOLDS_NS;
        assert_eq!(processes.process_of(u32::MAX - 1, later), 7);
        assert_eq!(processes.name_of(u32::MAX - 1, later), "gone");
    }
}
