//! What figures, causes and things typed are called in a comparison of inputs.

use super::super::spent::Spent;
use crate::layout::fitting;
use punctual_comparison::interact::{Cause, FigureComparison, GroupComparison, WAITING};
use punctual_recording::{InteractionPart, format_ns};

/// ns a second.
const ALL_OF_THE_TIME: f64 = 1e9;
/// Limits further apart than this say nothing.
const MAX_TOLD: f64 = 10_000.0;

/// `key a`.
pub(crate) fn label_in_words(group: &GroupComparison) -> String {
    let typed = group.group.label.as_deref().unwrap_or_default();
    format!("{} {}", group.group.kind, fitting(if typed == " " { "space" } else { typed }, 20))
}

/// A cause: `input or output: vda`.
pub(crate) fn cause_in_words(cause: &Cause) -> String {
    spent(cause).words()
}

/// The same for a first sentence: `sleeping on a timer of its own`.
pub(crate) fn cause_in_a_sentence(cause: &Cause) -> String {
    spent(cause).in_a_sentence()
}

fn spent(cause: &Cause) -> Spent {
    let Cause { kind, name, not_seen } = cause.clone();
    Spent::of(&InteractionPart { kind, name, not_seen, ..InteractionPart::default() })
}

/// A figure of A (0) or B (1): a time, or the share of time spent waiting.
pub(crate) fn value(figure: &FigureComparison, side: usize) -> String {
    let value = figure.values[side];
    if is_share(figure) { percent(value) } else { format_ns(value as u64) }
}

pub(crate) fn is_share(figure: &FigureComparison) -> bool {
    figure.ratio.figure.key == WAITING.key
}

/// ns a second as percent.
fn percent(ns_per_s: f64) -> String {
    format!("{:.2} %", ns_per_s / 1e7)
}

/// B less A.
pub(crate) fn difference(figure: &FigureComparison) -> String {
    amount(figure, figure.difference[1])
}

fn amount(figure: &FigureComparison, difference: f64) -> String {
    if !is_share(figure) {
        return signed(difference);
    }
    let sign = if difference < 0.0 { '-' } else { '+' };
    // Nobody can wait more than all of the time, or more than overlapping inputs did wait.
    let most = figure.values.iter().fold(ALL_OF_THE_TIME, |most, value| most.max(*value));
    format!("{sign}{}", percent(difference.abs().min(most)))
}

/// `+9.10 ms to +10.4 ms`; `None` if anything would be possible.
pub(crate) fn limits(figure: &FigureComparison) -> Option<String> {
    let ratio = &figure.ratio;
    let is_told = figure.has_limits && ratio.low > 1.0 / MAX_TOLD && ratio.high < MAX_TOLD;
    let [low, _, high] = figure.difference;
    is_told.then(|| format!("{} to {}", amount(figure, low), amount(figure, high)))
}

/// `+9.60 ms`.
pub(crate) fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { '-' } else { '+' };
    format!("{sign}{}", format_ns(ns.abs() as u64))
}
