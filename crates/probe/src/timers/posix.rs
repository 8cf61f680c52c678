//! Timers that signal: POSIX timers and `setitimer`. The thread waits for the signal; no handler runs.

use super::clock::Shift;
use super::method::Method;
use punctual_kernel::{Refused, clock};
use std::mem::MaybeUninit;

/// The signal of POSIX timers.
fn timer_signal() -> libc::c_int {
    libc::SIGRTMIN() + 3
}

/// Keeps the signals of timers blocked in the calling thread, and in the threads that it starts, until dropped.
///
/// A thread that does not block them might get them instead of the one that waits. An empty handler replaces the
/// default, which would end the program.
pub struct SignalsHeld {
    before: libc::sigset_t,
    handlers: [(libc::c_int, libc::sigaction); 2],
}

extern "C" fn ignore(_signal: libc::c_int) {}

impl SignalsHeld {
    /// Blocks the signals.
    pub fn hold() -> SignalsHeld {
        let handlers = [libc::SIGALRM, timer_signal()].map(|signal| {
            // SAFETY: the new action is a handler that does nothing; both structures live through the call, and an
            // action of zeros is a valid value.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let mut before: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = ignore as extern "C" fn(libc::c_int) as libc::sighandler_t;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, &mut before);
                (signal, before)
            }
        });
        let set = signals(&[libc::SIGALRM, timer_signal()]);
        let mut before = MaybeUninit::uninit();
        // SAFETY: the set is initialized; the kernel fills the former mask.
        let before = unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, before.as_mut_ptr());
            before.assume_init()
        };
        SignalsHeld { before, handlers }
    }
}

impl Drop for SignalsHeld {
    fn drop(&mut self) {
        // SAFETY: gives back what was there before. A signal still pending meets the empty handler first.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut());
            for (signal, before) in &self.handlers {
                libc::sigaction(*signal, before, std::ptr::null_mut());
            }
        }
    }
}

fn signals(numbers: &[libc::c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is emptied before anything is added, and so initialized.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for number in numbers {
            libc::sigaddset(set.as_mut_ptr(), *number);
        }
        set.assume_init()
    }
}

/// Takes signals that came after the last wait.
fn drain(set: &libc::sigset_t) {
    let now = clock::timespec(0);
    // SAFETY: the set and the time live through the call; the signal's details are not asked for.
    while unsafe { libc::sigtimedwait(set, std::ptr::null_mut(), &now) } > 0 {}
}

/// Whom a POSIX timer signals.
pub(super) enum Target {
    Process,
    Thread,
}

pub(super) struct PosixTimer {
    timer: libc::timer_t,
    shift: Shift,
    set: libc::sigset_t,
}

impl PosixTimer {
    /// The thread that waits must call this.
    pub(super) fn open(target: Target, shift: Shift) -> Result<PosixTimer, Refused> {
        let mut timer = std::ptr::null_mut();
        // SAFETY: an event of zeros is a valid value; it lives through the call, and the kernel writes the timer's id.
        let result = unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_signo = timer_signal();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            if matches!(target, Target::Thread) {
                event.sigev_notify = libc::SIGEV_THREAD_ID;
                event.sigev_notify_thread_id = clock::thread_id() as libc::c_int;
            }
            libc::timer_create(shift.clock.id(), &mut event, &mut timer)
        };
        if result != 0 {
            return Err(Refused::last_os_error("making a POSIX timer"));
        }
        Ok(PosixTimer { timer, shift, set: signals(&[timer_signal()]) })
    }

    fn set(&self, first_ns: u64, period_ns: u64) -> Result<(), Refused> {
        let time = libc::itimerspec {
            it_interval: clock::timespec(period_ns),
            it_value: clock::timespec(self.shift.of(first_ns)),
        };
        // SAFETY: the timer is ours; the structure lives through the call; the former setting is not asked for.
        let result = unsafe { libc::timer_settime(self.timer, libc::TIMER_ABSTIME, &time, std::ptr::null_mut()) };
        if result == 0 { Ok(()) } else { Err(Refused::last_os_error("arming a POSIX timer")) }
    }
}

impl Method for PosixTimer {
    fn begin(&mut self, first_ns: u64, period_ns: u64) -> Result<(), Refused> {
        self.set(first_ns, period_ns)
    }

    #[inline]
    fn wait(&mut self, _due_ns: u64, _period_ns: u64) -> u32 {
        // SAFETY: the set lives through the call; the signal's details are not asked for.
        while unsafe { libc::sigwaitinfo(&self.set, std::ptr::null_mut()) } < 0 {}
        // SAFETY: the timer is ours.
        let overrun = unsafe { libc::timer_getoverrun(self.timer) };
        u32::try_from(overrun).unwrap_or(0) + 1
    }

