//! `punctual schedulability`.

use crate::args::SchedulabilityArguments;
use crate::output::{self, Output, Usage};
use anyhow::Context;
use punctual_forecast::Input;
use punctual_forecast::schedulability::{Standing, TaskSet, analyse};
use punctual_recording::{NO_LOAD, Stage, printable_path};
use punctual_report::{load_words, shell_word};
use std::collections::BTreeSet;
use std::path::Path;

pub(crate) fn run(arguments: &SchedulabilityArguments, output: Output) -> anyhow::Result<u8> {
    let path = &arguments.tasks;
    let text = super::read_text(path)?;
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let set = if is_json { TaskSet::parse_rt_app(&text) } else { TaskSet::parse_toml(&text) };
    let set = set.with_context(|| path.display().to_string())?;
    let inputs = match &arguments.latency {
        Some(recording) => under_one_load(recording)?,
        None => Vec::new(),
    };
    let analysis = analyse(&set, inputs.first().map(|input| (input, Stage::Total)))?;
    // A deadline in a task set is a limit set by the user. On average is not enough for it: a latency makes a task miss it.
    let exit_code = match analysis.standing {
        Standing::NotSchedulable | Standing::OnAverage => 2,
        Standing::Schedulable | Standing::Unknown => 0,
    };
    if output.json {
        output::answer(punctual_report::schedulability::SchedulabilityAnswer::new(&analysis), exit_code);
    } else {
        output::print_text(&punctual_report::schedulability::text(&analysis));
    }
    Ok(exit_code)
}

/// What a recording holds, or a directory of them, if all were made under one load: which of several the tasks will meet, only the
/// user knows.
fn under_one_load(recording: &Path) -> anyhow::Result<Vec<Input>> {
    let inputs = super::forecast::inputs(&[recording.to_owned()])?;
    let loads: BTreeSet<&str> = inputs.iter().map(|input| load_words(&input.load)).collect();
    if loads.len() > 1 {
        let (path, loads) = (printable_path(recording), loads.into_iter().collect::<Vec<_>>().join(", "));
        let example = loaded_example(recording)?.unwrap_or_default();
        return Err(Usage(format!(
            "{path} holds recordings under several loads ({loads}): name the one whose latency the tasks will meet{example}"
        ))
        .into());
    }
    Ok(inputs)
}

/// The option that takes the first of a directory's recordings that was made under a load, to follow a sentence; `None` if
/// there is none.
fn loaded_example(directory: &Path) -> anyhow::Result<Option<String>> {
    for path in super::expand(&[directory.to_owned()]) {
        let inputs = super::forecast::inputs(std::slice::from_ref(&path))?;
        if let Some(input) = inputs.iter().find(|input| input.load != NO_LOAD) {
            let word = shell_word(&printable_path(&path));
            return Ok(Some(format!(", as in `--latency {word}` for {}", load_words(&input.load))));
        }
    }
    Ok(None)
}
