//! Recordings of inputs to a program, taken up to be compared.

use crate::StudyError;
use punctual_comparison::interact::{GatherInputs, InputRun, InputSide};
use punctual_recording::{
    Recording, RecordingKind, for_each_interaction_part, kind_of, read_interaction_document, read_interactions,
};
use std::path::{Path, PathBuf};

/// Whether all of these recordings are of inputs to a program; `false` where none is.
///
/// # Errors
/// [`StudyError::Setting`] where some are and others are not: nothing of them can be compared. Whatever cannot be read counts as none.
pub fn are_of_inputs<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<bool, StudyError> {
    let is_it = |path: &Path| kind_of(path).is_ok_and(|kind| kind == RecordingKind::Interaction);
    let (inputs, others): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.into_iter().partition(|path| is_it(path));
    match (inputs.first(), others.first()) {
        (Some(one), Some(other)) => {
            let what = kind_of(other)?.holds();
            Err(StudyError::Setting(format!(
                "{} holds {} and {} {what}: only recordings of one kind can be compared",
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
/// [`StudyError`] for the first that cannot be read or holds no inputs, or that stands there twice.
pub fn open_input_side(name: &str, paths: &[PathBuf]) -> Result<InputSide, StudyError> {
    let mut side = InputSide { name: name.to_owned(), runs: Vec::new() };
    for path in paths {
        let run = open_run(path)?;
        let id = &run.document.provenance.run_id;
        if side.runs.iter().any(|other| other.document.provenance.run_id == *id) {
            return Err(StudyError::Setting(format!("{}: the same run stands there twice", path.display())));
        }
        side.runs.push(run);
    }
    Ok(side)
}

fn open_run(path: &Path) -> Result<InputRun, StudyError> {
    let recording = Recording::open(path)?;
    let without = || StudyError::Setting(format!("{}: it holds no summary of its inputs", path.display()));
    let summary = read_interaction_document(path)?.ok_or_else(without)?;
    let mut gather = GatherInputs::new(recording.document().clone(), summary, read_interactions(path)?);
    for_each_interaction_part(path, |part| gather.push(&part))?;
    Ok(gather.finish())
}
