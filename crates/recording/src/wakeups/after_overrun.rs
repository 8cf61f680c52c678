//! What a loop does about the periods that it missed.

/// What a loop does about the periods that begin during a long cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterOverrun {
    /// It works off their cycles too, without a wait in between: each of the periods is an overrun.
    CatchesUp,
    /// It goes on with the next period: however many began, that is one overrun.
    Skips,
    /// It was seen to work off the cycles of up to so many of them, and to drop others. It may make up for more.
    MakesUpFor(u64),
    /// No overrun shows which.
    Unknown,
}

impl AfterOverrun {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            AfterOverrun::CatchesUp => "catches-up",
            AfterOverrun::Skips => "skips",
            AfterOverrun::MakesUpFor(_) => "makes-up-for-some",
            AfterOverrun::Unknown => "unknown",
        }
    }

    /// For up to how many periods in a row it was seen to make up, where it was seen to drop others.
    pub fn limit(self) -> Option<u64> {
        match self {
            AfterOverrun::MakesUpFor(limit) => Some(limit),
            AfterOverrun::CatchesUp | AfterOverrun::Skips | AfterOverrun::Unknown => None,
        }
    }
}
