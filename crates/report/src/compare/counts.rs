//! How often cycles took too long, requests were slow and devices had underruns on either side: sentences, a table, rows.

use super::words::{factor, outcome};
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Section};
use crate::layout::{capitalized, grouped, table};
use punctual_comparison::{Comparison, CountComparison, Counted, EventCount, MIN_RUNS, Outcome, Standing};
use punctual_recording::{counted, format_ns, printable};
use serde::Serialize;

/// The most loops, or devices, that a verdict names.
const MAX_NAMED: usize = 3;
/// Counts that lie further apart than chance takes them, in standard deviations, are not called alike.
const FAR_APART: f64 = 2.0;

/// Sentences on the cycles of loops and the underruns of devices, which come before everything else: whoever gives a
/// period, or runs a device, asks for these.
pub(super) fn cycles_in_words(comparison: &Comparison) -> Vec<String> {
    let mut cycles: Vec<&CountComparison> =
        comparison.counts.iter().filter(|row| !matches!(row.what, Counted::Requests { .. })).collect();
    // What is decided stands before what is not.
    cycles.sort_by_key(|row| row.outcome == Outcome::NoDifference);
    let mut sentences: Vec<String> =
        cycles.iter().take(MAX_NAMED).map(|row| sentence(row, comparison.standing)).collect();
    if cycles.len() > MAX_NAMED {
        let (what, whose) = match cycles[0].what {
            Counted::Underruns { .. } => ("underruns", "more device"),
            Counted::Cycles { .. } | Counted::Periods { .. } | Counted::Requests { .. } => ("cycles", "more loop"),
        };
        sentences.push(format!("Below: the {what} of {}.", counted(cycles.len() - MAX_NAMED, whose)));
    }
    sentences
}

/// Sentences on slow requests.
pub(super) fn requests_in_words(comparison: &Comparison) -> Vec<String> {
    let requests = comparison.counts.iter().filter(|row| matches!(row.what, Counted::Requests { .. }));
    requests.map(|row| sentence(row, comparison.standing)).collect()
}

/// All sentences of a comparison with the side of this letter, which is one of several.
pub(super) fn counts_in_words(comparison: &Comparison, name: char) -> Vec<String> {
    comparison.counts.iter().map(|row| sentence_on(row, comparison.standing, name)).collect()
}

fn sentence(row: &CountComparison, standing: Standing) -> String {
    sentence_on(row, standing, 'B')
}

/// The sentence on what A and the side of this letter have.
fn sentence_on(row: &CountComparison, standing: Standing, name: char) -> String {
    let what = what(&row.what);
    if row.a.exposure == 0 || row.b.exposure == 0 {
        return format!("{}: these could not be counted on both A and {name}.", capitalized(&what));
    }
    if row.a.events == 0 && row.b.events == 0 {
        return format!(
            "{}: none on A or {name} ({} and {}).",
            capitalized(&what),
            out_of(row, &row.a),
            out_of(row, &row.b)
        );
    }
    if let Some(sentence) = seen_in_too_few(row, standing, name) {
        return sentence;
    }
    let [more, fewer, difference_in] = comparatives(row);
    let verdict = match (row.outcome, standing == Standing::Systems) {
        (Outcome::Worse, true) => format!("Worse: {more} {what}"),
        (Outcome::Better, true) => format!("Better: {fewer} {what}"),
        (Outcome::NoDifference, true) => format!("No detectable {difference_in} {what}"),
        (Outcome::Worse, false) => format!("{name} has {more} {what} in these runs"),
        (Outcome::Better, false) => format!("{name} has {fewer} {what} in these runs"),
        (Outcome::NoDifference, false) => format!("These runs show no {difference_in} {what}"),
    };
    let (a, b) = (side(row, &row.a), side(row, &row.b));
    format!("{verdict}: {b} on {name}, {a} on A ({}).", times_as_often(row))
}

/// Whether requests are compared by the share of them that was slow.
fn is_share(row: &CountComparison) -> bool {
    row.a.watched_ns.is_some() && row.b.watched_ns.is_some()
}

/// What goes before what was counted if there is more of it, if there is less, and if neither is so.
fn comparatives(row: &CountComparison) -> [&'static str; 3] {
    match is_share(row) {
        true => ["a larger share of", "a smaller share of", "difference in the share of"],
        false => ["more", "fewer", "difference in"],
    }
}

