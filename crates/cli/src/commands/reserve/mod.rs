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
use punctual_study::reserve::ReservePlan;
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

/// What was added while settings were tried: the competitors by name, and the load. Empty if nothing was.
fn added(competitors: &[String], plan: &ReservePlan) -> String {
    let load = (!plan.load.is_none()).then_some(&plan.load.name);
    competitors.iter().chain(load).map(String::as_str).collect::<Vec<&str>>().join(" and ")
}

/// What a study below this directory recorded first: a page says by it where and when the study was made.
fn first_document(directory: &Path) -> Option<Document> {
    let folders = ["", "device-1", "thread-1", "phase-1"];
    let recordings = folders.into_iter().map(|folder| directory.join(folder).join("measured.punctual"));
    recordings.map(Recording::open).find_map(Result::ok).map(Recording::into_document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser as _;
    use punctual_study::reserve::Subject;

    #[test]
    fn competitors_and_loads_are_what_was_added() {
        for (options, says) in [
            ("", ""),
            (" --competitor spin:other", "spin:normal"),
            (" --load-command make", "make"),
            (" --competitor walk --competitor spin:50 --load-command make", "walk and spin:50 and make"),
        ] {
            let line = format!("punctual reserve v90{options}");
            let parsed = Arguments::try_parse_from(line.split(' ')).unwrap_or_else(|error| panic!("{line}: {error}"));
            let Command::Reserve(asked) = parsed.command else { panic!("{line}: another command") };
            let competitors: Vec<String> = asked.find.competitor.iter().map(ToString::to_string).collect();
            let plan = find::plan(&asked.find, Subject::Process(1)).unwrap();
            assert_eq!(added(&competitors, &plan), says, "{line}");
        }
    }
}
