//! The answers of `punctual modem`. Times are ns unless a name says otherwise.

use super::live::Together;
use super::{LiveSent, Sent, Stalled, direction_name, far_end_name, late_name, law_name};
use crate::answer::Answer;
use crate::device::DeviceAnswer;
use crate::load::ScoreRow;
use punctual_modem::experiment::{Experiment, StallRow};
use punctual_modem::telephone::ECHO_BANK;
use punctual_modem::transfer::{Attempt, LiveAttempt, PENDING_STEP, Seconds, Transfer};
use serde::Serialize;

/// A file that was sent over a telephone line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TransferAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    interrupted: bool,
    file: &'a str,
    bytes: u64,
    direction: &'static str,
    /// Whose pumps both ends had; `null`: punctual's own. Others ignore the highest rate below.
    pump: Option<&'a str>,
    how: How,
    successes: usize,
    /// Of the attempts that succeeded.
    seconds: Option<SecondsRow>,
    /// Bits of the file per second.
    throughput: Option<f64>,
    attempts: Vec<SentRow>,
    /// `null`: in virtual time.
    live: Option<LiveRow<'a>>,
}

impl<'a> TransferAnswer<'a> {
    /// The answer for programs.
    pub fn new(sent: &Sent<'a>) -> TransferAnswer<'a> {
        TransferAnswer {
            schema: "punctual.modem-transfer/1",
            verdict: sent.verdict(),
            exit_code: sent.exit_code(),
            interrupted: sent.interrupted,
            file: sent.file,
            bytes: sent.transfer.bytes,
            direction: direction_name(sent.experiment.direction),
            pump: sent.pump,
            how: How::new(sent.experiment, sent.pump),
            successes: sent.transfer.successes(),
            seconds: sent.transfer.seconds().map(SecondsRow::new),
            throughput: sent.transfer.throughput(),
            attempts: SentRow::all(sent.transfer),
            live: sent.live.as_ref().map(|live| LiveRow::new(sent, live)),
        }
    }
}

impl Answer for TransferAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// A call, and its course.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SentRow {
    #[serde(flatten)]
    attempt: AttemptRow,
    /// The most samples that were waiting after a block, in each second of the call; `null`: no block was worked on.
    pending_by_second: Vec<Option<u32>>,
    /// Underruns that began in each second of the call.
    underruns_by_second: Vec<u32>,
    /// How often the receive ring wrapped in each second of the call.
    overruns_by_second: Vec<u32>,
}

impl SentRow {
    fn all(transfer: &Transfer) -> Vec<SentRow> {
        let seconds = |place: usize| transfer.courses.get(place).map_or(&[][..], |course| &course.seconds[..]);
        let row = |(place, attempt): (usize, &Attempt)| SentRow {
            attempt: AttemptRow::new(attempt),
            pending_by_second: seconds(place).iter().map(|second| second.max_pending).collect(),
            underruns_by_second: seconds(place).iter().map(|second| second.underruns).collect(),
            overruns_by_second: seconds(place).iter().map(|second| second.overruns).collect(),
        };
        transfer.attempts.iter().enumerate().map(row).collect()
    }
}

/// What was counted on this machine, if its threads were the calling ends.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LiveRow<'a> {
    context: String,
    /// How many modems called at once; an attempt has as many calls, less those that were refused.
    modems: u32,
    /// The first of `cpus`.
    cpu: u32,
    /// Where their threads were, or began, in turn.
    cpus: &'a [u32],
    competitors: Vec<String>,
    /// `null`: none.
    load: Option<&'a str>,
    scores: Vec<ScoreRow<'a>>,
    /// Why the load was not the one that was asked for.
    load_failure: Option<&'a str>,
    /// Modems that could not take part.
    refused: Vec<RefusedRow<'a>>,
    notes: &'a [String],
    /// For all calls of an attempt together, averaged over the attempts; `null`: none is over.
    together: Option<TogetherRow>,
    /// How long the first call's transfer takes in virtual time if nothing is late, ns; `null`: not computed.
    clean_transfer_ns: Option<u64>,
    pending_step_samples: u64,
    /// For each call, in the order of the calls above.
    attempts: Vec<LiveAttemptRow>,
    /// The soft devices that worked meanwhile.
    devices: Option<DeviceAnswer<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RefusedRow<'a> {
    /// From 1.
    modem: u32,
    reason: &'a str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TogetherRow {
    bits_per_second: f64,
    /// Of one CPU; more than 100 if they had several.
    cpu_percent: f64,
    /// How much of that the datapumps at the calling ends took.
    datapump_percent: f64,
}

