//! Events that a program's toolkit passed on to the program's own code: the table `interaction_events/`, and a summary
//! of them.

use crate::error::Result;
use crate::format::bounded::{Bounded, BoundedWriter};
use crate::format::bounds::MAX_TIME_NS;
use crate::format::directory::Directory;
use crate::format::table::{Schema, optional, required, signed, text};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The most events of a recording.
pub const MAX_INPUT_EVENTS: usize = 200_000;

static EVENTS: Schema = Schema {
    name: "interaction_events",
    columns: &[
        required("at_ns").about("When the toolkit passed it on, ns of CLOCK_MONOTONIC"),
        required("tid").about("The thread"),
        optional("number").about("The input that the thread was working on; absent: none"),
        text("toolkit").about("The toolkit: gtk3, qt5, xt, wayland, ..."),
        text("event").about("What it calls the event"),
    ],
};
static TABLE: Bounded =
    Bounded { schema: &EVENTS, max_rows: MAX_INPUT_EVENTS, what: "events", bounds: &[MAX_TIME_NS, u32::MAX as u64] };

/// An event that a toolkit passed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputEvent {
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The thread.
    pub tid: u32,
    /// The input that the thread was working on: [`crate::Interaction::number`]. `None` if there was none.
    pub number: Option<u32>,
    /// The toolkit.
    pub toolkit: String,
    /// The toolkit's name for it.
    pub name: String,
}

/// A toolkit's library in the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolkitLibrary {
    /// The toolkit.
    pub toolkit: String,
    /// The file, as the program sees it.
    pub library: String,
    /// The function that receives the events.
    pub function: String,
    /// In how many processes it was watched.
    pub processes: u64,
    /// Why it was not watched in one: it lacks the function, its file is gone, or the kernel refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A summary of all events of toolkits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolkitDocument {
    /// The libraries that the program had.
    pub libraries: Vec<ToolkitLibrary>,
    /// How often the program was stopped to see them.
    pub stops: u64,
    /// What a stop costs the program, ns, as measured on another function.
    pub stop_ns: u64,
    /// Events that were overwritten before they could be read.
    pub lost: u64,
    /// Events whose kind could not be read.
    pub unnamed: u64,
    /// Events beyond [`MAX_INPUT_EVENTS`].
    pub not_kept: u64,
    /// What the kernel refused last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Writes the table.
pub(crate) struct EventWriter(BoundedWriter);

impl EventWriter {
    pub(crate) fn new(recording: &Directory) -> EventWriter {
        EventWriter(BoundedWriter::new(recording, &TABLE))
    }

    /// Takes an event; false if there are too many.
    pub(crate) fn push(&mut self, event: &InputEvent) -> bool {
        let Some(rows) = self.0.rows_for(1) else { return false };
        let [toolkit, name] = [&event.toolkit, &event.name].map(|words| Some(rows.text(words)));
        let number = event.number.map(i64::from);
        rows.push([signed(event.at_ns), Some(i64::from(event.tid)), number, toolkit, name]);
        true
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

/// Passes on every event of a recording, by time; at most [`MAX_INPUT_EVENTS`].
///
/// # Errors
/// [`ErrorKind::Invalid`] or [`ErrorKind::Io`] for the first segment that cannot be read.
///
/// [`ErrorKind::Invalid`]: crate::ErrorKind::Invalid
/// [`ErrorKind::Io`]: crate::ErrorKind::Io
pub fn for_each_input_event(recording: &Path, mut take: impl FnMut(InputEvent)) -> Result<()> {
    TABLE.for_each_row(recording, |rows, row| {
        take(InputEvent {
            at_ns: rows.unsigned(0, row),
            tid: rows.narrow(1, row),
            number: rows.get_optional(2, row).and_then(|number| u32::try_from(number).ok()),
            toolkit: rows.get_text(3, row).to_owned(),
            name: rows.get_text(4, row).to_owned(),
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_are_written_are_read_and_no_more_than_there_may_be() {
        let directory = tempfile::tempdir().unwrap();
        let read = || {
            let mut read = Vec::new();
            for_each_input_event(directory.path(), |event| read.push(event)).map(|()| read)
        };
        assert_eq!(read().unwrap(), [], "a recording without events has none");
        let mut writer = EventWriter::new(&Directory::make(directory.path()).unwrap());
        let event = |at: usize| InputEvent {
            at_ns: at as u64 * 1_000,
            tid: 7,
            number: (!at.is_multiple_of(3)).then_some(at as u32 / 2),
            toolkit: "gtk3".to_owned(),
            name: ["key_press", "expose"][at % 2].to_owned(),
        };
        for at in 0..MAX_INPUT_EVENTS {
            assert!(writer.push(&event(at)));
            if at == 100 {
                writer.flush().unwrap();
            }
        }
        assert!(!writer.push(&event(0)), "it is full");
        writer.finish().unwrap();
        let read = read().unwrap();
        assert_eq!(read.len(), MAX_INPUT_EVENTS);
        assert!(read.iter().enumerate().all(|(at, read)| *read == event(at)));
    }
}
