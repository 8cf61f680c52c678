//! A periodic timerfd: each read says how often it expired.

use super::clock::Shift;
use super::method::Method;
use punctual_kernel::{Refused, clock};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub(super) struct Timerfd(OwnedFd, Shift);

impl Timerfd {
    pub(super) fn open(shift: Shift) -> Result<Timerfd, Refused> {
        // SAFETY: takes plain numbers.
        let fd = unsafe { libc::timerfd_create(shift.clock.id(), libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(Refused::last_os_error("making a timerfd"));
        }
        // SAFETY: the kernel just gave this descriptor to nobody else.
        Ok(Timerfd(unsafe { OwnedFd::from_raw_fd(fd) }, shift))
    }

    fn set(&self, first_ns: u64, period_ns: u64) -> Result<(), Refused> {
        let time = libc::itimerspec {
            it_interval: clock::timespec(period_ns),
            it_value: clock::timespec(self.1.of(first_ns)),
        };
        // SAFETY: the structure lives through the call; the former setting is not asked for.
        let result =
            unsafe { libc::timerfd_settime(self.0.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &time, std::ptr::null_mut()) };
        if result == 0 { Ok(()) } else { Err(Refused::last_os_error("arming a timerfd")) }
    }
}

impl Method for Timerfd {
    fn begin(&mut self, first_ns: u64, period_ns: u64) -> Result<(), Refused> {
        self.set(first_ns, period_ns)
    }

    #[inline]
    fn wait(&mut self, _due_ns: u64, _period_ns: u64) -> u32 {
        let mut expirations = 0u64;
        // SAFETY: reads 8 bytes into a number of 8 bytes.
        let length = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut expirations).cast(), 8) };
        if length == 8 { u32::try_from(expirations).unwrap_or(u32::MAX).max(1) } else { 1 }
    }

    fn end(&mut self) {
        let _ = self.set(0, 0);
    }
}
