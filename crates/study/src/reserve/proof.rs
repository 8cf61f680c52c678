//! Before and with the reservation, measured in turn.

use super::subject::{AttemptPlan, Made, Tried};
use super::{Doing, ReservePlan, ReserveProgress, Reserved, StudyEnd};
use crate::{StudyError, open_side};
use punctual_comparison::{Comparison, compare};
use punctual_recording::{agreeing, counted};
use punctual_reserve::{AttemptCounts, Setting};
use std::path::{Path, PathBuf};

/// One measurement of each side, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// As the program has it.
    pub before: AttemptCounts,
    /// With the recommended reservation.
    pub with: AttemptCounts,
}

/// Before and with the reservation, in turn.
#[derive(Debug)]
pub struct Proof {
    /// What was counted.
    pub rounds: Vec<Round>,
    /// How late the thread came to run, side by side; or why that cannot be compared.
    pub comparison: Result<Comparison, String>,
}

impl Proof {
    fn sum(&self, of: fn(&Round) -> &AttemptCounts) -> AttemptCounts {
        let mut sum = AttemptCounts::default();
        self.rounds.iter().for_each(|round| sum.add(of(round)));
        sum
    }

    /// All that was counted before.
    pub fn before(&self) -> AttemptCounts {
        self.sum(|round| &round.before)
    }

    /// All that was counted with the reservation.
    pub fn with(&self) -> AttemptCounts {
        self.sum(|round| &round.with)
    }
}

/// Why an attempt with far more or far fewer jobs than its period allows says nothing.
pub(super) const ANOTHER_PERIOD: &str = "far more or far fewer jobs came than the period allows: the loop has another period now, or \
                                         waits within a job, for a lock or an answer, were counted as jobs";

/// Measures both in turn, every second pair backwards, and puts the thread back.
pub(super) fn prove(
    plan: &ReservePlan,
    subject: &mut dyn Tried,
    study: &mut Reserved,
    directory: &Path,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<(), StudyError> {
    let Some(recommended) = study.recommended else { return Ok(()) };
    // What was measured of a smaller one says nothing of this one.
    study.proof = None;
    let settings = [Setting::AsItWas, Setting::Reserved(recommended)];
    let (mut rounds, mut recordings) = (Vec::new(), [Vec::new(), Vec::new()]);
    let (mut not_judged, mut left) = (0u32, AttemptCounts::default());
    for number in 0..plan.rounds {
        let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
        let mut counts = [None, None];
        for (turn, side) in order.into_iter().enumerate() {
            let output = recording(directory, side, number);
            let attempt = AttemptPlan {
                setting: settings[side],
                doing: Doing::Proving(2 * number + turn as u32 + 1, 2 * plan.rounds),
                count: 1,
                attempt_ns: plan.round_ns,
                output: output.clone(),
            };
            let made = match subject.attempt(study.job, &attempt, observe)? {
                Made::Counts(StudyEnd::Finished, made) => made,
                Made::Counts(end, _) => {
                    study.end = end;
                    break;
                }
                // Rounds before it prove nothing of what the kernel may refuse.
                Made::Refused { why, .. } => {
                    study.notes.push(why);
                    rounds.clear();
                    break;
                }
            };
            counts[side] = made.first().map(|counts| (*counts, output));
        }
        let [Some((before, its)), Some((with, other))] = counts else { break };
        // A round without a job on one side, or with a part of it alone, proves nothing.
        if !before.has_jobs() || !with.is_judged() || before.off_period() > 0 {
            not_judged += 1;
            left.add(&with);
            if before.off_period() > 0 {
                left.add(&before);
            }
            continue;
        }
        rounds.push(Round { before, with });
        recordings[0].push(its);
        recordings[1].push(other);
    }
    if not_judged > 0 {
        study.notes.push(left_out(not_judged, &left));
    }
    study.notes.extend(subject.put_back());
    if rounds.is_empty() {
        study.notes.push("the reservation could not be measured again".to_owned());
        return Ok(());
    }
    study.proof = Some(Proof { rounds, comparison: compared(&recordings) });
    Ok(())
}

/// Says that so many rounds are left out, in which this was counted with the reservation, and without it if that had another period.
fn left_out(rounds: u32, left: &AttemptCounts) -> String {
    let why = match (left.unseen(), left.unclear()) {
        _ if left.off_period() > 0 => ANOTHER_PERIOD.to_owned(),
        (0, 0) => "no job told of the setting".to_owned(),
        (0, unclear) => format!(
            "with the reservation, {} {} due while the thread did not sleep, and may have been late or missing",
            counted(unclear, "job"),
            agreeing(unclear, "was", "were")
        ),
        (unseen, _) => format!(
            "with the reservation, {} {} not seen, and may have been late",
            counted(unseen, "job"),
            agreeing(unseen, "was", "were")
        ),
    };
    format!("Left out: {} that could not be judged: {why}.", counted(rounds, "round"))
}

/// Where a round of a side is recorded: 0 before, 1 with the reservation.
pub(super) fn recording(directory: &Path, side: usize, number: u32) -> PathBuf {
    directory.join(["before", "with"][side]).join(format!("{:02}.punctual", number + 1))
}

/// How late the two sides were, side by side; or why that cannot be compared.
pub(super) fn compared(recordings: &[Vec<PathBuf>; 2]) -> Result<Comparison, String> {
    let side = |index: usize, name: &str| open_side(name, &recordings[index]).map_err(|error| error.to_string());
    let (before, with) = (side(0, "before")?, side(1, "with the reservation")?);
    compare(&before, &with, &[]).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_that_are_left_out_are_told_with_the_reason() {
        let counts = |unseen, unclear| AttemptCounts::default().with_unseen(unseen).with_stretches(unclear, 0);
        assert_eq!(
            left_out(1, &counts(0, 0)),
            "Left out: 1 round that could not be judged: no job told of the setting."
        );
        assert_eq!(
            left_out(2, &counts(12, 0)),
            "Left out: 2 rounds that could not be judged: with the reservation, 12 jobs were not seen, and may have been late."
        );
        let unclear = "Left out: 1 round that could not be judged: with the reservation, 3 jobs were due while the thread did not \
                       sleep, and may have been late or missing.";
        assert_eq!(left_out(1, &counts(0, 3)), unclear);
        let other = left_out(1, &counts(4, 0).with_another_period());
        assert!(
            other.starts_with("Left out: 1 round that could not be judged: far more or far fewer jobs came"),
            "{other}"
        );
    }
}
