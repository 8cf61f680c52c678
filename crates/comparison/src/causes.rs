//! Who made wakeups late on either side, and which causes became more or less frequent.
//!
//! Only evidence that was kept alike is compared: above one fixed threshold, by recorders that saw as much, and of nearly all that
//! was late. The episodes of each cause are a rate of the time that was watched, which is judged as every other count is; what was
//! late without evidence may have had any cause. None of this is part of a verdict: it says what changed, not whether that is enough.

use crate::blamed::{CauseName, RunCauses};
use crate::blocks::{Run, measured_ns};
use crate::counts::{fixed_threshold_ns, outcome_of, rate_ratio_between};
use crate::devices::RateRatio;
use crate::events::{EventCount, OfRun};
use crate::in_time::InTime;
use crate::verdict::Outcome;
use punctual_recording::{RecorderSummary, Stage, counted, grouped, printable};
use std::collections::BTreeSet;

/// Fewer episodes on both sides together are never called a change.
const MIN_EPISODES: u64 = 8;
/// No more causes than this are judged, those with most episodes: names may be as many as a file has room for.
const MAX_JUDGED: usize = 32;
/// At least so many hundredths of what was late must have evidence: what is missing is what came when much else was late.
const MIN_WHOLE_HUNDREDTHS: u64 = 90;
const HOUR_NS: f64 = 3.6e12;

/// How often a cause made something late on B, compared with A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// More often.
    More,
    /// Less often.
    Less,
    /// These data show no difference worth the name.
    NotShown,
    /// There are too few episodes to tell.
    TooFew,
}

impl Change {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Change::More => "more",
            Change::Less => "less",
            Change::NotShown => "not shown",
            Change::TooFew => "too few",
        }
    }

    /// Whether these data show that something changed.
    pub fn is_shown(self) -> bool {
        matches!(self, Change::More | Change::Less)
    }
}

/// What a cause had of the lateness of a side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CauseCount {
    /// In how many episodes it had a part.
    pub episodes: u64,
    /// How much of them it had, ns.
    pub total_ns: u64,
}

/// A cause on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseComparison {
    /// Which.
    pub cause: CauseName,
    /// What it had on A.
    pub a: CauseCount,
    /// What it had on B.
    pub b: CauseCount,
    /// How many times as often it comes on B. No limits where that was not judged.
    pub ratio: RateRatio,
    /// What that amounts to.
    pub change: Change,
}

/// How much of a side's lateness has evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CausesOfSide {
    /// For how long the recorder watched, ns.
    pub watched_ns: u64,
    /// What was beyond the threshold.
    pub late: u64,
    /// How many of these have evidence without a hole.
    pub whole: u64,
}

impl CausesOfSide {
    fn of(runs: &[Run]) -> CausesOfSide {
        runs.iter().fold(CausesOfSide::default(), |sum, run| {
            let own = run.causes.as_ref();
            CausesOfSide {
                watched_ns: sum.watched_ns.saturating_add(watched_ns(run)),
                late: sum.late.saturating_add(own.map_or(0, |own| own.late)),
                whole: sum.whole.saturating_add(own.map_or(0, |own| own.whole)),
            }
        })
    }

    /// How much there would be of this in an hour of the time that was watched.
    pub fn an_hour(&self, amount: u64) -> f64 {
        amount as f64 / self.watched_ns.max(1) as f64 * HOUR_NS
    }

    /// How many were late for causes that are not known.
    pub fn untold(&self) -> u64 {
        self.late.saturating_sub(self.whole)
    }
}

/// Who made wakeups late on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct CausesComparison {
    /// What was compared with the threshold.
    pub stage: Stage,
    /// The threshold, ns.
    pub threshold_ns: u64,
    /// The evidence of A.
    pub a: CausesOfSide,
    /// The evidence of B.
    pub b: CausesOfSide,
    /// The causes, those first that changed, then those with most of the time.
    pub rows: Vec<CauseComparison>,
}

