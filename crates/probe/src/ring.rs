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

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The softirq callback woke the thread.
    Woken,
    /// The timer expired and no program saw it, so that nothing will wake the thread.
    Unobserved,
    /// The interrupt was seen and no wake came, or the timer could not be set.
    Lost,
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
        let ring = MapHandle::create(MapType::RingBuf, Some("wake"), 0, 0, RING_BYTES, &options)
            .map_err(|error| refused(error.to_string()))?;
        let page = rustix::param::page_size();
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
    /// `interrupted` tells whether the interrupt was seen. The wait's own time limit is a timer of the same CPU
    /// that expires later: where it has expired and the interrupt was not seen, no program will see it.
    pub(crate) fn wait(&self, until_ns: u64, patience_ns: u64, interrupted: impl Fn() -> bool) -> Waited {
        let zero = timespec(0);
        let due = Itimerspec { it_interval: zero, it_value: timespec(until_ns) };
        if timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &due).is_err() {
            return Waited::Lost;
        }
        let mut give_up_ns = until_ns + patience_ns;
        loop {
            let left = give_up_ns.saturating_sub(clock::monotonic_ns());
            let mut waited = [PollFd::new(&self.ring, PollFlags::IN)];
            match poll(&mut waited, Some(&timespec(left))) {
                Ok(0) if !interrupted() => return Waited::Unobserved,
                Ok(0) if clock::monotonic_ns() >= until_ns + WAKE_PATIENCE_NS => return Waited::Lost,
                Ok(0) => give_up_ns = until_ns + WAKE_PATIENCE_NS,
                Ok(_) => return Waited::Woken,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Waited::Lost,
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

fn timespec(nanoseconds: u64) -> Timespec {
    Timespec { tv_sec: (nanoseconds / 1_000_000_000) as i64, tv_nsec: (nanoseconds % 1_000_000_000) as _ }
}
