//! `punctual interact --pace human,full`: the same script at two paces, in turn, and what differs.

use super::super::compare::inputs::{Compared, show as show_comparison};
use crate::args::{InteractArguments, PaceName};
use crate::output::{self, Output, Usage};
use crate::progress::StepProgress;
use crate::signals::Interrupted;
use anyhow::bail;
use punctual_comparison::interact::compare_inputs;
use punctual_interact::{InteractPlan, PaceMode};
use punctual_recording::{Recording, printable_path, required_interaction_document};
use punctual_report::interact::{InteractReport, Patience};
use punctual_study::{AtPaces, PacesPlan, open_input_side, type_at_paces};
use std::path::Path;
use std::time::Duration;

/// Checks that what was asked for goes together with the number of paces.
pub(super) fn check(arguments: &InteractArguments) -> Result<(), Usage> {
    let paces = &arguments.pace;
    if paces.len() == 1 {
        let what = "--repeat goes with two paces, such as --pace human,full";
        return if arguments.repeat.is_none() { Ok(()) } else { Err(Usage(what.to_owned())) };
    }
    if !matches!(paces[..], [one, other] if one != other) {
        return Err(Usage("--pace takes one pace, or two different ones to be compared: human,full".to_owned()));
    }
    let of_one = [
        ("--limit", arguments.limit.is_some()),
        ("--patience", arguments.patience.is_some()),
        ("--perfetto", arguments.perfetto.is_some()),
    ];
    let strange = of_one.iter().find(|(_, is_given)| *is_given);
    strange.map_or(Ok(()), |(option, _)| {
        Err(Usage(format!("{option} is about the inputs of one run: give one pace, or `punctual report` a recording")))
    })
}

/// Types at both paces, in turn, and shows how they compare.
pub(super) fn run(
    arguments: &InteractArguments,
    paces: [PaceName; 2],
    plan: InteractPlan,
    output: Output,
) -> anyhow::Result<u8> {
    let plan = PacesPlan {
        plan,
        paces: paces.map(mode),
        repeats: arguments.repeat.unwrap_or(1) as usize,
        directory: arguments.output.clone().unwrap_or_else(|| super::super::fresh_name("interact-", "")),
    };
    let interrupted = Interrupted::watch();
    let AtPaces { made, trouble } = type_all(&plan, arguments.quiet, &interrupted)?;
    let mut code = u8::from(trouble.is_some());
    let early = trouble.or_else(|| interrupted.is_set().then(|| "interrupted".to_owned()));
    if let (Some(why), true) = (&early, made.iter().any(Vec::is_empty)) {
        let place = plan.directory.display();
        bail!("{why}; nothing was typed at one of the paces. The recordings so far are in {place}");
    }
    let directories = [0, 1].map(|side| printable_path(&plan.directory_of(side)));
    let a = open_input_side(&directories[0], &made[0])?;
    let b = open_input_side(&directories[1], &made[1])?;
    let mut comparison = compare_inputs(&a, &b)?;
    let early =
        early.map(|why| format!("{why}: only what was typed until then is compared, not everything you asked for"));
    comparison.notes.splice(0..0, early);
    for path in made.iter().flatten() {
        code = code.max(code_of(path)?);
    }
    show_comparison(&Compared {
        comparison: &comparison,
        sides: [&a, &b],
        first: [0, 1].map(|side| made[side].first().map(|path| printable_path(path)).unwrap_or_default()),
        directories: directories.map(Some),
        made_in: Some(&plan.directory),
        html: arguments.html.as_ref(),
        code,
        output,
    })
}

fn type_all(plan: &PacesPlan, quiet: bool, interrupted: &Interrupted) -> anyhow::Result<AtPaces> {
    let mut progress = StepProgress::new(quiet, "interact");
    let median = Duration::from_nanos(plan.plan.script.pace.median_ns);
    let all = plan.paces.len() * plan.repeats;
    let (mut turn, mut turns) = (None, 0);
    let result = type_at_paces(
        plan,
        &mut |now, of| {
            if turn != Some(now) {
                (turn, turns) = (Some(now), turns + 1);
            }
            let pace = plan.paces[now.side];
            let pause = if pace == PaceMode::Full { Duration::ZERO } else { median };
            let left = pause * u32::try_from(of.all.saturating_sub(of.inputs)).unwrap_or(u32::MAX);
            let step = format!("{turns}/{all} {}: {} of {} inputs {}", pace.name(), of.inputs, of.all, of.task);
            progress.show(&step, of.elapsed, of.elapsed + left);
            interrupted.step()
        },
        &|| interrupted.is_set(),
    );
    progress.done();
    Ok(result?)
}

/// The exit code that this run would have had by itself.
fn code_of(path: &Path) -> anyhow::Result<u8> {
    let (recording, summary) = (Recording::open(path)?, required_interaction_document(path)?);
    let report = InteractReport::read(path, recording.document(), &summary, &Patience::default(), &[])?;
    let code = report.exit_code();
    if code != 0 {
        output::note(&format!("{}: {}", printable_path(path), report.verdict()));
    }
    Ok(code)
}

pub(super) fn mode(pace: PaceName) -> PaceMode {
    match pace {
        PaceName::Human => PaceMode::Human,
        PaceName::Full => PaceMode::Full,
        PaceName::Recorded => PaceMode::Recorded,
    }
}
