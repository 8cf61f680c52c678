//! The modem's datapump as a BPF program against the same source on this processor: every sample, every bit, and at the
//! end of each block the whole state.

#![expect(clippy::print_stdout, reason = "it says what it compared and what the kernel verified")]

mod support;

use punctual_context::Context;
use punctual_context::modem::{InterruptQam, KernelQam};
use punctual_datapump::{MAX_ECHO_BANKS, Phase, Qam, QamOptions, Role};
use punctual_line::{ClockedLine, Line, LineOptions, Opposite};
use punctual_random::Random;
use std::time::{Duration, Instant};
use support::verified_instructions;

const BLOCK: usize = 90;

/// One end in the kernel, its twin beside it, and the other end at the other side of the line.
struct Call {
    kernel: KernelQam,
    native: Qam,
    other: Qam,
    line: Line,
    to_this: [i16; BLOCK],
    to_other: [i16; BLOCK],
    bits: [Random; 2],
    came: [Vec<bool>; 2],
    phases: Vec<Phase>,
    samples: u64,
}

impl Call {
    fn new(role: Role, seed: u64, options: QamOptions) -> Result<Call, punctual_kernel::Refused> {
        let (native, other) =
            (Qam::new(role, options), if role == Role::Calling { Role::Answering } else { Role::Calling });
        Ok(Call {
            kernel: KernelQam::load(&native)?,
            native,
            other: Qam::new(other, QamOptions::default()),
            line: Line::new(seed, LineOptions { frequency_offset: 3.0, ..LineOptions::telephone() }),
            to_this: [0; BLOCK],
            to_other: [0; BLOCK],
            bits: [Random(seed), Random(seed)],
            came: [Vec::new(), Vec::new()],
            phases: Vec::new(),
            samples: 0,
        })
    }

    /// A block, from the line or, if given, of other samples.
    fn block(&mut self, instead: Option<[i16; BLOCK]>) {
        let heard = instead.unwrap_or(self.to_this);
        let (mut by_kernel, mut by_native, mut by_other) = ([0; BLOCK], [0; BLOCK], [0; BLOCK]);
        let ([kernel_bits, native_bits], [kernel_came, native_came]) = (&mut self.bits, &mut self.came);
        let mut kernel_bit = || Some(kernel_bits.bits() & 1 == 1);
        self.native.process(&heard, &mut by_native, &mut || Some(native_bits.bits() & 1 == 1), &mut |bit| {
            native_came.push(bit)
        });
        let done = self.kernel.process(&heard, &mut by_kernel, &mut kernel_bit, &mut |bit| kernel_came.push(bit));
        done.expect("a program that was loaded runs");
        self.other.process(&self.to_other, &mut by_other, &mut || None, &mut |_| ());
        assert_eq!(by_kernel, by_native, "sent after {} samples, {:?}", self.samples, self.native.status());
        assert!(
            self.kernel.state() == self.native.state(),
            "after {} samples, {:?}",
            self.samples,
            self.native.status()
        );
        (self.to_this, self.to_other) = (by_native, by_other);
        self.line.pass_blocks(&mut self.to_this, &mut self.to_other);
        self.samples += BLOCK as u64;
        let phase = self.native.status().phase;
        if self.phases.last() != Some(&phase) {
            self.phases.push(phase);
        }
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds * 80 {
            self.block(None);
        }
    }
}

#[test]
fn a_whole_call_is_the_same_to_the_bit_in_the_kernel() {
    let (mut samples, mut bits) = (0, 0);
    for (role, seed, banks) in [(Role::Calling, 1, 1), (Role::Answering, 2, 1), (Role::Calling, 3, 3)] {
        let options = QamOptions { echo_banks: banks, ..QamOptions::default() };
        let mut call = match Call::new(role, seed, options) {
            Ok(call) => call,
            Err(refused) => return punctual_testing::skip("the modem's datapump in the kernel", refused),
        };
        println!("{role:?}, {banks} banks: {:?} instructions verified", verified_instructions());
        // Start-up and data; random samples, as lost ones would leave; a start-up again, and data.
        call.run(4);
        assert_eq!(call.native.status().phase, Phase::Connected);
        let mut random = Random(seed);
        for _ in 0..40 {
            call.block(Some(std::array::from_fn(|_| random.bits() as i16 >> 2)));
        }
        call.run(6);
        let status = call.native.status();
        assert!(status.phase == Phase::Connected && status.retrains >= 1, "{status:?}");
        assert_eq!(call.came[0], call.came[1]);
        for phase in [Phase::Listening, Phase::Sending, Phase::Training, Phase::ReadingRate, Phase::Connected] {
            assert!(call.phases.contains(&phase), "{:?}", call.phases);
        }
        samples += call.samples;
        bits += call.came[0].len();
    }
    println!("{samples} samples, {bits} received bits");
    assert!(samples >= 3 * 10 * 7_200 && bits > 100_000, "{samples} samples, {bits} bits");
}

