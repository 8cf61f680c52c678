//! Tables of whole numbers and texts as Parquet files.

use crate::error::{Error, ErrorKind, Result};
use crate::format::bounds::{MAX_BATCH_TEXT_BYTES, MAX_CELL_BYTES};
use crate::format::directory::{Directory, temporary_for};
use crate::format::texts::Texts;
use crate::format::{caught, input, parquet_check};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows written together; a table of any length is written in this much memory.
const ROW_GROUP: usize = 1 << 15;
/// Rows read together; a table of any length is read in this much memory.
const BATCH: usize = 1 << 12;
/// Pages that the texts of a batch may hold on to, bytes.
const HELD_PAGES: usize = 16 << 20;

/// A column of 64-bit whole numbers, or of texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column<'a> {
    pub(crate) name: &'a str,
    pub(crate) optional: bool,
    pub(crate) is_text: bool,
}

/// A column that every row has.
pub(crate) const fn required(name: &str) -> Column<'_> {
    Column { name, optional: false, is_text: false }
}

/// A column that a row may lack.
pub(crate) const fn optional(name: &str) -> Column<'_> {
    Column { name, optional: true, is_text: false }
}

/// A column of texts, of which few are different, that every row has.
pub(crate) const fn text(name: &str) -> Column<'_> {
    Column { name, optional: false, is_text: true }
}

/// The shape of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'a> {
    pub(crate) name: &'a str,
    pub(crate) columns: &'a [Column<'a>],
}

/// Rows of a table, column by column; a missing value is `None`, a text the number of a text.
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

    /// Adds a row; the values stand in the order of the schema's columns.
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

    /// The number under which a text stands in a column of texts, until [`Rows::clear`].
    pub(crate) fn text(&mut self, text: &str) -> i64 {
        self.texts.number(text)
    }

    /// The text of a column of texts.
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

    /// Refuses rows with a number below 0, or above what a column may hold; the last bound is that of all further columns.
    pub(crate) fn check(&self, path: &Path, most: &[u64]) -> Result<()> {
        for (index, (cells, column)) in self.columns.iter().zip(self.schema.columns).enumerate() {
            let most = most.get(index).or(most.last()).copied().unwrap_or(0);
            let is_wrong = |value: &&i64| u64::try_from(**value).map_or(true, |value| value > most);
            if let Some(value) = cells.iter().flatten().find(is_wrong).filter(|_| !column.is_text) {
                let what = format!("holds {value} as {}, which no measurement writes", column.name);
                return Err(Error::new(ErrorKind::Invalid, path, what));
            }
        }
        Ok(())
    }

    /// The value of a required column.
    pub(crate) fn get(&self, column: usize, row: usize) -> i64 {
        self.columns[column][row].unwrap_or(0)
    }

    /// A value that is never below 0, as [`Rows::check`] has found; 0 where it is.
    pub(crate) fn unsigned(&self, column: usize, row: usize) -> u64 {
        u64::try_from(self.get(column, row)).unwrap_or(0)
    }

    /// The same of a column of 32-bit numbers.
    pub(crate) fn narrow(&self, column: usize, row: usize) -> u32 {
        u32::try_from(self.get(column, row)).unwrap_or(0)
    }

    /// The value of an optional column.
    pub(crate) fn get_optional(&self, column: usize, row: usize) -> Option<i64> {
        self.columns[column][row]
    }
}

