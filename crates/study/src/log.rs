//! An event log with a load or a command beside it.

use crate::StudyError;
use crate::running::{GettingReady, Noted, Running};
use punctual_kernel::scheduling::{self, Eager};
use punctual_kernel::{clock, host};
use punctual_load::Load;
use punctual_probe::eventlog::EventLog;
pub use punctual_probe::eventlog::IfRefused;
use punctual_probe::{RunError, Step};
use punctual_recording::episode::EventKind;
use punctual_recording::{
    Configuration, Document, EndReason, Ended, EventClass, LogDocument, LogWriter, Provenance, RecordingKind, Writer,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What to log, and where to write it.
#[derive(Debug, Clone)]
pub struct LogPlan {
    /// What is logged.
    pub classes: Vec<EventClass>,
    /// What becomes of the log if the kernel refuses some of them.
    pub if_refused: IfRefused,
    /// How long, ns; `None` for as long as the command runs.
    pub duration_ns: Option<u64>,
    /// The directory to write.
    pub output: PathBuf,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
}

/// How a log goes.
#[derive(Debug)]
pub struct LogProgress<'a> {
    /// Since it began.
    pub elapsed: Duration,
    /// How long it should be; `None` until told to stop.
    pub duration: Option<Duration>,
    /// What could not be done as asked.
    pub fallbacks: &'a [String],
    /// Where programs can put marks.
    pub mark_ways: &'a [String],
    /// Rows so far.
    pub rows: u64,
    /// Events dropped so far; not known once the time is up.
    pub dropped: u64,
}

/// How often a segment is closed.
const FLUSH: Duration = Duration::from_secs(1);
/// How long to wait for events before attending to everything else.
const ROUND: Duration = Duration::from_millis(50);
/// How long after its end a log goes on writing what waits; the rest is counted as dropped.
const MAX_WRITING: Duration = Duration::from_secs(2);
/// For so long from its end on it goes before ordinary threads, which may be the ones that filled it.
const BOOST: (i32, Duration) = (-15, Duration::from_secs(3));
/// Rows that are written at once after the end, so that the time is looked at in between.
const ROWS_AT_ONCE: usize = 1 << 16;
/// After how many rows the time is checked.
const ROWS_BETWEEN_LOOKS: u64 = 1 << 10;
/// How much longer than the log a load may run, whatever happens.
const OVERTIME: Duration = Duration::from_secs(30);

struct Files {
    writer: Writer,
    log: LogWriter,
}

impl Files {
    fn flush(&mut self, document: &mut LogDocument) -> punctual_recording::Result<()> {
        self.log.flush(document)?;
        self.writer.flush()
    }
}

/// Carries out a plan. Calls `getting_ready` while the load gets ready, and `observe` about every 50 ms; both say
/// whether to go on.
///
/// # Errors
/// [`StudyError`]; the recording holds what was logged before a failure.
pub fn log_events(
    plan: &LogPlan,
    load: &Load,
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    observe: &mut dyn FnMut(&LogProgress<'_>) -> Step,
) -> Result<(Document, LogDocument), StudyError> {
    let (beside, program) = load.split();
    let limit = plan.duration_ns.map(|duration| Duration::from_nanos(duration) + OVERTIME);
    let mut provenance = provenance(plan, load);
    provenance.load.warm_up_ns = u64::try_from(beside.warm_up.as_nanos()).unwrap_or(u64::MAX);
    // The directory comes first: whatever is in the way there needs no programs in the kernel.
    let writer =
        Writer::create_of(RecordingKind::Log, &plan.output, provenance, Vec::new()).map_err(RunError::Recording)?;
    let begun = (|| {
        let log = LogWriter::create(writer.directory()).map_err(RunError::Recording)?;
        let mut running = Vec::new();
        if !beside.is_none() {
            running.push(Running::start(&beside, limit, None, getting_ready)?);
        }
        let eager = Eager::begin();
        let events = EventLog::start(&plan.classes, plan.if_refused, plan.duration_ns).map_err(RunError::from)?;
        drop(eager);
        running.iter_mut().for_each(|running: &mut Running<'_>| running.begin(events.started_ns()));
        if !program.is_none() {
            let mut started = Running::start(&program, limit, None, &mut |_| true)?;
            started.begin(clock::monotonic_ns());
            running.push(started);
        }
        Ok((log, running, events))
    })();
    let (log, running, events) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            // Nothing was logged, and nothing was there before.
            writer.directory().discard();
            return Err(error);
        }
    };
    let result = Session { plan, files: Files { writer, log }, running, events }.run(observe);
    Ok(result?)
}

fn provenance(plan: &LogPlan, load: &Load) -> Provenance {
    Provenance {
        punctual_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: plan.command_line.clone(),
        run_id: host::run_id(),
        host: host::host(),
        configuration: Configuration { via: "log".to_owned(), bpf: true, ..Configuration::default() },
        load: load.info(),
        tuning: host::tuning(),
        started_ns: clock::monotonic_ns(),
        monotonic_to_unix_ns: clock::monotonic_to_unix_ns(),
        fallbacks: Vec::new(),
        normal_priority: None,
        blind: blind(&plan.classes),
    }
}

