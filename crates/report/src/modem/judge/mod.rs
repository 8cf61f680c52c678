//! `punctual modem judge`: modems of several makes over one line.

mod answer;
mod text;

pub use answer::JudgeAnswer;
pub use text::judge_text;

use punctual_modem::judge::{Judged, Judgement};

/// What was judged, and how.
#[derive(Debug)]
pub struct Judging<'a> {
    /// How the modems were judged.
    pub how: &'a Judgement,
    /// What each came to.
    pub judged: &'a [Judged],
    /// Modems are missing, because somebody stopped it.
    pub interrupted: bool,
}

#[cfg(test)]
mod tests;
