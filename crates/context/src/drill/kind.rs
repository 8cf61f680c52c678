//! The drills by name.

use punctual_kernel::features::{ATOMICS, CALLED_PROGRAMS, Feature, INTERRUPTS_OFF, LOOPS, TIMERS};
use std::fmt;
use std::str::FromStr;

/// What is injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrillKind {
    /// Work in hard interrupt context.
    Irq,
    /// Work in a softirq callback.
    Softirq,
    /// Interrupts off in a thread's system call.
    IrqOff,
    /// A spinning thread of a higher real-time priority.
    Fifo,
    /// A spinning thread of the same real-time priority.
    SamePriority,
    /// A mutex held by a normal thread while a victim wants it.
    Lock,
    /// Page faults of a victim.
    PageFault,
    /// A victim that uses up its reservation.
    Throttle,
    /// A victim that is moved between CPUs.
    Migrate,
}

impl DrillKind {
    /// All of them.
    pub const ALL: [DrillKind; 9] = [
        DrillKind::Irq,
        DrillKind::Softirq,
        DrillKind::IrqOff,
        DrillKind::Fifo,
        DrillKind::SamePriority,
        DrillKind::Lock,
        DrillKind::PageFault,
        DrillKind::Throttle,
        DrillKind::Migrate,
    ];

    /// Its name on the command line and in the log.
    pub fn name(self) -> &'static str {
        match self {
            DrillKind::Irq => "irq",
            DrillKind::Softirq => "softirq",
            DrillKind::IrqOff => "irq-off",
            DrillKind::Fifo => "fifo",
            DrillKind::SamePriority => "same-priority",
            DrillKind::Lock => "lock",
            DrillKind::PageFault => "page-fault",
            DrillKind::Throttle => "throttle",
            DrillKind::Migrate => "migrate",
        }
    }

    /// The name of the culprit: of a BPF program (with underscores) or of a thread (with hyphens).
    pub fn culprit(self) -> &'static str {
        match self {
            DrillKind::Irq => "drill_irq",
            DrillKind::Softirq => "drill_softirq_callback",
            DrillKind::IrqOff => "drill-irq-off",
            DrillKind::Fifo => "drill-fifo",
            DrillKind::SamePriority => "drill-same",
            DrillKind::Lock => "drill-holder",
            DrillKind::PageFault | DrillKind::Throttle => super::victim::NAME,
            DrillKind::Migrate => "drill-mover",
        }
    }

    /// The kind of blame that an episode deserves which overlaps the injection.
    pub fn blame(self) -> &'static str {
        match self {
            DrillKind::Irq => "irq",
            DrillKind::Softirq => "softirq",
            DrillKind::IrqOff => "irq_off",
            DrillKind::Fifo => "higher_priority",
            DrillKind::SamePriority => "same_priority",
            DrillKind::Lock => "lock",
            DrillKind::PageFault => "fault",
            DrillKind::Throttle => "throttled",
            DrillKind::Migrate => "migration",
        }
    }

    /// What a kernel must have for it.
    pub fn needed(self) -> &'static [Feature] {
        match self {
            DrillKind::Irq => &[ATOMICS, LOOPS],
            DrillKind::Softirq => &[CALLED_PROGRAMS, TIMERS, ATOMICS, LOOPS],
            DrillKind::IrqOff => &[CALLED_PROGRAMS, LOOPS, INTERRUPTS_OFF],
            _ => &[],
        }
    }

    /// What happens, in a few words.
    pub fn what(self) -> &'static str {
        match self {
            DrillKind::Irq => "a BPF program keeps the CPU in hard interrupt context",
            DrillKind::Softirq => "a BPF timer's callback keeps the CPU in softirq context",
            DrillKind::IrqOff => "a system call keeps interrupts off",
            DrillKind::Fifo => "a thread of higher real-time priority spins",
            DrillKind::SamePriority => "a thread of the same real-time priority spins",
            DrillKind::Lock => "a normal thread holds a mutex that a victim wants",
            DrillKind::PageFault => "a victim touches pages that are not there",
            DrillKind::Throttle => "a victim uses up its SCHED_DEADLINE reservation",
            DrillKind::Migrate => "a victim is moved from CPU to CPU",
        }
    }

    /// Whether the drill has a victim of its own: then only that one suffers.
    pub fn brings_victim(self) -> bool {
        matches!(self, DrillKind::Lock | DrillKind::PageFault | DrillKind::Throttle | DrillKind::Migrate)
    }

    /// The priority of its real-time thread if none is asked for; `None`: it has none.
    ///
    /// For a drill with a victim, the victim's. A thread that turns interrupts off needs hardly any: when they are on
    /// again, whoever waits should come first.
    pub fn default_priority(self) -> Option<u32> {
        match self {
            DrillKind::Irq | DrillKind::Softirq | DrillKind::Throttle => None,
            DrillKind::IrqOff => Some(1),
            DrillKind::Fifo => Some(95),
            DrillKind::SamePriority => Some(80),
            DrillKind::Lock | DrillKind::PageFault | DrillKind::Migrate => Some(super::victim::PRIORITY),
        }
    }
}

impl fmt::Display for DrillKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that no drill has.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a drill: the drills are {names}", names = DrillKind::ALL.map(DrillKind::name).join(", "))]
pub struct UnknownDrill(pub String);

impl FromStr for DrillKind {
    type Err = UnknownDrill;

    fn from_str(text: &str) -> Result<DrillKind, UnknownDrill> {
        DrillKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| UnknownDrill(text.to_owned()))
    }
}
