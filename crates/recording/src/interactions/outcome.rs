//! What happened to an input.

use serde::{Deserialize, Serialize};

/// What happened to an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It caused some output.
    Seen,
    /// The program took it together with a later one, and the output belongs to both.
    Merged,
    /// The program took it, and it caused no output.
    Unanswered,
    /// The program did not take it while somebody was watching.
    Unread,
    /// The terminal itself took it: its line editing, which echoes it if the echo is on, or it turned it into a signal.
    ByTerminal,
    /// The program ended first.
    Ended,
    /// The program was still working on it when the recording ended.
    Unfinished,
    /// Something came out after it, and it is not known whether because of it.
    Unsure,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 8] = [
        Outcome::Seen,
        Outcome::Merged,
        Outcome::Unanswered,
        Outcome::Unread,
        Outcome::ByTerminal,
        Outcome::Ended,
        Outcome::Unfinished,
        Outcome::Unsure,
    ];

    /// The name in files and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Seen => "seen",
            Outcome::Merged => "merged",
            Outcome::Unanswered => "unanswered",
            Outcome::Unread => "unread",
            Outcome::ByTerminal => "by_terminal",
            Outcome::Ended => "ended",
            Outcome::Unfinished => "unfinished",
            Outcome::Unsure => "unsure",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// In words, to follow "2 ".
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Seen => "seen",
            Outcome::Merged => "taken together with a later one",
            Outcome::Unanswered => "taken without any output",
            Outcome::Unread => "not taken",
            Outcome::ByTerminal => "taken by the terminal itself: edited in its line, or turned into a signal",
            Outcome::Ended => "cut off by the program's end",
            Outcome::Unfinished => "still under way when the recording ended",
            Outcome::Unsure => "followed by output of unknown cause, and by no other",
        }
    }
}
