//! Which code was at work for an input, as stacks that were sampled say: the table `interaction_code/`, a call tree
//! for each part of an input's time, and a summary of it.

use crate::error::{Error, ErrorKind, Result};
use crate::format::bounded::{Bounded, BoundedWriter};
use crate::format::bounds::MAX_COUNT;
use crate::format::directory::Directory;
use crate::format::table::{Schema, required, signed, text};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The most functions in the call trees of a recording.
pub const MAX_CODE_ROWS: usize = 100_000;
/// The most functions in the call trees of one input.
pub const MAX_CODE_OF_INPUT: usize = 1_000;
/// How many functions a call tree has below one another at most.
pub const MAX_CODE_DEPTH: u32 = 64;
/// The longest name of a function, characters.
pub const MAX_CODE_NAME: usize = 300;

static CODE: Schema = Schema {
    name: "interaction_code",
    columns: &[
        required("number").about("The input"),
        required("depth").about("How many functions called it; its caller is the last row above with one less"),
        required("samples").about("Samples in which it was the innermost function"),
        text("kind").about("The part of the input's time: why it passed"),
        text("name").about("The same: who had it"),
        text("function").about("The function, or the file and the place in it"),
    ],
};
static TABLE: Bounded = Bounded {
    schema: &CODE,
    max_rows: MAX_CODE_ROWS,
    what: "functions",
    bounds: &[u32::MAX as u64, MAX_CODE_DEPTH as u64 - 1, MAX_COUNT],
};

/// A function in the call tree of a part of an input's time; a tree begins with depth 0, and a function comes before
/// those that it calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputCode {
    /// The input: [`crate::Interaction::number`].
    pub number: u32,
    /// How many functions called it.
    pub depth: u32,
    /// Samples in which it was the innermost function.
    pub samples: u64,
    /// The part: [`crate::InteractionPart::kind`].
    pub kind: String,
    /// And its name: [`crate::InteractionPart::name`].
    pub name: String,
    /// The function.
    pub function: String,
}

/// A summary of all samples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeDocument {
    /// How many stacks were to be sampled each second on each CPU.
    pub sample_rate: u32,
    /// What the sampling clock is; `None` if none were sampled, because none were asked for or the kernel refused.
    pub sample_clock: Option<String>,
    /// Samples that saw somebody at work for an input.
    pub samples: u64,
    /// Those of them for which there was no room.
    pub not_kept: u64,
    /// Those of them whose innermost function has no name.
    pub unnamed: u64,
    /// The files that had no name for most of these, at most three.
    pub without_names: Vec<String>,
    /// How often a function was left out of a call tree because that was full; its samples count for its caller.
    pub left_out: u64,
}

/// Writes the table.
pub(crate) struct CodeWriter(BoundedWriter);

impl CodeWriter {
    pub(crate) fn new(recording: &Directory) -> CodeWriter {
        CodeWriter(BoundedWriter::new(recording, &TABLE))
    }

