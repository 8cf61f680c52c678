//! The trials: the original state, a priority, and reservations until the smallest sufficient one is found.

use super::proof::ANOTHER_PERIOD;
use super::subject::{AttemptPlan, Made, Tried};
use super::{Doing, ReservePlan, ReserveProgress, Reserved, StudyEnd};
use crate::StudyError;
use punctual_reserve::{Class, Reservation, Search, Setting, Step, Trial, grid, with_margin};

/// Tries settings until the search has its answer, and puts the thread back.
pub(super) fn search(
    plan: &ReservePlan,
    subject: &mut dyn Tried,
    study: &mut Reserved,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<(), StudyError> {
    let priority = Setting::Priority(plan.priority);
    let settings = if study.chosen.is_at_least { vec![Setting::AsItWas] } else { vec![Setting::AsItWas, priority] };
    for setting in settings {
        if study.end == StudyEnd::Finished {
            match try_setting(plan, subject, study, setting, observe)? {
                Shown::Class(_) => {}
                Shown::Refused { why, .. } => study.notes.push(why),
            }
        }
    }
    let rows = grid(study.job, study.chosen.job.work.median_ns, plan.seed);
    study.grid = rows.iter().map(|(_, budgets)| budgets.len()).sum();
    let found = if plan.full {
        all(plan, subject, study, rows, observe)?
    } else {
        smallest(plan, subject, study, rows, observe)?
    };
    // The last trial may have been cut off, after which there is none left to try.
    study.found = found.filter(|_| study.end == StudyEnd::Finished);
    study.recommended = study.found.map(with_margin);
    study.notes.extend(subject.put_back());
    Ok(())
}

/// After so many settings in a row of which nothing can be said, nothing will be said of the next ones.
const MAX_NOT_JUDGED: u32 = 5;

fn smallest(
    plan: &ReservePlan,
    subject: &mut dyn Tried,
    study: &mut Reserved,
    rows: Vec<(u64, Vec<u64>)>,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<Option<Reservation>, StudyError> {
    let mut search = Search::new(rows);
    let mut in_a_row = 0;
    loop {
        match search.next_step() {
            Step::Answer(found) => return Ok(found),
            Step::Try(_) if study.end != StudyEnd::Finished => return Ok(None),
            Step::Try(tried) => match try_setting(plan, subject, study, Setting::Reserved(tried), observe)? {
                Shown::Class(class) => {
                    search.tell(class);
                    in_a_row = if class == Class::NotJudged { in_a_row + 1 } else { 0 };
                    if in_a_row == MAX_NOT_JUDGED && study.end == StudyEnd::Finished {
                        study.notes.push(format!(
                            "The search ended after {MAX_NOT_JUDGED} reservations in a row that could not be judged."
                        ));
                        return Ok(search.best());
                    }
                }
                Shown::Refused { why, is_full: true } => {
                    note_once(study, why);
                    search.refuse();
                }
                Shown::Refused { why, .. } => {
                    study.refused = Some(why);
                    return Ok(None);
                }
            },
        }
    }
}

fn all(
    plan: &ReservePlan,
    subject: &mut dyn Tried,
    study: &mut Reserved,
    rows: Vec<(u64, Vec<u64>)>,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<Option<Reservation>, StudyError> {
    let mut best: Option<Reservation> = None;
    for (period_ns, budgets) in rows {
        for budget_ns in budgets {
            let tried = Reservation { budget_ns, period_ns };
            if study.end != StudyEnd::Finished {
                return Ok(None);
            }
            match try_setting(plan, subject, study, Setting::Reserved(tried), observe)? {
                Shown::Class(Class::Sufficient) if best.is_none_or(|best| tried.is_smaller_than(best)) => {
                    best = Some(tried);
                }
                Shown::Class(_) => {}
                Shown::Refused { why, is_full: true } => note_once(study, why),
                Shown::Refused { why, .. } => {
                    study.refused = Some(why);
                    return Ok(None);
                }
            }
        }
    }
    Ok(best)
}

/// If the kernel had no room, that is said once.
fn note_once(study: &mut Reserved, why: String) {
    if !study.no_room {
        study.no_room = true;
        study.notes.push(why);
    }
}

/// What trying a setting showed.
enum Shown {
    Class(Class),
    Refused { why: String, is_full: bool },
}

/// Tries a setting as often as the plan says, and notes what it showed.
fn try_setting(
    plan: &ReservePlan,
    subject: &mut dyn Tried,
    study: &mut Reserved,
    setting: Setting,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<Shown, StudyError> {
    study.numbered += 1;
    let number = study.numbered;
    let attempts = AttemptPlan {
        setting,
        doing: Doing::Trying(setting, number),
        count: plan.attempts,
        attempt_ns: plan.attempt_ns,
        output: plan.directory.join(format!("trials/{number:03}.punctual")),
    };
    let (end, counts) = match subject.attempt(study.job, &attempts, observe)? {
        Made::Counts(end, counts) => (end, counts),
        Made::Refused { why, is_full } => return Ok(Shown::Refused { why, is_full }),
    };
    let mut trial = Trial::new(setting);
    counts.iter().for_each(|counts| trial.add(counts));
    if !counts.is_empty() {
        study.trials.push(trial);
    }
    if trial.counts.off_period() > 0 {
        let what = format!("Attempts were not judged in which {ANOTHER_PERIOD}.");
        if !study.notes.contains(&what) {
            study.notes.push(what);
        }
    }
    // What was cut off shows nothing.
    if end != StudyEnd::Finished {
        study.end = end;
        return Ok(Shown::Class(Class::NotJudged));
    }
    Ok(Shown::Class(trial.class()))
}