/// However many taps are asked for, up to the most there are: a start-up, data, and the samples of a clock that runs ahead, for which
/// the symbol clock moves.
#[test]
fn other_numbers_of_taps_are_the_same_to_the_bit() {
    let mut samples = 0;
    for (role, seed, banks) in [(Role::Answering, 4, 2), (Role::Calling, 5, 48), (Role::Calling, 6, 128)] {
        let options = QamOptions { echo_banks: banks, ..QamOptions::default() };
        let mut call = match Call::new(role, seed, options) {
            Ok(call) => call,
            Err(refused) => return punctual_testing::skip("other numbers of taps in the kernel", refused),
        };
        call.run(3);
        assert_eq!(call.native.status().phase, Phase::Connected, "{banks} banks");
        assert_eq!(call.came[0], call.came[1]);
        assert!(call.came[0].len() > 5_000, "{banks} banks: {} bits", call.came[0].len());
        samples += call.samples;
    }
    // As far as the most there are go in a block's time: the answering end's first burst.
    let options = QamOptions { echo_banks: MAX_ECHO_BANKS, ..QamOptions::default() };
    let mut call = Call::new(Role::Answering, 7, options).expect("it was loaded before");
    for _ in 0..60 {
        call.block(None);
    }
    assert!(call.phases.contains(&Phase::Sending), "{:?}", call.phases);
    println!("{samples} samples with 256, 6,144 and 16,384 taps, {} with 65,536", call.samples);
}

/// What one end hears of another whose clock runs ahead, until the symbol clock has moved several times.
#[test]
fn a_symbol_clock_that_moves_is_the_same_to_the_bit() {
    struct Ahead {
        pump: Qam,
        heard: Vec<i16>,
        sent: [i16; BLOCK],
    }

    impl Opposite for Ahead {
        fn sends(&self) -> i16 {
            self.sent[self.heard.len()]
        }

        fn hears(&mut self, sample: i16) {
            self.heard.push(sample);
            if self.heard.len() == BLOCK {
                self.pump.process(&self.heard, &mut self.sent, &mut || None, &mut |_| ());
                self.heard.clear();
            }
        }
    }

    for ppm in [200, -200] {
        let mut native = Qam::new(Role::Calling, QamOptions { echo_delay: BLOCK as u32, ..QamOptions::default() });
        let mut kernel = match KernelQam::load(&native) {
            Ok(kernel) => kernel,
            Err(refused) => return punctual_testing::skip("a symbol clock that moves, in the kernel", refused),
        };
        let other = QamOptions { echo_delay: BLOCK as u32, ..QamOptions::default() };
        let mut far = Ahead { pump: Qam::new(Role::Answering, other), heard: Vec::new(), sent: [0; BLOCK] };
        let mut line = ClockedLine::new(8, LineOptions::telephone(), ppm);
        let (mut by_native, mut by_kernel) = ([0; BLOCK], [0; BLOCK]);
        // 20 s, in which the clocks come apart by 29 samples.
        for block in 0..1_600 {
            let heard: [i16; BLOCK] = std::array::from_fn(|place| line.pass(by_native[place], &mut far));
            native.process(&heard, &mut by_native, &mut || None, &mut |_| ());
            let done = kernel.process(&heard, &mut by_kernel, &mut || None, &mut |_| ());
            done.expect("a program that was loaded runs");
            assert_eq!(by_kernel, by_native, "{ppm} ppm, block {block}, {:?}", native.status());
            assert!(kernel.state() == native.state(), "{ppm} ppm, block {block}, {:?}", native.status());
        }
        let status = native.status();
        assert_eq!((status.phase, status.retrains), (Phase::Connected, 0), "{ppm} ppm: {status:?}");
    }
}

