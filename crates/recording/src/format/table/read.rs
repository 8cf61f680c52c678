//! Reads tables batch by batch, and trusts nothing that they say of themselves.

use super::{Column, Rows, Schema, check_numbers, failed};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bounds::{MAX_BATCH_TEXT_BYTES, MAX_CELL_BYTES};
use crate::format::printable::{is_printable, printable};
use crate::format::texts::Texts;
use crate::format::{caught, input, parquet_check};
use parquet::basic::Type as PhysicalType;
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows read so far, from all tables, for progress displays.
static ROWS_READ: AtomicU64 = AtomicU64::new(0);

/// How many rows of tables this process has read so far.
pub fn rows_read() -> u64 {
    ROWS_READ.load(Ordering::Relaxed)
}

/// How many rows are read together, so that a table of any length is read in this much memory.
const BATCH: usize = 1 << 12;
/// The most bytes of pages that the texts of a batch may keep in memory.
const HELD_PAGES: usize = 16 << 20;

/// Reads a table and passes its rows on, a few thousand at a time, in memory that does not grow with its length.
///
/// Columns that the file lacks read as absent; columns that the schema lacks, and those that are for people, are
/// skipped.
pub(crate) fn read_table(path: &Path, schema: &Schema<'_>, take: impl FnMut(&Rows<'_>) -> Result<()>) -> Result<()> {
    read_opened(open_table(path)?, path, &schema.as_read(), take)
}

/// The same for an open file.
pub(super) fn read_opened(
    file: File,
    path: &Path,
    schema: &Schema<'_>,
    mut take: impl FnMut(&Rows<'_>) -> Result<()>,
) -> Result<()> {
    let table = Opened::new(file, path)?;
    let mut rows = Rows::new(schema);
    for group in 0..table.groups() {
        let (mut left, mut sources) = table.sources(group, schema)?;
        while left > 0 {
            let wanted = left.min(BATCH);
            rows.clear();
            for (source, cells) in sources.iter_mut().zip(&mut rows.columns) {
                source.read(path, wanted, cells, &mut rows.texts)?;
            }
            take(&rows)?;
            ROWS_READ.fetch_add(wanted as u64, Ordering::Relaxed);
            left -= wanted;
        }
    }
    Ok(())
}

/// An open table, whose groups of rows are read one by one.
pub(crate) struct Opened<'a> {
    file: File,
    path: &'a Path,
    reader: SerializedFileReader<File>,
}

impl<'a> Opened<'a> {
    pub(crate) fn open(path: &'a Path) -> Result<Opened<'a>> {
        Opened::new(open_table(path)?, path)
    }

    fn new(file: File, path: &'a Path) -> Result<Opened<'a>> {
        check_end(&file, path)?;
        let own = file.try_clone().map_err(|error| Error::io(path, "cannot read", error))?;
        let reader = decoding(path, || SerializedFileReader::new(own))?;
        parquet_check::check_amount(&file, reader.metadata()).map_err(|what| invalid(path, what))?;
        Ok(Opened { file, path, reader })
    }

    /// How many groups of rows it has.
    pub(crate) fn groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// How many rows a group has, and where their columns come from.
    fn sources(&self, group: usize, schema: &Schema<'_>) -> Result<(usize, Vec<Source>)> {
        let path = self.path;
        let group = decoding(path, || self.reader.get_row_group(group))?;
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| invalid(path, "is not a whole table: a negative number of rows"))?;
        let opened = schema.columns.iter().map(|column| Source::open(&self.file, path, &*group, column, rows as u64));
        let sources = opened.collect::<Result<Vec<_>>>()?;
        if rows > 0 && sources.iter().all(|source| matches!(source, Source::Absent)) {
            return Err(invalid(path, "has none of the expected columns"));
        }
        Ok((rows, sources))
    }

    /// Reads columns of numbers that are never below 0, and not above this, of a group of rows: a few thousand rows at a time,
    /// one column after the other.
    pub(crate) fn read_numbers(
        &self,
        group: usize,
        schema: &Schema<'_>,
        max: u64,
        take: &mut impl TakeNumbers,
    ) -> Result<()> {
        let (mut left, mut sources) = self.sources(group, schema)?;
        while left > 0 {
            let wanted = left.min(BATCH);
            take.begin(wanted);
            for (index, (source, column)) in sources.iter_mut().zip(schema.columns).enumerate() {
                let Source::Numbers(reader, is_optional) = source else { continue };
                let mut first = 0;
                read_column(self.path, reader, *is_optional, wanted, |values, levels| {
                    // The largest is found sooner than one that is wrong, and as an unsigned number one below 0 is the largest.
                    if values.iter().map(|value| value.cast_unsigned()).max().is_some_and(|largest| largest > max) {
                        check_numbers(self.path, column, values.iter(), max)?;
                    }
                    take.take(index, first, values, levels);
                    first += levels.map_or(values.len(), <[i16]>::len);
                    Ok(())
                })?;
            }
            take.end();
            ROWS_READ.fetch_add(wanted as u64, Ordering::Relaxed);
            left -= wanted;
        }
        Ok(())
    }
}

/// What is made of columns of numbers.
pub(crate) trait TakeNumbers {
    /// So many rows come next, column by column.
    fn begin(&mut self, rows: usize);

