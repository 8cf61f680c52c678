//! The processes below the guard.

use crate::stat_line::{StatLine, processes};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, pidfd_open, pidfd_send_signal,
};
use std::collections::HashMap;
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

/// Whether any child is left, be it one that others left behind. Whoever forks and ends while processes are listed is on no list, nor is the new one.
pub(super) fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    rustix::process::waitid(WaitId::All, options).err() != Some(rustix::io::Errno::CHILD)
}

/// Kills every process of a session, which may have lost its leader.
pub(super) fn kill_session(leader: u32) {
    listed().iter().filter(|process| process.session == leader).for_each(|process| process.signal(Signal::KILL));
}

/// Kills every process below this one, until none is left or two seconds have passed.
pub(super) fn kill_descendants(ancestor: u32) {
    let until = Instant::now() + Duration::from_secs(2);
    loop {
        let left = all_below(ancestor);
        if left.is_empty() || Instant::now() > until {
            return;
        }
        left.iter().for_each(|process| process.signal(Signal::KILL));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The numbers of all processes below this one, except zombies.
pub fn descendants(ancestor: u32) -> Vec<u32> {
    all_below(ancestor).iter().map(|process| process.pid).collect()
}

/// All processes below this one, except zombies.
pub(super) fn all_below(ancestor: u32) -> Vec<Listed> {
    below(ancestor, &listed())
}

fn listed() -> Vec<Listed> {
    processes().into_iter().filter_map(Listed::of).collect()
}

/// A process as the kernel lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed {
    pid: u32,
    parent: u32,
    session: u32,
    is_zombie: bool,
    /// In clock ticks since boot: a later process with the same number has another one.
    started: u64,
}

impl Listed {
    fn of(pid: u32) -> Option<Listed> {
        Listed::told(pid, &StatLine::of_process(pid)?)
    }

    fn told(pid: u32, line: &StatLine) -> Option<Listed> {
        Some(Listed {
            pid,
            parent: line.field(4)?,
            session: line.field(6)?,
            is_zombie: line.has_ended(),
            started: line.started()?,
        })
    }

    /// Sends it a signal, and nobody else who has its number by now: programs that start and end others all the time can
    /// have numbers given anew while processes are listed.
    pub(super) fn signal(&self, signal: Signal) {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return };
        // If the one that was listed still has its number, this is that one.
        let process = pidfd_open(pid, PidfdFlags::empty());
        if Listed::of(self.pid).is_none_or(|now| now.started != self.started) {
            return;
        }
        let _ = match process {
            Ok(process) => pidfd_send_signal(process, signal),
            // There may be no room for one more open file.
            Err(_) => kill_process(pid, signal),
        };
    }
}

/// Those below one, except zombies: parents before their children.
fn below(ancestor: u32, processes: &[Listed]) -> Vec<Listed> {
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
                found.push(*process);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(pid: u32, parent: u32, is_zombie: bool) -> Listed {
        Listed { pid, parent, session: 7, is_zombie, started: 1_234 }
    }

    fn numbers(found: &[Listed]) -> Vec<u32> {
        found.iter().map(|process| process.pid).collect()
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_goes_on() {
        let told = |state: &str, threads: &str| {
            let line = format!(
                "7 (a) Z 1) {state} 6 7 7 0 -1 4227084 0 0 0 0 0 0 0 0 20 0 {threads} 0 1234 0 0 18446744073709551615"
            );
            Listed::told(7, &StatLine::parsed(&line).unwrap())
        };
        assert_eq!(told("Z", "1"), Some(one(7, 6, true)));
        assert_eq!(told("Z", "2"), Some(one(7, 6, false)));
        assert_eq!(told("S", "1"), Some(one(7, 6, false)));
        assert_eq!(Listed::told(7, &StatLine::parsed("7 (a) S 6 7").unwrap()), None);
        let own = Listed::of(std::process::id()).unwrap();
        assert_eq!((own.parent, own.is_zombie), (std::os::unix::process::parent_id(), false));
    }

    #[test]
    fn those_below_are_found_once_whatever_the_list_says() {
        let all = [one(5, 2, false), one(2, 1, false), one(3, 2, true), one(4, 3, false), one(9, 8, false)];
        let sorted = |ancestor| {
            let mut found = numbers(&below(ancestor, &all));
            found.sort_unstable();
            found
        };
        assert_eq!((sorted(1), sorted(2)), (vec![2, 4, 5], vec![4, 5]));
        assert!(sorted(9).is_empty());
        let circle = [one(2, 1, false), one(3, 2, false), one(1, 3, false)];
        assert_eq!(numbers(&below(1, &circle)), [2, 3]);
        assert!(below(1, &[one(1, 1, false)]).is_empty());
    }

    #[test]
    fn nobody_is_killed_who_has_the_number_of_another() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = Listed::of(child.id()).unwrap();
        Listed { started: process.started - 1, ..process }.signal(Signal::KILL);
        std::thread::sleep(Duration::from_millis(100));
        assert!(child.try_wait().unwrap().is_none(), "another one was killed");
        assert_eq!(numbers(&all_below(std::process::id())).iter().filter(|pid| **pid == child.id()).count(), 1);
        process.signal(Signal::KILL);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(libc::SIGKILL));
        // It has ended.
        process.signal(Signal::KILL);
    }

    #[test]
    fn very_many_processes_are_found_at_once() {
        const MANY: u32 = 200_000;
        let chain: Vec<Listed> = (2..=MANY).map(|pid| one(pid, pid - 1, false)).collect();
        let began = Instant::now();
        assert_eq!(below(1, &chain).len(), MANY as usize - 1);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
