//! Events that a program's toolkit passed on, by name and by input.

use crate::layout::fitting;
use punctual_recording::{Distribution, InputEvent, Interaction, ToolkitDocument, agreeing, for_each_input_event};
use std::collections::BTreeMap;
use std::path::Path;

/// How many events of an input are in the JSON.
const MAX_OF_INPUT: usize = 64;
/// How many sorts of events are distinguished; a forged recording may have any number of names.
const MAX_SORTS: usize = 1_024;

/// Events of one name.
pub(super) struct Sort {
    pub(super) events: u64,
    /// Inputs that had one.
    pub(super) inputs: u64,
    last_input: Option<u32>,
    /// Those that no input caused.
    pub(super) background: u64,
    /// From an input to the first of its events of this name.
    pub(super) first: Distribution,
}

/// What toolkits passed on.
#[derive(Default)]
pub(super) struct Events {
    sorts: BTreeMap<(String, String), Sort>,
    of_inputs: BTreeMap<u32, Vec<InputEvent>>,
    /// Events that are in no row of the JSON, because there are too many, or too many for their input.
    pub(super) not_told: u64,
}

impl Events {
    /// Reads the events of a recording with these inputs, in order of their numbers; `told` says for which inputs they
    /// are kept.
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

    pub(super) fn take(
        &mut self,
        event: InputEvent,
        begin_ns: &dyn Fn(u32) -> Option<u64>,
        told: &dyn Fn(u32) -> bool,
    ) {
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

    /// Whether a toolkit passed anything on.
    fn has(&self, toolkit: &str) -> bool {
        self.sorts.keys().any(|(of, _)| of == toolkit)
    }

    /// All sorts, those with most events first.
    pub(super) fn sorted(&self) -> Vec<(&(String, String), &Sort)> {
        let mut sorts: Vec<_> = self.sorts.iter().collect();
        sorts.sort_by_key(|(_, sort)| std::cmp::Reverse(sort.events));
        sorts
    }
}

/// What is missing from the events, in lines.
pub(super) fn warnings(summary: Option<&ToolkitDocument>, events: &Events) -> Vec<String> {
    let Some(summary) = summary else { return Vec::new() };
    let mut lines = Vec::new();
    if summary.libraries.is_empty() {
        let unless = "unless one is linked into it";
        lines.push(format!("no toolkit was found in the program, {unless}: none of its events have names"));
    }
    for library in &summary.libraries {
        let (toolkit, function) = (&library.toolkit, fitting(&library.function, 60));
        if library.processes == 0 {
            let why = library.why.as_deref().or(summary.refused.as_deref());
            let why = why.unwrap_or("it does not offer that function");
            lines.push(format!("events of {toolkit} are not seen by {function} of {}: {why}", library.library));
        } else if !events.has(toolkit) {
            lines.push(format!(
                "no event of {toolkit} was seen by {function} of {}: whether it passed any on is not known",
                library.library
            ));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::ToolkitLibrary;

    #[test]
    fn a_toolkit_whose_events_are_not_seen_is_named_with_the_reason() {
        let library = |toolkit: &str, processes, why: Option<&str>| ToolkitLibrary {
            toolkit: toolkit.to_owned(),
            library: format!("lib{toolkit}.so"),
            function: "pass_on".to_owned(),
            processes,
            why: why.map(str::to_owned),
        };
        let libraries = vec![
            library("gtk3", 2, Some("it does not offer that function")),
            library("gtk4", 1, None),
            library("qt5", 0, Some("its file cannot be opened")),
            library("xt", 0, None),
        ];
        let summary = ToolkitDocument { libraries, stops: 9, ..ToolkitDocument::default() };
        let mut events = Events::default();
        let event =
            InputEvent { at_ns: 1, tid: 7, number: None, toolkit: "gtk3".to_owned(), name: "expose".to_owned() };
        events.take(event, &|_| None, &|_| true);
        let expected = [
            "no event of gtk4 was seen by pass_on of libgtk4.so: whether it passed any on is not known",
            "events of qt5 are not seen by pass_on of libqt5.so: its file cannot be opened",
            "events of xt are not seen by pass_on of libxt.so: it does not offer that function",
        ];
        assert_eq!(warnings(Some(&summary), &events), expected);
        let none = warnings(Some(&ToolkitDocument::default()), &events);
        assert_eq!(none.len(), 1, "{none:?}");
        assert!(none[0].contains("no toolkit was found in the program, unless one is linked into it"), "{none:?}");
        assert!(warnings(None, &events).is_empty());
    }
}
