//! The answers of `punctual device`.

mod profiles;
mod runs;
mod study;
mod verify;
mod work;

pub use profiles::ProfilesAnswer;
pub use runs::DeviceRunRow;
pub use study::StudyAnswer;
pub use verify::VerifyAnswer;

use self::work::{DecodedRow, OwnRow};
use super::run::Run;
use super::text::{INTERVAL_BIN_NS, bins};
use crate::answer::Answer;
use crate::verdict::device::device_run_verdict;
use crate::{NextStep, StageRow, load_name};
use punctual_device::{keeps_up, pc99};
use punctual_recording::{DeviceSummary, Distribution, Provenance};
use serde::Serialize;
use std::path::Path;

/// The name and version of the JSON of what ran.
const SCHEMA: &str = "punctual.study/1";

/// A run of devices beside a bystander.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: &'a [NextStep],
    recording: &'a Path,
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    provenance: &'a Provenance,
    fallbacks: &'a [String],
    contexts: Vec<DeviceRow<'a>>,
}

impl<'a> DeviceAnswer<'a> {
    /// The answer for programs.
    pub fn new(run: &Run<'a>, next: &'a [NextStep]) -> DeviceAnswer<'a> {
        DeviceAnswer {
            schema: SCHEMA,
            verdict: device_run_verdict(run),
            exit_code: 0,
            next,
            recording: run.path,
            provenance: &run.document.provenance,
            fallbacks: &run.document.provenance.fallbacks,
            contexts: DeviceRow::all(run),
        }
    }
}

impl Answer for DeviceAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// What became of one device, and what it did to the bystander.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DeviceRow<'a> {
    device: &'a str,
    context: &'a str,
    competitor: Option<String>,
    load: &'a str,
    wake: Option<&'a str>,
    drop_stale: bool,
    reclaim: bool,
    compete: bool,
    keeps_up: Option<bool>,
    underruns: u64,
    underruns_outside: u64,
    stalls: u64,
    underruns_stolen: Option<u64>,
    pending_max: u64,
    period_ns: u64,
    buffers: u32,
    compute_ns: u64,
    samples: u32,
    ring: u32,
    blocks: Blocks<'a>,
    overruns: u64,
    elsewhere: u64,
    interrupts: Option<u64>,
    interrupt_ns: Option<u64>,
    demotions: Option<u64>,
    proven: Option<&'a [String]>,
    share: f64,
    share_by_second: Vec<f64>,
    calibration: Calibration,
    intervals: Figures,
    elapsed: Figures,
    executed: Figures,
    response: Figures,
    pending: Pending,
    pc99: Pc99Row,
    bystander: Vec<StageRow>,
    bystander_intervals: Intervals,
    bystander_missed: Option<u64>,
    steal_ns: Option<u64>,
    /// What became of its signal, if it decoded one.
    #[serde(skip_serializing_if = "Option::is_none")]
    decoded: Option<DecodedRow<'a>>,
    /// What became of a user's own work.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<OwnRow<'a>>,
}

/// What became of the blocks that arrived.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Blocks<'a> {
    arrived: u64,
    processed: u64,
    dropped: u64,
    lost: u64,
    refused: u64,
    cut: u64,
    coalesced: u64,
    unobserved: u64,
    /// Late or lost because punctual's own threads rested; these are no underruns.
    rested: u64,
    callbacks_refused: Option<u64>,
    refusal: Option<&'a str>,
    records_lost: u64,
}

