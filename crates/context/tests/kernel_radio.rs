//! The Bluetooth receiver as a BPF program against the same source on this processor: every bit, and after each block
//! everything that it knows.

#![expect(clippy::print_stdout, reason = "it says what it compared and what the kernel verified")]

mod support;

use punctual_context::radio::KernelGfsk;
use punctual_datapump::{GFSK_UNIT, Gfsk, gfsk_packet, gfsk_payload};
use punctual_random::Random;
use support::verified_instructions;

#[test]
fn packets_and_noise_are_the_same_to_the_bit_in_the_kernel() {
    let mut native = Gfsk::new();
    let mut kernel = match KernelGfsk::load(&native) {
        Ok(kernel) => kernel,
        Err(refused) => return punctual_testing::skip("the Bluetooth receiver in the kernel", refused),
    };
    println!("{:?} instructions verified", verified_instructions());
    let mut random = Random(1);
    let (mut samples, mut came, mut right) = (0, [Vec::new(), Vec::new()], 0);
    for packet in 0..60u32 {
        let payload = gfsk_payload(std::iter::repeat_with(|| random.bits() & 1 == 1));
        let mut heard = vec![0; 2 * (40 + random.below(200) as usize)];
        heard.extend(gfsk_packet(&payload));
        // From hardly any noise to more than there is signal.
        let shift = 12 - packet % 12;
        heard.iter_mut().for_each(|sample| *sample = sample.saturating_add(random.bits() as i16 >> shift));
        let before = came[0].len();
        for block in heard.chunks(2 * GFSK_UNIT) {
            let [by_native, by_kernel] = &mut came;
            native.process(block, &mut |bit| by_native.push(bit));
            kernel.process(block, &mut |bit| by_kernel.push(bit)).expect("a program that was loaded runs");
            samples += block.len() / 2;
            assert!(kernel.state() == native.state(), "after {samples} samples, {:?}", native.status());
        }
        right += u32::from(came[0][before..] == payload[..]);
    }
    assert_eq!(came[0], came[1]);
    println!(
        "{samples} samples, {} received bits, {right} packets without an error, {:?}",
        came[0].len(),
        native.status()
    );
    assert!(samples > 60_000 && right >= 30 && native.status().bad_payloads > 0, "{right}, {:?}", native.status());
}
