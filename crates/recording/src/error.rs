//! Errors of reading and writing recordings.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of an operation on a recording.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no recording at that path.
    NotFound,
    /// Something stands there that is not a recording, or is damaged beyond use.
    Invalid,
    /// The recording was written by a newer punctual.
    NewerSchema,
    /// Recordings that cannot be added up.
    Incompatible,
    /// Something already stands where the recording should be written.
    Exists,
    /// The file system refused.
    Io,
}

/// An error with the path it concerns and what was wrong there.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    path: PathBuf,
    message: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, path: impl AsRef<Path>, message: impl Into<String>) -> Error {
        Error { kind, path: path.as_ref().to_owned(), message: message.into() }
    }

    /// Something else stands where a file should be written.
    pub fn occupied(path: impl AsRef<Path>, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Exists, path, message)
    }

    pub(crate) fn io(path: impl AsRef<Path>, doing: &str, source: std::io::Error) -> Error {
        let message = match source.kind() {
            std::io::ErrorKind::StorageFull => format!("{doing}: no space left on the device"),
            _ => {
                let text = source.to_string();
                format!("{doing}: {}", text.split(" (os error").next().unwrap_or(&text))
            }
        };
        Error { kind: ErrorKind::Io, path: path.as_ref().to_owned(), message }
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The path it concerns.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.as_os_str().is_empty() {
            return formatter.write_str(&self.message);
        }
        write!(formatter, "{}: {}", self.path.display(), self.message)
    }
}

impl std::error::Error for Error {}
