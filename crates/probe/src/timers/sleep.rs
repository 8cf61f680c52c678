//! Sleeping, and not sleeping at all.

use super::clock::Shift;
use super::method::Method;
use punctual_kernel::clock;
use std::time::Duration;

/// `clock_nanosleep` to absolute times.
pub(super) struct Absolute(pub(super) Shift);

impl Method for Absolute {
    #[inline]
    fn wait(&mut self, due_ns: u64, _period_ns: u64) -> u32 {
        let due = clock::timespec(self.0.of(due_ns));
        let clock = self.0.clock.id();
        // SAFETY: the time lives through the call; an absolute sleep writes no remainder.
        while unsafe { libc::clock_nanosleep(clock, libc::TIMER_ABSTIME, &due, std::ptr::null_mut()) } == libc::EINTR {}
        1
    }
}

/// `clock_nanosleep` for a period at a time.
pub(super) struct Relative(pub(super) Shift);

impl Method for Relative {
    #[inline]
    fn wait(&mut self, _due_ns: u64, period_ns: u64) -> u32 {
        let mut left = clock::timespec(period_ns);
        loop {
            let asked = left;
            // SAFETY: both structures live through the call; the kernel writes what is left into the second.
            let result = unsafe { libc::clock_nanosleep(self.0.clock.id(), 0, &asked, &mut left) };
            if result != libc::EINTR {
                return 1;
            }
        }
    }
}

/// Reads the clock until it is time.
pub(super) struct Busy(pub(super) Shift);

impl Method for Busy {
    #[inline]
    fn wait(&mut self, due_ns: u64, _period_ns: u64) -> u32 {
        let due = self.0.of(due_ns);
        while self.0.clock.now_ns() < due {
            std::hint::spin_loop();
        }
        1
    }
}

/// `std::thread::sleep`.
pub(super) struct Rust;

impl Method for Rust {
    #[inline]
    fn wait(&mut self, _due_ns: u64, period_ns: u64) -> u32 {
        std::thread::sleep(Duration::from_nanos(period_ns));
        1
    }
}
