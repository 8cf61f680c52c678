//! Types at a program, follows it, and writes down the outcome of each input.

use crate::delivered::Delivered;
use crate::kernel_tracing::{KernelTracing, Until};
use crate::ledger::Ledger;
use crate::place::{Place, Via};
use crate::plan::{InteractError, InteractPlan, InteractProgress, PaceMode};
use crate::processes::Account;
use crate::script::{Press, Quiet, Step as ScriptStep};
use crate::terminal::Program;
use crate::track::Input;
use crate::typist::ComesFirst;
use punctual_kernel::capabilities::find_program;
use punctual_kernel::{Refused, clock, host};
use punctual_probe::Step;
use punctual_random::Random;
use punctual_recording::{
    Configuration, Document, EndReason, Ended, INTERACTIONS_SCHEMA, InteractionDocument, InteractionWriter,
    RecordingKind, START, Writer,
};
use std::time::{Duration, Instant};

/// How often the typist attends to everything else.
const ROUND: Duration = Duration::from_millis(20);
/// Not so soon after an input or an output, because the program may be at work: ...
const UNDISTURBED_NS: u64 = 40_000_000;
/// ... but at least this often.
const SERVICE_NS: u64 = 200_000_000;
/// How often to check what the program has loaded, which includes its toolkit.
const TOOLKITS: Duration = Duration::from_secs(2);
/// A terminal that takes nothing for this long belongs to a program that hangs.
const STUCK: Duration = Duration::from_secs(10);

/// Why it is over.
type Over = (EndReason, Option<String>);

/// Carries out a plan. `observe` is called about every 20 ms and says whether to go on.
///
/// # Errors
/// [`InteractError`]; the recording keeps whatever was found out before.
pub fn interact(
    plan: &InteractPlan,
    observe: &mut dyn FnMut(&InteractProgress<'_>) -> Step,
) -> Result<(Document, InteractionDocument), InteractError> {
    plan.check()?;
    let name = plan.program.first().map_or("", String::as_str);
    if find_program(name).is_none() {
        return Err(Refused::because(format!("starting `{name}`"), "there is no such executable program").into());
    }
    let mut place = Place::make(plan.via, &plan.script)?;
    let mut provenance = host::provenance(&plan.command_line);
    provenance.configuration = Configuration { via: plan.via.name().to_owned(), ..Configuration::default() };
    let mut tracing = KernelTracing::open(plan.bpf.then_some(plan.sample_rate), plan.via, &place, &mut provenance);
    if plan.toolkit {
        tracing = tracing.map(|tracing| tracing.with_toolkits(&mut provenance));
    }
    provenance.configuration.bpf = tracing.is_some();
    provenance.started_ns = clock::monotonic_ns();
    provenance.monotonic_to_unix_ns = clock::monotonic_to_unix_ns();
    let fallbacks = provenance.fallbacks.clone();
    let writer = Writer::create_of(RecordingKind::Interaction, &plan.output, provenance, Vec::new())?;
    let rows = InteractionWriter::create(writer.directory())?;
    let is_counted = plan.pace != PaceMode::Full;
    let program = match Program::start(&plan.program, place.path(), place.environment(), is_counted) {
        Ok(program) => program,
        // Nothing was measured, and nothing is left of it.
        Err(refused) => {
            writer.directory().discard();
            return Err(refused.into());
        }
    };
    place.program_is_below(program.guard());
    let followed = tracing.is_some();
    let server = place.server().zip(place.server_name());
    let delivered = delivered(tracing.as_ref(), &place, program.guard())?;
    let ledger = Ledger::new(tracing, plan.via.tracker(followed), server, writer, rows);
    let mut driver = Driver {
        plan,
        program,
        place,
        ledger,
        delivered,
        random: Random(plan.seed),
        held: Duration::ZERO,
        before: None,
        never_quiet: false,
        task: String::new(),
        inputs: 0,
        last_input: None,
        quiet_since_ns: clock::monotonic_ns(),
        serviced_ns: clock::monotonic_ns(),
        began: Instant::now(),
        looked_for_toolkits: None,
        fallbacks,
        observe,
    };
    let over = driver.type_all();
    driver.finish(over)
}

/// With a display that others use too: watches the program alone from now on, neither this process nor the guard.
fn delivered(tracing: Option<&KernelTracing>, place: &Place, guard: u32) -> Result<Option<Delivered>, Refused> {
    let (Some(tracing), Some(server), Some(_)) = (tracing, place.server(), place.drawings()) else { return Ok(None) };
    let aside = [std::process::id(), guard];
    aside.into_iter().try_for_each(|process| tracing.watch.leave_out(process))?;
    Ok(Some(Delivered::new(server, aside)))
}

struct Driver<'a> {
    plan: &'a InteractPlan,
    // It must end before its display does.
    program: Program,
    place: Place,
    ledger: Ledger,
    /// With a display that others use too, what is on its way to the program.
    delivered: Option<Delivered>,
    random: Random,
    /// For how long the last key was held, if it has come up since.
    held: Duration,
    /// The last input, and what had been spent when it was put in.
    before: Option<(u32, Account)>,
    /// Whether it never was quiet before the first input.
    never_quiet: bool,
    task: String,
    inputs: u64,
    last_input: Option<u64>,
    /// When something was last put in or out, ns.
    quiet_since_ns: u64,
    serviced_ns: u64,
    began: Instant,
    /// When the program's libraries were last checked; `None`: its start is not over.
    looked_for_toolkits: Option<Instant>,
    fallbacks: Vec<String>,
    observe: &'a mut dyn FnMut(&InteractProgress<'_>) -> Step,
}

