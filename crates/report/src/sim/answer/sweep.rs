//! Sweeps over a grid: of one case of an experiment, and of a `sim whatif`.

use crate::answer::{Answer, Named};
use crate::sim::sweep::ExperimentSweep;
use crate::verdict::sim::{experiment_sweep_verdict, whatif_sweep_verdict};
use punctual_sim::sweep::Sweep;
use punctual_sim::swept;
use serde::Serialize;

/// One case of an experiment at every point of a grid.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExperimentSweepAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    interrupted: bool,
    axes: Vec<&'a str>,
    points: Vec<ExperimentPointRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExperimentPointRow<'a> {
    point: u64,
    /// One for each axis: whole numbers, else as written.
    values: Vec<SweptRow>,
    /// `impossible`, `sufficient`, `marginal` or `insufficient`.
    class: &'static str,
    impossible: Option<&'a str>,
    runs: u64,
    blocks: u64,
    faults: u64,
    pending_max: u64,
    overruns: u64,
    successes: u64,
    transfer_faults: u64,
}

/// A value of a sweep.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum SweptRow {
    Number(i64),
    Text(String),
}

impl<'a> ExperimentSweepAnswer<'a> {
    /// The answer for programs.
    pub fn new(found: &ExperimentSweep<'a>) -> ExperimentSweepAnswer<'a> {
        let ExperimentSweep { grid, points, interrupted } = *found;
        let rows = points.iter().map(|(number, point)| ExperimentPointRow {
            point: *number,
            values: grid
                .axes()
                .iter()
                .zip(grid.values(*number).into_iter().zip(grid.written(*number)))
                .map(|(axis, (value, word))| match axis.words.is_empty() {
                    true => SweptRow::Number(value),
                    false => SweptRow::Text(word),
                })
                .collect(),
            class: point.class(),
            impossible: point.impossible.as_deref(),
            runs: point.runs,
            blocks: point.blocks,
            faults: point.faults,
            pending_max: point.pending_max,
            overruns: point.overruns,
            successes: point.successes,
            transfer_faults: point.transfer_faults,
        });
        ExperimentSweepAnswer {
            schema: "punctual.sim-sweep/1",
            verdict: experiment_sweep_verdict(found),
            exit_code: u8::from(interrupted),
            interrupted,
            axes: grid.axes().iter().map(|axis| axis.name.as_str()).collect(),
            points: rows.collect(),
        }
    }
}

impl Answer for ExperimentSweepAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// The same at every point of a grid.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WhatifSweepAnswer {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    interrupted: bool,
    points: Vec<WhatifPointRow>,
}

/// A point: before the other members it has one for each axis of the grid, by its name.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WhatifPointRow {
    #[serde(flatten)]
    axes: Named<i64>,
    point: u64,
    possible: bool,
    activations: Option<u64>,
    misses: Option<u64>,
    pending_max: Option<u64>,
    latency_max_ns: Option<u64>,
}

impl WhatifSweepAnswer {
    /// The answer for programs.
    pub fn new(grid: &Sweep, points: &[swept::Point], interrupted: bool) -> WhatifSweepAnswer {
        let rows = points.iter().map(|point| WhatifPointRow {
            axes: grid.axes().iter().map(|axis| axis.name.as_str()).zip(grid.values(point.number)).collect(),
            point: point.number,
            possible: point.outcome.is_some(),
            activations: point.outcome.map(|outcome| outcome.activations),
            misses: point.outcome.map(|outcome| outcome.misses),
            pending_max: point.outcome.map(|outcome| outcome.pending_max),
            latency_max_ns: point.outcome.map(|outcome| outcome.latency_max_ns),
        });
        WhatifSweepAnswer {
            schema: "punctual.whatif-sweep/1",
            verdict: whatif_sweep_verdict(grid, points, interrupted),
            exit_code: 0,
            interrupted,
            points: rows.collect(),
        }
    }
}

impl Answer for WhatifSweepAnswer {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
