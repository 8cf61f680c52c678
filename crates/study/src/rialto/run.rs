//! A command with a reservation of Rialto/NT's.

use super::serving;
use punctual_context::rialto::{Client, Served};
use punctual_kernel::{Refused, own_child};
use punctual_rialto::{Plan, PlanError, Share};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// What is run, and with what.
pub struct RialtoPlan {
    /// The command.
    pub words: Vec<String>,
    /// Its process's reservation; its threads share it.
    pub share: Share,
    /// Only those of them whose names begin like this.
    pub thread: Option<String>,
    /// After how long it is asked to end.
    pub duration: Option<Duration>,
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum RialtoError {
    /// No such reservation can be granted.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The kernel refused something.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// How it went.
pub struct Rialto {
    /// How the command ended.
    pub end: ExitStatus,
    /// What it was given.
    pub served: Served,
    /// Whether another process's scheduler served it, beside others.
    pub has_joined: bool,
    /// Whether it was ended because its time was up.
    pub was_ended: bool,
}

/// How often to look at the command and its clock.
const ROUND: Duration = Duration::from_millis(50);
/// If it does not end after being asked to, it is ended after this.
const GRACE: Duration = Duration::from_secs(2);

/// Runs the command with its reservation until it ends. `signals` gives what came for it meanwhile.
///
/// # Errors
/// Before it is started: there is no such reservation, or no such kernel. If it cannot be started, or others'
/// reservations leave too little.
pub fn run(plan: &RialtoPlan, signals: &mut dyn FnMut() -> Vec<i32>) -> Result<Rialto, RialtoError> {
    Plan::new(std::slice::from_ref(&plan.share))?;
    let (mut client, scheduler) = serving()?;
    let mut child = own_child::start(&plan.words)?;
    if let Err(refused) = reserve(&mut client, plan, child.id()) {
        let _ = child.kill();
        let _ = child.wait();
        return Err(refused.into());
    }
    let began = Instant::now();
    let (mut was_ended, mut asked) = (false, None::<Instant>);
    let end = loop {
        for signal in signals() {
            own_child::pass_on(&child, signal);
        }
        let status =
            child.try_wait().map_err(|error| Refused::because("waiting for the command", error.to_string()))?;
        if let Some(status) = status {
            break status;
        }
        match asked {
            None if plan.duration.is_some_and(|duration| began.elapsed() >= duration) => {
                (was_ended, asked) = (true, Some(Instant::now()));
                own_child::ask_to_end(&child);
            }
            Some(since) if since.elapsed() >= GRACE => drop(child.kill()),
            _ => {}
        }
        std::thread::sleep(ROUND);
    };
    let served =
        client.release().unwrap_or_else(|refused| Served { taken_away: Some(refused.reason), ..Served::default() });
    let has_joined = scheduler.is_none();
    Ok(Rialto { end, served, has_joined, was_ended })
}

fn reserve(client: &mut Client, plan: &RialtoPlan, process: u32) -> Result<(), Refused> {
    let answered = client.reserve(process, plan.share, plan.thread.as_deref().unwrap_or_default())?;
    match answered.refusal {
        Some(why) => Err(Refused::because("taking the reservation", why)),
        None => Ok(()),
    }
}