/// That one side has more slow requests, or underruns, where only too few runs keep that from being a verdict: so many more are
/// not called no difference.
fn seen_in_too_few(row: &CountComparison, standing: Standing, name: char) -> Option<String> {
    let Standing::TooFewRuns { more } = standing else { return None };
    if !differs_without_a_verdict(row, standing) {
        return None;
    }
    let [more_of, fewer_of, _] = comparatives(row);
    let is_more = row.ratio.estimate.is_none_or(|estimate| estimate > 1.0);
    let ratio = row.ratio.estimate.filter(|estimate| *estimate > 0.0);
    let ratio = ratio.map_or_else(String::new, |estimate| format!(" ({} {})", factor(estimate), times(row)));
    Some(format!(
        "{name} has {} {} in these runs: {} on {name}, {} on A{ratio}; {} too few for a verdict.",
        if is_more { more_of } else { fewer_of },
        what(&row.what),
        side(row, &row.b),
        side(row, &row.a),
        if more == [MIN_RUNS - 1; 2] { "one run of each side is" } else { "these runs are" },
    ))
}

/// Whether slow requests, or underruns, are further apart than events that are independent of each other would be, and only
/// too few runs keep that from being a verdict.
fn differs_without_a_verdict(row: &CountComparison, standing: Standing) -> bool {
    let is_asked = matches!(row.what, Counted::Requests { .. } | Counted::Underruns { .. })
        && row.outcome == Outcome::NoDifference;
    let (a, b) = (row.a.exposure as f64, row.b.exposure as f64);
    let all = row.a.events as f64 + row.b.events as f64;
    if !is_asked || !matches!(standing, Standing::TooFewRuns { .. }) || a <= 0.0 || b <= 0.0 {
        return false;
    }
    let share = b / (a + b);
    let deviation = (all * share * (1.0 - share)).sqrt();
    (row.b.events as f64 - all * share).abs() > FAR_APART * deviation
}

/// What B is, as the table says it.
fn is_what(row: &CountComparison, standing: Standing) -> &'static str {
    if differs_without_a_verdict(row, standing) { "too few runs" } else { row.outcome.name() }
}

fn what(counted: &Counted) -> String {
    match counted {
        Counted::Cycles { of, period_ns } => {
            format!("cycles of {} longer than {}", printable(of), format_ns(*period_ns))
        }
        Counted::Periods { of, period_ns } => {
            format!("periods of {} that {} overran", format_ns(*period_ns), printable(of))
        }
        Counted::Requests { threshold_ns } => format!("requests slower than {}", format_ns(*threshold_ns)),
        Counted::Underruns { of } => format!("underruns of {}", printable(of)),
    }
}

/// How many on a side, and out of what.
fn side(row: &CountComparison, count: &EventCount) -> String {
    if count.exposure == 0 {
        return "not countable".to_owned();
    }
    let events = match count.least < count.events {
        true => format!("{} to {}", grouped(count.least), grouped(count.events)),
        false => grouped(count.events),
    };
    let is_in_time =
        matches!(row.what, Counted::Requests { .. }) && count.watched_ns.is_none() && all_of(count).is_none();
    let preposition = if is_in_time { "in" } else { "of" };
    let counts = format!("{events} {preposition} {}", out_of(row, count));
    match count.watched_ns.filter(|watched_ns| *watched_ns > 0 && count.events > 0) {
        Some(watched_ns) => {
            let percent = count.events as f64 / count.exposure as f64 * 100.0;
            let a_second = count.events as f64 / (watched_ns as f64 / 1e9);
            format!("{} % ({counts}, {} a second)", factor(percent), factor(a_second))
        }
        None => counts,
    }
}

fn out_of(row: &CountComparison, count: &EventCount) -> String {
    match (&row.what, count.watched_ns) {
        (Counted::Cycles { .. } | Counted::Periods { .. }, _) => grouped(count.exposure),
        (Counted::Requests { .. }, Some(watched_ns)) => {
            format!("{} in {}", grouped(count.exposure), format_ns(watched_ns))
        }
        (Counted::Requests { .. }, None) => {
            let all = all_of(count).map_or_else(String::new, |all| format!("{} in ", grouped(all)));
            all + &format_ns(count.exposure)
        }
        (Counted::Underruns { .. }, _) => counted(count.exposure, "block"),
    }
}

