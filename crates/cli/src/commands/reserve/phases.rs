//! Finds a reservation for each phase of a soft device.

use super::find;
use crate::args::reserve::FindArguments;
use crate::commands::artifacts::{self, Artifacts};
use crate::commands::device::PHASES_NEED_THE_FILTER;
use crate::output::{self, Output, Usage};
use crate::progress::{ReadyProgress, StepProgress};
use crate::signals::Interrupted;
use punctual_recording::Directory;
use punctual_report::reserve::{
    PhaseRow, PhasesAnswer, PhasesReport, ProofReport, ReserveEnd, phases_html, phases_text,
};
use punctual_report::{after_reserve_phases, comparison_verdict};
use punctual_study::device::DeviceWork;
use punctual_study::reserve::{PhaseFound, Phased, ReservePlan, StudyEnd, Subject, phased};

/// Each phase takes minutes of searching.
const MAX_PHASES: usize = 16;
/// A phase has at least so many blocks, as an attempt has: fewer tell nothing, and one without any would be proven by the others.
const MIN_BLOCKS: u64 = 20;

pub(super) fn run(arguments: &FindArguments, output: Output) -> anyhow::Result<u8> {
    let spec = arguments.device.as_deref().unwrap_or_default();
    check(arguments, spec)?;
    let device = find::device(arguments, spec)?;
    if device.work != DeviceWork::Filter {
        return Err(Usage(PHASES_NEED_THE_FILTER.to_owned()).into());
    }
    artifacts::check(arguments.html.as_ref())?;
    let plan = find::plan(arguments, Subject::Device(Box::new(device.clone())))?;
    let directory = Directory::make(&plan.directory)?;
    let interrupted = Interrupted::watch();
    let mut ready = ReadyProgress::new(arguments.quiet);
    let mut progress = StepProgress::new(arguments.quiet, "reserve");
    let phases = &arguments.phases;
    let result =
        phased(&plan, &device, phases, &mut |stage| ready.show(stage) && !interrupted.is_set(), &mut |place, now| {
            let doing = find::doing_in_words(now.doing);
            let what = if place < phases.len() { format!("phase {}, {doing}", place + 1) } else { doing };
            progress.show(&what, now.elapsed, now.duration);
            !interrupted.is_set()
        });
    ready.done();
    progress.done();
    if result.is_err() {
        directory.discard_if_empty();
    }
    let found = result?;
    let comparison = found.proof.as_ref().map(|proof| proof.comparison.as_ref().map(comparison_verdict));
    let competitors: Vec<String> = arguments.competitor.iter().map(ToString::to_string).collect();
    let beside = super::added(&competitors, &plan);
    let mut report = report(&found, (device.profile.id.as_str(), phases.len()), comparison, &beside, &plan);
    report.next = after_reserve_phases(&report, spec, &competitors, &plan.command_line);
    let is_enough = report.is_proven() || plan.rounds == 0 && report.end == ReserveEnd::Finished && report.is_found();
    let mut artifacts = Artifacts::default();
    let html = || phases_html(&report, super::first_document(&plan.directory).as_ref());
    let page = arguments.html.as_ref().map_or(0, |path| artifacts.write(path, html()));
    let code = page.max(u8::from(!is_enough));
    if output.json {
        output::answer_beside(artifacts.failure(), PhasesAnswer::new(&report, code), 0);
    } else {
        output::print_text(&phases_text(&report));
    }
    Ok(code)
}

/// Refuses phases that cannot be had.
fn check(arguments: &FindArguments, spec: &str) -> anyhow::Result<()> {
    let wrong = if spec.contains(',') {
        "--phases goes with one device"
    } else if arguments.phases.len() > MAX_PHASES {
        "at most 16 phases have reservations of their own here"
    } else if arguments.phases.iter().any(|phase| phase.length_ns == u64::MAX) {
        "every phase needs its time, such as 90@7200Hz:5s"
    } else if arguments.phases.iter().any(|phase| phase.length_ns / MIN_BLOCKS < phase.period_ns) {
        "every phase needs time for 20 of its blocks, such as 90@7200Hz:250ms"
    } else if arguments.phases.iter().any(|phase| phase.reservation.is_some()) {
        "the reservation of a phase is what is looked for: leave it out"
    } else {
        return Ok(());
    };
    Err(Usage(wrong.to_owned()).into())
}

fn report<'a>(
    found: &'a Phased,
    (device, of): (&'a str, usize),
    comparison: Option<Result<String, &'a String>>,
    beside: &'a str,
    plan: &'a ReservePlan,
) -> PhasesReport<'a> {
    let row = |one: &'a PhaseFound| PhaseRow {
        samples: one.phase.samples,
        length_ns: one.phase.length_ns,
        job: one.study.job,
        lateness_ns: one.study.lateness_ns,
        trials: &one.study.trials,
        grid: one.study.grid,
        reservation: one.reservation,
    };
    let proof = found.proof.as_ref().zip(comparison).map(|(proof, comparison)| ProofReport {
        before: proof.before(),
        with: proof.with(),
        rounds: proof.rounds.len(),
        comparison: comparison.map_err(String::as_str),
    });
    PhasesReport {
        device,
        rows: found.phases.iter().map(row).collect(),
        of,
        proof,
        raised: found.raised,
        end: match found.end {
            StudyEnd::Finished => ReserveEnd::Finished,
            StudyEnd::Interrupted => ReserveEnd::Interrupted,
            StudyEnd::ProgramEnded => ReserveEnd::ProgramEnded,
        },
        notes: &found.notes,
        beside,
        directory: &plan.directory,
        next: Vec::new(),
    }
}
