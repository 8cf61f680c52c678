//! A call of the library's V.22bis that is worked on block by block, as a device's thread does it. Skipped, loudly, where the library is
//! not installed.

use punctual_spandsp::{Library, SteadyCall};

/// Samples in a block of 8 ms, and bits that 2,400 bit/s bring in it, times 10.
const SAMPLES: usize = 64;
const TENTHS_OF_BITS: u64 = 192;

#[test]
fn a_call_carries_every_bit_until_its_end_misses_blocks_and_comes_back() {
    let library = match Library::load() {
        Ok(library) => library,
        Err(missing) => return punctual_testing::skip("a steady call of spandsp's V.22bis", missing),
    };
    let mut call = SteadyCall::connected(library, SAMPLES).expect("it connects");
    (0..500).for_each(|_| call.work());
    let expected = 500 * TENTHS_OF_BITS / 10;
    assert!(call.came().abs_diff(expected) <= 16, "{} of {expected} bits", call.came());
    assert_eq!((call.wrong(), call.status().retrains), (0, 0), "{:?}", call.status());
    // 104 ms are more than V.22bis bears.
    (0..13).for_each(|_| call.miss());
    let blocks = (0..1_500).take_while(|_| {
        call.work();
        call.status().retrains == 0 || !call.status().is_connected
    });
    let blocks = blocks.count();
    assert!(blocks < 1_500, "it never trained again: {:?}, {} bits wrong", call.status(), call.wrong());
}
