//! What a device's thread and the rest of the program tell each other: atomics, nothing that blocks.

use punctual_datapump::{DecodingCounts, Line};
use punctual_kernel::watchdog;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// Shared by a device's thread, its governor and the rest of the program.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) stop: AtomicBool,
    /// When the line begins, ns of `CLOCK_MONOTONIC`; 0: not yet.
    pub(super) start_ns: AtomicU64,
    /// When the work ends, whether anybody says so or not, ns of `CLOCK_MONOTONIC`; 0: not known.
    pub(super) end_ns: AtomicU64,
    /// The rest of the program increments this as it does its work.
    pub(super) heartbeat: AtomicU64,
    /// Set by a thread that found the rest of the program starved.
    pub(super) starved: AtomicBool,
    /// Incremented after the next two were set: another phase of the line begins.
    pub(super) phase: AtomicU64,
    /// Its period, ns.
    pub(super) phase_period_ns: AtomicU64,
    /// How many samples its blocks have.
    pub(super) phase_samples: AtomicU64,
    /// The worker's thread id.
    pub(super) tid: AtomicU32,
    /// Periods of a reservation that has a governor.
    pub(super) periods: AtomicU64,
    /// Whether the worker has used up its budget and competes at normal priority.
    pub(super) demoted: AtomicBool,
    /// How often it did.
    pub(super) demotions: AtomicU64,
    /// Periods at whose beginning the kernel did not admit the reservation again.
    pub(super) not_admitted: AtomicU64,
    /// Records for which the queue had no room.
    pub(super) lost_records: AtomicU64,
    decoding: [AtomicU64; DecodingCounts::NUMBERS],
    arrived: AtomicU64,
    taken: AtomicU64,
    coalesced: AtomicU64,
    dropped: AtomicU64,
    lost: AtomicU64,
    overruns: AtomicU64,
}

impl Control {
    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Whether the time for the work is over. Somebody with a lower priority would have to say so, and may not run.
    #[inline]
    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        let end_ns = self.end_ns.load(Relaxed);
        self.is_stopped() || (end_ns != 0 && now_ns >= end_ns)
    }

    /// Another phase of the line begins.
    pub(super) fn set_phase(&self, period_ns: u64, samples: u32) {
        self.phase_period_ns.store(period_ns, Relaxed);
        self.phase_samples.store(samples.into(), Relaxed);
        self.phase.fetch_add(1, Release);
    }

    /// The period and samples of the phase, if it is not the one with this number.
    #[inline]
    pub(super) fn phase_after(&self, seen: &mut u64) -> Option<(u64, u32)> {
        let phase = self.phase.load(Acquire);
        if phase == *seen {
            return None;
        }
        *seen = phase;
        Some((self.phase_period_ns.load(Relaxed), self.phase_samples.load(Relaxed) as u32))
    }

    /// Tells the others how the line is doing.
    #[inline]
    pub(super) fn publish(&self, line: &Line) {
        self.arrived.store(line.arrived, Relaxed);
        self.taken.store(line.taken, Relaxed);
        self.coalesced.store(line.coalesced, Relaxed);
        self.dropped.store(line.dropped, Relaxed);
        self.lost.store(line.lost, Relaxed);
        self.overruns.store(line.overruns, Relaxed);
    }

    /// Tells the others how far the decoding has come.
    #[inline]
    pub(super) fn publish_decoding(&self, decoding: &DecodingCounts) {
        for (place, number) in self.decoding.iter().zip(decoding.numbers()) {
            place.store(number, Relaxed);
        }
    }

    /// How far it had come when that was last reported.
    pub(super) fn decoding(&self) -> DecodingCounts {
        DecodingCounts::of_numbers(std::array::from_fn(|index| self.decoding[index].load(Relaxed)))
    }

    /// How the line was doing when that was last reported.
    pub(super) fn line(&self) -> Line {
        let mut line = Line::new(0, 0, 0, false);
        line.arrived = self.arrived.load(Relaxed);
        line.taken = self.taken.load(Relaxed);
        line.coalesced = self.coalesced.load(Relaxed);
        line.dropped = self.dropped.load(Relaxed);
        line.lost = self.lost.load(Relaxed);
        line.overruns = self.overruns.load(Relaxed);
        line
    }
}

/// A worker's watch over the rest of the program: ends the work if that is starved.
#[derive(Debug, Default)]
pub(super) struct Watchdog(watchdog::Watchdog);

impl Watchdog {
    #[inline]
    pub(super) fn check(&mut self, control: &Control, now_ns: u64) {
        if self.0.finds_starved(control.heartbeat.load(Relaxed), 1, now_ns) {
            control.starved.store(true, Relaxed);
            control.stop.store(true, Relaxed);
        }
    }
}
