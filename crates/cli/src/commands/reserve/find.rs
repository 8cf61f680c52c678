//! Finds, proves and applies a reservation.

use super::{alone, applied};
use crate::args::reserve::FindArguments;
use crate::commands::artifacts::Artifacts;
use crate::output::{self, Output, Usage};
use crate::progress::{ReadyProgress, StepProgress};
use crate::signals::Interrupted;
use punctual_context::device::Competitor;
use punctual_kernel::other_thread::Before;
use punctual_kernel::reservation_watch::{Freed, Stuck};
use punctual_kernel::scheduling::Scheduling;
use punctual_recording::{Directory, counted, format_ns};
use punctual_report::reserve::{
    self, Later, OtherThread, ProofReport, ReserveAnswer, ReserveEnd, ReserveReport, SpinnersReport,
};
use punctual_report::{ReserveAsked, ReserveSubject, after_reserve, comparison_verdict, shell_word};
use punctual_reserve::Setting;
use punctual_study::reserve::{
    Afterwards, DeviceSubject, Doing, ReservePlan, ReserveProgress, Reserved, Running, StudyEnd, Subject,
};
use std::ffi::OsString;
use std::time::Duration;

/// How often to check whether a program that keeps its reservation has ended.
const ROUND: Duration = Duration::from_millis(50);

pub(super) fn run(arguments: &FindArguments, output: Output) -> anyhow::Result<u8> {
    let plan = plan(arguments, subject(arguments)?)?;
    crate::commands::artifacts::check(arguments.html.as_ref())?;
    if arguments.apply {
        applied::check()?;
    }
    let _alone = alone::with(&arguments.pid)?;
    // Check who owns the directory before anything is measured for it.
    let directory = Directory::make(&plan.directory)?;
    let interrupted = Interrupted::watch();
    let mut ready = ReadyProgress::new(arguments.quiet);
    let mut progress = StepProgress::new(arguments.quiet, "reserve");
    let mut tell = |before: &[Before]| applied::note(before);
    let afterwards = if arguments.apply { Afterwards::Stay(&mut tell) } else { Afterwards::PutBack };
    let result = punctual_study::reserve::find(
        &plan,
        afterwards,
        &mut |stage| ready.show(stage) && !interrupted.is_set(),
        &mut |now| {
            show(&mut progress, now);
            !interrupted.is_set()
        },
    );
    ready.done();
    progress.done();
    if result.is_err() {
        directory.discard_if_empty();
    }
    let (study, running) = result?;
    let comparison = study.proof.as_ref().map(|proof| proof.comparison.as_ref().map(comparison_verdict));
    let competitors: Vec<String> = arguments.competitor.iter().map(ToString::to_string).collect();
    let crowd = Some(spinners(&plan, &study)).filter(|count| *count > 0);
    let crowd = crowd.map(|count| format!("{count} spin:normal on each CPU"));
    let beside = super::added(&competitors.into_iter().chain(crowd).collect::<Vec<String>>(), &plan);
    let mut report = report(&plan, &study, comparison, &beside);
    report.next = after_reserve(&report, &asked(arguments, &plan, &study));
    let is_found = report.is_proven() || plan.rounds == 0 && report.recommended.is_some();
    let code = u8::from(!is_found || arguments.apply && !report.stays);
    let mut artifacts = Artifacts::default();
    let page = || reserve::html(&report, super::first_document(&plan.directory).as_ref());
    let code = code.max(arguments.html.as_ref().map_or(0, |path| artifacts.write(path, page())));
    if output.json {
        output::answer_beside(artifacts.failure(), ReserveAnswer::new(&report, code), 0);
    } else {
        output::print_text(&reserve::text(&report));
    }
    let keeps_it = running.is_none_or(|running| until_it_ends(running, &interrupted));
    Ok(code.max(u8::from(!keeps_it)))
}

