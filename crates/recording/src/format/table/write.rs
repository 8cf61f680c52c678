//! Writes tables in row groups, whole or not at all.

use super::read::read_opened;
use super::{Rows, Schema, failed};
use crate::error::{Error, Result};
use crate::format::directory::{Directory, temporary_for};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// How many rows are written together, so that a table of any length is written in this much memory.
const ROW_GROUP: usize = 1 << 15;

/// Writes a table to a file in row groups.
pub(crate) struct TableWriter<'a> {
    schema: &'a Schema<'a>,
    path: PathBuf,
    writer: SerializedFileWriter<File>,
}

impl<'a> TableWriter<'a> {
    pub(crate) fn create(directory: &Directory, name: &str, schema: &'a Schema<'a>) -> Result<TableWriter<'a>> {
        let path = directory.path().join(name);
        let root = described(schema).map_err(|error| failed(&path, "cannot describe the table", error))?;
        let file = directory.create(name).map_err(|error| Error::io(&path, "cannot write", error))?;
        let writer = SerializedFileWriter::new(file, Arc::new(root), Arc::new(properties(schema)))
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
                texts.extend(cells.iter().map(|cell| cell.and_then(of).unwrap_or_default()));
                let mut writer = group.next_column()?.expect("the row group has the schema's columns");
                writer.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
                writer.close()?;
                continue;
            }
            values.extend(cells.iter().flatten().copied());
            if column.optional {
                levels.extend(cells.iter().map(|cell| i16::from(cell.is_some())));
            }
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

/// The schema in the words of the format.
fn described(schema: &Schema<'_>) -> parquet::errors::Result<Type> {
    let fields = schema.columns.iter().map(|column| {
        let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let (physical, logical) = match column.is_text {
            true => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            false => (PhysicalType::INT64, None),
        };
        let field = Type::primitive_type_builder(column.name, physical);
        field.with_logical_type(logical).with_repetition(repetition).build().map(Arc::new)
    });
    let fields = fields.collect::<parquet::errors::Result<Vec<_>>>()?;
    Type::group_type_builder(schema.name).with_fields(fields).build()
}

/// Numbers as differences, texts by a dictionary, all of it compressed; the file says what its columns hold, by name.
fn properties(schema: &Schema<'_>) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    let described = schema.columns.iter().filter(|column| !column.about.is_empty());
    let described = described.map(|column| KeyValue::new(column.name.to_owned(), column.about.to_owned()));
    let descriptions = described.collect::<Vec<_>>();
    if !descriptions.is_empty() {
        properties = properties.set_key_value_metadata(Some(descriptions));
    }
    for column in schema.columns.iter().filter(|column| column.is_text) {
        let column = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), true)
            .set_column_encoding(column.clone(), Encoding::PLAIN)
            .set_column_statistics_enabled(column, EnabledStatistics::None);
    }
    properties.build()
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

/// Writes several files' rows into one, in order, in constant memory. If told to stop, it returns false and leaves
/// everything as it was.
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
