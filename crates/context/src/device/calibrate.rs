//! How much work a compute time is worth, in each place where it may run.

use super::kernel_side::KernelSide;
use punctual_datapump::{Pump, TAPS};
use punctual_kernel::{Refused, clock};

/// How many units of work are timed together, and how often. The shortest time counts: nothing makes work faster.
const UNITS: u32 = 2_000;
const TRIALS: usize = 15;
/// In the kernel, units that are timed together take no longer than this, ns: a bout of work is given up there after 5 ms.
const MAX_TRIAL_NS: u64 = 1_500_000;
/// The first trial in the kernel. A processor that takes 5 ms for these is too slow for any device.
const FIRST_UNITS: u32 = 16;

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

    /// How often to filter each of these samples so that it takes about `compute_ns` in all, at least once.
    pub fn passes(self, compute_ns: u64, samples: u32) -> u32 {
        let passes = compute_ns as f64 / (self.unit_ns * f64::from(samples.max(1)));
        (passes.round() as u32).clamp(1, 1 << 20)
    }

    /// The speed of this processor in user space, by the thread's CPU time: neither what others take of a busy
    /// processor nor a reservation that is over for now makes work slower.
    pub fn native() -> Speed {
        let mut pump = Pump::new(8);
        let trials = (0..TRIALS).map(|_| {
            let began = clock::thread_cpu_ns();
            pump.run(u64::from(UNITS));
            clock::thread_cpu_ns() - began
        });
        Speed { unit_ns: trials.min().unwrap_or(0).max(1) as f64 / f64::from(UNITS) }
    }

    /// The speed of the device's BPF programs.
    pub(crate) fn in_kernel(side: &KernelSide) -> Result<Speed, Refused> {
        let pump = Pump::new(8);
        let too_slow = |refused: Refused| {
            let reason = format!(
                "{} multiply-accumulates were not done within 5 ms: this processor is too slow for work in the kernel",
                FIRST_UNITS as usize * TAPS
            );
            if refused.reason == TIMER_EXPIRED { Refused::because("calibrating the work", reason) } else { refused }
        };
        let first = (0..3).map(|_| side.time_units(&pump, FIRST_UNITS).map_err(too_slow));
        let mut last = None;
        let first = first.fold(u64::MAX, |shortest, time| match time {
            Ok(time) => shortest.min(time),
            Err(refused) => {
                last = Some(refused);
                shortest
            }
        });
        if let Some(refused) = last.filter(|_| first == u64::MAX) {
            return Err(refused);
        }
        let units = units_of_a_trial(first);
        // The program gives up a trial that the host or an interrupt made too long; that says nothing.
        let trials = (0..TRIALS).filter_map(|_| side.time_units(&pump, units).ok());
        let (shortest, units) = trials.min().map_or((first, FIRST_UNITS), |shortest| (shortest, units));
        Ok(Speed { unit_ns: shortest.max(1) as f64 / f64::from(units) })
    }
}

/// What [`punctual_kernel::bpf::LoadedObject::call`] says about a program that gave up.
const TIMER_EXPIRED: &str = "Timer expired";

/// How many units to time together if the first few took this long, ns.
fn units_of_a_trial(first_ns: u64) -> u32 {
    let fit = u128::from(MAX_TRIAL_NS) * u128::from(FIRST_UNITS) / u128::from(first_ns.max(1));
    u32::try_from(fit).unwrap_or(u32::MAX).clamp(FIRST_UNITS, UNITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_processor_is_calibrated_with_less_work() {
        // 0.5 ns, 19.5 ns, 30 ns and 2 us per multiply-accumulate.
        let units = |mac_ns: f64| units_of_a_trial((mac_ns * TAPS as f64 * f64::from(FIRST_UNITS)) as u64);
        assert_eq!(units(0.5), UNITS);
        for mac_ns in [19.5, 30.0, 300.0] {
            let took = mac_ns * TAPS as f64 * f64::from(units(mac_ns));
            assert!(units(mac_ns) >= FIRST_UNITS && took <= 1_600_000.0, "{mac_ns}: {} take {took}", units(mac_ns));
        }
        assert_eq!(units(2_000.0), FIRST_UNITS);
        assert_eq!(units_of_a_trial(0), UNITS);
    }

    #[test]
    fn a_compute_time_becomes_passes() {
        let speed = Speed { unit_ns: 64.0 };
        assert_eq!(speed.passes(1_840_000, 90), 319);
        assert_eq!(speed.passes(0, 90), 1);
        assert_eq!(speed.multiply_accumulate_ns(), 0.5);
        assert!(Speed::native().unit_ns > 0.0);
    }
}
