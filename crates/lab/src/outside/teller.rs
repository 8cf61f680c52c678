//! Follows blocks of instructions from one to the next: who has the CPU, where, and whether interrupts are on.

use super::clock::Clock;
use super::flags::{Flags, Kept, Off, On, State};
use super::seen::{Delivery, FunctionTime, NOT_WRITTEN, OffAtLast, Place, Segment, Story, Switches};
use super::symbols::Symbols;
use super::trace::{Record, RecordKind};
use std::collections::BTreeMap;
use std::ops::Range;

/// An interrupt, an exception or a softirq that has begun.
struct Level {
    place: Place,
    name: String,
    // How deep calls were within what it interrupted.
    callers: usize,
    // Whether interrupts were on there; an exception may find them off, and afterwards they are off again.
    before: State,
}

/// A thread's number and name.
type Thread = (u32, String);

struct Open {
    begin_ns: u64,
    place: Place,
    name: String,
    thread: Thread,
    functions: BTreeMap<Option<usize>, u64>,
}

struct Last {
    count: u64,
    kind: RecordKind,
    function: Option<usize>,
}

pub(super) struct Teller<'a> {
    clock: &'a Clock,
    symbols: &'a Symbols,
    switches: &'a Switches,
    range: Range<u64>,
    entries: BTreeMap<usize, (Place, String)>,
    switch_to: Option<usize>,
    levels: Vec<Level>,
    callers: Vec<Option<usize>>,
    thread: Option<Thread>,
    flags: Flags,
    last: Option<Last>,
    open: Option<Open>,
    // Functions, and for how long each ran.
    all: BTreeMap<Option<usize>, u64>,
    segments: Vec<Segment>,
    delivery: Option<Delivery>,
    interrupt_ns: Option<u64>,
    // For how long interrupts had been off until then.
    earlier_off_ns: u64,
}

/// Kernel code that belongs to none of the listed functions, such as that of BPF programs.
const NAMELESS: usize = usize::MAX;

/// Whether an address is the kernel's.
fn is_kernel(address: u64) -> bool {
    address >> 63 == 1
}

/// Calls deeper than this are not kept: then nobody is named.
const MAX_CALLERS: usize = 1_000;

/// How names of the kernel's thunks for indirect calls begin.
const THUNK: &str = "__x86_";

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

/// A stretch of which nothing is known.
fn not_written(range: Range<u64>) -> Segment {
    Segment {
        begin_ns: range.start,
        ns: range.end - range.start,
        place: Place::NotWritten,
        name: String::new(),
        thread: String::new(),
        tid: 0,
        functions: Vec::new(),
    }
}

impl<'a> Teller<'a> {
    pub(super) fn new(clock: &'a Clock, symbols: &'a Symbols, switches: &'a Switches, range: Range<u64>) -> Teller<'a> {
        let entries = (0..symbols.len()).filter_map(|number| Some((number, entry_of(symbols.name(number))?))).collect();
        let flags = Flags::new(range.clone());
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
            flags,
            last: None,
            open: None,
            all: BTreeMap::new(),
            segments: Vec::new(),
            delivery: None,
            interrupt_ns: None,
            earlier_off_ns: 0,
        }
    }

    /// What it found: including the end of it if everything that ran was written down.
    pub(super) fn story(mut self, is_whole: bool) -> Story {
        let last_ns = self.last.as_ref().map_or(0, |last| self.clock.ns_at(last.count));
        let Range { start, end } = self.range;
        let is_cut = !is_whole && last_ns < end;
        let mut functions = Vec::new();
        if is_cut {
            // Whoever ran last need not have gone on: nobody knows what had the rest.
            let from_ns = last_ns.max(start);
            self.close(from_ns);
            self.segments.push(not_written(from_ns..end));
            functions.push(FunctionTime { name: NOT_WRITTEN.to_owned(), ns: end - from_ns });
        } else {
            self.until(end);
        }
        functions.extend(self.functions_of(&self.all));
        functions.sort_by_key(|function| std::cmp::Reverse(function.ns));
        Story {
            functions,
            delivery: self.delivery.take().unwrap_or(Delivery::NotSeen),
            interrupt_ns: self.interrupt_ns,
            later_off_ns: self.interrupt_ns.map_or(0, |_| self.flags.off_ns() - self.earlier_off_ns),
            instructions: self.clock.count_at(end).saturating_sub(self.clock.count_at(start)),
            segments: self.segments,
            is_cut,
        }
    }