/// Compares the causes on both sides; notes say why that cannot be done, if evidence was recorded. All limits hold together with
/// this probability.
pub(crate) fn causes(
    a: &[Run],
    b: &[Run],
    is_paired: bool,
    confidence: f64,
) -> (Option<CausesComparison>, Vec<String>) {
    let is_recorded = a.iter().chain(b).any(|run| run.document.recorder.is_some());
    let notes = if is_recorded { obstacles(a, b) } else { Vec::new() };
    let recorder = a.first().and_then(|run| run.document.recorder.as_ref());
    let Some((recorder, threshold_ns)) = recorder.zip(recorder.and_then(fixed_threshold_ns)) else {
        return (None, notes);
    };
    if !notes.is_empty() {
        return (None, notes);
    }
    let sides = [a, b].map(CausesOfSide::of);
    let rows = rows(a, b, sides, is_paired, 1.0 - confidence);
    let [a, b] = sides;
    (Some(CausesComparison { stage: recorder.stage, threshold_ns, a, b, rows }), notes)
}

/// What keeps the evidence of these runs from being compared.
fn obstacles(a: &[Run], b: &[Run]) -> Vec<String> {
    let of_sides: Vec<String> =
        [("A", a), ("B", b)].into_iter().filter_map(|(label, runs)| obstacle(label, runs)).collect();
    if !of_sides.is_empty() {
        return of_sides;
    }
    let recorders = || a.iter().chain(b).filter_map(|run| run.document.recorder.as_ref());
    let thresholds: BTreeSet<(Stage, Option<u64>)> =
        recorders().map(|recorder| (recorder.stage, fixed_threshold_ns(recorder))).collect();
    if thresholds.len() > 1 || thresholds.iter().any(|(_, threshold_ns)| threshold_ns.is_none()) {
        let told: BTreeSet<String> =
            recorders().map(|own| format!("{} ({})", printable(&own.threshold), own.stage.name())).collect();
        let told: Vec<String> = told.into_iter().collect();
        return vec![format!(
            "causes were not compared, since not all recordings have the same stage and the same fixed threshold, such as `--why 1ms`: \
             these have {}",
            told.join(", ")
        )];
    }
    let sights: BTreeSet<Sight> = recorders().map(Sight::of).collect();
    let note = "causes were not compared: the recorder saw less in some of the recordings (other samples, or BPF programs that their \
                kernel refused), so the same cause may have another name there";
    if sights.len() > 1 { vec![note.to_owned()] } else { Vec::new() }
}

/// What a recorder could see.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Sight<'a> {
    missing: BTreeSet<&'a str>,
    is_nesting_known: bool,
    sample_rate: u32,
    sample_clock: Option<&'a str>,
}

