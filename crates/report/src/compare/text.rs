//! What a comparison found.

use super::causes::causes_text;
use super::counts::{counts_table, cycles_in_words, requests_in_words};
use super::devices::devices_text;
use super::words::{factor, of_stage, told, values};
use crate::layout::{capitalized, counted, grouped, load_beside_others, microseconds, table};
use punctual_comparison::ratio::MAX_RUNS_NEEDED;
use punctual_comparison::{
    Comparison, Difference, FIGURES, MIN_RUNS, Outcome, Quantiles, RESOLUTION_NS, Ratio, SideSummary, StageComparison,
    Standing, WORTH_THE_NAME,
};
use punctual_forecast::are_too_wide;
use punctual_recording::{NO_LOAD, Stage, format_ns};
use std::fmt::Write;

/// The most stages beside the total that a verdict names.
const MAX_STAGES: usize = 2;

/// The verdict in words. It says only what holds, and *better* and *worse* only of systems.
pub fn verdict(comparison: &Comparison) -> String {
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
        verdict += " Further out in the tail these data cannot tell.";
    }
    verdict += &other_way_round(comparison, total);
    verdict += &other_stages(comparison);
    for words in requests_in_words(comparison) {
        verdict += &format!(" {words}");
    }
    if let Some(words) = throughput_in_words(comparison) {
        verdict += &format!(" {words}");
    }
    verdict
}

/// Whether there were too few wakeups to compare, and nothing else was counted that could be.
pub(super) fn has_too_few(comparison: &Comparison) -> bool {
    comparison.counts.is_empty() && lacks_wakeups(comparison)
}

/// Whether there were too few wakeups to compare, whatever else was counted.
pub(super) fn lacks_wakeups(comparison: &Comparison) -> bool {
    comparison.total().is_some_and(|total| total.shown().is_none())
}

