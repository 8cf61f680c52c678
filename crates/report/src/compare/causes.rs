//! Who made wakeups late on either side: a table, a section of a page, rows.

use super::words::{factor, rates_in_words};
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Section};
use crate::layout::{agreeing, counted, fitting, grouped, table};
use punctual_blame::Kind;
use punctual_comparison::{CauseComparison, CauseCount, CausesComparison, CausesOfSide, Change, Comparison, RateRatio};
use punctual_recording::{Stage, format_ns, printable};
use serde::Serialize;
use std::fmt::Write;

/// Causes with a row of their own in text; all others are counted.
const SHOWN_CAUSES: usize = 6;
/// The longest name in text, characters.
const MAX_NAME: usize = 32;

/// The causes as text, below their heading; empty if they were not compared.
pub(super) fn causes_text(comparison: &Comparison) -> String {
    let Some(causes) = comparison.causes.as_ref().filter(|causes| !causes.rows.is_empty()) else {
        return String::new();
    };
    let mut text = format!(
        "\nCauses in these runs, which decide nothing: episodes of {}, {}\n\n",
        what(causes),
        and_how_many(causes)
    );
    let rows = causes.rows.iter().take(SHOWN_CAUSES).map(|row| {
        vec![
            label(row).to_owned(),
            fitting(&printable(&row.cause.who), MAX_NAME),
            format!("{} -> {}", grouped(row.a.episodes), grouped(row.b.episodes)),
            an_hour(&causes.a, row.a),
            an_hour(&causes.b, row.b),
            change(row, causes),
        ]
    });
    let _ = writeln!(text, "{}", table(&["kind", "name", "A -> B", "A an hour", "B an hour", "on B"], 2..5, rows));
    if causes.rows.iter().take(SHOWN_CAUSES).any(|row| gone_from(row).is_some()) {
        let _ = writeln!(text, "{}", what_limits(comparison, causes));
    }
    if let Some(others) = causes.rows.len().checked_sub(SHOWN_CAUSES).filter(|others| *others > 0) {
        let _ = writeln!(text, "{} with --json or --html", counted(others, "further cause"));
    }
    text
}

/// The same on a page, with all of them.
pub(super) fn causes_section(comparison: &Comparison) -> Option<Section> {
    let causes = comparison.causes.as_ref().filter(|causes| !causes.rows.is_empty())?;
    let columns = [
        Column::words("kind"),
        Column::words("name"),
        Column::numbers("episodes A"),
        Column::numbers("episodes B"),
        Column::numbers("A an hour"),
        Column::numbers("B an hour"),
        Column::words("on B (95 %)"),
    ];
    let rows = causes.rows.iter().map(|row| {
        vec![
            Value::text(label(row)),
            Value::text(printable(&row.cause.who)),
            Value::Count(Some(row.a.episodes)),
            Value::Count(Some(row.b.episodes)),
            Value::text(an_hour(&causes.a, row.a)),
            Value::text(an_hour(&causes.b, row.b)),
            if row.change.is_shown() { Value::Marked(change(row, causes)) } else { Value::text(change(row, causes)) },
        ]
    });
    let lead = format!(
        "Episodes of {}, as `punctual why` names their causes, {}. All limits hold at once with 95 % probability and include the \
         spread between runs. This decides nothing: it says what changed, not whether that is enough.{}",
        what(causes),
        and_how_many(causes),
        match causes.rows.iter().any(|row| gone_from(row).is_some()) {
            true => format!(" {}", what_limits(comparison, causes)),
            false => String::new(),
        }
    );
    Some(Section {
        id: "causes".into(),
        title: "Causes".into(),
        lead,
        blocks: vec![Block::Table(Table {
            caption: "Causes on both sides".into(),
            columns: columns.into(),
            rows: rows.collect(),
        })],
    })
}

/// What the episodes are of.
fn what(causes: &CausesComparison) -> String {
    let threshold = format_ns(causes.threshold_ns);
    match causes.stage {
        Stage::Request => format!("requests slower than {threshold}"),
        Stage::Response => format!("wakeups longer than {threshold} until the next sleep"),
        Stage::Total => format!("wakeups later than {threshold}"),
        stage => format!("wakeups with more than {threshold} of {}", stage.name()),
    }
}

/// What else the table has of them, from how much time, and what is not among them.
fn and_how_many(causes: &CausesComparison) -> String {
    format!(
        "and how many (and how much of their time) there are in an hour, from {} watched on A and {} on B{}",
        format_ns(causes.a.watched_ns),
        format_ns(causes.b.watched_ns),
        without_evidence(causes).map_or_else(String::new, |words| format!("; {words}"))
    )
}

/// That some were late for causes that are not known, and what became of these.
fn without_evidence(causes: &CausesComparison) -> Option<String> {
    let untold = causes.a.untold().saturating_add(causes.b.untold());
    (untold > 0).then(|| {
        format!(
            "{} on A and {} on B {} without evidence, which the limits allow for",
            grouped(causes.a.untold()),
            grouped(causes.b.untold()),
            agreeing(untold, "is", "are")
        )
    })
}

