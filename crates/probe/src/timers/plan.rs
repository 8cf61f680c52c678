//! What to measure of a way, and what was measured.

use super::clock::MethodClock;
use punctual_timing::Callback;

/// What to measure of a way. Times in ns.
#[derive(Debug, Clone, Copy, Default)]
pub struct MethodPlan {
    /// The clock to wait on; a way whose call does not take it is absent.
    pub clock: MethodClock,
    /// The timer slack of the thread, ns; 0: what programs get.
    pub slack_ns: u64,
    /// The period of the callbacks.
    pub period_ns: u64,
    /// How long to take callbacks.
    pub duration_ns: u64,
    /// How long to take callbacks with a timer slack of 1 ns, if the way has slack; 0: not at all.
    pub without_slack_ns: u64,
    /// How long each of [`STALLS`] stalls lasts; 0: none.
    pub stall_ns: u64,
    /// The priority under `SCHED_FIFO`; normal scheduling otherwise.
    pub priority: Option<u32>,
}

/// The longest stall of a real-time thread, ns: with what comes after it, it must not hold a CPU for a second.
const REAL_TIME_STALL_NS: u64 = 250_000_000;

impl MethodPlan {
    /// How long each stall lasts, ns: no longer than a real-time thread may be busy.
    pub(super) fn bounded_stall_ns(&self) -> u64 {
        if self.priority.is_some() { self.stall_ns.min(REAL_TIME_STALL_NS) } else { self.stall_ns }
    }
}

/// A stall, and what came after it. Times in ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Default)]
pub struct StallRun {
    /// How long it lasted.
    pub stall_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// When the callbacks after it came.
    pub after: Vec<u64>,
}

/// What was measured for a way.
#[derive(Debug, Clone, Default)]
pub struct MethodRun {
    /// The scheduling that the thread had; `None` is normal.
    pub priority: Option<u32>,
    /// Why it did not get the scheduling that was asked for.
    pub refused: Option<String>,
    /// When the first callback was due, ns of `CLOCK_MONOTONIC`.
    pub origin_ns: u64,
    /// The callbacks.
    pub callbacks: Vec<Callback>,
    /// On which CPU each came.
    pub cpus: Vec<u32>,
    /// Callbacks for which there was no room.
    pub lost: u64,
    /// CPU time that the thread used meanwhile, user and kernel, ns.
    pub cpu_ns: u64,
    /// Callbacks with a timer slack of 1 ns.
    pub without_slack: Vec<Callback>,
    /// How long a wait of one unit of the call or 10 us, whichever is longer, takes, ns; the median of 15.
    pub granularity_ns: Option<u64>,
    /// What `clock_getres` says of the clock, ns.
    pub resolution_ns: u64,
    /// The stalls.
    pub stalls: Vec<StallRun>,
    /// Whether the rest of the program got no CPU time beside it, so that it was ended.
    pub starved: bool,
}

/// How many callbacks of a way are kept at most: 96 MB.
pub(super) const ROOM: u64 = 4_000_000;
/// How many stalls to make.
pub const STALLS: usize = 5;
/// Callbacks before a stall.
pub(super) const BEFORE_STALL: usize = 4;
/// Callbacks after a stall, besides those that were held up.
pub(super) const AFTER_STALL: u64 = 6;
/// When looking for the shortest wait, none is asked for below this, ns: setting out takes as long.
pub(super) const MIN_NS: u64 = 10_000;

/// Sets the calling thread's timer slack, ns; 0 is the default that it was started with.
pub(super) fn set_slack(nanoseconds: libc::c_ulong) {
    // SAFETY: takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0) };
}
