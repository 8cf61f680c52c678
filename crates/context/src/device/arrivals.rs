//! How a device's thread learns that blocks have arrived.

use super::memory::{DeviceMemory, field};
use punctual_datapump::Line;
use punctual_kernel::bpf::SharedMemory;
use punctual_kernel::{Refused, clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of data in the ring: whole pages, which are larger on some processors.
pub(super) fn ring_bytes() -> u32 {
    const RING_BYTES: usize = 4096;
    rustix::param::page_size().max(RING_BYTES) as u32
}

/// How often a waiting thread checks whether it should stop, ns.
const LOOK_NS: i64 = 45_000_000;

/// Where arrivals come from.
pub(super) enum Arrivals {
    /// The clock: the thread sleeps on a timer of its own.
    Clock {
        /// When the next block is complete.
        next: u64,
    },
    /// The interrupt, whose softirq callback wakes the thread as a semaphore would.
    Interrupt(WakeRing),
}

impl Arrivals {
    /// Makes sure that the line has everything that has arrived by `now`.
    #[inline]
    pub(super) fn poll(&mut self, line: &mut Line, now: u64) {
        match self {
            Arrivals::Clock { next } => {
                if now >= *next {
                    let passed = (now - *next) / line.period;
                    let newest = *next + passed * line.period;
                    line.arrive(newest);
                    *next = newest + line.period;
                }
            }
            Arrivals::Interrupt(ring) => ring.poll(line),
        }
    }

    /// Changes the rate from `now` on.
    pub(super) fn set_phase(&mut self, line: &mut Line, now: u64, period_ns: u64, samples: u32) {
        (line.period, line.samples, line.last) = (period_ns, samples, now);
        if let Arrivals::Clock { next } = self {
            *next = now + period_ns;
        }
    }

    /// Sleeps until something may have arrived.
    pub(super) fn wait(&mut self) {
        match self {
            Arrivals::Clock { next } => clock::sleep_until((*next).min(clock::monotonic_ns() + LOOK_NS as u64)),
            Arrivals::Interrupt(ring) => ring.wait(),
        }
    }

    /// When the interrupt of the newest block came; 0: not known.
    #[inline]
    pub(super) fn interrupt(&self) -> u64 {
        match self {
            Arrivals::Clock { .. } => 0,
            Arrivals::Interrupt(ring) => ring.memory.read(|record| field!(record, last_interrupt)),
        }
    }
}

impl Arrivals {
    /// How many interrupts came, since the last call, for which no program was called or whose callback was refused.
    #[inline]
    pub(super) fn unobserved(&mut self) -> u64 {
        let Arrivals::Interrupt(ring) = self else { return 0 };
        let before = ring.unobserved;
        ring.unobserved = ring.memory.read(|record| field!(record, unobserved)) + ring.memory.callbacks().refused;
        ring.unobserved - before
    }
}

/// The ring buffer through which the softirq callback wakes the thread.
pub(super) struct WakeRing {
    descriptor: OwnedFd,
    consumer: SharedMemory,
    producer: SharedMemory,
    memory: DeviceMemory,
    seen: u64,
    unobserved: u64,
}

impl WakeRing {
    pub(super) fn new(ring: BorrowedFd<'_>, memory: DeviceMemory) -> Result<WakeRing, Refused> {
        let page = rustix::param::page_size();
        let consumer = SharedMemory::map(ring, 0, page, true)?;
        let producer = SharedMemory::map(ring, page as u64, page, false)?;
        let descriptor =
            ring.try_clone_to_owned().map_err(|error| Refused::because("keeping a ring buffer", error.to_string()))?;
        Ok(WakeRing { descriptor, consumer, producer, memory, seen: 0, unobserved: 0 })
    }

    #[inline]
    fn poll(&mut self, line: &mut Line) {
        let due = self.memory.read(|record| field!(record, last_due));
        if due != self.seen {
            self.seen = due;
            line.arrive(due);
        }
    }

    fn wait(&self) {
        let mut waited = [PollFd::from_borrowed_fd(self.descriptor.as_fd(), PollFlags::IN)];
        let _ = poll(&mut waited, Some(&Timespec { tv_sec: 0, tv_nsec: LOOK_NS }));
        // SAFETY: the first word of each page is the position that kernel and user space share as atomics;
        // both pages are mapped for as long as this lives.
        unsafe {
            let produced = self.producer.at::<AtomicU64>(0, 1).as_ref().load(Ordering::Acquire);
            self.consumer.at::<AtomicU64>(0, 1).as_ref().store(produced, Ordering::Release);
        }
    }
}
