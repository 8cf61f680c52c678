//! The processes below the guard.

use rustix::process::{Pid, Signal, WaitOptions};
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
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Some(stat) = stat_of(&entry.path()) else { continue };
        // The name in parentheses may hold anything, spaces and parentheses too.
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let mut words = rest.split_whitespace();
        let (state, parent) = (words.next(), words.next().and_then(|word| word.parse::<u32>().ok()));
        if let (Some(state), Some(parent)) = (state, parent) {
            parents.push((pid, parent, state == "Z"));
        }
    }
    let mut found = vec![ancestor];
    let mut position = 0;
    while position < found.len() {
        let parent = found[position];
        found.extend(parents.iter().filter(|entry| entry.1 == parent).map(|entry| entry.0));
        position += 1;
    }
    found.remove(0);
    found.retain(|pid| !parents.iter().any(|&(other, _, zombie)| other == *pid && zombie));
    found
}
