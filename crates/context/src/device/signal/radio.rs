//! The signals of radios: packets at steady distances, with noise between them and on top of them.

use punctual_datapump::{
    Brought, DSSS_UNIT, Decoder, DecoderState, DsssRate, DsssState, GFSK_SAMPLES_A_BIT, GFSK_UNIT, GfskState, Receiver,
    Signal, SignalUnit, dsss_frame, dsss_packet, gfsk_packet, gfsk_payload,
};
use punctual_line::{Air, AirOptions};
use punctual_random::Random;
use std::sync::Arc;

/// The seed of the noise and of the bits.
const SEED: u64 = 2_000;
/// The level at which packets are made.
const LEVEL: f64 = 8_192.0;

/// A Bluetooth packet begins every second slot of 625 us; in the other one this end would send.
pub(super) const GFSK_SPACING: usize = 20;
const GFSK_PACKETS: usize = 16;

/// An 802.11b packet begins every 504 us: 448 us of packet, and the shortest gap between two that the standard has (50 us).
pub(super) const DSSS_SPACING: usize = 42;
/// Each rate, and the octets of a frame that takes 256 us at it.
pub(super) const DSSS_RATES: [(DsssRate, usize); 4] =
    [(DsssRate::Eleven, 352), (DsssRate::FiveAndAHalf, 176), (DsssRate::Two, 64), (DsssRate::One, 32)];
const DSSS_ROUNDS: usize = 2;

/// Packets on the air.
struct Packets {
    /// The samples of each, and its bits.
    packets: Vec<(Vec<i16>, Vec<bool>)>,
    /// Complex samples of a unit.
    unit: usize,
    /// How many units there are from one packet to the next.
    spacing: usize,
    air: AirOptions,
}

/// Bluetooth's: one-slot packets (DH1) in every second slot, noise 24 dB below a bit's energy, a carrier that is off by 20 kHz.
pub(super) fn make_gfsk() -> Result<Decoder, String> {
    let mut random = Random(SEED);
    let packets = std::iter::repeat_with(|| {
        let payload = gfsk_payload(std::iter::repeat_with(|| random.bits() & 1 == 1));
        (gfsk_packet(&payload), payload)
    });
    let packets = Packets {
        packets: packets.take(GFSK_PACKETS).collect(),
        unit: GFSK_UNIT,
        spacing: GFSK_SPACING,
        air: AirOptions {
            level: LEVEL,
            samples_a_bit: GFSK_SAMPLES_A_BIT as f64,
            bit_to_noise: Some(24.0),
            offset: 20e3 / 4e6,
        },
    };
    packets.received_by(GfskState::new())
}

/// 802.11b's: packets at its four rates in turn, noise 16 dB below a bit's energy at the highest, a carrier that is off by 50 kHz.
pub(super) fn make_dsss() -> Result<Decoder, String> {
    let mut random = Random(SEED);
    let packets = (0..DSSS_ROUNDS).flat_map(|_| DSSS_RATES).map(|(rate, octets)| {
        let data: Vec<u8> = (4..octets).map(|_| random.bits() as u8).collect();
        let frame = dsss_frame(&data);
        let bits = frame.iter().flat_map(|octet| (0..8).map(move |bit| octet >> bit & 1 == 1)).collect();
        (dsss_packet(&frame, rate), bits)
    });
    let packets = Packets {
        packets: packets.collect(),
        unit: DSSS_UNIT,
        spacing: DSSS_SPACING,
        air: AirOptions { level: LEVEL, samples_a_bit: 2.0, bit_to_noise: Some(16.0), offset: 50e3 / 22e6 },
    };
    packets.received_by(DsssState::new())
}

impl Packets {
    /// The signal in units, with its noise. A packet begins somewhere in the second half of its first unit.
    fn units(&self) -> Vec<SignalUnit> {
        let mut random = Random(!SEED);
        let mut samples = Vec::new();
        for (packet, _) in &self.packets {
            let end = samples.len() + 2 * self.spacing * self.unit;
            let before = self.unit / 2 + random.below(self.unit as u64 / 2) as usize;
            samples.resize(samples.len() + 2 * before, 0);
            samples.extend_from_slice(packet);
            assert!(samples.len() <= end, "a packet ends before the next begins");
            samples.resize(end, 0);
        }
        Air::new(SEED, self.air).pass(&mut samples);
        samples.chunks_exact(2 * self.unit).map(SignalUnit::new).collect()
    }