/// What this log cannot see.
fn blind(classes: &[EventClass]) -> Vec<String> {
    let others: Vec<&str> =
        EventClass::CHOICES.iter().filter(|class| !classes.contains(class)).map(|class| class.name()).collect();
    let mut blind = Vec::new();
    if !others.is_empty() {
        blind.push(format!("events of the classes {}, which were not chosen", others.join(", ")));
    }
    if classes.contains(&EventClass::Futex) {
        blind.push("synchronization that makes no futex call, because nobody had to wait".to_owned());
    }
    blind
}

struct Session<'a> {
    plan: &'a LogPlan,
    files: Files,
    running: Vec<Running<'a>>,
    events: EventLog,
}

impl Session<'_> {
    fn run(mut self, observe: &mut dyn FnMut(&LogProgress<'_>) -> Step) -> Result<(Document, LogDocument), RunError> {
        let provenance = self.files.writer.provenance_mut();
        provenance.started_ns = self.events.started_ns();
        provenance.fallbacks = self.events.notes().to_vec();
        provenance.configuration.cpus = self.events.cpus().to_vec();
        let began = Instant::now();
        let duration = self.plan.duration_ns.map(Duration::from_nanos);
        let mut flushed: Option<Instant> = None;
        let (reason, detail) = loop {
            let left = self.events.left().unwrap_or(ROUND);
            let log = &mut self.files.log;
            self.events.take(ROUND.min(left), &mut |row| log.push(row));
            if flushed.is_none_or(|flushed| flushed.elapsed() >= FLUSH) {
                flushed = Some(Instant::now());
                if let Err(error) = self.files.flush(&mut self.events.document()) {
                    break (EndReason::Failed, Some(error.to_string()));
                }
            }
            let mut over = false;
            for running in &mut self.running {
                let Noted { trouble, failure, over: ended } = running.look();
                let load = &mut self.files.writer.provenance_mut().load;
                load.trouble.extend(trouble);
                load.failure = load.failure.take().or(failure);
                over |= ended;
            }
            if over {
                break (EndReason::CommandEnded, None);
            }
            if self.events.left() == Some(Duration::ZERO) {
                break (EndReason::Completed, None);
            }
            let progress = LogProgress {
                elapsed: began.elapsed(),
                duration,
                fallbacks: self.events.notes(),
                mark_ways: self.events.mark_ways(),
                rows: self.files.log.rows(),
                dropped: self.events.dropped(),
            };
            if let Step::Stop(reason, detail) = observe(&progress) {
                break (reason, detail);
            }
        };
        self.finish(Ended { reason, detail, at_ns: 0 }, began, observe)
    }

    fn finish(
        self,
        mut ended: Ended,
        began: Instant,
        observe: &mut dyn FnMut(&LogProgress<'_>) -> Step,
    ) -> Result<(Document, LogDocument), RunError> {
        let Session { files: Files { mut writer, mut log }, running, mut events, .. } = self;
        // Out of the kernel before the writing, which may take long; nor does the load hold that up.
        ended.at_ns = events.stop();
        for running in running {
            let done = running.end(ended.at_ns);
            let load = &mut writer.provenance_mut().load;
            load.trouble.extend(done.trouble.into_iter().chain(done.notes));
            load.failure = load.failure.take().or(done.failure);
            load.scores.extend(done.scores);
        }
        scheduling::boost(BOOST.0, BOOST.1);
        let stopped = Instant::now();
        let (mut failed, mut goes_on, mut pushed) = (None, true, 0_u64);
        let mut document = events.end(&mut |row| {
            // What reports drops comes after the end as well: one row for each CPU.
            if !goes_on && row.event.kind != EventKind::Dropped {
                return false;
            }
            log.push(row);
            pushed += 1;
            if log.rows_waiting() >= ROWS_AT_ONCE && failed.is_none() {
                failed = log.close_segment().err();
            }
            if pushed.is_multiple_of(ROWS_BETWEEN_LOOKS) {
                let elapsed = began.elapsed();
                let (rows, dropped) = (log.rows(), 0);
                let shown = LogProgress { elapsed, duration: None, fallbacks: &[], mark_ways: &[], rows, dropped };
                // Whoever stops it a second time does not want the rest.
                let is_stopped = matches!(observe(&shown), Step::Stop(..)) && ended.reason == EndReason::Completed;
                goes_on = failed.is_none() && stopped.elapsed() < MAX_WRITING && !is_stopped;
            }
            true
        });
        let written = failed.map_or_else(|| log.finish(&mut document), Err);
        if let (Err(error), true) = (&written, ended.reason != EndReason::Failed) {
            ended.reason = EndReason::Failed;
            ended.detail = Some(error.to_string());
        }
        let failed = ended.reason == EndReason::Failed;
        let whole = writer.finish(ended, Vec::new());
        written.map_err(RunError::Recording)?;
        let whole = whole.map_err(RunError::Recording)?;
        if failed {
            let detail = whole.ended.as_ref().and_then(|ended| ended.detail.clone());
            return Err(RunError::Refused(punctual_kernel::Refused::because("logging", detail.unwrap_or_default())));
        }
        Ok((whole, document))
    }
}
