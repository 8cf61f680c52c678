//! `punctual sim`.

mod experiment;
mod whatif;

use super::artifacts::{self, Artifacts};
use crate::args::{SimCommand, SimTimelineArguments};
use crate::output::{self, Output, Usage};
use crate::progress::PartsProgress;
use crate::signals::Interrupted;
use punctual_device::{did_you_mean, nearest};
use punctual_recording::format_ns;
use punctual_report::answer::{Answer, Done};
use punctual_report::sim::{ExperimentsAnswer, PapersAnswer};
use punctual_sim::experiment::{Experiment, MAX_TIMELINE};
use punctual_sim::ledger;
use punctual_sim::machine::Mechanism;
use punctual_sim::shipped::BUILTIN;
use punctual_sim::sweep::{Axis, Sweep};
use punctual_sim::time::NANOSECOND;
use punctual_sim::watch::Watch;
use std::path::{Path, PathBuf};

pub(crate) fn run(command: &SimCommand, output: Output) -> anyhow::Result<u8> {
    match command {
        SimCommand::List => list(output),
        SimCommand::Run(arguments) => experiment::run(arguments, output),
        SimCommand::Papers { html, mutations } => papers(html.as_ref(), *mutations, output),
        SimCommand::Timeline(arguments) => timeline(arguments, output),
        SimCommand::Whatif(arguments) => whatif::run(arguments, output),
    }
}

/// Gives the answer, and the exit code if something kept its files from being written.
fn answer<A: Answer>(
    output: Output,
    written: &Artifacts,
    code: u8,
    answer: impl FnOnce() -> A,
    text: impl FnOnce() -> String,
) -> anyhow::Result<u8> {
    if output.json {
        output::answer_beside(written.failure(), answer(), code);
    } else {
        output::print_text(&text());
    }
    Ok(code)
}

/// The grid with axes that say their units.
fn with_units(grid: &Sweep, unit_of: impl Fn(&str) -> &'static str) -> Result<Sweep, punctual_sim::Error> {
    let with_unit = |axis: &Axis| Axis { name: format!("{}{}", axis.name, unit_of(&axis.name)), ..axis.clone() };
    Sweep::new(grid.axes().iter().map(with_unit).collect())
}

fn list(output: Output) -> anyhow::Result<u8> {
    let experiments: Vec<Experiment> =
        BUILTIN.iter().map(|(file, text)| Experiment::parse(file, text)).collect::<Result<_, _>>()?;
    answer(
        output,
        &Artifacts::default(),
        0,
        || ExperimentsAnswer::new(&experiments),
        || {
            let mut text = format!("{}\n\n", punctual_report::experiments_verdict(experiments.len()));
            for experiment in &experiments {
                text += &format!("  {}: {}\n", experiment.name(), experiment.about());
                // Their names have commas and spaces of their own.
                let cases: Vec<String> = experiment.cases().map(|case| format!("`{case}`")).collect();
                if cases.len() > 1 {
                    text += &format!("    cases: {}\n", cases.join(", "));
                }
            }
            text
        },
    )
}

fn experiment_of(name: &str) -> anyhow::Result<Experiment> {
    if let Some(known) = ledger::builtin(name) {
        return Ok(known?);
    }
    let path = Path::new(name);
    if !path.exists() {
        let known: Vec<&str> = BUILTIN.iter().map(|(file, _)| file.trim_end_matches(".toml")).collect();
        let meant = did_you_mean(nearest(name.trim_end_matches(".toml"), &known).as_deref());
        let what = format!(
            "cannot read {name}{meant}: there is no such file, and no such experiment comes with the program; `punctual sim list` names those that do"
        );
        // A word is a name; anything else is a file, which may be gone.
        let is_name = path.extension().is_none() && path.components().count() == 1;
        return Err(if is_name { Usage(what).into() } else { anyhow::anyhow!(what) });
    }
    let text = super::read_text(path)?;
    Ok(Experiment::parse(name, &text)?)
}