    /// What this receiver makes of it. It hears everything once to get going, and then twice, which must give the same result.
    fn received_by<R: Receiver>(&self, receiver: R) -> Result<Decoder, String> {
        let units = self.units();
        let mut decoder = DecoderState::new(receiver);
        let round = |decoder: &mut DecoderState<R>| -> Vec<Brought> {
            let brought = units.iter().map(|unit| {
                let mut bits = Vec::new();
                let frames = decoder.hear(unit, &mut |bit| bits.push(bit));
                Brought { bits, frames }
            });
            brought.collect()
        };
        round(&mut decoder);
        let (brought, beginning) = (round(&mut decoder), decoder.clone());
        let bits: Vec<bool> = brought.iter().flat_map(|unit| unit.bits.iter().copied()).collect();
        let sent: Vec<bool> = self.packets.iter().flat_map(|(_, bits)| bits.iter().copied()).collect();
        let frames: u32 = brought.iter().map(|unit| unit.frames).sum();
        if bits != sent || frames as usize != self.packets.len() {
            return Err(format!("{} of {} bits came, {frames} whole packets", bits.len(), sent.len()));
        }
        if round(&mut decoder) != brought {
            return Err("the second round does not bring the same as the first".to_owned());
        }
        Ok(Decoder::new(beginning, Arc::new(Signal::new(units, 0, &brought))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Decodes, Received};
    use super::*;

    /// Bits and packets in the part that repeats.
    fn round(decodes: Decodes) -> (u64, u64) {
        match decodes {
            Decodes::Gfsk => (240 * GFSK_PACKETS as u64, GFSK_PACKETS as u64),
            _ => (DSSS_ROUNDS as u64 * 8 * (352 + 176 + 64 + 32), DSSS_ROUNDS as u64 * 4),
        }
    }

    /// Skips this many blocks of four units, then works on this many.
    fn run(device: &mut Decoder, block: &mut u64, blocks: u64, gone: u64) {
        *block += gone;
        for _ in 0..blocks {
            device.begin_block(*block);
            device.run(4);
            *block += 1;
        }
    }

    #[test]
    fn what_is_repeated_brings_its_bits_again_and_again() {
        let mut bits = 0;
        for decodes in [Decodes::Gfsk, Decodes::Dsss] {
            let received = Received::make(decodes).unwrap();
            let (known, packets) = round(decodes);
            let signal = received.decoder.signal();
            assert_eq!((signal.known_bits(), signal.known_frames()), (known, packets));
            let units = signal.units().len() as u64;
            let mut device = received.device(0, 4, false);
            run(&mut device, &mut 0, units, 0);
            let [worked, connected, bits_known, wrong, missing, skipped, restarts, frames, right] =
                device.counts().numbers();
            assert_eq!((worked, connected), (4 * units, 4 * units));
            assert_eq!((wrong, missing, skipped, restarts), (0, 0, 0, 0), "{decodes:?}");
            assert_eq!((bits_known, frames, right), (4 * known, 4 * packets, 4 * packets), "{decodes:?}");
            bits += bits_known;
        }
        assert_eq!(bits, 4 * (3_840 + 9_984));
    }

    #[test]
    fn without_its_taps_no_packet_is_received() {
        for decodes in [Decodes::Gfsk, Decodes::Dsss] {
            let received = Received::make(decodes).unwrap();
            let mut device = received.device(0, 4, true);
            let units = received.decoder.signal().units().len() as u64;
            run(&mut device, &mut 0, units, 0);
            let counted = device.counts();
            let (known, packets) = round(decodes);
            assert_eq!((counted.missing, counted.bits, counted.wrong), (4 * known, 4 * known, 0), "{decodes:?}");
            assert_eq!((counted.frames, counted.frames_right), (4 * packets, 0), "{decodes:?}");
        }
    }

    /// A block that nobody worked on costs the packet to which it belongs, and no other.
    #[test]
    fn lost_blocks_cost_their_packets() {
        for (decodes, spacing, midst) in
            [(Decodes::Gfsk, GFSK_SPACING as u64, 1), (Decodes::Dsss, DSSS_SPACING as u64, 5)]
        {
            let received = Received::make(decodes).unwrap();
            let mut device = received.device(0, 4, false);
            let (known, packets) = round(decodes);
            let units = received.decoder.signal().units().len() as u64;
            let mut block = 0;
            // This many blocks after its beginning is the middle of a packet.
            run(&mut device, &mut block, spacing + midst, 0);
            run(&mut device, &mut block, spacing, 1);
            let one = device.counts();
            assert_eq!(one.skipped, 4);
            assert!(one.wrong + one.missing > 0 && one.frames_right < one.frames, "{decodes:?}: {one:?}");
            assert!(one.frames - one.frames_right <= 2, "{decodes:?}: {one:?}");
            // A whole round and a bit more in one go.
            run(&mut device, &mut block, spacing, units / 4 + spacing);
            let many = device.counts();
            assert!(many.missing - one.missing >= known && many.missing - one.missing < 3 * known, "{many:?}");
            let lost = (many.frames - many.frames_right) - (one.frames - one.frames_right);
            assert!(lost >= packets && lost <= packets + 8, "{decodes:?}: {lost} of {packets}");
            // Then all is well again, and every packet has been counted.
            run(&mut device, &mut block, 2 * units, 0);
            let again = device.counts();
            assert!(again.frames - again.frames_right <= many.frames - many.frames_right + 1, "{again:?}");
            assert!(again.frames.abs_diff(4 * block * packets / units) <= 1, "{decodes:?}: {block} blocks, {again:?}");
        }
    }
}
