//! Whose the CPU's time is, while reservations and time constraints come and go.

use crate::constraint::{Constraints, MAX_CONSTRAINTS, Refusal};
use crate::plan::{MAX_RESERVATIONS, Plan, PlanError, SLOT_NS, Share};

/// What is promised of a CPU's time: each change computes a new one, and the previous one holds until then.
#[derive(Debug, Clone, Default)]
pub struct Table {
    shares: [Option<Share>; MAX_RESERVATIONS],
    plan: Plan,
    constraints: Constraints,
    /// The number by which [`Constraints`] knows each current constraint.
    places: [Option<u32>; MAX_CONSTRAINTS],
}

/// A reservation that was granted.
#[derive(Debug, Clone)]
pub struct Granted {
    /// What holds from now on.
    pub table: Table,
    /// Its number, from 1 on.
    pub number: u8,
    /// Whether others got different slots.
    pub has_moved_others: bool,
}

impl Table {
    /// Grants one more reservation; time constraints that were granted keep their deadlines.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn reserve(&self, share: Share, now_ns: u64) -> Result<Granted, PlanError> {
        let index = self.shares.iter().position(Option::is_none).ok_or(PlanError::TooMany)?;
        let mut table = self.clone();
        table.shares[index] = Some(share);
        table.plan = self.plan.changed(&table.shares)?;
        table.constraints = self.constraints.beside(&table.plan, now_ns).ok_or(PlanError::Promised)?;
        let number = index as u8 + 1;
        let has_moved_others = !table.plan.keeps(&self.plan);
        Ok(Granted { table, number, has_moved_others })
    }

    /// A reservation is given back; the others keep their slots.
    #[must_use]
    pub fn release(&self, number: u8) -> Table {
        let mut table = self.clone();
        if let Some(share) = usize::from(number).checked_sub(1).and_then(|index| table.shares.get_mut(index)) {
            *share = None;
        }
        table.plan = self.plan.changed(&table.shares).unwrap_or_default();
        table
    }

    /// Grants `estimate_ns` of CPU time until `deadline_ns`, from slots that belong to nobody. Returns what holds from
    /// now on, and the constraint's number: these follow those of reservations.
    ///
    /// # Errors
    /// If that much is not free, or too many are current.
    pub fn constrain(&self, now_ns: u64, deadline_ns: u64, estimate_ns: u64) -> Result<(Table, u8), Refusal> {
        let place = self.places.iter().position(Option::is_none).ok_or(Refusal::TooMany)?;
        let mut table = self.clone();
        table.places[place] = Some(table.constraints.admit(&self.plan, now_ns, deadline_ns, estimate_ns)?);
        Ok((table, (MAX_RESERVATIONS + place + 1) as u8))
    }

    /// A constraint is over.
    #[must_use]
    pub fn end(&self, number: u8) -> Table {
        let mut table = self.clone();
        let place = usize::from(number).checked_sub(MAX_RESERVATIONS + 1);
        if let Some(known) = place.and_then(|place| table.places.get_mut(place)).and_then(Option::take) {
            table.constraints.end(known);
        }
        table
    }

    /// Whose the time is, in ns since the beginning: the number of a reservation or a constraint, 0 for nobody's.
    pub fn owner_at(&self, at_ns: u64) -> u8 {
        self.owner_of(at_ns / SLOT_NS)
    }

    fn owner_of(&self, slot: u64) -> u8 {
        let Some(known) = self.constraints.owner_of(slot) else { return self.plan.owner_of(slot) };
        let place = self.places.iter().position(|place| *place == Some(known));
        place.map_or(0, |place| (MAX_RESERVATIONS + place + 1) as u8)
    }

    /// When the time becomes somebody else's; `None` if it never does.
    pub fn next_edge(&self, at_ns: u64) -> Option<u64> {
        let slot = at_ns / SLOT_NS;
        let end = self.constraints.end_of_all().max(slot + 1) + self.plan.length();
        let next = (slot + 1..=end).find(|next| self.owner_of(*next) != self.owner_of(slot));
        next.map(|next| next * SLOT_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Form;

    fn share(budget: u64, period: u64) -> Share {
        Share { budget_ns: budget * SLOT_NS, period_ns: period * SLOT_NS, form: Form::Hard }
    }

    fn slots_of(table: &Table, number: u8) -> Vec<u64> {
        (0..64).filter(|slot| table.owner_of(*slot) == number).collect()
    }

    #[test]
    fn those_that_stay_keep_their_slots_while_others_come_and_go() {
        let first = Table::default().reserve(share(2, 16), 0).unwrap();
        let before = slots_of(&first.table, 1);
        // If all were given anew, a shorter period would come first.
        let second = first.table.reserve(share(1, 4), 5).unwrap();
        assert_eq!((second.number, second.has_moved_others), (2, false));
        assert_eq!(slots_of(&second.table, 1), before);
        let third = second.table.release(1).reserve(share(3, 8), 9).unwrap();
        assert_eq!((third.number, slots_of(&third.table, 2)), (1, slots_of(&second.table, 2)));
        assert_eq!(slots_of(&third.table, 1).len(), 24);
        // 1/2 fits only if 2/16 moves: 0 and 1 lie in both halves.
        let moved = first.table.reserve(share(1, 2), 0).unwrap();
        assert!(
            moved.has_moved_others && slots_of(&moved.table, 2).len() == 32 && slots_of(&moved.table, 1).len() == 8
        );
        let full = second.table.reserve(share(8, 8), 0).unwrap_err();
        assert_eq!(full, PlanError::Full(3));
    }

    #[test]
    fn a_reservation_takes_no_slot_that_was_promised() {
        let (table, number) = Table::default().constrain(0, 20 * SLOT_NS, 8_000_000).unwrap();
        assert_eq!((number, slots_of(&table, 5)), (5, (10..20).collect()));
        assert_eq!(table.next_edge(0), Some(10 * SLOT_NS));
        assert_eq!(table.next_edge(15 * SLOT_NS), Some(20 * SLOT_NS));
        // Half of all slots are gone, so it gets all others before its deadline.
        let half = table.reserve(share(1, 2), 0).unwrap().table;
        assert_eq!(slots_of(&half, 5), (0..10).map(|slot| 2 * slot + 1).collect::<Vec<u64>>());
        assert_eq!(half.reserve(share(1, 4), 0).unwrap_err(), PlanError::Promised);
        let after = half.end(5);
        assert!(slots_of(&after, 5).is_empty() && after.reserve(share(1, 4), 0).is_ok());
        let refused = half.constrain(0, 20 * SLOT_NS, 1).unwrap_err();
        assert_eq!(refused, Refusal::TooLittle { free_ns: 0 });
        let mut full = Table::default();
        for _ in 0..MAX_CONSTRAINTS {
            full = full.constrain(0, 100 * SLOT_NS, 1).unwrap().0;
        }
        assert_eq!(full.constrain(0, 100 * SLOT_NS, 1).unwrap_err(), Refusal::TooMany);
    }
}
