//! What an answer lacks because a table of its recording cannot be read.

use super::artifacts::Artifacts;
use punctual_recording::Error;
use punctual_study::StudyError;
use std::path::PathBuf;

/// Of a recording that was cut short: those that came after its document was last written.
pub(super) const WAKEUPS: &str = "its wakeups";
/// Whether the stages of each wakeup are right.
pub(super) const SUMS: &str = "whether stages add up to their totals";
/// What a page draws of single wakeups.
pub(super) const PICTURES: &str = "the pictures over time";
/// What is counted of loops with a period.
pub(super) const CYCLES: &str = "the cycles";
/// What `--interarrival` asks for.
pub(super) const INTERARRIVAL: &str = "how late wakeups follow one another";

/// Tables that could not be read, and what the answer lacks without each.
#[derive(Debug, Default)]
pub(super) struct Unread(Vec<Table>);

#[derive(Debug)]
struct Table {
    path: PathBuf,
    /// The first error that it gave.
    said: String,
    lacks: Vec<&'static str>,
}

impl Unread {
    /// Whether the answer lacks this.
    pub(super) fn is_without(&self, what: &'static str) -> bool {
        self.0.iter().any(|table| table.lacks.contains(&what))
    }

    /// Takes the error of a table, without which the answer lacks this.
    pub(super) fn take(&mut self, error: &Error, lacks: &'static str) {
        match self.0.iter_mut().find(|table| table.path == error.path()) {
            Some(table) => table.lacks.push(lacks),
            None => {
                self.0.push(Table { path: error.path().to_owned(), said: error.to_string(), lacks: vec![lacks] });
            }
        }
    }

    /// What was read; `None` if the recording could not be, which is taken. Any other error is one of the command.
    pub(super) fn unless<T>(&mut self, read: anyhow::Result<T>, lacks: &'static str) -> anyhow::Result<Option<T>> {
        let error = match read {
            Ok(read) => return Ok(Some(read)),
            Err(error) => error,
        };
        let table = match error.downcast_ref::<StudyError>() {
            Some(StudyError::Recording(table)) => Some(table),
            _ => error.downcast_ref::<Error>(),
        };
        let Some(table) = table else { return Err(error) };
        self.take(table, lacks);
        Ok(None)
    }

    /// A line for each table.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|table| format!("{}; left out: {}", table.said, table.lacks.join(", ")))
    }

    /// Says them, and gives the exit code.
    pub(super) fn tell(&self, artifacts: &mut Artifacts) -> u8 {
        self.lines().map(|line| artifacts.lack(line)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_one_line_with_all_that_the_answer_lacks() {
        let mut unread = Unread::default();
        assert!(!unread.is_without(SUMS));
        for (path, said, lacks) in
            [("a", "is cut", PICTURES), ("b", "is empty", SUMS), ("a", "is cut", SUMS), ("b", "has no rows", CYCLES)]
        {
            unread.take(&Error::occupied(path, said), lacks);
        }
        assert!(unread.is_without(SUMS) && !unread.is_without(WAKEUPS));
        let lines: Vec<String> = unread.lines().collect();
        let [first, second] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(*first, format!("a: is cut; left out: {PICTURES}, {SUMS}"));
        assert_eq!(*second, format!("b: is empty; left out: {SUMS}, {CYCLES}"));
        // What says nothing of a table ends the command.
        let other: anyhow::Result<()> = Err(anyhow::anyhow!("the stages of 1 wakeup do not add up"));
        assert!(unread.unless(other, SUMS).is_err());
        assert_eq!(unread.unless(Ok(7), SUMS).unwrap(), Some(7));
        assert_eq!(unread.lines().count(), 2);
    }
}
