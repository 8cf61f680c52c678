//! `punctual record`.

use super::artifacts::Artifacts;
use super::bare_interval::frames_or_time;
use super::looked_after::{LookedAfter, looked_after};
use super::unread::Unread;
use crate::args::{FollowArguments, PolicyName, RecordArguments, ThreadArguments, ViaName};
use crate::output::{self, Output, Usage};
use crate::progress::{Around, Progress, ReadyProgress, Steps};
use crate::signals::Interrupted;
use punctual_load::{Load, NotRunnable};
use punctual_probe::{Plan, Policy, Selection, Via};
use punctual_recording::{EndReason, LimitSpec, Stage};
use punctual_report::{EXPORTS, Measurement};
use punctual_study::usual_devices;
use std::time::Duration;

/// How long a measurement takes if the user sets no time, ns.
const DEFAULT_NS: u64 = 60_000_000_000;

pub(crate) fn run(arguments: &RecordArguments, output: Output) -> anyhow::Result<u8> {
    super::artifacts::check_page(arguments.html.as_ref())?;
    let plan = plan(arguments)?;
    let load = load(arguments, &plan)?;
    let interrupted = Interrupted::watch();
    let mut progress = Progress::new(arguments.threads.quiet, "recording");
    let mut ready = ReadyProgress::new(arguments.threads.quiet);
    let around = Around::begin();
    let result = punctual_study::record_under_watched(
        plan.clone(),
        &load,
        &mut |stage| ready.show(around.ready(stage)) && !interrupted.is_set(),
        &mut |observation| {
            around.observed();
            progress.show(observation);
            interrupted.step()
        },
    );
    ready.done();
    progress.done();
    let outcome = result?;
    let programs = plan.bpf || plan.follow.is_some();
    around.tell(Steps { programs, load: !load.is_none(), evidence: plan.why.is_some() });
    let exit_code = super::limits_exit_code(&outcome.document.limits);
    let exit_code = exit_code.max(super::load_exit_code([&outcome.document], arguments.ignore_failure));
    let failed = outcome.document.ended.as_ref().is_some_and(|ended| ended.reason.is_failure());
    // Punctual's own threads wake every period: if none did in a run of several periods, the run is no verdict on
    // anything.
    let measured_nothing = plan.follow.is_none()
        && outcome.document.counters.wakeups == 0
        && plan.duration_ns.is_some_and(|duration| duration > plan.interval_ns.saturating_mul(4))
        && outcome.document.ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Completed);
    let mut measurement = Measurement {
        parts: vec![(plan.output, outcome.document)],
        exit_code: if failed || measured_nothing { 1 } else { exit_code },
        ..Measurement::default()
    };
    measurement.verdict = punctual_report::recording_verdict(&[&measurement.parts[0].1]);
    let mut artifacts = Artifacts::default();
    if let Some(period_ns) = arguments.follow.period {
        let recording = vec![measurement.parts[0].0.clone()];
        let limits_ns = arguments.limit.as_ref().map_or(&[][..], |limits| &limits.of_cycles_ns);
        let mut unread = Unread::default();
        super::report::count_cycles(&mut measurement, &[recording], Some(period_ns), limits_ns, &mut unread);
        measurement.exit_code = measurement.exit_code.max(unread.tell(&mut artifacts));
    }
    measurement.next = punctual_report::after_measurement(&measurement, &punctual_load::names());
    if let Some(file) = &arguments.html {
        let recording = std::slice::from_ref(&measurement.parts[0].0);
        let code = super::report::write_page(file, recording, &usual_devices(), None, &mut artifacts);
        measurement.exit_code = measurement.exit_code.max(code);
    }
    if let Some(export) = EXPORTS.iter().find(|export| arguments.hist && export.name == "hist") {
        output::note(&measurement.verdict);
        output::print_lines(&(export.text)(&measurement));
    } else {
        output.measurement_and_next(&measurement, artifacts.failure());
    }
    Ok(measurement.exit_code)
}

