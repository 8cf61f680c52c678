//! How a thread of another program is scheduled: read, changed, put back.

use crate::Refused;
use crate::real_time_share::refused_by_group;
use crate::scheduling::{self, Scheduling};
use crate::slice::own_slice;
use crate::stat_line::StatLine;
use crate::thread_stat::ThreadStat;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the kernel knows about a thread's scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadScheduling {
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// CPU time of a reservation; the slice of an ordinary thread that has its own, 0 if it has the kernel's.
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// A child of a thread with a reservation is an ordinary thread: without this the kernel refuses to start any.
const RESET_ON_FORK: u64 = libc::SCHED_FLAG_RESET_ON_FORK as u64;

impl ThreadScheduling {
    /// How this thread is scheduled now.
    ///
    /// # Errors
    /// If it is gone.
    pub fn of(tid: u32) -> Result<ThreadScheduling, Refused> {
        let Some(now) = scheduling::attributes_of(tid) else {
            return Err(Refused::last_os_error(format!("reading the scheduling of thread {tid}")));
        };
        let is_reserved = now.sched_policy == libc::SCHED_DEADLINE as u32;
        let only_reserved = |value: u64| if is_reserved { value } else { 0 };
        Ok(ThreadScheduling {
            policy: now.sched_policy,
            flags: now.sched_flags & (RESET_ON_FORK | libc::SCHED_FLAG_RECLAIM as u64),
            nice: now.sched_nice,
            priority: now.sched_priority,
            runtime_ns: if is_reserved { now.sched_runtime } else { own_slice(&now) },
            deadline_ns: only_reserved(now.sched_deadline),
            period_ns: only_reserved(now.sched_period),
        })
    }

    /// The same thread with this much CPU time in each period; what it starts is ordinary.
    pub fn reserved(runtime_ns: u64, period_ns: u64) -> ThreadScheduling {
        let policy = libc::SCHED_DEADLINE as u32;
        let deadline_ns = period_ns;
        ThreadScheduling { policy, flags: RESET_ON_FORK, nice: 0, priority: 0, runtime_ns, deadline_ns, period_ns }
    }

    /// `SCHED_FIFO` with a priority from 1 to 99; what it starts is ordinary.
    pub fn fifo(priority: u32) -> ThreadScheduling {
        let policy = libc::SCHED_FIFO as u32;
        ThreadScheduling { policy, priority, ..ThreadScheduling::reserved(0, 0) }
    }

    /// `SCHED_OTHER`; what it starts is ordinary, too.
    pub(crate) fn ordinary() -> ThreadScheduling {
        ThreadScheduling { policy: libc::SCHED_OTHER as u32, ..ThreadScheduling::reserved(0, 0) }
    }

    /// CPU time and period, ns, of a reservation.
    pub fn reservation(self) -> Option<(u64, u64)> {
        (self.policy == libc::SCHED_DEADLINE as u32).then_some((self.runtime_ns, self.period_ns))
    }

    /// The niceness of an ordinary thread.
    pub fn nice(self) -> Option<i32> {
        let is_ordinary = matches!(self.policy as i32, libc::SCHED_OTHER | libc::SCHED_BATCH);
        is_ordinary.then_some(self.nice)
    }

    /// Whether a thread that is scheduled so goes before, or beside, one with this real-time priority.
    pub fn is_at_least(self, priority: u32) -> bool {
        match self.policy as i32 {
            libc::SCHED_DEADLINE => true,
            libc::SCHED_FIFO | libc::SCHED_RR => self.priority >= priority,
            _ => false,
        }
    }

    /// Schedules this thread so.
    ///
    /// # Errors
    /// What the kernel refused, why, and the way around it.
    pub fn set(self, tid: u32) -> Result<(), Refused> {
        if let Err(why) = check_own(tid) {
            return Err(Refused::because(format!("setting {self} for thread {tid}"), why));
        }
        self.set_of(tid).map_err(|number| self.refused(tid, &std::io::Error::from_raw_os_error(number)))
    }

