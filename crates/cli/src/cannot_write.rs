//! Files that cannot be written, in plain words.

use punctual_recording::{CHOOSE_ANOTHER_PLACE, Hint, without_error_number};
use std::io::{Error, ErrorKind};

/// A file that cannot be written.
#[derive(Debug)]
pub(crate) struct CannotWrite {
    message: String,
    hint: Option<&'static str>,
}

/// What to do when there is no room for a file that is written at the end.
const NOTHING_YET: &str = "nothing was done yet; choose another place for that file";

impl CannotWrite {
    /// The error that stopped `doing` something.
    pub(crate) fn new(doing: &str, error: &Error) -> CannotWrite {
        CannotWrite::with_hint(doing, error, CHOOSE_ANOTHER_PLACE)
    }

    /// The same, for an error found before the work whose result would go into the file.
    pub(crate) fn beforehand(doing: &str, error: &Error) -> CannotWrite {
        CannotWrite::with_hint(doing, error, NOTHING_YET)
    }

    fn with_hint(doing: &str, error: &Error, where_full: &'static str) -> CannotWrite {
        let hint = (error.kind() == ErrorKind::StorageFull).then_some(where_full);
        CannotWrite { message: format!("{doing}: {}", plain(error)), hint }
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
        self.hint
    }
}

/// An error of the operating system in plain words, without its number.
pub(crate) fn plain(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::StorageFull => "no space left on the disk".to_owned(),
        _ => without_error_number(error).to_lowercase(),
    }
}
