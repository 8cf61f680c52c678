//! How often cycles took too long, requests were slow and devices had underruns on either side: a table, rows.

use super::words::{factor, outcome, rates_in_words};
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Section};
use crate::layout::{grouped, table};
use punctual_comparison::{Comparison, CountComparison, Counted, EventCount, Standing, Untold};
use punctual_recording::{counted, format_ns, printable, range_in_words};
use serde::Serialize;

/// What could not be counted on one side.
const NOT_COUNTABLE: &str = "not countable";

/// Whether requests are compared by the share of them that was slow.
pub(crate) fn is_share(row: &CountComparison) -> bool {
    row.a.watched_ns.is_some() && row.b.watched_ns.is_some()
}

/// What B is, as the table says it.
pub(crate) fn is_what(row: &CountComparison, standing: Standing) -> &'static str {
    if !row.is_countable() {
        return NOT_COUNTABLE;
    }
    if row.differs_without_a_verdict(standing) { "too few runs" } else { row.outcome.name() }
}

pub(crate) fn what(counted: &Counted) -> String {
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
pub(crate) fn side(row: &CountComparison, count: &EventCount) -> String {
    if count.exposure == 0 {
        return NOT_COUNTABLE.to_owned();
    }
    let events = range_in_words(count.least, count.events, count.may_be_more);
    let is_in_time =
        matches!(row.what, Counted::Requests { .. }) && count.watched_ns.is_none() && all_of(count).is_none();
    let preposition = if is_in_time { "in" } else { "of" };
    let counts = format!("{events} {preposition} {}", out_of(row, count));
    let percent = count.events as f64 / count.exposure as f64 * 100.0;
    match count.watched_ns.filter(|watched_ns| *watched_ns > 0 && count.events > 0) {
        Some(_) if count.least < count.events => format!("at most {} % ({counts})", factor(percent)),
        Some(watched_ns) => {
            let a_second = count.events as f64 / (watched_ns as f64 / 1e9);
            format!("{} % ({counts}, {} a second)", factor(percent), factor(a_second))
        }
        None => counts,
    }
}

pub(crate) fn out_of(row: &CountComparison, count: &EventCount) -> String {
    match (&row.what, count.watched_ns) {
        (Counted::Cycles { .. } | Counted::Periods { .. }, _) => {
            let at_least = if count.may_be_more_exposure { "at least " } else { "" };
            format!("{at_least}{}", grouped(count.exposure))
        }
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
pub(crate) fn times(row: &CountComparison) -> &'static str {
    if is_share(row) { "times the share" } else { "times as often" }
}

/// How many times as often on B, or as large a share, with limits.
pub(crate) fn times_as_often(row: &CountComparison) -> String {
    let is_limited = row.ratio.low.is_some() || row.ratio.high.is_some();
    match row.ratio.estimate.filter(|_| !is_limited && (row.a.may_be_more || row.b.may_be_more)) {
        Some(estimate) => format!("{} {} in what was seen", factor(estimate), times(row)),
        None => rates_in_words(&row.ratio, times(row)),
    }
}

/// The table of what was counted.
pub(super) fn counts_table(comparison: &Comparison) -> String {
    // Words, not numbers, which never wrap: on 80 columns each would have a table of its own.
    table(&["", "A", "B", "B is"], 0..0, counts_cells(comparison).map(Vec::from))
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
        let is_what = is_what(row, comparison.standing);
        let verdict = if is_what == row.outcome.name() { outcome(row.outcome) } else { Value::text(is_what) };
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
pub(crate) struct CountRow<'a> {
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
    /// How many took longer, were overrun, or were underruns; at most, by what was seen, where `least` is less.
    events: u64,
    /// How many certainly did, if some wakeups were not seen, nothing shows whether the loop catches up, or it is not known how
    /// long some requests took.
    least: u64,
    /// Whether others may have that were not seen: behind wakeups that nobody saw, within a stretch that may hold any number of
    /// cycles, or as the work of threads that never slept.
    may_be_more: bool,
    /// Threads that the loop may have started and that never slept: what they did may have taken too long; null for others than
    /// loops.
    without_sleep: Option<u64>,
    /// Runs at the end of which the loop was not seen to go on for ten periods or more: it may have hung; null for others than loops.
    hung_runs: Option<u64>,
    /// Out of how many cycles; null for others.
    cycles: Option<u64>,
    /// Whether these may have been more: wakeups were not seen, or a stretch may hold cycles that the loop made up for.
    may_be_more_cycles: bool,
    /// Out of how many periods; null for others.
    periods: Option<u64>,
    /// In how much time; null for others than requests.
    watched_ns: Option<u64>,
    /// Out of how many blocks; null for others than underruns.
    blocks: Option<u64>,
    /// Out of how many requests; null if they were not counted, and for others.
    requests: Option<u64>,
    /// Why there is no rate of requests: `none recognised` in a run, or `mostly unknown`, where it is not known of more than half of
    /// those in a run how long they took; null if there is one, and for others.
    untold: Option<&'static str>,
}

impl<'a> CountRow<'a> {
    pub(crate) fn new(row: &'a CountComparison) -> CountRow<'a> {
        let (kind, name, limit_ns) = match &row.what {
            Counted::Cycles { of, period_ns } => ("cycles", Some(of.as_str()), Some(*period_ns)),
            Counted::Periods { of, period_ns } => ("periods", Some(of.as_str()), Some(*period_ns)),
            Counted::Requests { threshold_ns } => ("requests", None, Some(*threshold_ns)),
            Counted::Underruns { of } => ("underruns", Some(of.as_str()), None),
        };
        let side = |count: &EventCount| {
            let of = |own: &str| (kind == own).then_some(count.exposure);
            let of_loop = |value: u64| matches!(kind, "cycles" | "periods").then_some(value);
            SideCountRow {
                events: count.events,
                least: count.least,
                may_be_more: count.may_be_more,
                without_sleep: of_loop(count.without_sleep),
                hung_runs: of_loop(count.hung_runs),
                cycles: of("cycles"),
                may_be_more_cycles: count.may_be_more_exposure,
                periods: of("periods"),
                watched_ns: count.watched_ns.or_else(|| of("requests")),
                blocks: of("underruns"),
                requests: count.all,
                untold: count.untold.map(Untold::name),
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
            verdict: if row.is_countable() { row.outcome.name() } else { NOT_COUNTABLE },
            per,
        }
    }
}
