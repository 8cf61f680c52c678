//! Observers of long work, which may end it.

/// Hears of each part that is done, and says whether the rest is still wanted. What was done before is kept.
pub trait Watch: Sync {
    /// A part of the work is done.
    fn part_done(&self) {}

    /// Whether the rest is no longer wanted.
    fn is_over(&self) -> bool {
        false
    }
}

/// Nobody watches: all of it is done.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToTheEnd;

impl Watch for ToTheEnd {}
