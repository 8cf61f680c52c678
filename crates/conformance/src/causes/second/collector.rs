//! How a garbage collector for C stops a thread: with a signal, in whose handler the thread waits for another one.

use super::super::system::{self, Pid, now, spin};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

const STOP: i32 = libc::SIGUSR1;
const GO: i32 = libc::SIGUSR2;

/// 1 while the thread is stopped. Each process has its own.
static STOPPED: AtomicU32 = AtomicU32::new(0);

extern "C" fn wait_for_the_other(_: i32) {
    STOPPED.store(1, Release);
    // SAFETY: an initialized set that lives through the call; both calls may be made in a handler.
    unsafe {
        let mut all_but_one: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all_but_one);
        libc::sigdelset(&mut all_but_one, GO);
        libc::sigsuspend(&all_but_one);
    }
    STOPPED.store(0, Release);
}

extern "C" fn nothing(_: i32) {}

/// Handles both signals.
pub(super) fn handle() {
    system::handle(GO, nothing);
    // SAFETY: the structure is whole: zeroes but for a handler of the right type, a flag and a mask.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = wait_for_the_other as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        // The other signal must not come between.
        libc::sigaddset(&mut action.sa_mask, GO);
        libc::sigaction(STOP, &action, std::ptr::null_mut());
    }
}

fn signal(process: Pid, signal: i32) {
    // SAFETY: plain numbers; the main thread has the process's.
    unsafe { libc::syscall(libc::SYS_tgkill, process, process, signal) };
}

/// Stops the main thread of this process; returns whether it stopped within `limit` ns.
pub(super) fn stop(process: Pid, limit: u64) -> bool {
    signal(process, STOP);
    let end = now() + limit;
    while STOPPED.load(Acquire) == 0 {
        if now() > end {
            return false;
        }
        spin(now(), 5_000);
    }
    true
}

/// Lets it go on.
pub(super) fn go_on(process: Pid) {
    if STOPPED.swap(0, AcqRel) == 1 {
        signal(process, GO);
    }
}
