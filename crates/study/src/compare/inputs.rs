//! Recordings of inputs to a program, read for a comparison.

use crate::StudyError;
use punctual_comparison::interact::{GatherInputs, InputRun, InputSide, as_by_hand};
use punctual_recording::{
    OWN_PACE, Recording, RecordingKind, counted, for_each_interaction_part, kind_of, read_interactions,
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

/// Reads the recordings of two sides. If somebody was only watched on one of them, the other's inputs have the kinds that theirs
/// have.
///
/// # Errors
/// As for [`open_input_side`].
pub fn open_input_sides(sides: [(&str, &[PathBuf]); 2]) -> Result<[InputSide; 2], StudyError> {
    let is_watched = |paths: &[PathBuf]| -> Result<bool, StudyError> {
        let summaries = paths.iter().map(|path| required_interaction_document(path));
        Ok(summaries.collect::<Result<Vec<_>, _>>()?.iter().any(|summary| summary.pace == OWN_PACE))
    };
    let [a, b] = sides;
    let [a_is, b_is] = [is_watched(a.1)?, is_watched(b.1)?];
    Ok([open_side_as(a.0, a.1, b_is && !a_is)?, open_side_as(b.0, b.1, a_is && !b_is)?])
}

/// Reads the recordings of a side, each in one pass over its inputs and one over their parts.
///
/// # Errors
/// [`StudyError`] for the first that cannot be read, holds no inputs, or is listed twice.
pub fn open_input_side(name: &str, paths: &[PathBuf]) -> Result<InputSide, StudyError> {
    open_side_as(name, paths, false)
}

fn open_side_as(name: &str, paths: &[PathBuf], by_hand: bool) -> Result<InputSide, StudyError> {
    let mut side = InputSide { name: name.to_owned(), runs: Vec::new() };
    for path in paths {
        let run = open_run(path, by_hand)?;
        let id = &run.document.provenance.run_id;
        if side.runs.iter().any(|other| other.document.provenance.run_id == *id) {
            return Err(StudyError::Setting(format!("{}: the same run is given twice", path.display())));
        }
        side.runs.push(run);
    }
    Ok(side)
}

fn open_run(path: &Path, by_hand: bool) -> Result<InputRun, StudyError> {
    let recording = Recording::open(path)?;
    let summary = required_interaction_document(path)?;
    let mut inputs = read_interactions(path)?;
    if inputs.is_empty() && summary.inputs > 0 {
        let had = counted(summary.inputs, "input");
        let what = format!("{}: the table of its {had} is missing (interactions/)", path.display());
        return Err(StudyError::Setting(what));
    }
    if by_hand {
        as_by_hand(&mut inputs);
    }
    let mut gather = GatherInputs::new(recording.document().clone(), summary, inputs);
    for_each_interaction_part(path, |part| gather.push(&part))?;
    Ok(gather.finish())
}
