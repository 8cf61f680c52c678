//! Recordings side by side: the model for text, JSON and pages.

use crate::NextStep;
use crate::recording::cycles::LoopCycles;
use punctual_forecast::JudgedDevice;
use punctual_recording::Document;
use std::path::PathBuf;

/// One or more recordings, side by side.
#[derive(Default)]
pub struct Measurement {
    /// The recordings and where they are. Merged ones appear once, under the first one's path.
    pub parts: Vec<(PathBuf, Document)>,
    /// What would have happened to common devices.
    pub devices: Vec<JudgedDevice>,
    /// The cycles of followed threads, if a period was given for them.
    pub cycles: Vec<LoopCycles>,
    /// The verdict in words.
    pub verdict: String,
    /// What to run next.
    pub next: Vec<NextStep>,
    /// The exit code of the process.
    pub exit_code: u8,
    /// Whether every thread and CPU gets its own rows in text.
    pub by_cpu: bool,
}
