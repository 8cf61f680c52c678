//! How much work a compute time is, in each place where it may run.

use super::kernel_side::KernelSide;
use punctual_datapump::{Pump, TAPS};
use punctual_kernel::{Refused, clock};

/// Units of work that are timed together, and how often. The shortest time is taken: nothing makes work faster.
const UNITS: u32 = 2_000;
const TRIALS: usize = 15;

/// The speed of the datapump in one place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// One unit of work, ns.
    pub unit_ns: f64,
}

impl Speed {
    /// One multiply-accumulate, ns.
    pub fn multiply_accumulate_ns(self) -> f64 {
        self.unit_ns / TAPS as f64
    }

    /// How often each of these samples must be filtered to take about `compute_ns` in all, at least once.
    pub fn passes(self, compute_ns: u64, samples: u32) -> u32 {
        let passes = compute_ns as f64 / (self.unit_ns * f64::from(samples.max(1)));
        (passes.round() as u32).clamp(1, 1 << 20)
    }

    /// The speed of this processor in user space.
    pub fn native() -> Speed {
        let mut pump = Pump::new(8);
        let trials = (0..TRIALS).map(|_| {
            let began = clock::monotonic_ns();
            pump.run(u64::from(UNITS));
            clock::monotonic_ns() - began
        });
        Speed { unit_ns: trials.min().unwrap_or(0).max(1) as f64 / f64::from(UNITS) }
    }

    /// The speed of the device's BPF programs.
    pub(crate) fn in_kernel(side: &KernelSide) -> Result<Speed, Refused> {
        let pump = Pump::new(8);
        let mut shortest = u64::MAX;
        for _ in 0..TRIALS {
            shortest = shortest.min(side.time_units(&pump, UNITS)?);
        }
        Ok(Speed { unit_ns: shortest.max(1) as f64 / f64::from(UNITS) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compute_time_becomes_passes() {
        let speed = Speed { unit_ns: 64.0 };
        assert_eq!(speed.passes(1_840_000, 90), 319);
        assert_eq!(speed.passes(0, 90), 1);
        assert_eq!(speed.multiply_accumulate_ns(), 0.5);
        assert!(Speed::native().unit_ns > 0.0);
    }
}