/// What was counted on this machine in a call.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LiveAttemptRow {
    /// From 1.
    attempt: u32,
    /// From 1.
    modem: u32,
    cpu: u32,
    activations: u64,
    elapsed_ns: u64,
    executed_ns: u64,
    /// How much of that its datapump took.
    datapump_ns: u64,
    max_late_ns: u64,
    /// What the host took; `null`: not known.
    host_ns: Option<u64>,
    underruns_beside_host: u64,
    /// How often this many samples were waiting after a block was processed: less than a step, less than two, and so
    /// on.
    pending: Vec<u64>,
}

impl LiveAttemptRow {
    fn new(call: &LiveAttempt) -> LiveAttemptRow {
        LiveAttemptRow {
            attempt: call.attempt + 1,
            modem: call.modem + 1,
            cpu: call.cpu,
            activations: call.activations,
            elapsed_ns: call.elapsed_ns,
            executed_ns: call.executed_ns,
            datapump_ns: call.datapump_ns,
            max_late_ns: call.max_late_ns,
            host_ns: call.host_ns,
            underruns_beside_host: call.underruns_by_host,
            pending: call.pending.clone(),
        }
    }
}

impl<'a> LiveRow<'a> {
    fn new(sent: &Sent<'a>, live: &LiveSent<'a>) -> LiveRow<'a> {
        let together = Together::of(sent, live);
        let refused = live.refused.iter();
        LiveRow {
            context: live.context.clone(),
            modems: live.modems,
            cpu: live.cpus.first().copied().unwrap_or(0),
            cpus: live.cpus,
            competitors: live.competitors.clone(),
            load: live.load,
            scores: live.scores.iter().map(|score| ScoreRow::new(live.load.unwrap_or(""), score)).collect(),
            load_failure: live.load_failure,
            refused: refused.map(|(modem, reason)| RefusedRow { modem: modem + 1, reason }).collect(),
            notes: live.notes,
            clean_transfer_ns: live.clean_ns,
            together: together.map(|together| TogetherRow {
                bits_per_second: together.bits_per_second,
                cpu_percent: together.cpu_percent,
                datapump_percent: together.datapump_percent,
            }),
            pending_step_samples: PENDING_STEP,
            attempts: live.calls.iter().map(LiveAttemptRow::new).collect(),
            devices: live.devices.as_ref().map(|run| DeviceAnswer::new(run, &[])),
        }
    }
}