    /// Takes all call trees of an input; false if there is no room for them.
    pub(crate) fn push(&mut self, rows: &[InputCode]) -> bool {
        if rows.len() > MAX_CODE_OF_INPUT || rows.iter().any(|row| row.depth >= MAX_CODE_DEPTH) {
            return false;
        }
        let Some(table) = self.0.rows_for(rows.len()) else { return false };
        for row in rows {
            let [kind, name, function] = [&row.kind, &row.name, &row.function].map(|words| Some(table.text(words)));
            let (number, depth) = (Some(i64::from(row.number)), Some(i64::from(row.depth)));
            table.push([number, depth, signed(row.samples), kind, name, function]);
        }
        true
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

/// Passes on every function of every call tree of a recording, those of one input together; at most [`MAX_CODE_ROWS`],
/// with names of at most [`MAX_CODE_NAME`] characters.
///
/// # Errors
/// [`ErrorKind::Invalid`] or [`ErrorKind::Io`] for the first segment that cannot be read, or holds what is no tree.
///
/// [`ErrorKind::Io`]: crate::ErrorKind::Io
pub fn for_each_input_code(recording: &Path, mut take: impl FnMut(InputCode)) -> Result<()> {
    let mut order = Order::default();
    let mut wrong = None;
    TABLE.for_each_row(recording, |rows, row| {
        if wrong.is_some() {
            return;
        }
        let words = |column| rows.get_text(column, row).to_owned();
        let code = InputCode {
            number: rows.narrow(0, row),
            depth: rows.narrow(1, row),
            samples: rows.unsigned(2, row),
            kind: words(3),
            name: words(4),
            function: rows.get_text(5, row).chars().take(MAX_CODE_NAME).collect(),
        };
        match order.holds(&code) {
            Ok(()) => take(code),
            Err(what) => wrong = Some(what),
        }
    })?;
    wrong.map_or(Ok(()), |what| Err(Error::new(ErrorKind::Invalid, recording.join(CODE.name), what)))
}

/// What came so far.
#[derive(Default)]
struct Order {
    last: Option<(u32, u32)>,
    of_input: usize,
    samples: u64,
}

impl Order {
    /// Whether what comes next is a part of a tree as a measurement writes it; otherwise what is wrong.
    fn holds(&mut self, code: &InputCode) -> std::result::Result<(), String> {
        let number = code.number;
        let before = self.last.filter(|(last, _)| *last == number).map(|(_, depth)| depth);
        self.of_input = if before.is_some() { self.of_input + 1 } else { 1 };
        self.last = Some((number, code.depth));
        self.samples = self.samples.saturating_add(code.samples);
        if self.of_input > MAX_CODE_OF_INPUT {
            return Err(format!(
                "holds more than {MAX_CODE_OF_INPUT} functions of input {number}, which no measurement writes"
            ));
        }
        if code.depth > before.map_or(0, |depth| depth + 1) {
            return Err(format!("holds a function of input {number} without the one that called it"));
        }
        if self.samples > MAX_COUNT {
            return Err(format!("holds more than {MAX_COUNT} samples in all, which no measurement writes"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(number: u32, depth: u32, samples: u64) -> InputCode {
        let words = |words: &str| words.to_owned();
        InputCode { number, depth, samples, kind: words("own"), name: words("editor"), function: format!("f{depth}") }
    }

    fn read(directory: &Path) -> Result<Vec<InputCode>> {
        let mut read = Vec::new();
        for_each_input_code(directory, |code| read.push(code)).map(|()| read)
    }

    fn written(inputs: &[Vec<InputCode>]) -> Result<Vec<InputCode>> {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = CodeWriter::new(&Directory::make(directory.path()).unwrap());
        assert!(inputs.iter().all(|rows| writer.push(rows)));
        writer.finish().unwrap();
        read(directory.path())
    }

    #[test]
    fn trees_that_are_written_are_read_and_no_more_than_there_may_be() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read(directory.path()).unwrap(), [], "an older recording has none");
        let tree = vec![code(1, 0, 0), code(1, 1, 2), code(1, 2, 3), code(1, 1, 1), code(1, 0, 4)];
        let other = vec![code(2, 0, 1)];
        assert_eq!(written(&[tree.clone(), other.clone()]).unwrap(), [tree, other].concat());
        let mut writer = CodeWriter::new(&Directory::make(directory.path()).unwrap());
        let full = |number| (0..MAX_CODE_OF_INPUT).map(|at| code(number, 0, at as u64)).collect::<Vec<_>>();
        assert!(!writer.push(&[full(0), vec![code(0, 0, 1)]].concat()), "too many of one input");
        assert!(!writer.push(&[code(0, MAX_CODE_DEPTH, 1)]), "too deep");
        let inputs = (MAX_CODE_ROWS / MAX_CODE_OF_INPUT) as u32;
        assert!((0..inputs).all(|number| writer.push(&full(number))));
        assert!(!writer.push(&[code(inputs, 0, 1)]), "it is full");
        writer.finish().unwrap();
        assert_eq!(read(directory.path()).unwrap().len(), MAX_CODE_ROWS);
    }

    #[test]
    fn what_is_no_tree_is_damage() {
        let apart = |rows: &[InputCode]| rows.iter().map(|row| vec![row.clone()]).collect::<Vec<_>>();
        for (rows, what) in [
            (apart(&[code(1, 1, 1)]), "without the one that called it"),
            (apart(&[code(1, 0, 1), code(1, 2, 1)]), "without the one that called it"),
            (apart(&[code(1, 0, 1), code(2, 1, 1)]), "without the one that called it"),
            (apart(&vec![code(1, 0, 1); MAX_CODE_OF_INPUT + 1]), "functions of input 1"),
            (apart(&[code(1, 0, MAX_COUNT), code(2, 0, 1)]), "samples in all"),
        ] {
            let error = written(&rows).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}
