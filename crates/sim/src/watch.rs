//! Who watches work that takes long, and may end it.

/// Hears of each part that is done, and says whether the rest is still wanted. What was done before stands.
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
