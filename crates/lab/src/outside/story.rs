//! What ran between two moments, from blocks of instructions.

use super::clock::Clock;
use super::symbols::Symbols;
use super::trace::{Record, RecordKind, Trace};
use std::collections::BTreeMap;
use std::io;
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
}

/// A function, and how long its own code ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionTime {
    /// Its name; empty for code of programs.
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
    /// Its functions, longest first.
    pub functions: Vec<FunctionTime>,
}

/// Why the interrupt came when it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing kept it: interrupts were on when it was due.
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
    /// Another interrupt was being served.
    InInterrupt {
        /// Which.
        name: String,
    },
    /// No interrupt was seen.
    NotSeen,
}

/// What was seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// Stretches by time; they cover all from due to running without gap or overlap.
    pub segments: Vec<Segment>,
    /// Functions of the kernel in all of it, longest first, and programs' code.
    pub functions: Vec<FunctionTime>,
    /// Why the interrupt came when it did.
    pub delivery: Delivery,
    /// When the first interrupt came from when on it was due, ns of the guest's clock.
    pub interrupt_ns: Option<u64>,
    /// How many instructions ran.
    pub instructions: u64,
    /// Whether the trace ends before: too much ran to be written down, or the disk is full.
    pub is_cut: bool,
}

/// Which thread has the CPU from when on: times in ns of the guest's clock, as the guest wrote them down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switches(Vec<(u64, String)>);

impl Switches {
    /// By time.
    #[must_use]
    pub fn new(mut switches: Vec<(u64, String)>) -> Switches {
        switches.sort();
        Switches(switches)
    }

    fn at(&self, ns: u64) -> &str {
        let after = self.0.partition_point(|(since, _)| *since <= ns);
        self.0.get(after.saturating_sub(1)).map_or("", |(_, name)| name)
    }
}

/// Tells what ran in a stretch of time, ns of the guest's clock.
///
/// # Errors
///
/// Where the trace cannot be read.
pub fn story(
    trace: &Trace,
    clock: &Clock,
    symbols: &Symbols,
    switches: &Switches,
    due_to_running: Range<u64>,
) -> io::Result<Story> {
    let mut teller = Teller::new(clock, symbols, switches, due_to_running.clone());
    let not_written = trace.each(|record| teller.take(record))?;
    let last_ns = teller.last.as_ref().map_or(0, |last| clock.ns_at(last.count));
    teller.until(due_to_running.end);
    let is_cut = not_written != Some(0) && last_ns < due_to_running.end;
    let mut functions: Vec<FunctionTime> = teller.functions_of(&teller.all);
    functions.sort_by_key(|function| std::cmp::Reverse(function.ns));
    Ok(Story {
        delivery: teller.delivery.take().unwrap_or(match teller.interrupt_ns {
            Some(_) => Delivery::AtOnce,
            None => Delivery::NotSeen,
        }),
        interrupt_ns: teller.interrupt_ns,
        instructions: clock.count_at(due_to_running.end).saturating_sub(clock.count_at(due_to_running.start)),
        segments: teller.segments,
        functions,
        is_cut,
    })
}

/// An interrupt, an exception or a softirq that has begun.
struct Level {
    place: Place,
    name: String,
    // How deep calls were within the one that it interrupted.
    callers: usize,
}

struct Off {
    since_ns: u64,
    function: Option<usize>,
    caller: Option<usize>,
}

struct Open {
    begin_ns: u64,
    place: Place,
    name: String,
    thread: String,
    functions: BTreeMap<Option<usize>, u64>,
}

struct Last {
    count: u64,
    kind: RecordKind,
    function: Option<usize>,
}

struct Teller<'a> {
    clock: &'a Clock,
    symbols: &'a Symbols,
    switches: &'a Switches,
    range: Range<u64>,
    entries: BTreeMap<usize, (Place, String)>,
    switch_to: Option<usize>,
    levels: Vec<Level>,
    callers: Vec<Option<usize>>,
    thread: Option<String>,
    off: Option<Off>,
    last: Option<Last>,
    open: Option<Open>,
    // Functions, and for how long.
    all: BTreeMap<Option<usize>, u64>,
    segments: Vec<Segment>,
    delivery: Option<Delivery>,
    interrupt_ns: Option<u64>,
}

