//! Types at a program, follows it, and writes down what came of each input.

use crate::eyes::Eyes;
use crate::place::{Place, Via};
use crate::plan::{InteractError, InteractPlan, InteractProgress, PaceMode};
use crate::processes::{Spent, spent_by};
use crate::script::{Press, Quiet, Step as ScriptStep};
use crate::split::{Awaited, parts};
use crate::terminal::Program;
use crate::track::{Input, Taken, Tracker};
use punctual_kernel::capabilities::find_program;
use punctual_kernel::{Refused, clock, host};
use punctual_probe::Step;
use punctual_probe::terminal::stretches::Stretch;
use punctual_random::Random;
use punctual_recording::{
    Configuration, Document, EndReason, Ended, INTERACTIONS_SCHEMA, InteractionDocument, InteractionWriter, Outcome,
    RecordingKind, Writer,
};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Whoever types looks after all else this often.
const ROUND: Duration = Duration::from_millis(20);
/// Not so soon after an input or an output, for the program may be at work: ...
const UNDISTURBED_NS: u64 = 40_000_000;
/// ... but at least this often.
const SERVICE_NS: u64 = 200_000_000;
/// What the recorder's rings hold is copied this often: on a busy machine they are full in a tenth of a second.
const KEEP_NS: u64 = 40_000_000;
/// A segment is closed this often.
const FLUSH: Duration = Duration::from_secs(1);
/// A terminal that takes nothing for so long belongs to a program that hangs.
const STUCK: Duration = Duration::from_secs(10);
/// What waits to be named at the end may take so long.
const NAMING: Duration = Duration::from_secs(20);
/// Rows that wait for their parts.
const MAX_UNSPLIT: usize = 4_096;

/// Why it is over.
type Over = (EndReason, Option<String>);

/// Carries out a plan. `observe` is called about every 20 ms and says whether to go on.
///
/// # Errors
/// [`InteractError`]; whatever was found out before stands in the recording.
pub fn interact(
    plan: &InteractPlan,
    observe: &mut dyn FnMut(&InteractProgress<'_>) -> Step,
) -> Result<(Document, InteractionDocument), InteractError> {
    if plan.pace == PaceMode::Recorded && !plan.script.has_recorded_pauses() {
        let what = "--pace recorded takes a script in which every key has its pause: give pauses = [\"150ms\", ...]";
        return Err(InteractError::Setting(what.to_owned()));
    }
    if let (Via::Terminal, Some(place)) = (plan.via, &plan.script.wants_window) {
        return Err(InteractError::Setting(format!(
            "{place}: a terminal has no mouse: --via x11 or wayland gives the program a window"
        )));
    }
    let name = plan.program.first().map_or("", String::as_str);
    if find_program(name).is_none() {
        return Err(Refused::because(format!("starting `{name}`"), "there is no such program that can be run").into());
    }
    let place = Place::make(plan.via, &plan.script)?;
    let mut provenance = host::provenance(&plan.command_line);
    provenance.configuration = Configuration { via: plan.via.name().to_owned(), ..Configuration::default() };
    let eyes = Eyes::open(plan.bpf, plan.via, &place, &mut provenance);
    provenance.configuration.bpf = eyes.is_some();
    provenance.started_ns = clock::monotonic_ns();
    provenance.monotonic_to_unix_ns = clock::monotonic_to_unix_ns();
    let fallbacks = provenance.fallbacks.clone();
    let writer = Writer::create_of(RecordingKind::Interaction, &plan.output, provenance, Vec::new())?;
    let rows = InteractionWriter::create(writer.directory())?;
    let program = match Program::start(&plan.program, place.path(), place.environment()) {
        Ok(program) => program,
        // Nothing was measured, and nothing is left of it.
        Err(refused) => {
            writer.directory().discard();
            return Err(refused.into());
        }
    };
    let followed = eyes.is_some();
    let mut driver = Driver {
        plan,
        program,
        place,
        eyes,
        tracker: plan.via.tracker(followed),
        random: Random(plan.seed),
        writer,
        rows,
        unsplit: HashMap::new(),
        spent: HashMap::new(),
        before: None,
        task: String::new(),
        inputs: 0,
        not_split: 0,
        last_input: None,
        quiet_since_ns: clock::monotonic_ns(),
        serviced_ns: clock::monotonic_ns(),
        kept_ns: 0,
        flushed: Instant::now(),
        began: Instant::now(),
        cpu_before_ns: clock::thread_cpu_ns(),
        process_before_ns: clock::process_cpu_ns(),
        fallbacks,
        observe,
    };
    let over = driver.type_all();
    driver.finish(over)
}

struct Driver<'a> {
    plan: &'a InteractPlan,
    // Ended before its display is.
    program: Program,
    place: Place,
    eyes: Option<Eyes>,
    tracker: Tracker,
    random: Random,
    writer: Writer,
    rows: InteractionWriter,
    /// Inputs of which an episode was asked for.
    unsplit: HashMap<u32, Awaited>,
    /// What the kernel's account says of each input's time.
    spent: HashMap<u32, Spent>,
    /// The last input, and what had been spent as it was put in.
    before: Option<(u32, Spent)>,
    task: String,
    inputs: u64,
    not_split: u64,
    last_input: Option<u64>,
    /// When something was last put in or out, ns.
    quiet_since_ns: u64,
    serviced_ns: u64,
    kept_ns: u64,
    flushed: Instant,
    began: Instant,
    cpu_before_ns: u64,
    process_before_ns: u64,
    fallbacks: Vec<String>,
    observe: &'a mut dyn FnMut(&InteractProgress<'_>) -> Step,
}

