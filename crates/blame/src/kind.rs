//! The kinds of blame.

use crate::episode::classify::{ENDER_NOT_SEEN, HOLDER_NOT_SEEN};

/// Why a piece of the lateness passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An interrupt's handler ran.
    Irq,
    /// A softirq ran.
    Softirq,
    /// A thread's or a softirq's code kept interrupts off.
    IrqOff,
    /// The interrupt was due and did not come, and nothing in this kernel can have kept it: the host, the hardware, or
    /// code where nothing could look.
    Blind,
    /// A thread's kernel code that would not be preempted.
    Kernel,
    /// A thread of higher priority ran; of two normal threads, one of more weight.
    HigherPriority,
    /// A thread of the same priority ran; of two normal threads, one of the same weight.
    SamePriority,
    /// A normal thread of less weight had its turn.
    LowerPriority,
    /// The victim had used up its group's or its own budget.
    Throttled,
    /// The kernel gave normal threads their reserved share.
    FairServer,
    /// The kernel moved threads between CPUs.
    Migration,
    /// The CPU came out of its idle loop.
    IdleExit,
    /// The victim waited for a page.
    Fault,
    /// The victim waited for input or output.
    Io,
    /// The victim waited for a lock.
    Lock,
    /// The victim waited for another thread, of its process or of another, to do something.
    Wait,
    /// Whom the victim waited for slept until a timer.
    Sleep,
    /// The kernel let the victim's timer come later, as that thread allows it to: within its timer slack.
    TimerSlack,
    /// It was stopped: by a signal, by a tracer, by the freezer of its control group.
    Stopped,
    /// It ran, in its own code.
    Own,
    /// The host ran something else.
    Steal,
    /// The ordinary path of a wakeup.
    KernelWake,
    /// Nothing explains it.
    Unknown,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 23] = [
        Kind::Irq,
        Kind::Softirq,
        Kind::IrqOff,
        Kind::Blind,
        Kind::Kernel,
        Kind::HigherPriority,
        Kind::SamePriority,
        Kind::LowerPriority,
        Kind::Throttled,
        Kind::FairServer,
        Kind::Migration,
        Kind::IdleExit,
        Kind::Fault,
        Kind::Io,
        Kind::Lock,
        Kind::Wait,
        Kind::Sleep,
        Kind::TimerSlack,
        Kind::Stopped,
        Kind::Own,
        Kind::Steal,
        Kind::KernelWake,
        Kind::Unknown,
    ];

    /// The name in JSON and options.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Irq => "irq",
            Kind::Softirq => "softirq",
            Kind::IrqOff => "irq_off",
            Kind::Blind => "blind",
            Kind::Kernel => "kernel",
            Kind::HigherPriority => "higher_priority",
            Kind::SamePriority => "same_priority",
            Kind::LowerPriority => "lower_priority",
            Kind::Throttled => "throttled",
            Kind::FairServer => "fair_server",
            Kind::Migration => "migration",
            Kind::IdleExit => "idle_exit",
            Kind::Fault => "fault",
            Kind::Io => "io",
            Kind::Lock => "lock",
            Kind::Wait => "wait",
            Kind::Sleep => "sleep",
            Kind::TimerSlack => "timer_slack",
            Kind::Stopped => "stopped",
            Kind::Own => "own",
            Kind::Steal => "steal",
            Kind::KernelWake => "kernel_wake",
            Kind::Unknown => "unknown",
        }
    }

    /// The name in tables for people: the one in JSON, but for [`Kind::LowerPriority`], which is nobody's fault.
    pub fn label(self) -> &'static str {
        match self {
            Kind::LowerPriority => "fair_turn",
            _ => self.name(),
        }
    }

    /// What all of it was, whoever had it: `threads of the same priority`.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Irq => "interrupts",
            Kind::Softirq => "softirqs",
            Kind::IrqOff => "code with interrupts off",
            Kind::Blind => "out of sight",
            Kind::Kernel => "kernel code that would not be preempted",
            Kind::HigherPriority => "higher-priority threads",
            Kind::SamePriority => "threads of the same priority",
            Kind::LowerPriority => "normal threads of less weight that had their fair turn",
            Kind::Throttled => "used-up budgets",
            Kind::FairServer => "the normal threads' reserved share",
            Kind::Migration => "moves between CPUs",
            Kind::IdleExit => "the way out of the idle loop",
            Kind::Fault => "page faults",
            Kind::Io => "input or output",
            Kind::Lock => "locks",
            Kind::Wait => "waits for other threads",
            Kind::Sleep => "sleeping on timers",
            Kind::TimerSlack => "timers that were allowed to come later",
            Kind::Stopped => "being stopped",
            Kind::Own => "their own work",
            Kind::Steal => "the host",
            Kind::KernelWake => "the ordinary path",
            Kind::Unknown => "unknown",
        }
    }

    /// What it means, to stand before a name: `interrupt local_timer`.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Irq => "interrupt",
            Kind::Softirq => "softirq",
            Kind::IrqOff => "interrupts off in",
            Kind::Blind => "out of sight:",
            Kind::Kernel => "kernel code of",
            Kind::HigherPriority => "higher-priority thread",
            Kind::SamePriority => "thread of the same priority",
            Kind::LowerPriority => "the fair turn of a normal thread of less weight,",
            Kind::Throttled => "out of budget:",
            Kind::FairServer => "the normal threads' reserved share:",
            Kind::Migration => "moving threads between CPUs:",
            Kind::IdleExit => "leaving the idle loop:",
            Kind::Fault => "page fault:",
            Kind::Io => "input or output:",
            Kind::Lock => "lock held by",
            Kind::Wait => "waiting for",
            Kind::Sleep => "sleeping on timer",
            Kind::TimerSlack => "the timer slack of",
            Kind::Stopped => "being stopped by",
            Kind::Own => "the work of",
            Kind::Steal => "stolen by",
            Kind::KernelWake => "the ordinary path:",
            Kind::Unknown => "unknown:",
        }
    }

    /// What became of a thread that held a lock meanwhile, as the end of a sentence.
    pub(crate) fn meanwhile(self, name: &str) -> String {
        match self {
            Kind::Irq => format!("the interrupt {name} ran on its CPU"),
            Kind::Softirq => format!("the softirq {name} ran on its CPU"),
            Kind::IrqOff => format!("{name} kept interrupts off on its CPU"),
            Kind::Blind => format!("nothing could be seen ({name})"),
            Kind::Kernel => format!("{name} was on its CPU in kernel code that would not be preempted"),
            Kind::HigherPriority => format!("{name} ran on its CPU, with the higher priority"),
            Kind::SamePriority => format!("{name} ran on its CPU, with the same priority"),
            Kind::LowerPriority => format!("{name} had its fair turn on its CPU"),
            Kind::Throttled => format!("its budget was used up ({name})"),
            Kind::FairServer => format!("{name} ran on its CPU in the normal threads' reserved share"),
            Kind::Migration => format!("{name} moved threads between CPUs"),
            Kind::IdleExit => "its CPU came out of the idle loop".to_owned(),
            Kind::Fault => "it waited for a page".to_owned(),
            Kind::Io => format!("it waited for input or output ({name})"),
            Kind::Lock if name == HOLDER_NOT_SEEN => "it waited for another lock, whose holder was not seen".to_owned(),
            Kind::Lock => format!("it waited for another lock, which {name} held"),
            Kind::Wait if name == ENDER_NOT_SEEN => "it waited for another thread, which was not seen".to_owned(),
            Kind::Wait => format!("it waited for {name}"),
            Kind::Sleep => format!("it slept until a timer ({name})"),
            Kind::TimerSlack => "its timer was allowed to come later".to_owned(),
            Kind::Stopped => format!("it was stopped by {name}"),
            Kind::Own => "it was at work".to_owned(),
            Kind::Steal => "the host ran something else on its CPU".to_owned(),
            Kind::KernelWake => format!("it was on its ordinary way through the kernel ({name})"),
            Kind::Unknown => format!("what it did is unknown ({name})"),
        }
    }
}
