//! `punctual interact`.

mod attach;
mod learn;
mod paces;

use super::artifacts::{self, Artifacts};
use super::install::{self, Wanted};
use crate::args::{InteractArguments, InteractCommand, PaceName, PlaceName, ReportArguments};
use crate::output::{self, Output, Usage};
use crate::progress::StepProgress;
use crate::signals::Interrupted;
use anyhow::ensure;
use punctual_device::{did_you_mean, nearest};
use punctual_interact::script::{KINDS, PRESS, RELEASE, Script, default_for, names, shipped};
use punctual_interact::{InteractPlan, Via, interact};
use punctual_kernel::capabilities::find_program;
use punctual_load::missing;
use punctual_recording::{Document, InteractionDocument, Recording, START, required_interaction_document};
use punctual_report::answer::Done;
use punctual_report::forecast::interarrival::InterarrivalRow;
use punctual_report::interact::{
    InteractAnswer, InteractReport, KindLimit, Patience, interact_page, interact_trace, text,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No script is longer than this.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;

pub(crate) fn run(arguments: &InteractArguments, output: Output) -> anyhow::Result<u8> {
    match &arguments.command {
        Some(InteractCommand::Learn(learn)) => return learn::run(learn, output),
        Some(InteractCommand::Install { script, yes }) => return install_for(script, *yes, output),
        None => {}
    }
    if arguments.html.is_some() {
        punctual_report::encode::html::can_draw()?;
        artifacts::check(arguments.html.as_ref())?;
    }
    artifacts::check(arguments.perfetto.as_ref())?;
    if let Some(wanted) = &arguments.attach {
        return attach::run(wanted, arguments, output);
    }
    if arguments.duration.is_some() {
        let what = "-D goes with --attach: a script has its own length";
        return Err(Usage(what.to_owned()).into());
    }
    paces::check(arguments)?;
    let plan = plan(arguments)?;
    if let [one, other] = arguments.pace[..] {
        return paces::run(arguments, [one, other], plan, output);
    }
    let interrupted = Interrupted::watch();
    let mut progress = StepProgress::new(arguments.quiet, "interact");
    let median = Duration::from_nanos(plan.script.pace.median_ns);
    let result = interact(&plan, &mut |now| {
        let left = median * u32::try_from(now.all.saturating_sub(now.inputs)).unwrap_or(u32::MAX);
        let step = format!("{} of {} inputs {}", now.inputs, now.all, now.task);
        progress.show(&step, now.elapsed, now.elapsed + left);
        interrupted.step()
    });
    progress.done();
    let (document, summary) = result?;
    show_measured(arguments, &plan.output, &document, &summary, output)
}

/// What to do with a script.
fn plan(arguments: &InteractArguments) -> anyhow::Result<InteractPlan> {
    let mut script = script(arguments)?;
    if arguments.releases {
        script = script.with_releases().map_err(|error| Usage(error.to_string()))?;
    }
    can_be_used(&script, arguments)?;
    check_kinds(arguments, Some(&script))?;
    let plan = InteractPlan {
        via: via(arguments)?,
        script,
        pace: paces::mode(arguments.pace.first().copied().unwrap_or(PaceName::Human)),
        seed: arguments.seed,
        program: arguments.program.clone(),
        bpf: !arguments.no_bpf,
        sample_rate: arguments.sample_rate,
        toolkit: arguments.toolkit,
        output: arguments.output.clone().unwrap_or_else(|| super::fresh_name("interact-", ".punctual")),
        command_line: super::command_line(),
    };
    for pace in &arguments.pace {
        let at_pace = InteractPlan { pace: paces::mode(*pace), ..plan.clone() };
        at_pace.check().map_err(|error| Usage(error.to_string()))?;
    }
    Ok(plan)
}

/// Checks that limits and patience are for kinds of input that there are: by another name nothing would ever be judged.
fn check_kinds(arguments: &InteractArguments, script: Option<&Script>) -> anyhow::Result<()> {
    let limits = arguments.limit.iter().flat_map(|limits| &limits.0).map(|limit| ("--limit", &limit.kind));
    let patience = arguments.patience.iter().flat_map(|times| &times.0).map(|(kind, _)| ("--patience", kind));
    // What nobody types in a script but somebody may who is watched, the start, and all inputs together.
    let mut known: BTreeSet<&str> = ["line", "paste", START, "all"].into_iter().chain(KINDS).collect();
    known.extend(script.into_iter().flat_map(Script::presses).map(|press| press.kind.as_str()));
    let strange = limits.chain(patience).find(|(_, kind)| !known.contains(kind.as_str()));
    let Some((option, kind)) = strange else { return Ok(()) };
    if [PRESS, RELEASE].contains(&kind.as_str()) {
        let what =
            format!("{option}: {kind} is a kind of input with --releases alone, in a window (--via x11 or wayland)");
        return Err(Usage(what).into());
    }
    let known: Vec<&str> = known.into_iter().collect();
    let meant = did_you_mean(nearest(kind, &known).as_deref());
    Err(Usage(format!("{option}: there is no kind of input `{kind}`{meant}: give one of {}", known.join(", "))).into())
}

fn via(arguments: &InteractArguments) -> anyhow::Result<Via> {
    match (arguments.via, arguments.display) {
        (PlaceName::Pty, false) => Ok(Via::Terminal),
        (PlaceName::X11, false) => Ok(Via::Window),
        (PlaceName::X11, true) => Ok(Via::UsersWindow),
        (PlaceName::Wayland, false) => Ok(Via::Wayland),
        (_, true) => Err(Usage("--display goes with --via x11: it is your own X display".to_owned()).into()),
    }
}

/// Shows what was just measured, in the requested form.
fn show_measured(
    arguments: &InteractArguments,
    path: &Path,
    document: &Document,
    summary: &InteractionDocument,
    output: Output,
) -> anyhow::Result<u8> {
    let limits = arguments.limit.as_ref().map_or(&[][..], |limits| &limits.0);
    let patience = arguments.patience.as_ref().map_or_else(Vec::new, |times| times.0.clone());
    show(&Shown {
        path,
        document,
        summary,
        patience: Patience::new(patience),
        limits,
        interarrival: &[],
        page: arguments.html.as_ref(),
        trace: arguments.perfetto.as_ref(),
        output,
    })
}

/// The script that the user asked for, or the one for this program.
fn script(arguments: &InteractArguments) -> anyhow::Result<Script> {
    let Some(asked) = &arguments.script else {
        let program = arguments.program.first().map_or("", String::as_str);
        let (name, text) = default_for(program);
        return parsed(name, text);
    };
    named(asked)
}

fn parsed(name: &str, text: &str) -> anyhow::Result<Script> {
    Script::parse(name, text).map_err(|error| Usage(error.to_string()).into())
}

/// The script of this name, or in this file.
fn named(asked: &str) -> anyhow::Result<Script> {
    let path = Path::new(asked);
    if let Some(text) = shipped(asked).filter(|_| !path.exists()) {
        return parsed(asked, text);
    }
    let bytes = punctual_recording::input::read_file(path, MAX_SCRIPT_BYTES).map_err(|error| {
        let nearest = nearest(asked, &names()).filter(|_| !path.exists());
        let meant = did_you_mean(nearest.as_deref());
        let known = names().join(", ");
        Usage(format!("cannot read the script {asked}{meant}: {error}; those that come with the program are {known}"))
    })?;
    if bytes.is_empty() {
        return Err(Usage(format!("the script {asked} is empty")).into());
    }
    let text = String::from_utf8(bytes).map_err(|_| Usage(format!("the script {asked} is not text")))?;
    parsed(asked, &text)
}

/// Checks whether the programs that a script needs are installed.
fn can_be_used(script: &Script, arguments: &InteractArguments) -> anyhow::Result<()> {
    let lacking = missing(&script.programs, find_program);
    let name = arguments.script.as_deref().unwrap_or(&script.name);
    ensure!(
        lacking.is_empty(),
        "the script `{name}` is for programs that are not installed ({} missing): punctual interact install {name}",
        lacking.join(", ")
    );
    Ok(())
}

/// Installs the programs that a script needs.
fn install_for(asked: &str, yes: bool, output: Output) -> anyhow::Result<u8> {
    let script = named(asked)?;
    let name = format!("the script {asked}");
    let wanted = Wanted { name: &name, programs: &script.programs, packages: &script.packages };
    let was_missing = install::install(&wanted, yes)?;
    let next = format!("punctual interact --script {} -- PROGRAM", punctual_report::shell_word(asked));
    let verdict = install::verdict(&wanted, was_missing, &next);
    if output.json {
        output::answer(Done::new("punctual.interact-install/1", &verdict), 0);
    } else {
        output::print_text(&verdict);
    }
    Ok(0)
}

/// Shows a recording of inputs.
pub(crate) fn report(
    path: &Path,
    arguments: &ReportArguments,
    interarrival: &[InterarrivalRow],
    output: Output,
) -> anyhow::Result<Option<u8>> {
    let summary = required_interaction_document(path)?;
    let recording = Recording::open(path)?;
    let all = |limit: &punctual_recording::LimitSpec| KindLimit { kind: "all".to_owned(), limit: limit.clone() };
    let limits: Vec<KindLimit> = arguments.limit.iter().flat_map(|limits| limits.of_wakeups.iter().map(all)).collect();
    show(&Shown {
        path,
        document: recording.document(),
        summary: &summary,
        patience: Patience::default(),
        limits: &limits,
        interarrival,
        page: arguments.html.as_ref(),
        trace: arguments.perfetto.as_ref(),
        output,
    })
    .map(Some)
}

struct Shown<'a> {
    path: &'a Path,
    document: &'a Document,
    summary: &'a InteractionDocument,
    patience: Patience,
    limits: &'a [KindLimit],
    interarrival: &'a [InterarrivalRow],
    page: Option<&'a PathBuf>,
    trace: Option<&'a PathBuf>,
    output: Output,
}

fn show(shown: &Shown<'_>) -> anyhow::Result<u8> {
    let report = InteractReport::read(shown.path, shown.document, shown.summary, &shown.patience, shown.limits)?;
    let mut code = report.exit_code();
    let mut artifacts = Artifacts::default();
    if let Some(page) = shown.page {
        code = code.max(artifacts.write(page, interact_page(&report).html()?));
    }
    if let Some(trace) = shown.trace {
        code = code.max(match interact_trace(&report) {
            Ok(contents) => artifacts.write(trace, contents),
            Err(error) => artifacts.fail(trace, &error.into()),
        });
    }
    if shown.output.json {
        output::answer_beside(artifacts.failure(), InteractAnswer::new(&report, shown.interarrival), code);
        return Ok(code);
    }
    output::print_text(&text(&report));
    output::print_rest(shown.interarrival, &report.next_steps());
    Ok(code)
}
