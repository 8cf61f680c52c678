//! A DSL's signal: a call made beforehand in virtual time, over a line with noise; kept is the far end's signal as it arrived.

use punctual_datapump::{Brought, Decoder, DecoderState, Dmt, DmtEnd, DmtOptions, DmtSize, End, Signal, SignalUnit};
use punctual_line::{Line, LineOptions};
use punctual_random::Random;
use std::sync::Arc;

/// Bits of each tone: 95 tones come to 1,519,000 bits a second, which are G.lite's, and 223 to 3,567,000.
const BITS_OF_A_TONE: u32 = 4;
/// Superframes, of 69 symbols each: random ones before the part that repeats, and those in it.
const WARM_UP: usize = 2;
const REPEATED: usize = 4;
const SYMBOLS: usize = 69;
/// The number of symbols within which both ends are connected, with room to spare.
const PATIENCE: usize = 8_000;
/// The seed of the line's noise and of the bits.
const SEED: u64 = 2_000;

/// A connection of this size; always the same one.
pub(super) fn make(size: DmtSize) -> Result<Decoder, String> {
    let samples = size.symbol_samples();
    let options =
        DmtOptions { size, fixed_bits: Some(BITS_OF_A_TONE), echo_delay: samples as u32, ..DmtOptions::default() };
    let mut office = Dmt::new(End::Office, options);
    let mut decoder = DecoderState::new(DmtEnd::new(Dmt::new(End::Remote, options).state(), true));
    // Its echo is made while the device runs, from what it sends then.
    let mut line = Line::new(SEED, LineOptions { echo: None, ..LineOptions::loop_of_wires() });
    let data = (SYMBOLS - 1) * tones(size) * BITS_OF_A_TONE as usize - CHECK;
    let sent = bits_to_send(data, ones(size));
    let (mut given, mut received, mut data_begins) = (ones(size) * data, 0, None);
    let (mut units, mut brought, mut snapshot, mut start) = (Vec::new(), Vec::new(), None, usize::MAX);
    let mut heard = [vec![0; samples], vec![0; samples]];
    while units.len() < start.saturating_add(SYMBOLS * REPEATED) {
        let unit = SignalUnit::new(&heard[1]);
        if units.len() == start {
            snapshot = Some(decoder.clone());
        }
        let (before, mut wrong) = (received, 0);
        let frames = decoder.hear(&unit, &mut |bit| {
            wrong += usize::from(sent.get(received) != Some(&bit));
            received += 1;
        });
        let pump = decoder.receiver().pump();
        if wrong > 0 || units.len() > PATIENCE {
            return Err(format!("{wrong} wrong bits in symbol {}, {:?}", units.len(), pump.status()));
        }
        // What repeats has come once: from the symbol after next on it comes the second time.
        if start == usize::MAX && received >= data * (ones(size) + WARM_UP) {
            start = units.len() + SYMBOLS * REPEATED + 2;
        }
        brought.push((before, received, frames));
        units.push(unit);
        let (mut down, mut up) = (vec![0; samples], pump.sent().to_vec());
        // A sender that is given no bits sends ones: it does so until it has heard the last burst of the other end, at
        // the beginning of a superframe.
        let mut next = || {
            let symbol = units.len() - *data_begins.get_or_insert(units.len());
            if given == ones(size) * data && symbol != ones(size) * SYMBOLS {
                return None;
            }
            given += 1;
            sent.get(given - 1).copied()
        };
        office.process(&heard[0], &mut down, &mut next, &mut |_| ());
        line.pass_blocks(&mut down, &mut up);
        heard = [down, up];
    }
    let repeated = brought[start..].iter();
    let brought: Vec<Brought> =
        repeated.map(|(from, to, frames)| Brought { bits: sent[*from..*to].to_vec(), frames: *frames }).collect();
    let decoder = snapshot.ok_or("the call was too short")?;
    Ok(Decoder::new(decoder, Arc::new(Signal::new(units, start, &brought))))
}

/// Tones downstream.
fn tones(size: DmtSize) -> usize {
    match size {
        DmtSize::Lite => 95,
        DmtSize::Full => 223,
    }
}

/// Superframes of ones at the beginning, until the other direction is connected too: its last burst has a message of
/// four bits per tone, one in each symbol.
fn ones(size: DmtSize) -> usize {
    match size {
        DmtSize::Lite => 14,
        DmtSize::Full => 22,
    }
}

/// Bits of a superframe's check.
const CHECK: usize = 16;
/// Bits that the scrambler remembers.
const MEMORY: usize = 23;
/// How many bits to try until the check of the last superframe comes out as it must.
const TRIED: usize = 40;

/// What the office's sender knows about the bits that it has sent.
#[derive(Clone, Copy)]
struct Sender {
    scrambler: u32,
    check: u32,
}

impl Sender {
    /// The bit that the scrambler makes of this one; it goes into the check too.
    fn data(&mut self, bit: bool) {
        let out = (self.check >> 15 ^ u32::from(bit)) & 1;
        self.check = (self.check << 1 & 0xffff) ^ (out * 0x1021);
        self.scramble(bit);
    }

    fn scramble(&mut self, bit: bool) {
        self.scrambler = self.scrambler << 1 | u32::from(bit) ^ self.turned();
    }

    /// What the scrambler adds to the next bit.
    fn turned(&self) -> u32 {
        (self.scrambler >> 17 ^ self.scrambler >> 22) & 1
    }

    fn begin_superframe(&mut self) {
        for place in (0..CHECK).rev() {
            self.scramble(self.check >> place & 1 == 1);
        }
        self.check = 0xffff;
    }

    fn remembered(&self) -> (u32, u32) {
        (self.scrambler & ((1 << MEMORY) - 1), self.check)
    }
}

