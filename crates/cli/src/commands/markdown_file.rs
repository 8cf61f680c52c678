//! The answer as Markdown in a file (`--export-markdown`), in addition to what is printed.

use super::artifacts::{self, Artifacts};
use crate::output;
use std::path::{Path, PathBuf};

/// Checks, before anything is measured, that the file can be written, and has it kept from now on what is printed.
///
/// # Errors
/// What is in the way, in one line.
pub(crate) fn begin(file: Option<&PathBuf>) -> anyhow::Result<()> {
    artifacts::check(file)?;
    if file.is_some() {
        output::keep_markdown();
    }
    Ok(())
}

/// Writes what was printed and gives the exit code. A command that failed without a word for the file has said why.
pub(crate) fn write(file: &Path, is_answered: bool) -> u8 {
    let text = output::kept_markdown();
    let mut artifacts = Artifacts::default();
    match (text.trim_end(), is_answered) {
        ("", false) => 0,
        ("", true) => {
            artifacts.lack(format!("cannot write {}: what was printed is not text for people", file.display()))
        }
        (text, _) => artifacts.write(file, format!("{text}\n")),
    }
}
