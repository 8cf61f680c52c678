//! A Bluetooth receiver and packets on the air, in virtual time.

#[path = "support/radio.rs"]
mod air;

use air::Air;
use proptest::prelude::*;
use punctual_datapump::{GFSK_PAYLOAD, Gfsk};
use punctual_random::Random;

/// Bits compared, wrong ones, and packets that were not found.
fn receive(receiver: &mut Gfsk, air: &mut Air, packets: u64) -> (u64, u64, u64) {
    let (mut bits, mut wrong, mut lost) = (0, 0, 0);
    for _ in 0..packets {
        let (samples, payload) = air.packet();
        let mut received = Vec::new();
        receiver.process(&samples, &mut |bit| received.push(bit));
        if received.len() == GFSK_PAYLOAD {
            bits += GFSK_PAYLOAD as u64;
            wrong += received.iter().zip(&payload).filter(|(one, other)| one != other).count() as u64;
        } else {
            lost += 1;
        }
    }
    (bits, wrong, lost)
}

#[test]
fn no_bit_is_wrong_without_noise_nor_with_little_nor_with_a_carrier_that_is_off() {
    let mut bits = 0;
    for (noise, offset) in [(None, 0.0), (Some(26.0), 0.0), (Some(30.0), 40_000.0), (Some(30.0), -40_000.0)] {
        let mut receiver = Gfsk::new();
        let result = receive(&mut receiver, &mut Air::new(1, noise, offset), 200);
        assert_eq!(result, (200 * GFSK_PAYLOAD as u64, 0, 0), "{noise:?}, {offset}");
        let status = receiver.status();
        assert_eq!((status.packets, status.bad_headers, status.bad_payloads), (200, 0, 0));
        bits += result.0;
    }
    assert_eq!(bits, 192_000);
}

#[test]
fn noise_makes_bits_wrong_and_checks_find_the_packets() {
    let mut before = 1.0;
    for (decibels, lowest, highest) in [(10.0, 0.03, 0.08), (14.0, 0.008, 0.02), (18.0, 0.0005, 0.003)] {
        let mut receiver = Gfsk::new();
        let (bits, wrong, _) = receive(&mut receiver, &mut Air::new(2, Some(decibels), 0.0), 400);
        let rate = wrong as f64 / bits as f64;
        assert!(bits > 80_000 && (lowest..highest).contains(&rate) && rate < before, "{decibels} dB: {rate}");
        assert!(receiver.status().bad_payloads > 0);
        before = rate;
    }
}

/// The control: what is received comes through the filter.
#[test]
fn without_its_taps_nothing_is_received() {
    let mut receiver = Gfsk::without_taps();
    assert_eq!(receive(&mut receiver, &mut Air::new(3, None, 0.0), 50), (0, 0, 50));
    assert_eq!(receiver.status().packets, 0);
}

#[test]
fn noise_alone_is_no_packet() {
    let mut random = Random(4);
    let mut receiver = Gfsk::new();
    let noise: Vec<i16> = (0..2_000_000).map(|_| random.bits() as i16 >> 2).collect();
    receiver.process(&noise, &mut |_| ());
    assert_eq!(receiver.status().packets, 0, "of 1,000,000 samples");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn cut_anywhere_it_is_the_same(seed in any::<u64>(), cuts in prop::collection::vec(0..600usize, 1..8)) {
        let (samples, _) = Air::new(seed, Some(16.0), 10_000.0).packet();
        let (mut whole, mut parts) = (Gfsk::new(), Gfsk::new());
        whole.process(&samples, &mut |_| ());
        let mut rest = &samples[..];
        for cut in cuts {
            let (part, behind) = rest.split_at((2 * cut).min(rest.len()));
            parts.process(part, &mut |_| ());
            rest = behind;
        }
        parts.process(rest, &mut |_| ());
        prop_assert!(whole.state() == parts.state());
    }

    #[test]
    fn any_samples_are_borne(seed in any::<u64>(), loud in 0..16u32) {
        let mut random = Random(seed);
        let samples: Vec<i16> = (0..20_000).map(|_| random.bits() as i16 >> loud).collect();
        let mut bits = 0u64;
        let mut receiver = Gfsk::new();
        receiver.process(&samples, &mut |_| bits += 1);
        prop_assert_eq!(bits, receiver.state().bits_received());
    }
}
