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
    /// Whether an attempt may end with its first late job.
    pub(super) fn ends_early(&self) -> bool {
        matches!(self.doing, Doing::Trying(..)) && self.setting != Setting::AsItWas
    }
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