impl<'a> Blocks<'a> {
    fn new(device: &'a DeviceSummary) -> Blocks<'a> {
        Blocks {
            arrived: device.arrived,
            processed: device.processed,
            dropped: device.dropped,
            lost: device.lost,
            refused: device.refused,
            cut: device.cut,
            coalesced: device.coalesced,
            unobserved: device.unobserved,
            rested: device.rested,
            callbacks_refused: device.callbacks_refused,
            refusal: device.refusal.as_deref(),
            records_lost: device.records_lost,
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Calibration {
    passes: u32,
    multiply_accumulate_ns: f64,
}

/// Times of many blocks.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Figures {
    count: u64,
    min_ns: Option<u64>,
    mean_ns: Option<u64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl Figures {
    fn new(times: &Distribution) -> Figures {
        Figures {
            count: times.count(),
            min_ns: times.min(),
            mean_ns: times.mean(),
            p50_ns: times.quantile(0.5),
            p99_ns: times.quantile(0.99),
            max_ns: times.max(),
        }
    }
}

/// Samples that waited.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Pending {
    p50: Option<u64>,
    p99: Option<u64>,
    max: Option<u64>,
}

/// Whether a device keeps to the PC 99 System Design Guide.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Pc99Row {
    keeps: Option<bool>,
    why: String,
}

/// Times between callbacks with their histogram.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Intervals {
    #[serde(flatten)]
    figures: Figures,
    histogram: Histogram,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Histogram {
    bin_ns: u64,
    bins: Vec<BinRow>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BinRow {
    from_ns: u64,
    count: u64,
}

impl Intervals {
    fn new(times: &Distribution) -> Intervals {
        let bins = bins(times).into_iter().map(|(from_ns, count)| BinRow { from_ns, count });
        let histogram = Histogram { bin_ns: INTERVAL_BIN_NS, bins: bins.collect() };
        Intervals { figures: Figures::new(times), histogram }
    }
}

impl<'a> DeviceRow<'a> {
    /// One row per device of a run.
    fn all(run: &Run<'a>) -> Vec<DeviceRow<'a>> {
        let (bystander, intervals) = (run.bystander(), Intervals::new(&run.activations.bystander_intervals));
        let devices = run.activations.devices.iter();
        devices.map(|device| DeviceRow::new(run, device, bystander.clone(), intervals.clone())).collect()
    }

    fn new(
        run: &Run<'a>,
        device: &'a DeviceSummary,
        bystander: Vec<StageRow>,
        bystander_intervals: Intervals,
    ) -> DeviceRow<'a> {
        let pc99 = pc99(device);
        let competitors = &run.activations.competitors;
        DeviceRow {
            device: &device.device,
            context: &device.context,
            competitor: (!competitors.is_empty()).then(|| competitors.join(" and ")),
            load: load_name(run.document),
            wake: device.wake.as_deref(),
            drop_stale: device.drop_stale,
            reclaim: device.reclaim,
            compete: device.compete,
            keeps_up: keeps_up(device),
            underruns: device.underruns,
            underruns_outside: device.underruns_outside,
            stalls: device.stalls,
            underruns_stolen: device.underruns_stolen,
            pending_max: device.pending_max,
            period_ns: device.period_ns,
            buffers: device.buffers,
            compute_ns: device.compute_ns,
            samples: device.samples,
            ring: device.ring,
            blocks: Blocks::new(device),
            overruns: device.overruns,
            elsewhere: device.elsewhere,
            interrupts: device.interrupts,
            interrupt_ns: device.interrupt_ns,
            demotions: device.demotions,
            proven: (!device.proven.is_empty()).then_some(&device.proven),
            share: device.share_millionths as f64 / 1e6,
            share_by_second: device.executed_by_second.iter().map(|ns| *ns as f64 / 1e9).collect(),
            calibration: Calibration {
                passes: device.passes,
                multiply_accumulate_ns: device.mac_thousandths_ns as f64 / 1e3,
            },
            intervals: Figures::new(&device.intervals),
            elapsed: Figures::new(&device.elapsed),
            executed: Figures::new(&device.executed),
            response: Figures::new(&device.response),
            pending: Pending {
                p50: device.pending.quantile(0.5),
                p99: device.pending.quantile(0.99),
                max: device.pending.max(),
            },
            pc99: Pc99Row { keeps: pc99.keeps, why: pc99.why },
            bystander,
            bystander_intervals,
            bystander_missed: run.document.counters.missed,
            steal_ns: run.document.counters.steal_ns,
            decoded: device.decoded.as_ref().map(DecodedRow::new),
            own: device.own.as_ref().map(OwnRow::new),
        }
    }
}
