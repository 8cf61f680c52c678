//! The ring buffer through which a softirq callback wakes its thread.

use libbpf_rs::{MapHandle, MapType};
use punctual_kernel::Refused;
use punctual_kernel::bpf::SharedMemory;
use punctual_kernel::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of data in a ring; the programs declare the same.
const RING_BYTES: u32 = 4096;

/// How long a softirq callback that is on its way may take to wake the thread, ns.
const WAKE_PATIENCE_NS: u64 = 1_000_000_000;
/// The same when the run is about to end: longer than any callback that is on its way takes, ns.
const LAST_PATIENCE_NS: u64 = 50_000_000;
/// How often a waiting thread checks whether the run has ended, ns.
const LOOK_NS: u64 = 20_000_000;

/// What the kernel's programs have seen of the activation for which a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing yet.
    Nothing,
    /// Its interrupt.
    Interrupt,
    /// That its timer had already expired when it was armed: no interrupt comes, and there is nothing to wait for.
    Expired,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The softirq callback woke the thread.
    Woken,
    /// The timer expired and no program saw it, so that nothing will wake the thread.
    Unobserved,
    /// The interrupt was seen but no wake came, or the timer could not be set.
    NeverWoken,
    /// The run ended before anything came that was due.
    Ended,
}

/// A timer whose expiry is the interrupt, and the ring through which its softirq callback wakes the thread.
pub(crate) struct SoftirqWait {
    timer: OwnedFd,
    ring: MapHandle,
    consumer: SharedMemory,
    producer: SharedMemory,
}

impl SoftirqWait {
    pub(crate) fn new() -> Result<SoftirqWait, Refused> {
        let refused = |error: String| Refused::because("making a ring buffer", error);
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
            ..Default::default()
        };
        let page = rustix::param::page_size();
        // Whole pages, which are larger on some processors.
        let bytes = RING_BYTES.max(page as u32);
        let ring = MapHandle::create(MapType::RingBuf, Some("wake"), 0, 0, bytes, &options)
            .map_err(|error| refused(error.to_string()))?;
        let consumer = SharedMemory::map(ring.as_fd(), 0, page, true)?;
        let producer = SharedMemory::map(ring.as_fd(), page as u64, page, false)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)
            .map_err(|error| Refused::because("making a timer", error.to_string()))?;
        Ok(SoftirqWait { timer, ring, consumer, producer })
    }

    pub(crate) fn ring(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }

    /// Waits until the softirq callback that follows the timer at `until_ns` wakes the thread.
    ///
    /// `seen` tells what the programs saw. The wait's own time limit is a timer of the same CPU that expires later,
    /// even if `until_ns` has already passed: once it has expired without the interrupt having been seen, no program
    /// will see it. `is_over` tells whether the run has ended.
    pub(crate) fn wait(
        &self,
        until_ns: u64,
        patience_ns: u64,
        seen: impl Fn() -> Seen,
        is_over: impl Fn() -> bool,
    ) -> Waited {
        let zero = timespec(0);
        let due = Itimerspec { it_interval: zero, it_value: timespec(until_ns) };
        if timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &due).is_err() {
            return Waited::NeverWoken;
        }
        if seen() == Seen::Expired {
            return Waited::Woken;
        }
        let patient_until_ns = until_ns.max(clock::monotonic_ns()) + patience_ns;
        let mut look_ns = patient_until_ns;
        loop {
            let left = look_ns.saturating_sub(clock::monotonic_ns());
            let mut waited = [PollFd::new(&self.ring, PollFlags::IN)];
            match poll(&mut waited, Some(&timespec(left))) {
                Ok(0) => {
                    if let Some(end) =
                        without_wake(clock::monotonic_ns(), until_ns, patient_until_ns, seen(), is_over())
                    {
                        return end;
                    }
                    look_ns = clock::monotonic_ns() + LOOK_NS;
                }
                Ok(_) => return Waited::Woken,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Waited::NeverWoken,
            }
        }
    }

    /// Takes everything out of the ring; called after the clock was read.
    pub(crate) fn drain(&self) {
        // SAFETY: the first word of each page is the position that kernel and user space share as atomics;
        // both pages are mapped for as long as this lives.
        unsafe {
            let produced = self.producer.at::<AtomicU64>(0, 1).as_ref().load(Ordering::Acquire);
            self.consumer.at::<AtomicU64>(0, 1).as_ref().store(produced, Ordering::Release);
        }
    }
}

/// Whether a wait without a wake has ended, and how.
fn without_wake(now_ns: u64, until_ns: u64, patient_until_ns: u64, seen: Seen, is_over: bool) -> Option<Waited> {
    match seen {
        Seen::Nothing if now_ns >= patient_until_ns => Some(Waited::Unobserved),
        Seen::Interrupt if now_ns >= until_ns + WAKE_PATIENCE_NS => Some(Waited::NeverWoken),
        Seen::Interrupt if is_over && now_ns >= until_ns + LAST_PATIENCE_NS => Some(Waited::NeverWoken),
        Seen::Nothing if is_over => Some(Waited::Ended),
        _ => None,
    }
}

fn timespec(nanoseconds: u64) -> Timespec {
    Timespec { tv_sec: (nanoseconds / 1_000_000_000) as i64, tv_nsec: (nanoseconds % 1_000_000_000) as _ }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_that_never_comes_is_lost_and_not_waited_for_for_ever() {
        const MS: u64 = 1_000_000;
        let at = |now, seen, over| without_wake(now, 100 * MS, 101 * MS, seen, over);
        assert_eq!(at(101 * MS, Seen::Nothing, false), Some(Waited::Unobserved));
        assert_eq!(at(101 * MS, Seen::Interrupt, false), None);
        assert_eq!(at(1_099 * MS, Seen::Interrupt, false), None);
        assert_eq!(at(1_100 * MS, Seen::Interrupt, false), Some(Waited::NeverWoken));
        // At the end of a run nobody waits for it for a second, but it is counted all the same.
        assert_eq!(at(149 * MS, Seen::Interrupt, true), None);
        assert_eq!(at(150 * MS, Seen::Interrupt, true), Some(Waited::NeverWoken));
        // What was not due yet is not lost.
        assert_eq!(at(99 * MS, Seen::Nothing, true), Some(Waited::Ended));
    }
}
