//! `punctual schedulability`.

use crate::args::SchedulabilityArguments;
use crate::output::{self, Output};
use anyhow::Context;
use punctual_forecast::schedulability::{Standing, TaskSet, analyse};
use punctual_recording::Stage;

pub(crate) fn run(arguments: &SchedulabilityArguments, output: Output) -> anyhow::Result<u8> {
    let path = &arguments.tasks;
    let text = super::read_text(path)?;
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let set = if is_json { TaskSet::parse_rt_app(&text) } else { TaskSet::parse_toml(&text) };
    let set = set.with_context(|| path.display().to_string())?;
    let inputs = match &arguments.latency {
        Some(recording) => super::forecast::inputs(std::slice::from_ref(recording))?,
        None => Vec::new(),
    };
    let analysis = analyse(&set, inputs.first().map(|input| (input, Stage::Total)))?;
    // A deadline in a task set is a limit that the user set.
    let exit_code = if analysis.standing == Standing::NotSchedulable { 2 } else { 0 };
    if output.json {
        output::answer(punctual_report::schedulability::SchedulabilityAnswer::new(&analysis), exit_code);
    } else {
        output::print_text(&punctual_report::schedulability::text(&analysis));
    }
    Ok(exit_code)
}
