//! Of two sides, compared; of several, in `sides`; of what was counted on either, in `counts`.

mod counts;
mod sides;

pub(crate) use sides::sides_verdict;

use crate::compare::words::{MAX_TOLD, factor, has_too_few, interval, measure, of_stage, value_of};
use crate::layout::{capitalized, counted};
use counts::{cycles_in_words, requests_in_words};
use punctual_comparison::ratio::MAX_RUNS_NEEDED;
use punctual_comparison::{Comparison, FIGURES, MIN_RUNS, Outcome, Quantiles, Ratio, StageComparison, Standing};
use punctual_forecast::are_too_wide;
use punctual_recording::{Stage, format_ns};

/// The most stages beside the total that a verdict names.
const MAX_STAGES: usize = 2;

/// The verdict in words. It says only what holds, and *better* and *worse* only of systems.
pub fn comparison_verdict(comparison: &Comparison) -> String {
    let Some(total) = comparison.total() else { return "The two sides measured nothing in common.".to_owned() };
    let different = comparison.different_threads().map(|(a, b)| {
        format!(
            "A and B are different threads, {a} and {b}: the ratios compare one with the other, not before with after. "
        )
    });
    let ratio = comparison.decided_by.and_then(|(_, by)| total.ratios.get(by));
    let is_verdict = comparison.standing == Standing::Systems;
    let sentence = match (comparison.outcome, ratio) {
        (Outcome::NoDifference, _) | (_, None) => no_difference(comparison, total),
        (outcome, Some(ratio)) => {
            let words = match (is_verdict, outcome) {
                (true, Outcome::Worse) => "Worse: B's".to_owned(),
                (true, _) => "Better: B's".to_owned(),
                (false, Outcome::Worse) => format!("B is later in these {}: its", runs(comparison)),
                (false, _) => format!("B is less late in these {}: its", runs(comparison)),
            };
            let (low, high) = (factor(ratio.low), factor(ratio.high));
            let values = |quantiles: &Quantiles| value_of(quantiles, ratio).map_or("-".to_owned(), format_ns);
            format!(
                "{words} {} is {} times A's ({low} to {high}), {} against {}.",
                ratio.figure.name,
                factor(ratio.estimate),
                values(&total.b),
                values(&total.a)
            )
        }
    };
    let mut verdict = different.unwrap_or_default() + &beside_counts(comparison, sentence);
    // It measures threads of its own, never devices or threads that were followed, and on the machine that it runs on.
    let is_beside_devices = comparison.a.is_beside_devices || comparison.b.is_beside_devices;
    let repeats = !comparison.follows() && !is_beside_devices && comparison.is_of_one_machine;
    let by = if repeats { " (`punctual compare --repeat`)" } else { "" };
    if !has_too_few(comparison)
        && let Some(words) = wanting(comparison.standing, "systems", by, comparison.runs_needed)
    {
        verdict += &format!(" {words}");
    }
    if let Some((_, by)) = comparison.decided_by
        && by + 1 < total.ratios.len()
    {
        verdict += " These data say nothing further out in the tail.";
    }
    verdict += &other_way_round(comparison, total);
    verdict += &other_stages(comparison);
    if let Some(words) = throughput_in_words(comparison) {
        verdict += &format!(" {words}");
    }
    verdict
}

/// A sentence on wakeups, after those on requests and cycles. Beside anything that was counted it says what it is about.
fn beside_counts(comparison: &Comparison, sentence: String) -> String {
    if comparison.counts.is_empty() {
        return sentence;
    }
    let is_counted = comparison.counts.iter().any(|row| row.outcome != Outcome::NoDifference);
    let wakeups_decide = !is_counted && comparison.outcome != Outcome::NoDifference;
    in_order(requests_in_words(comparison), cycles_in_words(comparison), &sentence, wakeups_decide)
}

/// Whoever records requests asks for these: they come first, whatever is decided. Of the others, what is decided stands before
/// what is not.
fn in_order(requests: Vec<String>, cycles: Vec<String>, wakeups: &str, wakeups_decide: bool) -> String {
    let mut sentences = requests;
    if wakeups_decide {
        sentences.push(if sentences.is_empty() {
            decided_by_wakeups(wakeups)
        } else {
            format!("Wakeup latency: {}", within_a_sentence(wakeups))
        });
        sentences.extend(cycles);
    } else {
        sentences.extend(cycles);
        sentences.push(format!("Wakeup latency: {}", within_a_sentence(wakeups)));
    }
    sentences.join(" ")
}

