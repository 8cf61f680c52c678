//! A call in virtual time: two pumps, a line between them, bits in both directions.

#![allow(dead_code, unreachable_pub, reason = "each test and example uses its part")]

pub mod clocked;
pub mod pair;

use punctual_datapump::{Phase, Qam, QamOptions, Role, Status};
use punctual_line::{Line, LineOptions};
use punctual_random::Random;
use std::collections::VecDeque;

/// Samples in a block.
pub const BLOCK: usize = 24;
/// Comes before the bits, so that the other end knows where they begin.
const MARKER: u64 = 0x5f3a_91c6_04e8_7bd2;

/// The share of a normal distribution above `x`, by Simpson's rule.
pub fn normal_above(x: f64) -> f64 {
    const STEPS: u32 = 2_000;
    let step = 8.0 / f64::from(STEPS);
    let density = |place: u32| (-(x + step * f64::from(place)).powi(2) / 2.0).exp();
    let inner: f64 = (1..STEPS).map(|place| density(place) * if place % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (density(0) + inner + density(STEPS)) * step / 3.0 / std::f64::consts::TAU.sqrt()
}

/// Bits that one end sends and what the other makes of them.
pub struct Way {
    random: Random,
    marker: u32,
    seen: u64,
    begun: bool,
    sent: VecDeque<bool>,
    /// Bits compared so far.
    pub bits: u64,
    /// Those of them that were wrong.
    pub errors: u64,
    /// All bits that came, and the zeros among them: errors where only ones are sent.
    pub came: u64,
    pub zeros: u64,
    /// The sample after which the newest zero came.
    pub newest_zero: u64,
}

impl Way {
    pub fn new(seed: u64) -> Way {
        Way {
            random: Random(seed),
            marker: 64,
            seen: 0,
            begun: false,
            sent: VecDeque::new(),
            bits: 0,
            errors: 0,
            came: 0,
            zeros: 0,
            newest_zero: 0,
        }
    }

    pub fn send(&mut self) -> bool {
        if self.marker > 0 {
            self.marker -= 1;
            return MARKER >> self.marker & 1 == 1;
        }
        let bit = self.random.bits() & 1 == 1;
        self.sent.push_back(bit);
        bit
    }

    pub fn receive(&mut self, bit: bool, now: u64) {
        self.came += 1;
        if !bit {
            self.zeros += 1;
            self.newest_zero = now;
        }
        if !self.begun {
            self.seen = self.seen << 1 | u64::from(bit);
            self.begun = self.seen == MARKER;
        } else if let Some(sent) = self.sent.pop_front() {
            self.bits += 1;
            self.errors += u64::from(sent != bit);
        }
    }
}

/// Two pumps and their line.
pub struct Call {
    pub calling: Qam,
    pub answering: Qam,
    pub line: Line,
    heard: [[i16; BLOCK]; 2],
    /// To the answering end, and from it.
    pub there: Way,
    pub back: Way,
    /// Whether random bits are sent; otherwise the pumps send ones.
    pub sending: bool,
    /// Samples so far.
    pub now: u64,
    /// A digest of everything that either end sent.
    pub digest: u64,
}

impl Call {
    pub fn new(seed: u64, line: LineOptions, options: QamOptions) -> Call {
        Call {
            calling: Qam::new(Role::Calling, options),
            answering: Qam::new(Role::Answering, options),
            line: Line::new(seed, line),
            heard: [[0; BLOCK]; 2],
            there: Way::new(seed ^ 0x1111),
            back: Way::new(seed ^ 0x2222),
            sending: false,
            now: 0,
            digest: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// Passes a block of up to [`BLOCK`] samples. An answering end that is stalled loses what comes and sends silence.
    pub fn pass(&mut self, samples: usize, stalled: bool) {
        let Call { calling, answering, there, back, .. } = self;
        let (sending, now) = (self.sending, self.now);
        let mut sent = [[0; BLOCK]; 2];
        calling.process(
            &self.heard[0][..samples],
            &mut sent[0][..samples],
            &mut || sending.then(|| there.send()),
            &mut |bit| back.receive(bit, now),
        );
        if !stalled {
            answering.process(
                &self.heard[1][..samples],
                &mut sent[1][..samples],
                &mut || sending.then(|| back.send()),
                &mut |bit| there.receive(bit, now),
            );
        }
        for sample in sent.iter().flat_map(|block| &block[..samples]) {
            self.digest = (self.digest ^ u64::from(*sample as u16)).wrapping_mul(0x100_0000_01b3);
        }
        self.heard = sent;
        let [first, second] = &mut self.heard;
        self.line.pass_blocks(&mut first[..samples], &mut second[..samples]);
        self.now += samples as u64;
    }

    pub fn stall(&mut self, samples: usize) {
        for begin in (0..samples).step_by(BLOCK) {
            self.pass(BLOCK.min(samples - begin), true);
        }
    }

    pub fn run(&mut self, samples: u64) {
        let end = self.now + samples;
        while self.now < end {
            self.pass(BLOCK.min((end - self.now) as usize), false);
        }
    }

    pub fn status(&self) -> [Status; 2] {
        [self.calling.status(), self.answering.status()]
    }

    pub fn is_connected(&self) -> bool {
        self.status().iter().all(|status| status.phase == Phase::Connected)
    }

    /// Runs until both ends are connected or this many seconds have passed; returns whether they are.
    pub fn connect(&mut self, seconds: u64) -> bool {
        let limit = self.now + seconds * 7_200;
        while self.now < limit && !self.is_connected() {
            self.pass(BLOCK, false);
        }
        self.is_connected()
    }

    /// Sends random bits in both directions until this many of each have been compared.
    pub fn exchange(&mut self, bits: u64) {
        self.sending = true;
        let limit = self.now + bits * 4;
        while self.there.bits.min(self.back.bits) < bits && self.now < limit {
            self.pass(BLOCK, false);
        }
    }
}
