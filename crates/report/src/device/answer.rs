//! The answers of `punctual device`.

use super::study::{StudyReport, VerifiedRow, verified_verdict};
use super::text::{INTERVAL_BIN_NS, Run, bins, keeps_up, verdict};
use crate::answer::Answer;
use crate::forecast::SourcesRow;
use crate::{NextStep, StageRow, load_name};
use punctual_device::{Profile, Sampling, pc99};
use punctual_recording::{DecodedSummary, DeviceSummary, Distribution, OwnSummary, Provenance, counted};
use serde::Serialize;
use std::path::{Path, PathBuf};

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
            verdict: verdict(run),
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
    /// What came of its signal, where it decoded one.
    #[serde(skip_serializing_if = "Option::is_none")]
    decoded: Option<DecodedRow<'a>>,
    /// What came of a user's own work.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<OwnRow<'a>>,
}

/// What came of a user's own work.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OwnRow<'a> {
    name: &'a str,
    block_ns: u64,
    budget_ns: u64,
    done: u64,
    over: u64,
    failed: u64,
    longest_ns: u64,
    output: &'a [i64],
    digest: &'a str,
    /// How its process ended, where it did before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<OwnEndRow<'a>>,
}

/// How the process of a user's own work ended.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OwnEndRow<'a> {
    block: u64,
    reason: &'a str,
}

impl<'a> OwnRow<'a> {
    fn new(own: &'a OwnSummary) -> OwnRow<'a> {
        OwnRow {
            name: &own.name,
            block_ns: own.block_ns,
            budget_ns: own.budget_ns,
            done: own.done,
            over: own.over,
            failed: own.failed,
            longest_ns: own.longest_ns,
            output: &own.output,
            digest: &own.digest,
            ended: own.ended.as_ref().map(|end| OwnEndRow { block: end.block, reason: &end.reason }),
        }
    }
}

/// What came of the signal that a device decoded.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DecodedRow<'a> {
    signal: &'a str,
    /// What `symbols` are: those of a DSL, or units of a radio's samples.
    unit: &'a str,
    /// What `frames` are: superframes of a DSL, packets of a radio.
    frame: &'a str,
    taps: u32,
    symbols_a_block: u32,
    symbol_ns: u64,
    symbols: u64,
    connected: u64,
    skipped: u64,
    bits: u64,
    wrong: u64,
    missing: u64,
    connections_lost: u64,
    /// That ended, received or not.
    frames: u64,
    /// That were received with a check that was right.
    frames_right: u64,
}