/// The name of a cause's kind in tables.
fn label(row: &CauseComparison) -> &'static str {
    Kind::from_name(row.cause.kind).map_or(row.cause.kind, Kind::label)
}

/// How many episodes a side would have in an hour, and how much time.
fn an_hour(side: &CausesOfSide, count: CauseCount) -> String {
    if count.episodes == 0 {
        return "0".to_owned();
    }
    // No more time passes in an hour than there is, times threads.
    let ns = side.an_hour(count.total_ns).round() as u64;
    format!("{} ({})", factor(side.an_hour(count.episodes)), format_ns(ns))
}

/// The side that has none of a cause that the other has often enough to tell, if that is not called a change.
fn gone_from(row: &CauseComparison) -> Option<char> {
    match (row.change, row.a.episodes, row.b.episodes) {
        (Change::NotShown, _, 0) => Some('B'),
        (Change::NotShown, 0, _) => Some('A'),
        _ => None,
    }
}

/// Why a cause that is gone is not called a change.
fn what_limits(comparison: &Comparison, causes: &CausesComparison) -> String {
    let judged = causes.rows.iter().filter(|row| row.ratio.low.is_some() || row.ratio.high.is_some()).count();
    let (a, b) = (comparison.a.runs as u64, comparison.b.runs as u64);
    format!(
        "A cause that only one side has may be gone from the other, or absent there by chance: the limits are of {} of A and {} of B, allow \
         for what differs from run to run and for bursts, and hold at once for {}.",
        counted(a, "run"),
        grouped(b),
        counted(judged as u64, "cause")
    )
}

/// What became of a cause. It is never called better or worse.
fn change(row: &CauseComparison, causes: &CausesComparison) -> String {
    if let Some(side) = gone_from(row) {
        let untold = if side == 'A' { causes.a.untold() } else { causes.b.untold() };
        let none = if untold > 0 { "none seen" } else { "none" };
        let limit = match (row.ratio.low, row.ratio.high) {
            (None, None) => return format!("{none} on {side}; not judged"),
            _ => rates_in_words(&row.ratio, "times as often"),
        };
        return format!("{none} on {side}; too few runs to call that a change of the system ({limit})");
    }
    let words = match row.change {
        Change::More => "more often",
        Change::Less => "less often",
        Change::NotShown => "no change shown",
        Change::TooFew => return "too few to tell".to_owned(),
    };
    match row.ratio {
        // It is one of very many, and was not judged.
        RateRatio { low: None, high: None, .. } => words.to_owned(),
        ratio => format!("{words} ({})", rates_in_words(&ratio, "times as often")),
    }
}

/// Who made wakeups late, for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CausesRow<'a> {
    /// What was compared with the threshold.
    #[cfg_attr(test, schemars(with = "String"))]
    stage: Stage,
    /// The threshold.
    limit_ns: u64,
    a: CausesSideRow,
    b: CausesSideRow,
    /// Those first that changed, then those with most of the time.
    rows: Vec<CauseRow<'a>>,
}

/// How much of a side's lateness has evidence.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CausesSideRow {
    watched_ns: u64,
    late: u64,
    /// Episodes with whole evidence, from which all causes are.
    whole: u64,
}

/// A cause on both sides.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CauseRow<'a> {
    kind: &'static str,
    name: &'a str,
    a: CauseCountRow,
    b: CauseCountRow,
    /// How many times as often on B; null if A had none, or there are too few to tell.
    estimate: Option<f64>,
    /// The lower limit; null if there is none.
    low: Option<f64>,
    /// The upper limit; null if there is none.
    high: Option<f64>,
    /// How often it comes on B, compared with A: `more`, `less`, `not shown` or `too few`.
    change: &'static str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CauseCountRow {
    /// In how many episodes it had a part.
    episodes: u64,
    /// How much of them it had in all.
    total_ns: u64,
    episodes_per_hour: f64,
    ns_per_hour: f64,
}

