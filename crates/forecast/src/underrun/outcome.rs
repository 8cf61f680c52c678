//! What a forecast says about a device, in a word.

/// What a forecast says about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// On some CPU the upper limit of the mean time between underruns does not reach the want.
    Fails,
    /// It neither fails nor holds.
    Unknown,
    /// Like [`Outcome::Holds`], but only while conditions stay as recorded: see [`Condition`](crate::Condition).
    HoldsAsRecorded,
    /// On every CPU the lower limit with 99.5 %, one-sided, reaches the want.
    Holds,
}

impl Outcome {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::HoldsAsRecorded => "holds-as-recorded",
            Outcome::Fails => "fails",
            Outcome::Unknown => "unknown",
        }
    }

    /// Whether it holds, with or without a condition.
    pub fn holds(self) -> bool {
        matches!(self, Outcome::Holds | Outcome::HoldsAsRecorded)
    }
}
