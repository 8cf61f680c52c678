//! Scheduling policies, priorities, CPU affinity.

use crate::{Refused, clock};
use std::fmt;
use std::time::Duration;

/// No kernel is built for more CPUs than this.
const MAX_CPUS: usize = 1 << 16;

/// How a thread competes for its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// `SCHED_OTHER`: time sharing.
    Other,
    /// `SCHED_IDLE`: gets what nobody else wants.
    Idle,
    /// `SCHED_FIFO` with a priority from 1 to 99.
    Fifo(u32),
    /// `SCHED_RR` with a priority from 1 to 99.
    RoundRobin(u32),
    /// `SCHED_DEADLINE`: `runtime_ns` of every `period_ns`.
    Deadline {
        /// Guaranteed CPU time in each period, ns.
        runtime_ns: u64,
        /// The period, ns.
        period_ns: u64,
    },
}

impl Scheduling {
    /// See [`kernel_priority`].
    pub fn kernel_priority(self) -> i16 {
        let (policy, priority) = self.policy_and_priority();
        kernel_priority(policy, priority)
    }

    /// Whether a thread runs before all ordinary ones, for as long as it wants.
    pub fn is_real_time(self) -> bool {
        matches!(self, Scheduling::Fifo(_) | Scheduling::RoundRobin(_))
    }

    fn policy_and_priority(self) -> (i32, u32) {
        match self {
            Scheduling::Other => (libc::SCHED_OTHER, 0),
            Scheduling::Idle => (libc::SCHED_IDLE, 0),
            Scheduling::Fifo(priority) => (libc::SCHED_FIFO, priority),
            Scheduling::RoundRobin(priority) => (libc::SCHED_RR, priority),
            Scheduling::Deadline { .. } => (libc::SCHED_DEADLINE, 0),
        }
    }
}

/// A policy and a real-time priority as the kernel counts priorities: -1 for a reservation, 0 to 98 for real-time,
/// where the smaller runs first, 140 for what runs when nobody else wants the CPU, and 120 for anything else, since
/// nice values are not told apart.
pub fn kernel_priority(policy: i32, priority: u32) -> i16 {
    match policy {
        libc::SCHED_DEADLINE => -1,
        libc::SCHED_FIFO | libc::SCHED_RR => 99 - priority as i16,
        libc::SCHED_IDLE => 140,
        _ => 120,
    }
}

impl fmt::Display for Scheduling {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scheduling::Other => write!(formatter, "other"),
            Scheduling::Idle => write!(formatter, "idle"),
            Scheduling::Fifo(priority) => write!(formatter, "fifo:{priority}"),
            Scheduling::RoundRobin(priority) => write!(formatter, "rr:{priority}"),
            Scheduling::Deadline { .. } => write!(formatter, "deadline"),
        }
    }
}

/// In the form that the kernel takes.
fn attributes(scheduling: Scheduling, reclaim: bool) -> libc::sched_attr {
    let (policy, priority) = scheduling.policy_and_priority();
    let (runtime_ns, period_ns, flags) = match scheduling {
        Scheduling::Deadline { runtime_ns, period_ns } => {
            (runtime_ns, period_ns, if reclaim { libc::SCHED_FLAG_RECLAIM } else { 0 })
        }
        _ => (0, 0, 0),
    };
    libc::sched_attr {
        sched_policy: policy as u32,
        sched_flags: flags as u64,
        sched_priority: priority,
        sched_runtime: runtime_ns,
        sched_deadline: period_ns,
        sched_period: period_ns,
        ..no_attributes()
    }
}

/// Nothing but the size.
pub(crate) fn no_attributes() -> libc::sched_attr {
    libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    }
}

/// How a thread is scheduled, 0 for the calling one; `None` if the kernel does not say: it has set the error's number.
pub(crate) fn attributes_of(tid: u32) -> Option<libc::sched_attr> {
    let mut now = no_attributes();
    let size = now.size;
    // SAFETY: the kernel writes at most `size` bytes, as many as the structure has.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut now, size, 0) };
    (result == 0).then_some(now)
}

/// Schedules a thread so, 0 for the calling one; returns whether the kernel accepted that: if not, it has set the error's number.
/// Allocates nothing.
pub(crate) fn set_attributes_of(tid: u32, attributes: &libc::sched_attr) -> bool {
    // SAFETY: the structure is as large as its size field says and lives through the call.
    unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const *attributes, 0) == 0 }
}

/// Sets the calling thread's scheduling.
///
/// # Errors
/// What the kernel refused, with its reason.
pub fn set_scheduling(scheduling: Scheduling) -> Result<(), Refused> {
    set_scheduling_of(0, scheduling, false)
}