    fn end(&mut self) {
        let _ = self.set(0, 0);
        drain(&self.set);
    }
}

impl Drop for PosixTimer {
    fn drop(&mut self) {
        // SAFETY: the timer is ours and not used again.
        unsafe { libc::timer_delete(self.timer) };
        drain(&self.set);
    }
}

/// Checking when a timer expires next may take this long, ns.
const MIN_LOOK_NS: u64 = 20_000;

/// `setitimer(ITIMER_REAL)`. It does not tell how often it expired: that follows from when it expires next.
pub(super) struct Setitimer;

impl Setitimer {
    fn set(&self, first: u64, period: u64) -> Result<(), Refused> {
        let time = |nanoseconds: u64| libc::timeval {
            tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
            tv_usec: (nanoseconds % 1_000_000_000).div_ceil(1_000) as libc::suseconds_t,
        };
        let value = libc::itimerval { it_interval: time(period), it_value: time(first) };
        // SAFETY: the structure lives through the call; the former setting is not asked for. ITIMER_REAL is 0.
        let result =
            unsafe { libc::syscall(libc::SYS_setitimer, 0, &raw const value, std::ptr::null_mut::<libc::itimerval>()) };
        if result == 0 { Ok(()) } else { Err(Refused::last_os_error("arming setitimer")) }
    }

    /// When it expires next, ns; `None` if it does not.
    fn next_ns(&self, period_ns: u64) -> Option<u64> {
        loop {
            let begin = clock::monotonic_ns();
            let none = libc::timeval { tv_sec: 0, tv_usec: 0 };
            let mut value = libc::itimerval { it_interval: none, it_value: none };
            // SAFETY: the kernel writes one structure, which lives through the call. ITIMER_REAL is 0.
            let result = unsafe { libc::syscall(libc::SYS_getitimer, 0, &raw mut value) };
            let left = value.it_value.tv_sec as u64 * 1_000_000_000 + value.it_value.tv_usec as u64 * 1_000;
            if result != 0 || left == 0 {
                return None;
            }
            // Otherwise something came in between.
            if clock::monotonic_ns() - begin < (period_ns / 4).max(MIN_LOOK_NS) {
                return Some(begin + left);
            }
        }
    }
}

/// How many periods passed from one expiry to another. Arming takes a while: the expiries are a little behind the grid.
fn periods_between(due_ns: u64, next_ns: u64, period_ns: u64) -> u32 {
    let periods = (next_ns.saturating_sub(due_ns) + period_ns / 2) / period_ns.max(1);
    u32::try_from(periods).unwrap_or(u32::MAX).max(1)
}

impl Method for Setitimer {
    fn begin(&mut self, first_ns: u64, period_ns: u64) -> Result<(), Refused> {
        self.set(first_ns.saturating_sub(clock::monotonic_ns()).max(1_000), period_ns)
    }

    #[inline]
    fn wait(&mut self, due_ns: u64, period_ns: u64) -> u32 {
        let set = signals(&[libc::SIGALRM]);
        let patience = clock::timespec(1_000_000_000);
        loop {
            // SAFETY: the set and the time live through the call; the signal's details are not asked for.
            let signal = unsafe { libc::sigtimedwait(&set, std::ptr::null_mut(), &patience) };
            // One that came early belongs to the previous setting.
            if signal == libc::SIGALRM {
                break;
            }
        }
        if clock::monotonic_ns().saturating_sub(due_ns) < period_ns / 2 {
            return 1;
        }
        self.next_ns(period_ns).map_or(1, |next_ns| periods_between(due_ns, next_ns, period_ns))
    }

    fn end(&mut self) {
        let _ = self.set(0, 0);
        drain(&signals(&[libc::SIGALRM]));
    }
}

impl Drop for Setitimer {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A callback that comes 1.002 periods late has not seen the expiry that is 1.005 periods late.
    #[test]
    fn expiries_are_counted_on_the_timers_own_grid() {
        let (due, period, behind) = (7_000_000_000, 1_000_000, 5_000);
        for periods in 1..5u64 {
            let next = due + periods * period + behind;
            assert_eq!(u64::from(periods_between(due, next, period)), periods);
        }
        assert_eq!(periods_between(due, due - 10, period), 1);
        assert_eq!(periods_between(due, u64::MAX, 1), u32::MAX);
    }
}