/// The experiment with this case alone.
fn only(experiment: &Experiment, case: &str) -> Result<Experiment, Usage> {
    experiment.only(case).map_err(|error| {
        let cases: Vec<&str> = experiment.cases().collect();
        Usage(format!("{error}{}", did_you_mean(nearest(case, &cases).as_deref())))
    })
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Shows how much of a computation is done; the first signal ends it.
struct Watched {
    progress: PartsProgress,
    interrupted: Interrupted,
}

impl Watched {
    /// `verb` says what is done, `unit` to what; there are `parts` of it.
    fn new(verb: &'static str, parts: u64, unit: &'static str) -> Watched {
        Watched { progress: PartsProgress::new(verb, parts, unit), interrupted: Interrupted::watch() }
    }

    fn done(&self) {
        self.progress.done();
    }
}

impl Watch for Watched {
    fn part_done(&self) {
        self.progress.part_done();
    }

    fn is_over(&self) -> bool {
        self.interrupted.is_set()
    }
}

fn timeline(arguments: &SimTimelineArguments, output: Output) -> anyhow::Result<u8> {
    artifacts::check(arguments.html.as_ref())?;
    artifacts::check(arguments.perfetto.as_ref())?;
    let (mut code, mut written) = (0, Artifacts::default());
    let experiment = experiment_of(&arguments.experiment)?;
    if let Some(case) = &arguments.case {
        only(&experiment, case)?;
    }
    let to = arguments.to.unwrap_or(arguments.from.saturating_add(50_000_000));
    let picoseconds = |nanoseconds: u64| nanoseconds.saturating_mul(NANOSECOND);
    if to <= arguments.from || picoseconds(to - arguments.from) > MAX_TIMELINE {
        let longest = format_ns(MAX_TIMELINE / NANOSECOND);
        return Err(Usage(format!("--to: give a time after --from, at most {longest} later")).into());
    }
    let timeline = experiment.timeline(arguments.case.as_deref(), picoseconds(arguments.from), picoseconds(to))?;
    let case = arguments.case.as_deref().or_else(|| experiment.cases().next()).unwrap_or_default();
    if let Some(path) = &arguments.html {
        let title = format!("{} {case}", experiment.name());
        code = written.write(path, punctual_report::sim::timeline::html(&timeline, title.trim()));
    }
    if let Some(path) = &arguments.perfetto {
        code = code.max(written.write(path, punctual_report::sim::trace::trace(&timeline)));
    }
    let verdict = punctual_report::timeline_verdict(&timeline);
    answer(output, &written, code, || Done::new("punctual.timeline/1", &verdict), || verdict.clone())
}

/// A prediction that fails for no listed reason counts as an exceeded limit.
const FAILED: u8 = 2;

fn papers(html: Option<&PathBuf>, mutations: bool, output: Output) -> anyhow::Result<u8> {
    artifacts::check(html)?;
    let (threads, mut watched) = (threads(), Watched::new("running", ledger::parts()?, "cases"));
    let mut ledger = ledger::papers(threads, &watched)?;
    watched.done();
    let ranges = ledger::ranges(threads, &watched)?;
    let mut turned = None;
    if mutations {
        let parts = ledger::parts()? * (Mechanism::ALL.len() as u64 + 1);
        watched.progress = PartsProgress::new("breaking mechanisms", parts, "cases");
        turned = Some(ledger::mutations(threads, &Mechanism::ALL, &[], &watched)?);
        watched.done();
    }
    ledger.interrupted |= watched.is_over();
    let mut written = Artifacts::default();
    let code = match html {
        Some(path) => written.write(path, punctual_report::sim::page::papers_html(&ledger, &ranges)?),
        None => 0,
    };
    let code = if code == 0 && ledger.failing() > 0 { FAILED } else { code.max(u8::from(ledger.interrupted)) };
    let turned = turned.as_deref();
    answer(
        output,
        &written,
        code,
        || PapersAnswer::new(&ledger, &ranges, turned),
        || punctual_report::sim::ledger_text(&ledger, &ranges, turned),
    )
}
