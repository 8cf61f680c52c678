//! Threads that are ready to run on one CPU: a list for each level, the highest level found in one instruction.

use super::NONE;

/// How many levels there are: priorities 0 to 99, then the classes above them.
const LEVELS: usize = 105;
/// Rate-monotonic threads, shortest period first.
pub const LEVEL_RATE_MONOTONIC: u8 = 100;
/// Earliest-deadline-first threads.
pub const LEVEL_EDF: u8 = 101;
/// Threads with a floating budget (`SCHED_DEADLINE`), earliest server deadline first.
pub const LEVEL_DEADLINE: u8 = 102;
/// The thread whose precomputed slot it is.
pub const LEVEL_SLOT: u8 = 103;
/// Kernel code that no thread preempts.
pub const LEVEL_KERNEL: u8 = 104;

/// Whether a level is ordered by a key, not by who came first.
pub(super) fn is_keyed(level: u8) -> bool {
    (LEVEL_RATE_MONOTONIC..=LEVEL_DEADLINE).contains(&level)
}

/// The ready threads of one CPU. Threads are indices; links are kept here, so that nothing is allocated.
#[derive(Debug, Clone)]
pub(super) struct ReadyQueue {
    filled: u128,
    heads: [u32; LEVELS],
    tails: [u32; LEVELS],
    next: Vec<u32>,
    previous: Vec<u32>,
    keys: Vec<u64>,
}

impl ReadyQueue {
    /// An empty queue for thread indices below `threads`.
    pub(super) fn new(threads: usize) -> ReadyQueue {
        ReadyQueue {
            filled: 0,
            heads: [NONE; LEVELS],
            tails: [NONE; LEVELS],
            next: vec![NONE; threads],
            previous: vec![NONE; threads],
            keys: vec![0; threads],
        }
    }

    /// The highest level with a ready thread.
    #[inline]
    pub(super) fn highest(&self) -> Option<u8> {
        (self.filled != 0).then(|| (127 - self.filled.leading_zeros()) as u8)
    }

    /// The first thread of a level, [`NONE`] when there is none.
    #[inline]
    pub(super) fn first(&self, level: u8) -> u32 {
        self.heads[level as usize]
    }

    /// Queues a thread behind the others of its level; on a keyed level behind those with the same key.
    #[inline]
    pub(super) fn push_back(&mut self, level: u8, thread: u32, key: u64) {
        self.keys[thread as usize] = key;
        let mut after = self.tails[level as usize];
        if is_keyed(level) {
            while after != NONE && self.keys[after as usize] > key {
                after = self.previous[after as usize];
            }
        }
        self.link(level, thread, after);
    }

    /// Queues a thread before the others of its level; on a keyed level before those with the same key.
    #[inline]
    pub(super) fn push_front(&mut self, level: u8, thread: u32, key: u64) {
        self.keys[thread as usize] = key;
        let mut after = NONE;
        if is_keyed(level) {
            after = self.tails[level as usize];
            while after != NONE && self.keys[after as usize] >= key {
                after = self.previous[after as usize];
            }
        }
        self.link(level, thread, after);
    }

    #[inline]
    fn link(&mut self, level: u8, thread: u32, after: u32) {
        let next = if after == NONE { self.heads[level as usize] } else { self.next[after as usize] };
        self.next[thread as usize] = next;
        self.previous[thread as usize] = after;
        match after {
            NONE => self.heads[level as usize] = thread,
            _ => self.next[after as usize] = thread,
        }
        match next {
            NONE => self.tails[level as usize] = thread,
            _ => self.previous[next as usize] = thread,
        }
        self.filled |= 1 << level;
    }

    /// Takes a thread off the level that it was queued on.
    #[inline]
    pub(super) fn remove(&mut self, level: u8, thread: u32) {
        let (next, previous) = (self.next[thread as usize], self.previous[thread as usize]);
        match previous {
            NONE => self.heads[level as usize] = next,
            _ => self.next[previous as usize] = next,
        }
        match next {
            NONE => self.tails[level as usize] = previous,
            _ => self.previous[next as usize] = previous,
        }
        if self.heads[level as usize] == NONE {
            self.filled &= !(1 << level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_list(changes in prop::collection::vec((0..12u32, prop_oneof![Just(3u8), Just(8), Just(LEVEL_EDF)], 0..5u64, any::<bool>()), 1..100)) {
            let mut queue = ReadyQueue::new(12);
            let mut plain: Vec<(u8, u64, u32)> = Vec::new();
            for (thread, level, key, front) in changes {
                if let Some(at) = plain.iter().position(|entry| entry.2 == thread) {
                    let (level, _, _) = plain.remove(at);
                    queue.remove(level, thread);
                } else {
                    let sort = if is_keyed(level) { key } else { 0 };
                    let at = plain.iter().position(|&(l, k, _)| l < level || (l == level && (k > sort || (front && k == sort))));
                    plain.insert(at.unwrap_or(plain.len()), (level, sort, thread));
                    if front { queue.push_front(level, thread, key) } else { queue.push_back(level, thread, key) }
                }
                prop_assert_eq!(queue.highest(), plain.first().map(|entry| entry.0));
                for level in [3u8, 8, LEVEL_EDF] {
                    let first = plain.iter().find(|entry| entry.0 == level).map_or(NONE, |entry| entry.2);
                    prop_assert_eq!(queue.first(level), first);
                }
            }
        }
    }
}
