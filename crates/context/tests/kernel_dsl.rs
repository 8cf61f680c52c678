//! The DSL modem's datapump as a BPF program against the same source on this processor: every sample, every bit, and at
//! the end of each symbol the whole state.

#![expect(clippy::print_stdout, reason = "it says what it compared and what the kernel verified")]

mod support;

use punctual_context::dsl::KernelDmt;
use punctual_datapump::{Dmt, DmtOptions, DmtSize, End, Phase};
use punctual_line::{Line, LineOptions};
use punctual_random::Random;
use support::verified_instructions;

/// One end in the kernel, its twin beside it, and the other end at the other side of the line.
struct Pair {
    kernel: KernelDmt,
    native: Dmt,
    other: Dmt,
    office: bool,
    line: Line,
    to_this: Vec<i16>,
    to_other: Vec<i16>,
    bits: [Random; 2],
    came: [Vec<bool>; 2],
    phases: Vec<Phase>,
    symbols: u64,
}

impl Pair {
    fn new(end: End, seed: u64, options: DmtOptions) -> Result<Pair, punctual_kernel::Refused> {
        let samples = options.size.symbol_samples();
        let options = DmtOptions { echo_delay: samples as u32, ..options };
        let native = Dmt::new(end, options);
        Ok(Pair {
            kernel: KernelDmt::load(&native)?,
            native,
            other: Dmt::new(if end == End::Office { End::Remote } else { End::Office }, options),
            office: end == End::Office,
            line: Line::new(seed, LineOptions::loop_of_wires()),
            to_this: vec![0; samples],
            to_other: vec![0; samples],
            bits: [Random(seed), Random(seed)],
            came: [Vec::new(), Vec::new()],
            phases: Vec::new(),
            symbols: 0,
        })
    }

    /// A symbol, from the line or, if given, of other samples.
    fn symbol(&mut self, instead: Option<Vec<i16>>) {
        let heard = instead.unwrap_or_else(|| self.to_this.clone());
        let mut by_kernel = vec![0; heard.len()];
        let (mut by_native, mut by_other) = (by_kernel.clone(), by_kernel.clone());
        let ([kernel_bits, native_bits], [kernel_came, native_came]) = (&mut self.bits, &mut self.came);
        let mut kernel_bit = || Some(kernel_bits.bits() & 1 == 1);
        self.native.process(&heard, &mut by_native, &mut || Some(native_bits.bits() & 1 == 1), &mut |bit| {
            native_came.push(bit);
        });
        let done = self.kernel.process(&heard, &mut by_kernel, &mut kernel_bit, &mut |bit| kernel_came.push(bit));
        done.expect("a program that was loaded runs");
        self.other.process(&self.to_other, &mut by_other, &mut || None, &mut |_| ());
        let status = self.native.status();
        assert_eq!(by_kernel, by_native, "sent after {} symbols, {status:?}", self.symbols);
        assert!(self.kernel.state() == self.native.state(), "after {} symbols, {status:?}", self.symbols);
        if self.office {
            self.line.pass_blocks(&mut by_native, &mut by_other);
        } else {
            self.line.pass_blocks(&mut by_other, &mut by_native);
        }
        // What each end sends has been replaced by what it hears.
        (self.to_this, self.to_other) = (by_native, by_other);
        self.symbols += 1;
        if self.phases.last() != Some(&status.phase) {
            self.phases.push(status.phase);
        }
    }

    fn run(&mut self, symbols: u32) {
        for _ in 0..symbols {
            self.symbol(None);
        }
    }
}

/// Start-up and data; random samples for a while, then silence, for longer than a carrier may be missing; a start-up
/// again. All of it once, or only the first two.
fn assert_equal(end: End, options: DmtOptions, symbols: u32, again: u32) {
    let mut pair = match Pair::new(end, 1, options) {
        Ok(pair) => pair,
        Err(refused) => return punctual_testing::skip("the DSL modem's datapump in the kernel", refused),
    };
    println!("{end:?}, {options:?}: {:?} instructions verified", verified_instructions());
    pair.run(symbols);
    assert_eq!(pair.native.status().phase, Phase::Connected, "{:?}", pair.native.status());
    let (mut random, samples) = (Random(1), options.size.symbol_samples());
    for _ in 0..20 {
        pair.symbol(Some((0..samples).map(|_| random.bits() as i16 >> 2).collect()));
    }
    if again > 0 {
        for _ in 0..50 {
            pair.symbol(Some(vec![0; samples]));
        }
        pair.run(again);
        let status = pair.native.status();
        assert!(status.phase == Phase::Connected && status.retrains >= 1, "{status:?}");
    }
    assert_eq!(pair.came[0], pair.came[1]);
    for phase in [Phase::Listening, Phase::Sending, Phase::Training, Phase::ReadingRate, Phase::Connected] {
        assert!(pair.phases.contains(&phase), "{:?}", pair.phases);
    }
    let (symbols, bits) = (pair.symbols, pair.came[0].len());
    println!("{symbols} symbols, {bits} received bits");
    assert!(symbols > 3_000 && bits > 10_000, "{symbols} symbols, {bits} bits");
}

#[test]
fn the_end_at_home_is_the_same_to_the_bit_in_the_kernel() {
    assert_equal(End::Remote, DmtOptions::default(), 3_200, 4_000);
}

#[test]
fn the_office_is_the_same_to_the_bit_in_the_kernel() {
    assert_equal(End::Office, DmtOptions { echo_banks: 3, ..DmtOptions::default() }, 3_200, 4_000);
}

#[test]
fn the_larger_size_is_the_same_to_the_bit_in_the_kernel() {
    assert_equal(End::Remote, DmtOptions { size: DmtSize::Full, ..DmtOptions::default() }, 4_250, 0);
}
