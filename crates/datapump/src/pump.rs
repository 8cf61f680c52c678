//! The datapump.

/// Samples that the ring holds.
pub const PUMP_RING: usize = 512;
/// Multiply-accumulates in a unit of work.
pub const TAPS: usize = 128;
const BANKS: usize = 8;

unsafe extern "C" {
    fn punctual_pump_run(pump: *mut Pump, units: u64);
}

/// `struct pump` of `c/pump.h`: everything a datapump knows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C)]
pub struct Pump {
    /// Samples filtered so far.
    pub samples: u64,
    /// A digest of every output so far: equal exactly if all outputs were.
    pub digest: u64,
    position: u32,
    pass: u32,
    passes: u32,
    sum: u32,
    ring: [u32; PUMP_RING],
    delay: [i32; 2 * TAPS],
    taps: [i32; BANKS * TAPS],
}

impl Pump {
    /// A fresh pump that filters each sample this many times, at least once.
    pub fn new(passes: u32) -> Pump {
        let mut state = 200_088u32;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        Pump {
            samples: 0,
            digest: 0xcbf2_9ce4_8422_2325,
            position: 0,
            pass: 0,
            passes: passes.max(1),
            sum: 0,
            ring: std::array::from_fn(|_| random()),
            delay: [0; 2 * TAPS],
            taps: std::array::from_fn(|_| random() as i32 >> 17),
        }
    }

    /// How many units of work a sample takes.
    pub fn passes(&self) -> u32 {
        self.passes
    }

    /// Does this many units of [`TAPS`] multiply-accumulates each.
    #[inline]
    pub fn run(&mut self, units: u64) {
        // SAFETY: the layouts are the same, as a test of sizes and outputs checks; the function touches nothing else.
        unsafe { punctual_pump_run(self, units) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same pump, written a second time.
    fn slowly(pump: &mut Pump, units: u64) {
        for _ in 0..units {
            if pump.pass == 0 {
                let cell = pump.samples as usize % PUMP_RING;
                let value = pump.ring[cell];
                pump.ring[cell] = value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                pump.position = (pump.position + TAPS as u32 - 1) % TAPS as u32;
                let sample = value as i32 >> 16;
                pump.delay[pump.position as usize] = sample;
                pump.delay[pump.position as usize + TAPS] = sample;
            }
            let bank = pump.pass as usize % BANKS;
            let mut sum = pump.sum;
            for tap in 0..TAPS {
                let product = pump.delay[pump.position as usize + tap].wrapping_mul(pump.taps[bank * TAPS + tap]);
                sum = sum.wrapping_add(product as u32);
            }
            pump.pass += 1;
            if pump.pass >= pump.passes {
                pump.pass = 0;
                pump.samples += 1;
                pump.digest = (pump.digest ^ u64::from(sum)).wrapping_mul(0x100_0000_01b3);
            }
            pump.sum = sum.rotate_left(1);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn it_is_the_filter_that_was_meant(passes in 0..20u32, cuts in prop::collection::vec(0..700u64, 0..6)) {
            let (mut pump, mut other) = (Pump::new(passes), Pump::new(passes));
            let mut units = 0;
            for cut in cuts {
                pump.run(cut);
                units += cut;
            }
            slowly(&mut other, units);
            prop_assert!(pump == other);
            prop_assert_eq!(pump.samples, units / u64::from(pump.passes()));
        }
    }

    #[test]
    fn outputs_differ_where_the_work_does() {
        let after = |passes: u32, samples: u64| {
            let mut pump = Pump::new(passes);
            pump.run(u64::from(passes) * samples);
            (pump.samples, pump.digest)
        };
        assert_eq!(after(3, 1_000).0, 1_000);
        assert_ne!(after(3, 1_000).1, after(2, 1_000).1);
        assert_ne!(after(3, 1_000).1, after(3, 999).1);
    }
}
