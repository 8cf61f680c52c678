//! When injections begin and how long they last: pure, from the seed alone.

use super::Lengths;
use punctual_random::Random;

/// One injection to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Planned {
    /// Counted from 1.
    pub(crate) number: u64,
    /// From the drill's start, ns.
    pub(crate) offset_ns: u64,
    pub(crate) length_ns: u64,
}

/// The injections of one CPU, without end.
///
/// Each begins in the first quarter of its own interval, at random, so that the drill does not beat with a periodic
/// victim. With a length of at most half an interval, two never meet.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    random: Random,
    lengths: Lengths,
    every_ns: u64,
    number: u64,
}

impl Schedule {
    /// `part` tells the schedules of one drill apart.
    pub(crate) fn new(seed: u64, part: u32, lengths: Lengths, every_ns: u64) -> Schedule {
        let state = seed ^ (u64::from(part) + 1).wrapping_mul(0xd134_2543_de82_ef95);
        Schedule { random: Random(state), lengths, every_ns, number: 0 }
    }

    /// A whole number up to and with `max`.
    fn up_to(&mut self, max: u64) -> u64 {
        self.random.below(max + 1)
    }
}

impl Iterator for Schedule {
    type Item = Planned;

    fn next(&mut self) -> Option<Planned> {
        let begin = self.number * self.every_ns;
        self.number += 1;
        let offset_ns = begin + self.up_to(self.every_ns / 4);
        let length_ns = self.lengths.min_ns + self.up_to(self.lengths.max_ns - self.lengths.min_ns);
        Some(Planned { number: self.number, offset_ns, length_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn injections_keep_to_their_bounds_and_never_meet(
            seed: u64,
            part in 0u32..512,
            shortest in 10_000u64..1_000_000,
            range in 0u64..49_000_000,
            slack in 0u64..1_000_000_000,
        ) {
            let lengths = Lengths { min_ns: shortest, max_ns: shortest + range };
            let every = lengths.max_ns * 2 + slack;
            let planned: Vec<Planned> = Schedule::new(seed, part, lengths, every).take(50).collect();
            for (index, one) in planned.iter().enumerate() {
                prop_assert_eq!(one.number, index as u64 + 1);
                prop_assert!((lengths.min_ns..=lengths.max_ns).contains(&one.length_ns));
                prop_assert!(one.offset_ns / every == index as u64);
            }
            for pair in planned.windows(2) {
                prop_assert!(pair[0].offset_ns + pair[0].length_ns < pair[1].offset_ns);
            }
            let again: Vec<Planned> = Schedule::new(seed, part, lengths, every).take(50).collect();
            prop_assert_eq!(planned, again);
        }

        #[test]
        fn cpus_have_schedules_of_their_own(seed: u64) {
            let lengths = Lengths { min_ns: 200_000, max_ns: 5_000_000 };
            let first = |part| Schedule::new(seed, part, lengths, 100_000_000).next();
            prop_assert_ne!(first(0), first(1));
        }
    }

    #[test]
    fn lengths_and_starts_spread_over_their_ranges() {
        let lengths = Lengths { min_ns: 1_000_000, max_ns: 2_000_000 };
        let planned: Vec<Planned> = Schedule::new(7, 0, lengths, 100_000_000).take(4000).collect();
        let mean = planned.iter().map(|one| one.length_ns).sum::<u64>() / 4000;
        assert!((1_480_000..1_520_000).contains(&mean), "{mean}");
        // The phase against a grid of 1 ms.
        let late = planned.iter().filter(|one| one.offset_ns % 1_000_000 >= 500_000).count();
        assert!((1850..2150).contains(&late), "{late}");
    }
}