/// Out of how many requests, if that is known.
fn all_of(count: &EventCount) -> Option<u64> {
    count.all.filter(|all| *all >= count.events)
}

/// What a ratio is of, to follow it.
fn times(row: &CountComparison) -> &'static str {
    if is_share(row) { "times the share" } else { "times as often" }
}

/// How many times as often on B, or as large a share, with limits.
fn times_as_often(row: &CountComparison) -> String {
    let (ratio, times) = (&row.ratio, times(row));
    match (ratio.low, ratio.estimate, ratio.high) {
        (Some(low), Some(estimate), Some(high)) => {
            format!("{} {times}, {} to {}", factor(estimate), factor(low), factor(high))
        }
        (Some(low), _, _) => format!("at least {} {times}", factor(low)),
        (None, _, Some(high)) => format!("at most {} {times}", factor(high)),
        (None, ..) => "no ratio".to_owned(),
    }
}

/// The table of what was counted.
pub(super) fn counts_table(comparison: &Comparison) -> String {
    table(&["", "A", "B", "B is"], 1..3, counts_cells(comparison).map(Vec::from))
}

/// What was counted, how often on A and on B, and what B is.
pub(super) fn counts_cells(comparison: &Comparison) -> impl Iterator<Item = [String; 4]> {
    comparison.counts.iter().map(|row| {
        let (a, b) = (side(row, &row.a), side(row, &row.b));
        let verdict = is_what(row, comparison.standing);
        [what(&row.what), a, b, format!("{verdict} ({})", times_as_often(row))]
    })
}

/// The same on a page.
pub(super) fn counts_section(comparison: &Comparison) -> Option<Section> {
    if comparison.counts.is_empty() {
        return None;
    }
    let columns = ["what", "A", "B", "B as often as A (95 %)", "B is"].map(Column::words).into();
    let rows = comparison.counts.iter().map(|row| {
        let (a, b) = (side(row, &row.a), side(row, &row.b));
        let cells = [what(&row.what), a, b, times_as_often(row)].map(Value::text);
        let verdict = match differs_without_a_verdict(row, comparison.standing) {
            true => Value::text(is_what(row, comparison.standing)),
            false => outcome(row.outcome),
        };
        cells.into_iter().chain([verdict]).collect()
    });
    Some(Section {
        id: "counts".into(),
        title: "Cycles, requests and underruns".into(),
        lead: "How many periods a loop overran or, where its timers do not show these, how many of its cycles took longer than \
               one; how many requests took longer than the threshold, of all of them or, where a recording did not count \
               these, in the time that was watched; and how many blocks of a device took longer than its buffers allow. All \
               limits hold at once with 95 % probability and include the spread between runs; events that come in bursts \
               count as so many bursts."
            .into(),
        blocks: vec![Block::Table(Table {
            caption: "How often on either side".into(),
            columns,
            rows: rows.collect(),
        })],
    })
}

/// What was counted, for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CountRow<'a> {
    /// `periods` that a loop overran or, where its timers do not show its periods, `cycles`; `requests` or `underruns`.
    kind: &'static str,
    /// Whose cycles, periods or underruns.
    name: Option<&'a str>,
    /// What they took longer than; null for underruns.
    limit_ns: Option<u64>,
    a: SideCountRow,
    b: SideCountRow,
    /// How many times as often on B; null if A had none.
    estimate: Option<f64>,
    /// The lower limit; null if there is none.
    low: Option<f64>,
    /// The upper limit; null if there is none.
    high: Option<f64>,
    verdict: &'static str,
    /// Per what the ratio is: `request`, or `second` where not every run counted its requests; `cycle`, `period` or `block`.
    per: &'static str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SideCountRow {
    /// How many took longer, were overrun, or were underruns.
    events: u64,
    /// How many certainly did, if some wakeups were not seen, or nothing shows whether the loop catches up.
    least: u64,
    /// Out of how many cycles; null for others.
    cycles: Option<u64>,
    /// Out of how many periods; null for others.
    periods: Option<u64>,
    /// In how much time; null for others than requests.
    watched_ns: Option<u64>,
    /// Out of how many blocks; null for others than underruns.
    blocks: Option<u64>,
    /// Out of how many requests; null if they were not counted, and for others.
    requests: Option<u64>,
}

