//! One recording with a load beside it.

use punctual_kernel::guard::{Guard, GuardEvent, GuardedCommand, GuardedRun};
use punctual_kernel::{capabilities, host};
use punctual_load::{Load, Machine};
use punctual_probe::{Observation, Outcome, Plan, RunError, Step};
use punctual_recording::{EndReason, LoadInfo};
use std::time::Duration;

/// Why a study could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A measurement could not be carried out.
    #[error(transparent)]
    Run(#[from] RunError),
    /// What was just recorded could not be read back.
    #[error(transparent)]
    Recording(#[from] punctual_recording::Error),
    /// What was recorded could not be judged.
    #[error(transparent)]
    Forecast(#[from] punctual_forecast::Error),
    /// What was recorded cannot be compared.
    #[error(transparent)]
    Comparison(#[from] punctual_comparison::Error),
    /// What has to be done before a measurement failed, or what was to be read stands there twice or empty.
    #[error("{0}")]
    Setting(String),
    /// The load could not be started.
    #[error("the load could not be started: {0}")]
    Load(String),
}

/// How long the guard may take to start the load.
const START_PATIENCE: Duration = Duration::from_secs(5);
/// How long a load runs before the measurement begins, so that its own start is not measured.
const WARM_UP: Duration = Duration::from_millis(300);
/// How much longer than the measurement a load may run, whatever happens.
const OVERTIME: Duration = Duration::from_secs(30);

/// This machine, as loads need to know it.
pub fn local_machine() -> Machine {
    let host = host::host();
    Machine {
        cpus: host.cpus_online.unwrap_or(1),
        memory_bytes: host.memory_bytes.unwrap_or(1 << 30),
        stress_ng: capabilities::find_program("stress-ng"),
        own_program: std::env::current_exe().unwrap_or_else(|_| "punctual".into()),
        // Two at once should not meet on one port.
        first_port: 20_000 + (std::process::id() % 2_000) as u16 * 16,
    }
}

/// Carries out a plan with this load beside it. The load is ended with the measurement, whatever ends that.
///
/// # Errors
/// [`StudyError`].
pub fn record_under(
    mut plan: Plan,
    load: &Load,
    observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<Outcome, StudyError> {
    plan.load = LoadInfo {
        name: load.name.clone(),
        commands: load.commands.iter().map(|command| command.words.clone()).collect(),
        compression_thousandths: None,
        trouble: load.notes.clone(),
        ..LoadInfo::default()
    };
    if load.is_none() {
        return Ok(punctual_probe::run(&plan, observe)?);
    }
    // Before anything runs: a plan that cannot be carried out starts no load.
    plan.measured_cpus().map_err(RunError::from)?;
    plan.schedulings().map_err(RunError::from)?;
    if let Some(selection) = &plan.follow {
        selection.check().map_err(RunError::from)?;
    }
    let mark = plan.command_mark();
    let commands = load.commands.iter();
    let run = GuardedRun {
        commands: commands
            .map(|command| GuardedCommand {
                words: command.words.clone(),
                quiet: command.quiet,
                mark: mark.clone().filter(|_| command.ends_measurement),
            })
            .collect(),
        time_limit: plan.duration_ns.map(|duration| Duration::from_nanos(duration) + OVERTIME),
    };
    // A class of load runs before the measurement begins, so that its start is not measured. A program whose end
    // ends the measurement is measured whole: it starts when the measurement has.
    let whole = load.commands.iter().any(|command| command.ends_measurement);
    let mut running = if whole { None } else { Some(Running::start(&run, load, WARM_UP)?) };
    let mut failed = None;
    let mut gone = false;
    let outcome = punctual_probe::run(&plan, &mut |observation| {
        if running.is_none() {
            match Running::start(&run, load, Duration::ZERO) {
                Ok(started) => running = Some(started),
                Err(error) => {
                    failed = Some(error);
                    return Step::Stop(EndReason::Failed, Some("the load could not be started".to_owned()));
                }
            }
        }
        let Some(running) = &mut running else { return Step::Go };
        for event in running.events() {
            let GuardEvent::Ended { index, code, last_words } = event else { continue };
            let command = &load.commands[index];
            let how = code.map_or("was ended by a signal".to_owned(), |code| format!("ended with code {code}"));
            let words = last_words.map(|words| format!(": {words}")).unwrap_or_default();
            let elapsed = observation.elapsed.as_secs_f64();
            let trouble = format!("`{}` {how} after {elapsed:.1} s{words}", name_of(&command.words));
            if command.ends_measurement {
                if code != Some(0) {
                    observation.load_trouble(trouble);
                }
                return Step::Stop(EndReason::CommandEnded, None);
            }
            observation.load_trouble(trouble);
        }
        if !gone && running.guard.is_gone() {
            gone = true;
            observation.load_trouble("the load was ended from outside".to_owned());
        }
        observe(observation)
    });
    drop(running);
    if let Some(error) = failed {
        // Nothing was measured under the load, and nothing stood there before.
        let _ = std::fs::remove_dir_all(&plan.output);
        return Err(error);
    }
    Ok(outcome?)
}

/// A load that was started.
struct Running {
    guard: Guard,
    /// What the guard told together with the start.
    told: Vec<GuardEvent>,
}

impl Running {
    fn start(run: &GuardedRun, load: &Load, warm_up: Duration) -> Result<Running, StudyError> {
        let mut guard = Guard::start(run).map_err(|refused| StudyError::Load(refused.to_string()))?;
        let mut told = guard.events(START_PATIENCE);
        for event in &told {
            if let GuardEvent::NotStarted { index, reason } = event {
                return Err(StudyError::Load(format!("`{}`: {reason}", name_of(&load.commands[*index].words))));
            }
        }
        if !told.iter().any(|event| matches!(event, GuardEvent::Started { .. })) {
            return Err(StudyError::Load("the guard process did not answer".to_owned()));
        }
        told.retain(|event| matches!(event, GuardEvent::Ended { .. }));
        std::thread::sleep(warm_up);
        Ok(Running { guard, told })
    }

    fn events(&mut self) -> Vec<GuardEvent> {
        let mut events = std::mem::take(&mut self.told);
        events.extend(self.guard.events(Duration::ZERO));
        events
    }
}

fn name_of(words: &[String]) -> &str {
    match words {
        // A shell command is known by what the user wrote.
        [shell, _, command] if shell == "/bin/sh" => command,
        [program, ..] => program,
        [] => "",
    }
}