/// A number as it stands in a table: the largest that fits, where it does not.
pub(crate) fn signed(value: u64) -> Option<i64> {
    Some(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Writes a table to a file in row groups.
pub(crate) struct TableWriter<'a> {
    schema: &'a Schema<'a>,
    path: PathBuf,
    writer: SerializedFileWriter<File>,
}

impl<'a> TableWriter<'a> {
    pub(crate) fn create(directory: &Directory, name: &str, schema: &'a Schema<'a>) -> Result<TableWriter<'a>> {
        let path = directory.path().join(name);
        let fields = schema
            .columns
            .iter()
            .map(|column| {
                let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
                let (physical, logical) = if column.is_text {
                    (PhysicalType::BYTE_ARRAY, Some(LogicalType::String))
                } else {
                    (PhysicalType::INT64, None)
                };
                Type::primitive_type_builder(column.name, physical)
                    .with_logical_type(logical)
                    .with_repetition(repetition)
                    .build()
                    .map(Arc::new)
            })
            .collect::<parquet::errors::Result<Vec<_>>>();
        let root = fields.and_then(|fields| Type::group_type_builder(schema.name).with_fields(fields).build());
        let root = root.map_err(|error| failed(&path, "cannot describe the table", error))?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .set_statistics_enabled(EnabledStatistics::Chunk);
        for column in schema.columns.iter().filter(|column| column.is_text) {
            let column = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), true)
                .set_column_encoding(column.clone(), Encoding::PLAIN)
                .set_column_statistics_enabled(column, EnabledStatistics::None);
        }
        let properties = properties.build();
        let file = directory.create(name).map_err(|error| Error::io(&path, "cannot write", error))?;
        let writer = SerializedFileWriter::new(file, Arc::new(root), Arc::new(properties))
            .map_err(|error| failed(&path, "cannot write", error))?;
        Ok(TableWriter { schema, path, writer })
    }

    pub(crate) fn write(&mut self, rows: &Rows<'_>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.write_row_group(rows).map_err(|error| failed(&self.path, "cannot write", error))
    }

    fn write_row_group(&mut self, rows: &Rows<'_>) -> parquet::errors::Result<()> {
        let mut group = self.writer.next_row_group()?;
        let (mut values, mut levels, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        let all_texts: Vec<ByteArray> =
            rows.texts.all().map(|text| ByteArray::from(text.as_bytes().to_vec())).collect();
        for (column, cells) in self.schema.columns.iter().zip(&rows.columns) {
            values.clear();
            levels.clear();
            if column.is_text {
                texts.clear();
                let of = |number: i64| usize::try_from(number).ok().and_then(|number| all_texts.get(number).cloned());
                texts.extend(cells.iter().flatten().map(|&number| of(number).unwrap_or_default()));
                let mut writer = group.next_column()?.expect("the row group has the schema's columns");
                writer.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
                writer.close()?;
                continue;
            }
            values.extend(cells.iter().flatten().copied());
            levels.extend(cells.iter().map(|cell| i16::from(cell.is_some())));
            let mut writer = group.next_column()?.expect("the row group has the schema's columns");
            let levels = column.optional.then_some(levels.as_slice());
            writer.typed::<Int64Type>().write_batch(&values, levels, None)?;
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        self.writer.finish().map(drop).map_err(|error| failed(&self.path, "cannot write", error))
    }
}

/// Writes rows under a temporary name and renames the file into place, so that it appears whole or not at all.
pub(crate) fn write_table(directory: &Directory, name: &str, rows: &Rows<'_>) -> Result<()> {
    let temporary = temporary_for(name);
    let written = (|| {
        let mut writer = TableWriter::create(directory, &temporary, rows.schema)?;
        writer.write(rows)?;
        writer.finish()?;
        into_place(directory, &temporary, name)
    })();
    if written.is_err() {
        directory.remove(&temporary);
    }
    written
}

fn into_place(directory: &Directory, temporary: &str, name: &str) -> Result<()> {
    let refused = |error| Error::io(directory.path().join(name), "cannot rename into place", error);
    directory.rename(temporary, name).map_err(refused)
}

/// Where the cells of a column come from.
enum Source {
    /// The file lacks the column.
    Absent,
    Numbers(ColumnReaderImpl<Int64Type>, bool),
    /// Texts, of which so many are taken at a time: each holds on to the page that it stands in.
    Texts(ColumnReaderImpl<ByteArrayType>, bool, usize),
}

fn open_table(path: &Path) -> Result<File> {
    input::open_file(path).map_err(|error| Error::io(path, "cannot read", error))
}

/// Looks at what a table says of itself before it is believed. Returns how many rows it says it has.
fn check_end(file: &File, path: &Path) -> Result<u64> {
    parquet_check::check_end(file).map_err(|what| Error::new(ErrorKind::Invalid, path, what))
}

/// Reads a table and hands its rows on, a few thousand at a time, in memory that does not grow with its length.
///
/// Columns the file lacks read as absent; columns the schema lacks are passed over.
pub(crate) fn read_table(path: &Path, schema: &Schema<'_>, take: impl FnMut(&Rows<'_>) -> Result<()>) -> Result<()> {
    read_opened(open_table(path)?, path, schema, take)
}

