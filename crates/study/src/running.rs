//! A running load: made ready, warmed up, watched, counted and ended.

use crate::StudyError;
use punctual_kernel::clock;
use punctual_kernel::guard::{Guard, GuardEvent, GuardedCommand, GuardedPreparation, GuardedRun};
use punctual_load::score::{Deed, Tally};
use punctual_load::{Load, LoadCommand};
use punctual_recording::LoadScore;
use punctual_recording::counted;
use std::time::{Duration, Instant};

/// How far a load is that is not being measured yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GettingReady {
    /// Its files have been in the making for this long.
    Preparing(Duration),
    /// It has run for this long, and should run for this long in all before it is measured.
    WarmingUp(Duration, Duration),
}

/// What a look at a load showed.
pub(crate) struct Noted {
    /// What went wrong since the last look.
    pub(crate) trouble: Vec<String>,
    /// Why it is not the load that was asked for, if a command has failed since the last look.
    pub(crate) failure: Option<String>,
    /// Whether a command has ended whose end ends the measurement.
    pub(crate) over: bool,
}

/// What came of a load.
pub(crate) struct Done {
    pub(crate) scores: Vec<LoadScore>,
    /// What went wrong that has not been reported yet.
    pub(crate) trouble: Vec<String>,
    /// Why it was not the load that was asked for, if that has not been reported yet.
    pub(crate) failure: Option<String>,
    /// What is not known about it.
    pub(crate) notes: Vec<String>,
}

/// A load that was started. It ends when this is dropped.
pub(crate) struct Running<'a> {
    load: &'a Load,
    guard: Guard,
    tally: Tally,
    commands: Vec<CommandProgress>,
    measured: bool,
    trouble: Vec<String>,
    failure: Option<String>,
    /// Its processes.
    processes: Vec<u32>,
    /// When the command ended whose end ends the measurement.
    over_ns: Option<u64>,
    gone: bool,
    /// Whether that command is what is measured: it is no load, and has no score to tell.
    is_measured: bool,
}

/// How a command is doing.
#[derive(Default)]
struct CommandProgress {
    iterations: u64,
    failures: u64,
    first_failure: Option<String>,
    ended: bool,
}

/// How long the guard may take to start the load.
const START: Duration = Duration::from_secs(5);
/// How long a load's files may take to make.
const PREPARATION: Duration = Duration::from_secs(120);
/// How often to check whether to go on.
const ROUND: Duration = Duration::from_millis(50);

