//! What a program's toolkit passed on to the program's own code, input by input and together.

use super::events::Sort;
use super::model::InteractReport;
use crate::encode::html::Block;
use crate::encode::html::table::{Column, Table, Value};
use crate::layout::{fitting, microseconds, table};
use punctual_recording::{InputEvent, Interaction, ToolkitDocument, counted, format_ns};
use serde::Serialize;
use std::fmt::Write as _;

/// How many sorts text shows; JSON and the page have all.
const SHOWN: usize = 16;

/// An event that a toolkit passed on because of an input.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct EventRow<'a> {
    /// From the beginning of the input, ns.
    at_ns: u64,
    toolkit: &'a str,
    event: &'a str,
    tid: u32,
}

/// The events of an input; `None` if nobody looked for events.
pub(super) fn rows_of<'a>(report: &'a InteractReport<'_>, input: &Interaction) -> Option<Vec<EventRow<'a>>> {
    report.summary.toolkit.as_ref()?;
    let row = |event: &'a InputEvent| EventRow {
        at_ns: event.at_ns.saturating_sub(input.begin_ns),
        toolkit: &event.toolkit,
        event: &event.name,
        tid: event.tid,
    };
    Some(report.events.of(input.number).iter().map(row).collect())
}

/// Events of toolkits as a whole.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ToolkitRow<'a> {
    libraries: Vec<LibraryRow<'a>>,
    events: Vec<SortRow<'a>>,
    /// Events that are listed with no input here: an input has its first 64, and of more than 10,000 inputs only the
    /// longest have any.
    not_told: u64,
    /// How often the program was stopped, and what a stop costs it, measured on another function.
    stops: u64,
    stop_ns: u64,
    lost: u64,
    unnamed: u64,
    not_kept: u64,
    refused: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LibraryRow<'a> {
    toolkit: &'a str,
    library: &'a str,
    function: &'a str,
    /// In how many processes it was watched.
    processes: u64,
    /// Why it was not watched in one: it lacks the function, its file is gone, or the kernel refused.
    why: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SortRow<'a> {
    toolkit: &'a str,
    event: &'a str,
    count: u64,
    inputs: u64,
    background: u64,
    /// From an input to its first event of this name.
    p50_ns: Option<u64>,
    max_ns: Option<u64>,
}

/// The events of the whole recording; `None` if nobody looked for events.
pub(super) fn row<'a>(report: &'a InteractReport<'_>) -> Option<ToolkitRow<'a>> {
    let summary = report.summary.toolkit.as_ref()?;
    let libraries = summary.libraries.iter().map(|one| LibraryRow {
        toolkit: &one.toolkit,
        library: &one.library,
        function: &one.function,
        processes: one.processes,
        why: one.why.as_deref(),
    });
    let sort = |((toolkit, event), sort): (&'a (String, String), &'a Sort)| SortRow {
        toolkit,
        event,
        count: sort.events,
        inputs: sort.inputs,
        background: sort.background,
        p50_ns: sort.first.quantile(0.5),
        max_ns: sort.first.max(),
    };
    Some(ToolkitRow {
        libraries: libraries.collect(),
        events: report.events.sorted().into_iter().map(sort).collect(),
        not_told: report.events.not_told,
        stops: summary.stops,
        stop_ns: summary.stop_ns,
        lost: summary.lost,
        unnamed: summary.unnamed,
        not_kept: summary.not_kept,
        refused: summary.refused.as_deref(),
    })
}

/// Whose functions they were, and how much the stops cost.
fn cost_in_words(summary: &ToolkitDocument) -> String {
    let cost = summary.stops.saturating_mul(summary.stop_ns);
    format!(
        "the program was stopped {} for this, {} each on a function of punctual's own: {} of its CPU time",
        counted(summary.stops, "time"),
        format_ns(summary.stop_ns),
        format_ns(cost)
    )
}

fn cells(((toolkit, event), sort): &(&(String, String), &Sort)) -> [String; 6] {
    [
        fitting(&format!("{toolkit} {event}"), 44),
        sort.events.to_string(),
        sort.inputs.to_string(),
        sort.background.to_string(),
        microseconds(sort.first.quantile(0.5)),
        microseconds(sort.first.max()),
    ]
}

/// The events as text.
pub(super) fn events(text: &mut String, report: &InteractReport<'_>) {
    let Some(summary) = &report.summary.toolkit else { return };
    let sorts = report.events.sorted();
    if !sorts.is_empty() {
        let header = ["passed on by toolkits", "events", "inputs", "of no input", "p50 us", "max us"];
        let rows = sorts.iter().take(SHOWN).map(|sort| cells(sort).to_vec());
        let _ = writeln!(text, "\n{}", table(&header, 1..6, rows));
        if sorts.len() > SHOWN {
            let _ =
                writeln!(text, "and {} more, in JSON and on the page", counted((sorts.len() - SHOWN) as u64, "name"));
        }
        let _ = writeln!(text, "us from an input to the first event of that name because of it");
    }
    let _ = writeln!(text, "{}", cost_in_words(summary));
}

/// The events on the page.
pub(super) fn events_blocks(report: &InteractReport<'_>) -> Option<Vec<Block>> {
    let summary = report.summary.toolkit.as_ref()?;
    let rows = report.events.sorted().into_iter().map(|((toolkit, event), sort)| {
        vec![
            Value::text(format!("{toolkit} {event}")),
            Value::Count(Some(sort.events)),
            Value::Count(Some(sort.inputs)),
            Value::Count(Some(sort.background)),
            Value::Ns(sort.first.quantile(0.5)),
            Value::Ns(sort.first.max()),
        ]
    });
    let numbers = ["events", "inputs", "of no input", "p50 us", "max us"];
    let table = Table {
        caption: "Events by name".into(),
        columns: [Column::words("event")].into_iter().chain(numbers.map(Column::numbers)).collect(),
        rows: rows.collect(),
    };
    let mut words = cost_in_words(summary);
    words[..1].make_ascii_uppercase();
    let mut blocks = vec![Block::Text(format!("{words}."))];
    if !table.rows.is_empty() {
        blocks.insert(0, Block::Table(table));
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::super::events::Events;
    use super::*;

    #[test]
    fn events_are_counted_by_name_and_told_by_input() {
        let mut events = Events::default();
        let event = |number: Option<u32>, at_ns, name: &str| InputEvent {
            at_ns,
            tid: 7,
            number,
            toolkit: "gtk3".to_owned(),
            name: name.to_owned(),
        };
        let begin_ns = |number: u32| (number < 10).then_some(1_000 * u64::from(number));
        let all = [
            event(Some(1), 1_300, "key_press"),
            event(Some(1), 1_400, "expose"),
            event(Some(1), 1_500, "expose"),
            event(Some(2), 2_100, "key_press"),
            event(None, 2_200, "expose"),
            // An event of an input that is not there.
            event(Some(99), 2_300, "expose"),
            event(Some(5), 5_100, "expose"),
        ];
        all.into_iter().for_each(|event| events.take(event, &begin_ns, &|number| number < 3));
        let cells: Vec<[String; 6]> = events.sorted().iter().map(cells).collect();
        assert_eq!(cells[0], ["gtk3 expose", "5", "2", "2", "0.1", "0.4"].map(str::to_owned));
        assert_eq!(cells[1], ["gtk3 key_press", "2", "2", "0", "0.1", "0.3"].map(str::to_owned));
        assert_eq!((events.of(1).len(), events.of(5).len(), events.not_told), (3, 0, 1));
    }
}
