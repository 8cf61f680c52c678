//! Watches a person's own use of a program that already runs. Nothing is put in.

mod arrivals;
mod find;
mod window;

use crate::kernel_tracing::{KernelTracing, Until};
use crate::ledger::Ledger;
use crate::plan::{InteractError, InteractProgress};
use crate::processes::program_of;
use crate::track::Tracker;
use arrivals::Arrivals;
pub use find::Target;
use punctual_kernel::{clock, host, kernel_types};
use punctual_probe::Step;
use punctual_probe::terminal::{Seen, TerminalWatch};
use punctual_recording::{
    Configuration, Document, EndReason, Ended, INTERACTIONS_SCHEMA, InteractionDocument, InteractionWriter, OWN_PACE,
    RecordingKind, Writer,
};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use window::Window;

/// How often everything is attended to.
const ROUND: Duration = Duration::from_millis(20);
/// How often to take what was seen.
const SERVICE: Duration = Duration::from_millis(100);
/// An input becomes known only when it was taken and that was seen: this is how long what happened before is kept.
const LOOKS_BACK: Duration = Duration::from_millis(400);
/// What is not seen of somebody's own use.
const NOT_SEEN: [&str; 5] = [
    "keyboard, display and terminal emulator: an input begins as it is put into the terminal, and ends there",
    "an input that the program was waiting for in read() before this began",
    "which keys they were: only how many bytes came",
    "processes that left the terminal's session, except as somebody for whom the program waits",
    "input that a program takes by io_uring",
];

/// What to watch.
#[derive(Debug, Clone)]
pub struct AttachPlan {
    /// The program.
    pub target: Target,
    /// For how long; without it, until the program ends or somebody asks for the end.
    pub duration: Option<Duration>,
    /// How many stacks to sample each second on each CPU; 0 for none.
    pub sample_rate: u32,
    /// Whether to look at what the program's toolkit passes on.
    pub toolkit: bool,
    /// The directory to write.
    pub output: PathBuf,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
}

/// Watches. `observe` is called about every 20 ms and says whether to go on.
///
/// # Errors
/// [`InteractError`]; the recording keeps whatever was found out before.
pub fn attach(
    plan: &AttachPlan,
    observe: &mut dyn FnMut(&InteractProgress<'_>) -> Step,
) -> Result<(Document, InteractionDocument), InteractError> {
    let mut provenance = host::provenance(&plan.command_line);
    let types = kernel_types::keep();
    let (watch, source, mut blind) = match plan.target.display() {
        None => at_terminal(&plan.target)?,
        Some(display) => {
            let processes = program_of(plan.target.pid);
            let window = Window::watch(display, &processes)?;
            let watch = TerminalWatch::start_for(window.connection(), window.server().0, &processes)?;
            (watch, Source::Window(Box::new(window)), window::NOT_SEEN.map(str::to_owned).to_vec())
        }
    };
    if !watch.tells_of_input() && source.server().is_none() {
        blind.push("when input comes while the program is at work: such inputs are counted separately".to_owned());
    }
    provenance.configuration = Configuration { via: source.via().to_owned(), bpf: true, ..Configuration::default() };
    let mut tracing = KernelTracing::of(watch, plan.sample_rate, blind, &mut provenance);
    if plan.toolkit {
        tracing = tracing.with_toolkits(&mut provenance);
        tracing.look_for_toolkits(plan.target.pid, source.server().is_none());
    }
    drop(types);
    provenance.started_ns = clock::monotonic_ns();
    provenance.monotonic_to_unix_ns = clock::monotonic_to_unix_ns();
    let fallbacks = provenance.fallbacks.clone();
    let writer = Writer::create_of(RecordingKind::Interaction, &plan.output, provenance, Vec::new())?;
    let rows = InteractionWriter::create(writer.directory())?;
    let tracker = if source.server().is_some() { Tracker::of_display(true) } else { Tracker::new(true) };
    let ledger = Ledger::new(Some(tracing), tracker, source.server(), writer, rows).looking_back(LOOKS_BACK);
    let mut watched = Watched { plan, ledger, source, inputs: 0, fallbacks };
    let over = watched.watch(observe);
    watched.finish(over)
}

/// Looks at the terminal of a program.
fn at_terminal(target: &Target) -> Result<(TerminalWatch, Source, Vec<String>), InteractError> {
    let terminal = target.open_terminal()?;
    let watch = TerminalWatch::start_at_others(terminal.as_fd())?;
    Ok((watch, Source::Terminal(Arrivals::default()), NOT_SEEN.map(str::to_owned).to_vec()))
}

/// The source of inputs.
enum Source {
    Terminal(Arrivals),
    Window(Box<Window>),
}

impl Source {
    fn via(&self) -> &'static str {
        match self {
            Source::Terminal(_) => "pty",
            Source::Window(_) => "x11",
        }
    }

    /// The display's server.
    fn server(&self) -> Option<(u32, &'static str)> {
        match self {
            Source::Terminal(_) => None,
            Source::Window(window) => Some(window.server()),
        }
    }

    /// Up to when to look at what was seen.
    fn until(&mut self) -> Until {
        match self {
            Source::Terminal(_) => Until::Settled,
            Source::Window(window) => Until::Time(window.upto(clock::monotonic_ns())),
        }
    }

    /// All that was seen up to then is there.
    fn begin(&mut self, seen: &[Seen], until: Until) {
        if let Source::Window(window) = self {
            window.begin(seen, if let Until::Time(ns) = until { ns } else { u64::MAX });
        }
    }

    /// Looks at what was seen, in order of time, and returns whether to tell the tracker.
    fn look(&mut self, tracker: &mut Tracker, seen: &Seen, inputs: &mut u64) -> bool {
        match self {
            Source::Terminal(arrivals) => {
                if let Some(input) = arrivals.look(seen) {
                    *inputs += 1;
                    tracker.put_in(input);
                }
                true
            }
            Source::Window(window) => window.look(tracker, seen, inputs),
        }
    }

    fn is_there(&self) -> bool {
        match self {
            Source::Terminal(_) => true,
            Source::Window(window) => window.is_there(),
        }
    }
}

