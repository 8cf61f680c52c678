//! How long inputs were waited for, also those that a program took together with later ones.

use crate::interactions::interaction::Interaction;

/// How long each of these inputs, by their numbers, was waited for, ns: one that was taken together with a later one
/// until that one was seen.
pub fn waits_ns(inputs: &[Interaction]) -> Vec<Option<u64>> {
    let mut ends: Vec<Option<u64>> = inputs.iter().map(|input| input.seen_ns).collect();
    // The later one may itself be one of those.
    for (at, input) in inputs.iter().enumerate().rev() {
        let place = |number: u32| inputs.binary_search_by_key(&number, |one| one.number).ok();
        if let Some(later) = input.merged_into.and_then(place) {
            ends[at] = ends[later];
        }
    }
    inputs.iter().zip(ends).map(|(input, end_ns)| Some(end_ns?.saturating_sub(input.begin_ns))).collect()
}

/// For how long something that begins and takes so long, ns, was under way: what overlaps counts once.
pub fn under_way_ns(waits: impl IntoIterator<Item = (u64, u64)>) -> u64 {
    let mut waits: Vec<(u64, u64)> = waits.into_iter().collect();
    waits.sort_unstable();
    let (mut reached_ns, mut sum_ns) = (0, 0_u64);
    for (begin_ns, lasts_ns) in waits {
        let end_ns = begin_ns.saturating_add(lasts_ns);
        sum_ns = sum_ns.saturating_add(end_ns.saturating_sub(begin_ns.max(reached_ns)));
        reached_ns = reached_ns.max(end_ns);
    }
    sum_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn input(number: u32, begin_ns: u64, seen_ns: Option<u64>, merged_into: Option<u32>) -> Interaction {
        Interaction { number, begin_ns, seen_ns, merged_into, ..Interaction::default() }
    }

    #[test]
    fn what_is_taken_with_a_later_one_waits_until_that_is_seen() {
        let inputs = [
            input(3, 100, None, Some(4)),
            input(4, 200, None, Some(7)),
            input(5, 250, Some(260), None),
            input(6, 270, None, None),
            input(7, 300, Some(450), None),
            // A later one that is not there.
            input(8, 500, None, Some(99)),
        ];
        assert_eq!(waits_ns(&inputs), [Some(350), Some(250), Some(10), None, Some(150), None]);
        assert_eq!(waits_ns(&[]), []);
    }

    #[test]
    fn what_overlaps_counts_once() {
        assert_eq!(under_way_ns([(100, 350), (200, 250), (250, 10), (300, 150), (500, 20)]), 350 + 20);
        assert_eq!(under_way_ns([]), 0);
    }

    proptest! {
        /// Not longer than all of them together, nor shorter than the longest, and exact nanosecond by nanosecond.
        #[test]
        fn under_way_is_the_time_in_which_any_was(waits in prop::collection::vec((0..60u64, 0..30u64), 0..12)) {
            let counted = (0..100).filter(|at| waits.iter().any(|(begin, lasts)| (*begin..begin + lasts).contains(at)));
            prop_assert_eq!(under_way_ns(waits.iter().copied()), counted.count() as u64);
        }
    }
}
