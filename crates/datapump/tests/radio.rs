//! Receivers of Bluetooth and of 802.11b, and packets on the air, in virtual time.

#[path = "support/radio.rs"]
mod air;

use air::{Kind, Packets};
use proptest::prelude::*;
use punctual_datapump::{Dsss, DsssRate, Gfsk};
use punctual_random::Random;

/// Octets of a frame here.
const OCTETS: usize = 40;

/// A receiver of either kind.
enum Receiver {
    Gfsk(Gfsk),
    Dsss(Dsss),
}

/// Packets found, with a wrong header, with a wrong check, and with a right one.
type Found = (u64, u64, u64, u64);

impl Receiver {
    fn of(kind: Kind, taps: bool) -> Receiver {
        match (kind, taps) {
            (Kind::Gfsk, true) => Receiver::Gfsk(Gfsk::new()),
            (Kind::Gfsk, false) => Receiver::Gfsk(Gfsk::without_taps()),
            (Kind::Dsss(..), true) => Receiver::Dsss(Dsss::new()),
            (Kind::Dsss(..), false) => Receiver::Dsss(Dsss::without_taps()),
        }
    }

    fn process(&mut self, samples: &[i16]) -> Vec<bool> {
        let mut received = Vec::new();
        match self {
            Receiver::Gfsk(receiver) => receiver.process(samples, &mut |bit| received.push(bit)),
            Receiver::Dsss(receiver) => receiver.process(samples, &mut |bit| received.push(bit)),
        }
        received
    }

    fn found(&self) -> Found {
        match self {
            Receiver::Gfsk(receiver) => {
                let status = receiver.status();
                (status.packets, status.bad_headers, status.bad_payloads, status.right)
            }
            Receiver::Dsss(receiver) => {
                let status = receiver.status();
                (status.packets, status.bad_headers, status.bad_frames, status.right)
            }
        }
    }

    fn knows_the_same(&self, other: &Receiver) -> bool {
        match (self, other) {
            (Receiver::Gfsk(one), Receiver::Gfsk(other)) => one.state() == other.state(),
            (Receiver::Dsss(one), Receiver::Dsss(other)) => one.state() == other.state(),
            _ => false,
        }
    }
}

fn kinds() -> Vec<Kind> {
    [Kind::Gfsk].into_iter().chain(DsssRate::ALL.map(|rate| Kind::Dsss(rate, OCTETS))).collect()
}

/// Bits compared, wrong ones, and packets that were not found.
fn receive(receiver: &mut Receiver, kind: Kind, on_the_air: &mut Packets, packets: u64) -> (u64, u64, u64) {
    let (mut bits, mut wrong, mut lost) = (0, 0, 0);
    for _ in 0..packets {
        let (samples, sent) = on_the_air.packet();
        let received = receiver.process(&samples);
        if received.len() == kind.bits() {
            bits += kind.bits() as u64;
            wrong += received.iter().zip(&sent).filter(|(one, other)| one != other).count() as u64;
        } else {
            lost += 1;
        }
    }
    (bits, wrong, lost)
}

#[test]
fn no_bit_is_wrong_without_noise_nor_with_little_nor_with_a_carrier_that_is_off() {
    let mut bits = 0;
    for kind in kinds() {
        let off = if matches!(kind, Kind::Gfsk) { 40_000.0 } else { 120_000.0 };
        for (noise, offset) in [(None, 0.0), (Some(26.0), 0.0), (Some(30.0), off), (Some(30.0), -off)] {
            let mut receiver = Receiver::of(kind, true);
            let result = receive(&mut receiver, kind, &mut Packets::new(kind, 1, noise, offset), 200);
            assert_eq!(result, (200 * kind.bits() as u64, 0, 0), "{kind:?}, {noise:?}, {offset}");
            assert_eq!(receiver.found(), (200, 0, 0, 200), "{kind:?}, {noise:?}, {offset}");
            bits += result.0;
        }
    }
    assert_eq!(bits, 4 * 200 * (240 + 4 * 320));
}

