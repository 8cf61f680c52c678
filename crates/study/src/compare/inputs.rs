//! Recordings of inputs to a program, read for a comparison.

use crate::StudyError;
use punctual_comparison::interact::{GatherInputs, InputRun, InputSide};
use punctual_recording::{
    Recording, RecordingKind, counted, for_each_interaction_part, kind_of, read_interactions,
    required_interaction_document,
};
use std::path::{Path, PathBuf};

/// Whether all of these recordings are of inputs to a program; `false` if none is.
///
/// # Errors
/// [`StudyError::Setting`] if some are and others are not: then nothing can be compared. Whatever cannot be read counts as none.
pub fn are_of_inputs<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<bool, StudyError> {
    let is_it = |path: &Path| kind_of(path).is_ok_and(|kind| kind == RecordingKind::Interaction);
    let (inputs, others): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.into_iter().partition(|path| is_it(path));
    match (inputs.first(), others.first()) {
        (Some(one), Some(other)) => {
            let what = kind_of(other)?.holds();
            Err(StudyError::Setting(format!(
                "{} holds {} and {} {what}: only recordings of the same kind can be compared",
                one.display(),
                RecordingKind::Interaction.holds(),
                other.display()
            )))
        }
        (first, _) => Ok(first.is_some()),
    }
}

/// Reads the recordings of a side, each in one pass over its inputs and one over their parts.
///
/// # Errors
/// [`StudyError`] for the first that cannot be read, holds no inputs, or is listed twice.
pub fn open_input_side(name: &str, paths: &[PathBuf]) -> Result<InputSide, StudyError> {
    let mut side = InputSide { name: name.to_owned(), runs: Vec::new() };
    for path in paths {
        let run = open_run(path)?;
        let id = &run.document.provenance.run_id;
        if side.runs.iter().any(|other| other.document.provenance.run_id == *id) {
            return Err(StudyError::Setting(format!("{}: the same run is given twice", path.display())));
        }
        side.runs.push(run);
    }
    Ok(side)
}

fn open_run(path: &Path) -> Result<InputRun, StudyError> {
    let recording = Recording::open(path)?;
    let summary = required_interaction_document(path)?;
    let inputs = read_interactions(path)?;
    if inputs.is_empty() && summary.inputs > 0 {
        let had = counted(summary.inputs, "input");
        let what = format!("{}: the table of its {had} is missing (interactions/)", path.display());
        return Err(StudyError::Setting(what));
    }
    let mut gather = GatherInputs::new(recording.document().clone(), summary, inputs);
    for_each_interaction_part(path, |part| gather.push(&part))?;
    Ok(gather.finish())
}
