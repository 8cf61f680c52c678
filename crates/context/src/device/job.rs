//! What the work of a device is, and how much of it a block takes.

use super::calibrate::Speed;
use super::check::refuse;
use super::guest::GUEST_UNIT_NS;
use super::kernel_side::KernelSide;
use super::setup::{DeviceSetup, KERNEL_SHARE, MAX_KERNEL_WORK_NS};
use super::signal::Received;
use super::work::Work;
use punctual_datapump::{Decoder, Pump};
use punctual_kernel::{Refused, clock};
use punctual_recording::counted;

/// Taps of a bank of the echo canceller.
const BANK: u32 = 64;
/// How often units are timed; the shortest time counts.
const TRIALS: usize = 9;
/// In the kernel as many are timed together as fit into this time, ns: a bout of work is given up there after 5 ms.
const MAX_TRIAL_NS: u64 = 1_500_000;
/// In interrupt and softirq context, decoding may take this many times as long as was asked for, and no more.
const MAX_EXCESS: f64 = 1.5;

/// How much work a block is, as calibrated for the place where it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Job {
    /// Each sample is filtered as often as makes a block take the requested time.
    Filter {
        /// The speed of one unit of work.
        speed: Speed,
        /// How often each sample is filtered.
        passes: u32,
        /// Samples in a block.
        samples: u32,
    },
    /// Units of a signal are decoded, with as many taps of the echo canceller, if there is one, as come closest to the
    /// requested time.
    Decode {
        /// Taps, 64 to a bank.
        taps: u32,
        /// What a unit takes, ns.
        unit_ns: f64,
        /// Units in a block.
        units: u32,
    },
    /// Another crate's work, once for each block, and a loop for the rest of its compute time.
    Guest {
        /// What a sample takes, ns.
        sample_ns: f64,
        /// Samples in a block.
        samples: u32,
        /// How many units of time the compute time has.
        units: u64,
    },
    /// A user's own work, once for each block.
    Own {
        /// What a block takes, ns.
        block_ns: u64,
        /// What it may take, ns.
        budget_ns: u64,
    },
}

impl Job {
    pub(super) fn of_filter(setup: &DeviceSetup, speed: Speed) -> Job {
        Job::Filter { speed, passes: speed.passes(setup.compute_ns, setup.samples), samples: setup.samples }
    }

    /// In a thread, without a signal or work of a user's own: it filters, unless another crate brings the work.
    pub(super) fn in_a_thread(setup: &DeviceSetup, native: Speed) -> Result<Job, Refused> {
        let Some(make) = setup.guest else { return Ok(Job::of_filter(setup, native)) };
        let mut guest = make(setup.samples).map_err(|reason| refuse(setup, reason))?;
        let times = (0..TRIALS).map(|_| {
            let began = clock::monotonic_ns();
            guest.work();
            clock::monotonic_ns() - began
        });
        let sample_ns = times.min().unwrap_or(0) as f64 / f64::from(setup.samples.max(1));
        let units = setup.compute_ns.div_ceil(GUEST_UNIT_NS).max(1);
        Ok(Job::Guest { sample_ns, samples: setup.samples, units })
    }

    /// Finds the taps; in the kernel if its programs are given and do the work.
    pub(super) fn of_decoding(
        setup: &DeviceSetup,
        received: &Received,
        kernel: Option<&KernelSide>,
    ) -> Result<Job, Refused> {
        let kernel = kernel.filter(|_| setup.context.is_in_kernel());
        let units = (setup.samples / received.decodes.unit_samples()).max(1);
        let (timed, max_banks) = (received.decodes.timed_units(), received.decodes.max_banks());
        let time = |banks: u32| match kernel {
            Some(kernel) => in_kernel(kernel, &received.device(banks, units, false), timed),
            None => Ok(natively(received.device(banks, units, false), timed)),
        };
        // Each bank adds the same time.
        let one = time(max_banks.min(1))?;
        let three = if max_banks >= 3 { time(3)? } else { one };
        let unit_ns = |banks: u32| (one + (f64::from(banks) - 1.0) * (three - one).max(0.0) / 2.0).max(1.0);
        let block_ns = |banks: u32| unit_ns(banks) * f64::from(units);
        let asked = setup.compute_ns as f64;
        let most = setup.period_ns as f64 * if kernel.is_some() { KERNEL_SHARE } else { 1.0 };
        let fitting = (0..=max_banks).filter(|banks| block_ns(*banks) <= most);
        let closest =
            fitting.min_by(|one, other| (block_ns(*one) - asked).abs().total_cmp(&(block_ns(*other) - asked).abs()));
        let takes = || {
            let show = |time: f64| punctual_recording::format_ns(time as u64);
            format!(
                "decoding {} of its signal takes {} here in {} context, and you asked for {} of every {}",
                counted(units, "unit"),
                show(block_ns(0)),
                setup.context,
                show(asked),
                show(setup.period_ns as f64)
            )
        };
        let Some(banks) = closest.filter(|banks| kernel.is_none() || block_ns(*banks) <= asked * MAX_EXCESS) else {
            return Err(refuse(setup, takes() + ": give more with compute=, a longer period, or --work filter"));
        };
        Ok(Job::Decode { taps: banks * BANK, unit_ns: unit_ns(banks), units })
    }

