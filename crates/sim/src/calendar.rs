//! What happens next: a tournament over a fixed number of slots, one for each thing that can happen.

use crate::time::{NEVER, Picoseconds};

/// The next time of each slot, and the earliest of all. At equal times the lower slot wins, so order is fixed.
///
/// Setting a slot costs one comparison for each doubling of the number of slots and allocates nothing.
#[derive(Debug, Clone)]
pub(crate) struct Calendar {
    /// A complete binary tree of times: the root at 1, leaves from `leaves` on.
    tree: Vec<Picoseconds>,
    leaves: usize,
}

impl Calendar {
    /// A calendar in which nothing ever happens.
    pub(crate) fn new(slots: usize) -> Calendar {
        let leaves = slots.next_power_of_two().max(2);
        Calendar { tree: vec![NEVER; 2 * leaves], leaves }
    }

    /// Sets the time at which a slot is due; [`NEVER`] for not at all.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, time: Picoseconds) {
        let mut at = self.leaves + slot;
        if self.tree[at] == time {
            return;
        }
        self.tree[at] = time;
        while at > 1 {
            at /= 2;
            let least = self.tree[2 * at].min(self.tree[2 * at + 1]);
            if self.tree[at] == least {
                break;
            }
            self.tree[at] = least;
        }
    }

    /// When a slot is due; [`NEVER`] for not at all.
    #[inline]
    pub(crate) fn at(&self, slot: usize) -> Picoseconds {
        self.tree[self.leaves + slot]
    }

    /// The earliest time of all.
    #[inline]
    pub(crate) fn earliest(&self) -> Picoseconds {
        self.tree[1]
    }

    /// The slot that is due earliest; the lowest of those due at the same time.
    #[inline]
    pub(crate) fn earliest_slot(&self) -> usize {
        let time = self.tree[1];
        let mut at = 1;
        while at < self.leaves {
            at = 2 * at + usize::from(self.tree[2 * at] != time);
        }
        at - self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_plain_search(slots in 1..40usize, changes in prop::collection::vec((0..40usize, 0..30u64), 1..200)) {
            let mut calendar = Calendar::new(slots);
            let mut plain = vec![NEVER; slots];
            for (slot, time) in changes {
                let slot = slot % slots;
                let time = if time == 0 { NEVER } else { time };
                calendar.set(slot, time);
                plain[slot] = time;
                let least = *plain.iter().min().unwrap();
                prop_assert_eq!(calendar.earliest(), least);
                if least != NEVER {
                    prop_assert_eq!(calendar.earliest_slot(), plain.iter().position(|&t| t == least).unwrap());
                }
            }
        }
    }
}
