//! The exact tail: the largest values with their times, and the largest of each second.

use crate::Stage;
use crate::format::bounds::MAX_TAIL_VALUES;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many of the largest values are kept for each task and stage; for followed threads, for each measure and stage,
/// as long as there are few measures.
pub const TAIL_LENGTH: usize = 10_000;

/// How many are kept for each task and stage if there are very many tasks: as many as a reader holds at once.
pub fn tail_length(tasks: usize) -> usize {
    TAIL_LENGTH.min(MAX_TAIL_VALUES / (tasks.max(1) * Stage::ALL.len())).max(1)
}

/// The length of a block of block maxima, ns.
pub const BLOCK_NS: u64 = 1_000_000_000;

/// One of the largest values of a task and stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TailValue {
    /// The thread.
    pub tid: u32,
    /// The stage.
    pub stage: Stage,
    /// When the wakeup's timer was due to expire, ns of `CLOCK_MONOTONIC`.
    pub expected_ns: u64,
    /// The value, ns.
    pub value_ns: u64,
}

/// The largest value of a task and stage among the wakeups due in one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockMaximum {
    /// The thread.
    pub tid: u32,
    /// The stage.
    pub stage: Stage,
    /// The block: it starts at this many times [`BLOCK_NS`] of `CLOCK_MONOTONIC`.
    pub block: u64,
    /// The largest value, ns.
    pub max_ns: u64,
    /// How many wakeups were due in the block and had this stage.
    pub count: u64,
}

/// Keeps the largest values that it is shown.
#[derive(Debug)]
pub(crate) struct LargestValues {
    /// In the order in which they came, until there are as many as it keeps.
    first: Vec<Reverse<Largest>>,
    /// From then on, all of them.
    values: BinaryHeap<Reverse<Largest>>,
    /// A value that is not above this changes nothing, ns; checked before anything else, because most are not.
    least_ns: Option<u64>,
    max: usize,
}

/// (value, expected time, thread)
type Largest = (u64, u64, u32);

impl Default for LargestValues {
    fn default() -> Self {
        LargestValues::new(TAIL_LENGTH)
    }
}

impl LargestValues {
    /// Keeps this many.
    pub(crate) fn new(max: usize) -> LargestValues {
        LargestValues { first: Vec::new(), values: BinaryHeap::new(), least_ns: None, max }
    }

    pub(crate) fn offer(&mut self, value_ns: u64, expected_ns: u64, tid: u32) {
        match self.least_ns {
            Some(least_ns) if value_ns <= least_ns => return,
            Some(_) => {
                if let Some(mut smallest) = self.values.peek_mut() {
                    *smallest = Reverse((value_ns, expected_ns, tid));
                }
            }
            None => {
                self.first.push(Reverse((value_ns, expected_ns, tid)));
                if self.first.len() < self.max {
                    return;
                }
                self.values = BinaryHeap::from(std::mem::take(&mut self.first));
            }
        }
        self.least_ns = self.values.peek().map(|smallest| smallest.0.0);
    }

    /// (value, expected time, thread), largest first.
    pub(crate) fn sorted(&self) -> Vec<Largest> {
        let mut values: Vec<_> = self.first.iter().chain(&self.values).map(|entry| entry.0).collect();
        values.sort_unstable_by_key(|&entry| Reverse(entry));
        values
    }
}

/// The maximum of the block that is being filled.
#[derive(Debug, Default)]
pub(crate) struct OpenBlock {
    block: u64,
    max_ns: u64,
    count: u64,
}

impl OpenBlock {
    /// Counts a value; returns (block, maximum, count) of the previous block if this value opens a new one.
    pub(crate) fn offer(&mut self, value_ns: u64, expected_ns: u64) -> Option<(u64, u64, u64)> {
        let block = expected_ns / BLOCK_NS;
        let closed = if block != self.block { self.close() } else { None };
        self.block = block;
        self.max_ns = self.max_ns.max(value_ns);
        self.count += 1;
        closed
    }

    pub(crate) fn close(&mut self) -> Option<(u64, u64, u64)> {
        let closed = std::mem::take(self);
        (closed.count > 0).then_some((closed.block, closed.max_ns, closed.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn the_largest_are_kept(mut values in prop::collection::vec(0..1_000_000u64, 0..15_000)) {
            let mut largest = LargestValues::default();
            for (time, &value) in values.iter().enumerate() {
                largest.offer(value, time as u64, 1);
            }
            values.sort_unstable_by_key(|&value| Reverse(value));
            values.truncate(TAIL_LENGTH);
            let kept: Vec<u64> = largest.sorted().into_iter().map(|(value, ..)| value).collect();
            prop_assert_eq!(kept, values);
        }

        #[test]
        fn what_is_kept_of_all_tasks_can_be_held_at_once(tasks in 0..=crate::format::bounds::MAX_TASKS) {
            let length = tail_length(tasks);
            prop_assert!((1..=TAIL_LENGTH).contains(&length));
            prop_assert!(tasks * length * Stage::ALL.len() <= MAX_TAIL_VALUES);
            prop_assert!(tasks > 26 || length == TAIL_LENGTH);
        }

        #[test]
        fn blocks_hold_every_value_once(mut due in prop::collection::vec((0..20 * BLOCK_NS, 0..1000u64), 1..500)) {
            due.sort_unstable();
            let mut open = OpenBlock::default();
            let mut blocks = Vec::new();
            for &(expected, value) in &due {
                blocks.extend(open.offer(value, expected));
            }
            blocks.extend(open.close());
            prop_assert_eq!(blocks.iter().map(|block| block.2).sum::<u64>(), due.len() as u64);
            for (block, max, _) in blocks {
                let largest = due.iter().filter(|(expected, _)| expected / BLOCK_NS == block).map(|entry| entry.1).max();
                prop_assert_eq!(Some(max), largest);
            }
        }
    }
}
