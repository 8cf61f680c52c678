//! What takes the CPU away from a loop that wants it all: runs the loops, attributes each gap to its causes, writes the
//! recording.

mod causes;
mod keystroke;
mod modes;
mod tally;
mod validation;

pub use keystroke::split;
pub use modes::modes;
pub use validation::{ValidationPlan, validate};

use crate::StudyError;
use punctual_probe::idle::{IdlePlan, IdleSession};
use punctual_probe::{RunError, Step};
use punctual_recording::{
    Counters, Directory, Document, EndReason, Ended, Gap, GapDocument, GapWriter, Provenance, RecordingKind,
    Result as RecordingResult, Task, TraceEntry, Writer,
};
use std::time::{Duration, Instant};
use tally::Tally;

/// How a measurement of idle time is going.
#[derive(Debug)]
pub struct IdleProgress<'a> {
    /// Since the loops began.
    pub elapsed: Duration,
    /// How long it should be.
    pub duration: Duration,
    /// What could not be done as asked.
    pub fallbacks: &'a [String],
    /// Gaps so far.
    pub gaps: u64,
    /// The longest so far, ns.
    pub longest_ns: u64,
}

/// How often the rest of the program looks after the loops.
const ROUND: Duration = Duration::from_millis(20);
/// How often a segment is closed.
const FLUSH: Duration = Duration::from_secs(1);
/// How much longer than asked to wait for loops that do not get to run.
const GRACE: Duration = Duration::from_millis(200);

struct Files {
    writer: Writer,
    gaps: GapWriter,
}

/// Carries out a plan. Calls `observe` about every 20 ms, which says whether to go on.
///
/// # Errors
/// [`StudyError`]; the recording holds whatever was measured before a failure.
pub fn measure_idle(
    plan: &IdlePlan,
    observe: &mut dyn FnMut(&IdleProgress<'_>) -> Step,
) -> Result<(Document, GapDocument), StudyError> {
    measure_and_inspect(plan, observe, &mut |_, _| {}).map(|(document, gaps, _)| (document, gaps))
}

/// Like [`measure_idle`]; `inspect` is given every gap and what ran inside it.
///
/// # Errors
/// [`StudyError`]; the recording holds whatever was measured before a failure.
pub fn measure_and_inspect(
    plan: &IdlePlan,
    observe: &mut dyn FnMut(&IdleProgress<'_>) -> Step,
    inspect: &mut dyn FnMut(&Gap, Option<&[TraceEntry]>),
) -> Result<(Document, GapDocument, Directory), StudyError> {
    let mut session = IdleSession::start(plan)?;
    let provenance = session.provenance().clone();
    let fallbacks = provenance.fallbacks.clone();
    let mut tally = Tally::new(&session, plan.threshold_ns, provenance.started_ns);
    let mut files = create(plan, &session, provenance).map_err(RunError::Recording)?;
    let began = Instant::now();
    let duration = Duration::from_nanos(plan.duration_ns);
    let mut flushed = Instant::now();
    let ended = loop {
        for index in 0..session.loops().len() {
            take(&mut session, index, &mut tally, &mut files, inspect);
        }
        if flushed.elapsed() >= FLUSH {
            flushed = Instant::now();
            count(&session, &mut tally, &mut files);
            if let Err(error) = files.gaps.flush(&tally.document()).and_then(|()| files.writer.flush()) {
                session.stop();
                let detail = Some(error.to_string());
                let failed = Ended { reason: EndReason::Failed, detail, at_ns: 0 };
                let _ = files.writer.finish(failed, Vec::new());
                return Err(RunError::Recording(error).into());
            }
        }
        if session.is_starved() {
            let detail = "the loops left the rest of the program no CPU time for 5 s";
            break (EndReason::Watchdog, Some(detail.to_owned()));
        }
        if session.is_finished() || began.elapsed() > duration.saturating_add(GRACE) {
            break (EndReason::Completed, None);
        }
        let progress = IdleProgress {
            elapsed: began.elapsed(),
            duration,
            fallbacks: &fallbacks,
            gaps: tally.gaps(),
            longest_ns: tally.longest_ns(),
        };
        if let Step::Stop(reason, detail) = observe(&progress) {
            break (reason, detail);
        }
        std::thread::sleep(ROUND);
    };
    session.stop();
    take_the_rest(&mut session, &mut tally, &mut files, inspect);
    count(&session, &mut tally, &mut files);
    let at_ns = punctual_kernel::clock::monotonic_ns();
    // Out of the kernel before the writing, which may take long.
    drop(session);
    let document = tally.document();
    let Files { writer, gaps } = files;
    gaps.finish(&document).map_err(RunError::Recording)?;
    let ended = Ended { reason: ended.0, detail: ended.1, at_ns };
    let directory = writer.directory().clone();
    Ok((writer.finish(ended, Vec::new()).map_err(RunError::Recording)?, document, directory))
}

/// Takes the gaps that a loop has found.
fn take(
    session: &mut IdleSession,
    index: usize,
    tally: &mut Tally,
    files: &mut Files,
    inspect: &mut dyn FnMut(&Gap, Option<&[TraceEntry]>),
) {
    let taken = session.take(index);
    tally.take(index, taken, |gap, inside| {
        files.gaps.push(gap);
        inspect(gap, inside);
    });
}

/// Takes what is left once the loops have ended: gaps that were found, and those in which the loops were at the end.
fn take_the_rest(
    session: &mut IdleSession,
    tally: &mut Tally,
    files: &mut Files,
    inspect: &mut dyn FnMut(&Gap, Option<&[TraceEntry]>),
) {
    for index in 0..session.loops().len() {
        // A gap that ends between the taking and the look at the open one is taken the second time.
        for _ in 0..2 {
            take(session, index, tally, files, inspect);
            if let Some(gap) = session.open_gap(index) {
                files.gaps.push(&tally.take_open(index, gap));
                break;
            }
        }
    }
}

fn create(plan: &IdlePlan, session: &IdleSession, provenance: Provenance) -> RecordingResult<Files> {
    let measure = if plan.real_time { "fifo:1" } else { "idle" };
    let tasks = session.loops().into_iter().map(|(cpu, tid)| Task {
        measure: measure.to_owned(),
        tid,
        cpu: Some(cpu),
        period_ns: 0,
        counters: Counters::default(),
    });
    let writer = Writer::create_of(RecordingKind::Gaps, &plan.output, provenance, tasks.collect())?;
    let gaps = GapWriter::create(writer.directory())?;
    Ok(Files { writer, gaps })
}

/// Copies what the loops count themselves.
fn count(session: &IdleSession, tally: &mut Tally, files: &mut Files) {
    let mut steal = None;
    for index in 0..session.loops().len() {
        let totals = session.totals(index);
        tally.set_totals(index, &totals);
        tally.set_count(index, session);
        files.writer.set_thread_counts(index, totals.lost, 0, totals.measured_ns.saturating_sub(tally.noise_ns(index)));
        if let Some(stolen) = totals.steal_ns {
            *steal.get_or_insert(0) += stolen;
        }
    }
    files.writer.set_steal(steal);
}
