//! What is impossible for a device, reported before anything is started.

use super::phase::Phase;
use super::setup::{DeviceSetup, KERNEL_SHARE, MAX_KERNEL_WORK_NS, MIN_PERIOD_NS};
use crate::context::{Context, Form, Reservation};
use punctual_kernel::Refused;
use punctual_kernel::scheduling::Scheduling;
use std::collections::BTreeMap;

/// Says what cannot be, before anything is started. Returns the part of each CPU that is planned in interrupts and softirqs.
pub(super) fn check(setups: &[DeviceSetup]) -> Result<BTreeMap<u32, f64>, Refused> {
    let mut shares = BTreeMap::new();
    for setup in setups {
        check_times(setup).map_err(|reason| refuse(setup, reason))?;
        if setup.context.is_in_kernel() {
            let share = shares.entry(setup.cpu).or_insert(0.0);
            *share += share_of(setup);
            check_in_kernel(setup, *share).map_err(|reason| refuse(setup, reason))?;
        }
    }
    Ok(shares)
}

/// The part of the CPU that a device computes for, in whichever of its phases needs most.
pub(super) fn share_of(setup: &DeviceSetup) -> f64 {
    let of = |compute: f64, period: u64| compute / period.max(1) as f64;
    let phases = setup.phases.iter().map(|phase| of(compute_of(setup, phase) as f64, phase.period_ns));
    phases.fold(of(setup.compute_ns as f64, setup.period_ns), f64::max)
}

pub(super) fn refuse(setup: &DeviceSetup, reason: String) -> Refused {
    Refused::because(format!("running the device `{}`", setup.name), reason)
}

/// The work of a phase, ns: a sample takes the same work in every phase.
fn compute_of(setup: &DeviceSetup, phase: &Phase) -> u128 {
    u128::from(setup.compute_ns) * u128::from(phase.samples) / u128::from(setup.samples.max(1))
}

/// Why a device can never keep up, or is no device; in any context.
fn check_times(setup: &DeviceSetup) -> Result<(), String> {
    let show = punctual_recording::format_ns;
    let shortest = setup.phases.iter().map(|phase| phase.period_ns).fold(setup.period_ns, u64::min);
    if shortest < MIN_PERIOD_NS {
        return Err(format!(
            "its period is {}, and the shortest is {}: give a longer one, such as `{} 1ms`",
            show(shortest),
            show(MIN_PERIOD_NS),
            setup.name
        ));
    }
    if setup.compute_ns > setup.period_ns {
        return Err(format!(
            "it computes for {} of every {}: it can never keep up",
            show(setup.compute_ns),
            show(setup.period_ns)
        ));
    }
    if setup.own.is_some() && matches!(setup.context, Context::Reservation(_)) {
        return Err("work of your own runs in irq, softirq and threads: --context thread:80".to_owned());
    }
    let is_highest = |scheduling| matches!(scheduling, Scheduling::Fifo(99) | Scheduling::RoundRobin(99));
    if setup.own.is_some() && matches!(setup.context, Context::Thread(scheduling) if is_highest(scheduling)) {
        return Err(
            "the thread that hands blocks to your own work runs above it: at most --context thread:98".to_owned()
        );
    }
    if setup.own.is_some() && !setup.phases.is_empty() {
        return Err("--phases goes with the filter, whose blocks may be of any size: --work filter".to_owned());
    }
    if setup.guest.is_some() && setup.context.is_in_kernel() {
        return Err("its work is code for user space, which no interrupt can run: --context thread:80".to_owned());
    }
    if (setup.decodes.is_some() || setup.guest.is_some()) && !setup.phases.is_empty() {
        return Err("--phases goes with the filter, whose blocks may be of any size: --work filter".to_owned());
    }
    if setup.compete && !matches!(setup.context, Context::Reservation(_)) {
        return Err("--compete goes with a reservation, such as --context reservation:2ms/8ms".to_owned());
    }
    let is_floating = matches!(setup.context, Context::Reservation(Reservation { form: Form::Floating, .. }));
    if setup.phases.iter().any(|phase| phase.reservation.is_some()) && (!is_floating || setup.compete) {
        return Err(
            "a phase's own reservation goes with one of the device's, without --compete: --context reservation:2ms/8ms"
                .to_owned(),
        );
    }
    if setup.phases.iter().any(|phase| compute_of(setup, phase) > u128::from(phase.period_ns)) {
        return Err("it computes for more than a period in one of its phases: it can never keep up".to_owned());
    }
    Ok(())
}

/// Why a device that runs in interrupt or softirq context would keep everything else from a CPU, together with others:
/// all of them take this share of it.
fn check_in_kernel(setup: &DeviceSetup, share: f64) -> Result<(), String> {
    let show = punctual_recording::format_ns;
    let is_too_much = |phase: &Phase| {
        let compute = compute_of(setup, phase);
        compute > MAX_KERNEL_WORK_NS.into() || compute * 2 > phase.period_ns.into()
    };
    if setup.phases.iter().any(is_too_much) {
        return Err(format!(
            "one of its phases would take more than {} at a time or half of the CPU in {} context: --context thread:80",
            show(MAX_KERNEL_WORK_NS),
            setup.context
        ));
    }
    if setup.compute_ns > MAX_KERNEL_WORK_NS {
        return Err(format!(
            "{} of work in {} context would keep everything else from the CPU: at most {} there, or use --context thread:80",
            show(setup.compute_ns),
            setup.context,
            show(MAX_KERNEL_WORK_NS)
        ));
    }
    if share > KERNEL_SHARE {
        return Err(format!(
            "{:.0} % of the CPU in interrupt and softirq context is more than the {:.0} % that is allowed there: use fewer \
             devices, less compute, or --context thread:80",
            share * 100.0,
            KERNEL_SHARE * 100.0
        ));
    }
    Ok(())
}
