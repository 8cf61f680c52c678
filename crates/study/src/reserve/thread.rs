//! Which thread it is for, and what its job is.

use super::followed::Next;
use super::program::Program;
use super::subject::Tried as _;
use super::{Doing, ReservePlan, ReserveProgress, StudyEnd, Subject};
use crate::StudyError;
use punctual_kernel::other_thread::{Before, ThreadScheduling};
use punctual_kernel::stat_line::StatLine;
use punctual_probe::Selection;
use punctual_recording::{agreeing, counted, format_ns};
use punctual_reserve::{
    Activation, MIN_PERIOD_NS, MIN_REGULAR_THOUSANDTHS, NotPeriodic, PeriodicJob, Setting, periodic,
};
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
    /// What a reader must know of how its job was found.
    pub note: Option<String>,
}

/// How many threads to look at.
const MAX_THREADS: usize = 256;
/// How many activations of a thread are enough.
const MAX_ACTIVATIONS: usize = 20_000;

/// How many threads without a period are tried at the priority: each is measured once more.
const MAX_STARVED: usize = 3;

/// A thread in which no period was found.
struct Unfit {
    name: String,
    /// How often it was seen to wake.
    activations: usize,
    /// How late its wakeups were without waiting for the CPU, at most, ns.
    lateness_ns: u64,
    scheduling: ThreadScheduling,
    /// Whether it was running, or waited for a CPU, when this was looked at.
    wants_cpu: bool,
    why: NotPeriodic,
}

impl Unfit {
    fn of(before: &Before, (activations, lateness_ns): (usize, u64), why: NotPeriodic) -> Unfit {
        let (name, scheduling) = (before.name.clone(), before.scheduling);
        let wants_cpu = StatLine::of_thread(before.tid).and_then(|line| line.state()) == Some('R');
        Unfit { name, activations, lateness_ns, scheduling, wants_cpu, why }
    }
}

/// What each thread did, by its number, and how late its wakeups were without waiting for the CPU, at most, ns.
type Seen = HashMap<u32, (Vec<Activation>, u64)>;

/// Watches all threads for a while and chooses one. Returns also how late its wakeups were without waiting for the CPU,
/// at most, ns.
pub(super) fn choose(
    plan: &ReservePlan,
    program: &mut Program<'_>,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<(Chosen, u64), StudyError> {
    let (mut unfit, mut found, mut ended) = (Vec::new(), Vec::new(), 0);
    for (tid, (mut activations, lateness_ns)) in watch(plan, program, observe)? {
        let Ok(before) = Before::of(tid) else {
            ended += 1;
            continue;
        };
        // It is another one's already.
        if program.has_chosen(tid) {
            continue;
        }
        if plan.thread.as_ref().is_some_and(|wanted| !wanted.is_match(&before.name)) {
            continue;
        }
        activations.sort_by_key(|activation| activation.released_ns);
        match periodic(&activations).and_then(|job| long_enough(plan, job)) {
            Ok(job) => found.push((before, job, lateness_ns)),
            Err(why) => {
                let thread = Unfit::of(&before, (activations.len(), lateness_ns), why);
                unfit.push((before, thread));
            }
        }
    }
    let load = |job: &PeriodicJob| job.work.median_ns as f64 / job.period_ns as f64;
    found.sort_by(|one, other| load(&other.1).total_cmp(&load(&one.1)));
    if found.is_empty() {
        unfit.extend(never_slept(plan, program, &unfit));
        return starved(plan, program, (unfit, ended), observe);
    }
    let (chosen, job, lateness_ns) = found.remove(0);
    let others = found.into_iter().map(|(other, job, _)| Candidate { tid: other.tid, name: other.name, job }).collect();
    let (tid, name, scheduling) = (chosen.tid, chosen.name.clone(), chosen.scheduling);
    program.choose(chosen);
    let is_at_least = scheduling.is_at_least(plan.priority);
    let job = by_itself(plan, program, (tid, is_at_least), "by-itself.punctual", observe)?.unwrap_or(job);
    program.know(tid, &job);
    let scheduling = scheduling.to_string();
    Ok((Chosen { tid: Some(tid), name, job, scheduling, is_at_least, others, note: None }, lateness_ns))
}

/// What all threads do for a while.
fn watch(
    plan: &ReservePlan,
    program: &mut Program<'_>,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<Seen, StudyError> {
    let duration = Duration::from_nanos(plan.measure_ns);
    let mut seen = Seen::new();
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
    let failed = |why: &str| Err(StudyError::Setting(why.to_owned()));
    match end {
        StudyEnd::Finished => Ok(seen),
        StudyEnd::Interrupted => failed("interrupted before a periodic thread was found"),
        StudyEnd::ProgramEnded => {
            failed("the program ended while punctual looked at its threads: give one that keeps running")
        }
    }
}

