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
    /// How many stacks to sample each second on each CPU, if it looks into the kernel; 0 for none.
    pub sample_rate: u32,
    /// Whether to look at what the program's toolkit passes on.
    pub toolkit: bool,
    /// The directory to write.
    pub output: PathBuf,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
}

impl InteractPlan {
    /// Whether it can be carried out.
    ///
    /// # Errors
    /// [`InteractError::Setting`] with what cannot.
    pub fn check(&self) -> Result<(), InteractError> {
        let wrong = |what: String| Err(InteractError::Setting(what));
        if self.pace == PaceMode::Recorded && !self.script.has_recorded_pauses() {
            return wrong(
                "--pace recorded takes a script in which every key has its pause: pauses = [\"150ms\", ...]".to_owned(),
            );
        }
        if let (Via::Terminal, Some(place)) = (self.via, &self.script.wants_window) {
            return wrong(format!("{place}: a terminal has no mouse: --via x11 or wayland gives the program a window"));
        }
        match self.via {
            Via::Terminal if self.script.has_releases() => wrong(
                "--releases: a terminal is told what is typed, and of no key that comes up: --via x11 or wayland gives the program \
                 a window"
                    .to_owned(),
            ),
            Via::UsersWindow if self.script.has_releases() => wrong(
                "--releases: on your own display no key is held from one message to the next, because whatever ends punctual would leave \
                 it held: leave out --display"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }
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
