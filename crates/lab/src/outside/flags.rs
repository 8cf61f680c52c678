//! Whether interrupts are on, as far as the instructions that ran tell.
//!
//! Which flags `popf` or `iret` restores is not logged. That they are on is proven by `sti`, by an interrupt that comes
//! and by a program's own code. That they were still off is proven by an interrupt that was due and came only later.

use std::ops::Range;

/// An interrupt that waited for interrupts to be turned on comes within this time, ns.
const AT_ONCE_NS: u64 = 200;

/// More changes than these are not kept since interrupts were last known to be on.
const MAX_CHANGES: usize = 4_096;

/// Interrupts are turned off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Off {
    pub(super) ns: u64,
    pub(super) function: Option<usize>,
    pub(super) caller: Option<usize>,
    /// The interrupt that is being served, if the processor turned them off for one.
    pub(super) interrupt: Option<String>,
}

/// Interrupts are turned on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct On {
    pub(super) ns: u64,
    pub(super) function: Option<usize>,
}

/// What is known about interrupts at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: the log has just begun, or flags were restored to a value that nobody saw.
    Unknown,
    /// They are on.
    On,
    /// They are off; and how many more times they were turned off since, each of which restores them as they were.
    Off { nested: u32 },
}

#[derive(Debug)]
enum Change {
    Off(Off),
    /// The flags were restored, to on or off.
    Restored(On),
    /// Certainly on.
    On {
        on: On,
        count: u64,
        before: State,
    },
}

/// What kept an interrupt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Nothing turned interrupts on between due and the interrupt: they were on all the time.
    No,
    /// They were off.
    Off { off: Off, on: On },
    /// They were off already at this time, and nothing shows who had turned them off.
    OffBefore { since_ns: u64, on: On },
    /// The last turning-on, where one was seen, did not let the interrupt in.
    NotKnown { on: Option<On> },
}

/// Follows what turns interrupts off and on.
#[derive(Debug)]
pub(super) struct Flags {
    state: State,
    // Without those before interrupts were last known to be on.
    changes: Vec<Change>,
    // The last time that flags were restored with interrupts turned off more than once before.
    restored_within: Option<On>,
    // When the log, or what is kept of it, begins.
    began_ns: Option<u64>,
}