    /// Times a user's own work, which is called once for each block.
    pub(super) fn of_own(setup: &DeviceSetup, kernel: &KernelSide) -> Result<Job, Refused> {
        let times = (0..TRIALS).map(|_| kernel.time_own());
        let block_ns = times.collect::<Result<Vec<u64>, Refused>>()?.into_iter().min().unwrap_or(0);
        if block_ns > MAX_KERNEL_WORK_NS {
            let show = punctual_recording::format_ns;
            return Err(refuse(
                setup,
                format!(
                    "its work takes {} per block here, and {} is the most allowed in {} context",
                    show(block_ns),
                    show(MAX_KERNEL_WORK_NS),
                    setup.context
                ),
            ));
        }
        Ok(Job::Own { block_ns, budget_ns: setup.compute_ns })
    }

    /// How many of them a block has.
    pub(super) fn units(&self) -> u64 {
        match *self {
            Job::Filter { passes, samples, .. } => u64::from(passes) * u64::from(samples),
            Job::Decode { units, .. } => units.into(),
            Job::Guest { units, .. } => units,
            Job::Own { .. } => 1,
        }
    }

    /// How long a unit takes, ns.
    pub(super) fn unit_ns(&self) -> f64 {
        match *self {
            Job::Filter { speed, .. } => speed.unit_ns,
            Job::Decode { unit_ns, .. } => unit_ns,
            Job::Guest { .. } => GUEST_UNIT_NS as f64,
            Job::Own { block_ns, .. } => block_ns as f64,
        }
    }

    /// How often each sample is filtered.
    pub(super) fn passes(&self) -> u32 {
        match *self {
            Job::Filter { passes, .. } => passes,
            Job::Decode { .. } | Job::Guest { .. } | Job::Own { .. } => 0,
        }
    }

    /// Whether it counts what came of a signal.
    pub(super) fn decodes(&self) -> bool {
        matches!(self, Job::Decode { .. } | Job::Guest { .. })
    }
}

fn natively(mut decoder: Decoder, units: u32) -> f64 {
    let times = (0..TRIALS).map(|_| {
        let began = clock::monotonic_ns();
        decoder.run(units.into());
        clock::monotonic_ns() - began
    });
    times.min().unwrap_or(0) as f64 / f64::from(units)
}

fn in_kernel(kernel: &KernelSide, decoder: &Decoder, units: u32) -> Result<f64, Refused> {
    let first = (0..3).filter_map(|_| kernel.time_decoding(decoder, 1).ok()).min();
    let Some(first) = first else {
        let reason = "a unit was not decoded within 5 ms: this processor is too slow for that in the kernel";
        return Err(Refused::because("calibrating the work", reason));
    };
    let units = (MAX_TRIAL_NS / first.max(1)).clamp(1, units.into()) as u32;
    // The program gives up a trial that the host or an interrupt made too long; that says nothing.
    let times = (0..TRIALS).filter_map(|_| kernel.time_decoding(decoder, units).ok());
    Ok(times.min().map_or(first as f64, |time| time as f64 / f64::from(units)))
}

impl Work {
    /// The work of a block of this device.
    pub(super) fn of(setup: &DeviceSetup, job: &Job, received: Option<&Received>) -> Work {
        match (job, received) {
            (Job::Own { budget_ns, .. }, _) => Work::Own { budget_ns: *budget_ns },
            (Job::Guest { .. }, _) => Work::Guest,
            (Job::Decode { taps, units, .. }, Some(received)) => {
                Work::Decode(received.device(taps / BANK, *units, setup.without_taps))
            }
            _ => Work::Filter(Box::new(Pump::new(job.passes()))),
        }
    }
}
