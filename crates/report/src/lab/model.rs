//! What a lab found.

use crate::recording::together::together;
use crate::{StageRow, stage_rows};
use punctual_blame::{Cause, Split, summarize};
use punctual_comparison::{Comparison, MIN_RUNS};
use punctual_recording::{Document, Stage};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What the figures of a lab are, and what they are not.
pub const MODELLED: &str = "Each guest has one virtual CPU whose clock counts instructions, 4 ns each. That shows the paths that \
                            kernels take, and what their work and their locks hold up, and gives the same again for the same seed. \
                            Copying and clearing memory counts each repetition of its instruction, and so takes too long. There are \
                            no caches, no other CPUs, no power states and no real devices: these are not the times of hardware.";

/// A lab's run.
pub struct LabReport<'a> {
    /// The words of the command in the guests, without `punctual`.
    pub words: &'a [String],
    /// The module that the guests loaded before, as the user named it.
    pub module: Option<String>,
    /// Where the guests' files are.
    pub directory: &'a Path,
    /// The systems, in the order in which the user named them.
    pub systems: Vec<SystemReport>,
    /// The first system that has recordings, compared with each other one of the same load: the positions of both, and
    /// the result.
    pub comparisons: Vec<(usize, usize, Comparison)>,
    /// Systems under one load each, by a quantile of the total that all of them have, the least first.
    pub ranks: Vec<RankRow>,
    /// Whether somebody ended it early.
    pub is_interrupted: bool,
    /// What else must be known.
    pub notes: Vec<String>,
    /// The exit code of the process.
    pub exit_code: u8,
}

/// A kernel with its parameters.
pub struct SystemReport {
    /// Its name, as the user gave it.
    pub name: String,
    /// The same without the load.
    pub kernel: String,
    /// Its load, in a grid with loads.
    pub load: Option<String>,
    /// Who made its late wakeups late, if there is evidence.
    pub causes: Option<SystemCauses>,
    /// The package that it came from, with its version, or the release of the user's own build.
    pub package: Option<String>,
    /// The name of its directory.
    pub directory: String,
    /// One guest for each seed.
    pub guests: Vec<GuestReport>,
    /// What was recorded, in the order of the seeds.
    pub documents: Vec<Document>,
}

/// A system's rank by a quantile, with an interval that includes the spread between seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RankRow {
    /// From 1; for each load separately.
    pub rank: usize,
    /// The system.
    pub system: String,
    /// The load, if the grid has loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// Which quantile of the total: `p99.9`.
    pub figure: &'static str,
    /// The geometric mean over the seeds.
    pub ns: u64,
    /// The lower limit, 95 %.
    pub low_ns: u64,
    /// The upper limit.
    pub high_ns: u64,
    /// The number of seeds.
    pub runs: usize,
}

/// Who made a system's late wakeups late.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SystemCauses {
    /// Late wakeups that are explained.
    pub episodes: u64,
    /// Those about which nothing is said, because their evidence has a hole.
    pub void: u64,
    /// How late those that are explained ran, all together.
    pub late_ns: u64,
    /// Most first; there may be more.
    pub rows: Vec<SystemCause>,
}

/// Who it was, and how much of the lateness.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SystemCause {
    /// Its name.
    pub who: String,
    /// Its kind.
    pub kind: &'static str,
    /// In how many episodes.
    pub episodes: u64,
    /// Its time in all episodes.
    pub ns: u64,
    /// The most in one episode.
    pub max_ns: u64,
}

impl SystemCauses {
    /// Sums up splits of episodes; `void` ones are not among them.
    pub fn of(splits: &[Split], void: u64) -> SystemCauses {
        let numbered = splits.iter().enumerate().map(|(number, split)| (number as u64, split));
        let summary = summarize(numbered);
        let row = |cause: &Cause| SystemCause {
            who: cause.who.name().to_owned(),
            kind: cause.kind.name(),
            episodes: cause.episodes,
            ns: cause.total_ns,
            max_ns: cause.max_ns,
        };
        let rows = summary.causes.iter().take(MAX_CAUSES).map(row).collect();
        SystemCauses { episodes: splits.len() as u64, void, late_ns: summary.late_ns, rows }
    }
}

/// The most causes that are listed for a system.
const MAX_CAUSES: usize = 5;

/// How a guest ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GuestEnd {
    /// Its command ended.
    Ran,
    /// It did not finish.
    Failed,
    /// It was not begun, or was cut short.
    NotRun,
}