#[test]
fn noise_makes_bits_wrong_and_checks_find_the_packets() {
    use DsssRate::{Eleven, FiveAndAHalf, One, Two};
    for (kind, rates) in [
        (Kind::Gfsk, [(10.0, 0.03, 0.08), (14.0, 0.008, 0.02), (18.0, 0.0005, 0.003)]),
        (Kind::Dsss(One, OCTETS), [(6.0, 0.01, 0.05), (8.0, 0.002, 0.005), (9.0, 0.0002, 0.002)]),
        (Kind::Dsss(Two, OCTETS), [(6.0, 0.03, 0.08), (9.0, 0.002, 0.006), (11.0, 0.00005, 0.0006)]),
        (Kind::Dsss(FiveAndAHalf, OCTETS), [(4.0, 0.015, 0.04), (6.0, 0.001, 0.005), (7.0, 0.0002, 0.002)]),
        (Kind::Dsss(Eleven, OCTETS), [(4.0, 0.025, 0.06), (6.0, 0.003, 0.012), (8.0, 0.00005, 0.0008)]),
    ] {
        let mut before = 1.0;
        for (decibels, lowest, highest) in rates {
            let mut receiver = Receiver::of(kind, true);
            let (bits, wrong, _) = receive(&mut receiver, kind, &mut Packets::new(kind, 2, Some(decibels), 0.0), 400);
            let rate = wrong as f64 / bits as f64;
            assert!(bits > 50_000, "{kind:?}, {decibels} dB: {bits}");
            assert!((lowest..highest).contains(&rate) && rate < before, "{kind:?}, {decibels} dB: {rate}");
            assert!(receiver.found().2 > 0);
            before = rate;
        }
    }
}

/// The control: what is received comes through the filter.
#[test]
fn without_its_taps_nothing_is_received() {
    for kind in kinds() {
        for noise in [None, Some(20.0)] {
            let mut receiver = Receiver::of(kind, false);
            let result = receive(&mut receiver, kind, &mut Packets::new(kind, 3, noise, 0.0), 50);
            assert_eq!(result, (0, 0, 50), "{kind:?}");
            assert_eq!(receiver.found(), (0, 0, 0, 0), "{kind:?}");
        }
    }
}

#[test]
fn noise_alone_is_no_packet() {
    let mut random = Random(4);
    let noise: Vec<i16> = (0..2_000_000).map(|_| random.bits() as i16 >> 2).collect();
    for kind in [Kind::Gfsk, Kind::Dsss(DsssRate::One, OCTETS)] {
        let mut receiver = Receiver::of(kind, true);
        receiver.process(&noise);
        assert_eq!(receiver.found().0, 0, "{kind:?}, of 1,000,000 samples");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn cut_anywhere_it_is_the_same(
        seed in any::<u64>(),
        kind in 0..5usize,
        cuts in prop::collection::vec(0..3_000usize, 1..8),
    ) {
        let kind = kinds()[kind];
        let (samples, _) = Packets::new(kind, seed, Some(16.0), 10_000.0).packet();
        let (mut whole, mut parts) = (Receiver::of(kind, true), Receiver::of(kind, true));
        whole.process(&samples);
        let mut rest = &samples[..];
        for cut in cuts {
            let (part, behind) = rest.split_at((2 * cut).min(rest.len()));
            parts.process(part);
            rest = behind;
        }
        parts.process(rest);
        prop_assert!(whole.knows_the_same(&parts));
    }

    #[test]
    fn any_samples_are_borne(seed in any::<u64>(), loud in 0..16u32) {
        let mut random = Random(seed);
        let samples: Vec<i16> = (0..20_000).map(|_| random.bits() as i16 >> loud).collect();
        let mut receiver = Gfsk::new();
        let mut bits = 0u64;
        receiver.process(&samples, &mut |_| bits += 1);
        prop_assert_eq!(bits, receiver.state().bits_received());
        // The loudest possible samples, inside and outside a packet.
        let mut receiver = Dsss::new();
        let (mut packet, _) = Packets::new(Kind::Dsss(DsssRate::Eleven, OCTETS), seed, None, 0.0).packet();
        packet.iter_mut().skip(9_500).for_each(|sample| *sample = random.bits() as i16 | i16::MIN);
        let mut bits = 0u64;
        for samples in [samples, packet] {
            receiver.process(&samples, &mut |_| bits += 1);
        }
        prop_assert_eq!(bits, receiver.state().bits_received());
        prop_assert!(bits > 0);
    }
}