    /// Schedules the calling thread this way, without allocating: it may be called between fork and exec. The error is
    /// the kernel's number.
    pub(crate) fn set_own(self) -> Result<(), i32> {
        self.set_of(0)
    }

    fn set_of(self, tid: u32) -> Result<(), i32> {
        let attributes = libc::sched_attr {
            sched_policy: self.policy,
            sched_flags: self.flags,
            sched_nice: self.nice,
            sched_priority: self.priority,
            sched_runtime: self.runtime_ns,
            sched_deadline: self.deadline_ns,
            sched_period: self.period_ns,
            ..scheduling::no_attributes()
        };
        match scheduling::set_attributes_of(tid, &attributes) {
            true => Ok(()),
            false => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)),
        }
    }

    /// What the kernel refused for this thread, why, and the way around it.
    pub(crate) fn refused(self, tid: u32, error: &std::io::Error) -> Refused {
        let doing = format!("setting {self} for thread {tid}");
        if self.reservation().is_some()
            && error.raw_os_error() == Some(libc::EPERM)
            && let Some(why) = kept_from_cpus(tid)
        {
            return Refused::because(doing, why);
        }
        let is_real_time = matches!(self.policy as i32, libc::SCHED_FIFO | libc::SCHED_RR);
        if is_real_time
            && error.raw_os_error() == Some(libc::EPERM)
            && let Some(why) = refused_by_group(&tid.to_string())
        {
            return Refused::because(doing, why);
        }
        scheduling::refused(doing, error, self.reservation().is_some())
    }
}

impl fmt::Display for ThreadScheduling {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = punctual_recording::format_ns;
        match self.policy as i32 {
            libc::SCHED_DEADLINE => {
                write!(formatter, "a reservation of {} in every {}", time(self.runtime_ns), time(self.period_ns))
            }
            libc::SCHED_FIFO => write!(formatter, "{}", Scheduling::Fifo(self.priority)),
            libc::SCHED_RR => write!(formatter, "{}", Scheduling::RoundRobin(self.priority)),
            libc::SCHED_IDLE => write!(formatter, "{}", Scheduling::Idle),
            libc::SCHED_BATCH => write!(formatter, "batch, nice {}", self.nice),
            _ if self.nice == 0 => write!(formatter, "{}", Scheduling::Other),
            _ => write!(formatter, "other, nice {}", self.nice),
        }
    }
}

/// Whether a thread is this process's user's, or that is root; why not, in words. A capability that the program was given
/// would do for every thread of the machine: whoever may run it is not meant to have them all.
fn check_own(tid: u32) -> Result<(), String> {
    let caller = rustix::process::geteuid();
    if caller.is_root() {
        return Ok(());
    }
    match std::fs::metadata(format!("/proc/{tid}")) {
        Ok(about) if about.uid() == caller.as_raw() => Ok(()),
        Ok(about) => Err(format!("it belongs to another user ({}): only root changes others' threads", about.uid())),
        Err(_) => Err("it has ended, or is hidden".to_owned()),
    }
}

/// Whether a thread may not run on every CPU, in words: the kernel reserves time only for threads that may. (If all that it may run
/// on are a partition of their own, the kernel does so all the same.)
pub fn kept_from_cpus(tid: u32) -> Option<String> {
    let (allowed, all) = (scheduling::allowed_cpus_of(tid), crate::cpus::online());
    if allowed.is_empty() || all.iter().all(|cpu| allowed.contains(cpu)) {
        return None;
    }
    let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
    let instead = instead_of_cpus(ThreadScheduling::of(tid).ok());
    Some(format!(
        "it may run on CPU {} only, and the kernel reserves time only for threads that may run on every CPU: let it run \
         on all, or {instead}",
        list.join(",")
    ))
}

/// What a pinned thread that is scheduled so can have in place of a reservation. One that has a priority may have a higher one
/// than any that is proposed here.
fn instead_of_cpus(now: Option<ThreadScheduling>) -> String {
    match now.filter(|now| now.is_at_least(1)) {
        Some(now) => format!("leave it as it is, {now}, which goes before ordinary threads"),
        None => "give it a priority (`chrt -f 50` before its command)".to_owned(),
    }
}

