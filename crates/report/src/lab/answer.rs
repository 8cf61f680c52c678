//! The answers of `punctual lab`.

use super::model::{
    GuestEnd, GuestReport, KernelRow, LabReport, MODELLED, RankRow, SystemCauses, SystemReport, SystemStage,
};
use super::text::verdict_on;
use crate::answer::Answer;
use crate::compare::CompareAnswer;
use crate::{StageRow, after_comparison};
use serde::Serialize;
use std::path::Path;

/// What a lab found.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LabAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What the figures are, and what they are not.
    modelled: &'static str,
    /// The words of the command in the guests, without `punctual`.
    command: &'a [String],
    /// The module that the guests loaded before.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a str>,
    directory: &'a Path,
    interrupted: bool,
    systems: Vec<SystemRow<'a>>,
    /// All runs of a system together.
    stages: Vec<SystemStageRow<'a>>,
    /// Systems by a quantile that all of them have, the smallest first, for each load separately.
    ranks: &'a [RankRow],
    comparisons: Vec<ComparisonRow<'a>>,
    notes: Vec<String>,
    next: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SystemRow<'a> {
    name: &'a str,
    package: Option<&'a str>,
    guests: Vec<GuestRow<'a>>,
    load: Vec<RateRow>,
    /// Who made its late wakeups late, if there is evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    causes: Option<&'a SystemCauses>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GuestRow<'a> {
    seed: u32,
    end: GuestEnd,
    /// The command's exit code.
    command_exit_code: Option<i32>,
    processor_ms: Option<u64>,
    /// Whether it ran before, and was taken from the directory.
    kept: bool,
    splats: &'a [String],
    all_splats: u64,
    said: Option<&'a str>,
    recording: Option<&'a Path>,
}

impl<'a> GuestRow<'a> {
    fn new(guest: &'a GuestReport) -> GuestRow<'a> {
        GuestRow {
            seed: guest.seed,
            end: guest.end,
            command_exit_code: guest.exit_code,
            processor_ms: guest.used_ms,
            kept: guest.is_kept,
            splats: &guest.splats,
            all_splats: guest.all_splats,
            said: guest.said.as_deref(),
            recording: guest.recording.as_deref(),
        }
    }
}

/// What a command of the load got done.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RateRow {
    name: String,
    unit: String,
    /// The mean of the runs.
    per_s_thousandths: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SystemStageRow<'a> {
    system: &'a str,
    #[serde(flatten)]
    stage: StageRow,
    /// The smallest of the runs' maxima.
    max_lowest_ns: Option<u64>,
    /// The greatest.
    max_highest_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ComparisonRow<'a> {
    a: &'a str,
    b: &'a str,
    comparison: CompareAnswer<'a>,
}

impl<'a> LabAnswer<'a> {
    /// The answer for programs.
    pub fn new(report: &'a LabReport<'a>) -> LabAnswer<'a> {
        let system = |system: &'a SystemReport| SystemRow {
            name: &system.name,
            package: system.package.as_deref(),
            guests: system.guests.iter().map(GuestRow::new).collect(),
            load: (system.load_rates().into_iter())
                .map(|(name, unit, per_s_thousandths)| RateRow { name, unit, per_s_thousandths })
                .collect(),
            causes: system.causes.as_ref(),
        };
        let stage = |stage: SystemStage<'a>| SystemStageRow {
            system: &stage.system.name,
            max_lowest_ns: stage.max_between.map(|(lowest, _)| lowest),
            max_highest_ns: stage.max_between.map(|(_, highest)| highest),
            stage: stage.row,
        };
        let comparisons = report.comparisons.iter().map(|(first, other, comparison)| ComparisonRow {
            a: &report.systems[*first].name,
            b: &report.systems[*other].name,
            comparison: CompareAnswer::new(
                comparison,
                after_comparison(comparison, [None; 2], [None; 2], None, None),
                0,
            ),
        });
        LabAnswer {
            schema: "punctual.lab/1",
            verdict: report.verdict(),
            exit_code: report.exit_code,
            modelled: MODELLED,
            command: report.words,
            module: report.module.as_deref(),
            directory: report.directory,
            interrupted: report.is_interrupted,
            systems: report.systems.iter().map(system).collect(),
            stages: report.stages().into_iter().map(stage).collect(),
            ranks: &report.ranks,
            comparisons: comparisons.collect(),
            notes: report.all_notes(),
            next: report.next(),
        }
    }
}

impl Answer for LabAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// Which kernels there are.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelsAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    kernels: &'a [KernelRow],
}

impl<'a> KernelsAnswer<'a> {
    /// The answer for programs.
    pub fn new(kernels: &'a [KernelRow], exit_code: u8) -> KernelsAnswer<'a> {
        KernelsAnswer { schema: "punctual.lab-kernels/1", verdict: verdict_on(kernels), exit_code, kernels }
    }
}

impl Answer for KernelsAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
