//! What a block costs the datapump where it is to work, by the taps of its echo canceller.

use super::KernelQam;
use crate::Context;
use punctual_datapump::{ECHO_BANK, MAX_ECHO_BANKS, Qam, QamOptions, Role};
use punctual_kernel::{Refused, clock};

/// How often each of the two sizes is timed. The shortest time counts: nothing makes work faster.
const TRIALS: usize = 40;
/// The larger of the two, in banks: enough for a bank's own time to show.
const LARGE: u32 = 65;

/// The time that a block takes, ns: a part that is always the same, and one for each bank of taps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockCost {
    base_ns: f64,
    bank_ns: f64,
}

impl BlockCost {
    /// Times a datapump that listens, on blocks of so many samples: as a BPF program where the context is one of the kernel's,
    /// and otherwise by the processor time of this thread.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn measure(context: Context, samples: usize) -> Result<BlockCost, Refused> {
        let timed =
            |banks: u32| if context.is_in_kernel() { in_kernel(banks, samples) } else { Ok(native(banks, samples)) };
        Ok(BlockCost::of_two(timed(1)?, timed(LARGE)?))
    }

    /// From what one bank takes, and what [`LARGE`] take, ns.
    fn of_two(one_ns: u64, large_ns: u64) -> BlockCost {
        let bank_ns = (large_ns.saturating_sub(one_ns).max(1) as f64) / f64::from(LARGE - 1);
        BlockCost { base_ns: (one_ns as f64 - bank_ns).max(0.0), bank_ns }
    }

    /// What a block takes with so many taps, ns.
    pub fn block_ns(&self, taps: u32) -> u64 {
        (self.base_ns + self.bank_ns * f64::from(taps / ECHO_BANK)) as u64
    }

    /// The taps with which a block takes about this long, ns; `None`: it takes more with the fewest, or less with the most.
    pub fn taps_for(&self, block_ns: f64) -> Option<u32> {
        // Half a bank beyond either end still rounds to that end.
        let banks = ((block_ns - self.base_ns) / self.bank_ns).round();
        (1.0..=f64::from(MAX_ECHO_BANKS)).contains(&banks).then(|| banks as u32 * ECHO_BANK)
    }
}

fn pump(banks: u32) -> Qam {
    Qam::new(Role::Calling, QamOptions { echo_banks: banks, ..QamOptions::default() })
}

fn native(banks: u32, samples: usize) -> u64 {
    let (mut pump, received, mut sent) = (pump(banks), vec![0; samples], vec![0; samples]);
    let time = |_| {
        let began = clock::thread_cpu_ns();
        pump.process(&received, &mut sent, &mut || None, &mut |_| ());
        clock::thread_cpu_ns() - began
    };
    (0..TRIALS).map(time).min().unwrap_or(0)
}

fn in_kernel(banks: u32, samples: usize) -> Result<u64, Refused> {
    let (mut kernel, received, mut sent) = (KernelQam::load(&pump(banks))?, vec![0; samples], vec![0; samples]);
    let mut least = u64::MAX;
    for _ in 0..TRIALS {
        let began = clock::monotonic_ns();
        kernel.process(&received, &mut sent, &mut || None, &mut |_| ())?;
        least = least.min(clock::monotonic_ns() - began);
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Taps that were found for a time take about that time, and no other number of them comes closer.
        #[test]
        fn taps_for_a_time_take_about_that_time(
            one in 1_000..200_000u64, bank in 100..40_000u64, part in 0.0..1.2f64,
        ) {
            let cost = BlockCost::of_two(one + bank, one + u64::from(LARGE) * bank);
            let most = cost.block_ns(ECHO_BANK * MAX_ECHO_BANKS) as f64;
            let asked = most * part;
            match cost.taps_for(asked) {
                Some(taps) => {
                    prop_assert!(taps % ECHO_BANK == 0 && (ECHO_BANK..=ECHO_BANK * MAX_ECHO_BANKS).contains(&taps));
                    let apart = |taps: u32| (cost.block_ns(taps) as f64 - asked).abs();
                    prop_assert!(apart(taps) <= bank as f64 / 2.0 + 2.0, "{taps}: {}", apart(taps));
                }
                None => {
                    let least = cost.block_ns(ECHO_BANK) as f64;
                    prop_assert!(asked < least || asked > most, "{asked} of {least} to {most}");
                }
            }
        }
    }

    #[test]
    fn more_taps_take_more_of_this_processor() {
        let cost = BlockCost::measure(Context::Thread(punctual_kernel::scheduling::Scheduling::Other), 90).unwrap();
        let [least, most] = [ECHO_BANK, ECHO_BANK * MAX_ECHO_BANKS].map(|taps| cost.block_ns(taps));
        assert!(least > 0 && most > 8 * least, "{least} and {most} ns");
        assert_eq!(cost.taps_for(most as f64 * 2.0), None);
        assert_eq!(cost.taps_for(0.0), None);
    }
}
