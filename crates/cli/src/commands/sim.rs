//! `punctual sim`.

use super::artifacts::{self, Artifacts};
use crate::args::{SimCommand, SimRunArguments, SimTimelineArguments, SimWhatifArguments};
use crate::output::{self, Output, Usage};
use crate::signals::Interrupted;
use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use punctual_device::{Catalogue, Sampling};
use punctual_recording::{
    Configuration, Counters, EndReason, Ended, LoadInfo, Provenance, Recording, Task, Wakeup, Writer, format_ns,
};
use punctual_report::answer::{Answer, Done};
use punctual_report::sim::plane::{Cell, plane_html};
use punctual_report::sim::{
    ExperimentAnswer, ExperimentSweep, ExperimentSweepAnswer, ExperimentsAnswer, PapersAnswer, WhatifAnswer,
    WhatifSweepAnswer,
};
use punctual_sim::experiment::{Experiment, Setting, setting};
use punctual_sim::interference::Interference;
use punctual_sim::ledger;
use punctual_sim::machine::Mechanism;
use punctual_sim::shipped::BUILTIN;
use punctual_sim::sweep::{Axis, Shard, Sweep};
use punctual_sim::swept::Point;
use punctual_sim::time::{MILLISECOND, NANOSECOND};
use punctual_sim::watch::Watch;
use punctual_sim::whatif::{Context, RingSize, WhatIf};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) fn run(command: &SimCommand, output: Output) -> anyhow::Result<u8> {
    match command {
        SimCommand::List => list(output),
        SimCommand::Run(arguments) => run_experiment(arguments, output),
        SimCommand::Papers { html, mutations } => papers(html.as_ref(), *mutations, output),
        SimCommand::Timeline(arguments) => timeline(arguments, output),
        SimCommand::Whatif(arguments) => whatif(arguments, output),
    }
}

/// Gives the answer, and the code: that of what stood in the way of writing beside it.
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

fn list(output: Output) -> anyhow::Result<u8> {
    let experiments: Vec<Experiment> =
        BUILTIN.iter().map(|(file, text)| Experiment::parse(file, text)).collect::<Result<_, _>>()?;
    let names = || experiments.iter().map(Experiment::name);
    answer(
        output,
        &Artifacts::default(),
        0,
        || ExperimentsAnswer::new(&experiments),
        || {
            let mut text =
                format!("{} experiments come with the program: punctual sim run NAME\n\n", experiments.len());
            for (name, experiment) in names().zip(&experiments) {
                let cases: Vec<&str> = experiment.cases().collect();
                text += &format!(
                    "  {name}{}\n",
                    if cases.len() > 1 { format!(": {}", cases.join(", ")) } else { String::new() }
                );
            }
            text
        },
    )
}

fn experiment(name: &str) -> anyhow::Result<Experiment> {
    if let Some(known) = ledger::builtin(name) {
        return Ok(known?);
    }
    let path = Path::new(name);
    if !path.exists() {
        anyhow::bail!(
            "cannot read {name}: there is no such file, and no such experiment comes with the program (punctual sim list)"
        );
    }
    let text = super::read_text(path)?;
    Ok(Experiment::parse(name, &text)?)
}

fn run_experiment(arguments: &SimRunArguments, output: Output) -> anyhow::Result<u8> {
    artifacts::check(arguments.html.as_ref())?;
    let mut experiment = experiment(&arguments.experiment)?;
    if !arguments.set.is_empty() {
        experiment = with_settings(&experiment, &arguments.set)?;
    }
    if !arguments.sweep.is_empty() {
        return sweep_experiment(&experiment, arguments, output);
    }
    if let Some(case) = &arguments.case {
        experiment = experiment.only(case).map_err(|error| Usage(error.to_string()))?;
    }
    if let Some(path) = &arguments.output {
        record(&experiment, arguments.case.as_deref(), path)?;
    }
    let watched = Watched::new("running", experiment.cases().count() as u64, "cases");
    let outcome = experiment.run_watched(&watched)?;
    watched.done();
    let mut written = Artifacts::default();
    let code = match &arguments.html {
        Some(path) => written.write(path, punctual_report::sim::page::experiment_html(&experiment, &outcome)?),
        None => 0,
    };
    let fails = outcome.rows.iter().any(punctual_sim::experiment::LedgerRow::fails);
    let code = if code == 0 && fails { FAILED } else { code.max(u8::from(outcome.interrupted)) };
    let code = answer(
        output,
        &written,
        code,
        || ExperimentAnswer::new(&outcome),
        || punctual_report::sim::outcome_text(&outcome),
    )?;
    if let (Some(path), false) = (&arguments.output, output.json) {
        output::note(&format!("recording: {}", path.display()));
    }
    Ok(code)
}

