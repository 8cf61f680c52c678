//! The processes below the guard.

use rustix::process::{Pid, Signal, WaitOptions};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// A process that ended, and its exit code; `None` when a signal ended it.
pub(super) struct Dead {
    pub(super) pid: u32,
    pub(super) code: Option<i32>,
}

/// Reaps children that have ended, including those that others left behind.
pub(super) fn reap() -> Vec<Dead> {
    let mut dead = Vec::new();
    // In any process group: some lead sessions of their own.
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        dead.push(Dead { pid: pid.as_raw_nonzero().get() as u32, code: status.exit_status() });
    }
    dead
}

pub(super) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// What the kernel says about a process. It holds the name, which may be any bytes.
fn stat_of(directory: &Path) -> Option<String> {
    let bytes = std::fs::read(directory.join("stat")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Kills every process of a session, which may have lost its leader.
pub(super) fn kill_session(leader: u32) {
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Some(stat) = stat_of(&entry.path()) else { continue };
        let session = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(3)?.parse::<u32>().ok());
        if session == Some(leader) {
            signal(pid, Signal::KILL);
        }
    }
}

/// Kills every process below this one, until none is left or two seconds have passed.
pub(super) fn kill_descendants(ancestor: u32) {
    let until = Instant::now() + Duration::from_secs(2);
    loop {
        let left = descendants(ancestor);
        if left.is_empty() || Instant::now() > until {
            return;
        }
        left.iter().for_each(|&pid| signal(pid, Signal::KILL));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// All processes below this one, except zombies.
pub fn descendants(ancestor: u32) -> Vec<u32> {
    let mut processes = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        processes.extend(stat_of(&entry.path()).and_then(|stat| Listed::parsed(pid, &stat)));
    }
    below(ancestor, &processes)
}

/// A process as the kernel lists it.
#[derive(Debug, PartialEq, Eq)]
struct Listed {
    pid: u32,
    parent: u32,
    is_zombie: bool,
}

impl Listed {
    fn parsed(pid: u32, stat: &str) -> Option<Listed> {
        // The name in parentheses may hold anything, spaces and parentheses too; the state, third of all fields, follows it.
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        // The first thread may have ended, and others go on.
        let is_alone = field(20)?.parse::<i64>().ok()? <= 1;
        Some(Listed { pid, parent: field(4)?.parse().ok()?, is_zombie: field(3)? == "Z" && is_alone })
    }
}

/// Those below one, except zombies: parents before their children.
fn below(ancestor: u32, processes: &[Listed]) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<&Listed>> = HashMap::new();
    for process in processes {
        children.entry(process.parent).or_default().push(process);
    }
    let (mut found, mut waiting) = (Vec::new(), vec![ancestor]);
    while let Some(parent) = waiting.pop() {
        // Each parent once: numbers that were given anew while the list was read may seem to be below themselves.
        for process in children.remove(&parent).unwrap_or_default() {
            waiting.push(process.pid);
            if !process.is_zombie && process.pid != ancestor {
                found.push(process.pid);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(pid: u32, parent: u32, is_zombie: bool) -> Listed {
        Listed { pid, parent, is_zombie }
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_goes_on() {
        let stat = |state: &str, threads: &str| {
            format!(
                "7 (a) Z 1) {state} 6 7 7 0 -1 4227084 0 0 0 0 0 0 0 0 20 0 {threads} 0 1234 0 0 18446744073709551615"
            )
        };
        let zombie = |state, threads| Listed::parsed(7, &stat(state, threads)).unwrap().is_zombie;
        assert!(zombie("Z", "1") && zombie("Z", "0"));
        assert!(!zombie("Z", "2") && !zombie("S", "1") && !zombie("R", "2"));
        assert_eq!(Listed::parsed(7, &stat("S", "1")), Some(listed(7, 6, false)));
        assert_eq!(Listed::parsed(7, "7 (a) S 6 7"), None);
        let own = stat_of(Path::new("/proc/self")).and_then(|stat| Listed::parsed(7, &stat));
        assert_eq!(own, Some(listed(7, std::os::unix::process::parent_id(), false)));
    }

    #[test]
    fn those_below_are_found_once_whatever_the_list_says() {
        let all =
            [listed(5, 2, false), listed(2, 1, false), listed(3, 2, true), listed(4, 3, false), listed(9, 8, false)];
        let sorted = |ancestor| {
            let mut found = below(ancestor, &all);
            found.sort_unstable();
            found
        };
        assert_eq!((sorted(1), sorted(2)), (vec![2, 4, 5], vec![4, 5]));
        assert!(sorted(9).is_empty());
        assert_eq!(below(1, &[listed(2, 1, false), listed(3, 2, false), listed(1, 3, false)]), [2, 3]);
        assert!(below(1, &[listed(1, 1, false)]).is_empty());
    }

    #[test]
    fn very_many_processes_are_found_at_once() {
        const MANY: u32 = 200_000;
        let chain: Vec<Listed> = (2..=MANY).map(|pid| listed(pid, pid - 1, false)).collect();
        let began = Instant::now();
        assert_eq!(below(1, &chain).len(), MANY as usize - 1);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
