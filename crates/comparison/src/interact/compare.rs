//! Two sides of runs of inputs, compared.

use super::comparison::{FigureComparison, GroupComparison, GroupSide, InputComparison, InputSide, MIN_RUNS_OF_LIMITS};
use super::figures::WAITING;
use super::gather::{Group, RunFigure, RunGroup};
use super::parts::{Parts, Split};
use super::sides::{at_one_pace, comparable, is_doubted, notes, program_differences, summary};
use crate::differences::{Difference, differences};
use crate::error::Error;
use crate::figure::{Estimate, Figure};
use crate::ratio::{CONFIDENCE, Demand, Logarithms, Ratio, logarithms, mean_ln, runs_needed};
use crate::standing::{Standing, are_paired, began};
use crate::verdict::{Outcome, Overall, Verdict, together};
use punctual_recording::START;
use std::collections::BTreeSet;

/// Compares two sides of inputs to a program.
///
/// The kinds share one error rate: a verdict is to be a false alarm in at most one of twenty comparisons of a program
/// with itself, provided that its [`Standing`] is [`Standing::Systems`]. What was typed is another family with a rate of
/// its own.
///
/// # Errors
/// If the sides were not used in the same way, or at one pace and have no kind of input in common of which every run saw
/// enough.
pub fn compare_inputs(a: &InputSide, b: &InputSide) -> Result<InputComparison, Error> {
    comparable(a, b)?;
    let [times_a, times_b] = [a, b].map(|side| began(side.runs.iter().map(|run| &run.document)));
    let is_paired = are_paired(&times_a, &times_b);
    let standing = if at_one_pace(a, b) { Standing::of(&times_a, &times_b) } else { Standing::OtherPace };
    let groups: BTreeSet<&Group> = a.runs.iter().chain(&b.runs).flat_map(|run| run.groups.keys()).collect();
    let (labels, kinds): (Vec<&Group>, Vec<&Group>) = groups.into_iter().partition(|group| group.label.is_some());
    let ((kinds, absent), (labels, _)) = (pairs(a, b, kinds), pairs(a, b, labels));
    // At another pace, what there is to say may be of all inputs together.
    let is_start_alone = kinds.iter().all(|pair| pair.group.kind == START);
    if is_start_alone && standing != Standing::OtherPace && absent.iter().any(|group| is_doubted(a, b, group)) {
        return Err(Error(format!(
            "{} and {} cannot be compared: something came after their inputs of which it is not known whether it was the answer",
            a.name, b.name
        )));
    }
    if kinds.is_empty() && standing != Standing::OtherPace {
        return Err(Error(format!(
            "{} and {} have no kind of input of which every run saw at least {}: there is nothing to compare",
            a.name,
            b.name,
            super::figures::MEDIAN.needed
        )));
    }
    let compared = |pairs: &[Pair<'_>]| -> Vec<GroupComparison> {
        let demand = Demand { confidence: 1.0 - (1.0 - CONFIDENCE) / pairs.len().max(1) as f64, share: pairs.len() };
        let mut all: Vec<GroupComparison> = pairs.iter().map(|pair| pair.compare(is_paired, demand)).collect();
        all.sort_by(|one, other| apart(other).total_cmp(&apart(one)).then_with(|| one.group.cmp(&other.group)));
        all
    };
    let needed = kinds.iter().filter_map(Pair::runs_needed).min();
    let (kinds, labels) = (compared(&kinds), compared(&labels));
    let mut differences = program_differences(a, b);
    differences.extend(differences_of(a, b));
    Ok(InputComparison {
        a: summary(a),
        b: summary(b),
        outcome: Overall::of(kinds.iter().map(|kind| kind.verdict.outcome)),
        standing,
        runs_needed: needed,
        notes: notes(a, b, standing, is_paired, &kinds, &absent),
        kinds,
        labels,
        differences,
        is_paired,
    })
}

/// The groups for which every run has figures, and the others.
fn pairs<'a>(a: &'a InputSide, b: &'a InputSide, groups: Vec<&'a Group>) -> (Vec<Pair<'a>>, Vec<Group>) {
    let (mut pairs, mut absent) = (Vec::new(), Vec::new());
    for group in groups {
        match Pair::of(a, b, group) {
            Some(pair) => pairs.push(pair),
            None => absent.push(group.clone()),
        }
    }
    (pairs, absent)
}

fn differences_of(a: &InputSide, b: &InputSide) -> Vec<Difference> {
    match (a.runs.first(), b.runs.first()) {
        (Some(one), Some(other)) => differences(&one.document, &other.document),
        _ => Vec::new(),
    }
}

