//! A call of two ends, sample by sample.

use super::{Candidate, Judgement, Pair};
use punctual_line::{Line, LineOptions, NOMINAL_LEVEL, SampleRate};
use punctual_random::Random;

/// Bits of one direction.
#[derive(Debug)]
pub(super) struct Way {
    random: Random,
    /// Whether random bits are sent; otherwise ones.
    is_random: bool,
    pub(super) sent: Vec<bool>,
    pub(super) received: Vec<bool>,
    /// Bits that came.
    pub(super) came: u64,
    /// Zeros among them: wrong where only ones are sent.
    pub(super) zeros: u64,
}

impl Way {
    fn new(seed: u64, is_random: bool) -> Way {
        Way { random: Random(seed), is_random, sent: Vec::new(), received: Vec::new(), came: 0, zeros: 0 }
    }

    fn next(&mut self) -> bool {
        if !self.is_random {
            return true;
        }
        let bit = self.random.bits() & 1 == 1;
        self.sent.push(bit);
        bit
    }

    fn take(&mut self, bit: bool) {
        self.came += 1;
        self.zeros += u64::from(!bit);
        if self.is_random {
            self.received.push(bit);
        }
    }
}

/// Reads how long this thread has computed, ns.
pub(super) type Clock<'a> = &'a mut dyn FnMut() -> u64;

/// Two ends, the line between them, and their bits.
pub(super) struct Call {
    pub(super) ends: Pair,
    line: Line,
    is_duplex: bool,
    rate: SampleRate,
    heard: [Vec<i16>; 2],
    /// To the second end, and to the first.
    pub(super) ways: [Way; 2],
    /// The sum of the squares of what the first end sends.
    pub(super) energy: f64,
    /// Samples so far.
    pub(super) now: u64,
}

impl Call {
    /// A call over this line with noise so far below what is sent at this level; `None`: the ends could not be made.
    pub(super) fn new(candidate: &dyn Candidate, how: &Judgement, seed: u64, plan: &CallPlan) -> Option<Call> {
        let rate = candidate.sample_rate();
        // The line's noise refers to the nominal level.
        let to_nominal = 20.0 * (plan.level / NOMINAL_LEVEL).log10();
        let options = LineOptions {
            delay: rate.hertz() / 100,
            signal_to_noise: Some(plan.signal_to_noise - to_nominal),
            ..how.line
        };
        Some(Call {
            ends: candidate.pair(plan.retrains)?,
            line: Line::at(rate, seed, options),
            is_duplex: candidate.is_duplex(),
            rate,
            heard: [Vec::new(), Vec::new()],
            ways: [seed ^ 0x1111, seed ^ 0x2222].map(|seed| Way::new(seed, plan.random)),
            energy: 0.0,
            now: 0,
        })
    }

    /// How many samples are so many us.
    pub(super) fn samples(&self, us: u32) -> u64 {
        u64::from(us) * u64::from(self.rate.hertz()) / 1_000_000
    }

    /// Samples in a block of 12.5 ms.
    pub(super) fn block(&self) -> usize {
        self.samples(12_500) as usize
    }

    /// Passes a block. A second end that is stalled loses what comes and sends silence. Returns what each end computed, ns.
    fn pass(&mut self, samples: usize, stalled: bool, clock: Clock<'_>) -> [u64; 2] {
        let mut sent = [vec![0; samples], vec![0; samples]];
        for heard in &mut self.heard {
            heard.resize(samples, 0);
        }
        let [there, back] = &mut self.ways;
        let began = clock();
        self.ends[0].process(&self.heard[0], &mut sent[0], &mut || there.next(), &mut |bit| back.take(bit));
        let between = clock();
        if !stalled {
            self.ends[1].process(&self.heard[1], &mut sent[1], &mut || back.next(), &mut |bit| there.take(bit));
        }
        let over = clock();
        self.energy += sent[0].iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>();
        let [first, second] = &mut sent;
        self.line.pass_blocks(first, second);
        self.heard = sent;
        self.now += samples as u64;
        [between.saturating_sub(began), over.saturating_sub(between)]
    }

    /// Runs for so many samples, in blocks; returns what each end computed, ns.
    pub(super) fn run(&mut self, samples: u64, stalled: bool, clock: Clock<'_>) -> [u64; 2] {
        let (end, mut computed) = (self.now + samples, [0; 2]);
        while self.now < end {
            // What is heard next came in a block of that length.
            let left = usize::try_from(end - self.now).unwrap_or(usize::MAX);
            let block = self.pass(self.block().min(left), stalled, clock);
            computed = [computed[0] + block[0], computed[1] + block[1]];
        }
        computed
    }

    /// Whether every end that receives can.
    pub(super) fn is_connected(&self) -> bool {
        self.ends[1].status().is_connected && (!self.is_duplex || self.ends[0].status().is_connected)
    }

    /// Runs until it is connected, for this many seconds at most; returns whether it is.
    pub(super) fn connect(&mut self, seconds: u32) -> bool {
        let limit = self.now + u64::from(seconds * self.rate.hertz());
        while self.now < limit && !self.is_connected() {
            self.run(self.block() as u64, false, &mut || 0);
        }
        self.is_connected()
    }

    /// The directions in which bits are sent.
    pub(super) fn ways(&self) -> &[Way] {
        &self.ways[..if self.is_duplex { 2 } else { 1 }]
    }

    /// Trainings after the first, of either end.
    pub(super) fn retrains(&self) -> u32 {
        self.ends.iter().map(|end| end.status().retrains).max().unwrap_or(0)
    }
}

/// What a call is made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallPlan {
    /// The root mean square of what the ends send.
    pub(super) level: f64,
    /// dB.
    pub(super) signal_to_noise: f64,
    /// Whether the ends may train again by themselves.
    pub(super) retrains: bool,
    /// Whether random bits are sent, and kept.
    pub(super) random: bool,
}
