//! The same keystrokes as an idle loop, the program that handled them and the kernel's programs saw them: the file
//! `validation.json` beside `recording.json`.

use crate::error::Result;
use crate::format::directory::Directory;
use crate::format::json_file::{read_document, write_json};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name and version of `validation.json`.
pub const VALIDATION_SCHEMA: &str = "punctual.validation/1";

/// A keystroke. Times are ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keystroke {
    /// When it was about to be written to the other end of the terminal.
    pub typed_ns: u64,
    /// When the program's read had returned.
    pub read_ns: u64,
    /// When the program's write of the echo had returned.
    pub echoed_ns: u64,
    /// When the echo had been read at the other end.
    pub seen_ns: u64,
}

/// A keystroke as the loop, the program and the kernel's programs saw it. Times are ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenKeystroke {
    /// What the program and the keyboard stamped.
    pub keystroke: Keystroke,
    /// How long the loop did not run.
    pub gap_ns: u64,
    /// The part of the gap before the program's read returned.
    pub before_ns: u64,
    /// From there until its echo was written: everything that the program sees.
    pub program_ns: u64,
    /// The part of the gap after that.
    pub after_ns: u64,
    /// How long the program's thread had the CPU, from switch to switch; `None` if nothing was followed, or some of it
    /// was lost.
    pub thread_ns: Option<u64>,
    /// What lies before and after, by cause; `None` likewise.
    pub parts: Option<KeystrokeParts>,
}

/// What the program does not see of a keystroke: parts that add up to it, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeystrokeParts {
    /// Interrupts and softirqs.
    pub interrupt_ns: u64,
    /// Passing the key on to the program (a kernel worker), and the program's return from its read.
    pub wake_ns: u64,
    /// Entering and leaving the kernel, and switching: to the program and back to the loop.
    pub reschedule_ns: u64,
    /// After the echo was written: the program's way back into its read, and passing the echo on (a kernel worker).
    pub echo_ns: u64,
    /// Other threads, which are unrelated.
    pub others_ns: u64,
    /// Nothing that this kernel traced: the host, the firmware.
    pub outside_ns: u64,
}

impl KeystrokeParts {
    /// The parts, with their names in JSON.
    pub fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("interrupt", self.interrupt_ns),
            ("wake", self.wake_ns),
            ("reschedule", self.reschedule_ns),
            ("echo", self.echo_ns),
            ("others", self.others_ns),
            ("outside", self.outside_ns),
        ]
    }

    /// All of them.
    pub fn sum_ns(&self) -> u64 {
        self.named().iter().map(|(_, ns)| ns).sum()
    }
}

impl SeenKeystroke {
    /// Whether nothing unrelated to the keystroke had the CPU, neither before it nor after it nor while the program
    /// computed. `false` if that is not known.
    pub fn is_undisturbed(&self) -> bool {
        self.parts.is_some_and(|parts| parts.others_ns == 0 && parts.outside_ns == 0)
            && self.thread_ns.is_some_and(|thread| thread >= self.program_ns)
    }
}

/// All keystrokes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidationDocument {
    /// [`VALIDATION_SCHEMA`].
    pub schema: String,
    /// How many were asked for.
    pub keystrokes: u64,
    /// How long the program computed for each keystroke, ns.
    pub compute_ns: u64,
    /// The CPU of the loop and the program.
    pub cpu: u32,
    /// Whether what ran inside the gaps is known.
    pub followed: bool,
    /// Keystrokes that lie in a gap.
    pub seen: Vec<SeenKeystroke>,
    /// Keystrokes that lie in no gap.
    pub not_found: u64,
}

/// Writes it beside a finished recording.
///
/// # Errors
/// [`crate::ErrorKind::Io`] where the file system refuses.
pub fn write_validation(recording: &Directory, document: &ValidationDocument) -> Result<()> {
    write_json(recording, "validation.json", document)
}

/// Reads it; `None` if a recording has none.
///
/// # Errors
/// [`crate::ErrorKind::Invalid`], [`crate::ErrorKind::NewerSchema`] or [`crate::ErrorKind::Io`].
pub fn read_validation(recording: &Path) -> Result<Option<ValidationDocument>> {
    let path = recording.join("validation.json");
    read_document(&path, "is not a validation", VALIDATION_SCHEMA, |document: &ValidationDocument| &document.schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_names_and_add_up() {
        let parts =
            KeystrokeParts { interrupt_ns: 1, wake_ns: 2, reschedule_ns: 4, echo_ns: 8, others_ns: 16, outside_ns: 32 };
        let expected = [("interrupt", 1), ("wake", 2), ("reschedule", 4), ("echo", 8), ("others", 16), ("outside", 32)];
        assert_eq!((parts.named(), parts.sum_ns()), (expected, 63));
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read_validation(directory.path()).unwrap(), None);
        let keystroke = Keystroke { typed_ns: 1, read_ns: 2, echoed_ns: 3, seen_ns: 4 };
        let seen = SeenKeystroke {
            keystroke,
            gap_ns: 9,
            before_ns: 4,
            program_ns: 1,
            after_ns: 4,
            thread_ns: Some(5),
            parts: Some(KeystrokeParts { wake_ns: 4, echo_ns: 4, ..KeystrokeParts::default() }),
        };
        let document = ValidationDocument {
            schema: VALIDATION_SCHEMA.to_owned(),
            keystrokes: 2,
            seen: vec![seen, SeenKeystroke { parts: None, thread_ns: None, ..seen }],
            ..ValidationDocument::default()
        };
        write_validation(&Directory::make(directory.path()).unwrap(), &document).unwrap();
        assert_eq!(read_validation(directory.path()).unwrap(), Some(document));
        std::fs::write(directory.path().join("validation.json"), "{}").unwrap();
        assert!(read_validation(directory.path()).is_err());
    }
}
