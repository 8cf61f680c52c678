//! Two sides of runs, compared.

use crate::blocks::{Run, RunStage};
use crate::causes::{CausesComparison, causes};
use crate::counts::{CountComparison, counts};
use crate::devices::{DeviceComparison, compare_devices, joined};
use crate::differences::Difference;
use crate::error::Error;
use crate::figure::{Estimate, FIGURES};
use crate::loops::name_of;
use crate::matching::matching;
use crate::notes::notes;
use crate::ratio::{CONFIDENCE, Demand, Ratio, ratio_with, runs_needed, unsteady};
use crate::settings::differences_of_runs;
use crate::side::{Side, SideSummary, summary};
use crate::standing::{Standing, are_paired, began};
use crate::throughput::{Throughput, throughput};
use crate::verdict::{Outcome, Overall, Verdict, together};
use punctual_device::Profile;
use punctual_recording::{Document, Stage, format_ns};
use std::collections::BTreeSet;

/// A stage's figures on one side, over all its runs; a quantile is the geometric mean of the runs' quantiles, which is
/// what the ratios compare. `None` if there are too few wakeups.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantiles {
    /// How many wakeups had this stage.
    pub count: u64,
    /// The value of each of [`FIGURES`], ns.
    pub values_ns: [Option<u64>; FIGURES.len()],
    /// The longest, ns.
    pub max_ns: Option<u64>,
}

/// One stage on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct StageComparison {
    /// Whose wakeups, on A and on B: policy and priority.
    pub measure: (String, String),
    /// The stage.
    pub stage: Stage,
    /// Its figures on A.
    pub a: Quantiles,
    /// Its figures on B.
    pub b: Quantiles,
    /// The ratios B to A of those quantiles for which there are enough wakeups, from the middle outwards.
    pub ratios: Vec<Ratio>,
    /// What they say together.
    pub verdict: Verdict,
}

impl StageComparison {
    /// The ratio to show if only one is shown: the one that decided, or the one furthest out, up to p99.
    pub fn shown(&self) -> Option<&Ratio> {
        let usual = self.ratios.iter().rfind(|ratio| ratio.figure.level <= 0.99);
        self.verdict.by.and_then(|by| self.ratios.get(by)).or(usual)
    }
}

/// Two sides, compared.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Side A.
    pub a: SideSummary,
    /// Side B.
    pub b: SideSummary,
    /// How B compares with A, by the totals of its wakeups: for the systems or for these runs only, as `standing` says.
    pub outcome: Outcome,
    /// What the outcome applies to.
    pub standing: Standing,
    /// How many runs of each side it would take to find a difference of the estimated size four times out of five: of
    /// the cycles, requests or underruns in which the sides differ, or else by the figure of the wakeups that shows it most clearly;
    /// `None` if that is more than [`crate::ratio::MAX_RUNS_NEEDED`].
    pub runs_needed: Option<usize>,
    /// Which stage decided, and by which of its ratios: positions in `stages` and in its `ratios`.
    pub decided_by: Option<(usize, usize)>,
    /// Each measure's stages, in the order of the tables.
    pub stages: Vec<StageComparison>,
    /// What was counted on both sides: cycles that took too long, slow requests. Each has an outcome of its own.
    pub counts: Vec<CountComparison>,
    /// Who made wakeups late, which decides nothing; `None` if not all runs have evidence of that, or it is not alike.
    pub causes: Option<CausesComparison>,
    /// The devices of the question.
    pub devices: Vec<DeviceComparison>,
    /// How much the loads got done.
    pub throughput: Vec<Throughput>,
    /// What else differs.
    pub differences: Vec<Difference>,
    /// What a reader must know first, one line each.
    pub notes: Vec<String>,
    /// Whether the runs were measured in turn, so that slow drift cancels.
    pub is_paired: bool,
    /// Whether all runs are of one machine and one kernel, which can measure both sides in turn.
    pub is_of_one_machine: bool,
}

impl Comparison {
    /// Whether it compares other programs' threads, for which nobody knows when they should have run.
    pub fn follows(&self) -> bool {
        self.a.missed.is_none() && self.b.missed.is_none()
    }

    /// How B compares with A by everything that has an outcome: its wakeups and what was counted. For the systems or for these
    /// runs only, as [`Comparison::standing`] says.
    pub fn overall(&self) -> Overall {
        Overall::of(std::iter::once(self.outcome).chain(self.counts.iter().map(|row| row.outcome)))
    }