/// The bits of the superframes before the part that repeats, and of three rounds of it. After the ones they are random,
/// except the last of a round, which leave scrambler and check as they were at its beginning: what is sent then repeats
/// to the sample.
fn bits_to_send(data: usize, ones: usize) -> Vec<bool> {
    let mut random = Random(SEED);
    let mut chance = move || random.bits() & 1 == 1;
    let mut sender = Sender { scrambler: 0x2a_aaaa, check: 0xffff };
    let mut bits = Vec::new();
    let mut superframe = |sender: &mut Sender, bits: &mut Vec<bool>, length: usize| {
        sender.begin_superframe();
        for _ in 0..length {
            let bit = chance();
            sender.data(bit);
            bits.push(bit);
        }
    };
    for _ in 0..ones {
        sender.begin_superframe();
        for _ in 0..data {
            sender.data(true);
        }
    }
    bits.resize(ones * data, true);
    for _ in 0..WARM_UP {
        superframe(&mut sender, &mut bits, data);
    }
    let (begin, wanted) = (bits.len(), sender.remembered());
    for _ in 1..REPEATED {
        superframe(&mut sender, &mut bits, data);
    }
    superframe(&mut sender, &mut bits, data - MEMORY - TRIED);
    bits.extend(last_bits(sender, wanted));
    let round = bits[begin..].to_vec();
    bits.extend_from_slice(&round);
    bits.extend_from_slice(&round);
    bits
}

/// The last bits of a superframe, after which the sender's memory is as wanted: by chance, one in 65,536 does that.
fn last_bits(sender: Sender, wanted: (u32, u32)) -> Vec<bool> {
    let mut random = Random(!SEED);
    loop {
        let (mut trial, tried) = (sender, random.bits());
        let mut bits = Vec::with_capacity(TRIED + MEMORY);
        for index in 0..TRIED + MEMORY {
            let bit = match index.checked_sub(TRIED) {
                None => tried >> index & 1 == 1,
                Some(index) => (wanted.0 >> (MEMORY - 1 - index) & 1) ^ trial.turned() == 1,
            };
            trial.data(bit);
            bits.push(bit);
        }
        if trial.remembered() == wanted {
            return bits;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Decodes, Received};
    use super::*;

    fn round(size: DmtSize) -> u64 {
        (REPEATED * ((SYMBOLS - 1) * tones(size) * 4 - CHECK)) as u64
    }

    #[test]
    fn what_is_repeated_brings_its_bits_again_and_again() {
        let mut bits = 0;
        for size in DmtSize::ALL {
            let received = Received::make(Decodes::Dmt(size)).unwrap();
            assert_eq!(received.decoder.signal().known_bits(), round(size));
            for banks in [0, 1, 3] {
                let mut device = received.device(banks, 16, false);
                for block in 0..69 {
                    device.begin_block(block);
                    device.run(16);
                }
                let counted = device.counts();
                let [units, connected, known, wrong, missing, skipped, restarts, frames, right] = counted.numbers();
                assert_eq!((units, connected), (69 * 16, 69 * 16), "{size:?}, {banks}: {counted:?}");
                assert_eq!((wrong, missing, skipped, restarts), (0, 0, 0, 0), "{size:?}, {banks}: {counted:?}");
                assert_eq!(known, 4 * round(size));
                assert_eq!((frames, right), (4 * REPEATED as u64, frames), "superframes, {counted:?}");
                bits += known;
            }
        }
        assert!(bits > 3_000_000, "{bits}");
    }

    #[test]
    fn without_its_taps_half_of_the_bits_are_wrong_and_the_connection_is_lost() {
        let received = Received::make(Decodes::Dmt(DmtSize::Lite)).unwrap();
        let mut device = received.device(1, 16, true);
        for block in 0..200 {
            device.begin_block(block);
            device.run(16);
        }
        let counted = device.counts();
        assert!(counted.restarts >= 1 && counted.connected < counted.units, "{counted:?}");
        assert!(counted.wrong + counted.missing > counted.bits / 3, "{counted:?}");
    }

    /// Blocks that nobody worked on cost their bits and superframes; many of them cost the connection, which comes back.
    #[test]
    fn lost_blocks_cost_their_bits_and_then_the_connection() {
        let received = Received::make(Decodes::Dmt(DmtSize::Lite)).unwrap();
        let mut device = received.device(1, 16, false);
        let mut block = 0;
        let mut run = |device: &mut Decoder, blocks: u64, gone: u64| {
            block += gone;
            for _ in 0..blocks {
                device.begin_block(block);
                device.run(16);
                block += 1;
            }
            device.counts()
        };
        run(&mut device, 50, 0);
        let one = run(&mut device, 50, 1);
        assert_eq!((one.skipped, one.restarts), (16, 0));
        // 16 symbols of 380 bits, less a known symbol and a check, and whatever is out of place until the next known symbol.
        assert!(one.missing > 5_000 && one.wrong + one.missing < 40_000, "{one:?}");
        let again = run(&mut device, 100, 0);
        assert_eq!((again.wrong, again.missing), (one.wrong, one.missing), "not a bit more");
        // Every second block: superframe after superframe is wrong.
        for _ in 0..60 {
            run(&mut device, 1, 1);
        }
        let bad = run(&mut device, 1, 0);
        assert!(bad.restarts >= 1, "{bad:?}");
        // A start-up takes 0.76 s, about 193 blocks.
        let before = run(&mut device, 400, 0);
        let after = run(&mut device, 100, 0);
        assert_eq!(after.connected - before.connected, 1_600, "connected again, {after:?}");
        assert_eq!((after.wrong, after.missing), (before.wrong, before.missing), "{after:?}");
    }
}
