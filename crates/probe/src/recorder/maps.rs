//! Which files contain the code of processes. Reading that keeps the kernel busy for a while during which nobody goes
//! first, so what was read is kept for a time.

use super::symbols::{Mapping, mappings};
use std::collections::HashMap;

/// A process's code is read anew after this time, ns: it may have loaded more, or be another process by now.
const KEPT_NS: u64 = 2_000_000_000;
/// How many processes are remembered at most: each with a few hundred kilobytes, whatever it has mapped.
const MAX_PROCESSES: usize = 256;

/// The code of processes that were seen lately.
#[derive(Default)]
pub(super) struct Maps {
    processes: HashMap<u32, Known>,
}

struct Known {
    read_ns: u64,
    mappings: Vec<Mapping>,
}

impl Maps {
    /// Reads what a process has mapped, unless that is known and contains this instruction of it.
    pub(super) fn see(&mut self, process: u32, instruction: u64, now_ns: u64) {
        self.see_with(process, instruction, now_ns, mappings);
    }

    fn see_with(&mut self, process: u32, instruction: u64, now_ns: u64, read: impl Fn(u32) -> Vec<Mapping>) {
        if let Some(known) = self.processes.get(&process)
            && now_ns.saturating_sub(known.read_ns) < KEPT_NS
            && known.mappings.iter().any(|mapping| mapping.holds(instruction))
        {
            return;
        }
        let mappings = read(process);
        // One that is gone stays known as it was.
        if mappings.is_empty() && self.processes.contains_key(&process) {
            return;
        }
        if self.processes.len() >= MAX_PROCESSES {
            self.processes.retain(|_, known| now_ns.saturating_sub(known.read_ns) < KEPT_NS);
        }
        if self.processes.len() >= MAX_PROCESSES {
            self.processes.clear();
        }
        self.processes.insert(process, Known { read_ns: now_ns, mappings });
    }

    /// The code of a process, as it was last seen.
    pub(super) fn of(&self, process: u32) -> &[Mapping] {
        self.processes.get(&process).map_or(&[], |known| &known.mappings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::symbols::parse_mapping;
    use std::cell::Cell;

    #[test]
    fn a_process_is_read_once_until_it_runs_elsewhere_or_time_has_passed() {
        let line = parse_mapping("7f00000000-7f00002000 r-xp 00001000 fe:00 123    /lib/x.so").unwrap();
        let (reads, mut maps) = (Cell::new(0), Maps::default());
        let mut see = |instruction, now_ns, found: bool| {
            maps.see_with(7, instruction, now_ns, |_| {
                reads.set(reads.get() + 1);
                if found { vec![line.clone()] } else { Vec::new() }
            });
            (reads.get(), maps.of(7).len())
        };
        assert_eq!(see(0x7f_0000_0010, 1, true), (1, 1));
        assert_eq!(see(0x7f_0000_1000, 2, true), (1, 1), "known");
        assert_eq!(see(0x10, 3, true), (2, 1), "code that is not known");
        assert_eq!(see(0x7f_0000_0010, 3 + KEPT_NS, false), (3, 1), "gone, and known as it was");
        assert!(maps.of(8).is_empty());
    }
}
