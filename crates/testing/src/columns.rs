//! Columns of forged tables. Tests that write millions of rows are compiled without optimization, and the code that
//! writes them with whatever calls it: here with optimization.

use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::writer::SerializedColumnWriter;

/// Writes a column of whole numbers.
///
/// # Panics
/// If it is another column, or cannot be written.
pub fn write_numbers(mut chunk: SerializedColumnWriter<'_>, numbers: &[i64]) {
    chunk.typed::<Int64Type>().write_batch(numbers, None, None).unwrap();
    chunk.close().unwrap();
}

/// Writes a column of texts.
///
/// # Panics
/// If it is another column, or cannot be written.
pub fn write_texts(mut chunk: SerializedColumnWriter<'_>, texts: &[ByteArray]) {
    chunk.typed::<ByteArrayType>().write_batch(texts, None, None).unwrap();
    chunk.close().unwrap();
}

/// Fills a column of any kind with one value, or with these texts by their rows. Whatever may be absent or repeated is
/// present once.
///
/// # Panics
/// If it is a column of a kind that no recording has, or cannot be written.
pub fn fill(mut chunk: SerializedColumnWriter<'_>, rows: usize, text: fn(usize) -> ByteArray) {
    let (ones, zeros) = (vec![1_i16; rows], vec![0_i16; rows]);
    let (present, single) = (Some(&ones[..]), Some(&zeros[..]));
    match chunk.untyped() {
        ColumnWriter::BoolColumnWriter(to) => to.write_batch(&vec![true; rows], present, single),
        ColumnWriter::Int32ColumnWriter(to) => to.write_batch(&vec![7; rows], present, single),
        ColumnWriter::Int64ColumnWriter(to) => to.write_batch(&vec![0; rows], present, single),
        ColumnWriter::DoubleColumnWriter(to) => to.write_batch(&vec![7.5; rows], present, single),
        ColumnWriter::ByteArrayColumnWriter(to) => {
            to.write_batch(&(0..rows).map(text).collect::<Vec<_>>(), present, single)
        }
        _ => unreachable!("no such column is made"),
    }
    .unwrap();
    chunk.close().unwrap();
}