    /// The names of the threads of A and of B, where these are different threads ([`Standing::OtherThreads`]).
    pub fn different_threads(&self) -> Option<(&str, &str)> {
        let (a, b) = &self.stages.first().filter(|_| self.standing == Standing::OtherThreads)?.measure;
        Some((name_of(a), name_of(b)))
    }

    /// The stage by which the whole is judged if nothing decided: the total of the first measure that has enough wakeups to
    /// be compared, or of the first one.
    pub fn total(&self) -> Option<&StageComparison> {
        let totals = || self.stages.iter().filter(|stage| stage.stage == Stage::Total);
        let decided = self.decided_by.and_then(|(stage, _)| self.stages.get(stage));
        decided.or_else(|| totals().find(|stage| !stage.ratios.is_empty())).or_else(|| totals().next())
    }
}

/// Compares two sides.
///
/// The totals are one family of intervals that hold together with 95 % probability, all other stages another: the
/// verdict, which only the totals decide, is to be a false alarm in at most one of twenty comparisons of a machine with
/// itself, even if it changes from run to run, provided that its [`Standing`] is [`Standing::Systems`]. One kind of
/// change was found with a few more: a machine whose state turns over in most of the runs (`docs/compare.md`).
///
/// # Errors
/// If the sides measured different things: another period, another chain, no measure in common.
pub fn compare(a: &Side, b: &Side, devices: &[Profile]) -> Result<Comparison, Error> {
    compare_with(a, b, devices, [CONFIDENCE; 2], 1)
}

/// The probability with which the intervals of an interim look hold together.
pub const INTERIM_CONFIDENCE: f64 = 0.995;
/// No interim look before each side has this many runs: with three, a machine with two states fools any rule once in
/// 32, and the chances of looking then and again at the end would add up.
pub const MIN_INTERIM_RUNS: usize = 4;

/// Whether what was measured so far, in turn, is so clear that the rest of the repeats can be left out.
///
/// The rule of Haybittle (1971) and Peto (1976): an interim look has to be ten times as certain as the last one, so
/// that all looks together add little to the false alarms of the last; how little has been measured
/// (`docs/compare.md`).
///
/// # Errors
/// As for [`compare`].
pub fn is_clear(a: &Side, b: &Side) -> Result<bool, Error> {
    if a.runs.len().min(b.runs.len()) < MIN_INTERIM_RUNS {
        return Ok(false);
    }
    let strict = compare_with(a, b, &[], [INTERIM_CONFIDENCE; 2], 1)?;
    let outcome = |comparison: &Comparison| (comparison.standing == Standing::Systems).then_some(comparison.outcome);
    let found = outcome(&strict).filter(|outcome| *outcome != Outcome::NoDifference);
    Ok(found.is_some() && outcome(&compare(a, b, &[])?) == found)
}

/// Like [`compare`], with other probabilities, of wakeups and of what was counted, as one of `share` comparisons that share the
/// order of runs.
pub(crate) fn compare_with(
    a: &Side,
    b: &Side,
    devices: &[Profile],
    [confidence, of_counts]: [f64; 2],
    share: usize,
) -> Result<Comparison, Error> {
    let (first_a, first_b) = (first(a)?, first(b)?);
    comparable(a, first_a, &a.name)?;
    comparable(b, first_b, &b.name)?;
    comparable(b, first_a, &a.name)?;
    let measures = measures(a, b)?;
    let [times_a, times_b] = [a, b].map(|side| began(side.runs.iter().map(|run| &run.document)));
    let is_paired = are_paired(&times_a, &times_b);
    let (pairs, absent) = pairs(a, b, &measures);
    let family = |total: bool| -> usize {
        pairs.iter().filter(|pair| (pair.stage == Stage::Total) == total).map(StagePair::figures).sum()
    };
    let families = [family(false), family(true)];
    let compared = pairs.iter().map(|pair| {
        let ratios = pair.ratios(is_paired, families[usize::from(pair.stage == Stage::Total)], confidence, share);
        let verdict = together(&ratios);
        StageComparison {
            measure: pair.measure.clone(),
            stage: pair.stage,
            a: quantiles(&pair.left),
            b: quantiles(&pair.right),
            ratios,
            verdict,
        }
    });
    let stages: Vec<StageComparison> = compared.collect();
    let (outcome, decided_by) = overall(&stages);
    let standing = if are_of_other_threads(first_a, first_b, &measures) {
        Standing::OtherThreads
    } else {
        Standing::of(&times_a, &times_b)
    };
    let totals = pairs.iter().zip(&stages).filter(|(pair, _)| pair.stage == Stage::Total);
    let needed = totals.flat_map(|(pair, stage)| pair.runs_needed(&stage.ratios, families[1]));
    let device_rows = measures.iter().filter_map(|(left, right)| {
        Some(compare_devices(devices, &joined(&a.inputs, left)?, &joined(&b.inputs, right)?))
    });
    let counts = counts(&a.runs, &b.runs, is_paired, of_counts);
    let decisive = counts.iter().find(|row| row.outcome != Outcome::NoDifference);
    let runs_needed = decisive.map_or_else(|| needed.min(), |row| row.runs_needed);
    let (causes, of_causes) = causes(&a.runs, &b.runs, is_paired, of_counts);
    let mut notes = notes(a, b, standing, is_paired);
    notes.extend(notes_on_spread(&pairs).into_iter().chain(note_on_absent(absent)).chain(of_causes));
    Ok(Comparison {
        a: summary(a),
        b: summary(b),
        outcome,
        standing,
        runs_needed,
        decided_by,
        counts,
        causes,
        devices: device_rows.flatten().collect(),
        throughput: throughput(a, b),
        differences: differences_of_runs(&a.runs[0], &b.runs[0]),
        notes,
        is_paired,
        is_of_one_machine: are_of_one_machine(a, b),
        stages,
    })
}