impl<'a> CountRow<'a> {
    pub(super) fn new(row: &'a CountComparison) -> CountRow<'a> {
        let (kind, name, limit_ns) = match &row.what {
            Counted::Cycles { of, period_ns } => ("cycles", Some(of.as_str()), Some(*period_ns)),
            Counted::Periods { of, period_ns } => ("periods", Some(of.as_str()), Some(*period_ns)),
            Counted::Requests { threshold_ns } => ("requests", None, Some(*threshold_ns)),
            Counted::Underruns { of } => ("underruns", Some(of.as_str()), None),
        };
        let side = |count: &EventCount| {
            let of = |own: &str| (kind == own).then_some(count.exposure);
            SideCountRow {
                events: count.events,
                least: count.least,
                cycles: of("cycles"),
                periods: of("periods"),
                watched_ns: count.watched_ns.or_else(|| of("requests")),
                blocks: of("underruns"),
                requests: count.all,
            }
        };
        let per = match row.what {
            Counted::Cycles { .. } => "cycle",
            Counted::Periods { .. } => "period",
            Counted::Requests { .. } if is_share(row) => "request",
            Counted::Requests { .. } => "second",
            Counted::Underruns { .. } => "block",
        };
        CountRow {
            kind,
            name,
            limit_ns,
            a: side(&row.a),
            b: side(&row.b),
            estimate: row.ratio.estimate,
            low: row.ratio.low,
            high: row.ratio.high,
            verdict: row.outcome.name(),
            per,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_comparison::RateRatio;

    fn row(what: Counted, a: (u64, u64), b: (u64, u64), limits: [Option<f64>; 3], outcome: Outcome) -> CountComparison {
        let count = |(events, exposure)| EventCount { events, least: events, exposure, ..EventCount::default() };
        let [low, estimate, high] = limits;
        CountComparison {
            what,
            a: count(a),
            b: count(b),
            ratio: RateRatio { low, estimate, high },
            outcome,
            runs_needed: None,
        }
    }

    #[test]
    fn a_sentence_has_the_outcome_both_counts_and_the_limits() {
        let cycles = || Counted::Cycles { of: "my-loop".to_owned(), period_ns: 1_000_000 };
        let limits = [Some(0.4), Some(1.03), Some(2.7)];
        let about_as_many = row(cycles(), (25, 47_692), (28, 51_745), limits, Outcome::NoDifference);
        assert_eq!(
            sentence(&about_as_many, Standing::Systems),
            "No detectable difference in cycles of my-loop longer than 1.00 ms: 28 of 51,745 on B, 25 of 47,692 on A \
             (1.03 times as often, 0.40 to 2.70)."
        );
        let periods = Counted::Periods { of: "my-loop".to_owned(), period_ns: 1_000_000 };
        let half = row(periods, (50, 5_000), (2_500, 5_000), [Some(12.0), Some(50.0), Some(210.0)], Outcome::Worse);
        assert_eq!(
            sentence(&half, Standing::Systems),
            "Worse: more periods of 1.00 ms that my-loop overran: 2,500 of 5,000 on B, 50 of 5,000 on A (50.0 times as often, 12.0 to 210)."
        );
        let requests = || Counted::Requests { threshold_ns: 20_000_000 };
        let second = 1_000_000_000;
        let gone =
            row(requests(), (427, 15 * second), (0, 15 * second), [None, Some(0.0), Some(0.03)], Outcome::Better);
        assert_eq!(
            sentence(&gone, Standing::Systems),
            "Better: fewer requests slower than 20.0 ms: 0 in 15.0 s on B, 427 in 15.0 s on A (at most 0.030 times as often)."
        );
        assert!(
            sentence(&gone, Standing::OneAfterTheOther)
                .starts_with("B has fewer requests slower than 20.0 ms in these runs: ")
        );
        let none = row(cycles(), (0, 100), (0, 90), [None; 3], Outcome::NoDifference);
        assert_eq!(
            sentence(&none, Standing::Systems),
            "Cycles of my-loop longer than 1.00 ms: none on A or B (100 and 90)."
        );
        let underruns = || Counted::Underruns { of: "sdr".to_owned() };
        let more = row(underruns(), (2, 1_000), (40, 999), [Some(3.1), Some(20.0), Some(140.0)], Outcome::Worse);
        assert_eq!(
            sentence(&more, Standing::Systems),
            "Worse: more underruns of sdr: 40 of 999 blocks on B, 2 of 1,000 blocks on A (20.0 times as often, 3.10 to 140)."
        );
        let none = row(underruns(), (0, 26), (0, 1), [None; 3], Outcome::NoDifference);
        assert_eq!(sentence(&none, Standing::Systems), "Underruns of sdr: none on A or B (26 blocks and 1 block).");
        let uncounted = row(cycles(), (0, 0), (3, 90), [None; 3], Outcome::NoDifference);
        assert!(sentence(&uncounted, Standing::Systems).contains("could not be counted"));
    }

    #[test]
    fn far_fewer_underruns_in_too_few_runs_are_not_called_no_difference() {
        let told = |b: u64, standing| {
            let what = Counted::Underruns { of: "v90".to_owned() };
            let limits = [None, Some(0.0), Some(9.0)];
            sentence(&row(what, (192, 1_250), (b, 1_251), limits, Outcome::NoDifference), standing)
        };
        let two_each = Standing::TooFewRuns { more: [1, 1] };
        assert_eq!(
            told(0, two_each),
            "B has fewer underruns of v90 in these runs: 0 of 1,251 blocks on B, 192 of 1,250 blocks on A; these runs are too few \
             for a verdict."
        );
        // About as many; and with enough runs, no difference was found.
        for (b, standing) in [(190, two_each), (0, Standing::Systems)] {
            let said = told(b, standing);
            assert!(said.contains("difference in underruns of v90"), "{said}");
        }
    }

    #[test]
    fn far_fewer_slow_requests_in_too_few_runs_are_told_without_a_verdict() {
        let second = 1_000_000_000;
        let told = |a: (u64, u64), b: (u64, u64), limits, standing| {
            let what = Counted::Requests { threshold_ns: 20_000_000 };
            let mut found = row(what, a, b, limits, Outcome::NoDifference);
            for count in [&mut found.a, &mut found.b] {
                (count.all, count.watched_ns) = (Some(count.exposure), Some(7 * second));
            }
            (sentence(&found, standing), is_what(&found, standing))
        };
        let one_each = Standing::TooFewRuns { more: [2, 2] };
        let none = [None, Some(0.0), Some(4.2)];
        let (words, cell) = told((154, 374), (0, 201), none, one_each);
        assert_eq!(
            words,
            "B has a smaller share of requests slower than 20.0 ms in these runs: 0 of 201 in 7.00 s on B, 41.2 % (154 of 374 in \
             7.00 s, 22.0 a second) on A; one run of each side is too few for a verdict."
        );
        assert_eq!(cell, "too few runs");
        let (words, _) =
            told((34, 173), (60, 166), [Some(0.2), Some(1.76), Some(9.0)], Standing::TooFewRuns { more: [1, 2] });
        assert!(
            words.starts_with(
                "B has a larger share of requests slower than 20.0 ms in these runs: 36.1 % (60 of 166 in "
            ),
            "{words}"
        );
        assert!(words.ends_with(" on A (1.76 times the share); these runs are too few for a verdict."), "{words}");
        let (words, _) = told((0, 201), (154, 374), [Some(0.3), None, None], one_each);
        assert!(words.starts_with("B has a larger share ") && words.contains("on A; one run"), "{words}");
        // A client that waits for its answers: more slow requests a second, of far more requests.
        let (words, _) = told((84, 1_196), (140, 2_648), [Some(0.2), Some(0.753), Some(3.0)], one_each);
        assert!(
            words.starts_with(
                "B has a smaller share of requests slower than 20.0 ms in these runs: 5.29 % (140 of 2,648 in "
            ),
            "{words}"
        );
        // About as many; and with enough runs, no difference was found.
        for (b, standing) in [(38, one_each), (60, Standing::Systems)] {
            let (words, cell) = told((34, 173), (b, 166), [Some(0.2), Some(1.1), Some(9.0)], standing);
            assert!(
                words.contains("difference in the share of requests") && cell == Outcome::NoDifference.name(),
                "{words} {cell}"
            );
        }
    }
}
