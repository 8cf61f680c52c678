//! What was seen from outside: stretches of time, and whose they were.

use std::ops::Range;

/// In what a stretch of time passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A thread's own code.
    User,
    /// The kernel's code, of a thread.
    Kernel,
    /// An interrupt, from its first instruction in the kernel to its return.
    Interrupt,
    /// An exception, such as a page fault.
    Exception,
    /// A softirq.
    Softirq,
    /// Not known: what ran was not written down.
    NotWritten,
}

/// What stands in place of functions that were not written down.
pub const NOT_WRITTEN: &str = "not written down";

/// A function, and how long its own code ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionTime {
    /// Its name; empty for code of programs, [`NOT_WRITTEN`] for what was not written down.
    pub name: String,
    /// Without what it called, ns.
    pub ns: u64,
}

/// A stretch of time in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// When it began, ns of the guest's clock.
    pub begin_ns: u64,
    /// How long it was, ns.
    pub ns: u64,
    /// In what.
    pub place: Place,
    /// Of an interrupt or an exception, the kernel's function for it, without what is common to all names.
    pub name: String,
    /// The thread that had the CPU.
    pub thread: String,
    /// Its number: several threads may have one name.
    pub tid: u32,
    /// Its functions, longest first.
    pub functions: Vec<FunctionTime>,
}

/// A time with interrupts off that began only after the interrupt should have come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffAtLast {
    /// From when to when, ns of the guest's clock.
    pub section: Range<u64>,
    /// The function that turned them off.
    pub off_in: String,
    /// Whoever called that, where that was seen.
    pub off_for: Option<String>,
}

/// Why the interrupt came when it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing kept it: interrupts were on from when it was due.
    AtOnce,
    /// Interrupts were off.
    InterruptsOff {
        /// From when to when, ns of the guest's clock.
        section: Range<u64>,
        /// The function that turned them off.
        off_in: String,
        /// Whoever called that, where that was seen.
        off_for: Option<String>,
        /// The function that turned them on.
        on_in: String,
    },
    /// Interrupts had been off for longer than anything shows who turned them off.
    OffBefore {
        /// They were off at this time, ns of the guest's clock.
        since_ns: u64,
        /// When they were turned on, ns of the guest's clock.
        on_ns: u64,
        /// The function that turned them on.
        on_in: String,
    },
    /// Something else kept it, which is not seen: interrupts were on, and it did not come.
    Otherwise {
        /// Whether they were on when it was due, or else for most of the time until it came.
        is_on_when_due: bool,
        /// Where they were off in the end, which explains no more than that.
        off: Option<OffAtLast>,
    },
    /// Another interrupt was being served.
    InInterrupt {
        /// Which.
        name: String,
    },
    /// Nothing shows whether interrupts were off until it came.
    NotKnown {
        /// When they were last turned on before, ns of the guest's clock, and by which function, where that was seen.
        on: Option<(u64, String)>,
    },
    /// No interrupt was seen.
    NotSeen,
}

/// What was seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// Stretches by time; they cover all from due to running without gap or overlap.
    pub segments: Vec<Segment>,
    /// Functions of the kernel in all of it, longest first, programs' code, and what was not written down.
    pub functions: Vec<FunctionTime>,
    /// Why the interrupt came when it did.
    pub delivery: Delivery,
    /// When the first interrupt came from when on it was due, ns of the guest's clock.
    pub interrupt_ns: Option<u64>,
    /// For how long interrupts were off once more after that one, at least, without those being served, ns.
    pub later_off_ns: u64,
    /// How many instructions ran.
    pub instructions: u64,
    /// Whether the trace ends before: too much ran to be written down, or the disk is full.
    pub is_cut: bool,
}

/// Which thread has the CPU from when on: times in ns of the guest's clock, as the guest wrote them down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switches(Vec<(u64, u32, String)>);

impl Switches {
    /// Times, threads' numbers and their names.
    #[must_use]
    pub fn new(mut switches: Vec<(u64, u32, String)>) -> Switches {
        switches.sort();
        Switches(switches)
    }

    /// Who has it then.
    pub(super) fn at(&self, ns: u64) -> (u32, &str) {
        let after = self.0.partition_point(|(since, ..)| *since <= ns);
        self.0.get(after.saturating_sub(1)).map_or((0, ""), |(_, tid, name)| (*tid, name))
    }
}
