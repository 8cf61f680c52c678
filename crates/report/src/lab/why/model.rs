//! What was seen from outside.

use crate::{NextStep, shell_word};
use punctual_recording::{counted, format_ns};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Where a stretch of time was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StretchKind {
    /// A thread's own code.
    User,
    /// The kernel's code, on behalf of a thread.
    Kernel,
    /// An interrupt.
    Interrupt,
    /// An exception, such as a page fault.
    Exception,
    /// A softirq.
    Softirq,
    /// Not known: what ran could not be written down.
    NotWritten,
}

/// A function of the kernel, or code of programs, and how long it ran.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FunctionRow {
    /// Its name.
    pub name: String,
    /// Without what it called.
    pub ns: u64,
}

/// A stretch of time in one place.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stretch {
    /// When it began, counted from when the wakeup was due.
    pub at_ns: u64,
    /// How long it was.
    pub ns: u64,
    /// Where it was spent.
    pub kind: StretchKind,
    /// Which interrupt or exception; otherwise empty.
    pub name: String,
    /// The thread that had the CPU.
    pub thread: String,
    /// Its number: several threads may have one name.
    pub tid: u32,
    /// Whether another thread has its name, so that words give its number, too.
    #[serde(skip)]
    pub is_numbered: bool,
    /// Its functions, longest first, the first few.
    pub functions: Vec<FunctionRow>,
    /// All of them.
    #[serde(skip)]
    pub all_functions: Vec<FunctionRow>,
}

impl Stretch {
    /// In what, in words.
    pub(super) fn what(&self) -> String {
        let thread = named(&self.thread, self.is_numbered.then_some(self.tid));
        match self.kind {
            StretchKind::User => format!("{thread}: its own code"),
            StretchKind::Kernel => format!("{thread}: kernel code"),
            StretchKind::Interrupt => format!("interrupt {}", self.name),
            StretchKind::Exception => format!("{thread}: exception {}", self.name),
            StretchKind::Softirq => format!("softirq, in {thread}"),
            StretchKind::NotWritten => "not written down".to_owned(),
        }
    }
}

fn named(thread: &str, tid: Option<u32>) -> String {
    tid.map_or_else(|| thread.to_owned(), |tid| format!("{thread} (thread {tid})"))
}

/// Why the interrupt came when it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Arrival {
    /// Interrupts were on when it was due.
    AtOnce {
        /// How long it took.
        after_ns: u64,
    },
    /// Interrupts were off.
    InterruptsOff {
        /// How long it took.
        after_ns: u64,
        /// When they were turned off, counted from when it was due: below 0 before that.
        off_from_ns: i64,
        /// How long after it was due they were turned on.
        on_after_ns: u64,
        /// The function that turned them off.
        off_in: String,
        /// Whoever had called it, if that was seen.
        off_for: Option<String>,
        /// The function that turned them on.
        on_in: String,
    },
    /// Interrupts had been off for longer than anything shows who turned them off.
    OffBefore {
        /// How long it took.
        after_ns: u64,
        /// When they were off already, counted from when it was due: below 0 before that.
        off_at_ns: i64,
        /// How long after it was due they were turned on.
        on_after_ns: u64,
        /// The function that turned them on.
        on_in: String,
    },
    /// Something else held it back, which is not seen: interrupts were on, and it did not come.
    Otherwise {
        /// How long it took.
        after_ns: u64,
        /// Whether they were on when it was due; where not, they were on for most of that, or it is not known at first.
        on_when_due: bool,
        /// When they were turned off in the end, counted from when it was due, which explains no more than that.
        off_from_ns: Option<u64>,
        /// How long after it was due they were turned on again.
        on_after_ns: Option<u64>,
        /// The function that turned them off.
        off_in: Option<String>,
        /// Whoever had called it, if that was seen.
        off_for: Option<String>,
    },
    /// Another interrupt was being served.
    InInterrupt {
        /// How long it took.
        after_ns: u64,
        /// Which other one.
        name: String,
    },
    /// Nothing shows whether interrupts were off until it came.
    NotKnown {
        /// How long it took.
        after_ns: u64,
        /// How long after it was due they were last turned on, if that was seen.
        on_after_ns: Option<u64>,
        /// The function that turned them on then.
        on_in: Option<String>,
    },
    /// None was seen.
    NotSeen,
}

impl Arrival {
    /// What is known of an interrupt that was held back, but not by interrupts being off.
    fn otherwise(&self) -> String {
        let Arrival::Otherwise { after_ns, on_when_due, off_from_ns, on_after_ns, off_in, off_for } = self else {
            return String::new();
        };
        let unseen =
            "something else held it back, such as a raised task priority (CR8) or a masked timer, which is not seen";
        let off_ns = on_after_ns.unwrap_or(0).saturating_sub(off_from_ns.unwrap_or(0));
        let first = match (on_when_due, off_in) {
            (true, _) => format!("interrupts were on when it was due, and {unseen}."),
            (false, None) => format!("interrupts were on for most of that, and {unseen}."),
            (false, Some(_)) => "what held it back at first is not known.".to_owned(),
        };
        match off_in {
            // A moment explains nothing.
            Some(off_in) if off_ns >= after_ns / MIN_PART => {
                let caller = off_for.as_ref().map(|name| format!(", called by {name},")).unwrap_or_default();
                format!(
                    "{first} For the last {} of that interrupts were off: {off_in}{caller} had turned them off.",
                    format_ns(off_ns)
                )
            }
            _ => first,
        }
    }
}

