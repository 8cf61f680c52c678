//! Timeouts of the calls in which event loops wait.
//!
//! Like an event loop, each wait asks for the time left to the next point of the grid, rounded up to the unit of the
//! call. If that time has passed it does not wait.

use super::method::Method;
use punctual_kernel::{Refused, clock};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// How much is left until then, ns.
#[inline]
fn left(due_ns: u64) -> u64 {
    due_ns.saturating_sub(clock::monotonic_ns())
}

/// Whole milliseconds, rounded up.
#[inline]
fn milliseconds(due_ns: u64) -> libc::c_int {
    libc::c_int::try_from(left(due_ns).div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
}

/// Waits again until it is time: a signal may end a wait early.
#[inline]
fn until(due_ns: u64, mut once: impl FnMut()) -> u32 {
    loop {
        once();
        if clock::monotonic_ns() >= due_ns {
            return 1;
        }
    }
}

/// `epoll_wait` or `epoll_pwait2` on an empty set.
pub(super) struct Epoll {
    fd: OwnedFd,
    fine: bool,
}

impl Epoll {
    pub(super) fn open(fine: bool) -> Result<Epoll, Refused> {
        // SAFETY: takes a plain number.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(Refused::last_os_error("making an epoll set"));
        }
        // SAFETY: the kernel just gave this descriptor to nobody else.
        let epoll = Epoll { fd: unsafe { OwnedFd::from_raw_fd(fd) }, fine };
        if fine && epoll.pwait2(0) < 0 {
            return Err(Refused::last_os_error("waiting in epoll_pwait2"));
        }
        Ok(epoll)
    }

    #[inline]
    fn pwait2(&self, nanoseconds: u64) -> libc::c_long {
        let time = clock::timespec(nanoseconds);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: there is room for the one event that is asked for; the time lives through the call; no signal mask.
        unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                &raw mut event,
                1,
                &raw const time,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        }
    }

    #[inline]
    fn wait_ms(&self, milliseconds: libc::c_int) {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: there is room for the one event that is asked for.
        unsafe { libc::epoll_wait(self.fd.as_raw_fd(), &raw mut event, 1, milliseconds) };
    }
}

impl Method for Epoll {
    #[inline]
    fn wait(&mut self, due_ns: u64, _period_ns: u64) -> u32 {
        until(due_ns, || {
            if self.fine {
                self.pwait2(left(due_ns));
            } else {
                self.wait_ms(milliseconds(due_ns));
            }
        })
    }
}

/// `poll` without descriptors.
pub(super) struct Poll;

impl Method for Poll {
    #[inline]
    fn wait(&mut self, due_ns: u64, _period_ns: u64) -> u32 {
        until(due_ns, || {
            // SAFETY: no descriptors are given.
            unsafe { libc::poll(std::ptr::null_mut(), 0, milliseconds(due_ns)) };
        })
    }
}

/// `ppoll` without descriptors.
pub(super) struct Ppoll;

impl Method for Ppoll {
    #[inline]
    fn wait(&mut self, due_ns: u64, _period_ns: u64) -> u32 {
        until(due_ns, || {
            let time = clock::timespec(left(due_ns));
            // SAFETY: no descriptors and no signal mask are given; the time lives through the call.
            unsafe { libc::ppoll(std::ptr::null_mut(), 0, &time, std::ptr::null()) };
        })
    }
}

/// `select` without descriptors.
pub(super) struct Select;

impl Method for Select {
    #[inline]
    fn wait(&mut self, due_ns: u64, _period_ns: u64) -> u32 {
        until(due_ns, || {
            let microseconds = left(due_ns).div_ceil(1_000);
            let mut time = libc::timeval {
                tv_sec: (microseconds / 1_000_000) as libc::time_t,
                tv_usec: (microseconds % 1_000_000) as libc::suseconds_t,
            };
            let none = std::ptr::null_mut;
            // SAFETY: no sets are given; the time lives through the call, which may write what is left into it.
            unsafe { libc::select(0, none(), none(), none(), &raw mut time) };
        })
    }
}
