//! A DSL in virtual time: two pumps, a pair of wires between them, bits in both directions.

use super::Way;
use punctual_datapump::{Dmt, DmtOptions, DmtStatus, End, Phase};
use punctual_line::{Line, LineOptions};

/// Two pumps and their line.
pub struct Pair {
    pub office: Dmt,
    pub remote: Dmt,
    pub line: Line,
    heard: [Vec<i16>; 2],
    pub down: Way,
    pub up: Way,
    /// Whether random bits are sent; otherwise the pumps send ones.
    pub sending: bool,
    /// Symbols so far.
    pub now: u64,
    /// A digest of everything that either end sent.
    pub digest: u64,
}

impl Pair {
    pub fn new(seed: u64, line: LineOptions, options: DmtOptions) -> Pair {
        let samples = options.size.symbol_samples();
        let options = DmtOptions { echo_delay: samples as u32, ..options };
        Pair {
            office: Dmt::new(End::Office, options),
            remote: Dmt::new(End::Remote, options),
            line: Line::new(seed, line),
            heard: [vec![0; samples], vec![0; samples]],
            down: Way::new(seed ^ 0x1111),
            up: Way::new(seed ^ 0x2222),
            sending: false,
            now: 0,
            digest: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// Passes a symbol. A remote end that is stalled loses what comes and sends silence.
    pub fn pass(&mut self, stalled: bool) {
        let Pair { office, remote, down, up, .. } = self;
        let (sending, now) = (self.sending, self.now);
        let mut sent = [vec![0; self.heard[0].len()], vec![0; self.heard[0].len()]];
        office.process(&self.heard[0], &mut sent[0], &mut || sending.then(|| down.send()), &mut |bit| {
            up.receive(bit, now);
        });
        if !stalled {
            remote.process(&self.heard[1], &mut sent[1], &mut || sending.then(|| up.send()), &mut |bit| {
                down.receive(bit, now);
            });
        }
        for sample in sent.iter().flatten() {
            self.digest = (self.digest ^ u64::from(*sample as u16)).wrapping_mul(0x100_0000_01b3);
        }
        let [first, second] = &mut sent;
        self.line.pass_blocks(first, second);
        self.heard = sent;
        self.now += 1;
    }

    pub fn run(&mut self, symbols: u64) {
        for _ in 0..symbols {
            self.pass(false);
        }
    }

    pub fn stall(&mut self, symbols: u64) {
        for _ in 0..symbols {
            self.pass(true);
        }
    }

    pub fn status(&self) -> [DmtStatus; 2] {
        [self.office.status(), self.remote.status()]
    }

    pub fn is_connected(&self) -> bool {
        self.status().iter().all(|status| status.phase == Phase::Connected)
    }

    /// Runs until both ends are connected or this many symbols have passed; returns whether they are.
    pub fn connect(&mut self, symbols: u64) -> bool {
        let limit = self.now + symbols;
        while self.now < limit && !self.is_connected() {
            self.pass(false);
        }
        self.is_connected()
    }

    /// Sends random bits in both directions until this many of each have been compared.
    pub fn exchange(&mut self, bits: u64) {
        self.sending = true;
        let limit = self.now + bits;
        while self.down.bits.min(self.up.bits) < bits && self.now < limit {
            self.pass(false);
        }
    }
}