/// Code of the kernel that belongs to no function it lists, as that of BPF programs.
const NAMELESS: usize = usize::MAX;

/// Calls deeper than this are not kept: nobody is named then.
const MAX_CALLERS: usize = 1_000;

/// The kernel's functions for softirqs, before 6.10 and since.
const SOFTIRQS: [&str; 2] = ["__do_softirq", "handle_softirqs"];

/// What kind of entry into the kernel a function is.
fn entry_of(name: &str) -> Option<(Place, String)> {
    if SOFTIRQS.contains(&name) {
        return Some((Place::Softirq, String::new()));
    }
    let name = name.strip_prefix("asm_")?;
    if let Some(name) = name.strip_prefix("exc_") {
        return Some((Place::Exception, name.to_owned()));
    }
    let is_interrupt = name.starts_with("sysvec_") || ["common_interrupt", "spurious_interrupt"].contains(&name);
    is_interrupt.then(|| (Place::Interrupt, name.strip_prefix("sysvec_").unwrap_or(name).to_owned()))
}

impl<'a> Teller<'a> {
    fn new(clock: &'a Clock, symbols: &'a Symbols, switches: &'a Switches, range: Range<u64>) -> Teller<'a> {
        let entries = (0..symbols.len()).filter_map(|number| Some((number, entry_of(symbols.name(number))?))).collect();
        Teller {
            clock,
            symbols,
            switches,
            range,
            entries,
            switch_to: symbols.find("__switch_to_asm"),
            levels: Vec::new(),
            callers: Vec::new(),
            thread: None,
            off: None,
            last: None,
            open: None,
            all: BTreeMap::new(),
            segments: Vec::new(),
            delivery: None,
            interrupt_ns: None,
        }
    }

    fn take(&mut self, record: Record) {
        let ns = self.clock.ns_at(record.count);
        match record.kind {
            RecordKind::ClockRead => {}
            RecordKind::InterruptsOff => {
                let function = self.symbols.at(record.address);
                self.turned_off(ns, function, self.callers.last().copied().flatten());
            }
            RecordKind::InterruptsOn | RecordKind::FlagsRestored => {
                self.turned_on(ns, self.symbols.at(record.address));
            }
            _ => self.block(record, ns),
        }
    }

    fn turned_off(&mut self, ns: u64, function: Option<usize>, caller: Option<usize>) {
        if self.off.is_none() {
            self.off = Some(Off { since_ns: ns, function, caller });
        }
    }

    /// Where interrupts were off when it was due, this is why it did not come.
    fn turned_on(&mut self, ns: u64, function: Option<usize>) {
        let Some(off) = self.off.take() else { return };
        let due_ns = self.range.start;
        if off.since_ns <= due_ns && due_ns < ns && self.interrupt_ns.is_none() {
            let name = |function: Option<usize>| function.map(|number| self.symbols.name(number).to_owned());
            self.delivery = Some(Delivery::InterruptsOff {
                section: off.since_ns..ns,
                off_in: name(off.function).unwrap_or_default(),
                off_for: name(off.caller),
                on_in: name(function).unwrap_or_default(),
            });
        }
    }

    fn block(&mut self, record: Record, ns: u64) {
        let is_kernel = record.address >> 63 == 1;
        let function = self.symbols.at(record.address).or(is_kernel.then_some(NAMELESS));
        let begins = function.filter(|number| self.symbols.begins(*number, record.address));
        let entry = begins.and_then(|number| self.entries.get(&number).cloned());
        self.until(ns);
        let asked = self.last.as_ref().is_some_and(|last| last.kind == RecordKind::BlockAsks);
        // An exception comes in the middle of a block, whose last instruction did not run then.
        if !matches!(entry, Some((Place::Exception, _))) {
            self.ended(ns);
        }
        if asked {
            self.turned_off(ns, function, None);
        }
        if let Some((place, name)) = entry {
            self.entered(place, name, ns, function);
        }
        if begins.is_some() && begins == self.switch_to {
            self.levels.clear();
            self.callers.clear();
            self.thread = Some(self.switches.at(ns).to_owned());
        }
        self.last = Some(Last { count: record.count, kind: record.kind, function });
        self.opened(ns, record.address);
    }

    /// What the end of the last block does.
    fn ended(&mut self, ns: u64) {
        let Some(last) = &self.last else { return };
        match last.kind {
            RecordKind::BlockCalls if self.callers.len() < MAX_CALLERS => self.callers.push(last.function),
            RecordKind::BlockReturns => {
                self.callers.pop();
                let depth = self.callers.len();
                let is_over = |level: &Level| level.place == Place::Softirq && depth < level.callers;
                while self.levels.last().is_some_and(is_over) {
                    self.levels.pop();
                }
            }
            RecordKind::BlockLeaves => {
                self.turned_on(ns, last.function);
                if let Some(level) = self.levels.pop() {
                    self.callers.truncate(level.callers);
                }
            }
            _ => {}
        }
    }

    fn entered(&mut self, place: Place, name: String, ns: u64, function: Option<usize>) {
        let due_ns = self.range.start;
        if place == Place::Interrupt && ns >= due_ns && self.interrupt_ns.is_none() {
            let within = self.levels.iter().find(|level| level.place == Place::Interrupt);
            self.delivery = self.delivery.take().or_else(|| Some(Delivery::InInterrupt { name: within?.name.clone() }));
            self.interrupt_ns = Some(ns);
        }
        if place != Place::Softirq {
            // The processor turns interrupts off where it enters the kernel.
            self.turned_off(ns, function, None);
        }
        self.levels.push(Level { place, name, callers: self.callers.len() });
    }

    /// Time passed in the block before.
    fn until(&mut self, ns: u64) {
        let Some(last) = &self.last else { return };
        let from_ns = self.clock.ns_at(last.count).max(self.range.start);
        let passed = ns.min(self.range.end).saturating_sub(from_ns);
        if passed > 0 {
            *self.all.entry(last.function).or_default() += passed;
            if let Some(open) = &mut self.open {
                *open.functions.entry(last.function).or_default() += passed;
            }
        }
        if ns >= self.range.end {
            self.close(self.range.end);
        }
    }

    /// A new segment, where the block is in another place than the one before.
    fn opened(&mut self, ns: u64, address: u64) {
        if ns >= self.range.end {
            return;
        }
        let (place, name) = match self.levels.last() {
            Some(level) => (level.place, level.name.clone()),
            None if address >> 63 == 0 => (Place::User, String::new()),
            None => (Place::Kernel, String::new()),
        };
        let thread = self.thread.get_or_insert_with(|| self.switches.at(ns).to_owned()).clone();
        let is_same = |open: &Open| (open.place, &open.name, &open.thread) == (place, &name, &thread);
        if !self.open.as_ref().is_some_and(is_same) {
            self.close(ns);
            self.open = Some(Open { begin_ns: ns, place, name, thread, functions: BTreeMap::new() });
        }
    }

    fn close(&mut self, ns: u64) {
        let Some(open) = self.open.take() else { return };
        let begin_ns = open.begin_ns.max(self.range.start);
        let mut functions = self.functions_of(&open.functions);
        functions.sort_by_key(|function| std::cmp::Reverse(function.ns));
        let Open { place, name, thread, .. } = open;
        if ns > begin_ns {
            self.segments.push(Segment { begin_ns, ns: ns - begin_ns, place, name, thread, functions });
        }
    }

    fn functions_of(&self, times: &BTreeMap<Option<usize>, u64>) -> Vec<FunctionTime> {
        let name =
            |function: &Option<usize>| function.map_or_else(String::new, |number| self.symbols.name(number).to_owned());
        times.iter().map(|(function, &ns)| FunctionTime { name: name(function), ns }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const FUNCTIONS: [&str; 9] = [
        "copy_pages",
        "_raw_spin_lock_irq",
        "_raw_spin_unlock_irq",
        "asm_sysvec_apic_timer_interrupt",
        "hrtimer_interrupt",
        "handle_softirqs",
        "native_irq_return_iret",
        "schedule",
        "__switch_to_asm",
    ];

    fn address(function: &str) -> u64 {
        let number = FUNCTIONS.iter().position(|name| *name == function).unwrap() as u64;
        0xffff_ffff_8100_0000 + number * 0x100
    }

    fn symbols() -> Symbols {
        let lines = FUNCTIONS.map(|name| format!("{:x} T {name}", address(name)));
        Symbols::parse(&lines.join("\n"))
    }

    /// Numbers of `plugin.c`: blocks, and what turns interrupts off and on.
    const BLOCK: u64 = 16;
    const CALLS: u64 = 17;
    const RETURNS: u64 = 18;
    const LEAVES: u64 = 19;
    const OFF: u64 = 2;
    const ON: u64 = 3;

    /// A clock that is 1,000 ns ahead of 4 ns an instruction.
    fn clock() -> Clock {
        let reads: Vec<u64> = (0..40).map(|number| number * number * 37).collect();
        let times: Vec<u64> = reads.iter().map(|count| count * 4 + 1_000).collect();
        Clock::align(&times, &reads, 4).unwrap()
    }

    /// `khugepaged` copies with interrupts off while a wakeup is due at 5,000 ns; the interrupt comes once they are on, serves a softirq at
    /// its end and returns; then the late one is let in, and runs at 9,000 ns.
    fn told() -> Story {
        let user = 0x5555_0000_0000;
        let steps = [
            (4_000, "copy_pages", CALLS),
            (4_040, "_raw_spin_lock_irq", RETURNS),
            (4_048, "_raw_spin_lock_irq", OFF),
            (4_080, "copy_pages", CALLS),
            (5_600, "_raw_spin_unlock_irq", RETURNS),
            (5_640, "_raw_spin_unlock_irq", ON),
            (5_680, "asm_sysvec_apic_timer_interrupt", CALLS),
            (5_760, "hrtimer_interrupt", CALLS),
            (6_000, "handle_softirqs", RETURNS),
            (6_400, "hrtimer_interrupt", RETURNS),
            (6_480, "native_irq_return_iret", LEAVES),
            (6_520, "copy_pages", BLOCK),
            (8_000, "schedule", BLOCK),
            (8_400, "__switch_to_asm", BLOCK),
        ];
        let mut file = tempfile::tempfile().unwrap();
        let mut put = |ns: u64, address: u64, kind: u64| {
            file.write_all(&[((ns - 1_000) / 4).to_le_bytes(), (address << 8 | kind).to_le_bytes()].concat()).unwrap();
        };
        for (ns, function, kind) in steps {
            put(ns, address(function), kind);
        }
        put(8_600, user, BLOCK);
        put(9_400, user, BLOCK);
        put(1_000, 0, 255);
        let switches = Switches::new(vec![(0, "khugepaged".to_owned()), (8_200, "audio".to_owned())]);
        story(&Trace::new(file), &clock(), &symbols(), &switches, 5_000..9_000).unwrap()
    }

    #[test]
    fn stretches_are_the_whole_each_in_its_place() {
        let story = told();
        let met: Vec<(Place, &str, u64)> =
            story.segments.iter().map(|segment| (segment.place, segment.thread.as_str(), segment.ns)).collect();
        let expected = [
            (Place::Kernel, "khugepaged", 680),
            (Place::Interrupt, "khugepaged", 320),
            (Place::Softirq, "khugepaged", 400),
            (Place::Interrupt, "khugepaged", 120),
            (Place::Kernel, "khugepaged", 1_880),
            (Place::Kernel, "audio", 200),
            (Place::User, "audio", 400),
        ];
        assert_eq!(met, expected);
        assert_eq!(met.iter().map(|(.., ns)| ns).sum::<u64>(), 4_000);
        assert_eq!(story.functions.iter().map(|function| function.ns).sum::<u64>(), 4_000);
        assert_eq!((story.instructions, story.is_cut), (1_000, false));
        assert_eq!(story.functions[0], FunctionTime { name: "copy_pages".to_owned(), ns: 600 + 1_480 });
        assert_eq!(story.segments[1].name, "apic_timer_interrupt");
    }

    #[test]
    fn whoever_turned_interrupts_off_is_named_with_who_called_it() {
        let story = told();
        let expected = Delivery::InterruptsOff {
            section: 4_048..5_640,
            off_in: "_raw_spin_lock_irq".to_owned(),
            off_for: Some("copy_pages".to_owned()),
            on_in: "_raw_spin_unlock_irq".to_owned(),
        };
        assert_eq!((story.delivery, story.interrupt_ns), (expected, Some(5_680)));
    }
}
