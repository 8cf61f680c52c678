//! Time constraints: so much time from now until a deadline.

use crate::plan::{Plan, SLOT_NS};
use std::collections::BTreeMap;

/// What a slot counts for, ns: the clock is a little late at its edges, and interrupts take some of it.
pub const SERVED_NS: u64 = 800_000;

/// Why a time constraint is not granted. That is said at once: nobody waits to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Reservations and earlier constraints leave less.
    #[error("only {free_ns} ns are free until its deadline")]
    TooLittle {
        /// What is left, ns.
        free_ns: u64,
    },
    /// The deadline is too far away, or has passed.
    #[error("a deadline must lie between now and {} ms from now", MAX_AHEAD)]
    Deadline,
    /// No more are served.
    #[error("{MAX_CONSTRAINTS} time constraints are under way, and no more are served at a time")]
    TooMany,
}

/// How many slots away a deadline may be.
const MAX_AHEAD: u64 = 4_096;
/// How many there may be at a time.
pub const MAX_CONSTRAINTS: usize = 4;

/// Time constraints that were granted, beside a plan.
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    /// Slots that were given away, and to which constraint.
    given: BTreeMap<u64, u32>,
    /// The slot at which each constraint's time is over.
    ends: BTreeMap<u32, u64>,
    next: u32,
}

impl Constraints {
    /// Grants `estimate_ns` of CPU time between now and the deadline, both in ns since the plan's beginning, in whole
    /// slots that belong to nobody, the last ones first, so that those that later constraints with earlier deadlines
    /// need stay free. Each slot counts for [`SERVED_NS`]. Returns the constraint's number.
    ///
    /// # Errors
    /// If that much is not free. Nothing changes then.
    pub fn admit(&mut self, plan: &Plan, now_ns: u64, deadline_ns: u64, estimate_ns: u64) -> Result<u32, Refusal> {
        let (first, end) = (now_ns.div_ceil(SLOT_NS), deadline_ns / SLOT_NS);
        if deadline_ns <= now_ns || end.saturating_sub(first) > MAX_AHEAD {
            return Err(Refusal::Deadline);
        }
        let wanted = usize::try_from(estimate_ns.div_ceil(SERVED_NS)).unwrap_or(usize::MAX);
        let slots = self.free(plan, first, end, wanted);
        if slots.len() < wanted {
            return Err(Refusal::TooLittle { free_ns: slots.len() as u64 * SERVED_NS });
        }
        self.next += 1;
        self.given.extend(slots.into_iter().map(|slot| (slot, self.next)));
        self.ends.insert(self.next, end);
        // What is over is not considered again.
        self.given = self.given.split_off(&(now_ns / SLOT_NS));
        Ok(self.next)
    }

    /// Slots that belong to nobody, the last ones, at most this many.
    fn free(&self, plan: &Plan, first: u64, end: u64, wanted: usize) -> Vec<u64> {
        let is_free = |slot: &u64| plan.owner_of(*slot) == 0 && !self.given.contains_key(slot);
        (first..end).rev().filter(is_free).take(wanted).collect()
    }

    /// A constraint has had what it wanted, or does not want it any more: what is left of its slots belongs to nobody again.
    pub fn end(&mut self, number: u32) {
        self.given.retain(|_, owner| *owner != number);
        self.ends.remove(&number);
    }

    /// The same constraints, each with as many slots as it still has, beside another plan from now on. `None` if one of
    /// them could not meet its deadline.
    pub fn beside(&self, plan: &Plan, now_ns: u64) -> Option<Constraints> {
        // The current slot keeps its owner.
        let now = now_ns / SLOT_NS;
        let mut moved = Constraints { next: self.next, ..Constraints::default() };
        moved.given.extend(self.given.get(&now).map(|owner| (now, *owner)));
        let mut ends: Vec<(u64, u32)> = self.ends.iter().map(|(number, end)| (*end, *number)).collect();
        ends.sort_unstable();
        for (end, number) in ends {
            let wanted = self.given.range(now + 1..).filter(|(_, owner)| **owner == number).count();
            let slots = moved.free(plan, now + 1, end, wanted);
            if slots.len() < wanted {
                return None;
            }
            moved.given.extend(slots.into_iter().map(|slot| (slot, number)));
            moved.ends.insert(number, end);
        }
        Some(moved)
    }

    /// The constraint that a slot was given to.
    pub fn owner_of(&self, slot: u64) -> Option<u32> {
        self.given.get(&slot).copied()
    }

    /// The slot after the last that was given away.
    pub(crate) fn end_of_all(&self) -> u64 {
        self.given.last_key_value().map_or(0, |(slot, _)| slot + 1)
    }
}