    /// Takes a part of a column, from this row on: its values and, if a row may lack one, a level for each row, above 0 for
    /// those that have one.
    fn take(&mut self, column: usize, first: usize, values: &[i64], levels: Option<&[i16]>);

    /// All columns of these rows came, except for those that the table lacks.
    fn end(&mut self);
}

/// The rows of a table, according to itself.
pub(crate) fn count_rows(path: &Path) -> Result<u64> {
    check_end(&open_table(path)?, path)
}

fn open_table(path: &Path) -> Result<File> {
    input::open_file(path).map_err(|error| Error::io(path, "cannot read", error))
}

/// Checks what a table says of itself before anything trusts it. Returns its own count of rows.
fn check_end(file: &File, path: &Path) -> Result<u64> {
    parquet_check::check_end(file).map_err(|what| invalid(path, what))
}

fn invalid(path: &Path, what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, path, what)
}

/// Where the cells of a column come from.
enum Source {
    /// The file lacks the column.
    Absent,
    Numbers(ColumnReaderImpl<Int64Type>, bool),
    /// Texts, of which only this many are taken at a time, because each keeps the page that it is in.
    Texts(ColumnReaderImpl<ByteArrayType>, bool, usize),
}

impl Source {
    /// Finds a column in a group of this many rows, once its pages have been checked.
    fn open(file: &File, path: &Path, group: &dyn RowGroupReader, column: &Column<'_>, rows: u64) -> Result<Source> {
        let descriptor = group.metadata().schema_descr_ptr();
        let found = (0..descriptor.num_columns()).find(|&index| descriptor.column(index).name() == column.name);
        let Some(index) = found else {
            return match column.optional || column.is_for_people {
                true => Ok(Source::Absent),
                false => Err(invalid(path, format!("lacks the column {}", column.name))),
            };
        };
        let about = descriptor.column(index);
        let chunk = group.metadata().column(index);
        let (wanted, kind) = match column.is_text {
            true => (PhysicalType::BYTE_ARRAY, "texts"),
            false => (PhysicalType::INT64, "64-bit numbers"),
        };
        if about.physical_type() != wanted || about.max_rep_level() > 0 || chunk.column_type() != wanted {
            return Err(invalid(path, format!("column {} is not of {kind}", column.name)));
        }
        let largest = parquet_check::check_pages(file, chunk, rows).map_err(|what| invalid(path, what))?;
        let pages = decoding(path, || group.get_column_reader(index))?;
        let is_optional = about.max_def_level() > 0;
        Ok(match column.is_text {
            true => {
                let step = (HELD_PAGES / largest.max(1)).clamp(1, BATCH);
                Source::Texts(get_typed_column_reader(pages), is_optional, step)
            }
            false => Source::Numbers(get_typed_column_reader(pages), is_optional),
        })
    }

