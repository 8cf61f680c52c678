//! What a program's toolkit passed on to the program's own code, input by input and together.

use super::model::InteractReport;
use crate::encode::html::Block;
use crate::encode::html::table::{Column, Table, Value};
use crate::layout::{fitting, microseconds, table};
use punctual_recording::{
    Distribution, InputEvent, Interaction, ToolkitDocument, agreeing, counted, for_each_input_event, format_ns,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// How many events of an input JSON has.
const MAX_OF_INPUT: usize = 64;
/// How many sorts of events are told apart; a forged recording may have any number of names.
const MAX_SORTS: usize = 1_024;
/// How many sorts text shows; JSON and the page have all.
const SHOWN: usize = 16;

/// Events of one name.
struct Sort {
    events: u64,
    /// Inputs that had one.
    inputs: u64,
    last_input: Option<u32>,
    /// Those that no input caused.
    background: u64,
    /// From an input to the first of its events of this name.
    first: Distribution,
}

/// What toolkits passed on.
#[derive(Default)]
pub(super) struct Events {
    sorts: BTreeMap<(String, String), Sort>,
    of_inputs: BTreeMap<u32, Vec<InputEvent>>,
    /// Events that are in no row of JSON: there are too many of them, or for their input.
    not_told: u64,
}

impl Events {
    /// Reads those of a recording with these inputs, in order of their numbers; `told` says for which inputs they are kept.
    pub(super) fn read(
        recording: &Path,
        inputs: &[Interaction],
        told: impl Fn(u32) -> bool,
    ) -> punctual_recording::Result<Events> {
        let mut events = Events::default();
        let begin_ns = |number: u32| {
            let at = inputs.binary_search_by_key(&number, |input| input.number).ok()?;
            Some(inputs[at].begin_ns)
        };
        for_each_input_event(recording, |event| events.take(event, &begin_ns, &told))?;
        Ok(events)
    }

    fn take(&mut self, event: InputEvent, begin_ns: &dyn Fn(u32) -> Option<u64>, told: &dyn Fn(u32) -> bool) {
        let of = event.number.and_then(|number| Some((number, begin_ns(number)?)));
        let mut key = (event.toolkit.clone(), event.name.clone());
        if self.sorts.len() >= MAX_SORTS && !self.sorts.contains_key(&key) {
            key = (String::new(), "others".to_owned());
        }
        let none = || Sort { events: 0, inputs: 0, last_input: None, background: 0, first: Distribution::new() };
        let sort = self.sorts.entry(key).or_insert_with(none);
        sort.events += 1;
        let Some((number, begin_ns)) = of else {
            sort.background += 1;
            return;
        };
        if sort.last_input != Some(number) {
            sort.last_input = Some(number);
            sort.inputs += 1;
            sort.first.record(event.at_ns.saturating_sub(begin_ns));
        }
        let own = self.of_inputs.entry(number).or_default();
        if told(number) && own.len() < MAX_OF_INPUT {
            own.push(event);
        } else {
            self.not_told += 1;
        }
    }

    /// The events of an input, in order of time.
    pub(super) fn of(&self, number: u32) -> &[InputEvent] {
        self.of_inputs.get(&number).map_or(&[], Vec::as_slice)
    }

    /// All sorts, those with most events first.
    fn sorted(&self) -> Vec<(&(String, String), &Sort)> {
        let mut sorts: Vec<_> = self.sorts.iter().collect();
        sorts.sort_by_key(|(_, sort)| std::cmp::Reverse(sort.events));
        sorts
    }
}

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
    /// Events that are listed with no input here: an input has its first 64, and of more than 10,000 inputs only the longest have any.
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
    /// In how many processes it was watched; 0: it lacks the function, or the kernel refused.
    processes: u64,
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

/// What is missing from the events, in lines.
pub(super) fn warnings(report: &InteractReport<'_>) -> Vec<String> {
    let Some(summary) = &report.summary.toolkit else { return Vec::new() };
    let mut lines = Vec::new();
    if summary.libraries.is_empty() {
        lines.push("no toolkit was found in the program: none of its events have names".to_owned());
    }
    for absent in summary.libraries.iter().filter(|library| library.processes == 0) {
        let why = summary.refused.as_deref().unwrap_or("it does not offer that function");
        let (toolkit, function) = (&absent.toolkit, fitting(&absent.function, 60));
        lines.push(format!("events of {toolkit} are not seen by {function} of {}: {why}", absent.library));
    }
    for (count, what) in [
        (summary.lost, "overwritten before they could be read"),
        (summary.unnamed, "of a kind that could not be read"),
        (summary.not_kept, "more than a recording holds"),
    ] {
        if count > 0 {
            let of = agreeing(count, "event of a toolkit was", "events of toolkits were");
            lines.push(format!("{count} {of} {what}"));
        }
    }
    lines
}

/// Whose functions they were, and what the stops cost.
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
            // Of an input that is not there.
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