/// A sentence on wakeups, after those on cycles. Beside anything that was counted it says what it is about.
fn beside_counts(comparison: &Comparison, sentence: String) -> String {
    if comparison.counts.is_empty() {
        return sentence;
    }
    let mut sentences = cycles_in_words(comparison);
    let is_counted = comparison.counts.iter().any(|row| row.outcome != Outcome::NoDifference);
    if is_counted || comparison.outcome == Outcome::NoDifference {
        sentences.push(format!("Wakeup latency: {}", within_a_sentence(&sentence)));
    } else {
        // What is decided stands before what is not.
        sentences.insert(0, decided_by_wakeups(&sentence));
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
pub(super) fn within_a_sentence(sentence: &str) -> String {
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
            "These {runs} have too few wakeups to be compared: that takes at least {needed} of a thread in each."
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
        format!(", but no ratio below {} would be detected (80 % power)", grouped(MAX_TOLD as u64))
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
            let more = |runs: usize| format!("{runs} more {}", if runs == 1 { "run" } else { "runs" });
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
            Some(format!("To tell whether the {what} differ takes at least {least}, measured in turn{by}{size}."))
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
    Some(format!("B's load did {} times as much work.", factor(mean)))
}

pub(super) fn value_of(quantiles: &Quantiles, ratio: &Ratio) -> Option<u64> {
    let index = FIGURES.iter().position(|figure| figure.name == ratio.figure.name)?;
    quantiles.values_ns[index]
}

/// No two sides of one machine have a ratio further from 1 than this.
pub(super) const MAX_TOLD: f64 = 10_000.0;

/// The interval of a ratio; `None` if it is so wide that it says nothing. If it shows which side is larger, that limit
/// says something.
pub(super) fn interval(ratio: &Ratio) -> Option<String> {
    match are_too_wide(ratio.low, ratio.high) {
        false => Some(format!("{} to {}", factor(ratio.low), factor(ratio.high))),
        true if ratio.low > 1.0 => Some(format!("{} or more", factor(ratio.low))),
        true if ratio.high < 1.0 => Some(format!("{} or less", factor(ratio.high))),
        true => None,
    }
}

/// How much is no difference worth the name, in words.
pub(super) fn no_difference_below() -> String {
    let (share, time) = ((WORTH_THE_NAME - 1.0) * 100.0, format_ns(RESOLUTION_NS as u64));
    format!("less than {share:.0} % or {time} is no difference")
}

/// The whole comparison as text.
pub fn text(comparison: &Comparison) -> String {
    let mut text = format!("{}\n", verdict(comparison));
    for note in &comparison.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = writeln!(text);
    for (label, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let _ = writeln!(text, "{label}  {}", side_line(side));
    }
    if !comparison.counts.is_empty() {
        let _ = writeln!(
            text,
            "\nHow often, with limits that include the spread between runs\n\n{}",
            counts_table(comparison)
        );
    }
    text += &causes_text(comparison);
    let several = comparison.stages.iter().any(|stage| stage.measure != comparison.stages[0].measure);
    let _ = writeln!(text, "\nA -> B, us; the ratio is B to A; {}", no_difference_below());
    let _ = writeln!(text, "\n{}", stage_table(&comparison.stages, several));
    let is_total = |stage: &&StageComparison| stage.stage == Stage::Total && !stage.ratios.is_empty();
    for stage in comparison.stages.iter().filter(is_total) {
        let whose = if several { format!(" of {}", measure(stage)) } else { String::new() };
        let _ = writeln!(
            text,
            "\nThe total{whose}: all its intervals hold at once with 95 % probability; findable is the smallest B/A that would be detected (80 % power)\n"
        );
        let _ = writeln!(text, "{}", ratio_table(stage));
    }
    text += &devices_text(&comparison.devices, several);
    if !comparison.throughput.is_empty() {
        let _ = writeln!(text, "\nWhat the loads got done\n\n{}", throughput_table(comparison));
    }
    if comparison.differences.is_empty() {
        let _ = writeln!(text, "\n{}", nothing_else_differs(comparison));
    } else {
        let _ = writeln!(text, "\nWhat else differs\n\n{}", difference_table(&comparison.differences));
    }
    text
}

/// What kept the machine busy beside a side's wakeups.
pub(super) fn load_of_side(side: &SideSummary) -> String {
    if side.is_beside_devices && side.load == NO_LOAD {
        return "no load added, beside devices".to_owned();
    }
    load_beside_others(&side.load, side.others_share)
}

/// Says that nothing else differs, as far as is known.
pub(super) fn nothing_else_differs(comparison: &Comparison) -> &'static str {
    if comparison.follows() {
        "No other difference is recorded; control groups and quotas of followed threads are not."
    } else {
        "No other difference is recorded."
    }
}

pub(super) fn side_line(side: &SideSummary) -> String {
    let runs = counted(side.runs, "run");
    let load = load_of_side(side);
    let missed = side.missed.map_or("-".to_owned(), grouped);
    format!(
        "{}: {load}, {runs}, {}, {}, missed {missed}, unobserved {}, lost {}",
        side.name,
        format_ns(side.measured_ns),
        counted(side.wakeups, "wakeup"),
        grouped(side.unobserved),
        grouped(side.lost)
    )
}

/// What B is where nothing could be compared.
pub(super) const TOO_FEW: &str = "too few wakeups";

pub(crate) fn measure(stage: &StageComparison) -> String {
    let (a, b) = &stage.measure;
    if a == b { a.clone() } else { format!("{a} -> {b}") }
}

fn stage_table(stages: &[StageComparison], several: bool) -> String {
    const SHOWN: [&str; 4] = ["p50", "p99", "p99.9", "p99.99"];
    let mut header = vec!["stage"];
    if several {
        header.insert(0, "threads");
    }
    let left = header.len();
    header.extend(SHOWN);
    header.extend(["max us", "by", "ratio", "interval", "B is"]);
    table(
        &header,
        left..left + SHOWN.len() + 1,
        stages.iter().map(|stage| {
            let mut cells = vec![stage.stage.name().to_owned()];
            if several {
                cells.insert(0, measure(stage));
            }
            let pair = |a: Option<u64>, b: Option<u64>| match (a, b) {
                (None, None) => "-".to_owned(),
                _ => format!("{} -> {}", microseconds(a), microseconds(b)),
            };
            cells.extend(SHOWN.map(|name| {
                let index = FIGURES.iter().position(|figure| figure.name == name).unwrap_or(0);
                pair(stage.a.values_ns[index], stage.b.values_ns[index])
            }));
            cells.push(pair(stage.a.max_ns, stage.b.max_ns));
            match stage.shown() {
                Some(ratio) => cells.extend([
                    ratio.figure.name.to_owned(),
                    factor(ratio.estimate),
                    interval(ratio).unwrap_or_else(|| "any ratio".to_owned()),
                ]),
                None => cells.extend(["-", "-", "-"].map(str::to_owned)),
            }
            let is_compared = !stage.ratios.is_empty();
            cells.push(if is_compared { of_stage(stage) } else { TOO_FEW }.to_owned());
            cells
        }),
    )
}

fn ratio_table(stage: &StageComparison) -> String {
    table(
        &["", "A us", "B us", "B/A", "interval", "findable", "B is"],
        1..4,
        stage.ratios.iter().map(|ratio| {
            vec![
                ratio.figure.name.to_owned(),
                microseconds(value_of(&stage.a, ratio)),
                microseconds(value_of(&stage.b, ratio)),
                factor(ratio.estimate),
                interval(ratio).unwrap_or_else(|| "any ratio".to_owned()),
                if ratio.findable < MAX_TOLD { factor(ratio.findable) } else { "-".to_owned() },
                told(ratio).to_owned(),
            ]
        }),
    )
}

fn throughput_table(comparison: &Comparison) -> String {
    let latency = comparison.total().and_then(StageComparison::shown);
    let beside = latency.map_or("latency".to_owned(), |ratio| format!("latency ({})", ratio.figure.name));
    let rate =
        |thousandths: Option<u64>| thousandths.map_or("-".to_owned(), |rate| format!("{:.3}", rate as f64 / 1_000.0));
    table(
        &["load", "a second", "A", "B", "throughput B/A", &format!("{beside} B/A")],
        2..6,
        comparison.throughput.iter().map(|score| {
            let paced = if score.is_paced { " (held to a pace)" } else { "" };
            vec![
                format!("{}{paced}", score.name),
                score.unit.clone(),
                rate(score.a_thousandths),
                rate(score.b_thousandths),
                score.ratio.map_or("-".to_owned(), factor),
                latency.map_or("-".to_owned(), |ratio| factor(ratio.estimate)),
            ]
        }),
    )
}

pub(crate) fn difference_table(differences: &[Difference]) -> String {
    let rows = differences.iter().map(|row| {
        let [a, b] = values(row).map(|value| value.unwrap_or_else(|| "-".to_owned()));
        vec![row.area.to_owned(), row.what.clone(), a, b]
    });
    table(&["", "", "A", "B"], 0..0, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn what_is_no_difference_is_said_in_words() {
        assert_eq!(no_difference_below(), "less than 5 % or 250 ns is no difference");
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
        assert_eq!(detectable(1e12), ", but no ratio below 10,000 would be detected (80 % power)");
        assert_eq!(interval(&ratio(1.5, 1e9)).as_deref(), Some("1.50 or more"));
        assert_eq!(interval(&ratio(1e-9, 0.4)).as_deref(), Some("0.40 or less"));
    }
}
