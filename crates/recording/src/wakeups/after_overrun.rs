//! What a loop does about the periods that it missed.

/// A loop clearly does one thing if this many times as many stretches show it as show the contrary.
pub(super) const CLEARLY: u64 = 4;

/// What a loop does about the periods that begin during a long cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterOverrun {
    /// It works off their cycles too, without a wait in between: each of the periods is an overrun.
    CatchesUp,
    /// It goes on with the next period: however many began, that is one overrun.
    Skips,
    /// It was seen to work off the cycles of up to about so many of them, and to drop others. By its CPU time: if those that
    /// it makes up for cost less than usual, there are more. It may also make up for more after other delays.
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

    /// For about how many periods in a row it was seen to make up, or more, where it was seen to drop others.
    pub fn limit(self) -> Option<u64> {
        match self {
            AfterOverrun::MakesUpFor(limit) => Some(limit),
            AfterOverrun::CatchesUp | AfterOverrun::Skips | AfterOverrun::Unknown => None,
        }
    }
}
