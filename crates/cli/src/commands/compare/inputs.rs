//! `punctual compare` of recordings of inputs to a program.

use super::{Written, directories};
use crate::args::CompareArguments;
use crate::commands::artifacts::Artifacts;
use crate::output::{self, Output, Usage};
use punctual_comparison::interact::compare_inputs;
use punctual_recording::printable_path;
use punctual_report::interact::compare::{CompareInteractAnswer, interact_comparison_page, interact_comparison_text};
use punctual_study::open_input_side;

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
    let directories = [0, 1].map(|side| directories.get(side).and_then(Option::as_deref));
    let (a, b) = (open_input_side(&a.name, &a.paths)?, open_input_side(&b.name, &b.paths)?);
    let comparison = compare_inputs(&a, &b)?;
    let next = punctual_report::after_interact_comparison(&comparison, [&first[0], &first[1]], directories);
    let mut code = if arguments.exit_code { super::outcome_code(comparison.standing, comparison.outcome) } else { 0 };
    let mut artifacts = Artifacts::default();
    if let Some(path) = &arguments.html {
        code = code.max(artifacts.write(path, interact_comparison_page(&comparison, &a, &b, &next).html()?));
    }
    if output.json {
        output::answer_beside(artifacts.failure(), CompareInteractAnswer::new(&comparison, next, code), 0);
    } else {
        let next = punctual_report::next_text(&next);
        output::print_text(&format!("{}\n{next}", interact_comparison_text(&comparison)));
    }
    Ok(code)
}
