//! What can go wrong with a study.

use punctual_probe::RunError;
use punctual_recording::Hint;

/// Why a study could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A measurement could not be carried out.
    #[error(transparent)]
    Run(#[from] RunError),
    /// What was just recorded could not be read back.
    #[error(transparent)]
    Recording(#[from] punctual_recording::Error),
    /// What was recorded could not be judged.
    #[error(transparent)]
    Forecast(#[from] punctual_forecast::Error),
    /// What was recorded cannot be compared.
    #[error(transparent)]
    Comparison(#[from] punctual_comparison::Error),
    /// What has to be done before a measurement failed, or what was to be read is listed twice or empty.
    #[error("{0}")]
    Setting(String),
    /// The load could not be started.
    #[error("the load could not be started: {0}")]
    Load(String),
    /// The user's program could not be started.
    #[error("the program could not be started: {0}")]
    Program(String),
    /// The load was not the one that was asked for.
    #[error("the load failed: {0}")]
    LoadFailed(String),
    /// The user or the system asked to stop before anything was measured.
    #[error("interrupted while the load was getting ready: nothing was measured")]
    Interrupted,
}

impl Hint for StudyError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            StudyError::Run(error) => error.hint(),
            StudyError::Recording(error) => error.hint(),
            _ => None,
        }
    }
}
