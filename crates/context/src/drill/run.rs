//! Runs a drill: starts the workers, collects what they made, ends them.

use super::irq_off::{IrqOff, IrqOffInjector};
use super::kernel_burn::KernelBurn;
use super::lock::Holder;
use super::migrate::Mover;
use super::page_fault::Toucher;
use super::schedule::Schedule;
use super::spinner::{Spinner, limit_spinning};
use super::stop::Stop;
use super::throttle::Overrunner;
use super::worker::{Event, Injector, Prepare, Worker};
use super::{DrillKind, DrillPlan, Injection, PlanError};
use crate::claim::{Claim, Sharing};
use punctual_kernel::{Refused, clock, scheduling};
use punctual_recording::Hint;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// From the moment at which all workers are ready to the drill's start, ns.
const HEAD_START_NS: u64 = 20_000_000;
/// The observer is called at least this often.
const OBSERVE: Duration = Duration::from_millis(50);

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// The plan is impossible.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// This kernel or this user does not allow the drill.
    #[error("the drill {kind} is not available here: {refused}")]
    Unavailable {
        /// Which.
        kind: DrillKind,
        /// Why.
        refused: Refused,
    },
    /// Something went wrong on the way.
    #[error("the drill {kind} ended early: {refused}")]
    BrokenOff {
        /// Which.
        kind: DrillKind,
        /// Why.
        refused: Refused,
    },
    /// The log could not be written.
    #[error("writing the log: {0}")]
    Log(std::io::Error),
}

impl Hint for DrillError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            DrillError::Unavailable { refused, .. } | DrillError::BrokenOff { refused, .. } => refused.hint(),
            DrillError::Plan(_) | DrillError::Log(_) => None,
        }
    }
}

/// What an observer is told while a drill runs.
#[derive(Debug, Clone, Copy)]
pub struct DrillProgress {
    /// Since the start.
    pub elapsed: Duration,
    /// In all.
    pub duration: Duration,
    /// Injections so far.
    pub injections: usize,
}

/// What a drill did.
#[derive(Debug, Clone)]
pub struct DrillOutcome {
    /// In the order in which they began.
    pub injections: Vec<Injection>,
    /// Injections that were planned but could not be made.
    pub not_made: u64,
    /// The CPUs drilled.
    pub cpus: Vec<u32>,
    /// When it began, ns of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// When it ended, ns of `CLOCK_MONOTONIC`.
    pub end_ns: u64,
    /// Whether the observer ended it before its time.
    pub interrupted: bool,
}

/// Runs the drill until its time is up, its injections are made or `observe` returns false.
///
/// Each injection is written to `log` as one line of JSON as soon as it is over.
///
/// # Errors
/// A plan that is impossible, what the kernel refused, a log that could not be written.
pub fn run(
    plan: &DrillPlan,
    log: Option<&mut dyn Write>,
    observe: &mut dyn FnMut(DrillProgress) -> bool,
) -> Result<DrillOutcome, DrillError> {
    let kind = plan.kind;
    let cpus = plan.check(&scheduling::allowed_cpus())?;
    let claim = Claim::take(Sharing::Drills, &cpus, plan.share_percent(), plan.max_percent());
    let _claim = claim.map_err(|refused| DrillError::Unavailable { kind, refused })?;
    limit_spinning();
    let unavailable = |refused| DrillError::Unavailable { kind, refused };
    let mut crew = Crew::start(plan, &cpus).map_err(unavailable)?;
    let start_ns = crew.begin().map_err(unavailable)?;
    let mut collected = Collected { injections: Vec::new(), not_made: 0, log };
    let duration = Duration::from_nanos(plan.duration_ns);
    let mut interrupted = false;
    let ended = loop {
        let received = crew.events.recv_timeout(OBSERVE);
        let over = match received {
            Ok(event) => collected.take(event, kind).map(|()| false),
            Err(RecvTimeoutError::Timeout) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Ok(true),
        };
        match over {
            Ok(true) => break Ok(()),
            Ok(false) => {}
            Err(error) => break Err(error),
        }
        let elapsed = Duration::from_nanos(clock::monotonic_ns().saturating_sub(start_ns));
        if !interrupted && !observe(DrillProgress { elapsed, duration, injections: collected.injections.len() }) {
            interrupted = true;
            crew.stop.stop();
        }
    };
    let end_ns = clock::monotonic_ns();
    let trouble = crew.trouble();
    drop(crew);
    ended?;
    if let Some(trouble) = trouble.or_else(|| collected.never_made(interrupted)) {
        return Err(DrillError::BrokenOff { kind, refused: Refused::because("making an injection", trouble) });
    }
    collected.injections.sort_by_key(|injection| injection.start_ns);
    let Collected { injections, not_made, .. } = collected;
    Ok(DrillOutcome { injections, not_made, cpus, start_ns, end_ns, interrupted })
}

struct Collected<'a> {
    injections: Vec<Injection>,
    not_made: u64,
    log: Option<&'a mut dyn Write>,
}