impl<'a> Sight<'a> {
    fn of(recorder: &'a RecorderSummary) -> Sight<'a> {
        Sight {
            missing: recorder.missing.iter().map(String::as_str).collect(),
            is_nesting_known: recorder.nesting_known,
            sample_rate: recorder.sample_rate,
            sample_clock: recorder.sample_clock.as_deref(),
        }
    }
}

/// What the evidence of a side lacks.
fn obstacle(label: &str, runs: &[Run]) -> Option<String> {
    let note = |what: String| Some(format!("{label}: causes were not compared: {what}"));
    if runs.iter().any(|run| run.document.recorder.is_none()) {
        return note("a recording was made without `--why`".to_owned());
    }
    if runs.iter().any(|run| run.causes.is_none()) {
        return note("a recording has no evidence that can be read".to_owned());
    }
    if runs.iter().any(|run| watched_ns(run) == 0) {
        return note("a recording does not say for how long it watched".to_owned());
    }
    let CausesOfSide { late, whole, .. } = CausesOfSide::of(runs);
    if u128::from(whole) * 100 >= u128::from(late) * u128::from(MIN_WHOLE_HUNDREDTHS) {
        return None;
    }
    let is_of_requests = |run: &Run| run.document.recorder.as_ref().is_some_and(|own| own.stage == Stage::Request);
    let what = if runs.iter().any(is_of_requests) { "late request" } else { "late wakeup" };
    note(format!(
        "evidence is complete for only {} of {}, and a comparison needs {MIN_WHOLE_HUNDREDTHS} % of them (a larger `--why-episodes` or a higher \
         `--why` threshold keeps more)",
        grouped(whole),
        counted(late, what)
    ))
}

/// For how long the recorder of a run watched, ns.
fn watched_ns(run: &Run) -> u64 {
    let armed_ns = run.document.recorder.as_ref().map_or(0, |recorder| recorder.armed_ns);
    if armed_ns > 0 { armed_ns } else { measured_ns(&run.document) }
}

/// All causes of both sides.
fn rows(a: &[Run], b: &[Run], [of_a, of_b]: [CausesOfSide; 2], is_paired: bool, error: f64) -> Vec<CauseComparison> {
    let names: BTreeSet<&CauseName> =
        a.iter().chain(b).filter_map(|run| run.causes.as_ref()).flat_map(|causes| causes.by.keys()).collect();
    let unjudged = |cause: &&CauseName| CauseComparison {
        cause: (*cause).clone(),
        a: count(a, cause),
        b: count(b, cause),
        ratio: RateRatio::default(),
        change: Change::TooFew,
    };
    let mut rows: Vec<CauseComparison> = names.iter().map(unjudged).collect();
    let episodes = |row: &CauseComparison| row.a.episodes.saturating_add(row.b.episodes);
    rows.sort_by_key(|row| std::cmp::Reverse(episodes(row)));
    let enough = rows.iter().take_while(|row| episodes(row) >= MIN_EPISODES).count();
    let judged = enough.min(MAX_JUDGED);
    for (index, row) in rows.iter_mut().take(enough).enumerate() {
        row.change = Change::NotShown;
        if index < judged {
            judge(row, a, b, is_paired, error / judged as f64);
        }
        // What was late without evidence is no part of the estimate, only of the limits.
        let [before, after] = [of_a.an_hour(row.a.episodes), of_b.an_hour(row.b.episodes)];
        row.ratio.estimate = (before > 0.0).then(|| after / before);
    }
    let share = |row: &CauseComparison| of_a.an_hour(row.a.total_ns).max(of_b.an_hour(row.b.total_ns));
    rows.sort_by(|one, other| {
        let first = other.change.is_shown().cmp(&one.change.is_shown());
        first.then(share(other).total_cmp(&share(one))).then_with(|| one.cause.cmp(&other.cause))
    });
    rows
}

/// What a cause had in all runs of a side.
fn count(runs: &[Run], cause: &CauseName) -> CauseCount {
    let own = runs.iter().filter_map(|run| run.causes.as_ref()?.by.get(cause));
    own.fold(CauseCount::default(), |sum, times| CauseCount {
        episodes: sum.episodes.saturating_add(times.ended_ns.len() as u64),
        total_ns: sum.total_ns.saturating_add(times.total_ns),
    })
}

/// Says whether a cause became more or less frequent.
fn judge(row: &mut CauseComparison, a: &[Run], b: &[Run], is_paired: bool, error: f64) {
    let of = |runs: &[Run]| runs.iter().map(|run| of_run(run, &row.cause)).collect::<Vec<OfRun>>();
    row.ratio = rate_ratio_between(&of(a), &of(b), is_paired, error);
    row.change = match outcome_of(row.ratio) {
        Outcome::Worse => Change::More,
        Outcome::Better => Change::Less,
        Outcome::NoDifference => Change::NotShown,
    };
}

/// The episodes of a cause in one run: those that it had, and at most all of which nobody knows the cause.
fn of_run(run: &Run, cause: &CauseName) -> OfRun {
    let mut in_time = InTime::new(run.document.provenance.started_ns, measured_ns(&run.document));
    let own = run.causes.as_ref();
    let ended_ns = own.and_then(|causes| causes.by.get(cause)).map_or(&[][..], |times| &times.ended_ns[..]);
    ended_ns.iter().for_each(|at_ns| in_time.take(*at_ns));
    let least = ended_ns.len() as u64;
    let events = least.saturating_add(own.map_or(0, RunCauses::untold));
    let count = EventCount { events, least, exposure: watched_ns(run), ..EventCount::default() };
    OfRun { count, in_time: in_time.counts().to_vec() }
}

#[cfg(test)]
mod tests;
