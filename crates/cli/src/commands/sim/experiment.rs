//! `punctual sim run`.

use super::{FAILED, Watched, answer, experiment_of, only, threads, with_units};
use crate::args::SimRunArguments;
use crate::commands::artifacts::{self, Artifacts};
use crate::output::{self, Output, Usage};
use punctual_recording::{Configuration, Counters, EndReason, Ended, LoadInfo, Provenance, Task, Wakeup, Writer};
use punctual_report::sim::plane::{Cell, plane_html};
use punctual_report::sim::{ExperimentAnswer, ExperimentSweep, ExperimentSweepAnswer};
use punctual_sim::experiment::{Experiment, Setting, setting};
use punctual_sim::sweep::{Axis, Sweep};
use punctual_sim::watch::Watch as _;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn run(arguments: &SimRunArguments, output: Output) -> anyhow::Result<u8> {
    artifacts::check(arguments.html.as_ref())?;
    let mut experiment = experiment_of(&arguments.experiment)?;
    if !arguments.set.is_empty() {
        experiment = with_settings(&experiment, &arguments.set)?;
    }
    let with_one_case = arguments.case.as_deref().map(|case| only(&experiment, case)).transpose()?;
    if !arguments.sweep.is_empty() {
        return sweep_experiment(&experiment, arguments, output);
    }
    experiment = with_one_case.unwrap_or(experiment);
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

/// The experiment with these keys changed. If a single key is wrong, the error names it.
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
    // A key that is not in the file is an error: it must not become a grid of impossible machines.
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
        let verdict = punctual_report::experiment_sweep_verdict(&found);
        // A reservation is in slots, whose length is a setting of the machine; times bring their units with them.
        let is_in_slots =
            |name: &str| ["runtime", "period"].iter().any(|key| name.ends_with(&format!("reservation.{key}")));
        let drawn = with_units(&grid, |name| if is_in_slots(name) { ", slots" } else { "" })?;
        let page = plane_html(&drawn, &cells, experiment.name(), "punctual sim run", &verdict);
        code = code.max(written.write(path, page));
    }
    let text = || punctual_report::sim::experiment_sweep_text(&found);
    answer(output, &written, code, || ExperimentSweepAnswer::new(&found), text)
}

/// Writes the wakeups of one case's first run as an ordinary recording, with a task by name for each thread or source.
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
        command_line: crate::commands::command_line(),
        run_id: punctual_kernel::host::run_id(),
        configuration: Configuration {
            policy: "simulated".to_owned(),
            via: experiment.name().to_owned(),
            cpus: cpus.into_iter().collect(),
            bpf: true,
            ..Configuration::default()
        },
        load: LoadInfo { name: case.unwrap_or(experiment.name()).to_owned(), ..LoadInfo::default() },
        blind: vec!["everything that is not in the experiment, because this machine was simulated".to_owned()],
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

/// The usual time between the due times of wakeups, ns; 0 if there are fewer than two.
fn period_of(wakeups: &[Wakeup]) -> u64 {
    let mut gaps: Vec<u64> = wakeups.windows(2).map(|pair| pair[1].expected_ns.abs_diff(pair[0].expected_ns)).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(0)
}
