//! `punctual compare` of recordings of inputs to a program.

use super::{Written, directories};
use crate::args::CompareArguments;
use crate::commands::artifacts::Artifacts;
use crate::output::{self, Output, Usage};
use punctual_comparison::interact::{InputComparison, InputSide, compare_inputs};
use punctual_recording::printable_path;
use punctual_report::interact::compare::{CompareInteractAnswer, interact_comparison_page, interact_comparison_text};
use punctual_study::open_input_sides;
use std::path::{Path, PathBuf};

pub(super) fn run(arguments: &CompareArguments, sides: &[Written], output: Output) -> anyhow::Result<u8> {
    let [a, b] = sides else {
        let what = format!("{} sides: recordings of inputs to a program are compared two at a time", sides.len());
        return Err(Usage(what).into());
    };
    if !arguments.device.is_empty() {
        let what = "--device says what late wakeups do to a device: recordings of inputs to a program have none";
        return Err(Usage(what.to_owned()).into());
    }
    let first = [a, b].map(|side| side.paths.first().map(|path| printable_path(path)).unwrap_or_default());
    let directories = directories(&arguments.sides, [&a.paths[..], &b.paths[..]]);
    let directories = [0, 1].map(|side| directories.get(side).cloned().flatten());
    let [a, b] = open_input_sides([(&a.name[..], &a.paths[..]), (&b.name[..], &b.paths[..])])?;
    let comparison = compare_inputs(&a, &b)?;
    let code = if arguments.exit_code { super::outcome_code(comparison.standing, comparison.outcome) } else { 0 };
    show(&Compared {
        comparison: &comparison,
        sides: [&a, &b],
        first,
        directories,
        made_in: None,
        html: arguments.html.as_ref(),
        code,
        output,
    })
}

/// Two sides that were compared, and how to show that.
pub(crate) struct Compared<'a> {
    pub(crate) comparison: &'a InputComparison,
    pub(crate) sides: [&'a InputSide; 2],
    /// A recording of each side.
    pub(crate) first: [String; 2],
    /// The directories of all of a side's.
    pub(crate) directories: [Option<String>; 2],
    /// Where all of them are, if this command made them.
    pub(crate) made_in: Option<&'a Path>,
    pub(crate) html: Option<&'a PathBuf>,
    /// The exit code, if what is shown can be written.
    pub(crate) code: u8,
    pub(crate) output: Output,
}

pub(crate) fn show(shown: &Compared<'_>) -> anyhow::Result<u8> {
    let Compared { comparison, sides: [a, b], first: [one, other], directories: [of_a, of_b], .. } = shown;
    let directories = [of_a.as_deref(), of_b.as_deref()];
    let next = punctual_report::after_interact_comparison(comparison, [one, other], directories);
    let (mut code, mut artifacts) = (shown.code, Artifacts::default());
    if let Some(path) = shown.html {
        code = code.max(artifacts.write(path, interact_comparison_page(comparison, a, b, &next).html()?));
    }
    let made_in = shown.made_in.map(printable_path);
    if shown.output.json {
        let answer = CompareInteractAnswer::new(comparison, next, code).with_directory(made_in);
        output::answer_beside(artifacts.failure(), answer, 0);
    } else {
        let made = made_in.map(|directory| format!("\nrecordings: {directory}\n")).unwrap_or_default();
        let next = punctual_report::next_text(&next);
        output::print_text(&format!("{}{made}\n{next}", interact_comparison_text(comparison)));
    }
    Ok(code)
}