fn are_of_one_machine(a: &Side, b: &Side) -> bool {
    let mut hosts = a.runs.iter().chain(&b.runs).map(|run| &run.document.provenance.host);
    hosts.next().is_none_or(|first| hosts.all(|host| host.is_as(first)))
}

/// Says of each side whose own runs differ by more than those of a machine that stays what it is, by the figure of the total
/// that shows it most: in which state such a machine was may look like a difference of the sides.
fn notes_on_spread(pairs: &[StagePair<'_>]) -> Vec<String> {
    let of_side = |label: &str, side: usize| {
        let totals = pairs.iter().filter(|pair| pair.stage == Stage::Total);
        let figures = totals.flat_map(|pair| {
            (0..pair.figures()).filter_map(move |index| {
                let runs = &pair.estimates(index)[side];
                let ns = || runs.iter().map(|run| run.ln.exp());
                let (least, most) = (ns().fold(f64::INFINITY, f64::min), ns().fold(0.0, f64::max));
                Some((unsteady(FIGURES[index], runs)?, FIGURES[index], least, most))
            })
        });
        let (_, figure, least, most) = figures.max_by(|one, other| one.0.total_cmp(&other.0))?;
        let [least, most] = [least, most].map(|ns| format_ns(ns.round() as u64));
        Some(format!(
            "{label}: its own runs differ more than those of an unchanged machine, {} from {least} to {most}: if it changes from run to \
             run, the intervals allow for that; more runs narrow them, and so does running the same other programs each time",
            figure.name
        ))
    };
    ["A", "B"].into_iter().enumerate().filter_map(|(side, label)| of_side(label, side)).collect()
}

/// Says which stages some run lacks.
fn note_on_absent(absent: BTreeSet<Stage>) -> Option<String> {
    let absent: Vec<&str> = absent.into_iter().map(Stage::name).collect();
    (!absent.is_empty()).then(|| format!("not seen in every run, so left out: {}", absent.join(", ")))
}

/// A stage that was seen in every run of both sides.
struct StagePair<'a> {
    measure: (String, String),
    stage: Stage,
    left: Vec<&'a RunStage>,
    right: Vec<&'a RunStage>,
}

impl StagePair<'_> {
    /// How many figures all runs have in common.
    fn figures(&self) -> usize {
        self.left.iter().chain(&self.right).map(|stage| stage.estimates.len()).min().unwrap_or(0)
    }

    /// Both sides' runs' estimates of a figure.
    fn estimates(&self, index: usize) -> [Vec<Estimate>; 2] {
        [&self.left, &self.right].map(|side| side.iter().map(|stage| stage.estimates[index]).collect())
    }

    fn ratios(&self, is_paired: bool, family: usize, confidence: f64, share: usize) -> Vec<Ratio> {
        let ratio = |index: usize| {
            let [left, right] = self.estimates(index);
            ratio_with(FIGURES[index], &left, &right, is_paired, family, Demand { confidence, share })
        };
        (0..self.figures()).filter_map(ratio).collect()
    }

    /// For each ratio that needs more runs: how many would be enough.
    fn runs_needed(&self, ratios: &[Ratio], family: usize) -> Vec<usize> {
        let needed = ratios.iter().enumerate().filter_map(|(index, ratio)| {
            let [left, right] = self.estimates(index);
            runs_needed(ratio, &left, &right, family)
        });
        needed.collect()
    }
}

