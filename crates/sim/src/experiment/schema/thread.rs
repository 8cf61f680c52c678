//! How threads and their rules are written.

use crate::cost::Cost;
use crate::time::Span;
use serde::Deserialize;

/// See [`crate::machine::Policy`].
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Policy {
    /// A priority.
    Priority(u8),
    /// Above all.
    Kernel,
    /// By this period.
    RateMonotonic(Span),
    /// By this relative deadline.
    EarliestDeadline(Span),
    /// Slots.
    Reservation {
        /// Units in each period.
        runtime: u32,
        /// Units.
        period: u32,
        /// Rialto/NT's restriction.
        #[serde(default)]
        power_of_two: bool,
        /// Priority outside; absent: never outside.
        outside: Option<u8>,
        /// From when.
        #[serde(default)]
        from: Span,
        /// 24.
        before_priority: Option<u8>,
    },
    /// A floating budget.
    Deadline {
        /// Budget.
        runtime: Span,
        /// The period, when absent.
        deadline: Option<Span>,
        /// Between replenishments.
        period: Span,
        /// GRUB.
        #[serde(default)]
        reclaim: bool,
        /// Enforcement at ticks only.
        tick: Option<Span>,
    },
}

/// How a timer asks for its wakeup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Rounded to whole milliseconds, at least one.
    Rounded,
    /// Exactly.
    Exact,
    /// A periodic kernel timer.
    KernelPeriodic,
}

/// See [`crate::machine::Activity`].
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Activity {
    /// By a source.
    Signalled,
    /// Always.
    Spinning,
    /// Released periodically.
    Periodic {
        /// Between releases.
        period: Span,
        /// The first.
        #[serde(default)]
        offset: Span,
    },
    /// By the system's timers.
    Timer {
        /// Between callbacks.
        interval: Span,
        /// When it starts.
        #[serde(default)]
        offset: Span,
        /// The rule.
        rule: Rule,
    },
}

/// See [`crate::machine::Raise`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raise {
    /// CPU time before.
    #[serde(default)]
    pub after: Span,
    /// CPU time at that level.
    pub length: Span,
    /// The level.
    pub irql: u8,
}

/// See [`crate::machine::Hold`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The lock's name.
    pub name: String,
    /// CPU time before.
    #[serde(default)]
    pub after: Span,
    /// CPU time with it.
    pub length: Span,
}

/// See [`crate::machine::ConstraintSpec`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// From release.
    pub deadline: Span,
    /// CPU time.
    pub estimate: Span,
}

/// See [`crate::machine::ThreadSpec`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// 0.
    #[serde(default)]
    pub cpu: usize,
    /// Whether any CPU may run it; `cpu` is the one that it prefers first.
    #[serde(default)]
    pub migrates: bool,
    /// Whether it exists; a case may switch it off.
    #[serde(default = "yes")]
    pub present: bool,
    /// Its rule.
    pub policy: Policy,
    /// What makes it run.
    pub activity: Activity,
    /// The work of one activation.
    #[serde(default)]
    pub work: Cost,
    /// Whether it belongs to the foreground program: then its quantum is three times as long.
    #[serde(default)]
    pub foreground: bool,
    /// A part at raised level.
    pub raise: Option<Raise>,
    /// A part in which it holds a lock.
    pub lock: Option<Hold>,
    /// A constraint for each release.
    pub constraint: Option<Constraint>,
    /// Whether all but the newest work is dropped.
    #[serde(default)]
    pub drop_stale: bool,
    /// Whether it waits for a synchronization event, not a semaphore: signals that find it set are merged into one.
    #[serde(default)]
    pub event: bool,
}

fn yes() -> bool {
    true
}
