//! What a row of an experiment may measure.

use crate::time::Span;
use serde::Deserialize;

/// A measure. Threads and phases go by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case", deny_unknown_fields)]
pub enum Measure {
    /// Of the first `first` times between starts of a thread, how many lie in `[from, to)`.
    IntervalCount {
        /// Whose.
        thread: String,
        /// From.
        from: Span,
        /// Below.
        to: Span,
        /// How many are looked at.
        first: usize,
    },
    /// As above, percent of all.
    IntervalShare {
        /// Whose.
        thread: String,
        /// From.
        from: Span,
        /// Below.
        to: Span,
        /// How many are looked at.
        first: usize,
    },
    /// Standard deviation of the times between starts, us.
    IntervalDeviation {
        /// Whose.
        thread: String,
        /// How many are looked at.
        first: usize,
    },
    /// Mean time between starts, us.
    IntervalMean {
        /// Whose.
        thread: String,
        /// How many are looked at.
        first: usize,
    },
    /// Shortest time between starts, us.
    IntervalMin {
        /// Whose.
        thread: String,
        /// How many are looked at.
        first: usize,
    },
    /// Longest time between starts, us.
    IntervalMax {
        /// Whose.
        thread: String,
        /// How many are looked at.
        first: usize,
    },
    /// Longest time from due to start, us.
    LatencyMax {
        /// Whose.
        thread: String,
    },
    /// The longest latency of one thread divided by that of another.
    LatencyRatio {
        /// Whose.
        thread: String,
        /// Over whose.
        over: String,
    },
    /// Mean time between activations that start at least this late, s.
    TimeBetweenLate {
        /// Whose.
        thread: String,
        /// How late.
        limit: Span,
    },
    /// Activations that start later than this.
    LateCount {
        /// Whose.
        thread: String,
        /// How late.
        limit: Span,
    },
    /// Longest processing of a block from start to end, ms.
    ElapsedMax {
        /// Only in this phase.
        phase: Option<String>,
    },
    /// Mean processing of a block from start to end, ms.
    ElapsedMean {
        /// Only in this phase.
        phase: Option<String>,
    },
    /// Median processing of a block from start to end, ms.
    ElapsedMedian {
        /// Only in this phase.
        phase: Option<String>,
    },
    /// Mean time between the device's interrupts, ms.
    BlockIntervalMean {
        /// In this phase.
        phase: String,
    },
    /// Shortest time between the device's interrupts within a phase, ms.
    BlockIntervalMin {
        /// In this phase.
        phase: String,
    },
    /// Longest time between the device's interrupts within a phase, ms.
    BlockIntervalMax {
        /// In this phase.
        phase: String,
    },
    /// When a phase began: the device's first interrupt in it, s.
    PhaseStart {
        /// Which.
        phase: String,
    },
    /// Share of the CPU that processing blocks of this phase took, percent.
    Load {
        /// In this phase.
        phase: String,
    },
    /// Most samples pending when a block was done, over all runs.
    PendingMax {
        /// Only from this phase on.
        from_phase: Option<String>,
    },
    /// How often the ring wrapped, over all runs.
    Overruns,
    /// Blocks late or lost, percent.
    FaultShare,
    /// `sufficient` (no fault in any run), `marginal` (the file got through in some run, with faults),
    /// `insufficient` (it never did).
    Sufficiency,
    /// Whether share and gap suffice by the paper's own rule.
    PaperRule {
        /// Work in each period of the device.
        work: Span,
        /// The device's period.
        period: Span,
    },
    /// Runs in which the file got through.
    Successes,
    /// Runs in which the other end hung up.
    Disconnections,
    /// Mean time of the transfers that succeeded, s.
    TransferMean,
    /// Shortest transfer that succeeded, s.
    TransferMin,
    /// Longest transfer that succeeded, s.
    TransferMax,
    /// Standard deviation of the transfers that succeeded, of a sample, s.
    TransferDeviation,
    /// Blocks late or lost.
    Faults,
    /// Longest time from the raising of an interrupt to its handler, us.
    HandlerWaitMax {
        /// Whose interrupt.
        source: String,
    },
    /// Longest time from the start of a handler to the start of the work that its deferred procedure does, us.
    ProcedureWaitMax {
        /// Whose procedure.
        source: String,
    },
    /// Share of the time in which somebody waits for a thread: something is queued for it or being worked on, percent.
    WaitShare {
        /// For whom.
        thread: String,
    },
    /// Mean length of such a wait, ms.
    WaitMean {
        /// For whom.
        thread: String,
    },
    /// Longest such wait, ms.
    WaitMax {
        /// For whom.
        thread: String,
    },
    /// How often a thread moved to another CPU, over all runs.
    Migrations {
        /// Whose.
        thread: String,
    },
    /// Of the time constraints granted to a thread, how many were met, percent.
    ConstraintsMet {
        /// Whose.
        thread: String,
    },
    /// Of the time constraints that a thread asked for, how many were granted, percent.
    ConstraintsGranted {
        /// Whose.
        thread: String,
    },
    /// How long the ring lasts, ms.
    RingTime {
        /// In this phase.
        phase: String,
    },
    /// The longest stall without underrun of a device of `buffers` of length `period`, found by trying stalls, ms.
    StallTolerance {
        /// Length of one buffer.
        period: Span,
        /// Buffers.
        buffers: u64,
    },
}