/// Sets the scheduling of a thread of this process, 0 for the calling one. A reservation that may `reclaim` also uses
/// time that other reservations leave unused.
///
/// # Errors
/// What the kernel refused, with its reason and, for a reservation, the way around it.
pub fn set_scheduling_of(tid: u32, scheduling: Scheduling, reclaim: bool) -> Result<(), Refused> {
    if set_attributes_of(tid, &attributes(scheduling, reclaim)) {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(refused(format!("setting {scheduling}"), &error, matches!(scheduling, Scheduling::Deadline { .. })))
}

/// Why the kernel did not accept a thread's scheduling, and for a reservation the way around it.
pub(crate) fn refused(doing: String, error: &std::io::Error, is_reservation: bool) -> Refused {
    let refused = Refused::because(doing, crate::plain(error));
    let why = match error.raw_os_error() {
        _ if !is_reservation => return refused,
        Some(libc::EBUSY) => {
            "the kernel admits reservations of 95 % of the CPUs together (kernel.sched_rt_runtime_us): ask for a smaller \
             share, or end other reservations"
        }
        Some(libc::EPERM) => {
            "it needs root or CAP_SYS_NICE, and a thread that may run on every CPU of its set: see punctual capabilities"
        }
        Some(libc::EINVAL) => {
            "the kernel takes runtimes from 1.024 us up to the period, and periods within \
             kernel.sched_deadline_period_min_us and _max_us, usually 100us to 4s"
        }
        _ => return refused,
    };
    let is_full = error.raw_os_error() == Some(libc::EBUSY);
    Refused { is_full, ..Refused::because(refused.doing, format!("{} ({why})", refused.reason)) }
}

/// Makes the calling thread more (negative) or less eager among normal threads; refusals are ignored.
pub fn set_nice(nice: i32) {
    // SAFETY: takes plain numbers; 0 is the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
}

/// Makes the calling thread more eager among normal threads for so long; refusals are ignored.
pub fn boost(nice: i32, length: Duration) {
    let own = clock::thread_id();
    // SAFETY: takes plain numbers.
    let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, own) };
    if before <= nice {
        return;
    }
    let end_boost = move || {
        std::thread::sleep(length);
        // SAFETY: as above; the thread is one of this process, or nobody has its number.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, own, before) };
    };
    if std::thread::Builder::new().name("end-boost".to_owned()).spawn(end_boost).is_ok() {
        set_nice(nice);
    }
}

/// How eager a thread is that prepares a measurement: ahead of all threads of an ordinary user.
const EAGER_NICE: i32 = -15;

/// While this lives, the calling thread runs ahead of ordinary threads of its session, so that whoever fills the CPUs
/// cannot keep a measurement from beginning. Threads and processes that it starts meanwhile are no more eager than
/// ordinary ones.
#[derive(Debug)]
pub struct Eager(());

impl Eager {
    /// `None` for a thread whose scheduling somebody has chosen, and if the kernel refuses.
    pub fn begin() -> Option<Eager> {
        // SAFETY: takes plain numbers; 0 is the calling thread.
        let ordinary = unsafe {
            libc::sched_getscheduler(0) == libc::SCHED_OTHER && libc::getpriority(libc::PRIO_PROCESS, 0) == 0
        };
        (ordinary && set_ordinary(EAGER_NICE, libc::SCHED_FLAG_RESET_ON_FORK as u64)).then_some(Eager(()))
    }
}

impl Drop for Eager {
    fn drop(&mut self) {
        set_ordinary(0, 0);
    }
}

/// While this lives, a thread that gives way to everybody runs ahead of ordinary threads instead, because it holds what
/// others wait for.
#[derive(Debug)]
pub struct Boosted(Option<(i32, i32)>);

impl Boosted {
    /// Of the calling thread; one of real time, or whose scheduling the kernel does not let change, stays as it is.
    pub fn begin() -> Boosted {
        let before = ordinary_now();
        let is_ordinary = [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE].contains(&before.0);
        Boosted((is_ordinary && set_ordinary(EAGER_NICE, 0)).then_some(before))
    }
}

impl Drop for Boosted {
    fn drop(&mut self) {
        // If another thread has changed it meanwhile, that stays.
        let Some((policy, nice)) = self.0.filter(|_| ordinary_now() == (libc::SCHED_OTHER, EAGER_NICE)) else { return };
        // The kernel keeps the niceness of a thread that becomes idle.
        set_ordinary(nice, 0);
        if policy == libc::SCHED_IDLE {
            let _ = set_scheduling(Scheduling::Idle);
        }
    }
}

/// The calling thread's policy and niceness.
fn ordinary_now() -> (i32, i32) {
    // SAFETY: takes plain numbers; 0 is the calling thread.
    unsafe { (libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK, libc::getpriority(libc::PRIO_PROCESS, 0)) }
}

/// Sets the calling thread to `SCHED_OTHER` with this niceness and these flags; returns whether the kernel accepted that.
fn set_ordinary(nice: i32, flags: u64) -> bool {
    let attributes = libc::sched_attr { sched_nice: nice, sched_flags: flags, ..attributes(Scheduling::Other, false) };
    set_attributes_of(0, &attributes)
}