/// The stages that can be compared, and those that some runs lack.
fn pairs<'a>(a: &'a Side, b: &'a Side, measures: &[(String, String)]) -> (Vec<StagePair<'a>>, BTreeSet<Stage>) {
    let mut pairs = Vec::new();
    let mut absent = BTreeSet::new();
    for measure in measures {
        for stage in Stage::ALL {
            let (left, right) = (stage_of(a, &measure.0, stage), stage_of(b, &measure.1, stage));
            if left.len() == a.runs.len() && right.len() == b.runs.len() {
                pairs.push(StagePair { measure: measure.clone(), stage, left, right });
            } else if !left.is_empty() || !right.is_empty() {
                absent.insert(stage);
            }
        }
    }
    (pairs, absent)
}

fn first(side: &Side) -> Result<&Document, Error> {
    side.runs.first().map(|run| &run.document).ok_or_else(|| Error(format!("{}: there is no recording", side.name)))
}

/// Whether the runs of a side measured the same kind of thing as a document.
fn comparable(side: &Side, with: &Document, other: &str) -> Result<(), Error> {
    let expected = &with.provenance.configuration;
    for run in &side.runs {
        let found = &run.document.provenance.configuration;
        // Other programs' threads have no known period.
        if (found.interval_ns == 0) != (expected.interval_ns == 0) {
            let (followed, own) = if found.interval_ns == 0 { (&*side.name, other) } else { (other, &*side.name) };
            return Err(Error(format!(
                "{followed} is of other programs' threads and {own} of punctual's own threads: only recordings of the same kind can be compared"
            )));
        }
        if found.interval_ns != expected.interval_ns {
            return Err(Error(format!(
                "{} was measured every {} and {other} every {}: only recordings with the same interval can be compared",
                side.name,
                format_ns(found.interval_ns),
                format_ns(expected.interval_ns)
            )));
        }
        if found.via != expected.via {
            return Err(Error(format!(
                "{} was measured via {} and {other} via {}: only recordings of the same chain can be compared",
                side.name, found.via, expected.via
            )));
        }
    }
    Ok(())
}

/// The measures of A that are compared, each with that of B; both sides have them in all runs.
fn measures(a: &Side, b: &Side) -> Result<Vec<(String, String)>, Error> {
    let of = |side: &Side| -> BTreeSet<String> {
        let of_run = |run: &Run| run.stages.keys().map(|(measure, _)| measure.clone()).collect::<BTreeSet<_>>();
        let mut runs = side.runs.iter().map(of_run);
        let first = runs.next().unwrap_or_default();
        runs.fold(first, |common, next| common.intersection(&next).cloned().collect())
    };
    let (left, right) = (of(a), of(b));
    let found = matching(&left, &right);
    if !found.is_empty() {
        return Ok(found);
    }
    let list = |measures: &BTreeSet<String>| measures.iter().cloned().collect::<Vec<_>>().join(", ");
    Err(Error(format!(
        "{} measured {} and {} measured {}: they have nothing in common to compare",
        a.name,
        list(&left),
        b.name,
        list(&right)
    )))
}

/// Whether the sides followed threads of different names because different ones were asked for. What one question found
/// may have been renamed by the change that is compared.
fn are_of_other_threads(a: &Document, b: &Document, measures: &[(String, String)]) -> bool {
    let Some((left, right)) = a.followed.as_ref().zip(b.followed.as_ref()) else { return false };
    left.asked != right.asked && measures.iter().all(|(one, other)| name_of(one) != name_of(other))
}

fn stage_of<'a>(side: &'a Side, measure: &str, stage: Stage) -> Vec<&'a RunStage> {
    side.runs.iter().filter_map(|run| run.stages.get(&(measure.to_owned(), stage))).collect()
}

