//! Time constraints: so much time from now until a deadline.

use crate::plan::{Plan, SLOT_NS};
use std::collections::BTreeMap;

/// Why a time constraint is not granted. It is said at once: nothing waits to be seen.
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
}

/// Slots that a deadline may be away.
const MAX_AHEAD: u64 = 60_000;

/// Time constraints that were granted, beside a plan.
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    /// Slots that were given away, and to which constraint.
    given: BTreeMap<u64, u32>,
    next: u32,
}

impl Constraints {
    /// Grants `estimate_ns` of CPU time between now and the deadline, both in ns since the plan's beginning, in whole slots of
    /// nobody's, the last ones first, so that those which later constraints with earlier deadlines need stay free. Gives the
    /// constraint's number.
    ///
    /// # Errors
    /// Where so much is not free. Nothing changes then.
    pub fn admit(&mut self, plan: &Plan, now_ns: u64, deadline_ns: u64, estimate_ns: u64) -> Result<u32, Refusal> {
        let (first, end) = (now_ns.div_ceil(SLOT_NS), deadline_ns / SLOT_NS);
        if deadline_ns <= now_ns || end.saturating_sub(first) > MAX_AHEAD {
            return Err(Refusal::Deadline);
        }
        let is_free = |slot: &u64| plan.owner_of(*slot) == 0 && !self.given.contains_key(slot);
        let wanted = usize::try_from(estimate_ns.div_ceil(SLOT_NS)).unwrap_or(usize::MAX);
        let slots: Vec<u64> = (first..end).rev().filter(is_free).take(wanted).collect();
        if slots.len() < wanted {
            return Err(Refusal::TooLittle { free_ns: slots.len() as u64 * SLOT_NS });
        }
        self.next += 1;
        self.given.extend(slots.into_iter().map(|slot| (slot, self.next)));
        // What is over is not looked at again.
        self.given = self.given.split_off(&(now_ns / SLOT_NS));
        Ok(self.next)
    }

    /// The constraint that a slot was given to.
    pub fn owner_of(&self, slot: u64) -> Option<u32> {
        self.given.get(&slot).copied()
    }
}