/// The same of a file that is open.
fn read_opened(
    file: File,
    path: &Path,
    schema: &Schema<'_>,
    mut take: impl FnMut(&Rows<'_>) -> Result<()>,
) -> Result<()> {
    let invalid = |what: String| Error::new(ErrorKind::Invalid, path, what);
    check_end(&file, path)?;
    let own = file.try_clone().map_err(|error| Error::io(path, "cannot read", error))?;
    let reader = decoding(path, || SerializedFileReader::new(own))?;
    let descriptor = reader.metadata().file_metadata().schema_descr_ptr();
    let mut rows = Rows::new(schema);
    for group_index in 0..reader.num_row_groups() {
        let group = decoding(path, || reader.get_row_group(group_index))?;
        let mut left = usize::try_from(group.metadata().num_rows())
            .map_err(|_| invalid("is not a whole table: a negative number of rows".to_owned()))?;
        let mut sources = Vec::new();
        for column in schema.columns {
            let found = (0..descriptor.num_columns()).find(|&index| descriptor.column(index).name() == column.name);
            let Some(index) = found else {
                if !column.optional {
                    return Err(invalid(format!("lacks the column {}", column.name)));
                }
                sources.push(Source::Absent);
                continue;
            };
            let about = descriptor.column(index);
            let (wanted, is_not) = if column.is_text {
                (PhysicalType::BYTE_ARRAY, "texts")
            } else {
                (PhysicalType::INT64, "64-bit numbers")
            };
            if about.physical_type() != wanted || about.max_rep_level() > 0 {
                return Err(invalid(format!("column {} is not of {is_not}", column.name)));
            }
            let chunk = group.metadata().column(index);
            if chunk.column_type() != wanted {
                return Err(invalid(format!("column {} is not of {is_not}", column.name)));
            }
            let largest = parquet_check::check_pages(&file, chunk, left as u64).map_err(invalid)?;
            let pages = decoding(path, || group.get_column_reader(index))?;
            let is_optional = about.max_def_level() > 0;
            sources.push(if column.is_text {
                let step = (HELD_PAGES / largest.max(1)).clamp(1, BATCH);
                Source::Texts(get_typed_column_reader(pages), is_optional, step)
            } else {
                Source::Numbers(get_typed_column_reader(pages), is_optional)
            });
        }
        if left > 0 && sources.iter().all(|source| matches!(source, Source::Absent)) {
            return Err(invalid("has none of the columns that are looked for".to_owned()));
        }
        while left > 0 {
            let wanted = left.min(BATCH);
            rows.clear();
            for (source, cells) in sources.iter_mut().zip(&mut rows.columns) {
                match source {
                    Source::Absent => cells.resize(wanted, None),
                    Source::Numbers(reader, is_optional) => {
                        read_column(path, reader, *is_optional, wanted, |value| {
                            cells.push(value.copied());
                            Ok(())
                        })?;
                    }
                    Source::Texts(reader, is_optional, step) => {
                        let texts = &mut rows.texts;
                        let mut take = |value: Option<&ByteArray>| {
                            let bytes = value.map_or(&[][..], ByteArray::data);
                            if bytes.len() > MAX_CELL_BYTES {
                                let length = bytes.len();
                                let what = format!("holds a text of {length} bytes; {MAX_CELL_BYTES} are read at most");
                                return Err(invalid(what));
                            }
                            cells.push(Some(texts.number(&String::from_utf8_lossy(bytes))));
                            if texts.bytes() > MAX_BATCH_TEXT_BYTES {
                                let what = format!("holds over {MAX_BATCH_TEXT_BYTES} bytes of text in {BATCH} rows");
                                return Err(invalid(what));
                            }
                            Ok(())
                        };
                        let mut missing = wanted;
                        while missing > 0 {
                            let part = missing.min(*step);
                            read_column(path, reader, *is_optional, part, &mut take)?;
                            missing -= part;
                        }
                    }
                }
            }
            take(&rows)?;
            left -= wanted;
        }
    }
    Ok(())
}

/// Calls the library that decodes tables. On some damaged ones it panics instead of saying that they are.
fn decoding<T>(path: &Path, decode: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    match caught::caught(decode) {
        Some(decoded) => decoded.map_err(|error| failed(path, "is not a whole table", error)),
        None => Err(Error::new(ErrorKind::Invalid, path, "is not a whole table: a page of it makes no sense")),
    }
}

/// Reads exactly so many values of a column.
fn read_column<T: DataType>(
    path: &Path,
    reader: &mut ColumnReaderImpl<T>,
    is_optional: bool,
    wanted: usize,
    mut take: impl FnMut(Option<&T::T>) -> Result<()>,
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
        let mut present = values.iter();
        if is_optional {
            for level in &levels {
                take(if *level > 0 { present.next() } else { None })?;
            }
        } else {
            for value in present {
                take(Some(value))?;
            }
        }
        missing -= read;
    }
    Ok(())
}

