//! Watches a person's own use of a program that runs already. Nothing is put in.

mod arrivals;
mod find;

use crate::eyes::Eyes;
use crate::ledger::Ledger;
use crate::plan::{InteractError, InteractProgress};
use crate::track::Tracker;
use arrivals::Arrivals;
pub use find::Target;
use punctual_kernel::{clock, host};
use punctual_probe::Step;
use punctual_probe::terminal::TerminalWatch;
use punctual_recording::{
    Configuration, Document, EndReason, Ended, INTERACTIONS_SCHEMA, InteractionDocument, InteractionWriter, OWN_PACE,
    RecordingKind, Writer,
};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// All is looked after this often.
const ROUND: Duration = Duration::from_millis(20);
/// What was seen is taken this often.
const SERVICE: Duration = Duration::from_millis(100);
/// An input is known of only once it was taken and that was seen: so long what happened before is kept.
const LOOKS_BACK: Duration = Duration::from_millis(400);
/// What is not seen of somebody's own use.
const NOT_SEEN: [&str; 5] = [
    "keyboard, display and terminal emulator: an input begins as it is put into the terminal, and ends there",
    "an input that the program was waiting for in read() before this began",
    "which keys they were: only how many bytes came",
    "processes that left the terminal's session, but as those whom the program waits for",
    "input that a program takes by io_uring",
];

/// What to watch.
#[derive(Debug, Clone)]
pub struct AttachPlan {
    /// The program.
    pub target: Target,
    /// For how long; without it until the program ends, or somebody asks.
    pub duration: Option<Duration>,
    /// The directory to write.
    pub output: PathBuf,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
}

/// Watches. `observe` is called about every 20 ms and says whether to go on.
///
/// # Errors
/// [`InteractError`]; whatever was found out before stands in the recording.
pub fn attach(
    plan: &AttachPlan,
    observe: &mut dyn FnMut(&InteractProgress<'_>) -> Step,
) -> Result<(Document, InteractionDocument), InteractError> {
    let mut provenance = host::provenance(&plan.command_line);
    provenance.configuration = Configuration { via: "pty".to_owned(), bpf: true, ..Configuration::default() };
    let terminal = plan.target.open_terminal()?;
    let watch = TerminalWatch::start(terminal.as_fd(), None)?;
    let mut blind = NOT_SEEN.map(str::to_owned).to_vec();
    if !watch.tells_of_input() {
        blind.push("when input comes while the program is at work: such inputs are counted apart".to_owned());
    }
    let eyes = Eyes::of(watch, blind, &mut provenance);
    provenance.started_ns = clock::monotonic_ns();
    provenance.monotonic_to_unix_ns = clock::monotonic_to_unix_ns();
    let fallbacks = provenance.fallbacks.clone();
    let writer = Writer::create_of(RecordingKind::Interaction, &plan.output, provenance, Vec::new())?;
    let rows = InteractionWriter::create(writer.directory())?;
    let ledger = Ledger::new(Some(eyes), Tracker::new(true), None, writer, rows).looking_back(LOOKS_BACK);
    let mut watched = Watched { plan, ledger, arrivals: Arrivals::default(), inputs: 0, fallbacks };
    let over = watched.watch(observe);
    watched.finish(over)
}

struct Watched<'a> {
    plan: &'a AttachPlan,
    ledger: Ledger,
    arrivals: Arrivals,
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
                if !self.plan.target.is_there() {
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
        let (arrivals, inputs) = (&mut self.arrivals, &mut self.inputs);
        self.ledger.look();
        self.ledger.service(|tracker, seen| {
            if let Some(input) = arrivals.look(seen) {
                *inputs += 1;
                tracker.put_in(input);
            }
        });
    }

    fn document(&self) -> InteractionDocument {
        self.ledger.counted(InteractionDocument {
            schema: INTERACTIONS_SCHEMA.to_owned(),
            via: "pty".to_owned(),
            pace: OWN_PACE.to_owned(),
            program: self.plan.target.words.clone(),
            script: "none".to_owned(),
            inputs: self.inputs,
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
        let (arrivals, inputs) = (&mut self.arrivals, &mut self.inputs);
        self.ledger.take_all(at_ns, |tracker, seen| {
            if let Some(input) = arrivals.look(seen) {
                *inputs += 1;
                tracker.put_in(input);
            }
        });
        let document = self.document();
        let whole = self.ledger.finish(&document, Ended { reason, detail, at_ns })?;
        match failed {
            Some(error) => Err(error),
            None => Ok((whole, document)),
        }
    }
}