impl<'a> DecodedRow<'a> {
    fn new(decoded: &'a DecodedSummary) -> DecodedRow<'a> {
        DecodedRow {
            signal: &decoded.signal,
            unit: &decoded.unit,
            frame: &decoded.frame,
            taps: decoded.taps,
            symbols_a_block: decoded.symbols_a_block,
            symbol_ns: decoded.symbol_ns,
            symbols: decoded.symbols,
            connected: decoded.connected,
            skipped: decoded.skipped,
            bits: decoded.bits,
            wrong: decoded.wrong,
            missing: decoded.missing,
            connections_lost: decoded.connections_lost,
            frames: decoded.frames,
            frames_right: decoded.frames_right,
        }
    }
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
    /// Late or lost because punctual's own threads rested: no underruns.
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
    /// A row a device of a run.
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

/// A study of one device in its contexts.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    device: &'a str,
    least_intrusive: Option<&'a str>,
    lowest_sufficient: Option<&'a str>,
    interrupted: bool,
    contexts: Vec<StudyRow<'a>>,
}

/// One run of a study, and what the paper and the simulator say of it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StudyRow<'a> {
    #[serde(flatten)]
    subject: Subject<'a>,
    group: &'static str,
    paper: Option<&'static str>,
    paper_works: Option<bool>,
    predicted: Option<bool>,
    holds: Option<bool>,
    bystander_off_share: Option<f64>,
    recording: Option<&'a Path>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Subject<'a> {
    /// A device in its context.
    Ran(Box<DeviceRow<'a>>),
    /// A context that cannot be had here.
    Unavailable(UnavailableRow<'a>),
    /// The bystander alone.
    Alone(AloneRow),
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UnavailableRow<'a> {
    device: &'a str,
    context: &'a str,
    competitor: Option<&'a str>,
    unavailable: &'a str,
    underruns: (),
    pending_max: (),
    bystander: [StageRow; 0],
    bystander_intervals: (),
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AloneRow {
    device: (),
    context: &'static str,
    competitor: (),
    underruns: (),
    pending_max: (),
    bystander: Vec<StageRow>,
    bystander_intervals: Intervals,
}

impl<'a> StudyAnswer<'a> {
    /// The answer for programs.
    pub fn new(study: &'a StudyReport<'a>) -> StudyAnswer<'a> {
        let mut contexts = Vec::new();
        for row in &study.rows {
            let subjects = match &row.run {
                Ok(run) if run.activations.devices.is_empty() => vec![Subject::Alone(AloneRow {
                    device: (),
                    context: "none",
                    competitor: (),
                    underruns: (),
                    pending_max: (),
                    bystander: run.bystander(),
                    bystander_intervals: Intervals::new(&run.activations.bystander_intervals),
                })],
                Ok(run) => DeviceRow::all(run).into_iter().map(|row| Subject::Ran(Box::new(row))).collect(),
                Err(reason) => vec![Subject::Unavailable(UnavailableRow {
                    device: &study.profile.id,
                    context: &row.context,
                    competitor: row.competitor.as_deref(),
                    unavailable: reason,
                    underruns: (),
                    pending_max: (),
                    bystander: [],
                    bystander_intervals: (),
                })],
            };
            contexts.extend(subjects.into_iter().map(|subject| StudyRow {
                subject,
                group: row.group,
                paper: row.paper,
                paper_works: row.paper_works,
                predicted: row.predicted,
                holds: row.holds,
                bystander_off_share: row.off,
                recording: row.run.as_ref().ok().map(|run| run.path),
            }));
        }
        StudyAnswer {
            schema: SCHEMA,
            verdict: super::study::verdict(study),
            exit_code: 0,
            device: &study.profile.id,
            least_intrusive: study.least_intrusive,
            lowest_sufficient: study.lowest_sufficient,
            interrupted: study.interrupted,
            contexts,
        }
    }
}

impl Answer for StudyAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// Forecasts beside what was counted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerifyAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// Those without a device, one a round.
    recordings: &'a [PathBuf],
    exposure_s: f64,
    contexts: Vec<VerifiedDevice<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct VerifiedDevice<'a> {
    device: &'a str,
    context: &'a str,
    forecast: ForecastRow,
    /// The runs with the device, one a round.
    rounds: Vec<DeviceRow<'a>>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ForecastRow {
    mttf_s: Mttf,
    exposure_s: f64,
    expected_stalls: Expected,
    /// By which factor the machine itself may have changed the rate meanwhile: part of what is expected. `null` for fewer than three rounds.
    range: Option<f64>,
    counted_stalls: u64,
    agrees: bool,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Mttf {
    low: Option<f64>,
    estimate: Option<f64>,
    high: Option<f64>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Expected {
    low: f64,
    high: Option<f64>,
}

impl<'a> VerifyAnswer<'a> {
    /// The answer for programs, with the recordings that were forecast from and their length together, s.
    pub fn new(rows: &[VerifiedRow<'a>], recordings: &'a [PathBuf], exposure_s: f64) -> VerifyAnswer<'a> {
        let mut contexts = Vec::new();
        for row in rows {
            let (low, estimate, high) = row.mttf_s;
            let forecast = ForecastRow {
                mttf_s: Mttf { low, estimate, high },
                exposure_s: row.exposure_s,
                expected_stalls: Expected { low: row.expected.0, high: row.expected.1 },
                range: row.range,
                counted_stalls: row.counted,
                agrees: row.agrees,
            };
            let rounds: Vec<DeviceRow<'_>> = row.runs.iter().flat_map(DeviceRow::all).collect();
            if let Some(first) = rounds.first() {
                contexts.push(VerifiedDevice { device: first.device, context: first.context, forecast, rounds });
            }
        }
        VerifyAnswer { schema: SCHEMA, verdict: verified_verdict(rows), exit_code: 0, recordings, exposure_s, contexts }
    }
}

impl Answer for VerifyAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// The devices that there are.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProfilesAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    devices: Vec<ProfileRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ProfileRow<'a> {
    device: &'a str,
    name: &'a str,
    what: &'a str,
    period_ns: u64,
    buffers: u32,
    compute_ns: u64,
    want_s: u64,
    tolerance_ns: u64,
    slack_ns: i64,
    samples: u32,
    ring: u32,
    /// What it decodes, where it does not filter samples instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'static str>,
    on_miss: &'static str,
    sources: SourcesRow,
}

impl<'a> ProfilesAnswer<'a> {
    /// The answer for programs.
    pub fn new(profiles: &'a [Profile]) -> ProfilesAnswer<'a> {
        let many = counted(profiles.len(), "device");
        ProfilesAnswer {
            schema: "punctual.devices/1",
            verdict: many,
            exit_code: 0,
            devices: profiles.iter().map(ProfileRow::new).collect(),
        }
    }
}

impl Answer for ProfilesAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

impl<'a> ProfileRow<'a> {
    fn new(profile: &'a Profile) -> ProfileRow<'a> {
        let Sampling { samples, ring } = Sampling::of(profile);
        ProfileRow {
            device: &profile.id,
            name: &profile.name,
            what: &profile.what,
            period_ns: profile.period_ns,
            buffers: profile.buffers,
            compute_ns: profile.compute_ns,
            want_s: profile.want_s,
            tolerance_ns: profile.tolerance_ns(),
            slack_ns: profile.slack_ns(),
            samples,
            ring,
            signal: profile.signal.map(punctual_device::Signal::name),
            on_miss: profile.on_miss.name(),
            sources: SourcesRow::new(profile),
        }
    }
}