/// Rows of a table, by what it says of itself.
pub(crate) fn count_rows(path: &Path) -> Result<u64> {
    check_end(&open_table(path)?, path)
}

/// Writes several files' rows into one, in order, in constant memory. Returns false, and leaves all as it was, when told not
/// to go on.
pub(crate) fn concatenate(
    directory: &Directory,
    sources: &[String],
    target: &str,
    schema: &Schema<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<bool> {
    let temporary = temporary_for(target);
    let written = concatenate_into(directory, sources, &temporary, schema, go_on);
    let in_place = match written {
        Ok(true) => into_place(directory, &temporary, target).map(|()| true),
        not => not,
    };
    if !matches!(in_place, Ok(true)) {
        directory.remove(&temporary);
    }
    in_place
}

fn concatenate_into(
    directory: &Directory,
    sources: &[String],
    temporary: &str,
    schema: &Schema<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<bool> {
    let mut writer = TableWriter::create(directory, temporary, schema)?;
    let mut gathered = Rows::new(schema);
    for source in sources {
        if !go_on() {
            return Ok(false);
        }
        let path = directory.path().join(source);
        let file = directory.open(source).map_err(|error| Error::io(&path, "cannot read", error))?;
        read_opened(file, &path, schema, |rows| {
            gathered.append(rows);
            if gathered.len() >= ROW_GROUP {
                writer.write(&gathered)?;
                gathered.clear();
            }
            Ok(())
        })?;
    }
    writer.write(&gathered)?;
    writer.finish()?;
    Ok(true)
}

fn failed(path: &Path, doing: &str, error: parquet::errors::ParquetError) -> Error {
    if let parquet::errors::ParquetError::External(inner) = &error
        && let Some(io) = inner.downcast_ref::<std::io::Error>()
    {
        return Error::io(path, doing, std::io::Error::new(io.kind(), io.to_string()));
    }
    Error::new(ErrorKind::Invalid, path, format!("{doing}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    static SCHEMA: Schema<'static> = Schema { name: "test", columns: &[required("a"), optional("b"), text("c")] };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_is_written_is_read(rows in prop::collection::vec((any::<i64>(), any::<Option<i64>>(), "[a-c]{0,2}"), 0..300)) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("t.parquet");
            let mut table = Rows::new(&SCHEMA);
            for (a, b, c) in &rows {
                let c = table.text(c);
                table.push([Some(*a), *b, Some(c)]);
            }
            let at = Directory::make(directory.path()).unwrap();
            write_table(&at, "t.parquet", &table).unwrap();
            let mut read = Vec::new();
            read_table(&path, &SCHEMA, |group| {
                let row = |row| (group.get(0, row), group.get_optional(1, row), group.get_text(2, row).to_owned());
                read.extend((0..group.len()).map(row));
                Ok(())
            }).unwrap();
            prop_assert_eq!(&read, &rows);

            let both = directory.path().join("both.parquet");
            let sources = ["t.parquet".to_owned(), "t.parquet".to_owned()];
            prop_assert!(!concatenate(&at, &sources, "both.parquet", &SCHEMA, &|| false).unwrap());
            prop_assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
            prop_assert!(concatenate(&at, &sources, "both.parquet", &SCHEMA, &|| true).unwrap());
            let mut texts = Vec::new();
            read_table(&both, &SCHEMA, |group| {
                texts.extend((0..group.len()).map(|row| group.get_text(2, row).to_owned()));
                Ok(())
            }).unwrap();
            prop_assert_eq!(texts.len(), rows.len() * 2);
            prop_assert_eq!(count_rows(&both).unwrap(), texts.len() as u64);
            prop_assert!(texts.iter().zip(rows.iter().chain(&rows)).all(|(read, (.., written))| read == written));
        }
    }

    /// A table of 50 rows as a file, and a way to read it back.
    struct Damaged {
        directory: tempfile::TempDir,
        bytes: Vec<u8>,
    }

    type Row = (i64, Option<i64>, String);

    impl Damaged {
        const ROWS: i64 = 50;

        fn new() -> Damaged {
            let directory = tempfile::tempdir().unwrap();
            let mut table = Rows::new(&SCHEMA);
            for a in 0..Damaged::ROWS {
                let c = table.text(&a.to_string());
                table.push([Some(a), (a % 3 == 0).then_some(a), Some(c)]);
            }
            write_table(&Directory::make(directory.path()).unwrap(), "t.parquet", &table).unwrap();
            let bytes = std::fs::read(directory.path().join("t.parquet")).unwrap();
            Damaged { directory, bytes }
        }

        fn read(&self, bytes: &[u8]) -> Result<Vec<Row>, Error> {
            let path = self.directory.path().join("damaged.parquet");
            std::fs::write(&path, bytes).unwrap();
            let mut rows = Vec::new();
            read_table(&path, &SCHEMA, |group| {
                let row = |row| (group.get(0, row), group.get_optional(1, row), group.get_text(2, row).to_owned());
                rows.extend((0..group.len()).map(row));
                Ok(())
            })?;
            Ok(rows)
        }
    }

    #[test]
    fn a_file_that_was_cut_anywhere_is_refused() {
        let file = Damaged::new();
        assert_eq!(file.read(&file.bytes).unwrap().len() as i64, Damaged::ROWS);
        for length in 0..file.bytes.len() {
            assert!(file.read(&file.bytes[..length]).is_err(), "{length} of {} bytes were believed", file.bytes.len());
        }
    }

    /// Values have no checksum, so a changed bit may change a value; it never changes how many there are.
    #[test]
    fn a_file_with_a_changed_byte_is_refused_or_has_all_its_rows() {
        let file = Damaged::new();
        let whole = file.read(&file.bytes).unwrap();
        let (mut refused, mut same, mut other) = (0, 0, 0);
        for position in 0..file.bytes.len() {
            for bits in [0x01, 0x55, 0x80] {
                let mut bytes = file.bytes.clone();
                bytes[position] ^= bits;
                match file.read(&bytes) {
                    Err(_) => refused += 1,
                    Ok(rows) => {
                        assert_eq!(rows.len(), whole.len(), "byte {position}, bits {bits:#x}");
                        *if rows == whole { &mut same } else { &mut other } += 1;
                    }
                }
            }
        }
        eprintln!("{refused} refused, {same} read as before, {other} with another value");
        assert!(refused > other, "{refused} refused, {other} believed");
    }
}