impl Driver<'_> {
    /// Goes through the script.
    fn type_all(&mut self) -> Result<Over, InteractError> {
        // The program and its display run by now.
        let _first = ComesFirst::begin();
        let plan = self.plan;
        let name = plan.program.first().map_or("", String::as_str);
        self.ledger.tracker.put_in(Input {
            kind: START.to_owned(),
            label: name.rsplit('/').next().unwrap_or(name).to_owned(),
            begin_ns: self.program.started_ns,
            injected_ns: self.program.started_ns,
            is_start: true,
            ..Input::default()
        });
        if let Some(over) = self.until_quiet(plan.script.ready)? {
            return Ok(over);
        }
        if !self.place.is_there() {
            let words = self.place.last_words().map_or_else(String::new, |words| format!("; it said: {words}"));
            let what = format!("{name} showed no window within {} s{words}", plan.script.ready.at_most.as_secs());
            return Ok((EndReason::Failed, Some(what)));
        }
        let quiet_ns = clock::monotonic_ns().saturating_sub(self.quiet_since_ns);
        self.never_quiet = quiet_ns < plan.script.ready.silence.as_nanos() as u64;
        if self.never_quiet {
            self.ledger.tracker.never_starts();
        }
        self.look_for_toolkits();
        for step in &plan.script.steps {
            let over = match step {
                ScriptStep::Task(task) => {
                    self.task.clone_from(task);
                    None
                }
                ScriptStep::Think(_) if plan.pace == PaceMode::Full => None,
                ScriptStep::Think(pause) => self.pause(*pause)?,
                ScriptStep::Wait(quiet) => self.until_quiet(*quiet)?,
                ScriptStep::Inputs(presses) => self.press(presses)?,
            };
            if let Some(over) = over {
                return Ok(over);
            }
        }
        let over = self.until_quiet(plan.script.ready)?;
        let over = if over.is_none() { self.until_done()? } else { over };
        Ok(over.unwrap_or((EndReason::Completed, None)))
    }

    fn look_for_toolkits(&mut self) {
        if let Some(tracing) = &mut self.ledger.tracing {
            tracing.look_for_toolkits(self.program.pid, self.plan.via == Via::Wayland);
            self.looked_for_toolkits = Some(Instant::now());
        }
    }

    /// Waits for the program to finish with what was put in last, but not for ever.
    fn until_done(&mut self) -> Result<Option<Over>, InteractError> {
        let until = Instant::now() + self.plan.script.ready.at_most;
        while self.ledger.tracker.is_under_way() && Instant::now() < until {
            if let Some(over) = self.round(ROUND)? {
                return Ok(Some(over));
            }
        }
        // Its last output is still to come.
        self.pause(ROUND)
    }

    fn press(&mut self, keys: &[Press]) -> Result<Option<Over>, InteractError> {
        for press in keys {
            let pause = self.pause_before(press);
            if let Some(over) = self.pause(pause)? {
                return Ok(Some(over));
            }
            if let Some(over) = self.put_in(press)? {
                return Ok(Some(over));
            }
        }
        Ok(None)
    }

    /// How long to wait before an input: from key to key as long as anybody does, of which the first one is held for a while.
    fn pause_before(&mut self, press: &Press) -> Duration {
        let pace = self.plan.script.pace;
        if self.plan.pace == PaceMode::Full {
            return Duration::ZERO;
        }
        if press.act.is_release() {
            self.held = pace.hold(&mut self.random);
            return self.held;
        }
        let pause = match (self.plan.pace, press.after) {
            (PaceMode::Recorded, Some(after)) => after,
            _ => pace.pause(&mut self.random),
        };
        pause.saturating_sub(std::mem::take(&mut self.held))
    }

    /// Waits for a window to type into: what a program without one is typed, nobody takes. A display that others use too is
    /// asked at each input whose window it would be.
    fn until_there(&mut self, press: &Press) -> Result<Option<Over>, InteractError> {
        let patience = self.plan.script.ready.at_most;
        let until = Instant::now() + patience;
        while self.plan.via != Via::UsersWindow && !self.place.is_there() {
            if Instant::now() > until {
                let name = self.plan.program.first().map_or("", String::as_str);
                let (seconds, label) = (patience.as_secs(), press.act.label());
                let what = format!("{name} has had no window for {seconds} s: `{label}` could not be put in");
                return Ok(Some((EndReason::Failed, Some(what))));
            }
            if let Some(over) = self.round(ROUND)? {
                return Ok(Some(over));
            }
        }
        Ok(None)
    }

    fn put_in(&mut self, press: &Press) -> Result<Option<Over>, InteractError> {
        if let Some(over) = self.until_there(press)? {
            return Ok(Some(over));
        }
        if self.inputs == 0 {
            self.ledger.inputs_begin();
        }
        let spent = self.program.spent();
        if let (Some((number, before)), Some(now)) = (self.before.take(), &spent) {
            self.ledger.spent.insert(number, now.since(&before));
        }
        let mut input = self.place.begin(press, &self.task);
        input.begin_ns = clock::monotonic_ns();
        let stuck = Instant::now() + STUCK;
        while !self.place.put_in(&mut input)? {
            if Instant::now() > stuck {
                let what = format!("the program takes no input: `{}` could not be put in for 10 s", press.act.label());
                return Ok(Some((EndReason::Failed, Some(what))));
            }
            if let Some(over) = self.pause(Duration::from_millis(1))? {
                return Ok(Some(over));
            }
        }
        input.injected_ns = clock::monotonic_ns();
        self.quiet_since_ns = input.injected_ns;
        self.last_input = Some(input.begin_ns);
        if let Some(delivered) = &mut self.delivered {
            delivered.put_in(input.begin_ns);
        }
        let number = self.ledger.tracker.put_in(input);
        self.before = spent.map(|spent| (number, spent));
        self.inputs += 1;
        Ok(None)
    }

    /// Lets this time pass.
    fn pause(&mut self, pause: Duration) -> Result<Option<Over>, InteractError> {
        let until = Instant::now() + pause;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if let Some(over) = self.round(left.min(ROUND))? {
                return Ok(Some(over));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
        }
    }

    fn until_quiet(&mut self, quiet: Quiet) -> Result<Option<Over>, InteractError> {
        let until = Instant::now() + quiet.at_most;
        // Silence begins now at the earliest, because what was put in last is still to be answered.
        let begin_ns = clock::monotonic_ns();
        let silence = quiet.silence.as_nanos() as u64;
        while Instant::now() < until {
            if let Some(over) = self.round(ROUND)? {
                return Ok(Some(over));
            }
            let is_silent = clock::monotonic_ns().saturating_sub(self.quiet_since_ns.max(begin_ns)) >= silence;
            if is_silent && self.place.is_there() {
                break;
            }
        }
        Ok(None)
    }

    /// Listens for this long, and attends to the rest when that disturbs nobody.
    fn round(&mut self, patience: Duration) -> Result<Option<Over>, InteractError> {
        if let Some(arrival) = self.place.listen(patience)? {
            self.quiet_since_ns = arrival.at_ns;
            self.ledger.tracker.arrived(arrival.at_ns, arrival.bytes);
        }
        let now = clock::monotonic_ns();
        let is_undisturbed = now.saturating_sub(self.quiet_since_ns) > UNDISTURBED_NS;
        self.ledger.keep_evidence(now);
        let since = now.saturating_sub(self.serviced_ns);
        if since < SERVICE_NS && !(is_undisturbed && since > ROUND.as_nanos() as u64) {
            return Ok(None);
        }
        self.serviced_ns = now;
        self.service()?;
        if self.program.has_ended().is_some() {
            // Its last output must still be taken.
            while let Some(arrival) = self.place.listen(Duration::from_millis(1))? {
                self.ledger.tracker.arrived(arrival.at_ns, arrival.bytes);
            }
            self.ledger.tracker.program_ended();
            return Ok(Some((EndReason::CommandEnded, None)));
        }
        let progress = InteractProgress {
            elapsed: self.began.elapsed(),
            inputs: self.inputs,
            all: self.plan.script.inputs(),
            task: &self.task,
            fallbacks: &self.fallbacks,
        };
        match (self.observe)(&progress) {
            Step::Stop(reason, detail) => Ok(Some((reason, detail))),
            _ => Ok(None),
        }
    }

    /// Takes what the programs in the kernel saw, and the inputs that have ended.
    fn service(&mut self) -> Result<(), InteractError> {
        if self.looked_for_toolkits.is_some_and(|looked| looked.elapsed() > TOOLKITS) {
            self.look_for_toolkits();
        }
        self.ledger.look(Until::Settled);
        // What was shown up to then has been reported by now.
        while self.ledger.tracing.is_some()
            && let Some(arrival) = self.place.listen(Duration::ZERO)?
        {
            self.quiet_since_ns = arrival.at_ns;
            self.ledger.tracker.arrived(arrival.at_ns, arrival.bytes);
        }
        self.go_through_seen();
        if self.ledger.is_due() {
            let document = self.document(None, false);
            self.ledger.flush(&document)?;
        }
        Ok(())
    }

    /// Goes through what was seen.
    fn go_through_seen(&mut self) {
        match &mut self.delivered {
            Some(delivered) => self.ledger.service(|tracker, seen| delivered.look(tracker, seen)),
            None => self.ledger.service(|_, _| true),
        }
    }

    fn document(&self, exit_code: Option<i32>, ended_early: bool) -> InteractionDocument {
        let script = &self.plan.script;
        self.ledger.counted(InteractionDocument {
            schema: INTERACTIONS_SCHEMA.to_owned(),
            via: self.plan.via.name().to_owned(),
            pace: self.plan.pace.name().to_owned(),
            program: self.plan.program.clone(),
            script: script.name.clone(),
            script_digest: script.digest.clone(),
            seed: self.plan.seed,
            inputs: self.inputs,
            not_put_in: script.inputs().saturating_sub(self.inputs),
            exit_code,
            ended_early,
            never_quiet: self.never_quiet,
            hardware: self.program.hardware(),
            ..InteractionDocument::default()
        })
    }

    fn finish(mut self, over: Result<Over, InteractError>) -> Result<(Document, InteractionDocument), InteractError> {
        let (over, failed) = match over {
            Ok(over) => (over, None),
            Err(error) => ((EndReason::Failed, Some(error.to_string())), Some(error)),
        };
        let at_ns = clock::monotonic_ns();
        if let Some((number, before)) = self.before.take()
            && let Some(now) = self.program.spent()
        {
            self.ledger.spent.insert(number, now.since(&before));
        }
        self.ledger.look(Until::End);
        self.go_through_seen();
        if let Some(delivered) = &mut self.delivered {
            delivered.deliver(&mut self.ledger.tracker, at_ns);
        }
        self.ledger.take_all(at_ns);
        let document = self.document(None, over.0 == EndReason::CommandEnded);
        let ended = self.program.end();
        let was_ended = over.0 == EndReason::CommandEnded;
        let document = InteractionDocument { exit_code: ended.flatten().filter(|_| was_ended), ..document };
        let ended = Ended { reason: over.0, detail: over.1, at_ns };
        let whole = self.ledger.finish(&document, ended)?;
        match failed {
            Some(error) => Err(error),
            None => Ok((whole, document)),
        }
    }
}