/// Lets the calling thread run on these CPUs.
///
/// # Errors
/// What the kernel refused, with its reason.
pub fn allow_cpus(cpus: &[u32]) -> Result<(), Refused> {
    let words = cpus.iter().max().map_or(1, |cpu| *cpu as usize / 64 + 1);
    let mut set = vec![0u64; words];
    for cpu in cpus {
        set[*cpu as usize / 64] |= 1 << (cpu % 64);
    }
    // SAFETY: the kernel reads the given number of bytes from the buffer.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&set[..]), set.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(Refused::last_os_error("choosing a thread's CPUs")) }
}

/// The CPUs on which the calling thread may run, in ascending order.
pub fn allowed_cpus() -> Vec<u32> {
    allowed_cpus_of(0)
}

/// The CPUs on which a thread may run, in ascending order; none if it is gone.
pub fn allowed_cpus_of(tid: u32) -> Vec<u32> {
    let mut set = vec![0u64; MAX_CPUS / 64];
    // SAFETY: the kernel writes at most the given number of bytes into the buffer.
    let length = unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, size_of_val(&set[..]), set.as_mut_ptr()) };
    let bits = usize::try_from(length).unwrap_or(0) * 8;
    (0..bits).filter(|bit| set[bit / 64] & (1 << (bit % 64)) != 0).map(|bit| bit as u32).collect()
}

/// A CPU that was asked for but that this process may not use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "CPU {cpu} is not there or not allowed: the allowed CPUs are {}",
    allowed.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
)]
pub struct NotAllowed {
    cpu: u32,
    allowed: Vec<u32>,
}

/// Whether all of these CPUs are among those that are [allowed](allowed_cpus).
///
/// # Errors
/// [`NotAllowed`] for the first that is not.
pub fn check_allowed(cpus: &[u32], allowed: &[u32]) -> Result<(), NotAllowed> {
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(&cpu) => Err(NotAllowed { cpu, allowed: allowed.to_vec() }),
        None => Ok(()),
    }
}

/// Pins the calling thread to one CPU.
///
/// # Errors
/// What the kernel refused, with its reason.
pub fn pin_to(cpu: u32) -> Result<(), Refused> {
    pin_thread_to(0, cpu)
}

/// Pins a thread, by its id, to one CPU; moves it there if it runs elsewhere.
///
/// # Errors
/// What the kernel refused, with its reason.
pub fn pin_thread_to(tid: u32, cpu: u32) -> Result<(), Refused> {
    let mut set = [0u64; MAX_CPUS / 64];
    let doing = || format!("pinning a thread to CPU {cpu}");
    let Some(word) = set.get_mut(cpu as usize / 64) else { return Err(Refused::because(doing(), "there is none")) };
    *word |= 1 << (cpu % 64);
    // SAFETY: the kernel reads the given number of bytes from the buffer.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid, size_of_val(&set[..]), set.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(Refused::last_os_error(doing())) }
}

/// Makes the kernel fire the calling thread's timers when they are due, not up to 50 us later to save wakeups.
///
/// Real-time threads have no such slack; for others this is what a time-critical program would ask for.
pub fn drop_timer_slack() {
    // SAFETY: takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_where_it_is_pinned() {
        let cpus = allowed_cpus();
        assert!(!cpus.is_empty());
        let last = *cpus.last().unwrap();
        std::thread::spawn(move || {
            pin_to(last).unwrap();
            assert_eq!(allowed_cpus(), [last]);
            assert_eq!(crate::clock::current_cpu(), last);
        })
        .join()
        .unwrap();
        assert!(pin_to(60_000).is_err());
    }

    #[test]
    fn who_holds_what_others_wait_for_is_boosted_and_gives_way_again() {
        let seen = std::thread::spawn(|| {
            set_scheduling(Scheduling::Idle).ok()?;
            let boosted = Boosted::begin();
            let during = ordinary_now();
            drop(boosted);
            Some((during, ordinary_now().0))
        });
        let Some((during, after)) = seen.join().unwrap() else {
            return punctual_testing::skip("boost", "the kernel lets this user not give way");
        };
        // Without privilege it cannot run ahead of others, and stays as it was.
        let is_allowed = during == (libc::SCHED_OTHER, EAGER_NICE);
        assert!(is_allowed || during.0 == libc::SCHED_IDLE, "{during:?}");
        assert_eq!(after, libc::SCHED_IDLE);
    }

    #[test]
    fn who_prepares_is_eager_and_leaves_no_trace() {
        // SAFETY: takes plain numbers.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        std::thread::spawn(move || {
            let Some(eager) = Eager::begin() else {
                return punctual_testing::skip(
                    "who_prepares_is_eager_and_leaves_no_trace",
                    "this user may not be eager",
                );
            };
            let of_a_thread = std::thread::spawn(nice).join().unwrap();
            let child = std::process::Command::new("nice").output().unwrap();
            assert_eq!((nice(), of_a_thread, String::from_utf8_lossy(&child.stdout).trim()), (EAGER_NICE, 0, "0"));
            assert!(Eager::begin().is_none(), "it is eager already");
            drop(eager);
            assert_eq!((nice(), std::thread::spawn(nice).join().unwrap()), (0, 0));
        })
        .join()
        .unwrap();
    }
}
