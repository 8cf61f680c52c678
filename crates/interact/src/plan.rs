//! The plan, and its progress.

use crate::place::Via;
use crate::script::Script;
use punctual_kernel::Refused;
use punctual_recording::FULL_PACE;
use std::path::PathBuf;
use std::time::Duration;

/// How fast to type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaceMode {
    /// As a person types, by the script's distribution of pauses.
    Human,
    /// As fast as the terminal takes it, without thinking.
    Full,
    /// With the pauses that the script has for each key.
    Recorded,
}

impl PaceMode {
    /// The name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            PaceMode::Human => "human",
            PaceMode::Full => FULL_PACE,
            PaceMode::Recorded => "recorded",
        }
    }
}

/// What to do.
#[derive(Debug, Clone)]
pub struct InteractPlan {
    /// How the program is used.
    pub via: Via,
    /// What is typed.
    pub script: Script,
    /// How fast.
    pub pace: PaceMode,
    /// The seed of the pauses.
    pub seed: u64,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// Whether to look into the kernel.
    pub bpf: bool,
    /// Whether to look at what the program's toolkit passes on.
    pub toolkit: bool,
    /// The directory to write.
    pub output: PathBuf,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum InteractError {
    /// The system refused something.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The recording could not be written.
    #[error(transparent)]
    Recording(#[from] punctual_recording::Error),
    /// The request is impossible.
    #[error("{0}")]
    Setting(String),
    /// There is no such program to watch.
    #[error("{0}")]
    Target(String),
}

impl punctual_recording::Hint for InteractError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            InteractError::Refused(error) => error.hint(),
            InteractError::Recording(error) => error.hint(),
            InteractError::Setting(_) => None,
            InteractError::Target(_) => {
                Some("ps -e -o pid,tty,comm shows which programs there are, and at which terminal")
            }
        }
    }
}

/// The progress.
#[derive(Debug)]
pub struct InteractProgress<'a> {
    /// Since the program was started.
    pub elapsed: Duration,
    /// Inputs so far.
    pub inputs: u64,
    /// Inputs of the script.
    pub all: u64,
    /// The task.
    pub task: &'a str,
    /// What could not be done as asked.
    pub fallbacks: &'a [String],
}
