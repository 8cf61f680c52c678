//! Sleeping, and not sleeping at all.

use super::Way;
use punctual_kernel::clock;
use std::time::Duration;

/// `clock_nanosleep` to absolute times.
pub(super) struct Absolute;

impl Way for Absolute {
    #[inline]
    fn wait(&mut self, due_ns: u64, _period_ns: u64) -> u32 {
        clock::sleep_until(due_ns);
        1
    }
}

/// `clock_nanosleep` for a period at a time.
pub(super) struct Relative;

impl Way for Relative {
    #[inline]
    fn wait(&mut self, _due_ns: u64, period_ns: u64) -> u32 {
        let mut left = clock::timespec(period_ns);
        loop {
            let asked = left;
            // SAFETY: both structures live through the call; the kernel writes what is left into the second.
            let result = unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &asked, &mut left) };
            if result != libc::EINTR {
                return 1;
            }
        }
    }
}

/// Reads the clock until it is time.
pub(super) struct Busy;

impl Way for Busy {
    #[inline]
    fn wait(&mut self, due_ns: u64, _period_ns: u64) -> u32 {
        while clock::monotonic_ns() < due_ns {
            std::hint::spin_loop();
        }
        1
    }
}

/// `std::thread::sleep`.
pub(super) struct Rust;

impl Way for Rust {
    #[inline]
    fn wait(&mut self, _due_ns: u64, period_ns: u64) -> u32 {
        std::thread::sleep(Duration::from_nanos(period_ns));
        1
    }
}
