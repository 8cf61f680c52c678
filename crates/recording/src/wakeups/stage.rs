//! The stages of a wakeup.

use serde::{Deserialize, Serialize};

/// A stage of a wakeup, or a sum of stages, computed for each wakeup.
///
/// The first five are disjoint and each begins where the one before ended, so that those a wakeup
/// passed through add up to [`Stage::Total`] exactly. A stage that was not passed through is absent.
/// The names in parentheses are those of Cota-Robles and Held, OSDI 1999, section 2.1.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Expected timer expiry to the first instruction of the interrupt's timer handler (interrupt latency).
    Irq,
    /// To the first instruction of the softirq callback, where the wakeup passes through one (DPC latency).
    Softirq,
    /// To the thread being made runnable.
    Wake,
    /// To the thread being switched in. Absent where the wakeup found the thread still on its CPU.
    Thread,
    /// To the thread's first user-space instruction.
    User,
    /// Expected timer expiry to the first user-space instruction (thread interrupt latency).
    #[default]
    Total,
    /// `irq` + `softirq` (DPC interrupt latency).
    DpcInterruptLatency,
    /// `thread` + `user`: from the signal to the first instruction after the wait (thread latency).
    ThreadLatency,
    /// From being switched in until the thread blocks again, preemptions included. Not part of the total.
    Work,
    /// `total` + `work`: from what woke the thread until it blocks again.
    Response,
}

impl Stage {
    /// All stages and composites, in the order in which tables show them.
    pub const ALL: [Stage; 10] = [
        Stage::Irq,
        Stage::Softirq,
        Stage::Wake,
        Stage::Thread,
        Stage::User,
        Stage::Total,
        Stage::DpcInterruptLatency,
        Stage::ThreadLatency,
        Stage::Work,
        Stage::Response,
    ];

    /// The name used in options, JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Irq => "irq",
            Stage::Softirq => "softirq",
            Stage::Wake => "wake",
            Stage::Thread => "thread",
            Stage::User => "user",
            Stage::Total => "total",
            Stage::DpcInterruptLatency => "dpc_interrupt_latency",
            Stage::ThreadLatency => "thread_latency",
            Stage::Work => "work",
            Stage::Response => "response",
        }
    }

    /// What the stage is, in a few words, for tables.
    pub fn meaning(self) -> &'static str {
        match self {
            Stage::Irq => "timer due -> interrupt",
            Stage::Softirq => "-> softirq callback",
            Stage::Wake => "-> made runnable",
            Stage::Thread => "-> switched in",
            Stage::User => "-> first instruction",
            Stage::Total => "timer due -> program",
            Stage::DpcInterruptLatency => "irq + softirq",
            Stage::ThreadLatency => "thread + user",
            Stage::Work => "switched in -> blocks again",
            Stage::Response => "total + work",
        }
    }

    /// The stage with this code in tables on disk, if there is one.
    pub fn from_code(code: i64) -> Option<Stage> {
        usize::try_from(code).ok().and_then(|code| Stage::ALL.get(code)).copied()
    }

    /// The code that stands for this stage in tables on disk.
    pub fn code(self) -> i64 {
        self as i64
    }

    /// Whether this is a sum of other stages.
    pub fn is_sum(self) -> bool {
        self >= Stage::Total && self != Stage::Work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_round_trip() {
        for stage in Stage::ALL {
            assert_eq!(Stage::from_code(stage.code()), Some(stage));
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.name());
        }
        assert_eq!(Stage::from_code(10), None);
        assert_eq!(Stage::from_code(-1), None);
    }
}