struct Watched<'a> {
    plan: &'a AttachPlan,
    ledger: Ledger,
    source: Source,
    inputs: u64,
    fallbacks: Vec<String>,
}

impl Watched<'_> {
    fn watch(
        &mut self,
        observe: &mut dyn FnMut(&InteractProgress<'_>) -> Step,
    ) -> Result<(EndReason, Option<String>), InteractError> {
        let (began, mut serviced) = (Instant::now(), Instant::now());
        loop {
            std::thread::sleep(ROUND);
            self.ledger.keep_evidence(clock::monotonic_ns());
            if serviced.elapsed() >= SERVICE {
                serviced = Instant::now();
                self.service();
                if self.ledger.is_due() {
                    let document = self.document();
                    self.ledger.flush(&document)?;
                }
                if !self.plan.target.is_there() || !self.source.is_there() {
                    self.ledger.tracker.program_ended();
                    return Ok((EndReason::CommandEnded, None));
                }
            }
            if self.plan.duration.is_some_and(|duration| began.elapsed() >= duration) {
                return Ok((EndReason::Completed, None));
            }
            let elapsed = began.elapsed();
            let all = self.inputs;
            let progress = InteractProgress { elapsed, inputs: self.inputs, all, task: "", fallbacks: &self.fallbacks };
            if let Step::Stop(reason, detail) = observe(&progress) {
                return Ok((reason, detail));
            }
        }
    }

    fn service(&mut self) {
        let until = self.source.until();
        self.take(until);
    }

    /// Goes through what was seen up to then.
    fn take(&mut self, until: Until) {
        self.ledger.look(until);
        if let Some(tracing) = &self.ledger.tracing {
            self.source.begin(&tracing.seen, until);
        }
        let before = self.inputs;
        let (source, inputs) = (&mut self.source, &mut self.inputs);
        self.ledger.service(|tracker, seen| source.look(tracker, seen, inputs));
        if before == 0 && self.inputs > 0 {
            self.ledger.inputs_begin();
        }
    }

    fn document(&self) -> InteractionDocument {
        let (to_a_millisecond, presses_lost) = match &self.source {
            Source::Terminal(_) => (0, 0),
            Source::Window(window) => (window.to_a_millisecond(), window.lost()),
        };
        self.ledger.counted(InteractionDocument {
            schema: INTERACTIONS_SCHEMA.to_owned(),
            via: self.source.via().to_owned(),
            pace: OWN_PACE.to_owned(),
            program: self.plan.target.words.clone(),
            script: "none".to_owned(),
            inputs: self.inputs,
            to_a_millisecond,
            presses_lost,
            ..InteractionDocument::default()
        })
    }

    fn finish(
        mut self,
        over: Result<(EndReason, Option<String>), InteractError>,
    ) -> Result<(Document, InteractionDocument), InteractError> {
        let ((reason, detail), failed) = match over {
            Ok(over) => (over, None),
            Err(error) => ((EndReason::Failed, Some(error.to_string())), Some(error)),
        };
        let at_ns = clock::monotonic_ns();
        // It includes what the server has told until now.
        let _ = self.source.until();
        self.take(Until::End);
        if let Source::Window(window) = &mut self.source {
            window.put_in(&mut self.ledger.tracker, u64::MAX, &mut self.inputs);
        }
        self.ledger.take_all(at_ns);
        let document = self.document();
        let whole = self.ledger.finish(&document, Ended { reason, detail, at_ns })?;
        match failed {
            Some(error) => Err(error),
            None => Ok((whole, document)),
        }
    }
}
