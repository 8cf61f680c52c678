//! What a device is asked to be, and what it may take.

use super::guest::MakeGuest;
use super::phase::Phase;
use super::signal::Decodes;
use crate::context::Context;
use crate::own::OwnWork;

/// What wakes a device's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A timer of the thread's own.
    Timer,
    /// The device's interrupt queues a softirq callback, and that wakes the thread.
    Softirq,
}

/// A device, and where its work runs.
#[derive(Debug, Clone)]
pub struct DeviceSetup {
    /// A short name.
    pub name: String,
    /// Where its interrupt comes and its thread begins.
    pub cpu: u32,
    /// The time between two interrupts, ns.
    pub period_ns: u64,
    /// How long processing a block should take, ns.
    pub compute_ns: u64,
    /// Samples in a block.
    pub samples: u32,
    /// How many samples its ring holds.
    pub ring: u32,
    /// Whether only the newest block is worth processing.
    pub drop_stale: bool,
    /// How the line's rate changes during the run, from the beginning on; empty: not at all.
    pub phases: Vec<Phase>,
    /// Where the work runs.
    pub context: Context,
    /// What wakes its thread, if it has one.
    pub wake: Wake,
    /// Whether a reservation may use time that other reservations leave unused.
    pub reclaim: bool,
    /// Whether, after its budget, the thread goes on at normal priority until the next period.
    pub compete: bool,
    /// The signal that it decodes; otherwise it filters for its compute time.
    pub decodes: Option<Decodes>,
    /// A user's own work instead of either; the compute time is then its budget.
    pub own: Option<OwnWork>,
    /// Work that another crate brings, in a thread; a loop takes what that leaves of the compute time.
    pub guest: Option<MakeGuest>,
    /// As a control: it decodes with all taps of its equalizer left at zero.
    pub without_taps: bool,
    /// For tests: every so many softirq callbacks, the kernel refuses one; 0: none.
    pub refuse_every: u64,
}

impl DeviceSetup {
    /// Which phase it is in at this time after the beginning, by position.
    pub(super) fn phase_at(&self, elapsed_ns: u64) -> usize {
        let mut end = 0u64;
        let ends = self.phases.iter().map(|phase| {
            end = end.saturating_add(phase.length_ns);
            end
        });
        ends.take(self.phases.len().saturating_sub(1)).take_while(|end| *end <= elapsed_ns).count()
    }
}

/// The shortest period of a device.
pub const MIN_PERIOD_NS: u64 = 100_000;
/// The longest work of one block in interrupt or softirq context.
pub const MAX_KERNEL_WORK_NS: u64 = 5_000_000;
/// Work in interrupt and softirq context may take this much of a CPU: that of all devices of all runs together, as planned.
pub(super) const KERNEL_SHARE: f64 = 0.5;