/// Threads that may be meant and want a CPU, but never slept while they were watched: a loop that is always behind does not.
fn never_slept(plan: &ReservePlan, program: &Program<'_>, woke: &[(Before, Unfit)]) -> Vec<(Before, Unfit)> {
    let is_meant = |name: &str| plan.thread.as_ref().is_none_or(|wanted| wanted.is_match(name));
    let others = program
        .named(is_meant)
        .into_iter()
        .filter(|thread| !program.has_chosen(thread.tid) && woke.iter().all(|(woken, _)| woken.tid != thread.tid));
    let unfit = others.map(|thread| (Unfit::of(&thread, (0, 0), NotPeriodic::TooFew(0)), thread));
    unfit.filter(|(unfit, _)| unfit.wants_cpu).map(|(unfit, thread)| (thread, unfit)).take(MAX_STARVED).collect()
}

/// No thread is periodic as it is. A loop that others keep from the CPU skips periods, or does the jobs of several in one
/// go, or never sleeps: those that woke most often are tried at the priority, at which nothing ordinary does that. So many more have ended.
fn starved(
    plan: &ReservePlan,
    program: &mut Program<'_>,
    (mut unfit, ended): (Vec<(Before, Unfit)>, usize),
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<(Chosen, u64), StudyError> {
    unfit.sort_by_key(|(_, thread)| std::cmp::Reverse(thread.activations));
    let candidates = unfit.iter().filter(|(_, thread)| may_be_starved(thread, plan.priority)).take(MAX_STARVED);
    let mut is_irregular = false;
    for (place, (before, thread)) in candidates.enumerate() {
        program.choose(before.clone());
        let output = format!("by-itself-{}.punctual", place + 1);
        let job = match by_itself(plan, program, (before.tid, false), &output, observe)? {
            Ok(job) => job,
            Err(why) => {
                let is_first = unfit.first().is_some_and(|(first, _)| first.tid == before.tid);
                is_irregular |= is_first && matches!(why, Some(NotPeriodic::Irregular(_)));
                continue;
            }
        };
        program.know(before.tid, &job);
        let chosen = Chosen {
            tid: Some(before.tid),
            name: thread.name.clone(),
            job,
            scheduling: thread.scheduling.to_string(),
            is_at_least: false,
            others: Vec::new(),
            note: Some(format!(
                "As it was, `{}` {}, as a thread does that others keep from the CPU. Its period and its work were measured at fifo:{}.",
                thread.name,
                match thread.why {
                    NotPeriodic::TooFew(0) => "never slept",
                    NotPeriodic::TooFew(_) => "woke too seldom to show a period",
                    _ => "woke too irregularly to show a period",
                },
                plan.priority
            )),
        };
        return Ok((chosen, thread.lateness_ns));
    }
    let first = unfit.first().map(|(_, thread)| thread);
    Err(StudyError::Setting(nobody(plan, first, is_irregular, ended)))
}

/// Whether the priority may show a period of this thread.
fn may_be_starved(thread: &Unfit, priority: u32) -> bool {
    let is_behind = match thread.why {
        NotPeriodic::Irregular(_) => true,
        NotPeriodic::TooFew(_) => thread.wants_cpu,
        NotPeriodic::Parts { .. } | NotPeriodic::TooShort(_) => false,
    };
    is_behind && !thread.scheduling.is_at_least(priority)
}

/// The thread's job when nothing ordinary keeps it from the CPU: a starved thread does two jobs in one go. Otherwise
/// why it is not periodic then; `None` if the priority that this takes is refused.
fn by_itself(
    plan: &ReservePlan,
    program: &mut Program<'_>,
    (tid, is_at_least): (u32, bool),
    output: &str,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<Result<PeriodicJob, Option<NotPeriodic>>, StudyError> {
    let setting = if is_at_least { Setting::AsItWas } else { Setting::Priority(plan.priority) };
    if program.set(setting).is_err() {
        return Ok(Err(None));
    }
    let duration = Duration::from_nanos(plan.measure_ns);
    let mut activations = Vec::new();
    let output = plan.directory.join(output);
    let end = program.follow(Selection::of_thread(tid), output, duration, &mut |followed| {
        let own = followed.activations.iter().filter(|(of, ..)| *of == tid).map(|(_, activation, _)| *activation);
        activations.extend(own.take(MAX_ACTIVATIONS - activations.len()));
        let progress = ReserveProgress { doing: Doing::Measuring, elapsed: followed.elapsed, duration };
        match observe(&progress) {
            // It is no loop that was starved: nothing keeps it from sleeping now, and it would take the CPU for nothing.
            true if activations.is_empty() && followed.elapsed > duration / 8 => Next::Enough,
            true => Next::Go,
            false => Next::Stop,
        }
    })?;
    program.put_back();
    if end == StudyEnd::Interrupted {
        return Err(StudyError::Setting("interrupted before the thread's work was measured".to_owned()));
    }
    activations.sort_by_key(|activation| activation.released_ns);
    Ok(periodic(&activations).and_then(|job| long_enough(plan, job)).map_err(Some))
}

/// The job, where there are reservations for what has to be done so soon.
fn long_enough(plan: &ReservePlan, job: PeriodicJob) -> Result<PeriodicJob, NotPeriodic> {
    let within_ns = plan.deadline_ns.unwrap_or(job.period_ns);
    if within_ns < MIN_PERIOD_NS { Err(NotPeriodic::TooShort(within_ns)) } else { Ok(job) }
}

/// Why there is no thread to reserve for, and what to do. `first` woke most often, and may have been irregular at the priority, too; so
/// many more have ended.
fn nobody(plan: &ReservePlan, first: Option<&Unfit>, is_irregular: bool, ended: usize) -> String {
    let whose = match &plan.subject {
        Subject::Command(program) => format!("`{}`", program.name),
        Subject::Process(process) => format!("process {process}"),
        Subject::Device(device) => format!("device {}", device.profile.id),
    };
    let wanted = plan.thread.as_ref().map(|wanted| format!(" named {}", wanted.as_str())).unwrap_or_default();
    let measured = format_ns(plan.measure_ns);
    let nearest = match first {
        None => none_woke(&wanted, &measured, ended),
        Some(thread) => nearest(thread, &measured, plan.priority, is_irregular),
    };
    format!("{whose} has no periodic thread{wanted}: {nearest}")
}

/// That no thread named as `wanted` woke, but so many that have ended.
fn none_woke(wanted: &str, measured: &str, ended: usize) -> String {
    if ended == 0 {
        return format!("none{wanted} woke in {measured}");
    }
    let (threads, have) = (counted(ended, "thread"), agreeing(ended, "has", "have"));
    format!("{threads} that woke in {measured} {have} ended, and no other{wanted} did")
}

/// Why the thread that woke most often will not do.
fn nearest(thread: &Unfit, measured: &str, priority: u32, is_irregular: bool) -> String {
    if thread.activations == 0 {
        return format!(
            "`{}` never slept in {measured}: others keep it from the CPU, or it has no period; start it under `chrt -f {priority}`",
            thread.name
        );
    }
    let often = |what: String| format!("`{}` woke most often, {} times{what}", thread.name, thread.activations);
    match thread.why {
        NotPeriodic::TooFew(_) => {
            let starved = match thread.scheduling.is_at_least(priority) {
                true => String::new(),
                false => format!("; if others keep it from the CPU, start it under `chrt -f {priority}`"),
            };
            often(format!(" in {measured}: measure longer with --measure{starved}"))
        }
        NotPeriodic::Irregular(share) => {
            let nor = match is_irregular {
                true => format!(", nor is a period seen at fifo:{priority}"),
                false => String::new(),
            };
            let percent = share / 10;
            let enough = MIN_REGULAR_THOUSANDTHS / 10;
            often(format!(
                ", but only {percent} % of its intervals are within a quarter of their median, where {enough} % show a period{nor}"
            ))
        }
        NotPeriodic::Parts { parts, period_ns, work_ns } => in_parts(thread, (parts, period_ns, work_ns)),
        NotPeriodic::TooShort(within_ns) => often(format!(
            ", but has to be done within {} of each, and no reservation is tried whose period is shorter than {}",
            format_ns(within_ns),
            format_ns(MIN_PERIOD_NS)
        )),
    }
}

/// Why a thread whose job waits within has no trials, and which reservation holds its work: a tenth more than that.
fn in_parts(thread: &Unfit, (parts, period_ns, work_ns): (usize, u64, u64)) -> String {
    let budget = format_ns(work_ns + work_ns / 10).replace(' ', "");
    let (period, name) = (format_ns(period_ns), &thread.name);
    format!(
        "`{name}` woke most often, and each {parts} of its wakeups together make {period} and take up to {}: it waits within its job, \
         and trials need jobs of one wakeup. `punctual reserve run {budget}/{} --thread '^{name}$' -- COMMAND` gives it a reservation \
         for as much without a trial",
        format_ns(work_ns),
        period.replace(' ', "")
    )
}

#[cfg(test)]
mod tests {
    use super::super::Reserved;
    use super::*;
    use punctual_reserve::{Job, Work};

    #[test]
    fn a_thread_that_was_renamed_has_its_new_name_and_a_note() {
        let work = Work { median_ns: 200_000, p99_ns: 200_000, max_ns: 200_000 };
        let (period_ns, worst_response_ns) = (1_000_000, 200_000);
        let job = PeriodicJob { period_ns, jobs: 20, merged: 0, regular_thousandths: 1_000, work, worst_response_ns };
        let chosen = Chosen {
            tid: Some(7),
            name: "loop".to_owned(),
            job,
            scheduling: "other".to_owned(),
            is_at_least: false,
            others: Vec::new(),
            note: None,
        };
        let mut study = Reserved::begin(chosen, Job { period_ns, work_ns: 200_000, deadline_ns: period_ns }, 0);
        for name in [None, Some("loop")] {
            study.rename(name.map(str::to_owned));
            assert!(study.chosen.name == "loop" && study.notes.is_empty(), "{name:?}");
        }
        study.rename(Some("mix".to_owned()));
        assert_eq!(study.chosen.name, "mix");
        assert_eq!(study.notes, ["`mix` was named `loop` when it was chosen."]);
    }

    fn unfit(why: NotPeriodic, scheduling: ThreadScheduling) -> Unfit {
        Unfit { name: "loop".to_owned(), activations: 19, lateness_ns: 0, scheduling, wants_cpu: false, why }
    }

    /// Only for a thread that the priority changes, and whose wakeups come unevenly.
    #[test]
    fn a_thread_that_may_be_starved_is_tried_at_the_priority() {
        let (low, high) = (ThreadScheduling::fifo(10), ThreadScheduling::fifo(50));
        let cases = [
            (NotPeriodic::Irregular(610), low, true),
            (NotPeriodic::Irregular(610), high, false),
            (NotPeriodic::TooFew(19), low, false),
            (NotPeriodic::TooShort(100_000), low, false),
        ];
        for (why, scheduling, expected) in cases {
            assert_eq!(may_be_starved(&unfit(why, scheduling), 50), expected, "{why:?} {scheduling}");
        }
        // One that wants a CPU while it is looked at may be behind all the time.
        let behind =
            |scheduling| Unfit { wants_cpu: true, activations: 0, ..unfit(NotPeriodic::TooFew(0), scheduling) };
        assert!(may_be_starved(&behind(low), 50) && !may_be_starved(&behind(high), 50));
        assert!(nearest(&behind(low), "4.00 s", 50, false).starts_with("`loop` never slept in 4.00 s: others keep it"));
    }

    #[test]
    fn threads_that_woke_and_ended_are_told() {
        assert_eq!(none_woke(" named ^loop$", "4.00 s", 0), "none named ^loop$ woke in 4.00 s");
        assert_eq!(none_woke("", "4.00 s", 1), "1 thread that woke in 4.00 s has ended, and no other did");
        let two = "2 threads that woke in 4.00 s have ended, and no other named ^loop$ did";
        assert_eq!(none_woke(" named ^loop$", "4.00 s", 2), two);
    }

    #[test]
    fn who_woke_most_often_is_named_with_what_to_do() {
        let (low, high) = (ThreadScheduling::fifo(10), ThreadScheduling::fifo(50));
        let irregular = "`loop` woke most often, 19 times, but only 61 % of its intervals are within a quarter of their median, where 80 % show a \
             period";
        let few = "`loop` woke most often, 19 times in 4.00 s: measure longer with --measure";
        let cases = [
            (NotPeriodic::Irregular(610), high, false, irregular.to_owned()),
            // The priority was refused.
            (NotPeriodic::Irregular(610), low, false, irregular.to_owned()),
            (NotPeriodic::Irregular(610), low, true, format!("{irregular}, nor is a period seen at fifo:50")),
            (NotPeriodic::TooFew(19), high, false, few.to_owned()),
            (
                NotPeriodic::TooFew(19),
                low,
                false,
                format!("{few}; if others keep it from the CPU, start it under `chrt -f 50`"),
            ),
        ];
        let parts = NotPeriodic::Parts { parts: 2, period_ns: 5_333_333, work_ns: 100_000 };
        let said = nearest(&unfit(parts, low), "4.00 s", 50, false);
        assert!(said.contains("each 2 of its wakeups together make 5.33 ms and take up to 100 us: it waits"), "{said}");
        assert!(said.contains("`punctual reserve run 110us/5.33ms --thread '^loop$' -- COMMAND`"), "{said}");
        for (why, scheduling, is_irregular, expected) in cases {
            assert_eq!(nearest(&unfit(why, scheduling), "4.00 s", 50, is_irregular), expected);
        }
    }
}