impl<'a> CausesRow<'a> {
    pub(super) fn new(causes: &'a CausesComparison) -> CausesRow<'a> {
        let side =
            |side: &CausesOfSide| CausesSideRow { watched_ns: side.watched_ns, late: side.late, whole: side.whole };
        let count = |side: &CausesOfSide, count: CauseCount| CauseCountRow {
            episodes: count.episodes,
            total_ns: count.total_ns,
            episodes_per_hour: side.an_hour(count.episodes),
            ns_per_hour: side.an_hour(count.total_ns),
        };
        let row = |row: &'a CauseComparison| CauseRow {
            kind: row.cause.kind,
            name: &row.cause.who,
            a: count(&causes.a, row.a),
            b: count(&causes.b, row.b),
            estimate: row.ratio.estimate,
            low: row.ratio.low,
            high: row.ratio.high,
            change: row.change.name(),
        };
        CausesRow {
            stage: causes.stage,
            limit_ns: causes.threshold_ns,
            a: side(&causes.a),
            b: side(&causes.b),
            rows: causes.rows.iter().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_comparison::CauseName;

    fn row(kind: &'static str, a: u64, b: u64, limits: [Option<f64>; 3], change: Change) -> CauseComparison {
        let count = |episodes| CauseCount { episodes, total_ns: episodes * 1_000_000 };
        let [low, estimate, high] = limits;
        CauseComparison {
            cause: CauseName { kind, who: "indexer".to_owned() },
            a: count(a),
            b: count(b),
            ratio: RateRatio { low, estimate, high },
            change,
        }
    }

    #[test]
    fn a_change_is_never_called_better_or_worse_and_few_episodes_are_no_change() {
        let side = CausesOfSide { watched_ns: 36_000_000_000, late: 12, whole: 12 };
        let causes =
            CausesComparison { stage: Stage::Total, threshold_ns: 1_000_000, a: side, b: side, rows: Vec::new() };
        for (limits, found, expected) in [
            ([None, Some(0.0), Some(0.03)], Change::Less, "less often (at most 0.030 times as often)"),
            ([Some(3.1), None, None], Change::More, "more often (at least 3.10 times as often)"),
            (
                [Some(0.5), Some(1.1), Some(2.3)],
                Change::NotShown,
                "no change shown (1.10 times as often, 0.50 to 2.30)",
            ),
            ([None, Some(1.1), None], Change::NotShown, "no change shown"),
            ([None; 3], Change::TooFew, "too few to tell"),
        ] {
            assert_eq!(change(&row("irq", 9, 9, limits, found), &causes), expected);
        }
        // What is gone is called so, whether or not that is a change.
        let (limits, back) = ([None, Some(0.0), Some(1.28)], [Some(0.78), None, None]);
        for (a, b, limits, found, untold, expected) in [
            (132, 0, limits, Change::Less, 0, "less often (at most 1.28 times as often)"),
            (
                132,
                0,
                limits,
                Change::NotShown,
                0,
                "none on B; too few runs to call that a change of the system (at most 1.28 times as often)",
            ),
            (
                132,
                0,
                limits,
                Change::NotShown,
                3,
                "none seen on B; too few runs to call that a change of the system (at most 1.28 times as often)",
            ),
            (
                0,
                132,
                back,
                Change::NotShown,
                3,
                "none on A; too few runs to call that a change of the system (at least 0.78 times as often)",
            ),
            (9, 0, [None, Some(0.0), None], Change::NotShown, 0, "none on B; not judged"),
            (7, 0, [None; 3], Change::TooFew, 0, "too few to tell"),
        ] {
            let b_side = CausesOfSide { late: 12 + untold, ..side };
            let causes = CausesComparison { b: b_side, ..causes.clone() };
            assert_eq!(change(&row("lock", a, b, limits, found), &causes), expected);
        }
    }

    #[test]
    fn a_row_has_the_name_that_why_gives_the_kind_and_what_there_is_in_an_hour() {
        let side = CausesOfSide { watched_ns: 36_000_000_000, late: 12, whole: 11 };
        let found = row("lower_priority", 12, 0, [None; 3], Change::TooFew);
        assert_eq!(label(&found), "fair_turn");
        assert_eq!(an_hour(&side, found.a), "1,200 (1.20 s)");
        assert_eq!(an_hour(&side, found.b), "0");
        let of = |stage| CausesComparison { stage, threshold_ns: 1_000_000, a: side, b: side, rows: Vec::new() };
        assert_eq!(what(&of(Stage::Total)), "wakeups later than 1.00 ms");
        assert_eq!(what(&of(Stage::Request)), "requests slower than 1.00 ms");
        assert_eq!(
            without_evidence(&of(Stage::Total)).as_deref(),
            Some("1 on A and 1 on B are without evidence, which the limits allow for")
        );
        let all = CausesOfSide { whole: 12, ..side };
        assert_eq!(without_evidence(&CausesComparison { a: all, b: all, ..of(Stage::Total) }), None);
        let answer = serde_json::to_value(CausesRow::new(&CausesComparison { rows: vec![found], ..of(Stage::Total) }));
        let answer = answer.unwrap();
        assert_eq!((&answer["stage"], &answer["limit_ns"]), (&"total".into(), &1_000_000.into()), "{answer}");
        let row = &answer["rows"][0];
        assert_eq!((&row["kind"], &row["name"]), (&"lower_priority".into(), &"indexer".into()), "{answer}");
        assert_eq!(row["a"]["episodes_per_hour"].as_f64().map(f64::round), Some(1_200.0), "{answer}");
        assert_eq!((&row["change"], &answer["a"]["whole"]), (&"too few".into(), &11.into()), "{answer}");
    }
}
