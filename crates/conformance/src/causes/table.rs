//! The results of all causes, as tables.

use super::cause::Cause;
use super::examine::Examined;
use super::judge::{Tally, WrongName};
use serde::Serialize;
use std::fmt::Write;

const BEGIN: &str = "<!-- causes: begin -->";
const END: &str = "<!-- causes: end -->";

const COLUMNS: [&str; 11] =
    ["kept", "met", "right", "within", "no name", "WRONG", "unknown", "reason", "not found", "void", "steal"];

fn numbers(tally: &Tally) -> [u64; 11] {
    [
        tally.kept,
        tally.met,
        tally.right,
        tally.within,
        tally.nameless,
        tally.wrong,
        tally.unknown,
        tally.false_reason,
        tally.not_found,
        tally.void,
        tally.steal,
    ]
}

/// The heading of the text table.
#[must_use]
pub fn heading() -> String {
    let mut line = format!("{:<26}", "cause");
    for column in COLUMNS {
        let _ = write!(line, " {column:>9}");
    }
    line + "  said most"
}

/// One line of the text table.
#[must_use]
pub fn text(cause: &Cause, examined: &Examined) -> String {
    let mut line = format!("{:<26}", cause.name);
    match examined {
        Examined::Told(tally) => {
            for number in numbers(tally) {
                let _ = write!(line, " {number:>9}");
            }
            let _ = write!(line, "  {}", tally.most());
            for WrongName { place, kept_ns, said } in &tally.wrong_names {
                let (run, episode, us) = (place.run, place.episode, kept_ns / 1_000);
                let _ = write!(line, "\n  wrong, of {us} us, in run {run}, episode {episode}: {said}");
            }
        }
        Examined::Skipped(reason) => {
            let _ = write!(line, " SKIPPED: {reason}");
        }
        Examined::Failed(reason) => {
            let _ = write!(line, " FAILED: {reason}");
        }
    }
    line
}

/// The table for the documentation.
#[must_use]
pub fn markdown(results: &[(&Cause, Examined)]) -> String {
    let mut table = String::from("| cause | what happens | stage |");
    for column in COLUMNS {
        let _ = write!(table, " {} |", column.to_lowercase());
    }
    table.push_str("\n|---|---|---|");
    table.push_str(&"--:|".repeat(COLUMNS.len()));
    for (cause, examined) in results {
        let _ = write!(table, "\n| `{}` | {} | {} |", cause.name, cause.what, cause.stage.name());
        match examined {
            Examined::Told(tally) => {
                for number in numbers(tally) {
                    let _ = write!(table, " {number} |");
                }
            }
            Examined::Skipped(reason) | Examined::Failed(reason) => {
                let _ = write!(table, " {} |{}", reason.replace('|', "/"), " |".repeat(COLUMNS.len() - 1));
            }
        }
    }
    table.push('\n');
    table
}

/// A document with the table between its markers; none if it has no markers.
#[must_use]
pub fn rewrite(document: &str, table: &str) -> Option<String> {
    let begin = document.find(BEGIN)? + BEGIN.len();
    let end = begin + document[begin..].find(END)?;
    Some(format!("{}\n\n{table}\n{}", &document[..begin], &document[end..]))
}

/// A cause and what was said about it.
#[derive(Serialize)]
struct Row<'a> {
    cause: &'a str,
    what: &'a str,
    stage: &'a str,
    set: &'a str,
    own: bool,
    tally: Option<&'a Tally>,
    skipped: Option<&'a str>,
    failed: Option<&'a str>,
}

#[derive(Serialize)]
struct Rows<'a> {
    causes: Vec<Row<'a>>,
}

impl<'a> Row<'a> {
    fn new((cause, examined): &'a (&Cause, Examined)) -> Row<'a> {
        let (tally, skipped, failed) = match examined {
            Examined::Told(tally) => (Some(tally), None, None),
            Examined::Skipped(reason) => (None, Some(reason.as_str()), None),
            Examined::Failed(reason) => (None, None, Some(reason.as_str())),
        };
        Row {
            cause: cause.name,
            what: cause.what,
            stage: cause.stage.name(),
            set: cause.set.name(),
            own: cause.own,
            tally,
            skipped,
            failed,
        }
    }
}

/// All of it as one JSON object.
#[must_use]
pub fn json(results: &[(&Cause, Examined)]) -> String {
    serde_json::to_string(&Rows { causes: results.iter().map(Row::new).collect() }).unwrap_or_default()
}
