//! What a comparison of inputs found, in words.

use super::super::model::Spent;
use crate::compare::wanting;
use crate::layout::shortened;
use punctual_blame::Kind;
use punctual_comparison::interact::{
    Cause, FigureComparison, GroupComparison, InputComparison, InputOutcome, Parts, WAITING,
};
use punctual_comparison::{Outcome, Standing};
use punctual_recording::{InteractionPart, START, agreeing, counted, format_ns};

/// Kinds of which the verdict speaks.
const SPOKEN: usize = 3;
/// A cause's words are shown up to this length, characters: a recording that was forged has names of any.
const MAX_SHOWN: usize = 48;
/// A cause that makes a smaller share of the difference is not told, and of the others so many.
const WORTH_TELLING: f64 = 0.15;
const TOLD: usize = 2;
/// Limits further from each other than that are none.
const MAX_TOLD: f64 = 10_000.0;

/// The verdict. *Worse* and *better* stand in it only of systems.
pub(super) fn verdict(comparison: &InputComparison) -> String {
    let mut words = beginning(comparison).to_owned();
    let different: Vec<&GroupComparison> = comparison.different().collect();
    if different.is_empty() {
        words += &no_difference(comparison);
    }
    let told: Vec<String> = different.iter().take(SPOKEN).map(|kind| of_kind(kind)).collect();
    words += &told.join("; ");
    if different.len() > SPOKEN {
        let more = (different.len() - SPOKEN) as u64;
        words += &format!("; {} more {}", counted(more, "kind"), agreeing(more, "differs", "differ"));
    }
    words.push('.');
    if let Some(wanting) = wanting(comparison.standing, "programs", "", comparison.runs_needed) {
        words += &format!(" {wanting}");
    }
    words
}

fn beginning(comparison: &InputComparison) -> &'static str {
    match (comparison.standing, comparison.outcome) {
        (Standing::Systems, InputOutcome::Worse) => "Worse: ",
        (Standing::Systems, InputOutcome::Better) => "Better: ",
        (Standing::Systems, InputOutcome::Mixed) => "Better and worse: ",
        (Standing::Systems, InputOutcome::NoDifference) => "",
        _ if comparison.a.runs == 1 && comparison.b.runs == 1 => "This run against that run: ",
        _ => "These runs against those: ",
    }
}

fn no_difference(comparison: &InputComparison) -> String {
    let words = match comparison.standing {
        Standing::Systems => "No kind of input differs by what these data can show",
        _ => "no kind of input differs by what they can show",
    };
    let nearest = comparison.nearest();
    let fits = nearest.and_then(|kind| Some((kind, kind.shown()?)));
    let fits = fits.map(|(kind, figure)| {
        format!(
            ": the {} of {} is {} on A and {} on B{}",
            figure.ratio.figure.name,
            kind.group.kind,
            value(figure, 0),
            value(figure, 1),
            limits(figure).map(|limits| format!(", and anything from {limits} would fit")).unwrap_or_default()
        )
    });
    words.to_owned() + &fits.unwrap_or_default()
}

/// `enter is slower: 12.1 ms instead of 2.30 ms (median; 95 %: +9.10 ms to +10.4 ms)`, and because of what.
fn of_kind(kind: &GroupComparison) -> String {
    let Some(figure) = kind.shown() else { return String::new() };
    let slower = kind.verdict.outcome == Outcome::Worse;
    let name = if kind.group.kind == START { "the start" } else { &kind.group.kind };
    let mut words = format!(
        "{} is {}: {} instead of {} ({}{})",
        shortened(name, MAX_SHOWN),
        if slower { "slower" } else { "faster" },
        value(figure, 1),
        value(figure, 0),
        figure.ratio.figure.name,
        limits(figure).map(|limits| format!("; 95 %: {limits}")).unwrap_or_default()
    );
    if let Some(because) = figure.parts.as_ref().and_then(because) {
        words += &because;
    }
    words
}

/// What most of the difference was spent on: ` because of input or output: vda (+9.60 of +9.80 ms)`.
fn because(parts: &Parts) -> Option<String> {
    let most = parts.most(WORTH_TELLING);
    let (_, largest, _) = most.first()?;
    let more = parts.more_ns();
    let how = if *largest as f64 / more as f64 >= 0.5 { "because of" } else { "the largest part" };
    let told = most.iter().take(TOLD).enumerate().map(|(at, (kind, ns, one))| {
        let on = one.map_or_else(|| kind_in_words(kind), |one| cause_in_words(&one.cause));
        let of = if at == 0 { format!(" of {}", signed(more as f64)) } else { String::new() };
        format!("{} ({}{of})", shortened(&on, MAX_SHOWN), signed(*ns as f64))
    });
    Some(format!(", {how} {}", told.collect::<Vec<_>>().join(" and ")))
}

/// All of a kind of cause, whoever had it.
fn kind_in_words(kind: &str) -> String {
    Kind::from_name(kind).map_or_else(|| kind.to_owned(), |kind| kind.plural().to_owned())
}

/// A cause: `input or output: vda`.
pub(super) fn cause_in_words(cause: &Cause) -> String {
    let Cause { kind, name, not_seen } = cause.clone();
    Spent::of(&InteractionPart { kind, name, not_seen, ..InteractionPart::default() }).words()
}

/// A figure of A (0) or B (1): a time, or the share of time that was waited.
pub(super) fn value(figure: &FigureComparison, side: usize) -> String {
    let value = figure.values[side];
    if is_share(figure) { percent(value) } else { format_ns(value as u64) }
}

pub(super) fn is_share(figure: &FigureComparison) -> bool {
    figure.ratio.figure.key == WAITING.key
}

/// ns a second as percent.
fn percent(ns_per_s: f64) -> String {
    format!("{:.2} %", ns_per_s / 1e7)
}

/// B less A.
pub(super) fn difference(figure: &FigureComparison) -> String {
    amount(figure, figure.difference[1])
}

fn amount(figure: &FigureComparison, difference: f64) -> String {
    if !is_share(figure) {
        return signed(difference);
    }
    let sign = if difference < 0.0 { '-' } else { '+' };
    format!("{sign}{}", percent(difference.abs()))
}

/// `+9.10 ms to +10.4 ms`; `None` where anything would fit.
pub(super) fn limits(figure: &FigureComparison) -> Option<String> {
    from_to(figure).map(|[from, to]| format!("{from} to {to}"))
}

/// The two limits.
pub(super) fn from_to(figure: &FigureComparison) -> Option<[String; 2]> {
    let ratio = &figure.ratio;
    let is_told = ratio.low > 1.0 / MAX_TOLD && ratio.high < MAX_TOLD;
    let [low, _, high] = figure.difference;
    is_told.then(|| [low, high].map(|limit| amount(figure, limit)))
}

/// `+9.60 ms`.
pub(super) fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { '-' } else { '+' };
    format!("{sign}{}", format_ns(ns.abs() as u64))
}
