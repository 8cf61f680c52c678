//! What must be known before believing the tables of a study.

use super::{Row, StudyReport};
use crate::device::calibrated::{is_off, taken_ns};
use crate::verdict::device::why_not_judged;
use punctual_device::keeps_up;
use punctual_recording::{NOT_SERVED, counted, format_ns};

/// So many runs are named at most.
const MAX_NAMED: usize = 4;

/// What must be known before believing the tables.
pub(super) fn notes(study: &StudyReport<'_>) -> Vec<String> {
    let of_rows = study.rows.iter().flat_map(|row| [unjudged_note(row), not_served_note(row)]);
    calibration_note(study).into_iter().chain(load_note(study)).chain(of_rows.flatten()).collect()
}

/// The first run whose load failed, with why, and how many others there are.
fn load_note(study: &StudyReport<'_>) -> Option<String> {
    let failed = study.rows.iter().filter_map(|row| {
        let run = row.run.as_ref().ok()?;
        Some((row.name(), run.document.provenance.load.failed_in_words()?))
    });
    let failed: Vec<(String, String)> = failed.collect();
    let (name, why) = failed.first()?;
    let more = match failed.len() - 1 {
        0 => String::new(),
        more => format!(" (so it did in {})", counted(more, "other run")),
    };
    Some(format!("{name}: the {why}{more}"))
}

/// The runs in which a block's work took another time than was asked for, each with that time.
fn calibration_note(study: &StudyReport<'_>) -> Option<String> {
    let off = study.rows.iter().filter(|row| row.device().is_some_and(is_off));
    let runs: Vec<String> =
        off.filter_map(|row| Some(format!("{} ({})", row.name(), format_ns(taken_ns(row.device()?)?)))).collect();
    let more = match runs.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let named = runs.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    (!runs.is_empty()).then(|| {
        let asked = format_ns(study.profile.compute_ns);
        format!("a block's work took over 10 % more or less than the {asked} asked for in {named}{more}")
    })
}

/// Says of a run that the kernel stopped serving the device's reservation in it.
fn not_served_note(row: &Row<'_>) -> Option<String> {
    let run = row.run.as_ref().ok()?;
    let note = run.document.provenance.fallbacks.iter().find(|note| note.contains(NOT_SERVED))?;
    // It begins with the device, which is the same in all rows.
    let said = note.split_once(": ").map_or(note.as_str(), |(_, said)| said);
    Some(format!("{}: {said}", row.name()))
}

/// Why a run is not judged, as `report` says of its recording.
fn unjudged_note(row: &Row<'_>) -> Option<String> {
    let device = row.device().filter(|_| row.is_unjudged())?;
    let why = match keeps_up(device) {
        _ if device.processed == 0 => "it processed nothing".to_owned(),
        None => why_not_judged(device),
        Some(_) => "far fewer blocks came to it than were due".to_owned(),
    };
    Some(format!("{} is not judged: {why}", row.name()))
}
