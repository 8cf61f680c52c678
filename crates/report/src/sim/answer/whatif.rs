//! `sim whatif`.

use crate::answer::Answer;
use punctual_recording::{Distribution, Stage};
use punctual_sim::time::NANOSECOND;
use punctual_sim::whatif;
use serde::Serialize;

/// How a device would fare on a machine like the recorded one.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WhatifAnswer {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    activations: u64,
    misses: u64,
    pending_max: u64,
    exposure_ns: u64,
    latency: TimesRow,
    response: TimesRow,
    bystander: Option<[TimesRow; 1]>,
    bystander_intervals: Option<TimesRow>,
    shares: Shares,
    events: u64,
    /// How sure the misses are; absent if nothing recorded went in.
    interval: Option<IntervalRow>,
    /// Whether it was ended before the simulated time was over, or before it had an interval.
    interrupted: bool,
}

/// The range of the misses of a run of that length, 95 times out of 100: with one recording, as long as the machine
/// stays as it was recorded; with several, as long as it changes no more than it did between them.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct IntervalRow {
    recorded_ns: u64,
    /// In how many recordings.
    recordings: u64,
    /// None if the recording cannot support an answer whatever they would count.
    repetitions: u64,
    misses_low: Option<u64>,
    misses_high: Option<u64>,
    /// The median at the time asked about; absent if no time was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    misses_expected: Option<u64>,
    /// Why the recording cannot support the answer, and what would.
    refused: Option<String>,
}

/// Times of many activations.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TimesRow {
    count: u64,
    min_ns: Option<u64>,
    mean_ns: Option<u64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    p99_9_ns: Option<u64>,
    p99_99_ns: Option<u64>,
    max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'static str>,
}

impl TimesRow {
    fn new(stage: Option<Stage>, times: &Distribution) -> TimesRow {
        TimesRow {
            count: times.count(),
            min_ns: times.min(),
            mean_ns: times.mean(),
            p50_ns: times.quantile(0.5),
            p99_ns: times.quantile(0.99),
            p99_9_ns: times.quantile(0.999),
            p99_99_ns: times.quantile(0.9999),
            max_ns: times.max(),
            stage: stage.map(Stage::name),
        }
    }
}

/// Who had the CPU.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Shares {
    device: f64,
    competitors: f64,
    idle: f64,
}

impl WhatifAnswer {
    /// The answer for programs.
    pub fn new(answer: &whatif::Answer) -> WhatifAnswer {
        let [device, competitors, idle] = answer.shares;
        WhatifAnswer {
            schema: "punctual.whatif/1",
            verdict: answer.verdict(),
            exit_code: 0,
            activations: answer.activations,
            misses: answer.misses,
            pending_max: answer.pending_max,
            exposure_ns: answer.exposure / NANOSECOND,
            latency: TimesRow::new(Some(Stage::Total), &answer.latency),
            response: TimesRow::new(None, &answer.response),
            bystander: answer.bystander.as_ref().map(|late| [TimesRow::new(Some(Stage::Total), late)]),
            bystander_intervals: answer.bystander_intervals.as_ref().map(|gaps| TimesRow::new(None, gaps)),
            shares: Shares { device, competitors, idle },
            events: answer.events,
            interval: answer.interval.as_ref().map(|interval| IntervalRow {
                recorded_ns: interval.recorded / NANOSECOND,
                recordings: interval.recordings,
                repetitions: interval.repetitions,
                misses_low: (interval.repetitions > 0).then_some(interval.low),
                misses_high: (interval.repetitions > 0).then_some(interval.high),
                misses_expected: interval.expected,
                refused: interval.refused.clone(),
            }),
            interrupted: answer.interrupted,
        }
    }
}

impl Answer for WhatifAnswer {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