/// How different the sides are: for those that differ, the logarithm of the ratio that decided.
fn apart(group: &GroupComparison) -> f64 {
    group.decided().map_or(-1.0, |figure| figure.ratio.estimate.ln().abs())
}

/// A group for which every run of both sides has figures.
struct Pair<'a> {
    group: &'a Group,
    runs: [Vec<&'a RunGroup>; 2],
}

impl<'a> Pair<'a> {
    fn of(a: &'a InputSide, b: &'a InputSide, group: &'a Group) -> Option<Pair<'a>> {
        let of = |side: &'a InputSide| -> Option<Vec<&'a RunGroup>> {
            let own = side.runs.iter().map(|run| run.groups.get(group).filter(|own| !own.figures.is_empty()));
            own.collect()
        };
        Some(Pair { group, runs: [of(a)?, of(b)?] })
    }

    fn has_limits(&self) -> bool {
        self.runs.iter().all(|runs| runs.len() >= MIN_RUNS_OF_LIMITS)
    }

    /// The figures that all runs have, in order, and those of each run.
    fn figures(&self) -> Vec<(Figure, [Vec<&'a RunFigure>; 2])> {
        let first = self.runs[0][0].figures.iter().map(|figure| figure.figure);
        let of = |runs: &[&'a RunGroup], figure: Figure| -> Option<Vec<&'a RunFigure>> {
            runs.iter().map(|run| run.figures.iter().find(|own| own.figure.key == figure.key)).collect()
        };
        first.filter_map(|figure| Some((figure, [of(&self.runs[0], figure)?, of(&self.runs[1], figure)?]))).collect()
    }

    fn compare(&self, is_paired: bool, demand: Demand) -> GroupComparison {
        let all = self.figures();
        let compared = all.iter().filter_map(|(figure, runs)| {
            let [left, right] = [0, 1].map(|side| estimates(&runs[side]));
            let found = logarithms(*figure, &left, &right, is_paired, all.len(), demand)?;
            Some(FigureComparison::new(*figure, [&left, &right], found, runs))
        });
        let (waiting, figures): (Vec<_>, Vec<_>) =
            compared.partition(|compared: &FigureComparison| compared.ratio.figure.key == WAITING.key);
        let ratios: Vec<Ratio> = figures.iter().map(|figure| figure.ratio).collect();
        let sides = [0, 1].map(|side| GroupSide {
            inputs: self.runs[side].iter().map(|run| run.inputs).sum(),
            seen: self.runs[side].iter().map(|run| run.seen).sum(),
        });
        let none = Verdict { outcome: Outcome::NoDifference, by: None };
        GroupComparison {
            group: self.group.clone(),
            sides,
            verdict: if self.has_limits() { together(&ratios) } else { none },
            figures,
            waiting: waiting.into_iter().next(),
        }
    }

    /// How many runs of each side would show the estimated difference, by the figure that shows it most clearly.
    fn runs_needed(&self) -> Option<usize> {
        let all = self.figures();
        let needed = all.iter().filter(|(figure, _)| figure.key != WAITING.key).filter_map(|(figure, runs)| {
            let [left, right] = [0, 1].map(|side| estimates(&runs[side]));
            let ratio = crate::ratio::ratio(*figure, &left, &right, false, all.len())?;
            runs_needed(&ratio, &left, &right, all.len())
        });
        needed.min()
    }
}

fn estimates(runs: &[&RunFigure]) -> Vec<Estimate> {
    runs.iter().map(|run| run.estimate).collect()
}

impl FigureComparison {
    fn new(
        figure: Figure,
        [left, right]: [&[Estimate]; 2],
        found: Logarithms,
        runs: &[Vec<&RunFigure>; 2],
    ) -> FigureComparison {
        let means = [left, right].map(mean_ln);
        // A ratio between sides with this geometric mean, so that the limits have the signs of the ratio's, and the
        // difference its own value.
        let middle = (0.5 * (means[0] + means[1])).exp();
        let apart = |logarithm: f64| 2.0 * middle * (0.5 * logarithm).sinh();
        let splits = |side: usize| runs[side].iter().map(|run| &run.split).collect::<Vec<&Split>>();
        let values = means.map(|mean| mean.exp().round());
        FigureComparison {
            values,
            ratio: Ratio::of(figure, found),
            difference: [apart(found.low), values[1] - values[0], apart(found.high)],
            has_limits: left.len().min(right.len()) >= MIN_RUNS_OF_LIMITS,
            parts: Parts::of(&splits(0), &splits(1)),
        }
    }
}
