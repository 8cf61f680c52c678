//! The largest values and the maxima of seconds, rebuilt from the wakeups of a recording that was cut short.

use crate::wakeups::tail::{BlockMaximum, LargestValues, OpenBlock, TailValue};
use crate::{Stage, Wakeup};
use std::collections::HashMap;

const STAGES: usize = Stage::ALL.len();

struct Thread {
    tid: u32,
    largest: [LargestValues; STAGES],
    blocks: [OpenBlock; STAGES],
}

/// Takes wakeups, each thread's in order of time and each only once, because there may be very many.
#[derive(Default)]
pub(crate) struct Rebuilt {
    threads: Vec<Thread>,
    positions: HashMap<u32, usize>,
    /// The position of the previous wakeup's thread: the next wakeup often belongs to the same thread.
    last: usize,
    maxima: Vec<BlockMaximum>,
    without_tail: bool,
    without_maxima: bool,
}

impl Rebuilt {
    /// Only for the largest values.
    pub(crate) fn tail_alone() -> Rebuilt {
        Rebuilt { without_maxima: true, ..Rebuilt::default() }
    }

    /// Only for the maxima of seconds.
    pub(crate) fn maxima_alone() -> Rebuilt {
        Rebuilt { without_tail: true, ..Rebuilt::default() }
    }

    pub(crate) fn take(&mut self, wakeup: &Wakeup) {
        if self.threads.get(self.last).is_none_or(|thread| thread.tid != wakeup.tid) {
            self.last = *self.positions.entry(wakeup.tid).or_insert_with(|| {
                let (largest, blocks) = (Default::default(), Default::default());
                self.threads.push(Thread { tid: wakeup.tid, largest, blocks });
                self.threads.len() - 1
            });
        }
        let thread = &mut self.threads[self.last];
        for stage in Stage::ALL {
            let Some(value) = wakeup.stage(stage) else { continue };
            if !self.without_tail {
                thread.largest[stage as usize].offer(value, wakeup.expected_ns, wakeup.tid);
            }
            if !self.without_maxima
                && let Some(closed) = thread.blocks[stage as usize].offer(value, wakeup.expected_ns)
            {
                self.maxima.push(maximum(wakeup.tid, stage, closed));
            }
        }
    }

    /// Takes out the maxima of seconds that are over.
    pub(crate) fn closed(&mut self) -> impl Iterator<Item = BlockMaximum> {
        self.maxima.drain(..)
    }

    /// The largest values of each thread and stage, largest first, and the maxima that were not taken out.
    pub(crate) fn finish(mut self) -> (Vec<TailValue>, Vec<BlockMaximum>) {
        self.threads.sort_by_key(|thread| thread.tid);
        let mut values = Vec::new();
        for thread in &mut self.threads {
            let tid = thread.tid;
            for stage in Stage::ALL {
                let largest = thread.largest[stage as usize].sorted().into_iter();
                values.extend(largest.map(|(value_ns, expected_ns, _)| TailValue {
                    tid,
                    stage,
                    expected_ns,
                    value_ns,
                }));
                let closed = thread.blocks[stage as usize].close();
                self.maxima.extend(closed.map(|closed| maximum(tid, stage, closed)));
            }
        }
        (values, self.maxima)
    }
}

fn maximum(tid: u32, stage: Stage, (block, max_ns, count): (u64, u64, u64)) -> BlockMaximum {
    BlockMaximum { tid, stage, block, max_ns, count }
}
