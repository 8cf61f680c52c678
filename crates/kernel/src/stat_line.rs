//! The line of `/proc/PID/stat`, by the numbers that proc_pid_stat(5) gives its fields, and the fields of `/proc/PID/status`.

use std::str::FromStr;

/// What the kernel says of a process, or of one of its threads, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatLine {
    name: String,
    /// From the third field on.
    rest: String,
}

impl StatLine {
    /// Of a process: its times and faults are those of all its threads. `None` if it is gone or hidden.
    pub fn of_process(process: u32) -> Option<StatLine> {
        StatLine::read(&format!("/proc/{process}/stat"))
    }

    /// Of a single thread, without the others of its process. `None` if it is gone or hidden.
    pub fn of_thread(tid: u32) -> Option<StatLine> {
        StatLine::read(&format!("/proc/{tid}/task/{tid}/stat"))
    }

    /// From bytes rather than text: the name may be in no encoding.
    fn read(path: &str) -> Option<StatLine> {
        StatLine::parsed(&String::from_utf8_lossy(&std::fs::read(path).ok()?))
    }

    /// From a line like `4711 (name) S 1 ...`; `None` if it has no name.
    pub fn parsed(line: &str) -> Option<StatLine> {
        // The name in parentheses may hold anything, spaces and parentheses too.
        let (before, rest) = line.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        Some(StatLine { name: name.to_owned(), rest: rest.to_owned() })
    }

    /// The name of the process, or of the thread; `\u{fffd}` stands for bytes that are no text.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The field with this number, from the third on: the state is 3, as in the manual. `None` if the line ends before
    /// it or it is something else.
    pub fn field<T: FromStr>(&self, number: usize) -> Option<T> {
        self.rest.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
    }

    /// What it does, in the kernel's letters: `R` if it runs or would, `S` if it sleeps, `T` if it is stopped, `Z` if
    /// nobody has waited for its end yet.
    pub fn state(&self) -> Option<char> {
        self.field(3)
    }

    /// When it was started, in ticks since boot: a later one with the same number has a different one.
    pub fn started(&self) -> Option<u64> {
        self.field(22)
    }

    /// Whether all its threads have ended: the first one may have while others go on.
    pub fn has_ended(&self) -> bool {
        matches!(self.state(), None | Some('Z' | 'X')) && self.field::<i64>(20).is_none_or(|threads| threads <= 1)
    }
}

/// The number in a field, such as `Tgid`, of what `/proc/PID/status` says; `None` if it has no such field, or no such number there.
pub fn number_in_status<T: FromStr>(status: &str, field: &str) -> Option<T> {
    // Line breaks in the name, which comes first, are written in another way: no name makes up a field.
    let told = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    told.trim().parse().ok()
}

/// All processes that this user can see.
pub fn processes() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_numbers_of_the_manual_behind_any_name() {
        let line = "42 (a) R 2 (b) S 1 42 43 34817 44 4194304 10 11 12 13 14 15 16 17 20 0 1 0 98765 1 2 3";
        let read = StatLine::parsed(line).unwrap();
        assert_eq!((read.name(), read.state(), read.started()), ("a) R 2 (b", Some('S'), Some(98_765)));
        let numbers = [4, 5, 6, 7, 9, 10, 14, 20].map(|number| read.field::<u64>(number));
        assert_eq!(numbers, [1, 42, 43, 34_817, 4_194_304, 10, 14, 1].map(Some));
        assert_eq!((read.field::<u64>(2), read.field::<u64>(3), read.field::<u64>(99)), (None, None, None));
        for cut in ["", "12", "12 (", "12 (a", "12 )a( S"] {
            assert_eq!(StatLine::parsed(cut), None, "{cut}");
        }
    }

    #[test]
    fn a_process_has_ended_with_the_last_of_its_threads() {
        let has_ended = |state: &str, threads: &str| {
            let line = format!("7 (a) Z 1) {state} 6 7 7 0 -1 4227084 0 0 0 0 0 0 0 0 20 0 {threads} 0 1234 0");
            StatLine::parsed(&line).unwrap().has_ended()
        };
        assert!(has_ended("Z", "1") && has_ended("Z", "0") && has_ended("X", "0"));
        assert!(!has_ended("Z", "2") && !has_ended("S", "1") && !has_ended("R", "2"));
    }

    #[test]
    fn a_field_of_the_status_is_found_by_its_whole_name() {
        let status = "Name:\tTgid:\nNgid:\t3\nTgid:\t17\nPid:\t18\nState:\tS (sleeping)\n";
        assert_eq!((number_in_status(status, "Tgid"), number_in_status(status, "Pid")), (Some(17_u32), Some(18_u32)));
        for field in ["Tg", "State", "PPid", ""] {
            assert_eq!(number_in_status::<u32>(status, field), None, "{field}");
        }
    }

    #[test]
    fn this_process_is_there() {
        let own = StatLine::of_process(std::process::id()).unwrap();
        assert_eq!((own.field(4), own.has_ended()), (Some(std::os::unix::process::parent_id()), false));
        assert_eq!(StatLine::of_thread(crate::clock::thread_id()).unwrap().state(), Some('R'));
        assert_eq!(StatLine::of_process(u32::MAX), None);
        assert!(processes().contains(&std::process::id()));
    }
}