/// A sentence on a difference in wakeups that begins a verdict, and says what it is about.
fn decided_by_wakeups(sentence: &str) -> String {
    match sentence.split_once(": ") {
        Some((outcome @ ("Worse" | "Better"), rest)) => format!("{outcome} in wakeup latency: {rest}"),
        _ => sentence.to_owned(),
    }
}

/// A sentence as it goes on after a colon; the letter of a side stays.
fn within_a_sentence(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match letters.next().filter(|_| !sentence.starts_with("B ")) {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => sentence.to_owned(),
    }
}

fn no_difference(comparison: &Comparison, total: &StageComparison) -> String {
    let Some(ratio) = total.shown() else {
        let (runs, needed) = (runs(comparison), FIGURES[0].needed);
        return format!(
            "These {runs} have too few wakeups to be compared: a comparison needs at least {needed} of a thread in each."
        );
    };
    let is_verdict = comparison.standing == Standing::Systems;
    let (found, of_runs) = (of_stage(total), runs(comparison));
    let is_open = found == Outcome::NoDifference.name();
    let mut words = match (is_open, is_verdict) {
        (true, true) => "No detectable difference".to_owned(),
        (true, false) if are_too_wide(ratio.low, ratio.high) => format!("These {of_runs} are too few to tell"),
        (true, false) => format!("These {of_runs} show no difference"),
        (false, true) => capitalized(found),
        (false, false) if ratio.high < 1.0 => format!("B is as late or less late in these {of_runs}"),
        (false, false) => format!("B is as late or later in these {of_runs}"),
    };
    let (name, estimate) = (ratio.figure.name, factor(ratio.estimate));
    let fits = match interval(ratio).filter(|_| !is_open) {
        Some(limit) => format!(" ({limit})"),
        None => what_would_fit(ratio),
    };
    words += &format!(": B's {name} is {estimate} times A's{fits}");
    words += &if is_verdict { detectable(ratio.findable) } else { String::new() };
    words + "."
}

/// What else the ratio may be, unless that is anything.
fn what_would_fit(ratio: &Ratio) -> String {
    match interval(ratio).filter(|_| !are_too_wide(ratio.low, ratio.high)) {
        Some(interval) => format!(" ({interval})"),
        None => String::new(),
    }
}

/// From which ratio on runs like these would show a difference.
fn detectable(findable: f64) -> String {
    if findable < MAX_TOLD {
        format!(", but only a ratio of {} or more would be detected (80 % power)", factor(findable))
    } else {
        ", but runs that differ this much from one another show no ratio".to_owned()
    }
}

/// The figures that say the opposite of the verdict.
fn other_way_round(comparison: &Comparison, total: &StageComparison) -> String {
    let others = total.ratios.iter().filter(|other| {
        let outcome = other.outcome();
        outcome != Outcome::NoDifference && outcome != comparison.outcome
    });
    let others: Vec<String> = others
        .map(|other| {
            format!(
                "{} is {} times A's ({} to {})",
                other.figure.name,
                factor(other.estimate),
                factor(other.low),
                factor(other.high)
            )
        })
        .collect();
    if others.is_empty() { String::new() } else { format!(" By contrast, its {}.", others.join(", ")) }
}

/// The stages that are not what the verdict says of the total. Their intervals hold together, apart from the total's.
fn other_stages(comparison: &Comparison) -> String {
    let differs = |stage: &&StageComparison| {
        let outcome = stage.verdict.outcome;
        stage.stage != Stage::Total && outcome != Outcome::NoDifference && outcome != comparison.outcome
    };
    let several = comparison.stages.iter().any(|stage| stage.measure != comparison.stages[0].measure);
    let stages = comparison.stages.iter().filter(differs).filter_map(|stage| {
        let ratio = stage.shown()?;
        let whose = if several { format!(" of {}", measure(stage)) } else { String::new() };
        let (name, figure, limits) = (stage.stage.name(), ratio.figure.name, interval(ratio)?);
        Some(format!("{name} {figure}{whose} is {} times A's ({limits})", factor(ratio.estimate)))
    });
    let told: Vec<String> = stages.take(MAX_STAGES).collect();
    if told.is_empty() { String::new() } else { format!(" Of the stages, B's {}.", told.join(", its ")) }
}

/// What a sentence that is only about the runs calls them.
fn runs(comparison: &Comparison) -> &'static str {
    if comparison.a.runs == 1 && comparison.b.runs == 1 { "two runs" } else { "runs" }
}

