//! The answer of forecasts that were checked against devices.

use super::{DeviceRow, SCHEMA};
use crate::NextStep;
use crate::answer::Answer;
use crate::device::verify::{VerifiedRow, verdict};
use serde::Serialize;
use std::path::PathBuf;

/// Forecasts beside what was counted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerifyAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: &'a [NextStep],
    /// Those without a device, one per round.
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
    /// The runs with the device, one per round.
    rounds: Vec<DeviceRow<'a>>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ForecastRow {
    mttf_s: Mttf,
    exposure_s: f64,
    expected_stalls: Expected,
    /// The factor by which the machine itself may have changed the rate meanwhile, which is part of what is expected;
    /// `null` for fewer than three rounds.
    range: Option<f64>,
    counted_stalls: u64,
    /// `null` where what is expected is so wide that it would agree with almost any count.
    agrees: Option<bool>,
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
    pub fn new(
        rows: &[VerifiedRow<'a>],
        recordings: &'a [PathBuf],
        exposure_s: f64,
        next: &'a [NextStep],
    ) -> VerifyAnswer<'a> {
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
        let verdict = verdict(rows);
        VerifyAnswer { schema: SCHEMA, verdict, exit_code: 0, next, recordings, exposure_s, contexts }
    }
}

impl Answer for VerifyAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
