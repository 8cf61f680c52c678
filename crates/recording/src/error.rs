//! Errors of reading and writing recordings.

use crate::hint::{CHOOSE_ANOTHER_PLACE, Hint};
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
    /// What is there is not a recording, or is damaged beyond use.
    Invalid,
    /// The recording was written by a newer punctual.
    NewerSchema,
    /// Recordings that cannot be added up.
    Incompatible,
    /// Something is already where the recording should be written.
    Exists,
    /// The file system refused.
    Io,
    /// It had no space left.
    Full,
}

/// An error with the path that it concerns and what was wrong there.
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    path: PathBuf,
    message: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, path: impl AsRef<Path>, message: impl Into<String>) -> Error {
        Error { kind, path: path.as_ref().to_owned(), message: message.into() }
    }

    /// Something else is where a file should be written.
    pub fn occupied(path: impl AsRef<Path>, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Exists, path, message)
    }

    pub(crate) fn io(path: impl AsRef<Path>, doing: &str, source: std::io::Error) -> Error {
        if source.kind() == std::io::ErrorKind::StorageFull {
            return Error::new(ErrorKind::Full, path, format!("{doing}: no space left on the device"));
        }
        Error::new(ErrorKind::Io, path, format!("{doing}: {}", without_error_number(&source)))
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The path that it concerns.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Hint for Error {
    fn hint(&self) -> Option<&'static str> {
        (self.kind == ErrorKind::Full).then_some(CHOOSE_ANOTHER_PLACE)
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

/// What an error says, without the operating system's number that the standard library adds: *Permission denied*, not
/// *Permission denied (os error 13)*.
pub fn without_error_number(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_full_disk_has_its_hint_and_nothing_else() {
        let error = |kind: io::ErrorKind| Error::io("a.punctual", "cannot write", kind.into());
        let full = error(io::ErrorKind::StorageFull);
        assert_eq!((full.kind(), full.hint()), (ErrorKind::Full, Some(CHOOSE_ANOTHER_PLACE)));
        assert_eq!(full.to_string(), "a.punctual: cannot write: no space left on the device");
        let other = error(io::ErrorKind::PermissionDenied);
        assert_eq!((other.kind(), other.hint()), (ErrorKind::Io, None));
    }

    #[test]
    fn an_error_of_the_system_is_said_without_its_number() {
        assert_eq!(without_error_number(&io::Error::from_raw_os_error(13)), "Permission denied");
        assert_eq!(without_error_number(&"no number (at all)"), "no number (at all)");
    }
}