/// What a verdict on the systems still needs: `what` names them, `by` is a way to measure them, and `runs_needed` is
/// how many runs would show the estimated difference.
pub(crate) fn wanting(standing: Standing, what: &str, by: &str, runs_needed: Option<usize>) -> Option<String> {
    match standing {
        Standing::Systems => None,
        Standing::TooFewRuns { more: [a, b] } => {
            let more = |runs: usize| counted(runs, "more run");
            let least = match (a, b) {
                (a, b) if a == b => format!("{} of each", more(a)),
                (a, 0) => format!("{} of A", more(a)),
                (0, b) => format!("{} of B", more(b)),
                (a, b) => format!("{} of A and {b} of B", more(a)),
            };
            let size = match runs_needed {
                Some(needed) if needed > MIN_RUNS => {
                    format!(", and about {needed} of each in all to find a difference of this size")
                }
                Some(_) => String::new(),
                None => format!(", and more than {MAX_RUNS_NEEDED} of each to find a difference as small as this"),
            };
            Some(format!("It takes at least {least}, measured in turn{by}, to tell whether the {what} differ{size}."))
        }
        Standing::OneAfterTheOther => Some(format!(
            "These runs cannot tell a difference of the {what} from whatever else changed on the machine between the two sides: \
             measure them in turn, or add another run of the first side."
        )),
        Standing::OtherThreads => Some(format!(
            "This says nothing of the {what}: record both sides with one `--comm` that matches the threads of both."
        )),
        Standing::OtherPace => {
            Some(format!("These runs say nothing of the {what}: what differs is the pace at which they were used."))
        }
    }
}

/// The paper's point: throughput hardly shows it (Cota-Robles and Held, OSDI 1999, section 4.2).
fn throughput_in_words(comparison: &Comparison) -> Option<String> {
    let ratios: Vec<f64> =
        comparison.throughput.iter().filter_map(|score| score.ratio).filter(|ratio| *ratio > 0.0).collect();
    if ratios.is_empty() {
        return None;
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    Some(format!("B's load did {} times as much work as A's.", factor(mean)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_comparison::WORTH_THE_NAME;
    use punctual_comparison::interact::MEDIAN;

    #[test]
    fn a_verdict_on_wakeups_that_begins_an_answer_says_what_it_is_about() {
        for (sentence, expected) in [
            ("Worse: B's p99 is 20.6 times A's.", "Worse in wakeup latency: B's p99 is 20.6 times A's."),
            ("Better: B's p99 is 0.05 times A's.", "Better in wakeup latency: B's p99 is 0.05 times A's."),
            (
                "B is later in these 2 runs: its p99 is 2.00 times A's.",
                "B is later in these 2 runs: its p99 is 2.00 times A's.",
            ),
        ] {
            assert_eq!(decided_by_wakeups(sentence), expected);
        }
    }

    #[test]
    fn requests_come_first_whatever_is_decided() {
        let (one, none) = (|words: &str| vec![words.to_owned()], Vec::new);
        for (requests, cycles, wakeups_decide, expected) in [
            (one("R."), none(), false, "R. Wakeup latency: worse: B's p99."),
            (one("R."), none(), true, "R. Wakeup latency: worse: B's p99."),
            (one("R."), one("C."), true, "R. Wakeup latency: worse: B's p99. C."),
            (none(), one("C."), false, "C. Wakeup latency: worse: B's p99."),
            (none(), one("C."), true, "Worse in wakeup latency: B's p99. C."),
        ] {
            assert_eq!(in_order(requests, cycles, "Worse: B's p99.", wakeups_decide), expected);
        }
    }

    fn ratio(low: f64, high: f64) -> Ratio {
        Ratio { figure: MEDIAN, low, estimate: 1.0, high, same_within: WORTH_THE_NAME, p: 1.0, findable: 2.0 }
    }

    #[test]
    fn limits_that_say_nothing_are_not_named() {
        let fits = |low, high| what_would_fit(&ratio(low, high));
        assert_eq!(fits(0.66, 3.21), " (0.66 to 3.21)");
        for (low, high) in [(0.001, 19.6), (0.000_01, 47.7), (0.000_01, 1e9)] {
            assert_eq!(fits(low, high), "");
        }
        assert_eq!(detectable(125.4), ", but only a ratio of 125 or more would be detected (80 % power)");
        assert_eq!(detectable(1e12), ", but runs that differ this much from one another show no ratio");
        assert_eq!(interval(&ratio(1.5, 1e9)).as_deref(), Some("1.50 or more"));
        assert_eq!(interval(&ratio(1e-9, 0.4)).as_deref(), Some("0.40 or less"));
    }
}