    /// Adds this many further cells.
    fn read(&mut self, path: &Path, wanted: usize, cells: &mut Vec<Option<i64>>, texts: &mut Texts) -> Result<()> {
        match self {
            Source::Absent => cells.resize(wanted, None),
            Source::Numbers(reader, is_optional) => {
                read_column(path, reader, *is_optional, wanted, |values, levels| {
                    cells.extend(with_absent(values, levels).map(|value| value.copied()));
                    Ok(())
                })?
            }
            Source::Texts(reader, is_optional, step) => {
                let mut missing = wanted;
                while missing > 0 {
                    let part = missing.min(*step);
                    read_column(path, reader, *is_optional, part, |values, levels| {
                        for value in with_absent(values, levels) {
                            cells.push(Some(text_number(path, value, texts)?));
                        }
                        Ok(())
                    })?;
                    missing -= part;
                }
            }
        }
        Ok(())
    }
}

/// The number of a text, with its control characters replaced. Refuses it if it, or a whole batch together, is longer
/// than anything that is written.
fn text_number(path: &Path, value: Option<&ByteArray>, texts: &mut Texts) -> Result<i64> {
    let bytes = value.map_or(&[][..], ByteArray::data);
    if bytes.len() > MAX_CELL_BYTES {
        let length = bytes.len();
        return Err(invalid(path, format!("holds a text of {length} bytes; {MAX_CELL_BYTES} are read at most")));
    }
    let text = String::from_utf8_lossy(bytes);
    let number = if is_printable(&text) { texts.number(&text) } else { texts.number(&printable(&text)) };
    if texts.bytes() > MAX_BATCH_TEXT_BYTES {
        return Err(invalid(path, format!("holds over {MAX_BATCH_TEXT_BYTES} bytes of text in {BATCH} rows")));
    }
    Ok(number)
}

/// Calls the library that decodes tables. On some damaged ones it panics instead of reporting an error.
fn decoding<T>(path: &Path, decode: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    match caught::caught(decode) {
        Some(decoded) => decoded.map_err(|error| failed(path, "is not a whole table", error)),
        None => Err(Error::new(ErrorKind::Invalid, path, "is not a whole table: one of its pages makes no sense")),
    }
}

/// The cells of a column: a value for each level above 0, and none for the others; all values if there are no levels.
fn with_absent<'a, T>(values: &'a [T], levels: Option<&'a [i16]>) -> impl Iterator<Item = Option<&'a T>> {
    let mut present = values.iter();
    let is_present = move |cell: usize| levels.is_none_or(|levels| levels[cell] > 0);
    (0..levels.map_or(values.len(), <[i16]>::len)).map(move |cell| if is_present(cell) { present.next() } else { None })
}

/// Reads exactly this many values of a column, and passes them on as they come, with the levels of an optional one.
fn read_column<T: DataType>(
    path: &Path,
    reader: &mut ColumnReaderImpl<T>,
    is_optional: bool,
    wanted: usize,
    mut take: impl FnMut(&[T::T], Option<&[i16]>) -> Result<()>,
) -> Result<()> {
    let (mut values, mut levels): (Vec<T::T>, Vec<i16>) = (Vec::new(), Vec::new());
    let mut missing = wanted;
    while missing > 0 {
        values.clear();
        levels.clear();
        let (read, _, _) =
            decoding(path, || reader.read_records(missing, is_optional.then_some(&mut levels), None, &mut values))?;
        let count = if is_optional { levels.len() } else { values.len() };
        if read == 0 || count != read || read > missing {
            return Err(Error::new(ErrorKind::Invalid, path, "is not a whole table: rows are missing"));
        }
        take(&values, is_optional.then_some(levels.as_slice()))?;
        missing -= read;
    }
    Ok(())
}
