//! One of the sides that are compared.

use crate::blocks::{Run, measured_ns};
use crate::requests::SideRequests;
use punctual_forecast::Input;
use punctual_recording::{CycleCount, PeriodsPassed};

/// One side: runs of the same measurement.
#[derive(Debug, Clone)]
pub struct Side {
    /// Its name: a path, or the command that set it up.
    pub name: String,
    /// Its runs.
    pub runs: Vec<Run>,
    /// The runs as input to a forecast, run by run, for the devices; may be empty.
    pub inputs: Vec<Input>,
}

/// A summary of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct SideSummary {
    /// Its name.
    pub name: String,
    /// How many runs it has.
    pub runs: usize,
    /// The load that ran beside them; several if they differ.
    pub load: String,
    /// How long all runs together measured, ns.
    pub measured_ns: u64,
    /// Wakeups that were measured.
    pub wakeups: u64,
    /// Activations that passed without a wakeup; `None` if there is no grid.
    pub missed: Option<u64>,
    /// The periods of the followed threads' loops, if they were given one and it is known how many passed.
    pub periods: Option<PeriodsPassed>,
    /// Wakeups for which only the total is known.
    pub unobserved: u64,
    /// Wakeups that were measured and then lost.
    pub lost: u64,
    /// Host steal on the measured CPUs, ns.
    pub steal_ns: Option<u64>,
    /// The part of the measured CPUs' time that other programs took; `None` if the kernel did not say.
    pub others_share: Option<f64>,
    /// Whether devices ran beside the wakeups: then these, and what competed with them, are among the others.
    pub is_beside_devices: bool,
    /// Whether a run was cut short.
    pub cut: bool,
    /// How long its requests took; `None` if not all runs counted requests.
    pub requests: Option<SideRequests>,
}

pub(crate) fn summary(side: &Side) -> SideSummary {
    let load = |run: &Run| run.document.provenance.load.name_or_none().to_owned();
    let mut loads: Vec<String> = side.runs.iter().map(load).collect();
    loads.dedup();
    let counters = side.runs.iter().map(|run| run.document.counters).reduce(|mut sum, next| {
        sum.add(&next);
        sum
    });
    let counters = counters.unwrap_or_default();
    let mut cycles = CycleCount::default();
    side.runs.iter().flat_map(|run| run.cycles.values()).for_each(|count| cycles.add(count));
    SideSummary {
        name: side.name.clone(),
        runs: side.runs.len(),
        load: loads.join(", "),
        measured_ns: side.runs.iter().map(|run| measured_ns(&run.document)).sum(),
        wakeups: counters.wakeups,
        missed: counters.missed,
        periods: cycles.periods_passed(),
        unobserved: counters.unobserved,
        lost: counters.lost,
        steal_ns: counters.steal_ns,
        others_share: counters.others_share(),
        is_beside_devices: side.runs.iter().any(|run| !run.devices.is_empty()),
        cut: side.runs.iter().any(|run| run.document.ended.is_none()),
        requests: SideRequests::of(side.runs.iter().map(|run| &run.document)),
    }
}
