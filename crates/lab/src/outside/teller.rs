//! Follows blocks of instructions from one to the next: who has the CPU, in what, and whether interrupts are on.

use super::clock::Clock;
use super::story::{Delivery, FunctionTime, Place, Segment, Story, Switches};
use super::symbols::Symbols;
use super::trace::{Record, RecordKind};
use std::collections::BTreeMap;
use std::ops::Range;

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

pub(super) struct Teller<'a> {
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
    pub(super) fn new(clock: &'a Clock, symbols: &'a Symbols, switches: &'a Switches, range: Range<u64>) -> Teller<'a> {
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

    /// What was told: with the end of it if all that ran was written down.
    pub(super) fn story(mut self, is_whole: bool) -> Story {
        let last_ns = self.last.as_ref().map_or(0, |last| self.clock.ns_at(last.count));
        let Range { start, end } = self.range;
        self.until(end);
        let otherwise = self.interrupt_ns.map_or(Delivery::NotSeen, |_| Delivery::AtOnce);
        Story {
            functions: self.functions_of(&self.all),
            delivery: self.delivery.take().unwrap_or(otherwise),
            interrupt_ns: self.interrupt_ns,
            instructions: self.clock.count_at(end).saturating_sub(self.clock.count_at(start)),
            segments: self.segments,
            is_cut: !is_whole && last_ns < end,
        }
    }

    /// The next of what happened.
    pub(super) fn take(&mut self, record: Record) {
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
        let functions = self.functions_of(&open.functions);
        let Open { place, name, thread, .. } = open;
        if ns > begin_ns {
            self.segments.push(Segment { begin_ns, ns: ns - begin_ns, place, name, thread, functions });
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
