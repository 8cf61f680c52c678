//! Tables of whole numbers and texts as Parquet files: their shape, and rows of them in memory.

mod read;
#[cfg(test)]
mod table_tests;
mod write;

pub use read::rows_read;
pub(crate) use read::{Opened, TakeNumbers, count_rows, read_table};
pub(crate) use write::{concatenate, write_table};

use crate::error::{Error, ErrorKind, Result};
use crate::format::texts::Texts;
use parquet::errors::ParquetError;
use std::path::Path;

/// A column of 64-bit whole numbers, or of texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column<'a> {
    pub(crate) name: &'a str,
    pub(crate) optional: bool,
    pub(crate) is_text: bool,
    /// Whether it only repeats in words what another column says as a number. Such columns come last; nothing here
    /// reads them.
    pub(crate) is_for_people: bool,
    /// What it holds, in a sentence; empty if the file is to have no description.
    pub(crate) about: &'a str,
}

impl<'a> Column<'a> {
    /// With a description, which is written into the file.
    pub(crate) const fn about(self, about: &'a str) -> Column<'a> {
        Column { about, ..self }
    }
}

/// A column that every row has.
pub(crate) const fn required(name: &str) -> Column<'_> {
    Column { name, optional: false, is_text: false, is_for_people: false, about: "" }
}

/// A column that a row may lack.
pub(crate) const fn optional(name: &str) -> Column<'_> {
    Column { name, optional: true, is_text: false, is_for_people: false, about: "" }
}

/// A column of texts that every row has, with few different ones.
pub(crate) const fn text(name: &str) -> Column<'_> {
    Column { name, optional: false, is_text: true, is_for_people: false, about: "" }
}

/// A column of names beside a column of numbers, for whoever reads the file with other programs.
pub(crate) const fn in_words(name: &str) -> Column<'_> {
    Column { name, optional: false, is_text: true, is_for_people: true, about: "" }
}

/// The shape of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'a> {
    pub(crate) name: &'a str,
    pub(crate) columns: &'a [Column<'a>],
}

impl<'a> Schema<'a> {
    /// The columns that this program reads. Older recordings have no others.
    pub(crate) fn as_read(&self) -> Schema<'a> {
        let columns = self.columns.iter().position(|column| column.is_for_people).unwrap_or(self.columns.len());
        Schema { name: self.name, columns: &self.columns[..columns] }
    }
}

/// Rows of a table, column by column; a missing value is `None`, a text is its number.
pub(crate) struct Rows<'a> {
    schema: &'a Schema<'a>,
    columns: Vec<Vec<Option<i64>>>,
    texts: Texts,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(schema: &'a Schema<'a>) -> Rows<'a> {
        Rows { schema, columns: vec![Vec::new(); schema.columns.len()], texts: Texts::default() }
    }

    /// Adds a row whose length is that of the schema.
    pub(crate) fn push_row(&mut self, row: &[Option<i64>]) {
        debug_assert_eq!(row.len(), self.columns.len());
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(*value);
        }
    }

    /// Adds a row; the values are in the order of the schema's columns.
    pub(crate) fn push<const N: usize>(&mut self, row: [Option<i64>; N]) {
        debug_assert_eq!(N, self.columns.len());
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
        self.texts.forget_many();
    }

    /// The number that stands for a text in a column of texts, until [`Rows::clear`].
    pub(crate) fn text(&mut self, text: &str) -> i64 {
        self.texts.number(text)
    }

    /// The text in a column of texts.
    pub(crate) fn get_text(&self, column: usize, row: usize) -> &str {
        self.texts.get(self.get(column, row))
    }

    /// Takes over the rows of a table with the same schema.
    fn append(&mut self, other: &Rows<'_>) {
        let texts = &mut self.texts;
        for ((into, from), column) in self.columns.iter_mut().zip(&other.columns).zip(self.schema.columns) {
            if column.is_text {
                into.extend(from.iter().map(|cell| cell.map(|number| texts.number(other.texts.get(number)))));
            } else {
                into.extend_from_slice(from);
            }
        }
    }

    /// Refuses rows with a number below 0, or above what a column may hold; the last bound applies to all further
    /// columns.
    pub(crate) fn check(&self, path: &Path, max: &[u64]) -> Result<()> {
        (0..self.columns.len())
            .try_for_each(|index| self.check_column(path, index, max.get(index).or(max.last()).copied().unwrap_or(0)))
    }

    /// The same for one column, if others hold signed numbers.
    pub(crate) fn check_column(&self, path: &Path, index: usize, max: u64) -> Result<()> {
        let (cells, column) = (&self.columns[index], &self.schema.columns[index]);
        if column.is_text { Ok(()) } else { check_numbers(path, column, cells.iter().flatten(), max) }
    }

    /// The value of a required column.
    pub(crate) fn get(&self, column: usize, row: usize) -> i64 {
        self.columns[column][row].unwrap_or(0)
    }

    /// A value that is never below 0, as [`Rows::check`] has made sure; 0 if it is.
    pub(crate) fn unsigned(&self, column: usize, row: usize) -> u64 {
        u64::try_from(self.get(column, row)).unwrap_or(0)
    }

    /// The same for a column of 32-bit numbers.
    pub(crate) fn narrow(&self, column: usize, row: usize) -> u32 {
        u32::try_from(self.get(column, row)).unwrap_or(0)
    }

    /// The value of an optional column.
    pub(crate) fn get_optional(&self, column: usize, row: usize) -> Option<i64> {
        self.columns[column][row]
    }
}

/// Refuses a number below 0, or above what a column may hold.
fn check_numbers<'n>(
    path: &Path,
    column: &Column<'_>,
    mut numbers: impl Iterator<Item = &'n i64>,
    max: u64,
) -> Result<()> {
    let is_wrong = |value: &&i64| u64::try_from(**value).map_or(true, |value| value > max);
    match numbers.find(is_wrong) {
        Some(value) => {
            let what = format!("holds {value} as {}, which no measurement writes", column.name);
            Err(Error::new(ErrorKind::Invalid, path, what))
        }
        None => Ok(()),
    }
}

/// A number as it stands in a table: the largest that fits, if it does not fit.
pub(crate) fn signed(value: u64) -> Option<i64> {
    Some(i64::try_from(value).unwrap_or(i64::MAX))
}

/// What is wrong with a table, in the words of whoever found it.
fn failed(path: &Path, doing: &str, error: ParquetError) -> Error {
    if let ParquetError::External(inner) = &error
        && let Some(io) = inner.downcast_ref::<std::io::Error>()
    {
        return Error::io(path, doing, std::io::Error::new(io.kind(), io.to_string()));
    }
    Error::new(ErrorKind::Invalid, path, format!("{doing}: {error}"))
}
