//! The answer of `punctual modem study`. Times are ns unless a name says otherwise.

use super::{ASSUMED, Studied};
use crate::answer::Answer;
use crate::modem::answer::{AttemptRow, SecondsRow};
use crate::modem::{far_end_name, late_name};
use crate::next::NextStep;
use punctual_modem::experiment::Experiment;
use punctual_modem::tables::{Class, Published, Row};
use punctual_modem::transfer::Attempt;
use serde::Serialize;

/// The paper's tables of transfers, in virtual time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    interrupted: bool,
    bytes: u64,
    how: StudyHow,
    /// A transfer that nothing delays, s; `null`: not known yet, or it failed.
    clean_s: Option<f64>,
    directory: Option<&'a str>,
    /// Attempts that were taken from there.
    kept: usize,
    /// Rows in the paper's class, and rows whose attempts are all over.
    agreeing: usize,
    whole: usize,
    rows: Vec<StudyRow<'a>>,
    assumed: [&'static str; 5],
    next: Vec<NextStep>,
}

impl<'a> StudyAnswer<'a> {
    /// The answer for programs.
    pub fn new(studied: &Studied<'a>) -> StudyAnswer<'a> {
        let tables = studied.tables;
        let clean_s = tables.clean_s();
        let (agreeing, whole) = tables.agreeing();
        StudyAnswer {
            schema: "punctual.modem-study/1",
            verdict: studied.verdict(),
            exit_code: studied.exit_code(),
            interrupted: studied.interrupted,
            bytes: tables.bytes,
            how: StudyHow::new(&tables.experiment),
            clean_s,
            directory: studied.directory,
            kept: studied.kept,
            agreeing,
            whole,
            rows: tables.rows.iter().map(|row| StudyRow::new(row, clean_s)).collect(),
            assumed: ASSUMED,
            next: studied.next(),
        }
    }
}

impl Answer for StudyAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// How all rows are set up.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StudyHow {
    seed: u64,
    attempts: u32,
    highest_bits_per_second: u32,
    signal_to_noise_db: Option<f64>,
    buffers: u32,
    ring_samples: u32,
    /// On average.
    compute_ns: u64,
    slack_ns: u64,
    late: &'static str,
}

impl StudyHow {
    fn new(experiment: &Experiment) -> StudyHow {
        let Experiment { telephone, setup, .. } = experiment;
        StudyHow {
            seed: experiment.seed,
            attempts: experiment.attempts,
            highest_bits_per_second: telephone.max_rate.bits_per_second(),
            signal_to_noise_db: telephone.line.signal_to_noise,
            buffers: setup.buffers,
            ring_samples: setup.ring,
            compute_ns: setup.compute_ns,
            slack_ns: setup.slack_ns(),
            late: late_name(setup.late),
        }
    }
}

/// A row of a table.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StudyRow<'a> {
    table: u8,
    name: &'a str,
    id: &'a str,
    far_end: &'static str,
    /// Of the attempts that are over.
    successes: usize,
    /// `sufficient`, `marginal` or `insufficient`; `null`: not known yet.
    class: Option<&'static str>,
    /// Of the attempts that succeeded.
    seconds: Option<SecondsRow>,
    /// Their mean, in multiples of a transfer that nothing delays.
    times_clean: Option<f64>,
    retrains: u64,
    crc_errors: u64,
    far_crc_errors: u64,
    underruns: u64,
    overruns: u64,
    paper: PaperRow,
    attempts: Vec<NumberedAttempt>,
}

/// What the paper prints for it. Seconds are `null` if it prints none.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PaperRow {
    min_s: Option<f64>,
    max_s: Option<f64>,
    mean_s: Option<f64>,
    deviation_s: Option<f64>,
    successes: u32,
    attempts: u32,
    /// The interrupt version's mean with the same far end.
    clean_s: f64,
    times_clean: Option<f64>,
    class: &'static str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NumberedAttempt {
    /// From 1.
    number: u32,
    #[serde(flatten)]
    attempt: AttemptRow,
}

impl<'a> StudyRow<'a> {
    fn new(row: &'a Row, clean_s: Option<f64>) -> StudyRow<'a> {
        let sum = |of: fn(&Attempt) -> u64| row.transfer.sum(of);
        StudyRow {
            table: row.table,
            name: &row.name,
            id: &row.id,
            far_end: far_end_name(row.far_end),
            successes: row.transfer.successes(),
            class: clean_s.and_then(|clean| row.class(clean)).map(Class::name),
            seconds: row.transfer.seconds().map(SecondsRow::new),
            times_clean: clean_s.and_then(|clean| row.times_clean(clean)),
            retrains: sum(|attempt| attempt.retrains.into()),
            crc_errors: sum(|attempt| attempt.crc_errors),
            far_crc_errors: sum(|attempt| attempt.far_crc_errors),
            underruns: sum(|attempt| attempt.underruns),
            overruns: sum(|attempt| attempt.overruns),
            paper: PaperRow::new(&row.published),
            attempts: (row.numbers.iter().zip(&row.transfer.attempts))
                .map(|(&number, attempt)| NumberedAttempt { number, attempt: AttemptRow::new(attempt) })
                .collect(),
        }
    }
}

impl PaperRow {
    fn new(published: &Published) -> PaperRow {
        let Published { min, max, mean, deviation, successes, clean } = *published;
        PaperRow {
            min_s: min,
            max_s: max,
            mean_s: mean,
            deviation_s: deviation,
            successes,
            attempts: Published::ATTEMPTS,
            clean_s: clean,
            times_clean: published.times_clean(),
            class: published.class().name(),
        }
    }
}