/// The time of a class, by the evidence in the guest and as seen from outside.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClassRow {
    /// Interrupts, softirqs or threads.
    pub class: &'static str,
    /// What `why` says.
    pub inside_ns: u64,
    /// What ran.
    pub outside_ns: u64,
}

/// A late wakeup of a guest, looked at from outside.
pub struct OutsideReport<'a> {
    /// The kernel, with its parameters.
    pub kernel: String,
    /// The seed of the guest's randomness.
    pub seed: u32,
    /// The guest's recording.
    pub recording: &'a Path,
    /// Its number in the recording.
    pub episode: u64,
    /// Who was late.
    pub victim: String,
    /// Its thread's number.
    pub victim_tid: u32,
    /// How late.
    pub total_ns: u64,
    /// Files of the recording that each run left with the same bytes.
    pub same_files: usize,
    /// Times of the episode that are readings of the clock at known instructions.
    pub times_found: usize,
    /// All of its times.
    pub times: usize,
    /// Longer episodes that could not be looked at from outside.
    pub passed_over: usize,
    /// How long an instruction takes.
    pub instruction_ns: u64,
    /// How many ran.
    pub instructions: u64,
    /// Whether not all of them could be written down.
    pub is_cut: bool,
    /// Why the interrupt came when it did.
    pub arrival: Arrival,
    /// For how long interrupts were off once more after it, at least.
    pub later_off_ns: u64,
    /// The stretches, by time.
    pub stretches: Vec<Stretch>,
    /// The functions, longest first.
    pub functions: Vec<FunctionRow>,
    /// How many more functions there are, and how long these ran.
    pub further: (usize, u64),
    /// Inside beside outside.
    pub classes: Vec<ClassRow>,
    /// Processor time that all guests used, ms.
    pub used_ms: u64,
}

/// An interrupt that comes later than this after it was due did not come at once, even with interrupts on.
const AT_ONCE_NS: u64 = 20_000;

/// A time with interrupts off is named beside another reason, or beside an earlier one, if it is at least one part in so many.
const MIN_PART: u64 = 10;

/// Stands in place of the names of functions where these are not known, or of a program's.
const NAMELESS: &str = "code without a name";
const OF_A_PROGRAM: &str = "a program's own code";

/// A function at the beginning of a sentence: names stay as they are, words begin with a capital.
fn beginning(function: &str) -> &str {
    match function {
        NAMELESS => "Code without a name",
        OF_A_PROGRAM => "A program's own code",
        name => name,
    }
}

const NO_PLACE: &str = "the times fit no one place among the readings of the clock";

/// What had most of the time, ns of it, and the function that had most of that with its own.
type Most<'a> = (String, u64, Option<(&'a str, u64)>);