impl Flags {
    pub(super) fn new() -> Flags {
        Flags { state: State::Unknown, changes: Vec::new(), restored_within: None, began_ns: None }
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Something ran at this time.
    pub(super) fn seen(&mut self, ns: u64) {
        self.began_ns.get_or_insert(ns);
    }

    /// `cli` turned interrupts off, at this count.
    pub(super) fn off(&mut self, count: u64, off: Off) {
        // After `sti` one more instruction runs before an interrupt can come. If that is `cli`, they were never on.
        if self.state == State::On
            && let Some(Change::On { count: on_count, before, .. }) = self.changes.last()
            && *before != State::On
            && count.saturating_sub(*on_count) <= 1
        {
            self.state = match *before {
                State::Off { nested } => State::Off { nested },
                _ => State::Off { nested: 0 },
            };
            self.changes.pop();
            return;
        }
        self.entered(off);
    }

    /// Interrupts are off: the processor turns them off when the kernel is entered, too.
    pub(super) fn entered(&mut self, off: Off) {
        if let State::Off { nested } = &mut self.state {
            *nested = nested.saturating_add(1);
            return;
        }
        if let Some(last_on) = self.changes.iter().rposition(|change| matches!(change, Change::On { .. })) {
            self.changes.drain(..last_on);
        }
        self.push(Change::Off(off));
        self.state = State::Off { nested: 0 };
    }

    /// Interrupts are certainly on, by the instruction with this count.
    pub(super) fn on(&mut self, count: u64, on: On) {
        if self.state != State::On {
            self.push(Change::On { on, count, before: self.state });
            self.state = State::On;
        }
    }

    /// The flags were restored: as they were before interrupts were turned off again, or else nobody knows how.
    pub(super) fn restored(&mut self, on: On) {
        match &mut self.state {
            State::Off { nested } if *nested > 0 => {
                *nested -= 1;
                self.restored_within = Some(on);
            }
            // Those of code with interrupts off turn them off again.
            _ => {
                self.push(Change::Restored(on));
                self.state = State::Unknown;
            }
        }
    }

    /// An exception returns to what it interrupted, where this was known.
    pub(super) fn returned(&mut self, before: State, at: On) {
        match (before, self.state) {
            (State::On, _) => self.on(0, at),
            (State::Off { .. }, State::Off { .. }) => self.state = before,
            (State::Off { .. }, _) => {
                let off = Off { ns: at.ns, function: at.function, caller: None, interrupt: None };
                self.entered(off);
                self.state = before;
            }
            (State::Unknown, _) => {
                self.push(Change::Restored(at));
                self.state = State::Unknown;
            }
        }
    }

    /// What happens now shows that interrupts are on: whatever restored the flags last had turned them on.
    pub(super) fn proven_on(&mut self, ns: u64) {
        if self.state == State::On {
            return;
        }
        let restored = match self.changes.last() {
            Some(Change::Restored(on)) => Some(*on),
            _ => None,
        };
        if restored.is_some() {
            self.changes.pop();
        }
        let on = restored.unwrap_or(On { ns, function: None });
        // No `sti`, so none of the instructions after it is in its shadow.
        self.push(Change::On { on, count: 0, before: State::On });
        self.state = State::On;
    }

    fn push(&mut self, change: Change) {
        if self.changes.len() >= MAX_CHANGES {
            self.changes.drain(..MAX_CHANGES / 2);
            self.began_ns = self.changes.first().map(Change::ns).or(self.began_ns);
        }
        self.changes.push(change);
    }

    /// What kept an interrupt that was due at one time until it came at another.
    pub(super) fn kept(&self, due_to_now: Range<u64>) -> Kept {
        let Range { start: due_ns, end: ns } = due_to_now;
        let (last, earlier) = match self.changes.split_last() {
            None => return Kept::No,
            // It came all the same. Kernels restore flags by a jump around `sti` where they were off, so fewer `popf` may
            // be seen than `cli`: the last one turned them on, or something that was not seen.
            Some((Change::Off(off), _)) => {
                let at_once = |on: &On| on.ns > due_ns.max(off.ns) && ns.saturating_sub(on.ns) <= AT_ONCE_NS;
                let restored = self.restored_within.filter(at_once);
                return restored.map_or(Kept::NotKnown { on: None }, |on| self.since(&self.changes, due_ns, on));
            }
            Some((Change::Restored(on) | Change::On { on, .. }, earlier)) => (*on, earlier),
        };
        if last.ns <= due_ns {
            Kept::No
        } else if ns.saturating_sub(last.ns) <= AT_ONCE_NS {
            self.since(earlier, due_ns, last)
        } else {
            Kept::NotKnown { on: Some(last) }
        }
    }

    /// Since when interrupts had been off that were turned on after the interrupt was due.
    fn since(&self, earlier: &[Change], due_ns: u64, on: On) -> Kept {
        let mut first: Option<&Off> = None;
        let mut restored_to_off = None;
        let mut is_begin_seen = false;
        for change in earlier.iter().rev() {
            match change {
                Change::Off(off) => first = Some(off),
                // The interrupt was due and did not come, or nothing turned them off afterwards: they stayed off.
                Change::Restored(restored) if restored.ns > due_ns || first.is_none() => {
                    restored_to_off = Some(*restored);
                }
                // Where interrupts are turned off next, they are taken to have been restored to on.
                Change::Restored(_) => {
                    is_begin_seen = restored_to_off.is_none();
                    break;
                }
                Change::On { .. } => {
                    let by_flags = |On { ns, function }| Off { ns, function, caller: None, interrupt: None };
                    let off = first.cloned().or(restored_to_off.map(by_flags));
                    return off.map_or(Kept::No, |off| Kept::Off { off, on });
                }
            }
        }
        match first {
            Some(off) if is_begin_seen => Kept::Off { off: off.clone(), on },
            // Nothing shows that they were on before it.
            Some(off) => Kept::OffBefore { since_ns: off.ns, on },
            None => Kept::OffBefore { since_ns: self.began_ns.unwrap_or(on.ns), on },
        }
    }
}

impl Change {
    fn ns(&self) -> u64 {
        match self {
            Change::Off(off) => off.ns,
            Change::Restored(on) | Change::On { on, .. } => on.ns,
        }
    }
}
