//! What `/proc` says of a single thread.

/// A thread as the kernel described it at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStat {
    /// Its name; `\u{fffd}` stands for bytes that are no text.
    pub name: String,
    /// What it does, in the kernel's letters: `R` if it runs or would, `S` if it sleeps, `Z` if nobody has waited for its end yet.
    pub state: char,
    /// The CPU time that it has used itself, without the other threads of its process, in ticks of `/proc`.
    pub ticks: u64,
    /// When it was started, in ticks since boot: a later thread with the same number has a different one.
    pub started: u64,
}

impl ThreadStat {
    /// This thread now; `None` if it is gone or hidden.
    pub fn of(tid: u32) -> Option<ThreadStat> {
        // The file that is not below `task` has the CPU time of all threads of the process.
        let bytes = std::fs::read(format!("/proc/{tid}/task/{tid}/stat")).ok()?;
        ThreadStat::parsed(&String::from_utf8_lossy(&bytes))
    }

    fn parsed(stat: &str) -> Option<ThreadStat> {
        // The name in parentheses may hold anything; the state, third of all fields, follows it.
        let (before, after) = stat.rsplit_once(')')?;
        let name = before.split_once('(')?.1.to_owned();
        let mut fields = after.split_whitespace();
        let state = fields.next()?.chars().next()?;
        // In programs, and in the kernel for them: the fields 14 and 15.
        let of_program: u64 = fields.nth(14 - 4)?.parse().ok()?;
        let of_kernel: u64 = fields.next()?.parse().ok()?;
        let started = fields.nth(22 - 16)?.parse().ok()?;
        Some(ThreadStat { name, state, ticks: of_program.saturating_add(of_kernel), started })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_behind_any_name() {
        let stat = "4711 (a) R 2 (b) T 1 4711 4711 0 -1 4194304 105 0 0 0 31 11 0 0 20 0 1 0 8134 2 3 4";
        let expected = ThreadStat { name: "a) R 2 (b".to_owned(), state: 'T', ticks: 42, started: 8_134 };
        assert_eq!(ThreadStat::parsed(stat), Some(expected));
        for cut in ["", "4711 (loop", "4711 (loop) S 1 2", "4711 (loop) R 1 7 7 0 -1 64 0 0 0 0 12 30 0 0 20 0 1 0"] {
            assert_eq!(ThreadStat::parsed(cut), None, "{cut}");
        }
    }

    #[test]
    fn the_cpu_time_is_the_threads_own() {
        let process = format!("/proc/{}/stat", std::process::id());
        let of_all = || ThreadStat::parsed(&std::fs::read_to_string(&process).unwrap()).unwrap().ticks;
        // A tenth of a second, which this thread uses if others did not.
        while of_all() < 10 {}
        let new = std::thread::spawn(|| ThreadStat::of(crate::clock::thread_id()).unwrap()).join().unwrap();
        assert!(new.state == 'R' && new.ticks < 10, "{new:?}");
        assert_eq!(ThreadStat::of(u32::MAX), None);
    }
}