    /// Takes the next thing that happened.
    pub(super) fn take(&mut self, record: Record) {
        let ns = self.clock.ns_at(record.count);
        let function = self.function_at(record.address);
        match record.kind {
            RecordKind::ClockRead => return,
            RecordKind::InterruptsOff => {
                let caller = self.callers.last().copied().flatten();
                self.flags.off(record.count, Off { ns, function, caller, interrupt: None });
            }
            RecordKind::InterruptsOn => self.flags.on(record.count, On { ns, function }),
            // A program's own code cannot change whether interrupts are on.
            RecordKind::FlagsRestored if !is_kernel(record.address) => return,
            RecordKind::FlagsRestored => self.flags.restored(On { ns, function }),
            _ => self.block(record, ns),
        }
        self.flags.seen(ns);
    }

    fn thread_at(&self, ns: u64) -> Thread {
        let (tid, name) = self.switches.at(ns);
        (tid, name.to_owned())
    }

    fn function_at(&self, address: u64) -> Option<usize> {
        self.symbols.at(address).or(is_kernel(address).then_some(NAMELESS))
    }

    /// Why the interrupt comes now: it had to wait if interrupts were off until a moment ago.
    fn delivery(&self, ns: u64) -> Delivery {
        let name = |function: usize| self.symbols.name(function).to_owned();
        let of = |on: On| on.function.map_or_else(|| "a program's own code".to_owned(), name);
        match self.flags.kept(self.range.start..ns) {
            Kept::No => Delivery::AtOnce,
            Kept::Off { off: Off { interrupt: Some(name), .. }, .. } => Delivery::InInterrupt { name },
            Kept::Off { off, on } => Delivery::InterruptsOff {
                section: off.ns..on.ns,
                off_in: off.function.map(name).unwrap_or_default(),
                off_for: off.caller.map(name),
                on_in: of(on),
            },
            Kept::OffBefore { since_ns, on } => Delivery::OffBefore { since_ns, on_ns: on.ns, on_in: of(on) },
            Kept::Otherwise { is_on_when_due, off } => {
                let off = off.map(|(off, on)| OffAtLast {
                    section: off.ns..on.ns,
                    off_in: off.function.map(name).unwrap_or_default(),
                    off_for: off.caller.map(name),
                });
                Delivery::Otherwise { is_on_when_due, off }
            }
            Kept::NotKnown { on } => Delivery::NotKnown { on: on.map(|on| (on.ns, of(on))) },
        }
    }

    fn block(&mut self, record: Record, ns: u64) {
        let function = self.function_at(record.address);
        let begins = function.filter(|number| self.symbols.begins(*number, record.address));
        let entry = begins.and_then(|number| self.entries.get(&number).cloned());
        self.until(ns);
        let asked = self.last.as_ref().is_some_and(|last| last.kind == RecordKind::BlockAsks);
        // An exception comes in the middle of a block, whose last instruction then did not run.
        if !matches!(entry, Some((Place::Exception, _))) {
            self.ended(ns, function.filter(|_| begins.is_none()));
        }
        if asked {
            self.flags.entered(Off { ns, function, caller: None, interrupt: None });
        }
        if !is_kernel(record.address) {
            // Whatever had begun in the kernel has ended, even if its end was not seen.
            self.levels.clear();
            self.callers.clear();
            self.flags.proven_on(ns);
        }
        if let Some((place, name)) = entry {
            self.entered(place, name, Off { ns, function, caller: None, interrupt: None });
        }
        if begins.is_some() && begins == self.switch_to {
            self.levels.clear();
            self.callers.clear();
            self.thread = Some(self.thread_at(ns));
        }
        self.last = Some(Last { count: record.count, kind: record.kind, function });
        self.opened(ns, record.address);
    }