impl<'a> Running<'a> {
    /// Starts a load and returns when it has warmed up. All of it is ended this long after that at the latest.
    /// A command whose end ends the measurement has the name `mark` until it becomes the program.
    pub(crate) fn start(
        load: &'a Load,
        limit: Option<Duration>,
        mark: Option<&str>,
        getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    ) -> Result<Running<'a>, StudyError> {
        let warm_up = load.warm_up;
        let run = GuardedRun {
            preparations: load.preparations.iter().map(preparation).collect(),
            commands: load.commands.iter().map(|words| command(words, mark)).collect(),
            time_limit: limit.map(|limit| limit + PREPARATION + START + warm_up),
            remove_at_end: Vec::new(),
            setting: None,
        };
        let guard = Guard::start(&run).map_err(|refused| StudyError::Load(refused.to_string()))?;
        let mut running = Running {
            load,
            guard,
            tally: Tally::new(load.scored()),
            commands: load.commands.iter().map(|_| CommandProgress::default()).collect(),
            measured: false,
            trouble: Vec::new(),
            failure: None,
            processes: Vec::new(),
            over_ns: None,
            gone: false,
            is_measured: mark.is_some(),
        };
        running.wait_for_start(getting_ready)?;
        let began = Instant::now();
        while let Some(left) = warm_up.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            if !getting_ready(GettingReady::WarmingUp(began.elapsed(), warm_up)) {
                return Err(StudyError::Interrupted);
            }
            for event in running.guard.events(left.min(ROUND)) {
                running.take(event)?;
            }
        }
        if getting_ready(GettingReady::WarmingUp(warm_up, warm_up)) {
            Ok(running)
        } else {
            Err(StudyError::Interrupted)
        }
    }

    fn wait_for_start(&mut self, getting_ready: &mut dyn FnMut(GettingReady) -> bool) -> Result<(), StudyError> {
        let patience = if self.load.preparations.is_empty() { START } else { START + PREPARATION };
        let began = Instant::now();
        let mut started = false;
        while !started {
            // What it said before it went still has to be read.
            let gone = began.elapsed() > patience || self.guard.is_gone();
            if !getting_ready(GettingReady::Preparing(began.elapsed())) {
                return Err(StudyError::Interrupted);
            }
            for event in self.guard.events(ROUND) {
                started |= matches!(event, GuardEvent::Started { .. });
                self.take(event)?;
            }
            if gone && !started {
                return Err(StudyError::Load("the guard process did not answer".to_owned()));
            }
        }
        Ok(())
    }

    /// The process of each command.
    pub(crate) fn processes(&self) -> &[u32] {
        &self.processes
    }

    /// What it does from now on counts.
    pub(crate) fn begin(&mut self, at_ns: u64) {
        if !self.measured {
            self.measured = true;
            self.tally.begin(at_ns);
        }
    }

    /// Takes what the guard has reported.
    pub(crate) fn look(&mut self) -> Noted {
        loop {
            let events = self.guard.events(Duration::ZERO);
            if events.is_empty() {
                break;
            }
            for event in events {
                // Once it is being measured nothing is refused any more.
                if let Err(error) = self.take(event) {
                    self.trouble.push(error.to_string());
                }
            }
        }
        if !self.gone && self.guard.is_gone() {
            self.gone = true;
            self.trouble.push("the load was ended from outside".to_owned());
            self.failure.get_or_insert_with(|| "the load was ended from outside".to_owned());
        }
        Noted { trouble: std::mem::take(&mut self.trouble), failure: self.failure.take(), over: self.over_ns.is_some() }
    }

    /// Ends the load and returns what it got done until then.
    pub(crate) fn end(mut self, ended_ns: u64) -> Done {
        let ended_ns = self.over_ns.unwrap_or(ended_ns).min(ended_ns);
        self.look_once_more(ended_ns);
        let Running { load, guard, mut tally, commands, mut trouble, failure, gone, is_measured, .. } = self;
        for event in guard.end() {
            count(&mut tally, &event);
        }
        let (scores, mut notes) = (tally.scores(), Vec::new());
        for (command, course) in load.commands.iter().zip(&commands) {
            let name = short(&command.name);
            if course.ended || gone {
                continue;
            }
            if let Some(failure) = &course.first_failure {
                let CommandProgress { failures, iterations, .. } = course;
                trouble.push(format!("`{name}` failed {failures} of {}: it {failure}", counted(*iterations, "time")));
            } else if command.scored
                && !(is_measured && command.ends_measurement)
                && !scores.iter().any(|score| score.name.starts_with(&command.name))
            {
                let why = match &command.lines {
                    Some(_) => {
                        "it said too little about what it did in the measured time: others may have left it too little of the CPUs, or the time was too short"
                    }
                    None if command.ends_measurement => "it was still running when the measured time was over",
                    None => "it did not finish once in the measured time: measure longer",
                };
                notes.push(format!("`{name}` has no score: {why}"));
            }
        }
        Done { scores, trouble, failure, notes }
    }

    /// What arrives about the time before still counts.
    fn look_once_more(&mut self, ended_ns: u64) {
        self.tally.end(ended_ns);
        let Noted { trouble, failure, .. } = self.look();
        (self.trouble, self.failure) = (trouble, failure);
    }

    fn take(&mut self, event: GuardEvent) -> Result<(), StudyError> {
        count(&mut self.tally, &event);
        match event {
            GuardEvent::Refused { reason } => return Err(StudyError::Load(reason)),
            GuardEvent::NotStarted { index, reason } => {
                return Err(not_started(&self.load.commands[index], &reason));
            }
            GuardEvent::NotPrepared { index, reason } => {
                let name = &self.load.preparations[index].load;
                return Err(StudyError::Load(format!("`{name}` could not be prepared: {reason}")));
            }
            GuardEvent::Iteration { index, started_ns, ended_ns, code, last_words } => {
                let course = &mut self.commands[index];
                course.iterations += 1;
                if code != Some(0) {
                    course.failures += 1;
                    course.first_failure.get_or_insert_with(|| how(code, started_ns, ended_ns, last_words.as_deref()));
                }
            }
            GuardEvent::Ended { index, started_ns, ended_ns, code, last_words } => {
                let command = &self.load.commands[index];
                let course = &mut self.commands[index];
                course.ended = true;
                let how = how(code, started_ns, ended_ns, last_words.as_deref());
                let text = if command.repeat {
                    format!("`{}` failed three times in a row and was given up: it {how}", short(&command.name))
                } else {
                    format!("`{}` {how}", short(&command.name))
                };
                if command.ends_measurement {
                    self.over_ns = Some(ended_ns);
                    if code == Some(0) {
                        self.tally.begin(started_ns);
                        self.tally.add(index, ended_ns, Deed::Iteration { started_ns, succeeded: true });
                        return Ok(());
                    }
                }
                // What fails before the measurement is not measured.
                if !self.measured && command.quiet && code != Some(0) {
                    return Err(StudyError::Load(text));
                }
                if code != Some(0) || command.repeat {
                    self.failure.get_or_insert_with(|| text.clone());
                }
                self.trouble.push(text);
            }
            GuardEvent::Started { processes, .. } => {
                self.processes = processes.into_iter().map(|(process, _)| process).collect();
            }
            GuardEvent::Unfinished { .. } | GuardEvent::Line { .. } => {}
        }
        Ok(())
    }
}

