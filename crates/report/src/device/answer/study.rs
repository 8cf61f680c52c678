//! The answer of a study.

use super::{DeviceRow, Intervals, SCHEMA};
use crate::answer::Answer;
use crate::device::study::StudyReport;
use crate::verdict::device::study::study_verdict;
use crate::{NextStep, StageRow};
use serde::Serialize;
use std::path::Path;

/// A study of one device in its contexts.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: &'a [NextStep],
    device: &'a str,
    least_intrusive: Option<&'a str>,
    lowest_sufficient: Option<&'a str>,
    interrupted: bool,
    contexts: Vec<StudyRow<'a>>,
}

/// One run of a study, and what the paper and the simulator say about it.
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
    /// A context that is not available here.
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
    pub fn new(study: &'a StudyReport<'a>, next: &'a [NextStep]) -> StudyAnswer<'a> {
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
            verdict: study_verdict(study),
            exit_code: 0,
            next,
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
