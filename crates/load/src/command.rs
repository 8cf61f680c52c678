//! A command of a load, as its file gives it.

use crate::score::LineScore;
use std::time::Duration;

/// A command of a load file.
#[derive(Debug, Clone)]
pub struct FileCommand {
    /// Its name, also of its score.
    pub name: String,
    /// What the shell runs.
    pub run: String,
    /// Whether it is run again when it ends.
    pub repeat: bool,
    /// From one start to the next; `None` for as fast as it can.
    pub pace: Option<Duration>,
    /// What in its output says how much it got done; without it, iterations are counted.
    pub score: Option<LineScore>,
}