impl Driver<'_> {
    /// Goes through the script.
    fn type_all(&mut self) -> Result<Over, InteractError> {
        let plan = self.plan;
        let name = plan.program.first().map_or("", String::as_str);
        self.tracker.put_in(Input {
            kind: "start".to_owned(),
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
        Ok(over.unwrap_or((EndReason::Completed, None)))
    }

    fn press(&mut self, keys: &[Press]) -> Result<Option<Over>, InteractError> {
        for press in keys {
            let pause = match (self.plan.pace, press.after) {
                (PaceMode::Full, _) => Duration::ZERO,
                (PaceMode::Recorded, Some(after)) => after,
                _ => self.plan.script.pace.pause(&mut self.random),
            };
            if let Some(over) = self.pause(pause)? {
                return Ok(Some(over));
            }
            if let Some(over) = self.put_in(press)? {
                return Ok(Some(over));
            }
        }
        Ok(None)
    }

    fn put_in(&mut self, press: &Press) -> Result<Option<Over>, InteractError> {
        let is_counted = self.plan.pace != PaceMode::Full;
        let spent = if is_counted { spent_by(self.program.pid) } else { None };
        if let (Some((number, before)), Some(now)) = (self.before.take(), spent) {
            self.spent.insert(number, now.since(before));
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
        let number = self.tracker.put_in(input);
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
        // Silence begins now at the earliest: what was put in last is to be answered.
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

    /// Listens for so long, and looks after the rest where that disturbs nobody.
    fn round(&mut self, patience: Duration) -> Result<Option<Over>, InteractError> {
        if let Some(arrival) = self.place.listen(patience)? {
            self.quiet_since_ns = arrival.at_ns;
            self.tracker.arrived(arrival.at_ns, arrival.bytes);
        }
        let now = clock::monotonic_ns();
        let is_undisturbed = now.saturating_sub(self.quiet_since_ns) > UNDISTURBED_NS;
        self.keep_evidence(now);
        let since = now.saturating_sub(self.serviced_ns);
        if since < SERVICE_NS && !(is_undisturbed && since > ROUND.as_nanos() as u64) {
            return Ok(None);
        }
        self.serviced_ns = now;
        self.service()?;
        if self.program.has_ended().is_some() {
            // What it wrote last is still to be taken.
            while let Some(arrival) = self.place.listen(Duration::from_millis(1))? {
                self.tracker.arrived(arrival.at_ns, arrival.bytes);
            }
            self.tracker.program_ended();
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

    /// Copies what happened since, for the inputs that are not done with.
    fn keep_evidence(&mut self, now: u64) {
        let oldest_ns = self.tracker.oldest_ns();
        if now.saturating_sub(self.kept_ns) >= KEEP_NS
            && let Some(stretches) = self.eyes.as_mut().and_then(|eyes| eyes.stretches.as_mut())
        {
            self.kept_ns = now;
            stretches.keep_since(oldest_ns);
        }
    }

    /// Takes what the kernel's programs saw, and what is done with.
    fn service(&mut self) -> Result<(), InteractError> {
        let mut made = Vec::new();
        if let Some(eyes) = &mut self.eyes {
            let settled_ns = eyes.watch.take(&mut eyes.seen);
            // What was shown up to then is told by now.
            while let Some(arrival) = self.place.listen(Duration::ZERO)? {
                self.quiet_since_ns = arrival.at_ns;
                self.tracker.arrived(arrival.at_ns, arrival.bytes);
            }
            eyes.seen.drain(..).for_each(|seen| self.tracker.seen(&seen));
            let done = self.tracker.take_done(settled_ns);
            self.keep(done);
        } else {
            let done = self.tracker.take_done(0);
            self.keep(done);
        }
        if let Some(stretches) = self.eyes.as_mut().and_then(|eyes| eyes.stretches.as_mut()) {
            stretches.round(|number, episode| made.push((number, episode)));
        }
        for (number, episode) in made {
            self.split(number, episode);
        }
        if self.flushed.elapsed() >= FLUSH {
            self.flushed = Instant::now();
            let document = self.document(None, false);
            self.rows.flush(&document)?;
            self.writer.flush()?;
        }
        Ok(())
    }

    /// Writes down inputs that are done with, and asks who had their time.
    fn keep(&mut self, done: Vec<Taken>) {
        for Taken { mut row, writer, handed_ns } in done {
            if let Some(spent) = self.spent.remove(&row.number) {
                row.run_delay_ns = Some(spent.delayed_ns);
                row.cpu_ns = row.cpu_ns.or(Some(spent.cpu_ns));
            }
            if let (Some(Outcome::Seen), Some(end_ns), Some((tid, name))) = (row.outcome, row.seen_ns, writer) {
                let stretches = self.eyes.as_mut().and_then(|eyes| eyes.stretches.as_mut());
                match stretches.filter(|_| self.unsplit.len() < MAX_UNSPLIT) {
                    Some(stretches) => {
                        let (id, begin_ns) = (u64::from(row.number), row.begin_ns);
                        let server = self.place.server().zip(self.place.server_name()).zip(handed_ns);
                        let server = server.map(|((pid, name), handed_ns)| (pid, name, handed_ns));
                        self.unsplit.insert(row.number, Awaited { begin_ns, end_ns, server });
                        stretches.ask(Stretch { id, tid, name, begin_ns, end_ns });
                    }
                    None => self.not_split += u64::from(self.eyes.is_some()),
                }
            }
            self.rows.push(&row);
        }
    }

    fn split(&mut self, number: u64, episode: punctual_recording::Episode) {
        let number = number as u32;
        if let Some(awaited) = self.unsplit.remove(&number) {
            parts(number, awaited, episode).iter().for_each(|part| self.rows.push_part(part));
        }
    }

    fn document(&self, exit_code: Option<i32>, ended_early: bool) -> InteractionDocument {
        let script = &self.plan.script;
        let watch = self.eyes.as_ref().map(|eyes| (&eyes.watch, eyes.own_runs_before));
        let cost = watch.map(|(watch, before)| {
            let cost = watch.cost();
            (cost.runs.saturating_sub(before.0), cost.ns.saturating_sub(before.1))
        });
        InteractionDocument {
            schema: INTERACTIONS_SCHEMA.to_owned(),
            via: self.plan.via.name().to_owned(),
            pace: self.plan.pace.name().to_owned(),
            program: self.plan.program.clone(),
            script: script.name.clone(),
            script_digest: script.digest.clone(),
            seed: self.plan.seed,
            followed: self.eyes.is_some(),
            inputs: self.inputs,
            not_put_in: script.inputs().saturating_sub(self.inputs),
            background_outputs: self.tracker.background_outputs(),
            records_lost: watch.map_or(0, |(watch, _)| watch.lost()),
            not_split: self.not_split,
            driver_cpu_ns: clock::thread_cpu_ns().saturating_sub(self.cpu_before_ns),
            process_cpu_ns: clock::process_cpu_ns().saturating_sub(self.process_before_ns),
            program_cpu_ns: watch.map(|_| self.tracker.cpu_ns()),
            programs_ran_ns: cost.map(|(_, ns)| ns),
            programs_runs: cost.map(|(runs, _)| runs),
            exit_code,
            ended_early,
        }
    }

    fn finish(mut self, over: Result<Over, InteractError>) -> Result<(Document, InteractionDocument), InteractError> {
        let (over, failed) = match over {
            Ok(over) => (over, None),
            Err(error) => ((EndReason::Failed, Some(error.to_string())), Some(error)),
        };
        let at_ns = clock::monotonic_ns();
        if let Some((number, before)) = self.before.take()
            && let Some(now) = spent_by(self.program.pid)
        {
            self.spent.insert(number, now.since(before));
        }
        if let Some(eyes) = &mut self.eyes {
            eyes.watch.take_all(&mut eyes.seen);
            eyes.seen.drain(..).for_each(|seen| self.tracker.seen(&seen));
        }
        let done = self.tracker.finish(at_ns);
        self.keep(done);
        let mut made = Vec::new();
        let patience = if punctual_kernel::ending::is_asked() { Duration::from_millis(700) } else { NAMING };
        if let Some(stretches) = self.eyes.as_mut().and_then(|eyes| eyes.stretches.take()) {
            stretches.finish(patience, |number, episode| made.push((number, episode)));
        }
        for (number, episode) in made {
            self.split(number, episode);
        }
        self.not_split += self.unsplit.len() as u64;
        let document = self.document(None, over.0 == EndReason::CommandEnded);
        let ended = self.program.end();
        let was_ended = over.0 == EndReason::CommandEnded;
        let document = InteractionDocument { exit_code: ended.flatten().filter(|_| was_ended), ..document };
        self.rows.finish(&document)?;
        let ended = Ended { reason: over.0, detail: over.1, at_ns };
        let whole = self.writer.finish(ended, Vec::new())?;
        match failed {
            Some(error) => Err(error),
            None => Ok((whole, document)),
        }
    }
}