/// A guest.
pub struct GuestReport {
    /// The seed of its randomness.
    pub seed: u32,
    /// How it ended.
    pub end: GuestEnd,
    /// The exit code of its command.
    pub exit_code: Option<i32>,
    /// Processor time that it used, ms.
    pub used_ms: Option<u64>,
    /// Whether it ran before.
    pub is_kept: bool,
    /// Lines in which its kernel complained, the first ones.
    pub splats: Vec<String>,
    /// How many there were.
    pub all_splats: u64,
    /// Why it failed, or what its command said last.
    pub said: Option<String>,
    /// Its recording.
    pub recording: Option<PathBuf>,
}

/// A row of the table of stages.
pub(crate) struct SystemStage<'a> {
    pub(super) system: &'a SystemReport,
    /// All of its runs together.
    pub(crate) row: StageRow,
    /// The least and the greatest of its runs' maxima.
    pub(super) max_between: Option<(u64, u64)>,
}

impl SystemReport {
    /// All runs as one.
    pub(crate) fn together(&self) -> Option<Document> {
        together(&self.documents)
    }

    pub(crate) fn stages(&self) -> Vec<SystemStage<'_>> {
        let Some(document) = self.together() else { return Vec::new() };
        let rows = stage_rows(&document).into_iter().filter(|row| row.cpu.is_none());
        let with_spread = rows.map(|row| {
            let of_run = |run: &Document| run.distributions.sum_of(&row.measure, row.stage, None).max();
            let maxima: Vec<u64> = self.documents.iter().filter_map(of_run).collect();
            let max_between = maxima.iter().min().copied().zip(maxima.iter().max().copied());
            SystemStage { system: self, row, max_between }
        });
        with_spread.collect()
    }

    /// What the load got done a second, each command with its mean over the runs, times 1,000.
    pub(super) fn load_rates(&self) -> Vec<(String, String, u64)> {
        let mut rates: Vec<(String, String, u64, u64)> = Vec::new();
        for score in self.documents.iter().flat_map(|document| &document.provenance.load.scores) {
            let found = rates.iter_mut().find(|(name, unit, ..)| (name, unit) == (&score.name, &score.unit));
            match found {
                Some((_, _, sum, count)) => {
                    *sum = sum.saturating_add(score.rate_thousandths());
                    *count += 1;
                }
                None => rates.push((score.name.clone(), score.unit.clone(), score.rate_thousandths(), 1)),
            }
        }
        rates.into_iter().map(|(name, unit, sum, count)| (name, unit, sum / count)).collect()
    }
}

impl LabReport<'_> {
    /// Every stage of every system: those of one stage are together, in the order of the stages.
    pub(super) fn stages(&self) -> Vec<SystemStage<'_>> {
        let mut rows: Vec<SystemStage<'_>> = self.systems.iter().flat_map(SystemReport::stages).collect();
        let position = |stage: Stage| Stage::ALL.iter().position(|other| *other == stage);
        rows.sort_by(|a, b| (&a.row.measure, position(a.row.stage)).cmp(&(&b.row.measure, position(b.row.stage))));
        rows
    }

    /// Every guest, with its system.
    pub(crate) fn guests(&self) -> impl Iterator<Item = (&SystemReport, &GuestReport)> {
        self.systems.iter().flat_map(|system| system.guests.iter().map(move |guest| (system, guest)))
    }

    /// What else must be known, including what the recordings say they could not see.
    pub(super) fn all_notes(&self) -> Vec<String> {
        let of = |system: &SystemReport| -> Vec<String> {
            let Some(document) = system.together() else { return Vec::new() };
            let notes = document.provenance.notes_with_failure();
            notes.iter().map(|note| format!("{}: {note}", system.name)).collect()
        };
        self.notes.iter().cloned().chain(self.systems.iter().flat_map(of)).collect()
    }

    /// A command that continues from here.
    pub fn next(&self) -> Option<String> {
        let (first, other, _) = self.comparisons.first()?;
        let first = &self.systems[*first];
        let side = |system: &SystemReport| {
            crate::layout::shell_word(&self.directory.join(&system.directory).to_string_lossy())
        };
        if first.documents.len() < MIN_RUNS {
            return Some(format!("the same command with --seeds 1..{MIN_RUNS}: a verdict takes as many runs of each"));
        }
        Some(format!("punctual compare {} {}", side(first), side(&self.systems[*other])))
    }
}

/// A kernel that can be booted by its name.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelRow {
    /// What it is called.
    pub name: String,
    /// Whether it is on this machine.
    pub is_here: bool,
    /// The package that is here or would be fetched, or the release of a build; `None` for whatever is newest and for an image.
    pub package: Option<String>,
    /// Why it could not be fetched.
    pub error: Option<String>,
}