/// Waits until the block that was handed in has been worked on.
fn wait_until_made(kernel: &InterruptQam, doing: &str) {
    let until = Instant::now() + Duration::from_secs(5);
    while !kernel.is_made() {
        assert!(Instant::now() < until, "{doing}: {:?}", kernel.trouble());
        kernel.beat();
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// While the kernel works on a block, its memory is nobody else's.
#[test]
fn a_pump_that_is_the_kernels_is_not_touched() {
    const TEST: &str = "a_pump_that_is_the_kernels_is_not_touched";
    let cpu = *punctual_kernel::scheduling::allowed_cpus().last().expect("a CPU");
    // The first interrupt comes after the test.
    let native = Qam::new(Role::Calling, QamOptions::default());
    let mut kernel = match InterruptQam::start(Context::Irq, cpu, &native, 3_600_000_000_000, 0) {
        Ok(kernel) => kernel,
        Err(refused) => return punctual_testing::skip(TEST, refused),
    };
    assert_eq!(kernel.status(), native.status());
    kernel.give(&[0; BLOCK], &mut || None);
    assert!(!kernel.is_made());
    assert!(is_refused(&mut kernel, |kernel| _ = kernel.status()));
    assert!(is_refused(&mut kernel, |kernel| kernel.give(&[0; BLOCK], &mut || None)));
    assert!(is_refused(&mut kernel, |kernel| _ = kernel.take(&mut [0; BLOCK], &mut |_| ())));
}

fn is_refused(kernel: &mut InterruptQam, touch: impl FnOnce(&mut InterruptQam)) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| touch(kernel))).is_err()
}

/// The same where interrupts of this machine, and then softirq callbacks, work on a block each.
#[test]
fn a_start_up_is_the_same_to_the_bit_in_interrupts() {
    let cpu = *punctual_kernel::scheduling::allowed_cpus().last().expect("a CPU");
    for (context, banks) in [(Context::Irq, 1), (Context::Softirq, 1), (Context::Irq, 48)] {
        let mut native = Qam::new(Role::Calling, QamOptions { echo_banks: banks, ..QamOptions::default() });
        let mut other = Qam::new(Role::Answering, QamOptions::default());
        let mut kernel = match InterruptQam::start(context, cpu, &native, 5_000_000, 0) {
            Ok(kernel) => kernel,
            Err(refused) => {
                punctual_testing::skip(&format!("the modem's datapump in {context}"), refused);
                continue;
            }
        };
        let mut line = Line::new(7, LineOptions::telephone());
        let (mut to_this, mut to_other) = ([0i16; BLOCK], [0i16; BLOCK]);
        // 2.5 s of the line; a start-up takes 1.8 s.
        for block in 0..200 {
            let (mut by_kernel, mut by_native, mut by_other) = ([0i16; BLOCK], [0i16; BLOCK], [0i16; BLOCK]);
            kernel.give(&to_this, &mut || Some(block % 3 == 0));
            wait_until_made(&kernel, &format!("{context}, block {block}"));
            let worked = kernel.take(&mut by_kernel, &mut |_| ());
            assert!(worked.began_ns <= worked.computed_ns && worked.computed_ns <= worked.ended_ns, "{worked:?}");
            native.process(&to_this, &mut by_native, &mut || Some(block % 3 == 0), &mut |_| ());
            other.process(&to_other, &mut by_other, &mut || None, &mut |_| ());
            assert_eq!(by_kernel, by_native, "{context}, block {block}, {:?}", native.status());
            (to_this, to_other) = (by_native, by_other);
            line.pass_blocks(&mut to_this, &mut to_other);
        }
        assert_eq!(native.status().phase, Phase::Connected);
        assert_eq!(kernel.status(), native.status());
        assert!(kernel.interrupts() >= 200, "{context}: {} interrupts for 200 blocks", kernel.interrupts());
    }
}