/// Waits for a command that keeps its reservation; returns whether it did to its end.
fn until_it_ends(mut running: Running<'_>, interrupted: &Interrupted) -> bool {
    output::note("the command keeps running with its reservation; Ctrl-C ends it");
    let mut keeps_it = true;
    while !running.has_ended() && !interrupted.is_set() {
        for Stuck { tid, freed } in running.free_stuck() {
            keeps_it &= freed == Freed::SetAnew;
            output::note(&match freed {
                Freed::SetAnew => {
                    format!(
                        "thread {tid} had work to do and time reserved, but the kernel did not let it run: its reservation was set anew"
                    )
                }
                Freed::GivenUp(why) => format!("thread {tid} has no reservation any more: {why}"),
            });
        }
        std::thread::sleep(ROUND);
    }
    keeps_it
}

/// The soft device that the user asked for.
pub(super) fn device(arguments: &FindArguments, name: &str) -> anyhow::Result<DeviceSubject> {
    let catalogue = crate::commands::device::catalogue(arguments.profiles.as_deref())?;
    let profile = catalogue.parse_spec(name.trim()).map_err(|error| {
        // A subcommand stands where a device may stand, too.
        let names = crate::help::subcommands(&["punctual", "reserve"].map(OsString::from));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let meant = punctual_device::nearest(name.trim(), &names);
        Usage(meant.map_or_else(
            || error.to_string(),
            |meant| format!("`{}` is neither a device nor a subcommand: did you mean `{meant}`?", name.trim()),
        ))
    })?;
    Ok(DeviceSubject {
        work: crate::commands::device::decode_or_filter(&profile, &catalogue, arguments.work.as_ref())?,
        profile,
        scheduling: arguments.context,
        competitors: arguments.competitor.clone(),
        cpu: crate::commands::device::chosen_cpu(None)?,
        phases: Vec::new(),
    })
}

fn subject(arguments: &FindArguments) -> anyhow::Result<Subject> {
    if let Some(name) = &arguments.device {
        return Ok(Subject::Device(Box::new(device(arguments, name)?)));
    }
    match arguments.pid.first() {
        Some(process) => Ok(Subject::Process(*process)),
        None if arguments.program.is_empty() => {
            let what = "a program is missing: name a command after --, a process with --pid, or a device";
            Err(Usage(what.to_owned()).into())
        }
        None => Ok(Subject::command(arguments.program.clone())),
    }
}

/// The command that runs devices with their reservations, which only a study can tell.
fn instead_of_apply(spec: &str) -> String {
    let devices: Vec<&str> = spec.split(',').map(str::trim).collect();
    if let [device] = devices[..] {
        return format!("punctual device run {} --context reservation:X/Y", shell_word(device));
    }
    let each: Vec<String> = devices.iter().map(|device| format!("{device}+reservation:X/Y")).collect();
    format!("punctual device mix {}", shell_word(&each.join(",")))
}

pub(super) fn plan(arguments: &FindArguments, subject: Subject) -> anyhow::Result<ReservePlan> {
    if let Some(spec) = arguments.device.as_deref().filter(|_| arguments.apply) {
        let what = format!(
            "--apply is for programs: a soft device's thread is punctual's own and ends with the run. Leave it out: the answer's \
             `next:` runs what was proven, as `{}`",
            instead_of_apply(spec)
        );
        return Err(Usage(what).into());
    }
    if arguments.apply && arguments.rounds == 0 {
        return Err(Usage("--apply needs a proof: leave out --rounds 0".to_owned()).into());
    }
    Ok(ReservePlan {
        subject,
        thread: arguments.thread.first().cloned(),
        deadline_ns: arguments.deadline,
        load: arguments.busy.together(None)?,
        measure_ns: arguments.measure,
        attempts: arguments.attempts,
        attempt_ns: arguments.attempt,
        priority: arguments.priority,
        full: arguments.full,
        max_spinners: arguments.spinners,
        rounds: arguments.rounds,
        round_ns: arguments.round,
        seed: arguments.seed,
        directory: arguments.output.clone().unwrap_or_else(|| crate::commands::fresh_name("reserve-", "")),
        command_line: crate::commands::command_line(),
    })
}

fn show(progress: &mut StepProgress, now: &ReserveProgress) {
    progress.show(&doing_in_words(now.doing), now.elapsed, now.duration);
}