    /// What the end of the last block does; `inside` is the function in the middle of which the next one begins.
    fn ended(&mut self, ns: u64, inside: Option<usize>) {
        let Some(last) = &self.last else { return };
        match last.kind {
            RecordKind::BlockCalls | RecordKind::BlockReturns if self.is_cut_short(last, inside) => {}
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
                let on = On { ns, function: last.function };
                let level = self.levels.pop();
                self.flags.returned(level.as_ref().map_or(State::Unknown, |level| level.before), on);
                if let Some(level) = level {
                    self.callers.truncate(level.callers);
                }
            }
            _ => {}
        }
    }

    /// Whether a block did not come to its end: the emulator begins one with access to a device once more, in pieces. Then
    /// the function goes on where it was, and neither calls nor returns.
    fn is_cut_short(&self, last: &Last, inside: Option<usize>) -> bool {
        let Some(function) = inside.filter(|function| *function != NAMELESS && last.function == inside) else {
            return false;
        };
        match last.kind {
            // The kernel's thunks call a place in themselves.
            RecordKind::BlockCalls => !self.symbols.name(function).starts_with(THUNK),
            // A function that calls itself returns to itself.
            _ => self.callers.last() != Some(&Some(function)),
        }
    }

    fn entered(&mut self, place: Place, name: String, mut off: Off) {
        let ns = off.ns;
        if place == Place::Interrupt && ns >= self.range.start && self.interrupt_ns.is_none() {
            self.delivery = Some(self.delivery(ns));
            self.interrupt_ns = Some(ns);
            self.earlier_off_ns = self.flags.off_ns();
        }
        if place == Place::Interrupt {
            self.flags.proven_on(ns);
            off.interrupt = Some(name.clone());
        }
        let before = self.flags.state();
        // An exception returns to code with interrupts as they were: if nobody knows how, it changes nothing.
        if place == Place::Interrupt || (place == Place::Exception && before != State::Unknown) {
            // The processor turns interrupts off as it enters the kernel.
            self.flags.entered(off);
        }
        self.levels.push(Level { place, name, callers: self.callers.len(), before });
    }

    /// Time has passed in the previous block.
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

    /// A new segment, if the block is in another place than the previous one.
    fn opened(&mut self, ns: u64, address: u64) {
        if ns >= self.range.end {
            return;
        }
        let (place, name) = match self.levels.last() {
            Some(level) => (level.place, level.name.clone()),
            None if !is_kernel(address) => (Place::User, String::new()),
            None => (Place::Kernel, String::new()),
        };
        let thread = self.thread.clone().unwrap_or_else(|| self.thread_at(ns));
        self.thread = Some(thread.clone());
        let is_same = |open: &Open| (open.place, &open.name, &open.thread) == (place, &name, &thread);
        if !self.open.as_ref().is_some_and(is_same) {
            self.close(ns);
            self.open = Some(Open { begin_ns: ns, place, name, thread, functions: BTreeMap::new() });
        }
    }

    fn close(&mut self, ns: u64) {
        let Some(open) = self.open.take() else { return };
        let begin_ns = open.begin_ns.max(self.range.start);
        let functions = self.functions_of(&open.functions);
        let Open { place, name, thread: (tid, thread), .. } = open;
        if ns > begin_ns {
            self.segments.push(Segment { begin_ns, ns: ns - begin_ns, place, name, thread, tid, functions });
        }
    }

    /// Longest first.
    fn functions_of(&self, times: &BTreeMap<Option<usize>, u64>) -> Vec<FunctionTime> {
        let name =
            |function: &Option<usize>| function.map_or_else(String::new, |number| self.symbols.name(number).to_owned());
        let mut functions: Vec<FunctionTime> =
            times.iter().map(|(function, &ns)| FunctionTime { name: name(function), ns }).collect();
        functions.sort_by_key(|function| std::cmp::Reverse(function.ns));
        functions
    }
}
