//! The log of the truth.

use serde::Serialize;

/// One injection as it happened: times are ns of `CLOCK_MONOTONIC`, stamped where the CPU was being kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Injection {
    /// The drill's name.
    pub kind: &'static str,
    /// The culprit's: a BPF program's or a thread's.
    pub name: &'static str,
    /// Counted from 1 on each CPU; those that were not made leave a gap.
    pub number: u64,
    /// Where it began.
    pub cpu: u32,
    /// The culprit's thread, or the one whose system call it is; `None` inside an interrupt or a softirq.
    pub tid: Option<u32>,
    /// How long it was meant to last, ns.
    pub asked_ns: u64,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What the drill's own victim saw of it, if there is one.
    pub victim: Option<VictimActivation>,
    /// How often the victim was moved, in the migrate drill.
    pub moves: Option<u64>,
    /// Page faults of the victim, in the page-fault drill.
    pub faults: Option<u64>,
    /// Those of them that needed input.
    pub major_faults: Option<u64>,
}

impl Injection {
    /// How long it lasted, ns.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// The activation of a victim that suffered most from an injection. Times are ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VictimActivation {
    /// The victim's thread; its name is `drill-victim`.
    pub tid: u32,
    /// When it was due.
    pub due_ns: u64,
    /// Its first instruction.
    pub first_ns: u64,
    /// When its job was done.
    pub done_ns: u64,
    /// How much of that the victim itself attributed to the injection, ns.
    pub delayed_ns: u64,
}
