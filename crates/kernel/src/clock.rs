//! Clock readings and absolute sleeps. Nothing here allocates or locks.

use std::mem::MaybeUninit;

/// Now, ns of `CLOCK_MONOTONIC`: the clock of every time in a recording.
#[inline]
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Now, ns of `CLOCK_BOOTTIME`: keeps running while the machine sleeps.
pub fn boot_ns() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// Now, ns of `CLOCK_REALTIME`.
pub fn unix_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Now, ns of `CLOCK_MONOTONIC_COARSE`: as the last tick left it.
pub fn coarse_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC_COARSE)
}

/// CPU time that the calling thread has used, ns.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time that all threads of the calling process have used, ns.
pub fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: clock_gettime fills the structure it is given; these clocks exist on every Linux.
    let time = unsafe {
        libc::clock_gettime(clock, time.as_mut_ptr());
        time.assume_init()
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A kernel time from nanoseconds.
pub fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    }
}

/// Sleeps until `CLOCK_MONOTONIC` reads `until_ns`; goes back to sleep when a signal interrupts.
#[inline]
pub fn sleep_until(until_ns: u64) {
    let until = timespec(until_ns);
    loop {
        // SAFETY: `until` lives through the call; an absolute sleep writes no remainder.
        let result =
            unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &until, std::ptr::null_mut()) };
        if result != libc::EINTR {
            return;
        }
    }
}

/// The CPU on which the calling thread runs.
#[inline]
pub fn current_cpu() -> u32 {
    // SAFETY: takes no arguments and touches no memory of ours.
    unsafe { libc::sched_getcpu() }.max(0) as u32
}

/// The calling thread's id.
pub fn thread_id() -> u32 {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Whether a time namespace shifts `CLOCK_MONOTONIC` for this process, so that kernel stamps would not match.
pub fn in_shifted_time_namespace() -> bool {
    std::fs::read_to_string("/proc/self/timens_offsets").is_ok_and(|offsets| {
        offsets.lines().any(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some("monotonic") && words.any(|word| word.parse::<i64>().is_ok_and(|shift| shift != 0))
        })
    })
}

/// Whether this process sees other thread numbers than the kernel's programs do, because it is in a PID namespace.
pub fn in_pid_namespace() -> bool {
    /// The inode of the first PID namespace, fixed in the kernel's `PROC_PID_INIT_INO`.
    const FIRST: &str = "pid:[4026531836]";
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.as_os_str() != FIRST)
}

/// What to add to a time of `CLOCK_MONOTONIC` to get the time of day, ns, as of now.
pub fn monotonic_to_unix_ns() -> i64 {
    unix_ns() as i64 - monotonic_ns() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_at_or_after_its_time() {
        let until = monotonic_ns() + 2_000_000;
        sleep_until(until);
        assert!(monotonic_ns() >= until);
        // A time in the past returns at once rather than failing.
        sleep_until(until - 1_000_000);
    }
}
