//! One recording with a load beside it.

use crate::StudyError;
use crate::companion::{Companion, measure_with};
use crate::running::{GettingReady, Noted, Running};
use punctual_kernel::{capabilities, clock, host};
use punctual_load::{Load, Machine};
use punctual_probe::{Observation, Outcome, Plan, RunError, Step};
use punctual_recording::{EndReason, LoadInfo};
use std::time::Duration;

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
        // Two at once should not collide on one port.
        first_port: 20_000 + (std::process::id() % 2_000) as u16 * 16,
        find_program: capabilities::find_program,
        has_display: ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(|name| std::env::var_os(name).is_some()),
    }
}

/// Carries out a plan with this load beside it. The load ends with the measurement, however that ends.
///
/// # Errors
/// [`StudyError`].
pub fn record_under(
    plan: Plan,
    load: &Load,
    observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<Outcome, StudyError> {
    record_with(plan, load, &mut |_| true, &mut [], observe)
}

/// The same, for a load that may take a while to get ready: meanwhile `getting_ready` is called, and says whether to go on.
///
/// # Errors
/// [`StudyError`]; [`StudyError::Interrupted`] if `getting_ready` said to stop.
pub fn record_under_watched(
    plan: Plan,
    load: &Load,
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<Outcome, StudyError> {
    record_with(plan, load, getting_ready, &mut [], observe)
}

/// The same, with these companions beside the measurement as well; they start after the load.
pub(crate) fn record_with(
    mut plan: Plan,
    load: &Load,
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    others: &mut [&mut dyn Companion],
    observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<Outcome, StudyError> {
    if load.is_none() {
        // A load that somebody else started stands in the plan.
        if plan.load.name.is_empty() {
            plan.load = load.info();
        }
        return measure_with(&plan, others, observe);
    }
    let (beside, program) = load.split();
    plan.load = LoadInfo { warm_up_ns: u64::try_from(beside.warm_up.as_nanos()).unwrap_or(u64::MAX), ..load.info() };
    // Before anything runs: a plan that cannot be carried out starts no load.
    plan.measured_cpus().map_err(RunError::from)?;
    plan.schedulings().map_err(RunError::from)?;
    if let Some(selection) = &plan.follow {
        selection.check().map_err(RunError::from)?;
    }
    let mut loads = Loads {
        running: Vec::new(),
        // A program whose end ends the measurement is measured whole: it starts once the measurement has.
        program: Some(&program).filter(|program| !program.is_none()),
        mark: plan.command_mark(),
        limit: plan.duration_ns.map(|duration| Duration::from_nanos(duration) + OVERTIME),
    };
    if !beside.is_none() {
        loads.running.push(Running::start(&beside, loads.limit, None, getting_ready)?);
    }
    let mut companions: Vec<&mut dyn Companion> = vec![&mut loads];
    companions.extend(others.iter_mut().map(|other| &mut **other as &mut dyn Companion));
    measure_with(&plan, &mut companions, observe)
}

/// The load beside a measurement.
struct Loads<'a> {
    running: Vec<Running<'a>>,
    /// What starts with the measurement.
    program: Option<&'a Load>,
    mark: Option<String>,
    limit: Option<Duration>,
}

impl Companion for Loads<'_> {
    fn start(&mut self, observation: &mut Observation<'_>) -> Result<(), StudyError> {
        self.running.iter_mut().for_each(|running| running.begin(observation.started_ns));
        if let Some(program) = self.program {
            let mut started = Running::start(program, self.limit, self.mark.as_deref(), &mut |_| true)?;
            started.begin(clock::monotonic_ns());
            self.running.push(started);
        }
        Ok(())
    }

    fn round(&mut self, observation: &mut Observation<'_>) -> Result<Step, StudyError> {
        for running in &mut self.running {
            let Noted { trouble, failure, over } = running.look();
            trouble.into_iter().for_each(|trouble| observation.load_trouble(trouble));
            failure.into_iter().for_each(|failure| observation.load_failure(failure));
            if over {
                return Ok(Step::Stop(EndReason::CommandEnded, None));
            }
        }
        Ok(Step::Go)
    }

    fn stop(&mut self, ended_ns: u64, observation: &mut Observation<'_>) -> Step {
        let mut scores = Vec::new();
        for running in self.running.drain(..) {
            let done = running.end(ended_ns);
            done.trouble.into_iter().chain(done.notes).for_each(|trouble| observation.load_trouble(trouble));
            done.failure.into_iter().for_each(|failure| observation.load_failure(failure));
            scores.extend(done.scores);
        }
        observation.load_scores(scores);
        Step::Go
    }
}
