//! What else ran during a measurement, and what it got done.

use serde::{Deserialize, Serialize};

/// What else ran during the measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadInfo {
    /// Its name; [`NO_LOAD`] for an idle machine.
    pub name: String,
    /// The commands it consisted of.
    pub commands: Vec<Vec<String>>,
    /// Hours of a person's use that an hour of it stands for, times 1,000; unknown for loads that imitate nobody.
    pub compression_thousandths: Option<u64>,
    /// How long it ran before measuring began, ns, so that its start is not measured.
    #[serde(default)]
    pub warm_up_ns: u64,
    /// How much it got done while it was measured, by command; nothing where that is not known.
    #[serde(default)]
    pub scores: Vec<LoadScore>,
    /// What went wrong with it, if anything did.
    pub trouble: Vec<String>,
    /// Why it was not the requested load: a command failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The name for no load, in options, files and answers.
pub const NO_LOAD: &str = "none";

impl LoadInfo {
    /// That it failed, if it did, in words that follow an article. Why it did is also among its trouble.
    pub fn failed_in_words(&self) -> Option<String> {
        Some(format!("load failed, so this was not measured under it: {}", self.failure.as_ref()?))
    }

    /// Its name; [`NO_LOAD`] if nothing is known about it.
    pub fn name_or_none(&self) -> &str {
        if self.name.is_empty() { NO_LOAD } else { &self.name }
    }

    /// Adds what the same load got done in another run. A score that either of them lacks is unknown for both together.
    pub fn add_scores(&mut self, other: &LoadInfo) {
        self.scores.retain_mut(|score| {
            let same = |found: &&LoadScore| (&found.name, &found.unit) == (&score.name, &score.unit);
            let Some(more) = other.scores.iter().find(same) else { return false };
            score.count_thousandths = score.count_thousandths.saturating_add(more.count_thousandths);
            score.elapsed_ns = score.elapsed_ns.saturating_add(more.elapsed_ns);
            true
        });
    }
}

/// How much one command of a load got done: its throughput is the count over the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadScore {
    /// Which command, the same in every recording under the same load.
    pub name: String,
    /// What was counted: `iterations`, `frames`, ...
    pub unit: String,
    /// How many, times 1,000: an iteration that was under way when counting began counts by its share.
    pub count_thousandths: u64,
    /// The time they were counted over, ns, never 0: the measurement, or the part of it that is known.
    pub elapsed_ns: u64,
    /// The time from one start of the command to the next, ns, if it was held to a pace and cannot get more done than
    /// that.
    pub pace_ns: Option<u64>,
}

impl LoadScore {
    /// How many a second, times 1,000, rounded.
    pub fn rate_thousandths(&self) -> u64 {
        let nanoseconds = u128::from(self.elapsed_ns.max(1));
        let rate = (u128::from(self.count_thousandths) * 1_000_000_000 + nanoseconds / 2) / nanoseconds;
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}
