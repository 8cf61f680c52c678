//! One recording with a load beside it.

use crate::running::{GettingReady, Noted, Running};
use punctual_kernel::{capabilities, clock, host};
use punctual_load::{Load, Machine};
use punctual_probe::{Observation, Outcome, Plan, RunError, Step};
use punctual_recording::{EndReason, Hint, LoadInfo};
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
    /// The load was not the one that was asked for.
    #[error("the load failed: {0}")]
    LoadFailed(String),
    /// The user or the system asked to stop before anything was measured.
    #[error("interrupted while the load was getting ready: nothing was measured")]
    Interrupted,
}

impl Hint for StudyError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            StudyError::Run(error) => error.hint(),
            StudyError::Recording(error) => error.hint(),
            _ => None,
        }
    }
}

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
        find_program: capabilities::find_program,
        has_display: ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(|name| std::env::var_os(name).is_some()),
    }
}

/// Carries out a plan with this load beside it. The load is ended with the measurement, whatever ends that.
///
/// # Errors
/// [`StudyError`].
pub fn record_under(
    plan: Plan,
    load: &Load,
    observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<Outcome, StudyError> {
    record_under_watched(plan, load, &mut |_| true, observe)
}

/// The same, for a load that may take a while to get ready: `getting_ready` is called meanwhile, and says whether to
/// go on.
///
/// # Errors
/// [`StudyError`]; [`StudyError::Interrupted`] where `getting_ready` said to stop.
pub fn record_under_watched(
    mut plan: Plan,
    load: &Load,
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<Outcome, StudyError> {
    let (beside, program) = load.split();
    plan.load = LoadInfo {
        name: load.name.clone(),
        commands: load.commands.iter().map(|command| command.words.clone()).collect(),
        compression_thousandths: load.compression_thousandths,
        warm_up_ns: u64::try_from(beside.warm_up.as_nanos()).unwrap_or(u64::MAX),
        scores: Vec::new(),
        trouble: load.notes.clone(),
        failure: None,
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
    let limit = plan.duration_ns.map(|duration| Duration::from_nanos(duration) + OVERTIME);
    let mut running = Vec::new();
    if !beside.is_none() {
        running.push(Running::start(&beside, limit, None, getting_ready)?);
    }
    // A program whose end ends the measurement is measured whole: it starts when the measurement has.
    let mut to_start = Some(&program).filter(|program| !program.is_none());
    let mark = plan.command_mark();
    let mut failed = None;
    let mut directory = None;
    let outcome = punctual_probe::run(&plan, &mut |observation| {
        if let Some(ended_ns) = observation.ended_ns {
            let mut all = Vec::new();
            for running in running.drain(..) {
                let done = running.end(ended_ns);
                done.trouble.into_iter().chain(done.notes).for_each(|trouble| observation.load_trouble(trouble));
                done.failure.into_iter().for_each(|failure| observation.load_failure(failure));
                all.extend(done.scores);
            }
            observation.load_scores(all);
            return Step::Go;
        }
        running.iter_mut().for_each(|running| running.begin(observation.started_ns));
        directory.get_or_insert_with(|| observation.directory().clone());
        if let Some(program) = to_start.take() {
            match Running::start(program, limit, mark.as_deref(), &mut |_| true) {
                Ok(mut started) => {
                    started.begin(clock::monotonic_ns());
                    running.push(started);
                }
                Err(error) => {
                    failed = Some(error);
                    return Step::Stop(EndReason::Failed, Some("the load could not be started".to_owned()));
                }
            }
        }
        for running in &mut running {
            let Noted { trouble, failure, over } = running.look();
            trouble.into_iter().for_each(|trouble| observation.load_trouble(trouble));
            failure.into_iter().for_each(|failure| observation.load_failure(failure));
            if over {
                return Step::Stop(EndReason::CommandEnded, None);
            }
        }
        observe(observation)
    });
    drop(running);
    if let Some(error) = failed {
        // Nothing was measured under the load, and nothing stood there before.
        if let Some(directory) = directory {
            directory.discard();
        }
        return Err(error);
    }
    Ok(outcome?)
}
