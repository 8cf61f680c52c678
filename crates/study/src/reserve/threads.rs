//! Reservations of several threads of programs that run.
//!
//! All threads are chosen first. Their reservations are found one after another, each while those found before have theirs.
//! Then all threads are measured at once, without and with their reservations, and all of them keep these, or none does.

use super::program::{AllMade, Program};
use super::proof::{compared, recording};
use super::still_there::check_process;
use super::subject::Tried as _;
use super::thread::{self, Chosen};
use super::together::{Admitted, Member, Together, prove_all};
use super::{Afterwards, Doing, ReservePlan, ReserveProgress, Reserved, StudyEnd, Subject, job_of, search};
use crate::StudyError;
use crate::running::GettingReady;
use punctual_reserve::{Job, Reservation};
use regex::Regex;
use std::path::Path;

/// One of the threads.
#[derive(Debug, Clone)]
pub struct Target {
    /// A process that is already running.
    pub process: u32,
    /// Which of its threads; `None` for the periodic one that takes the most CPU time.
    pub thread: Option<Regex>,
}

/// Finds reservations for several threads. `observe` is told which of them is being looked at, from 0; beyond the last: the proof.
///
/// # Errors
/// [`StudyError`] if nothing was found out.
pub fn threads(
    plan: &ReservePlan,
    targets: &[Target],
    afterwards: Afterwards<'_>,
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    observe: &mut dyn FnMut(usize, &ReserveProgress) -> bool,
) -> Result<Together, StudyError> {
    targets.iter().try_for_each(|target| check_process(target.process))?;
    let mut program = Program::start(plan, getting_ready)?;
    // Who has no period is told before minutes were spent on the others.
    let mut chosen = Vec::new();
    for (place, target) in targets.iter().enumerate() {
        let plan = plan_of(plan, target, place);
        program.turn_to(target.process);
        let (thread, lateness_ns) = thread::choose(&plan, &mut program, &mut |progress| observe(place, progress))?;
        chosen.push((plan, thread, lateness_ns));
    }
    let mut found = Together::begin();
    for (place, one) in chosen.into_iter().enumerate() {
        let study = beside_others(&mut program, one, kept(&found), &mut |progress| observe(place, progress))?;
        found.add(Member::of(study));
        if found.end != StudyEnd::Finished {
            return Ok(found);
        }
    }
    prove_all(plan, &mut found, &mut |found, directory| {
        prove(plan, &mut program, found, directory, &mut |progress| observe(targets.len(), progress))
    })?;
    found.notes.extend(program.put_back());
    if let Afterwards::Stay(tell) = afterwards
        && found.is_proven()
    {
        match program.let_stay(&kept(&found), tell) {
            Ok(_) => found.stays = true,
            Err(why) => found.notes.extend(why),
        }
    }
    Ok(found)
}

/// The plan of one of them, with recordings in a directory of their own.
fn plan_of(plan: &ReservePlan, target: &Target, place: usize) -> ReservePlan {
    ReservePlan {
        subject: Subject::Process(target.process),
        thread: target.thread.clone(),
        directory: plan.directory.join(format!("thread-{}", place + 1)),
        ..plan.clone()
    }
}

/// The search for a thread's reservation while others have theirs.
fn beside_others(
    program: &mut Program<'_>,
    (plan, chosen, lateness_ns): (ReservePlan, Chosen, u64),
    beside: Vec<(u32, Reservation)>,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<Reserved, StudyError> {
    program.go_on(chosen.tid.unwrap_or(0), beside);
    let job = job_of(&plan, &chosen);
    let mut study = Reserved::begin(chosen, job, lateness_ns);
    search::search(&plan, program, &mut study, observe)?;
    study.rename(program.name_now());
    study.notes.extend(program.waits_in_words());
    Ok(study)
}

/// The threads that have a reservation.
fn kept(found: &Together) -> Vec<(u32, Reservation)> {
    found.members.iter().filter_map(|member| member.study.chosen.tid.zip(member.reservation)).collect()
}

/// Measures all of them at once, without and with their reservations, every second time backwards.
fn prove(
    plan: &ReservePlan,
    program: &mut Program<'_>,
    found: &mut Together,
    directory: &Path,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<Admitted, StudyError> {
    let threads: Vec<(u32, Job)> =
        found.members.iter().map(|member| (member.study.chosen.tid.unwrap_or(0), member.study.job)).collect();
    let mut recordings = [Vec::new(), Vec::new()];
    for number in 0..plan.rounds {
        let order = if number % 2 == 0 { [false, true] } else { [true, false] };
        for (turn, is_reserved) in order.into_iter().enumerate() {
            let reservations = if is_reserved { kept(found) } else { Vec::new() };
            let doing = Doing::Proving(2 * number + turn as u32 + 1, 2 * plan.rounds);
            let output = recording(directory, usize::from(is_reserved), number);
            let round = (doing, plan.round_ns, output.clone());
            match program.attempt_all(&threads, &reservations, round, observe)? {
                AllMade::Counts(StudyEnd::Finished, made) => {
                    for (member, (counts, share)) in found.members.iter_mut().zip(made) {
                        member.take(is_reserved, &counts, share);
                    }
                    recordings[usize::from(is_reserved)].push(output);
                }
                AllMade::Counts(end, _) => {
                    found.end = end;
                    return Ok(Admitted::All);
                }
                AllMade::Refused(tid, refused) => {
                    let place = threads.iter().position(|(known, _)| *known == tid);
                    return Ok(Admitted::AllBut(place, refused));
                }
            }
        }
        found.rounds += 1;
    }
    found.comparison = Some(compared(&recordings));
    Ok(Admitted::All)
}
