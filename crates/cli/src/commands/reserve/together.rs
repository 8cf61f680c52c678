//! Finds reservations for several soft devices that work at once.

use super::find;
use crate::args::reserve::FindArguments;
use crate::commands::artifacts::Artifacts;
use crate::output::{self, Output, Usage};
use crate::progress::{ReadyProgress, StepProgress};
use crate::signals::Interrupted;
use punctual_kernel::scheduling::allowed_cpus;
use punctual_recording::Directory;
use punctual_report::reserve::{
    ReserveEnd, TogetherAnswer, TogetherDevice, TogetherReport, together_html, together_text,
};
use punctual_report::{after_reserve_together, comparison_verdict};
use punctual_reserve::Setting;
use punctual_study::reserve::{
    DeviceSubject, Measured, Member, ReservePlan, ReserveProgress, StudyEnd, Subject, Together, together,
};

/// How many devices or threads are tried at once.
pub(super) const MAX_AT_ONCE: usize = 16;

/// The devices, if the user asked for several.
pub(super) fn asked(arguments: &FindArguments) -> Option<Vec<&str>> {
    let names: Vec<&str> = arguments.device.as_deref()?.split(',').collect();
    (names.len() > 1).then_some(names)
}

pub(super) fn run(arguments: &FindArguments, names: &[&str], output: Output) -> anyhow::Result<u8> {
    if names.len() > MAX_AT_ONCE {
        return Err(Usage(format!("at most {MAX_AT_ONCE} devices work at once here")).into());
    }
    if arguments.spinners.is_some() {
        return Err(Usage("--spinners are for one device: name one, or leave them out".to_owned()).into());
    }
    crate::commands::artifacts::check(arguments.html.as_ref())?;
    let subjects =
        names.iter().map(|name| find::device(arguments, name)).collect::<anyhow::Result<Vec<DeviceSubject>>>()?;
    let plan = find::plan(arguments, Subject::Device(Box::new(subjects[0].clone())))?;
    let directory = Directory::make(&plan.directory)?;
    let interrupted = Interrupted::watch();
    let mut ready = ReadyProgress::new(arguments.quiet);
    let mut progress = StepProgress::new(arguments.quiet, "reserve");
    let result =
        together(&plan, &subjects, &mut |stage| ready.show(stage) && !interrupted.is_set(), &mut |place, now| {
            show(&mut progress, names.get(place).copied(), now);
            !interrupted.is_set()
        });
    ready.done();
    progress.done();
    if result.is_err() {
        directory.discard_if_empty();
    }
    Ok(answer(arguments, &plan, &result?, names, output))
}

/// Answers what was found of devices, which are named as on the command line, or else of threads. Returns the exit code.
pub(super) fn answer(
    arguments: &FindArguments,
    plan: &ReservePlan,
    found: &Together,
    names: &[&str],
    output: Output,
) -> u8 {
    let competitors: Vec<String> = arguments.competitor.iter().map(ToString::to_string).collect();
    let beside = super::added(&competitors, plan);
    let mut report = report(found, (names, arguments.device.is_none()), &beside, &plan.directory);
    report.next = after_reserve_together(&report, &competitors, &plan.command_line);
    let is_found = report.is_proven() || found.rounds == 0 && all_have_one(&report);
    let code = u8::from(!is_found || arguments.apply && !found.stays);
    let mut artifacts = Artifacts::default();
    let page = || together_html(&report, super::first_document(&plan.directory).as_ref());
    let code = code.max(arguments.html.as_ref().map_or(0, |path| artifacts.write(path, page())));
    if output.json {
        output::answer_beside(artifacts.failure(), TogetherAnswer::new(&report), code);
    } else {
        output::print_text(&together_text(&report));
    }
    code
}

fn all_have_one(report: &TogetherReport<'_>) -> bool {
    report.end == ReserveEnd::Finished
        && report.rows.len() == report.of
        && report.rows.iter().all(|row| row.reservation.is_some())
}

pub(super) fn show(progress: &mut StepProgress, device: Option<&str>, now: &ReserveProgress) {
    let what = find::doing_in_words(now.doing);
    let what = device.map_or_else(|| what.clone(), |device| format!("{device}, {what}"));
    progress.show(&what, now.elapsed, now.duration);
}

fn report<'a>(
    found: &'a Together,
    (names, of_threads): (&[&'a str], bool),
    beside: &'a str,
    directory: &'a std::path::Path,
) -> TogetherReport<'a> {
    let counts = |measured: &Measured| (measured.counts, measured.share_thousandths());
    let row = |(member, spec): (&'a Member, &&'a str)| TogetherDevice {
        device: &member.study.chosen.name,
        tid: member.study.chosen.tid,
        spec: spec.trim(),
        job: member.study.job,
        lateness_ns: member.study.lateness_ns,
        trials: &member.study.trials,
        tried: member.study.trials.iter().filter(|trial| matches!(trial.setting, Setting::Reserved(_))).count(),
        grid: member.study.grid,
        reservation: member.reservation,
        why: member.why.as_deref(),
        before: counts(&member.before),
        with: counts(&member.with),
    };
    TogetherReport {
        of_threads,
        rows: found.members.iter().zip(names).map(row).collect(),
        of: names.len(),
        rounds: found.rounds,
        raised: found.raised,
        end: match found.end {
            StudyEnd::Finished => ReserveEnd::Finished,
            StudyEnd::Interrupted => ReserveEnd::Interrupted,
            StudyEnd::ProgramEnded => ReserveEnd::ProgramEnded,
        },
        comparison: found
            .comparison
            .as_ref()
            .map(|comparison| comparison.as_ref().map(comparison_verdict).map_err(String::as_str)),
        stays: found.stays,
        notes: &found.notes,
        cpus: allowed_cpus().len(),
        limit_thousandths: found.limit_thousandths,
        beside,
        directory,
        next: Vec::new(),
    }
}
