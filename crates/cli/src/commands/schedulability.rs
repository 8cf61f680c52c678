//! `punctual schedulability`.

use crate::args::SchedulabilityArguments;
use crate::output::{self, Output, Usage};
use anyhow::Context;
use punctual_forecast::Input;
use punctual_forecast::schedulability::{Standing, TaskSet, analyse};
use punctual_recording::{Stage, printable_path};
use punctual_report::load_words;
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
        return Err(Usage(format!(
            "{path} holds recordings under several loads ({loads}): name the one whose latency the tasks will meet"
        ))
        .into());
    }
    Ok(inputs)
}
