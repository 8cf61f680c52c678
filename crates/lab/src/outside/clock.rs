//! The guest's clock in relation to its instruction count.
//!
//! An instruction takes a whole number of nanoseconds, so as long as the guest does not idle its clock is the count
//! times that, plus an offset. The offset follows from the times that the guest wrote down: each is a reading of its
//! clock, and it is known at which instructions the clock was read. Only one offset puts dozens of times on such
//! instructions, each to within a few nanoseconds.

/// How closely times and instructions must match, ns: the plugin counts an instruction twice if a page fault
/// interrupted it, and the guest rounds its clock.
const TOLERANCE_NS: i64 = 16;
/// This many of the times decide; the others confirm it.
const MAX_DECIDING: usize = 48;
/// How many of them may not be readings of the clock.
const MAX_ODD: u32 = 3;
/// With fewer times they might match somewhere by chance.
const MIN_FOUND: usize = 6;

/// When an instruction ran, by the guest's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    instruction_ns: u64,
    // From this count on the clock is ahead by this much, ns.
    anchors: Vec<(u64, i64)>,
    /// How many of the guest's times are readings of its clock at known instructions.
    pub found: usize,
    /// Out of this many.
    pub of: usize,
}

impl Clock {
    /// From times that the guest wrote down, ns, and the counts at which its clock was read, both in order; `None` if
    /// the times fit in no place or in more than one. They must come from a stretch in which the guest did not idle.
    #[must_use]
    pub fn align(times_ns: &[u64], reads: &[u64], instruction_ns: u64) -> Option<Clock> {
        let signed = |count: u64| count.saturating_mul(instruction_ns).cast_signed();
        let reads_ns: Vec<i64> = reads.iter().map(|count| signed(*count)).collect();
        let times: Vec<i64> = times_ns.iter().map(|time| time.cast_signed()).collect();
        let first = *times.first()?;
        let mut candidates: Vec<Candidate> =
            reads_ns.iter().map(|read| Candidate { ahead_ns: first - read, odd: 0 }).collect();
        for time in times.iter().take(MAX_DECIDING).skip(1) {
            candidates.retain_mut(|candidate| candidate.goes_on(*time, &reads_ns));
        }
        // Two that began at neighbouring reads may have become one.
        candidates.sort_by_key(|candidate| (candidate.odd, candidate.ahead_ns));
        candidates.dedup_by(|a, b| (a.ahead_ns - b.ahead_ns).abs() <= TOLERANCE_NS);
        let [best, rest @ ..] = candidates.as_slice() else { return None };
        if rest.iter().any(|other| other.odd <= best.odd) {
            return None;
        }
        let clock = Clock::through(&times, &reads_ns, best.ahead_ns, instruction_ns);
        (clock.found >= MIN_FOUND.max(times.len() / 2)).then_some(clock)
    }

    /// Follows an offset through all times; it changes a little on the way.
    fn through(times: &[i64], reads_ns: &[i64], ahead_ns: i64, instruction_ns: u64) -> Clock {
        let mut clock = Clock { instruction_ns, anchors: Vec::new(), found: 0, of: times.len() };
        // It was found at the last of those that decided: first backwards from there, then forwards.
        let middle = times.len().min(MAX_DECIDING);
        let follow = |times: &mut dyn Iterator<Item = &i64>, clock: &mut Clock| {
            let mut ahead_ns = ahead_ns;
            for time in times {
                if let Some(read) = nearest(reads_ns, time - ahead_ns) {
                    ahead_ns = time - read;
                    let count = read.cast_unsigned() / instruction_ns.max(1);
                    clock.anchors.push((count, ahead_ns));
                    clock.found += 1;
                }
            }
        };
        follow(&mut times[..middle].iter().rev(), &mut clock);
        follow(&mut times[middle..].iter(), &mut clock);
        clock.anchors.sort_unstable();
        clock
    }

    /// The time of an instruction, ns of the guest's clock.
    #[must_use]
    pub fn ns_at(&self, count: u64) -> u64 {
        let after = self.anchors.partition_point(|(anchor, _)| *anchor <= count);
        let (_, ahead_ns) = self.anchors.get(after.saturating_sub(1)).copied().unwrap_or_default();
        count.saturating_mul(self.instruction_ns).saturating_add_signed(ahead_ns)
    }

    /// The instruction of a time.
    #[must_use]
    pub fn count_at(&self, ns: u64) -> u64 {
        let (_, ahead_ns) = self.anchors.first().copied().unwrap_or_default();
        ns.saturating_add_signed(-ahead_ns) / self.instruction_ns.max(1)
    }
}

struct Candidate {
    ahead_ns: i64,
    odd: u32,
}

impl Candidate {
    fn goes_on(&mut self, time: i64, reads_ns: &[i64]) -> bool {
        match nearest(reads_ns, time - self.ahead_ns) {
            Some(read) => self.ahead_ns = time - read,
            None => self.odd += 1,
        }
        self.odd <= MAX_ODD
    }
}

/// The reading nearest to a place, if it is close.
fn nearest(reads_ns: &[i64], wanted: i64) -> Option<i64> {
    let after = reads_ns.partition_point(|read| *read < wanted);
    let around = reads_ns.get(after.saturating_sub(1)..(after + 1).min(reads_ns.len())).unwrap_or_default();
    around.iter().copied().min_by_key(|read| (read - wanted).abs()).filter(|read| (read - wanted).abs() <= TOLERANCE_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However far the clock was ahead, and with instructions that were counted twice on the way, the place is found.
        #[test]
        fn times_are_put_on_their_instructions(
            gaps in prop::collection::vec(40_u64..20_000, 400..600),
            ahead in 0_u64..1_000_000_000,
            place in 50_usize..200,
            step in 1_usize..3,
        ) {
            let reads: Vec<u64> = gaps.iter().scan(1_000_000, |count, gap| { *count += gap; Some(*count) }).collect();
            let chosen: Vec<usize> = (0..60).map(|number| place + number * step).filter(|number| *number < reads.len()).collect();
            // One instruction in forty readings was counted twice.
            let times: Vec<u64> = chosen.iter().map(|&number| reads[number] * 4 + ahead - (number as u64 / 40) * 4).collect();
            let clock = Clock::align(&times, &reads, 4).expect("there is one place");
            prop_assert_eq!((clock.found, clock.of), (times.len(), times.len()));
            for (&number, &time) in chosen.iter().zip(&times) {
                prop_assert_eq!(clock.ns_at(reads[number]), time);
            }
        }
    }

    #[test]
    fn a_clock_that_ticks_evenly_has_many_places_and_so_none() {
        let reads: Vec<u64> = (0..1_000).map(|number| number * 250).collect();
        let times: Vec<u64> = (0..40).map(|number| 5_000 + number * 1_000).collect();
        assert_eq!(Clock::align(&times, &reads, 4), None);
        assert_eq!(Clock::align(&[], &reads, 4), None);
        assert_eq!(Clock::align(&times, &[], 4), None);
    }
}
