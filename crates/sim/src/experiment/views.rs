//! Views of an experiment's runs: a timeline, a series for a figure, wakeups for a recording.

use super::{Experiment, Series, collect};
use crate::error::Result;
use crate::recorded::Timeline;
use crate::time::{Picoseconds, SECOND};
use crate::watch::ToTheEnd;
use punctual_recording::Wakeup;

/// The longest stretch that a timeline shows.
pub const MAX_TIMELINE: Picoseconds = 10 * SECOND;

impl Experiment {
    /// A short run of one case, with everything that happened: for a timeline.
    ///
    /// # Errors
    /// A case that does not exist, a machine that is impossible, a run of more than ten seconds.
    pub fn timeline(&self, case: Option<&str>, from: Picoseconds, to: Picoseconds) -> Result<Timeline> {
        let index = self.case_of(case).map_err(|what| self.at(&[], what))?;
        if from >= to || to - from > MAX_TIMELINE {
            return Err(self.at(&[], "a timeline is longer than 0 and at most 10 s"));
        }
        Timeline::of(&self.setup(index, 0)?.spec, from, to)
    }

    /// The points of a figure, from the first run of one case: the source of a picture of the paper's figure.
    ///
    /// # Errors
    /// A case, thread or device that does not exist, a machine that is impossible.
    pub fn series(&self, case: Option<&str>, series: &Series) -> Result<Vec<(f64, f64)>> {
        let index = self.case_of(case).map_err(|what| self.at(&[], what))?;
        let setup = self.setup(index, 0)?;
        let run = collect::run(&setup, &ToTheEnd)?.unwrap_or_default();
        series.points(&setup, &run).map_err(|what| self.at(&[], what))
    }

    /// Passes every wakeup of a run of one case, in order of completion, to `take`: for a recording.
    ///
    /// # Errors
    /// A case that does not exist, a machine that is impossible.
    pub fn wakeups(&self, case: Option<&str>, run: u64, take: impl FnMut(&str, &Wakeup)) -> Result<()> {
        let index = self.case_of(case).map_err(|what| self.at(&[], what))?;
        let setup = self.setup(index, run)?;
        crate::recorded::wakeups(&setup.spec, setup.duration, take)
    }
}
