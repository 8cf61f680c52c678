//! Which thread it is for, and what its job is.

use super::followed::Next;
use super::program::Program;
use super::subject::Tried as _;
use super::{Doing, ReservePlan, ReserveProgress, StudyEnd, Subject};
use crate::StudyError;
use punctual_kernel::other_thread::Before;
use punctual_probe::Selection;
use punctual_reserve::{Activation, MIN_PERIOD_NS, NotPeriodic, PeriodicJob, Setting, periodic};
use std::collections::HashMap;
use std::time::Duration;

/// A periodic thread.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// What it does.
    pub job: PeriodicJob,
}

/// The thread that was chosen.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// Its number; a device's thread has another in each run.
    pub tid: Option<u32>,
    /// Its name, or the device's.
    pub name: String,
    /// What it does.
    pub job: PeriodicJob,
    /// How it was scheduled, in words.
    pub scheduling: String,
    /// Whether it has the priority that is tried, or goes before it: a lower one is not tried.
    pub is_at_least: bool,
    /// The program's other periodic threads, those that take more CPU time first.
    pub others: Vec<Candidate>,
}

/// How many threads to look at.
const MAX_THREADS: usize = 256;
/// How many activations of a thread are enough.
const MAX_ACTIVATIONS: usize = 20_000;

/// Watches all threads for a while and chooses one. Returns also how late its wakeups were without waiting for the CPU,
/// at most, ns.
pub(super) fn choose(
    plan: &ReservePlan,
    program: &mut Program<'_>,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<(Chosen, u64), StudyError> {
    let duration = Duration::from_nanos(plan.measure_ns);
    let mut seen: HashMap<u32, (Vec<Activation>, u64)> = HashMap::new();
    let output = plan.directory.join("measured.punctual");
    let end = program.follow(program.everybody(), output, duration, &mut |followed| {
        for (tid, activation, lateness_ns) in followed.activations {
            if seen.len() >= MAX_THREADS && !seen.contains_key(tid) {
                continue;
            }
            let (activations, latest_ns) = seen.entry(*tid).or_default();
            if activations.len() < MAX_ACTIVATIONS {
                activations.push(*activation);
                *latest_ns = (*latest_ns).max(*lateness_ns);
            }
        }
        let progress = ReserveProgress { doing: Doing::Measuring, elapsed: followed.elapsed, duration };
        if observe(&progress) { Next::Go } else { Next::Stop }
    })?;
    let failed = |why: String| Err(StudyError::Setting(why));
    match end {
        StudyEnd::Finished => {}
        StudyEnd::Interrupted => return failed("interrupted before a periodic thread was found".to_owned()),
        StudyEnd::ProgramEnded => {
            return failed(
                "the program ended while punctual looked at its threads: give one that keeps running".to_owned(),
            );
        }
    }
    let mut why_not = Vec::new();
    let mut found = Vec::new();
    for (tid, (mut activations, latest_ns)) in seen {
        let Ok(before) = Before::of(tid) else { continue };
        // It is another one's already.
        if program.has_chosen(tid) {
            continue;
        }
        if plan.thread.as_ref().is_some_and(|wanted| !wanted.is_match(&before.name)) {
            continue;
        }
        activations.sort_by_key(|activation| activation.released_ns);
        match periodic(&activations).and_then(|job| long_enough(plan, job)) {
            Ok(job) => found.push((Candidate { tid, name: before.name, job }, before.scheduling, latest_ns)),
            Err(why) => why_not.push((activations.len(), before.name, why)),
        }
    }
    let load = |job: &PeriodicJob| job.work.median_ns as f64 / job.period_ns as f64;
    found.sort_by(|one, other| load(&other.0.job).total_cmp(&load(&one.0.job)));
    if found.is_empty() {
        return failed(nobody(plan, why_not));
    }
    let (chosen, scheduling, latest_ns) = found.remove(0);
    let others = found.into_iter().map(|(candidate, ..)| candidate).collect();
    let Candidate { tid, name, job } = chosen;
    program.choose(tid);
    let is_at_least = scheduling.is_at_least(plan.priority);
    let job = by_itself(plan, program, (tid, is_at_least), observe)?.unwrap_or(job);
    let scheduling = scheduling.to_string();
    Ok((Chosen { tid: Some(tid), name, job, scheduling, is_at_least, others }, latest_ns))
}

/// The thread's job when nothing ordinary keeps it from the CPU: a starved thread does two jobs in one go. `None` if
/// the priority that this takes is refused, or if it is not periodic then.
fn by_itself(
    plan: &ReservePlan,
    program: &mut Program<'_>,
    (tid, is_at_least): (u32, bool),
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<Option<PeriodicJob>, StudyError> {
    let setting = if is_at_least { Setting::AsItWas } else { Setting::Priority(plan.priority) };
    if program.set(setting).is_err() {
        return Ok(None);
    }
    let duration = Duration::from_nanos(plan.measure_ns);
    let mut activations = Vec::new();
    let output = plan.directory.join("by-itself.punctual");
    let end = program.follow(Selection::of_thread(tid), output, duration, &mut |followed| {
        let own = followed.activations.iter().filter(|(of, ..)| *of == tid).map(|(_, activation, _)| *activation);
        activations.extend(own.take(MAX_ACTIVATIONS - activations.len()));
        let progress = ReserveProgress { doing: Doing::Measuring, elapsed: followed.elapsed, duration };
        if observe(&progress) { Next::Go } else { Next::Stop }
    })?;
    program.put_back();
    if end == StudyEnd::Interrupted {
        return Err(StudyError::Setting("interrupted before the thread's work was measured".to_owned()));
    }
    activations.sort_by_key(|activation| activation.released_ns);
    Ok(periodic(&activations).and_then(|job| long_enough(plan, job)).ok())
}

/// The job, where there are reservations for what has to be done so soon.
fn long_enough(plan: &ReservePlan, job: PeriodicJob) -> Result<PeriodicJob, NotPeriodic> {
    let within_ns = plan.deadline_ns.unwrap_or(job.period_ns);
    if within_ns < MIN_PERIOD_NS { Err(NotPeriodic::TooShort(within_ns)) } else { Ok(job) }
}

/// Why there is no thread to reserve for, and what to do.
fn nobody(plan: &ReservePlan, mut why_not: Vec<(usize, String, NotPeriodic)>) -> String {
    why_not.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    let measured = punctual_recording::format_ns(plan.measure_ns);
    let whose = match &plan.subject {
        Subject::Command(program) => format!("`{}`", program.name),
        Subject::Process(process) => format!("process {process}"),
        Subject::Device(device) => format!("device {}", device.profile.id),
    };
    let wanted = plan.thread.as_ref().map(|wanted| format!(" named {}", wanted.as_str())).unwrap_or_default();
    let nearest = match why_not.first() {
        None => format!("none{wanted} woke in {measured}"),
        Some((count, name, NotPeriodic::TooFew(_))) => {
            format!("`{name}` woke most often, {count} times in {measured}: measure longer with --measure")
        }
        Some((count, name, NotPeriodic::Irregular(share))) => format!(
            "`{name}` woke most often, {count} times, but only {} % of its intervals are within a quarter of their median",
            share / 10
        ),
        Some((count, name, NotPeriodic::TooShort(within_ns))) => format!(
            "`{name}` woke most often, {count} times, but has to be done within {} of each, and no reservation is tried \
             whose period is shorter than {}",
            punctual_recording::format_ns(*within_ns),
            punctual_recording::format_ns(MIN_PERIOD_NS)
        ),
    };
    format!("{whose} has no periodic thread{wanted}: {nearest}")
}