fn plan(arguments: &RecordArguments) -> Result<Plan, Usage> {
    let mut plan = plan_of_chain(&arguments.threads, arguments.policy, arguments.via)?;
    plan.follow = selection(&arguments.follow)?;
    plan.stamps.clone_from(&arguments.stamps);
    let default = if arguments.program.is_empty() { Some(DEFAULT_NS) } else { None };
    plan.duration_ns = arguments.duration.or(default);
    plan.break_ns = arguments.break_ns;
    plan.why = arguments.why.settings();
    if let Some(why) = plan.why.filter(|why| plan.follow.is_none() && why.stage.holds_work()) {
        let stage = why.stage.name();
        return Err(Usage(format!(
            "--why-stage {stage} goes with --pid, --tid, --comm or --follow: punctual's own threads do no work"
        )));
    }
    let of_work = |stage: Stage| matches!(stage, Stage::Work | Stage::Response);
    let mut stages = arguments.limit.iter().flat_map(|limits| &limits.of_wakeups).map(LimitSpec::stage);
    if let Some(stage) = stages.find(|stage| plan.follow.is_none() && of_work(*stage)) {
        let stage = stage.name();
        return Err(Usage(format!(
            "--limit {stage}: goes with --pid, --tid, --comm or --follow: punctual's own threads do no work"
        )));
    }
    plan.followed_period_ns = arguments.follow.period;
    if plan.followed_period_ns.is_some() && plan.follow.is_none() {
        return Err(Usage(
            "--period is for other programs' loops: name them with --comm, --pid or --tid, or start one with --follow; punctual's own \
             threads wake every -i"
                .to_owned(),
        ));
    }
    let has_cycles = arguments.limit.as_ref().is_some_and(|limits| !limits.of_cycles_ns.is_empty());
    if has_cycles && plan.followed_period_ns.is_none() {
        return Err(Usage("--limit cycle: goes with --period: how often the loop should start over".to_owned()));
    }
    plan.limits = arguments.limit.as_ref().map(|limits| limits.of_wakeups.clone()).unwrap_or_default();
    plan.output = arguments.output.clone().unwrap_or_else(|| super::fresh_name("", ".punctual"));
    if arguments.threads.interval.is_some()
        && let Some(said) = frames_or_time(&plan.command_line)
    {
        output::note(&said);
    }
    Ok(plan)
}

/// The plan of the options that say which threads are measured, and what wakes them.
pub(super) fn plan_of_chain(threads: &ThreadArguments, policy: PolicyName, via: ViaName) -> Result<Plan, Usage> {
    let policy = match policy {
        PolicyName::Fifo => Policy::Fifo,
        PolicyName::Rr => Policy::RoundRobin,
        PolicyName::Other => Policy::Other,
        PolicyName::Deadline => Policy::Deadline,
    };
    let mut plan = super::plan(threads, policy)?;
    plan.via = match via {
        ViaName::Timer => Via::Timer,
        ViaName::Softirq => Via::Softirq,
    };
    if plan.via == Via::Softirq && !plan.bpf {
        return Err(Usage("--via softirq uses BPF programs: it does not work with --no-bpf".to_owned()));
    }
    Ok(plan)
}

fn selection(arguments: &FollowArguments) -> Result<Option<Selection>, Usage> {
    let mut selection = Selection::default();
    selection.processes.clone_from(&arguments.pid);
    for LookedAfter { by, program } in looked_after(&arguments.pid) {
        output::note(&format!("process {by} looks after a reservation: following process {program}, which it runs"));
        selection.processes.iter_mut().filter(|process| **process == by).for_each(|process| *process = program);
    }
    selection.threads.clone_from(&arguments.tid);
    selection.command = arguments.follow;
    for expression in &arguments.comm {
        selection.add_name(expression).map_err(|error| Usage(error.to_string()))?;
    }
    Ok(Some(selection).filter(|selection| !selection.is_empty()))
}

fn load(arguments: &RecordArguments, plan: &Plan) -> Result<Load, NotRunnable> {
    let limit = plan.duration_ns.map(Duration::from_nanos);
    let mut load = arguments.busy.together(limit)?;
    if !arguments.program.is_empty() {
        load.add_program(arguments.program.clone());
    }
    Ok(load)
}
