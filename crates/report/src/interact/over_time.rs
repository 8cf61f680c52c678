//! Waiting and thinking over time, in words, as a picture and as rows: until inputs are seen, and by the state machine of
//! 1996, side by side.

use super::model::InteractReport;
use super::think_wait::{Agreement, OverTime, Stretches, common, length};
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Cell, Drawing, Heat, Subject};
use punctual_recording::format_ns;
use serde::Serialize;

/// Columns of the picture are no narrower than this, ns, and no more than this many.
const NARROWEST_NS: u64 = 20_000_000;
const MAX_COLUMNS: u64 = 240;

/// How much of each column is waiting.
fn picture(over_time: &OverTime) -> Heat {
    let lasted_ns = (over_time.to_ns - over_time.from_ns).max(1);
    let column_ns = lasted_ns.div_ceil(MAX_COLUMNS).max(NARROWEST_NS);
    let columns = lasted_ns.div_ceil(column_ns);
    let mut cells = Vec::new();
    for column in 0..columns {
        let from_ns = over_time.from_ns + column * column_ns;
        let to_ns = from_ns + column_ns;
        for (row, stretches) in [&over_time.until_seen, &over_time.machine].into_iter().enumerate() {
            let first = stretches.partition_point(|stretch| stretch.1 <= from_ns);
            let after = stretches.partition_point(|stretch| stretch.0 < to_ns);
            let here = stretches.get(first..after).unwrap_or_default();
            let taken_ns = length(&common(here, &[(from_ns, to_ns)]));
            if taken_ns > 0 {
                cells.extend([column, row as u64, taken_ns]);
            }
        }
    }
    let mut heat = [Heat {
        of: Subject::Inputs,
        column_ns,
        columns: columns as usize,
        // A narrow page has no room for more.
        names: ["until seen", "1996"].map(str::to_owned).to_vec(),
        bounds_ns: Vec::new(),
        value: Cell::TakenNs,
        range: [0, 0],
        cells,
    }];
    Heat::share_colours(&mut heat);
    let [heat] = heat;
    heat
}

/// Both in a line: how long they agree, and how long they do not.
pub(super) fn agreement_in_words(report: &InteractReport<'_>) -> Option<String> {
    let over_time = report.over_time.as_ref()?;
    let told = over_time.agreement();
    let mut words = format!(
        "of all {}, both call {} waiting and {} thinking; {} is waiting only until inputs are seen, {} only to the machine",
        format_ns(over_time.to_ns - over_time.from_ns),
        format_ns(told.both_wait_ns),
        format_ns(told.both_think_ns),
        format_ns(told.only_until_seen_ns),
        format_ns(told.only_machine_1996_ns)
    );
    if told.not_known_ns > 0 {
        words += &format!("; what the machine says is not known for {}", format_ns(told.not_known_ns));
    }
    Some(words)
}

/// Both over time as a picture, and how long they agree.
pub(super) fn over_time_blocks(report: &InteractReport<'_>) -> Vec<Block> {
    let Some(over_time) = &report.over_time else { return Vec::new() };
    let told = over_time.agreement();
    let heat = picture(over_time);
    let caption = format!(
        "A cell is {} long; the stronger its colour, the more of it is waiting: above until inputs are seen, below to the \
         machine of 1996.",
        format_ns(heat.column_ns)
    );
    let row = |name: &str, ns: u64| vec![Value::text(name), Value::Ns(Some(ns))];
    let rows = vec![
        row("both: waiting", told.both_wait_ns),
        row("until seen: waiting; the machine of 1996: thinking", told.only_until_seen_ns),
        row("until seen: thinking; the machine of 1996: waiting", told.only_machine_1996_ns),
        row("both: thinking", told.both_think_ns),
        row("the machine of 1996: not known", told.not_known_ns),
    ];
    vec![
        Block::picture("think-wait", "Waiting over time, by both.", &caption, Drawing::Heat(heat)),
        Block::Table(Table {
            caption: "Waiting and thinking, by both".into(),
            columns: vec![Column::words("what they say"), Column::numbers("us")],
            rows,
        }),
    ]
}

/// Both over time. Times are ns from the beginning of the recording.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct OverTimeRow {
    /// When the first input came.
    from_ns: u64,
    /// When the time of the last one ended.
    to_ns: u64,
    #[serde(flatten)]
    agreement: Agreement,
    /// When somebody waits until an input is seen; in between, somebody thinks.
    until_seen: Vec<StretchRow>,
    /// When the machine of 1996 has somebody wait; in between, it has somebody think.
    machine_1996: Vec<StretchRow>,
    /// When what that machine says is not known.
    not_known: Vec<StretchRow>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StretchRow {
    from_ns: u64,
    to_ns: u64,
}

impl OverTimeRow {
    /// `None` if nothing is known of the machine of 1996.
    pub(super) fn new(report: &InteractReport<'_>) -> Option<OverTimeRow> {
        let over_time = report.over_time.as_ref()?;
        let since = |ns: u64| report.since_start(ns);
        let rows = |stretches: &Stretches| {
            stretches.iter().map(|&(from, to)| StretchRow { from_ns: since(from), to_ns: since(to) }).collect()
        };
        Some(OverTimeRow {
            from_ns: since(over_time.from_ns),
            to_ns: since(over_time.to_ns),
            agreement: over_time.agreement(),
            until_seen: rows(&over_time.until_seen),
            machine_1996: rows(&over_time.machine),
            not_known: rows(&over_time.not_known),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_has_a_row_for_each_of_both() {
        let over_time = OverTime {
            from_ns: 1_000,
            to_ns: 1_000 + 3 * NARROWEST_NS,
            until_seen: vec![(1_000, 1_000 + NARROWEST_NS + 5)],
            machine: vec![(1_000 + NARROWEST_NS, 1_000 + NARROWEST_NS + 7)],
            not_known: Vec::new(),
        };
        let heat = picture(&over_time);
        assert_eq!((heat.columns, heat.column_ns, heat.names.len()), (3, NARROWEST_NS, 2));
        assert_eq!(heat.cells, [0, 0, NARROWEST_NS, 1, 0, 5, 1, 1, 7]);
        assert_eq!(heat.range, [5, NARROWEST_NS]);
    }
}