/// A thread and how it was scheduled before somebody changed that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Its number.
    pub tid: u32,
    /// When it was started, in clock ticks since boot: a later thread with the same number has a different one.
    started: u64,
    /// Its name then.
    pub name: String,
    /// How it was scheduled.
    pub scheduling: ThreadScheduling,
}

/// What happened when a thread was put back.
#[derive(Debug)]
pub enum PutBack {
    /// It is scheduled as before.
    Done,
    /// It has ended.
    Gone,
    /// The kernel refused.
    Refused(Refused),
}

impl Before {
    /// How this thread is scheduled now.
    ///
    /// # Errors
    /// If it is gone.
    pub fn of(tid: u32) -> Result<Before, Refused> {
        let gone = || Refused::because(format!("looking at thread {tid}"), "it has ended");
        let (name, started) = name_and_start(tid).ok_or_else(gone)?;
        Ok(Before { tid, started, name, scheduling: ThreadScheduling::of(tid)? })
    }

    /// Whether the thread is still there.
    pub fn is_there(&self) -> bool {
        name_and_start(self.tid).is_some_and(|(_, started)| started == self.started)
    }

    /// What sorts threads in the order in which they came.
    pub fn order(&self) -> (u64, u32) {
        (self.started, self.tid)
    }

    /// Whether both are the same thread: another one may have had its number.
    pub(crate) fn is_same(&self, other: &Before) -> bool {
        (self.tid, self.started) == (other.tid, other.started)
    }

    /// Whether it is the thread with its number that was started then, in ticks since boot.
    pub(crate) fn was_started(&self, ticks: u64) -> bool {
        self.started == ticks
    }

    /// An ordinary thread with this number that was started then.
    #[cfg(test)]
    pub(crate) fn for_test(tid: u32, started: u64) -> Before {
        Before { tid, started, name: String::new(), scheduling: ThreadScheduling::ordinary() }
    }

    /// Schedules the thread as it was.
    pub fn put_back(&self) -> PutBack {
        if !self.is_there() {
            return PutBack::Gone;
        }
        match self.scheduling.set(self.tid) {
            Ok(()) => PutBack::Done,
            Err(_) if !self.is_there() => PutBack::Gone,
            Err(refused) => PutBack::Refused(refused),
        }
    }
}

/// Schedules threads as they were before they were changed in this order. The last one is first: whatever the kernel had room for
/// on the way there it has room for on the way back. Returns what happened to each, in the order of the list.
pub fn put_back_all(changed: &[Before]) -> Vec<PutBack> {
    last_first(changed.len(), &mut |place| changed[place].put_back())
}

/// Puts back so many, the last one first. One that is refused is tried again once another was put back, which made room.
fn last_first(count: usize, put_back: &mut dyn FnMut(usize) -> PutBack) -> Vec<PutBack> {
    let mut happened: Vec<Option<PutBack>> = (0..count).map(|_| None).collect();
    loop {
        let mut any = false;
        for place in (0..count).rev() {
            if matches!(happened[place], None | Some(PutBack::Refused(_))) {
                let what = put_back(place);
                any |= !matches!(what, PutBack::Refused(_));
                happened[place] = Some(what);
            }
        }
        if !any {
            return happened.into_iter().flatten().collect();
        }
    }
}

/// Whether a process is a thread of the kernel, which has no program.
pub fn is_of_kernel(process: u32) -> bool {
    /// `PF_KTHREAD` of include/linux/sched.h.
    const OF_KERNEL: u64 = 0x0020_0000;
    let flags = StatLine::of_process(process).and_then(|line| line.field::<u64>(9));
    flags.is_some_and(|flags| flags & OF_KERNEL != 0)
}

/// The words with which a process was started, each with a zero byte behind it; none of a thread of the kernel; `None`: it is gone.
pub fn command_line(process: u32) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{process}/cmdline")).ok()
}