impl OutsideReport<'_> {
    /// Who was late, with its number where another thread has the same name.
    pub(crate) fn victim_in_words(&self) -> String {
        named(&self.victim, self.is_like_another().then_some(self.victim_tid))
    }

    /// How much of it could not be written down.
    pub(crate) fn not_written_ns(&self) -> u64 {
        let missing = self.stretches.iter().filter(|stretch| stretch.kind == StretchKind::NotWritten);
        missing.map(|stretch| stretch.ns).sum()
    }

    /// Whether another thread that had the CPU has the name of the one that was late.
    fn is_like_another(&self) -> bool {
        self.stretches.iter().any(|stretch| stretch.thread == self.victim && stretch.tid != self.victim_tid)
    }

    /// What had most of it, as far as that was written down, for how long, and the function that had most of that, with its time.
    pub(crate) fn most(&self) -> Option<Most<'_>> {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for stretch in self.stretches.iter().filter(|stretch| stretch.kind != StretchKind::NotWritten) {
            *sums.entry(stretch.what()).or_default() += stretch.ns;
        }
        let (what, ns) = sums.into_iter().max_by_key(|(_, ns)| *ns)?;
        let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
        for stretch in self.stretches.iter().filter(|stretch| stretch.what() == what) {
            for function in &stretch.all_functions {
                *functions.entry(function.name.as_str()).or_default() += function.ns;
            }
        }
        Some((what, ns, functions.into_iter().max_by_key(|(_, ns)| *ns)))
    }

    /// Why it can be believed.
    pub(super) fn proof(&self) -> String {
        let all = if self.times_found == self.times { "all".to_owned() } else { self.times_found.to_string() };
        format!(
            "Two more runs left the same recording, byte by byte ({}), and {all} of its {} times in the episode are readings of the \
             clock at known instructions. So this is what ran: {}, {} ns each.",
            counted(self.same_files, "file"),
            self.times,
            counted(usize::try_from(self.instructions).unwrap_or(usize::MAX), "instruction"),
            self.instruction_ns
        )
    }

    /// Why the interrupt came when it did.
    pub(super) fn arrival_in_words(&self) -> String {
        let after = |ns: u64| format!("The interrupt came {} after it was due", format_ns(ns));
        match &self.arrival {
            Arrival::AtOnce { after_ns: after_ns @ ..AT_ONCE_NS } => {
                format!("{}: interrupts were on.", after(*after_ns))
            }
            Arrival::AtOnce { after_ns } => format!(
                "{}: interrupts were on. What else held it back, such as a raised task priority (CR8), is not seen.",
                after(*after_ns)
            ),
            Arrival::InterruptsOff { after_ns, off_from_ns, on_after_ns, off_in, off_for, on_in } => format!(
                "{}: interrupts were off. {}{} had turned them off {}, and {on_in} turned them on {} after it was due.",
                after(*after_ns),
                beginning(off_in),
                off_for.as_ref().map(|name| format!(", called by {name},")).unwrap_or_default(),
                match off_from_ns {
                    ..0 => format!("{} before", format_ns(off_from_ns.unsigned_abs())),
                    _ => format!("{} after", format_ns(off_from_ns.unsigned_abs())),
                },
                format_ns(*on_after_ns)
            ),
            Arrival::OffBefore { after_ns, off_at_ns, on_after_ns, on_in } => format!(
                "{}: interrupts were off, for at least {}. Who had turned them off is not known; {on_in} turned them on {} after \
                 it was due.",
                after(*after_ns),
                format_ns(on_after_ns.saturating_add_signed(off_at_ns.saturating_neg())),
                format_ns(*on_after_ns)
            ),
            Arrival::Otherwise { after_ns, .. } => format!("{}: {}", after(*after_ns), self.arrival.otherwise()),
            Arrival::NotKnown { after_ns, on_after_ns: Some(on_after_ns), on_in } => format!(
                "{}: it is not known whether interrupts were off. {} turned them on {} after it was due, and it did not come \
                 at once.",
                after(*after_ns),
                beginning(on_in.as_deref().unwrap_or(NAMELESS)),
                format_ns(*on_after_ns)
            ),
            Arrival::NotKnown { after_ns, .. } => {
                format!("{}: it is not known whether interrupts were off.", after(*after_ns))
            }
            Arrival::InInterrupt { after_ns, name } => {
                format!("{}: interrupt {name} was being served.", after(*after_ns))
            }
            Arrival::NotSeen if self.is_cut => format!(
                "No interrupt was seen in the {} after it was due that were written down; whether one came later is not known.",
                format_ns(self.total_ns.saturating_sub(self.not_written_ns()))
            ),
            Arrival::NotSeen => match self.stretches.iter().find(|stretch| stretch.kind == StretchKind::Interrupt) {
                // It began before, or the table would not have it and the arrival would.
                Some(served) => format!(
                    "No interrupt began between due and running: interrupt {} was already being served when it was due.",
                    served.name
                ),
                None => "No interrupt was seen between due and running.".to_owned(),
            },
        }
    }

    /// What else must be known.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match self.passed_over {
            0 => (),
            1 => notes.push(format!("a longer episode was passed over: {NO_PLACE}")),
            many => notes.push(format!("{many} longer episodes were passed over: of each, {NO_PLACE}")),
        }
        let is_its =
            |stretch: &&Stretch| stretch.kind == StretchKind::Kernel && stretch.thread.starts_with("ksoftirqd/");
        let of_its_ns: u64 = self.stretches.iter().filter(is_its).map(|stretch| stretch.ns).sum();
        if of_its_ns > 0 {
            notes.push(format!(
                "{} of kernel code ran in ksoftirqd, the kernel's thread for softirqs: from outside that counts under \
                 threads, not softirqs",
                format_ns(of_its_ns)
            ));
        }
        if self.later_off_ns > 0 && self.later_off_ns >= self.total_ns / MIN_PART {
            notes.push(format!(
                "interrupts were off once more after that one came, for at least {} in all",
                format_ns(self.later_off_ns)
            ));
        }
        if self.is_cut {
            notes.push(format!(
                "not all that ran could be written down: the end is missing, and {} of the lateness with it",
                format_ns(self.not_written_ns())
            ));
        }
        if self.times_found < self.times {
            notes.push(format!(
                "{} of {} times are at no reading of the clock: there the instructions may be off by some",
                self.times - self.times_found,
                self.times
            ));
        }
        notes
    }

    /// What to run next.
    pub(super) fn next(&self) -> [NextStep; 2] {
        let all = format!("punctual why {}", shell_word(&self.recording.display().to_string()));
        let same = format!("{all} --episode {}", self.episode);
        [
            NextStep::new("shows the same wakeup from inside", same),
            NextStep::new("sums up all late wakeups from inside", all),
        ]
    }
}
