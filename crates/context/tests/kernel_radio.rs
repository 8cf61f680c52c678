//! The receivers of Bluetooth and of 802.11b as BPF programs against the same sources on this processor: every bit, and
//! after each block the whole state.

#![expect(clippy::print_stdout, reason = "it says what it compared and what the kernel verified")]

mod support;

use punctual_context::radio::KernelRadio;
use punctual_datapump::{
    DSSS_UNIT, Dsss, DsssRate, GFSK_UNIT, Gfsk, Receiver, dsss_frame, dsss_packet, gfsk_packet, gfsk_payload,
};
use punctual_kernel::Refused;
use punctual_random::Random;
use support::verified_instructions;

/// What was compared.
#[derive(Default)]
struct Compared {
    samples: usize,
    bits: usize,
    /// Packets that came without an error.
    right: u32,
}

/// Compares a receiver in the kernel with the same one on this processor, over 60 packets.
fn compare<R: Receiver>(
    kernel: Result<KernelRadio<R>, Refused>,
    block: usize,
    mut packet: impl FnMut(u32, &mut Random) -> (Vec<i16>, Vec<bool>),
    mut native: impl FnMut(&[i16], &mut Vec<bool>) -> R,
) -> Option<Compared> {
    let mut kernel = match kernel {
        Ok(kernel) => kernel,
        Err(refused) => {
            punctual_testing::skip("a radio's receiver in the kernel", refused);
            return None;
        }
    };
    println!("{:?} instructions verified", verified_instructions());
    let mut random = Random(1);
    let mut compared = Compared::default();
    let mut came = [Vec::new(), Vec::new()];
    for number in 0..60u32 {
        let mut heard = vec![0; 2 * (40 + random.below(200) as usize)];
        let (samples, sent) = packet(number, &mut random);
        heard.extend(samples);
        heard.resize(heard.len() + 100, 0);
        // From hardly any noise to more than there is signal.
        let shift = 12 - number % 12;
        heard.iter_mut().for_each(|sample| *sample = sample.saturating_add(random.bits() as i16 >> shift));
        let before = came[0].len();
        for block in heard.chunks(2 * block) {
            let [by_native, by_kernel] = &mut came;
            let state = native(block, by_native);
            kernel.process(block, &mut |bit| by_kernel.push(bit)).expect("a program that was loaded runs");
            compared.samples += block.len() / 2;
            assert!(*kernel.state() == state, "after {} samples", compared.samples);
        }
        compared.right += u32::from(came[0][before..] == sent[..]);
    }
    assert_eq!(came[0], came[1]);
    compared.bits = came[0].len();
    let Compared { samples, bits, right } = compared;
    println!("{samples} samples, {bits} received bits, {right} packets without an error");
    Some(compared)
}

#[test]
fn bluetooth_and_noise_are_the_same_to_the_bit_in_the_kernel() {
    let mut receiver = Gfsk::new();
    let compared = compare(
        KernelRadio::gfsk(&receiver),
        GFSK_UNIT,
        |_, random| {
            let payload = gfsk_payload(std::iter::repeat_with(|| random.bits() & 1 == 1));
            (gfsk_packet(&payload), payload)
        },
        |samples, bits| {
            receiver.process(samples, &mut |bit| bits.push(bit));
            receiver.state().clone()
        },
    );
    let Some(Compared { samples, right, .. }) = compared else { return };
    let status = receiver.status();
    assert!(samples > 60_000 && right >= 30 && status.bad_payloads > 0, "{samples}, {right}, {status:?}");
}

#[test]
fn every_rate_of_80211b_and_noise_are_the_same_to_the_bit_in_the_kernel() {
    let mut receiver = Dsss::new();
    let compared = compare(
        KernelRadio::dsss(&receiver),
        DSSS_UNIT,
        |number, random| {
            let rate = DsssRate::ALL[number as usize / 12 % 4];
            let octets: Vec<u8> = (0..40).map(|_| random.bits() as u8).collect();
            let frame = dsss_frame(&octets);
            let bits = frame.iter().flat_map(|octet| (0..8).map(move |bit| octet >> bit & 1 == 1)).collect();
            (dsss_packet(&frame, rate), bits)
        },
        |samples, bits| {
            receiver.process(samples, &mut |bit| bits.push(bit));
            receiver.state().clone()
        },
    );
    let Some(Compared { samples, right, .. }) = compared else { return };
    let status = receiver.status();
    assert!(samples > 300_000 && right >= 30, "{samples}, {right}, {status:?}");
    assert!(status.bad_frames + status.bad_headers > 0, "{status:?}");
}