/// How the ends, the line and the calling end's processor were set up.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct How {
    seed: u64,
    attempts: u32,
    far_end: &'static str,
    highest_bits_per_second: u32,
    signal_to_noise_db: Option<f64>,
    echo_db: Option<f64>,
    companded: bool,
    /// How the network writes samples, `a` or `mu`; `null`: it does not compand.
    law: Option<&'static str>,
    /// How much faster the far end's clock runs.
    drift_ppm: i32,
    /// Of the calling end's echo canceller: how much its datapump computes; `null`: the datapumps are others'.
    taps: Option<u32>,
    buffers: u32,
    ring_samples: u32,
    compute_ns: u64,
    slack_ns: u64,
    late: &'static str,
    slot: Option<SlotRow>,
    stalls: Option<StallsRow>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SlotRow {
    runtime_ns: u64,
    period_ns: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StallsRow {
    length_ns: u64,
    every_ns: u64,
}

impl How {
    /// With a pump that is not ours, its name.
    fn new(experiment: &Experiment, pump: Option<&str>) -> How {
        let Experiment { telephone, setup, .. } = experiment;
        How {
            seed: experiment.seed,
            attempts: experiment.attempts,
            far_end: far_end_name(experiment.far_end),
            highest_bits_per_second: telephone.max_rate.bits_per_second(),
            signal_to_noise_db: telephone.line.signal_to_noise,
            echo_db: telephone.line.echo,
            companded: telephone.line.companding.is_some(),
            law: law_name(telephone.line.companding),
            drift_ppm: telephone.drift_ppm,
            taps: pump.is_none().then_some(telephone.echo_banks * ECHO_BANK),
            buffers: setup.buffers,
            ring_samples: setup.ring,
            compute_ns: setup.compute_ns,
            slack_ns: setup.slack_ns(),
            late: late_name(setup.late),
            slot: experiment.slot.map(|slot| SlotRow { runtime_ns: slot.runtime_ns, period_ns: slot.period_ns }),
            stalls: experiment
                .stalls
                .map(|stalls| StallsRow { length_ns: stalls.length_ns, every_ns: stalls.every_ns }),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SecondsRow {
    min: f64,
    max: f64,
    mean: f64,
    deviation: f64,
}

impl SecondsRow {
    pub(super) fn new(seconds: Seconds) -> SecondsRow {
        let Seconds { min, max, mean, deviation } = seconds;
        SecondsRow { min, max, mean, deviation }
    }
}

/// One call.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct AttemptRow {
    ending: &'static str,
    succeeded: bool,
    exact: bool,
    received_bytes: u64,
    set_up_ns: u64,
    transfer_ns: Option<u64>,
    bits_per_second: u32,
    retrains: u32,
    crc_errors: u64,
    far_crc_errors: u64,
    resent_frames: u64,
    underruns: u64,
    underrun_samples: u64,
    overruns: u64,
    lost_samples: u64,
    stalls: u64,
}

impl AttemptRow {
    pub(super) fn new(attempt: &Attempt) -> AttemptRow {
        AttemptRow {
            ending: attempt.ending.name(),
            succeeded: attempt.succeeded(),
            exact: attempt.is_exact,
            received_bytes: attempt.received,
            set_up_ns: attempt.set_up_ns,
            transfer_ns: attempt.transfer_ns,
            bits_per_second: attempt.bits_per_second,
            retrains: attempt.retrains,
            crc_errors: attempt.crc_errors,
            far_crc_errors: attempt.far_crc_errors,
            resent_frames: attempt.resent,
            underruns: attempt.underruns,
            underrun_samples: attempt.underrun_samples,
            overruns: attempt.overruns,
            lost_samples: attempt.lost_samples,
            stalls: attempt.stalls,
        }
    }
}

/// What stalls of each length did to calls, one stall per call.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StallsAnswer {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    interrupted: bool,
    how: How,
    rows: Vec<StallsLine>,
}

impl StallsAnswer {
    /// The answer for programs.
    pub fn new(stalled: &Stalled<'_>) -> StallsAnswer {
        StallsAnswer {
            schema: "punctual.modem-stalls/1",
            verdict: stalled.verdict(),
            exit_code: u8::from(stalled.interrupted),
            interrupted: stalled.interrupted,
            how: How::new(stalled.experiment, None),
            rows: stalled.rows.iter().map(StallsLine::new).collect(),
        }
    }
}

impl Answer for StallsAnswer {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StallsLine {
    direction: &'static str,
    stall_ns: u64,
    calls: u32,
    succeeded: u32,
    unharmed: u32,
    underruns: u64,
    overruns: u64,
    crc_errors: u64,
    retrained: u32,
    mean_extra_s: Option<f64>,
    max_extra_s: Option<f64>,
}

impl StallsLine {
    fn new(row: &StallRow) -> StallsLine {
        StallsLine {
            direction: direction_name(row.direction),
            stall_ns: row.length_ns,
            calls: row.calls,
            succeeded: row.succeeded,
            unharmed: row.unharmed,
            underruns: row.underruns,
            overruns: row.overruns,
            crc_errors: row.crc_errors,
            retrained: row.retrained,
            mean_extra_s: row.mean_extra_s,
            max_extra_s: row.max_extra_s,
        }
    }
}
