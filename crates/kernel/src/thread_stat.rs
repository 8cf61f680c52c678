//! What `/proc` says of a single thread.

use crate::stat_line::StatLine;

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
        ThreadStat::told(&StatLine::of_thread(tid)?)
    }

    fn told(line: &StatLine) -> Option<ThreadStat> {
        let [in_program, in_kernel] = [14, 15].map(|number| line.field::<u64>(number));
        Some(ThreadStat {
            name: line.name().to_owned(),
            state: line.state()?,
            ticks: in_program?.saturating_add(in_kernel?),
            started: line.started()?,
        })
    }
}

/// The CPU time that a thread has used itself, ns; `None` if it is gone, or its kernel does not count so precisely.
pub fn ran_ns(tid: u32) -> Option<u64> {
    let schedstat = std::fs::read_to_string(format!("/proc/{tid}/task/{tid}/schedstat")).ok()?;
    let ran_ns: u64 = schedstat.split_whitespace().next()?.parse().ok()?;
    Some(ran_ns).filter(|ran_ns| *ran_ns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_grows_while_a_thread_runs() {
        let tid = crate::clock::thread_id();
        std::thread::yield_now();
        let Some(before_ns) = ran_ns(tid) else {
            return punctual_testing::skip("the_cpu_time_grows_while_a_thread_runs", "there is no schedstat");
        };
        while ran_ns(tid) == Some(before_ns) {
            std::thread::yield_now();
        }
        assert!(ran_ns(tid) > Some(before_ns) && ran_ns(u32::MAX).is_none());
    }

    #[test]
    fn the_fields_are_found_behind_any_name() {
        let parsed = |line: &str| ThreadStat::told(&StatLine::parsed(line)?);
        let stat = "4711 (a) R 2 (b) T 1 4711 4711 0 -1 4194304 105 0 0 0 31 11 0 0 20 0 1 0 8134 2 3 4";
        let expected = ThreadStat { name: "a) R 2 (b".to_owned(), state: 'T', ticks: 42, started: 8_134 };
        assert_eq!(parsed(stat), Some(expected));
        for cut in ["", "4711 (loop", "4711 (loop) S 1 2", "4711 (loop) R 1 7 7 0 -1 64 0 0 0 0 12 30 0 0 20 0 1 0"] {
            assert_eq!(parsed(cut), None, "{cut}");
        }
    }

    #[test]
    fn the_cpu_time_is_the_threads_own() {
        let process = std::process::id();
        let of_all = || ThreadStat::told(&StatLine::of_process(process).unwrap()).unwrap().ticks;
        // A tenth of a second, which this thread uses if others did not.
        while of_all() < 10 {}
        let new = std::thread::spawn(|| ThreadStat::of(crate::clock::thread_id()).unwrap()).join().unwrap();
        assert!(new.state == 'R' && new.ticks < 10, "{new:?}");
        assert_eq!(ThreadStat::of(u32::MAX), None);
    }
}
