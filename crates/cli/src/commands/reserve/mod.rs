//! `punctual reserve`.

mod alone;
mod applied;
mod find;
mod list;
mod phases;
mod run;
mod threads;
mod together;
mod undo;

use crate::args::reserve::{ReserveArguments, ReserveCommand};
use crate::output::Output;
use punctual_recording::{Document, Recording};
use std::path::Path;

pub(crate) fn run(arguments: &ReserveArguments, output: Output) -> anyhow::Result<u8> {
    match &arguments.command {
        Some(ReserveCommand::Run(held)) => run::run(held, output),
        Some(ReserveCommand::List) => list::run(output),
        Some(ReserveCommand::Undo) => undo::run(output),
        None if !arguments.find.phases.is_empty() => phases::run(&arguments.find, output),
        None if threads::are_asked(&arguments.find) => threads::run(&arguments.find, output),
        None => match together::asked(&arguments.find) {
            Some(devices) => together::run(&arguments.find, &devices, output),
            None => find::run(&arguments.find, output),
        },
    }
}

/// What a study below this directory recorded first: a page says by it where and when the study was made.
fn first_document(directory: &Path) -> Option<Document> {
    let folders = ["", "device-1", "thread-1", "phase-1"];
    let recordings = folders.into_iter().map(|folder| directory.join(folder).join("measured.punctual"));
    recordings.map(Recording::open).find_map(Result::ok).map(Recording::into_document)
}
