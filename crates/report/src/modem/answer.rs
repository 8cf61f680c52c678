//! The answers of `punctual modem`. Times are ns unless a name says otherwise.

use super::{LiveSent, Sent, Stalled, direction_name, far_end_name, late_name};
use crate::answer::Answer;
use punctual_modem::experiment::{Experiment, StallRow};
use punctual_modem::transfer::{Attempt, LiveAttempt, PENDING_STEP, Seconds};
use serde::Serialize;

/// A file that was sent over a telephone line in virtual time.
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
    how: How,
    successes: usize,
    /// Of the attempts that succeeded.
    seconds: Option<SecondsRow>,
    /// Bits of the file a second.
    throughput: Option<f64>,
    attempts: Vec<AttemptRow>,
    /// `null`: in virtual time.
    live: Option<LiveRow>,
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
            how: How::new(sent.experiment),
            successes: sent.transfer.successes(),
            seconds: sent.transfer.seconds().map(SecondsRow::new),
            throughput: sent.transfer.throughput(),
            attempts: sent.transfer.attempts.iter().map(AttemptRow::new).collect(),
            live: sent.live.as_ref().map(LiveRow::new),
        }
    }
}

impl Answer for TransferAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// What was counted on this machine, if the calling end was one of its threads.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LiveRow {
    context: String,
    cpu: u32,
    competitors: Vec<String>,
    pending_step_samples: u64,
    attempts: Vec<LiveAttemptRow>,
}

/// The same for one attempt.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LiveAttemptRow {
    activations: u64,
    executed_ns: u64,
    max_late_ns: u64,
    /// What the host took; `null`: not known.
    host_ns: Option<u64>,
    underruns_beside_host: u64,
    /// How often this many samples were waiting after a block was processed: less than a step, less than two, and so on.
    pending: Vec<u64>,
}

impl LiveRow {
    fn new(live: &LiveSent<'_>) -> LiveRow {
        let attempt = |attempt: &LiveAttempt| LiveAttemptRow {
            activations: attempt.activations,
            executed_ns: attempt.executed_ns,
            max_late_ns: attempt.max_late_ns,
            host_ns: attempt.host_ns,
            underruns_beside_host: attempt.underruns_by_host,
            pending: attempt.pending.clone(),
        };
        LiveRow {
            context: live.context.clone(),
            cpu: live.cpu,
            competitors: live.competitors.clone(),
            pending_step_samples: PENDING_STEP,
            attempts: live.attempts.iter().map(attempt).collect(),
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
    fn new(experiment: &Experiment) -> How {
        let Experiment { telephone, setup, .. } = experiment;
        How {
            seed: experiment.seed,
            attempts: experiment.attempts,
            far_end: far_end_name(experiment.far_end),
            highest_bits_per_second: telephone.max_rate.bits_per_second(),
            signal_to_noise_db: telephone.line.signal_to_noise,
            echo_db: telephone.line.echo,
            companded: telephone.line.companding.is_some(),
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
            how: How::new(stalled.experiment),
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