/// The experiment with these keys set otherwise. What is wrong is said of the one that is, where one alone is.
fn with_settings(experiment: &Experiment, texts: &[String]) -> anyhow::Result<Experiment> {
    let wrong = |error: punctual_sim::Error| Usage(error.what());
    let set = texts.iter().map(|text| setting(text)).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let refused = match experiment.with(&set) {
        Ok(experiment) => return Ok(experiment),
        Err(refused) => refused.what(),
    };
    for (text, one) in texts.iter().zip(&set) {
        if let Err(error) = experiment.with(std::slice::from_ref(one)) {
            return Err(Usage(format!("--set {text}: {}", error.what())).into());
        }
    }
    Err(Usage(format!("--set {}: {refused}", texts.join(" --set "))).into())
}

/// Runs one case at every point of a grid: sufficient, marginal or insufficient, as in Figure 17 of the modem paper.
fn sweep_experiment(experiment: &Experiment, arguments: &SimRunArguments, output: Output) -> anyhow::Result<u8> {
    let axes = arguments.sweep.iter().map(|axis| Axis::parse_any(axis)).collect::<Result<Vec<_>, _>>();
    let grid = axes.and_then(Sweep::new).map_err(|error| Usage(error.to_string()))?;
    let case = arguments.case.as_deref();
    let watched = Watched::new("sweeping", grid.points(), "points");
    let point = |values: &[String]| {
        let set = grid.axes().iter().zip(values).map(|(axis, value)| setting(&format!("{}={value}", axis.name)));
        let set = set.collect::<Result<Vec<_>, _>>()?;
        let set: Vec<(&str, Setting)> = set.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        experiment.point(case, &set, &watched)
    };
    let numbers: Vec<u64> = (0..grid.points()).collect();
    // A key that is not in the file is a mistake, not a grid of impossible machines.
    let found = grid.run_at(&numbers, threads(), |number| point(&grid.written(number)).transpose());
    watched.done();
    let mut points = Vec::new();
    for (number, point) in found {
        points.push((number, point.map_err(|error| Usage(format!("--sweep: {}", error.what())))?));
    }
    let interrupted = watched.is_over();
    let (mut code, mut written) = (u8::from(interrupted), Artifacts::default());
    let found = ExperimentSweep { grid: &grid, points: &points, interrupted };
    if let Some(path) = &arguments.html {
        let cells: Vec<(u64, Cell)> = points.iter().map(|(number, point)| (*number, Cell::from(point))).collect();
        let verdict = punctual_report::sim::sweep::experiment_verdict(&found);
        let page = plane_html(&grid, &cells, experiment.name(), "punctual sim run", &verdict);
        code = code.max(written.write(path, page));
    }
    let text = || punctual_report::sim::experiment_sweep_text(&found);
    answer(output, &written, code, || ExperimentSweepAnswer::new(&found), text)
}

