//! One script typed at two paces, in turn.

use super::{Turn, leave_out, recording_name};
use punctual_interact::{InteractError, InteractPlan, InteractProgress, PaceMode, interact};
use punctual_probe::Step;
use punctual_recording::{Directory, EndReason};
use std::path::PathBuf;

/// A script to be typed at two paces, several times in turn.
#[derive(Debug, Clone)]
pub struct PacesPlan {
    /// What is done each time. Its pace and its output are ignored; its seed is that of the first round, and decides which
    /// pace comes first in each.
    pub plan: InteractPlan,
    /// The paces of A and of B.
    pub paces: [PaceMode; 2],
    /// How many times at each.
    pub repeats: usize,
    /// Where the recordings go: `human/01.punctual`, `full/01.punctual`, ...
    pub directory: PathBuf,
}

impl PacesPlan {
    /// The directory of a side's recordings.
    pub fn directory_of(&self, side: usize) -> PathBuf {
        self.directory.join(self.paces[side].name())
    }

    /// What is done in a turn: the same pauses at either pace, and others in each round.
    fn of(&self, turn: Turn) -> InteractPlan {
        InteractPlan {
            pace: self.paces[turn.side],
            seed: self.plan.seed.wrapping_add(turn.number as u64 - 1),
            output: self.directory_of(turn.side).join(recording_name(turn)),
            ..self.plan.clone()
        }
    }
}

/// What came of a [`PacesPlan`].
#[derive(Debug)]
pub struct AtPaces {
    /// The recordings at either pace.
    pub made: [Vec<PathBuf>; 2],
    /// What ended it early, if a run failed.
    pub trouble: Option<String>,
}

/// Types the same at both paces, in turn. If it was told to stop or something fails, it returns the recordings made until
/// then, including one that was cut off only if its side has no other.
///
/// # Errors
/// [`InteractError`] while a side has no recording yet. Recordings stay.
pub fn type_at_paces(
    plan: &PacesPlan,
    observe: &mut dyn FnMut(Turn, &InteractProgress<'_>) -> Step,
    interrupted: &dyn Fn() -> bool,
) -> Result<AtPaces, InteractError> {
    let whole = Directory::make(&plan.directory)?;
    let [one, other] = plan.paces.map(|pace| whole.below(pace.name()));
    let sides = [one?, other?];
    let found = type_in_turn(plan, observe, interrupted);
    // Of a program that never ran, nothing is left.
    sides.iter().chain([&whole]).for_each(Directory::discard_if_empty);
    found
}

fn type_in_turn(
    plan: &PacesPlan,
    observe: &mut dyn FnMut(Turn, &InteractProgress<'_>) -> Step,
    interrupted: &dyn Fn() -> bool,
) -> Result<AtPaces, InteractError> {
    let mut found = AtPaces { made: Default::default(), trouble: None };
    for turn in Turn::all(plan.repeats, plan.paces.len(), plan.plan.seed) {
        if interrupted() {
            break;
        }
        let one = plan.of(turn);
        let made = &mut found.made;
        match interact(&one, &mut |now| observe(turn, now)) {
            Ok((document, summary)) => {
                let (reason, detail) = document.ended.map(|ended| (ended.reason, ended.detail)).unzip();
                let is_cut_off = reason == Some(EndReason::Interrupted);
                if is_cut_off && (summary.inputs == 0 || !made[turn.side].is_empty()) {
                    leave_out(&plan.directory, plan.paces[turn.side].name(), turn);
                } else {
                    made[turn.side].push(one.output);
                }
                match reason {
                    Some(EndReason::Completed | EndReason::CommandEnded) => {}
                    Some(EndReason::Interrupted) => break,
                    _ => {
                        found.trouble = Some(detail.flatten().unwrap_or_else(|| "a run failed".to_owned()));
                        break;
                    }
                }
            }
            Err(_) if interrupted() => break,
            Err(error) if made.iter().any(Vec::is_empty) => return Err(error),
            Err(error) => {
                found.trouble = Some(error.to_string());
                break;
            }
        }
    }
    Ok(found)
}
