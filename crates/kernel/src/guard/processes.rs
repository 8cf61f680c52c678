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
        let Some(stat) = stat_of(&entry.path()) else { continue };
        // The name in parentheses may hold anything, spaces and parentheses too.
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let mut words = rest.split_whitespace();
        let (state, parent) = (words.next(), words.next().and_then(|word| word.parse::<u32>().ok()));
        if let (Some(state), Some(parent)) = (state, parent) {
            processes.push(Listed { pid, parent, is_zombie: state == "Z" });
        }
    }
    below(ancestor, &processes)
}

/// A process as the kernel lists it.
struct Listed {
    pid: u32,
    parent: u32,
    is_zombie: bool,
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
