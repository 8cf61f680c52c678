//! Of several sides, each compared with the first.

use super::counts::counts_in_words;
use super::within_a_sentence;
use crate::compare::sides::{labelled, one_sided};
use crate::compare::words::{factor, has_too_few, interval, lacks_wakeups};
use crate::layout::{capitalized, counted};
use punctual_comparison::{Comparison, MIN_RUNS, Outcome, Ratio, Shared, Standing};

/// The most sentences on what was counted; the table has all.
const MAX_COUNTS: usize = 6;

/// The answer: what was counted, and one sentence for each outcome that occurs.
pub(crate) fn sides_verdict(found: &[Shared]) -> String {
    let mut sentences = all_counts_in_words(found);
    let mut of_wakeups = wakeups_in_words(found);
    if let (false, Some(first)) = (sentences.is_empty(), of_wakeups.first_mut()) {
        *first = format!("Wakeup latency: {}", within_a_sentence(first));
    }
    sentences.extend(of_wakeups);
    for (name, (a, own)) in labelled(found).filter_map(|(name, one)| Some((name, one.different_threads()?))) {
        sentences.push(format!("{name} followed other threads ({own}) than A ({a}): nothing is said of the systems."));
    }
    let is_unjudged =
        |one: &Comparison| !has_too_few(one) && !matches!(one.standing, Standing::Systems | Standing::OtherThreads);
    let unjudged: Vec<String> =
        labelled(found).filter(|(_, one)| is_unjudged(one)).map(|(name, _)| name.to_string()).collect();
    if !unjudged.is_empty() {
        sentences.push(format!(
            "It takes at least {MIN_RUNS} runs of each side, measured in turn, to say anything about the systems themselves ({}).",
            unjudged.join(", ")
        ));
    }
    sentences.join(" ")
}

/// Sentences on the cycles, requests and underruns of each side.
fn all_counts_in_words(found: &[Shared]) -> Vec<String> {
    let mut all: Vec<String> = labelled(found).flat_map(|(name, one)| counts_in_words(one, name)).collect();
    let others = all.len().saturating_sub(MAX_COUNTS);
    all.truncate(MAX_COUNTS);
    if others > 0 {
        all.push(format!("Below: {} of this kind.", counted(others, "more comparison")));
    }
    all
}

/// Sentences on wakeups, one for each outcome that occurs.
fn wakeups_in_words(found: &[Shared]) -> Vec<String> {
    let of = |outcome: Outcome, is_verdict: bool| -> Vec<(char, &Comparison)> {
        labelled(found)
            .filter(|(_, one)| one.outcome == outcome && (one.standing == Standing::Systems) == is_verdict)
            .collect()
    };
    let mut sentences = Vec::new();
    for (outcome, is_verdict, words) in [
        (Outcome::Worse, true, "worse than A"),
        (Outcome::Better, true, "better than A"),
        (Outcome::Worse, false, "later in these runs"),
        (Outcome::Better, false, "less late in these runs"),
    ] {
        let sides = of(outcome, is_verdict);
        if !sides.is_empty() {
            let each: Vec<String> = sides.iter().map(|(name, one)| format!("{name}{}", by_how_much(one))).collect();
            sentences.push(format!("{}: {}.", capitalized(words), each.join("; ")));
        }
    }
    sentences.extend(one_sided_in_words(found));
    for (is_too_few, words) in [(false, "No detectable difference from A"), (true, "Too few wakeups to compare with A")]
    {
        let is_same = |one: &Comparison| one.outcome == Outcome::NoDifference && one_sided(one).is_none();
        let same = labelled(found).filter(|(_, one)| is_same(one) && lacks_wakeups(one) == is_too_few);
        let same: Vec<String> = same.map(|(name, _)| name.to_string()).collect();
        if !same.is_empty() {
            sentences.push(format!("{words}: {}.", same.join(", ")));
        }
    }
    sentences
}

fn by_how_much(comparison: &Comparison) -> String {
    let decided = comparison.decided_by.and_then(|(stage, by)| comparison.stages.get(stage)?.ratios.get(by));
    decided.map_or_else(String::new, its_ratio)
}

fn its_ratio(ratio: &Ratio) -> String {
    let limits = interval(ratio).map_or_else(String::new, |limits| format!(" ({limits})"));
    format!(", its {} {} times A's{limits}", ratio.figure.name, factor(ratio.estimate))
}

/// Sentences on the sides that show no difference but rule out one direction.
fn one_sided_in_words(found: &[Shared]) -> Vec<String> {
    let cases = [
        (false, true, "Worse than A or the same"),
        (true, true, "Better than A or the same"),
        (false, false, "As late as A or later in these runs"),
        (true, false, "As late as A or less late in these runs"),
    ];
    let sentence = |(is_less, is_verdict, words): (bool, bool, &str)| {
        let told = labelled(found).filter_map(|(name, comparison)| {
            let ratio = one_sided(comparison)?;
            let is_case = (ratio.high < 1.0, comparison.standing == Standing::Systems) == (is_less, is_verdict);
            is_case.then(|| format!("{name}{}", its_ratio(ratio)))
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| format!("{words}: {}.", told.join("; ")))
    };
    cases.into_iter().filter_map(sentence).collect()
}