/// The threads of a process.
pub fn threads_of(process: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process and those that it has started, and theirs in turn: each once, and no more than this many.
pub fn family(process: u32) -> Vec<u32> {
    const MAX_PROCESSES: usize = 4_096;
    let (mut found, mut known) = (vec![process], BTreeSet::from([process]));
    let mut position = 0;
    while position < found.len() && found.len() < MAX_PROCESSES {
        let parent = found[position];
        position += 1;
        for thread in threads_of(parent) {
            let place = format!("/proc/{parent}/task/{thread}");
            match std::fs::read_to_string(format!("{place}/children")) {
                Ok(children) => {
                    let children = children.split_whitespace().filter_map(|child| child.parse::<u32>().ok());
                    // Those of a thread that ends become another one's.
                    found.extend(children.filter(|child| known.insert(*child)));
                }
                // It has ended.
                Err(_) if !Path::new(&place).exists() => {}
                // This kernel does not list them, so all processes are searched.
                Err(_) => {
                    let below = crate::guard::descendants(process);
                    return std::iter::once(process).chain(below).take(MAX_PROCESSES).collect();
                }
            }
        }
    }
    found.truncate(MAX_PROCESSES);
    found
}

/// A thread's name, and when it was started; `None` for one that has ended, which is still listed until somebody has waited for it.
fn name_and_start(tid: u32) -> Option<(String, u64)> {
    let ThreadStat { name, state, started, .. } = ThreadStat::of(tid)?;
    (!matches!(state, 'Z' | 'X')).then_some((name, started))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    #[test]
    fn a_thread_is_changed_and_put_back() {
        std::thread::spawn(|| {
            let tid = crate::clock::thread_id();
            scheduling::set_nice(3);
            let before = Before::of(tid).unwrap();
            assert_eq!(before.scheduling.to_string(), "other, nice 3");
            assert_eq!(before.scheduling.nice(), Some(3));
            assert_eq!(ThreadScheduling::fifo(5).nice(), None);
            if let Err(refused) = ThreadScheduling::reserved(100_000, 10_000_000).set(tid) {
                return punctual_testing::skip("a_thread_is_changed_and_put_back", refused.to_string());
            }
            let changed = ThreadScheduling::of(tid).unwrap();
            assert_eq!(changed.reservation(), Some((100_000, 10_000_000)));
            assert_eq!(changed, ThreadScheduling::reserved(100_000, 10_000_000));
            // It can start threads, and they are ordinary.
            let child = std::thread::spawn(|| ThreadScheduling::of(crate::clock::thread_id()).unwrap());
            assert_eq!(child.join().unwrap().to_string(), "other");
            assert!(matches!(before.put_back(), PutBack::Done));
            assert_eq!(ThreadScheduling::of(tid).unwrap(), before.scheduling);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_is_at_least_at_the_priorities_up_to_its_own() {
        let at_least = |now: ThreadScheduling| [49, 50, 51].map(|priority| now.is_at_least(priority));
        assert_eq!(at_least(ThreadScheduling::fifo(50)), [true, true, false]);
        assert_eq!(at_least(ThreadScheduling::reserved(1, 2)), [true; 3]);
        let ordinary = ThreadScheduling { policy: libc::SCHED_OTHER as u32, ..ThreadScheduling::fifo(50) };
        assert_eq!(at_least(ordinary), [false; 3]);
    }

    #[test]
    fn a_pinned_thread_is_refused_with_the_reason() {
        std::thread::spawn(|| {
            let tid = crate::clock::thread_id();
            if scheduling::allowed_cpus().len() < 2 {
                return punctual_testing::skip("a_pinned_thread_is_refused_with_the_reason", "one CPU");
            }
            scheduling::pin_to(scheduling::allowed_cpus()[0]).unwrap();
            let refused = ThreadScheduling::reserved(100_000, 10_000_000).set(tid).unwrap_err().to_string();
            assert!(refused.contains("only, and the kernel reserves"), "{refused}");
            assert_eq!(
                instead_of_cpus(Some(ThreadScheduling::fifo(80))),
                "leave it as it is, fifo:80, which goes before ordinary threads"
            );
            assert!(instead_of_cpus(Some(ThreadScheduling::ordinary())).starts_with("give it a priority"));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn only_root_changes_threads_of_others() {
        const NOBODY: libc::uid_t = 65_534;
        std::thread::spawn(|| {
            // SAFETY: takes plain numbers; without the C library it changes the calling thread alone, which ends here.
            if unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) } != 0 {
                return punctual_testing::skip(
                    "only_root_changes_threads_of_others",
                    "only root becomes somebody else",
                );
            }
            let own = crate::clock::thread_id();
            let now = ThreadScheduling::of(own).unwrap();
            let refused = now.set(std::process::id()).unwrap_err().to_string();
            assert!(refused.contains("belongs to another user (0)"), "{refused}");
            now.set(own).unwrap();
        })
        .join()
        .unwrap();
    }

    #[test]
    fn who_is_below_is_found_once_whatever_ends_meanwhile() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let is_over = AtomicBool::new(false);
        let families = std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        let _ = std::thread::spawn(|| ()).join();
                    }
                });
            }
            let families: Vec<Vec<u32>> = (0..500).map(|_| family(std::process::id())).collect();
            is_over.store(true, Relaxed);
            families
        });
        let _ = child.kill().and_then(|()| child.wait());
        for family in families {
            assert_eq!(family.iter().filter(|process| **process == child.id()).count(), 1, "{family:?}");
        }
    }

    #[test]
    fn threads_of_the_kernel_are_told_from_programs() {
        // The second process of every machine; a PID namespace has a different one, or none.
        let kthreadd = std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd");
        assert!(is_of_kernel(2) == kthreadd && !is_of_kernel(std::process::id()));
        let words = command_line(std::process::id()).expect("this process is there");
        assert!(words.len() > 1 && words.ends_with(&[0]) && command_line(u32::MAX).is_none(), "{words:?}");
    }

    /// Puts back shares of a CPU, percent, of which a kernel admits 95 in all. Returns who was asked in which order, and what is left.
    fn put_back_shares(was: &[u32], mut now: Vec<u32>) -> (Vec<usize>, Vec<u32>, usize) {
        let mut asked = Vec::new();
        let happened = last_first(was.len(), &mut |place| {
            asked.push(place);
            if now.iter().sum::<u32>() - now[place] + was[place] > 95 {
                return PutBack::Refused(Refused::because("putting it back", "there is no room"));
            }
            now[place] = was[place];
            PutBack::Done
        });
        assert_eq!(happened.len(), was.len());
        let refused = happened.iter().filter(|what| matches!(what, PutBack::Refused(_))).count();
        (asked, now, refused)
    }

    #[test]
    fn what_was_changed_last_is_put_back_first() {
        // The first gave up what the second then took: the other way around there would be no room for the first.
        assert_eq!(put_back_shares(&[60, 20, 10], vec![20, 60, 5]), (vec![2, 1, 0], vec![60, 20, 10], 0));
        // The first was changed again after the second, so that the second has to wait for it.
        assert_eq!(put_back_shares(&[30, 60], vec![70, 20]), (vec![1, 0, 1], vec![30, 60], 0));
        // Somebody else took the room meanwhile: the others are put back all the same, and nobody is asked for ever.
        assert_eq!(put_back_shares(&[90, 10], vec![5, 20]), (vec![1, 0, 0], vec![5, 10], 1));
        assert_eq!(put_back_shares(&[], Vec::new()), (Vec::new(), Vec::new(), 0));
    }

    #[test]
    fn who_has_ended_is_gone_and_nobody_else_is_touched() {
        let tid = std::thread::spawn(crate::clock::thread_id).join().unwrap();
        assert!(Before::of(tid).is_err());
        let own = Before::of(crate::clock::thread_id()).unwrap();
        let other = Before { started: own.started + 1, ..own };
        assert!(!other.is_there() && matches!(other.put_back(), PutBack::Gone));
    }
}
