//! `punctual drill`.

use crate::args::drill::{DrillArguments, Wanted};
use crate::cannot_write::CannotWrite;
use crate::output::{self, Output, Usage};
use crate::progress::StepProgress;
use crate::signals::Interrupted;
use punctual_context::drill::{DrillError, DrillKind, DrillOutcome, DrillPlan, Injection, availability};
use punctual_kernel::capabilities::Availability;
use punctual_kernel::clock;
use punctual_recording::{Place, Standing};
use punctual_report::drill::{self, DrillAnswer, DrillLine, DrillListAnswer, DrillReport, InjectionRow};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

pub(crate) fn run(arguments: &DrillArguments, output: Output) -> anyhow::Result<u8> {
    match arguments.wanted {
        Wanted::List => list(output),
        Wanted::Inject(kind) => inject(kind, arguments, output),
    }
}

fn list(output: Output) -> anyhow::Result<u8> {
    let line = |kind: DrillKind| {
        let found = availability(kind);
        let available = match found.available {
            Availability::Yes => "yes",
            Availability::Limited => "limited",
            Availability::No => "no",
        };
        let (what, blame, name) = (kind.what(), kind.blame(), kind.culprit());
        DrillLine { kind: kind.name(), available, detail: found.detail, what, blame, name }
    };
    let lines: Vec<DrillLine> = DrillKind::ALL.into_iter().map(line).collect();
    if output.json {
        output::answer(DrillListAnswer::new(&lines), 0);
    } else {
        output::print_text(&drill::list_text(&lines));
    }
    Ok(0)
}

fn inject(kind: DrillKind, arguments: &DrillArguments, output: Output) -> anyhow::Result<u8> {
    let plan = DrillPlan {
        kind,
        lengths: arguments.lengths,
        every_ns: arguments.every,
        duration_ns: arguments.duration,
        count: arguments.count,
        cpus: arguments.cpus.as_ref().map(|cpus| cpus.0.clone()),
        priority: arguments.priority,
        seed: arguments.seed.unwrap_or_else(|| clock::unix_ns() / 1_000 % 1_000_000_000),
        consent: arguments.yes,
        pages: arguments.pages.pages(),
    };
    plan.check(&punctual_kernel::scheduling::allowed_cpus()).map_err(|error| Usage(error.0))?;
    let mut log = match &arguments.output {
        None => None,
        Some(path) => Some(create_log(path)?),
    };
    let interrupted = Interrupted::watch();
    let mut progress = StepProgress::new(arguments.quiet, "drill");
    let result =
        punctual_context::drill::run(&plan, log.as_mut().map(|(file, _)| file as &mut dyn Write), &mut |now| {
            progress.show(&format!("{kind} {}", now.injections), now.elapsed, now.duration);
            !interrupted.is_set()
        });
    progress.done();
    if let (Err(_), Some((file, place))) = (&result, &log)
        && file.metadata().is_ok_and(|about| about.is_file() && about.len() == 0)
    {
        // This command made it; left there, it would be in the way of the next try.
        place.remove();
    }
    let outcome = result.map_err(|error| match error {
        DrillError::Plan(error) => anyhow::Error::new(Usage(error.0)),
        DrillError::Log(error) => cannot_write(arguments.output.as_deref().unwrap_or(Path::new("the log")), &error),
        error => error.into(),
    })?;
    let report = report(&plan, &outcome)?;
    if output.json {
        output::answer(DrillAnswer::new(&report), 0);
    } else {
        output::print_text(&drill::text(&report));
    }
    Ok(0)
}

/// Makes the file for the log. A file that already exists belongs to somebody; a pipe or a device is written to.
fn create_log(path: &Path) -> anyhow::Result<(File, Place)> {
    let made = Place::of(path).and_then(|place| {
        let file = match place.standing()? {
            Standing::Special => place.open_special()?,
            _ => place.create_new()?,
        };
        Ok((file, place))
    });
    made.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            anyhow::anyhow!("{}: already exists: choose another name with -o, or remove it", path.display())
        }
        _ => cannot_write(path, &error),
    })
}

fn cannot_write(path: &Path, error: &std::io::Error) -> anyhow::Error {
    CannotWrite::new(&format!("{}: cannot write", path.display()), error).into()
}

fn report(plan: &DrillPlan, outcome: &DrillOutcome) -> anyhow::Result<DrillReport> {
    let kind = plan.kind;
    let row = |injection: &Injection| InjectionRow {
        cpu: injection.cpu,
        length_ns: injection.length_ns(),
        response_ns: injection.victim.map(|victim| victim.done_ns.saturating_sub(victim.due_ns)),
    };
    Ok(DrillReport {
        kind: kind.name(),
        name: kind.culprit(),
        blame: kind.blame(),
        what: kind.what(),
        own_victim: kind.brings_victim(),
        seed: plan.seed,
        every_ns: plan.every_ns,
        cpus: outcome.cpus.clone(),
        start_ns: outcome.start_ns,
        end_ns: outcome.end_ns,
        interrupted: outcome.interrupted,
        not_made: outcome.not_made,
        injections: outcome.injections.iter().map(row).collect(),
        log: serde_json::to_value(&outcome.injections)?,
    })
}
