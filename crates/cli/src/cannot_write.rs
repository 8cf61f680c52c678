//! Files that cannot be written, in plain words.

use punctual_recording::{CHOOSE_ANOTHER_PLACE, Hint};
use std::io::{Error, ErrorKind};

/// A file that cannot be written.
#[derive(Debug)]
pub(crate) struct CannotWrite {
    message: String,
    is_full: bool,
}

impl CannotWrite {
    /// The error met while `doing` something.
    pub(crate) fn new(doing: &str, error: &Error) -> CannotWrite {
        let is_full = error.kind() == ErrorKind::StorageFull;
        CannotWrite { message: format!("{doing}: {}", plain(error)), is_full }
    }
}

impl std::fmt::Display for CannotWrite {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for CannotWrite {}

impl Hint for CannotWrite {
    fn hint(&self) -> Option<&'static str> {
        self.is_full.then_some(CHOOSE_ANOTHER_PLACE)
    }
}

/// An error of the operating system in plain words, without its number.
pub(crate) fn plain(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::StorageFull => "no space left on the disk".to_owned(),
        _ => error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase(),
    }
}
