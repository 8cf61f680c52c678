//! Whether interrupts are on, as far as the instructions that ran tell.
//!
//! Which flags `popf` or `iret` restores is not logged. That they are on is proven by `sti`, by an interrupt that comes
//! and by a program's own code. That they were still off is proven by an interrupt that was due and came only later.
//! Whoever turned them off did so before it was due and after they were last known to be on; where flags were restored in
//! between, nobody is named.

use std::ops::Range;

/// An interrupt that waited for interrupts to be turned on comes within this time, ns.
const AT_ONCE_NS: u64 = 200;

/// With interrupts on, one that is due comes within this time, ns: whatever turns them off later cannot have kept it.
const ARRIVES_NS: u64 = 1_000;

/// One that comes so much later than interrupts were turned on did not wait for that, ns.
const MUCH_LATER_NS: u64 = 20_000;

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
    /// Something else than interrupts that were off: they were on, and it did not come.
    Otherwise {
        /// Whether they were on when it was due, or else for most of the time until it came.
        is_on_when_due: bool,
        /// They were off in the end, from when to when.
        off: Option<(Off, On)>,
    },
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
    // Since when they are off by `cli`, with nothing since that might have turned them on.
    off_since: Option<u64>,
    // Times are summed up within this stretch, ns.
    within: Range<u64>,
    off_ns: u64,
}

impl Flags {
    /// Sums up within this stretch, ns.
    pub(super) fn new(within: Range<u64>) -> Flags {
        Flags {
            state: State::Unknown,
            changes: Vec::new(),
            restored_within: None,
            began_ns: None,
            off_since: None,
            within,
            off_ns: 0,
        }
    }

    /// For how long interrupts were certainly off so far, from `cli` to `sti`, without those being served.
    pub(super) fn off_ns(&self) -> u64 {
        self.off_ns
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
            self.off_since = Some(off.ns);
            return;
        }
        if !matches!(self.state, State::Off { .. }) {
            self.off_since = Some(off.ns);
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
        if let Some(since) = self.off_since.take() {
            let until = on.ns.min(self.within.end);
            self.off_ns += until.saturating_sub(since.max(self.within.start));
        }
        if self.state != State::On {
            self.push(Change::On { on, count, before: self.state });
            self.state = State::On;
        }
    }

    /// The flags were restored: as they were before interrupts were turned off again, or else nobody knows how.
    pub(super) fn restored(&mut self, on: On) {
        self.off_since = None;
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
        self.off_since = None;
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
        self.off_since = None;
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
        } else if ns.saturating_sub(last.ns) >= MUCH_LATER_NS.max((ns - due_ns) / 2) {
            Kept::Otherwise { is_on_when_due: false, off: None }
        } else {
            Kept::NotKnown { on: Some(last) }
        }
    }

    /// Since when interrupts had been off that were turned on after the interrupt was due.
    fn since(&self, earlier: &[Change], due_ns: u64, on: On) -> Kept {
        let limit_ns = due_ns.saturating_add(ARRIVES_NS);
        // They were off from here on whatever the flags were that were restored before.
        let certain = match earlier.last() {
            Some(Change::Off(off)) => Some(off),
            _ => None,
        };
        let mut begin: Option<Off> = None;
        for change in earlier.iter().rev() {
            match (change, &begin) {
                (Change::Off(off), _) => begin = Some(off.clone()),
                (Change::Restored(restored), Some(later)) if restored.ns <= limit_ns => {
                    // On or off until they were turned off once more, by `later`: who had turned them off is not known.
                    return if later.ns <= limit_ns {
                        Kept::OffBefore { since_ns: later.ns, on }
                    } else {
                        for_most(certain, due_ns, on)
                    };
                }
                // The interrupt was due and did not come, or nothing turned them off afterwards: they stayed off.
                (Change::Restored(On { ns, function }), _) => {
                    begin = Some(Off { ns: *ns, function: *function, caller: None, interrupt: None });
                }
                (Change::On { .. }, None) => return Kept::No,
                (Change::On { .. }, Some(off)) if off.ns <= limit_ns => return Kept::Off { off: off.clone(), on },
                // It had time to come before that.
                (Change::On { on: was_on, .. }, Some(_)) => {
                    let is_on_when_due = was_on.ns <= limit_ns;
                    return match certain {
                        None if !is_on_when_due => Kept::NotKnown { on: None },
                        _ => Kept::Otherwise { is_on_when_due, off: certain.map(|off| (off.clone(), on)) },
                    };
                }
            }
        }
        // Nothing shows that they were on before it.
        match begin {
            Some(off) if off.ns > limit_ns => for_most(certain, due_ns, on),
            Some(off) => Kept::OffBefore { since_ns: off.ns, on },
            None => Kept::OffBefore { since_ns: self.began_ns.unwrap_or(on.ns), on },
        }
    }
}

/// They were certainly off from here on, but nothing shows whether they were when the interrupt was due.
fn for_most(certain: Option<&Off>, due_ns: u64, on: On) -> Kept {
    match certain {
        Some(off) if on.ns.saturating_sub(off.ns) >= on.ns.saturating_sub(due_ns) / 2 => {
            Kept::OffBefore { since_ns: off.ns, on }
        }
        _ => Kept::NotKnown { on: None },
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