impl Collected<'_> {
    /// A drill that should have injected and never did.
    fn never_made(&self, interrupted: bool) -> Option<String> {
        (self.injections.is_empty() && self.not_made > 0 && !interrupted)
            .then(|| format!("none of the {} that were due was made", self.not_made))
    }

    fn take(&mut self, event: Event, kind: DrillKind) -> Result<(), DrillError> {
        match event {
            Event::Ready => {}
            Event::NotMade => self.not_made += 1,
            Event::Failed(refused) => return Err(DrillError::BrokenOff { kind, refused }),
            Event::Made(injection) => {
                if let Some(log) = &mut self.log {
                    let mut line = serde_json::to_vec(&injection).map_err(|error| DrillError::Log(error.into()))?;
                    line.push(b'\n');
                    log.write_all(&line).and_then(|()| log.flush()).map_err(DrillError::Log)?;
                }
                self.injections.push(injection);
            }
        }
        Ok(())
    }
}

/// The workers, and what must live as long as they do.
struct Crew {
    stop: Arc<Stop>,
    events: Receiver<Event>,
    workers: Vec<JoinHandle<()>>,
    // Dropped after the workers have ended.
    held: Held,
}

/// What the workers' injectors rely on.
enum Held {
    Nothing,
    KernelBurn(KernelBurn),
    IrqOff(#[expect(dead_code, reason = "its program can be called as long as it lives")] IrqOff),
}

/// A thread to be started: its name and what it does first.
type Post = (&'static str, u32, Prepare);

fn boxed<I: Injector + 'static>(injector: I) -> Box<dyn Injector> {
    Box::new(injector)
}

fn posts(plan: &DrillPlan, cpus: &[u32]) -> Result<(Vec<Post>, Held), Refused> {
    let kind = plan.kind;
    let priority = plan.priority.or(kind.default_priority()).unwrap_or(1);
    let culprit = kind.culprit();
    let each = |prepare: &dyn Fn(u32) -> Prepare, name| -> Vec<Post> {
        cpus.iter().map(|&cpu| (name, cpu, prepare(cpu))).collect()
    };
    let first = cpus.first().copied().unwrap_or(0);
    Ok(match kind {
        DrillKind::Irq | DrillKind::Softirq => {
            let mut burn = KernelBurn::start(kind, cpus)?;
            let injectors = burn.injectors();
            let arm = |(injector, &cpu)| -> Post { ("drill-arm", cpu, Box::new(move || Ok(boxed(injector)))) };
            (injectors.into_iter().zip(cpus).map(arm).collect(), Held::KernelBurn(burn))
        }
        DrillKind::IrqOff => {
            let object = IrqOff::load()?;
            let program = object.descriptor()?;
            let prepare =
                |cpu| -> Prepare { Box::new(move || IrqOffInjector::prepare(program, cpu, priority).map(boxed)) };
            (each(&prepare, "drill-irq-off"), Held::IrqOff(object))
        }
        DrillKind::Fifo | DrillKind::SamePriority => {
            let prepare = |cpu| -> Prepare { Box::new(move || Spinner::prepare(cpu, priority).map(boxed)) };
            (each(&prepare, culprit), Held::Nothing)
        }
        DrillKind::Lock => {
            let prepare = |cpu| -> Prepare { Box::new(move || Holder::prepare(cpu, priority).map(boxed)) };
            (each(&prepare, culprit), Held::Nothing)
        }
        DrillKind::PageFault => {
            let pages = plan.pages;
            let prepare = |cpu| -> Prepare { Box::new(move || Toucher::prepare(cpu, priority, pages).map(boxed)) };
            (each(&prepare, culprit), Held::Nothing)
        }
        DrillKind::Throttle => {
            let prepare: Prepare = Box::new(|| Overrunner::prepare().map(boxed));
            (vec![(culprit, first, prepare)], Held::Nothing)
        }
        DrillKind::Migrate => {
            let cpus = cpus.to_vec();
            let prepare: Prepare = Box::new(move || Mover::prepare(cpus, priority).map(boxed));
            (vec![(culprit, first, prepare)], Held::Nothing)
        }
    })
}

impl Crew {
    fn start(plan: &DrillPlan, cpus: &[u32]) -> Result<Crew, Refused> {
        let (posts, held) = posts(plan, cpus)?;
        let (sender, events): (Sender<Event>, Receiver<Event>) = channel();
        let mut crew = Crew { stop: Arc::new(Stop::new(plan.count)), events, workers: Vec::new(), held };
        for (name, cpu, prepare) in posts {
            let worker = Worker {
                kind: plan.kind,
                schedule: Schedule::new(plan.seed, cpu, plan.lengths, plan.every_ns),
                every_ns: plan.every_ns,
                duration_ns: plan.duration_ns,
                stop: Arc::clone(&crew.stop),
                events: sender.clone(),
            };
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || worker.work(prepare));
            crew.workers.push(thread.map_err(|error| Refused::because("starting a thread", error.to_string()))?);
        }
        Ok(crew)
    }

    fn trouble(&self) -> Option<String> {
        match &self.held {
            Held::KernelBurn(burn) => burn.trouble(),
            _ => None,
        }
    }

    /// Waits until all are ready and lets them begin; returns when they begin.
    fn begin(&mut self) -> Result<u64, Refused> {
        for _ in 0..self.workers.len() {
            match self.events.recv() {
                Ok(Event::Failed(refused)) => return Err(refused),
                Ok(_) => {}
                Err(_) => return Err(Refused::because("starting the drill", "a thread ended early")),
            }
        }
        let begin_ns = clock::monotonic_ns() + HEAD_START_NS;
        self.stop.begin(begin_ns);
        Ok(begin_ns)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.stop.stop();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}