/// Tells the tally what a command did.
fn count(tally: &mut Tally, event: &GuardEvent) {
    match event {
        GuardEvent::Iteration { index, started_ns, ended_ns, code, .. } => {
            tally.add(*index, *ended_ns, Deed::Iteration { started_ns: *started_ns, succeeded: *code == Some(0) });
        }
        GuardEvent::Unfinished { index, started_ns } => {
            tally.add(*index, clock::monotonic_ns(), Deed::Unfinished { started_ns: *started_ns });
        }
        GuardEvent::Line { index, at_ns, text } => tally.add(*index, *at_ns, Deed::Line(text.clone())),
        _ => {}
    }
}

fn preparation(preparation: &punctual_load::Preparation) -> GuardedPreparation {
    GuardedPreparation { files: preparation.files.clone(), script: preparation.script.clone() }
}

fn command(command: &LoadCommand, mark: Option<&str>) -> GuardedCommand {
    GuardedCommand {
        words: command.words.clone(),
        quiet: command.quiet,
        mark: mark.filter(|_| command.ends_measurement).map(str::to_owned),
        tells_lines: command.lines.is_some(),
        repeat: command.repeat,
        pace: command.pace,
        ..GuardedCommand::default()
    }
}

/// How a command ended, to follow its name.
fn how(code: Option<i32>, started_ns: u64, ended_ns: u64, last_words: Option<&str>) -> String {
    let how = match code {
        None => "was ended by a signal".to_owned(),
        // This is how the shell reports a signal that ended what it ran.
        Some(code @ 129..=159) => format!("was ended by signal {}", code - 128),
        Some(code) => format!("ended with code {code}"),
    };
    let seconds = ended_ns.saturating_sub(started_ns) as f64 / 1e9;
    let words = last_words.map(|words| format!(": {words}")).unwrap_or_default();
    format!("{how} after {seconds:.1} s{words}")
}

/// Why a command could not be started: the user's program is no load.
fn not_started(command: &LoadCommand, reason: &str) -> StudyError {
    let why = format!("`{}`: {reason}", short(&command.name));
    if command.ends_measurement { StudyError::Program(why) } else { StudyError::Load(why) }
}

/// A name that may be a whole script, cut to one line.
fn short(name: &str) -> String {
    let line = name.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let cut: String = line.chars().take(60).collect();
    if cut.len() < name.trim().len() { format!("{cut}...") } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_cannot_be_started_is_no_load() {
        let said = |ends_measurement| {
            let command = LoadCommand { name: "./sdrr".to_owned(), ends_measurement, ..LoadCommand::default() };
            not_started(&command, "no such file").to_string()
        };
        assert_eq!(said(true), "the program could not be started: `./sdrr`: no such file");
        assert_eq!(said(false), "the load could not be started: `./sdrr`: no such file");
    }
}