fn grid(axes: &[String]) -> Result<Sweep, Usage> {
    let axes = axes.iter().map(|axis| Axis::parse(axis)).collect::<Result<Vec<_>, _>>();
    axes.and_then(Sweep::new).map_err(|error| Usage(error.to_string()))
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Shows how much of a computation is done, and ends it at the first signal.
struct Watched {
    bar: ProgressBar,
    interrupted: Interrupted,
}

impl Watched {
    /// `verb` says what is done, `unit` with what; of so many parts.
    fn new(verb: &str, parts: u64, unit: &str) -> Watched {
        let bar = ProgressBar::new(parts);
        if let Ok(style) = ProgressStyle::with_template(&format!("{verb} {{wide_bar}} {{pos}}/{{len}} {unit}")) {
            bar.set_style(style.progress_chars("=> "));
        }
        Watched { bar, interrupted: Interrupted::watch() }
    }

    fn done(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Watched {
    fn part_done(&self) {
        self.bar.inc(1);
    }

    fn is_over(&self) -> bool {
        self.interrupted.is_set()
    }
}

/// Writes the wakeups of one case's first run as an ordinary recording: a task for each thread or source by name.
fn record(experiment: &Experiment, case: Option<&str>, path: &Path) -> anyhow::Result<()> {
    let mut by_name: BTreeMap<String, Vec<Wakeup>> = BTreeMap::new();
    experiment.wakeups(case, 0, |name, wakeup| by_name.entry(name.to_owned()).or_default().push(*wakeup))?;
    let tasks = by_name.iter().zip(1..).map(|((name, wakeups), tid)| Task {
        measure: name.clone(),
        tid,
        cpu: wakeups.first().map(|wakeup| wakeup.cpu),
        period_ns: period_of(wakeups),
        counters: Counters { missed: Some(0), ..Counters::default() },
    });
    let cpus = by_name.values().flatten().map(|wakeup| wakeup.cpu).collect::<std::collections::BTreeSet<_>>();
    let provenance = Provenance {
        punctual_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: super::command_line(),
        run_id: punctual_kernel::host::run_id(),
        configuration: Configuration {
            policy: "simulated".to_owned(),
            via: experiment.name().to_owned(),
            cpus: cpus.into_iter().collect(),
            bpf: true,
            ..Configuration::default()
        },
        load: LoadInfo { name: case.unwrap_or(experiment.name()).to_owned(), ..LoadInfo::default() },
        blind: vec!["everything that is not in the experiment: this machine was simulated".to_owned()],
        ..Provenance::default()
    };
    let mut writer = Writer::create(path, provenance, tasks.collect())?;
    for (index, (wakeups, tid)) in by_name.values().zip(1..).enumerate() {
        for wakeup in wakeups {
            writer.push(index, &Wakeup { tid, ..*wakeup });
        }
        writer.flush()?;
    }
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 0 }, Vec::new())?;
    Ok(())
}

/// The usual time between the due times of wakeups, ns; 0 for less than two.
fn period_of(wakeups: &[Wakeup]) -> u64 {
    let mut gaps: Vec<u64> = wakeups.windows(2).map(|pair| pair[1].expected_ns.abs_diff(pair[0].expected_ns)).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(0)
}

fn timeline(arguments: &SimTimelineArguments, output: Output) -> anyhow::Result<u8> {
    artifacts::check(arguments.html.as_ref())?;
    artifacts::check(arguments.perfetto.as_ref())?;
    let (mut code, mut written) = (0, Artifacts::default());
    let experiment = experiment(&arguments.experiment)?;
    let to = arguments.to.unwrap_or(arguments.from.saturating_add(50_000_000));
    let picoseconds = |nanoseconds: u64| nanoseconds.saturating_mul(NANOSECOND);
    let timeline = experiment.timeline(arguments.case.as_deref(), picoseconds(arguments.from), picoseconds(to))?;
    let case = arguments.case.as_deref().or_else(|| experiment.cases().next()).unwrap_or_default();
    if let Some(path) = &arguments.html {
        let title = format!("{} {case}", experiment.name());
        code = written.write(path, punctual_report::sim::timeline::html(&timeline, title.trim()));
    }
    if let Some(path) = &arguments.perfetto {
        code = code.max(written.write(path, punctual_report::sim::trace::trace(&timeline)));
    }
    let verdict = format!(
        "{} stretches and {} finished activations between {} and {}.",
        timeline.slices.len(),
        timeline.activations.len(),
        format_ns(arguments.from),
        format_ns(to)
    );
    answer(output, &written, code, || Done::new("punctual.timeline/1", &verdict), || verdict.clone())
}

/// A prediction that fails for no listed reason is a limit exceeded.
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
        watched.bar = Watched::new("breaking mechanisms:", parts, "cases").bar;
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

fn whatif(arguments: &SimWhatifArguments, output: Output) -> anyhow::Result<u8> {
    artifacts::check(arguments.html.as_ref())?;
    artifacts::check(arguments.output.as_ref())?;
    let question = question(arguments)?;
    question.check_question().map_err(|error| Usage(error.to_string()))?;
    if arguments.sweep.is_empty() {
        let parts = 1 + question.interference.as_ref().map_or(0, |_| question.repetitions());
        let watched = Watched::new("simulating", parts, "repetitions");
        let found = question.answer_with_interval(threads(), &watched)?;
        watched.done();
        return answer(
            output,
            &Artifacts::default(),
            u8::from(found.interrupted),
            || WhatifAnswer::new(&found),
            || punctual_report::sim::whatif_text(&found),
        );
    }
    let usage = |error: punctual_sim::Error| Usage(error.to_string());
    let grid = grid(&arguments.sweep)?;
    for axis in grid.axes() {
        // A name that the context does not have is a mistake, not a grid of impossible machines.
        let first = axis.values.first().copied().unwrap_or(0);
        question.with(&axis.name, first).map_err(usage)?;
    }
    let shard = arguments.shard.as_deref().map(Shard::parse).transpose().map_err(usage)?.unwrap_or(Shard::WHOLE);
    let watched = Watched::new("sweeping", grid.points(), "points");
    let points = punctual_study::sweep::sweep(
        &question,
        &grid,
        shard,
        arguments.output.as_deref(),
        &watched,
        &mut |_, total| {
            watched.bar.set_length(total as u64);
        },
    );
    watched.done();
    let (points, interrupted) = (points?, watched.is_over());
    let (mut code, mut written) = (u8::from(interrupted), Artifacts::default());
    if let Some(path) = &arguments.html {
        let title = format!("Missed buffers of {} in {}", arguments.device, arguments.context);
        code = code.max(written.write(path, whatif_page(&grid, &points, interrupted, &title).map_err(usage)?));
    }
    answer(
        output,
        &written,
        code,
        || WhatifSweepAnswer::new(&grid, &points, interrupted),
        || punctual_report::sim::sweep::text(&grid, &points, interrupted),
    )
}

/// The page of a sweep, whose axes have their units on it.
fn whatif_page(grid: &Sweep, points: &[Point], interrupted: bool, title: &str) -> Result<String, punctual_sim::Error> {
    let cell = |point: &Point| match &point.outcome {
        Some(outcome) => Cell::Count(outcome.misses),
        None => Cell::Impossible,
    };
    let cells: Vec<(u64, Cell)> = points.iter().map(|point| (point.number, cell(point))).collect();
    let with_unit = |axis: &Axis| {
        let unit = match axis.name.as_str() {
            "period" | "runtime" => ", ms",
            "compute" => ", us",
            _ => "",
        };
        Axis { name: format!("{}{unit}", axis.name), ..axis.clone() }
    };
    let drawn = Sweep::new(grid.axes().iter().map(with_unit).collect())?;
    let verdict = punctual_report::sim::sweep::verdict(grid, points, interrupted);
    Ok(plane_html(&drawn, &cells, title, "punctual sim whatif", &verdict))
}

fn question(arguments: &SimWhatifArguments) -> anyhow::Result<WhatIf> {
    let device = Catalogue::shipped().parse_spec(&arguments.device).map_err(|error| Usage(error.to_string()))?;
    let context = Context::parse(&arguments.context).map_err(Usage)?;
    let mut question =
        WhatIf::new(device.period_ns * NANOSECOND, u64::from(device.buffers), device.compute_ns * NANOSECOND, context);
    let sampling = Sampling::of(&device);
    question.ring = Some(RingSize { samples: sampling.samples, size: sampling.ring.into() });
    question.duration = arguments.duration.saturating_mul(NANOSECOND);
    question.seed = arguments.seed;
    question.bystander = arguments.bystander.map(|priority| (priority, MILLISECOND));
    for competitor in &arguments.competitor {
        let priority = competitor.strip_prefix("spin:").and_then(|priority| priority.parse::<u8>().ok());
        let priority = priority.filter(|priority| (1..=99).contains(priority));
        question.competitors.push(priority.ok_or_else(|| {
            Usage(format!("`{competitor}` is no competitor: write spin:PRIORITY with a priority from 1 to 99"))
        })?);
    }
    question.rounds = rounds(&arguments.interference)?;
    question.interference = Interference::joined(&question.rounds);
    Ok(question)
}

/// At most so many recordings are asked about at once: more do not make an interval any surer.
const MAX_RECORDINGS: usize = 100;

/// What each recording met.
fn rounds(paths: &[PathBuf]) -> anyhow::Result<Vec<Interference>> {
    if paths.len() > MAX_RECORDINGS {
        return Err(Usage(format!("--interference: at most {MAX_RECORDINGS} recordings, not {}", paths.len())).into());
    }
    let mut rounds: Vec<Interference> = Vec::new();
    for path in paths {
        let next = interference(path)?;
        if let Some(first) = rounds.first().filter(|first| first.period_ns() != next.period_ns()) {
            let periods = [first, &next].map(|known| format_ns(known.period_ns()));
            return Err(Usage(format!(
                "{}: its task wakes every {}, that of the first recording every {}: record all of them alike",
                path.display(),
                periods[1],
                periods[0]
            ))
            .into());
        }
        rounds.push(next);
    }
    Ok(rounds)
}

/// What one recorded task met. Of several, the one whose wakeups were latest in sum: the worst of the machine's CPUs.
fn interference(path: &Path) -> anyhow::Result<Interference> {
    let recording = Recording::open(path)?;
    let mut by_task: BTreeMap<u32, u64> = BTreeMap::new();
    recording.for_each_wakeup(|wakeup| {
        let sum = by_task.entry(wakeup.tid).or_default();
        *sum = sum.saturating_add(wakeup.total_ns);
    })?;
    let worst = by_task.into_iter().max_by_key(|(_, late)| *late);
    let (tid, _) = worst.with_context(|| format!("{}: holds no wakeup", path.display()))?;
    let task = recording.document().tasks.iter().find(|task| task.tid == tid);
    let period = task.map(|task| task.period_ns).filter(|period| *period > 0);
    let period = period.with_context(|| format!("{}: holds no periodic task", path.display()))?;
    let made = Interference::from_passes(period, |take| {
        recording.for_each_wakeup(|wakeup| {
            if wakeup.tid == tid {
                take(wakeup);
            }
        })
    });
    Ok(made?)
}
