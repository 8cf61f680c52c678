//! How a run goes, what its caller may do about it, and how its recording is closed.

use crate::shared::error::RunError;
use crate::shared::plan::Plan;
use punctual_kernel::clock;
use punctual_kernel::cpu_times::CpuTimes;
use punctual_recording::{
    Directory, Document, EndReason, Ended, Limit, LoadScore, Provenance, Stage, Totals, Wakeup, Writer,
};
use std::time::Duration;

/// What the caller wants after having seen how the run goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Go on.
    Go,
    /// End the run for this reason.
    Stop(EndReason, Option<String>),
}

/// That followed threads do not wake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// What is waited for, in a few words.
    pub for_what: String,
    /// After some seconds: what one of the threads does, and what may be done about it, in a sentence.
    pub why: Option<String>,
    /// Whether it is more than a pause: none of them has woken yet, or something holds one up.
    pub is_unusual: bool,
}

/// How a run goes.
pub struct Observation<'a> {
    /// Since the threads began.
    pub elapsed: Duration,
    /// How long the run should be; `None` until told to stop.
    pub duration: Option<Duration>,
    /// What could not be done as asked, known from the start.
    pub fallbacks: &'a [String],
    /// The wakeups that came since the last step, whole: each began at its `expected_ns` and took its `total_ns`.
    pub finished: &'a [Wakeup],
    /// Activations of followed threads of which it became known since the last step that they will be no wakeup: nobody saw them
    /// begin, or there was no room for them. Each with its thread's number, and how many.
    pub unseen: &'a [(u32, u64)],
    /// When measuring began, ns of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// Up to when everything that ended is known, ns of `CLOCK_MONOTONIC`: with followed threads, up to which all
    /// records have come; the time since then is this process's own.
    pub known_until_ns: u64,
    /// When it ended: only in the last call, when the measurement is over and the recording is not closed yet.
    pub ended_ns: Option<u64>,
    /// That followed threads have not woken yet, or not for a while.
    pub waiting: Option<&'a Waiting>,
    pub(crate) writer: &'a mut Writer,
}

impl<'a> Observation<'a> {
    /// Of a run of this plan that began to measure at `started_ns`, now, without anything that has come of it.
    pub(crate) fn now(plan: &Plan, started_ns: u64, writer: &'a mut Writer) -> Observation<'a> {
        let now_ns = clock::monotonic_ns();
        Observation {
            elapsed: Duration::from_nanos(now_ns.saturating_sub(started_ns)),
            duration: plan.duration_ns.map(Duration::from_nanos),
            fallbacks: &[],
            finished: &[],
            unseen: &[],
            started_ns,
            known_until_ns: now_ns,
            ended_ns: None,
            waiting: None,
            writer,
        }
    }

    /// Where the recording is written.
    pub fn directory(&self) -> &Directory {
        self.writer.directory()
    }

    /// What has been measured so far. Adds up distributions: not for every step.
    pub fn totals(&self) -> Totals {
        self.writer.totals()
    }

    /// Notes in the recording what was not as asked, once.
    pub fn note(&mut self, what: String) {
        let fallbacks = &mut self.writer.provenance_mut().fallbacks;
        if !fallbacks.contains(&what) {
            fallbacks.push(what);
        }
    }

    /// Notes in the recording what went wrong with the load.
    pub fn load_trouble(&mut self, trouble: String) {
        self.writer.provenance_mut().load.trouble.push(trouble);
    }

    /// Notes in the recording why the load was not the one that was asked for; the first reason stays.
    pub fn load_failure(&mut self, failure: String) {
        self.writer.provenance_mut().load.failure.get_or_insert(failure);
    }

    /// Notes in the recording what the load got done.
    pub fn load_scores(&mut self, scores: Vec<LoadScore>) {
        self.writer.provenance_mut().load.scores = scores;
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The recording's document, as written.
    pub document: Document,
    /// Limits that the user set and the run exceeded.
    pub exceeded: Vec<Limit>,
}

/// How often a segment is closed.
pub(crate) const FLUSH: Duration = Duration::from_secs(1);

/// Takes the result of the last call: a run that reached its end may still have failed.
pub(crate) fn take_last(ended: &mut Ended, step: Step) {
    if let Step::Stop(EndReason::Failed, detail) = step
        && ended.reason == EndReason::Completed
    {
        (ended.reason, ended.detail) = (EndReason::Failed, detail);
    }
}

/// Judges the limits and closes the recording; for a run that failed it says why.
pub(crate) fn conclude(
    plan: &Plan,
    writer: Writer,
    ended: punctual_recording::Result<Ended>,
) -> Result<Outcome, RunError> {
    match ended {
        Ok(ended) => {
            let limits = judge(plan, &writer);
            let document = writer.finish(ended, limits)?;
            let exceeded = document.limits.iter().filter(|limit| limit.exceeded).cloned().collect();
            Ok(Outcome { document, exceeded })
        }
        Err(error) => {
            let detail = Some(error.to_string());
            let _ = writer.finish(Ended { reason: EndReason::Failed, detail, at_ns: 0 }, Vec::new());
            Err(error.into())
        }
    }
}

fn judge(plan: &Plan, writer: &Writer) -> Vec<Limit> {
    let mut limits: Vec<Limit> = plan.limits.iter().map(|limit| limit.judge(|stage| writer.judged(stage))).collect();
    if let Some(limit_ns) = plan.break_ns {
        let found_ns = writer.judged(Stage::Total).max();
        let exceeded = found_ns.is_some_and(|found| found > limit_ns);
        limits.push(Limit { what: "any wakeup".to_owned(), limit_ns, found_ns, exceeded, stage: None });
    }
    limits
}

/// Notes what these CPUs have done since `before`; nothing where the kernel did not say it then or does not now.
pub(crate) fn count_cpu_times(cpus: &[u32], before: Option<CpuTimes>, writer: &mut Writer) {
    if let Some((now, before)) = CpuTimes::now(cpus).zip(before) {
        let spent = now.since(&before);
        writer.set_steal(spent.steal_ns);
        writer.set_cpu_times(spent.passed_ns, spent.idle_ns);
    }
}

/// What is the same for several threads is said once.
pub(crate) fn note(provenance: &mut Provenance, note: String) {
    if !provenance.fallbacks.contains(&note) {
        provenance.fallbacks.push(note);
    }
}
