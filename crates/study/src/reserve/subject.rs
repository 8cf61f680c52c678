//! Whatever needs a reservation: something with a periodic job on which settings can be tried.

use super::{Doing, ReserveProgress, StudyEnd};
use crate::StudyError;
use punctual_reserve::{AttemptCounts, Job, Setting};
use std::path::PathBuf;

/// So many attempts with a setting, in one recording.
#[derive(Debug, Clone)]
pub(super) struct AttemptPlan {
    pub(super) setting: Setting,
    pub(super) doing: Doing,
    pub(super) count: u32,
    /// How long each is, ns.
    pub(super) attempt_ns: u64,
    /// The recording.
    pub(super) output: PathBuf,
}

impl AttemptPlan {
    /// Whether a reservation is tried.
    pub(super) fn is_reserved(&self) -> bool {
        matches!(self.setting, Setting::Reserved(_))
    }

    /// Whether an attempt may end with its first late job.
    pub(super) fn ends_early(&self) -> bool {
        matches!(self.doing, Doing::Trying(..)) && self.setting != Setting::AsItWas
    }
}

/// How long an attempt is that was asked for with this length: at least 20 periods of the job, since fewer jobs tell nothing; ns.
pub(super) fn long_enough(asked_ns: u64, period_ns: u64) -> u64 {
    asked_ns.max(period_ns.saturating_mul(20))
}

/// What came of attempts.
#[derive(Debug)]
pub(super) enum Made {
    /// What was counted in those that were made, and how they ended.
    Counts(StudyEnd, Vec<AttemptCounts>),
    /// The kernel refused the setting.
    Refused {
        why: String,
        /// Because there is not that much left: a smaller one might be granted.
        is_full: bool,
    },
}

/// What settings can be tried on.
pub(super) trait Tried {
    /// Makes attempts one after the other.
    fn attempt(
        &mut self,
        job: Job,
        plan: &AttemptPlan,
        observe: &mut dyn FnMut(&ReserveProgress) -> bool,
    ) -> Result<Made, StudyError>;

    /// Puts back what was changed; returns what could not be.
    fn put_back(&mut self) -> Vec<String>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_has_twenty_jobs() {
        assert_eq!(long_enough(2_000_000_000, 12_500_000), 2_000_000_000);
        assert_eq!(long_enough(200_000_000, 66_000_000), 1_320_000_000);
    }
}
