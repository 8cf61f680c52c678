//! A call over V.22bis on which both ends send ones: every zero that comes is wrong. The calling end is worked on block by block, or
//! misses blocks; the line and the other end go on.

use crate::{Library, V22bis};
use punctual_line::{Line, LineOptions, SampleRate};
use punctual_modem::end::{Pump, PumpStatus};

/// The line's delay, samples: 10 ms.
const DELAY: u32 = 80;
/// It gets so long to connect, samples: 10 s.
const MAX_CONNECTING: usize = 80_000;
/// After that, what training left behind has passed, samples: 1 s.
const SETTLING: usize = 8_000;

/// A call in progress, at 8,000 samples a second.
#[derive(Debug)]
pub struct SteadyCall {
    /// The calling end, and the answering one.
    ends: [V22bis; 2],
    line: Line,
    /// What each hears next.
    heard: [Vec<i16>; 2],
    sent: [Vec<i16>; 2],
    came: u64,
    wrong: u64,
}

impl SteadyCall {
    /// A call that is connected, in blocks of so many samples, at least one; always the same one. `None`: the library has no memory
    /// for it, or its ends did not connect.
    pub fn connected(library: &'static Library, samples: usize) -> Option<SteadyCall> {
        let samples = samples.max(1);
        let blocks = || [vec![0; samples], vec![0; samples]];
        let options = LineOptions { delay: DELAY, ..LineOptions::telephone() };
        let mut call = SteadyCall {
            ends: [V22bis::new(library, true)?, V22bis::new(library, false)?],
            line: Line::at(SampleRate::Hz8000, 1, options),
            heard: blocks(),
            sent: blocks(),
            came: 0,
            wrong: 0,
        };
        let mut left = (0..MAX_CONNECTING).step_by(samples);
        while !call.ends.iter().all(|end| end.status().is_connected) {
            left.next()?;
            call.work();
        }
        (0..SETTLING.div_ceil(samples)).for_each(|_| call.work());
        (call.came, call.wrong) = (0, 0);
        Some(call)
    }

    /// The calling end gets the next block, and sends one.
    pub fn work(&mut self) {
        let (came, wrong) = (&mut self.came, &mut self.wrong);
        let mut take = |bit: bool| {
            *came += 1;
            *wrong += u64::from(!bit);
        };
        self.ends[0].process(&self.heard[0], &mut self.sent[0], &mut || true, &mut take);
        self.go_on();
    }

    /// The calling end misses the next block, and is silent.
    pub fn miss(&mut self) {
        self.sent[0].fill(0);
        self.go_on();
    }

    /// The other end and the line, for a block.
    fn go_on(&mut self) {
        self.ends[1].process(&self.heard[1], &mut self.sent[1], &mut || true, &mut |_| ());
        let [near, far] = &mut self.sent;
        self.line.pass_blocks(near, far);
        std::mem::swap(&mut self.heard, &mut self.sent);
    }

    /// Bits that came to the calling end.
    pub fn came(&self) -> u64 {
        self.came
    }

    /// How many of them were wrong.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// How the calling end is doing, and how often either end trained again.
    pub fn status(&self) -> PumpStatus {
        let [near, far] = [&self.ends[0], &self.ends[1]].map(Pump::status);
        PumpStatus { retrains: near.retrains.max(far.retrains), ..near }
    }
}