fn quantiles(runs: &[&RunStage]) -> Quantiles {
    let mut values_ns = [None; FIGURES.len()];
    for (index, value) in values_ns.iter_mut().enumerate() {
        let figure = &FIGURES[index];
        // Shown if at least one wakeup lies beyond it, even if that is too little to compare.
        let known = runs.iter().all(|run| run.distribution.count() as f64 * (1.0 - figure.level) >= 0.999);
        *value = known.then(|| match runs {
            [one] => figure.of_distribution(&one.distribution).unwrap_or(0),
            _ => {
                let logarithm =
                    |run: &&RunStage| (figure.of_distribution(&run.distribution).unwrap_or(0).max(1) as f64).ln();
                (runs.iter().map(logarithm).sum::<f64>() / runs.len() as f64).exp().round() as u64
            }
        });
    }
    Quantiles {
        count: runs.iter().map(|run| run.distribution.count()).sum(),
        values_ns,
        max_ns: runs.iter().filter_map(|run| run.distribution.max()).max(),
    }
}

/// The totals decide. Among several measures, the one whose decision lies furthest out; if they disagree there, none.
fn overall(stages: &[StageComparison]) -> (Outcome, Option<(usize, usize)>) {
    let decided = stages.iter().enumerate().filter(|(_, stage)| stage.stage == Stage::Total);
    let decided: Vec<(usize, usize, Outcome)> =
        decided.filter_map(|(index, stage)| Some((index, stage.verdict.by?, stage.verdict.outcome))).collect();
    let Some(furthest) = decided.iter().map(|(_, by, _)| *by).max() else { return (Outcome::NoDifference, None) };
    let mut at_furthest = decided.iter().filter(|(_, by, _)| *by == furthest);
    match at_furthest.next() {
        Some(&(index, by, outcome)) if at_furthest.all(|(_, _, other)| *other == outcome) => {
            (outcome, Some((index, by)))
        }
        _ => (Outcome::NoDifference, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::{Distribution, Followed};

    /// Three runs that are alike beside three of which one found the machine in another state.
    #[test]
    fn a_side_whose_own_runs_differ_is_named_with_how_much() {
        let stage = |microseconds: f64| RunStage {
            distribution: Distribution::new(),
            estimates: vec![Estimate { ln: (microseconds * 1e3).ln(), variance: 1e-4 }],
        };
        let (steady, changing) = ([40.0, 42.0, 41.0].map(stage), [40.0, 41.0, 400.0].map(stage));
        let notes = |total: Stage, left: &[RunStage], right: &[RunStage]| {
            let measure = ("fifo:80".to_owned(), "fifo:80".to_owned());
            notes_on_spread(&[StagePair {
                measure,
                stage: total,
                left: left.iter().collect(),
                right: right.iter().collect(),
            }])
        };
        let found = notes(Stage::Total, &steady, &changing);
        let [note] = &found[..] else { panic!("{found:?}") };
        let expected = "B: its own runs differ more than those of an unchanged machine, p50 from 40.0 us to 400 us: ";
        assert!(note.starts_with(expected), "{note}");
        assert!(notes(Stage::Total, &changing, &steady)[0].starts_with("A: "));
        assert_eq!(notes(Stage::Total, &steady, &steady), [""; 0]);
        // One run shows nothing of the kind, and stages decide nothing.
        assert_eq!(notes(Stage::Total, &steady[..1], &changing[2..]), [""; 0]);
        assert_eq!(notes(Stage::Irq, &steady, &changing), [""; 0]);
    }

    fn following(asked: Option<&str>) -> Document {
        let mut document = crate::counts::tests::document();
        document.followed = asked.map(|asked| Followed { asked: vec![asked.to_owned()], ..Followed::default() });
        document
    }

    #[test]
    fn threads_of_other_names_that_were_asked_for_by_other_names_are_other_threads() {
        let measures = |a: &str, b: &str| vec![(a.to_owned(), b.to_owned())];
        let [api, store] = ["threads named ^api", "threads named ^store"].map(|asked| following(Some(asked)));
        let cases = [
            (&api, &store, measures("api other", "store other"), true),
            // Only the policy differs.
            (&api, &store, measures("api other", "api fifo:50"), false),
            // One question found both.
            (&api, &api, measures("api-1 other", "api-2 other"), false),
            // Punctual's own threads.
            (&following(None), &following(None), measures("fifo:80", "fifo:50"), false),
        ];
        for (a, b, measures, expected) in &cases {
            assert_eq!(are_of_other_threads(a, b, measures), *expected, "{measures:?}");
        }
    }
}