/// What the study is doing now.
pub(super) fn doing_in_words(doing: Doing) -> String {
    match doing {
        Doing::Measuring => "looking for the job".to_owned(),
        Doing::Crowding(count) => format!("as it is beside {}", counted(count, "spinner")),
        Doing::Trying(Setting::AsItWas, number) => format!("trial {number}: as it is"),
        Doing::Trying(Setting::Priority(priority), number) => format!("trial {number}: fifo:{priority}"),
        Doing::Trying(Setting::Reserved(tried), number) => {
            format!("trial {number}: {} of every {}", format_ns(tried.budget_ns), format_ns(tried.period_ns))
        }
        Doing::Proving(number, all) => format!("proof {number} of {all}"),
    }
}

fn report<'a>(
    plan: &'a ReservePlan,
    study: &'a Reserved,
    comparison: Option<Result<String, &'a String>>,
    beside: &'a str,
) -> ReserveReport<'a> {
    let proof = study.proof.as_ref().zip(comparison).map(|(proof, comparison)| ProofReport {
        before: proof.before(),
        with: proof.with(),
        rounds: proof.rounds.len(),
        comparison: comparison.map_err(String::as_str),
    });
    // With a device, what is compared is a bystander.
    let compared = study.proof.as_ref().filter(|_| study.chosen.tid.is_some());
    let later = compared.and_then(|proof| Later::of(proof.comparison.as_ref().ok()?));
    let others = study.chosen.others.iter();
    ReserveReport {
        thread: &study.chosen.name,
        tid: study.chosen.tid,
        nth: study.nth.filter(|nth| nth.of > 1).map(|nth| nth.nth),
        scheduling: &study.chosen.scheduling,
        measured: study.chosen.job,
        job: study.job,
        lateness_ns: study.lateness_ns,
        spinners: study
            .spinners
            .as_ref()
            .map(|spinners| SpinnersReport { tried: &spinners.tried, fewest: spinners.fewest }),
        trials: &study.trials,
        grid: study.grid,
        takes_ns: plan.takes_ns(study.job.period_ns, study.grid),
        found: study.found,
        recommended: study.recommended,
        not_enough: &study.not_enough,
        refused: study.refused.as_deref(),
        proof,
        later,
        end: match study.end {
            StudyEnd::Finished => ReserveEnd::Finished,
            StudyEnd::Interrupted => ReserveEnd::Interrupted,
            StudyEnd::ProgramEnded => ReserveEnd::ProgramEnded,
        },
        stays: study.stays,
        others: others.map(|other| OtherThread { tid: other.tid, name: &other.name, job: other.job }).collect(),
        notes: &study.notes,
        load: if plan.load.is_none() { "" } else { &plan.load.name },
        beside,
        directory: &plan.directory,
        next: Vec::new(),
    }
}

/// What competed with a device, and so many spinners, as options have it.
fn competitors(device: &DeviceSubject, spinners: u32) -> Vec<String> {
    let more = (0..spinners).map(|_| Competitor::Spin(Scheduling::Other).to_string());
    device.competitors.iter().map(ToString::to_string).chain(more).collect()
}

/// How many spinners competed in the trials.
fn spinners(plan: &ReservePlan, study: &Reserved) -> u32 {
    let most = plan.max_spinners.unwrap_or(0);
    study.spinners.as_ref().map_or(0, |spinners| spinners.fewest.unwrap_or(most))
}

/// What the user asked the study, worded for the next step.
fn asked<'a>(arguments: &'a FindArguments, plan: &'a ReservePlan, study: &Reserved) -> ReserveAsked<'a> {
    let subject = match &plan.subject {
        Subject::Process(process) => ReserveSubject::Process(*process),
        Subject::Command(_) => ReserveSubject::Command(&arguments.program),
        Subject::Device(device) => ReserveSubject::Device(
            arguments.device.as_deref().unwrap_or(&device.profile.id),
            competitors(device, spinners(plan, study)),
        ),
    };
    ReserveAsked { subject, thread: format!("^{}$", regex::escape(&study.chosen.name)), words: &plan.command_line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_apply_is_told_the_command_that_runs_a_device() {
        for (spec, command) in [
            ("v90", "punctual device run v90 --context reservation:X/Y"),
            ("audio 64@48kHz x3", "punctual device run 'audio 64@48kHz x3' --context reservation:X/Y"),
            ("v90, modem", "punctual device mix v90+reservation:X/Y,modem+reservation:X/Y"),
        ] {
            assert_eq!(instead_of_apply(spec), command);
        }
    }
}
