//! Sides whose recordings were made under several loads, as `punctual check` makes them: idle and loaded runs are not repeats of
//! one measurement.

use super::Opened;
use crate::output::Usage;
use punctual_recording::printable_path;
use punctual_report::{load_words, shell_word};
use std::collections::BTreeSet;

/// Refuses sides that mix loads which could be compared by themselves, with the commands that do so.
pub(super) fn refuse_mixed(opened: &[Opened]) -> Result<(), Usage> {
    let loads: Vec<BTreeSet<&str>> = opened.iter().map(|side| loads_of(side).collect()).collect();
    let Some((mixed, own)) = opened.iter().zip(&loads).find(|(_, loads)| loads.len() > 1) else { return Ok(()) };
    let common = own.iter().filter(|load| loads.iter().all(|other| other.contains(*load)));
    let commands: Vec<String> = common
        .map(|load| {
            let sides: Vec<String> = opened.iter().map(|side| under(side, load)).collect();
            format!("`punctual compare {}`", sides.join(" "))
        })
        .collect();
    // Sides without a load in common can only be compared as they are; a note says that their runs differ.
    if commands.is_empty() {
        return Ok(());
    }
    let own: Vec<&str> = own.iter().copied().map(load_words).collect();
    Err(Usage(format!(
        "{} has recordings under different loads ({}), which are not runs of one measurement: compare each load by itself: {}",
        mixed.side.name,
        own.join(", "),
        commands.join(" and ")
    )))
}

fn loads_of(opened: &Opened) -> impl Iterator<Item = &str> {
    opened.side.runs.iter().map(|run| run.document.provenance.load.name_or_none())
}

/// A side's recordings under a load, as the command line takes them.
fn under(opened: &Opened, load: &str) -> String {
    let own = opened.paths.iter().zip(loads_of(opened)).filter(|(_, other)| *other == load);
    let paths: Vec<String> = own.map(|(path, _)| printable_path(path)).collect();
    shell_word(&paths.join(","))
}
