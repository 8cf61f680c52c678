//! What can go wrong with the tables.

use punctual_recording::{CHOOSE_ANOTHER_PLACE, Hint, without_error_number};
use std::path::PathBuf;

/// Why the tables could not be computed.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// A machine is impossible.
    #[error(transparent)]
    Machine(#[from] punctual_sim::Error),
    /// The directory cannot be written, or is somebody else's.
    #[error(transparent)]
    Recording(#[from] punctual_recording::Error),
    /// The directory holds another study.
    #[error("{} holds a study of another file, seed or version: choose another directory with -o", .0.display())]
    Other(PathBuf),
    /// The directory holds something else.
    #[error("{} holds something other than a study: choose another directory with -o", .0.display())]
    Occupied(PathBuf),
    /// An attempt could not be stored. What was stored before is there.
    #[error("cannot write {}: {}", path.display(), without_error_number(error).to_lowercase())]
    Store {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
}

impl Hint for TablesError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            TablesError::Recording(error) => error.hint(),
            TablesError::Store { error, .. } if error.kind() == std::io::ErrorKind::StorageFull => {
                Some(CHOOSE_ANOTHER_PLACE)
            }
            _ => None,
        }
    }
}
