//! The answers of `punctual load`.

use super::{LoadResult, LoadRow};
use crate::answer::Answer;
use crate::verdict::tools::{load_verdict, loads_verdict};
use punctual_recording::LoadScore;
use serde::Serialize;

/// The name and version of the JSON.
const SCHEMA: &str = "punctual.load/1";

/// Which loads there are, or one of them with its file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoadListAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    loads: Vec<LoadEntry<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LoadEntry<'a> {
    name: &'a str,
    about: &'a str,
    real: bool,
    compression_thousandths: Option<u64>,
    installed: bool,
    missing: &'a [String],
    /// The load's file, if a load is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
}

impl<'a> LoadEntry<'a> {
    fn new(row: &'a LoadRow, file: Option<&'a str>) -> LoadEntry<'a> {
        LoadEntry {
            name: &row.name,
            about: &row.about,
            real: row.real,
            compression_thousandths: row.compression_thousandths,
            installed: row.missing.is_empty(),
            missing: &row.missing,
            file,
        }
    }
}

impl<'a> LoadListAnswer<'a> {
    /// The loads there are.
    pub fn new(rows: &'a [LoadRow]) -> LoadListAnswer<'a> {
        let loads = rows.iter().map(|row| LoadEntry::new(row, None)).collect();
        LoadListAnswer { schema: SCHEMA, verdict: loads_verdict(rows), exit_code: 0, loads }
    }

    /// One load with its file.
    pub fn shown(row: &'a LoadRow, file: &'a str) -> LoadListAnswer<'a> {
        let verdict = load_verdict(&row.name, row.missing.is_empty());
        LoadListAnswer { schema: SCHEMA, verdict, exit_code: 0, loads: vec![LoadEntry::new(row, Some(file))] }
    }
}

impl Answer for LoadListAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// Reports that a load is installed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoadInstalledAnswer<'a> {
    schema: &'static str,
    verdict: &'a str,
    exit_code: u8,
    loads: [InstalledEntry<'a>; 1],
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct InstalledEntry<'a> {
    name: &'a str,
    installed: bool,
}

impl<'a> LoadInstalledAnswer<'a> {
    /// The load of this name is there.
    pub fn new(name: &'a str, verdict: &'a str) -> LoadInstalledAnswer<'a> {
        LoadInstalledAnswer { schema: SCHEMA, verdict, exit_code: 0, loads: [InstalledEntry { name, installed: true }] }
    }
}

impl Answer for LoadInstalledAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// The result of running a load by itself.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoadRunAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    load: &'a str,
    elapsed_ns: u64,
    warm_up_ns: u64,
    scores: Vec<ScoreRow<'a>>,
    notes: &'a [String],
    trouble: &'a [String],
}

impl<'a> LoadRunAnswer<'a> {
    /// The answer for programs.
    pub fn new(result: &'a LoadResult) -> LoadRunAnswer<'a> {
        LoadRunAnswer {
            schema: SCHEMA,
            verdict: result.verdict(),
            exit_code: result.exit_code(),
            load: &result.name,
            elapsed_ns: result.elapsed_ns,
            warm_up_ns: result.warm_up_ns,
            scores: result.scores.iter().map(|score| ScoreRow::new(&result.name, score)).collect(),
            notes: &result.notes,
            trouble: &result.trouble,
        }
    }
}

impl Answer for LoadRunAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// A score with its rate.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ScoreRow<'a> {
    load: &'a str,
    name: &'a str,
    unit: &'a str,
    count_thousandths: u64,
    elapsed_ns: u64,
    pace_ns: Option<u64>,
    per_second: f64,
}

impl<'a> ScoreRow<'a> {
    pub(crate) fn new(load: &'a str, score: &'a LoadScore) -> ScoreRow<'a> {
        ScoreRow {
            load,
            name: &score.name,
            unit: &score.unit,
            count_thousandths: score.count_thousandths,
            elapsed_ns: score.elapsed_ns,
            pace_ns: score.pace_ns,
            per_second: score.rate_thousandths() as f64 / 1_000.0,
        }
    }
}
