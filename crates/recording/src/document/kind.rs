//! The kinds of recording.

use serde::{Deserialize, Serialize};

/// What a recording holds besides the wakeups that any recording may have. Reports are chosen by this.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordingKind {
    /// Wakeups of punctual's own threads or of others.
    #[default]
    Wakeups,
    /// Gaps of idle loops: `gaps.json`.
    Gaps,
    /// Activations of soft devices, with the wakeups of a bystander: `activations.json`.
    Activations,
    /// An event log: `events/log.json`.
    Log,
    /// Inputs to a program, and what happened to each: `interactions.json`.
    Interaction,
}

impl RecordingKind {
    /// What it holds, to follow "holds".
    pub fn holds(self) -> &'static str {
        match self {
            RecordingKind::Wakeups => "wakeups",
            RecordingKind::Gaps => "gaps of idle loops",
            RecordingKind::Activations => "activations of soft devices",
            RecordingKind::Log => "an event log",
            RecordingKind::Interaction => "inputs to a program",
        }
    }
}
