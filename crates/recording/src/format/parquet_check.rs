//! What a Parquet file says of itself, checked before anything is prepared for it.
//!
//! The library that decodes tables believes their counts and sizes: of a dictionary, of a page before it is
//! decompressed, of the tree of columns. Here they are compared with what the file has, and with
//! [`crate::format::bounds`].

use crate::format::bounds::{
    MAX_COLUMNS, MAX_METADATA_BYTES, MAX_PAGE_BYTES, MAX_PAGE_VALUES, MAX_ROW_GROUPS, MAX_ROWS_A_BYTE,
};
use parquet::basic::{Compression, Type as PhysicalType};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// What is wrong, in words that follow the file's name.
pub(crate) type Checked<T> = Result<T, String>;

/// No description of a table is nested deeper than this.
const MAX_DEPTH: usize = 16;
/// A page's description is far shorter than this, bytes.
const MAX_PAGE_HEADER: usize = 16 << 10;
/// Compact protocol: the types of fields.
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// Reads Thrift's compact protocol.
struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Thrift<'_> {
    fn byte(&mut self) -> Checked<u8> {
        let byte = *self.bytes.get(self.at).ok_or("is cut off")?;
        self.at += 1;
        Ok(byte)
    }

    fn skip_bytes(&mut self, count: u64) -> Checked<()> {
        let left = (self.bytes.len() - self.at) as u64;
        if count > left {
            return Err("is cut off".to_owned());
        }
        self.at += count as usize;
        Ok(())
    }

    fn unsigned(&mut self) -> Checked<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("holds a number without an end".to_owned())
    }

    fn signed(&mut self) -> Checked<i64> {
        let value = self.unsigned()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// The type of its elements and how many; each takes at least a byte.
    fn list(&mut self) -> Checked<(u8, usize)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.unsigned()? } else { u64::from(head >> 4) };
        if count > (self.bytes.len() - self.at) as u64 {
            return Err(format!("says that it holds a list of {count}, for which it has no room"));
        }
        Ok((head & 15, count as usize))
    }

    /// Passes on each field, with number and type, and skips what `take` does not read.
    fn fields(&mut self, depth: usize, mut take: impl FnMut(&mut Self, i64, u8) -> Checked<bool>) -> Checked<()> {
        if depth > MAX_DEPTH {
            return Err(format!("is nested deeper than {MAX_DEPTH}"));
        }
        let mut number = 0_i64;
        loop {
            let head = self.byte()?;
            let kind = head & 15;
            if kind == 0 {
                return Ok(());
            }
            number = if head >> 4 == 0 { self.signed()? } else { number + i64::from(head >> 4) };
            if !(0..=1_000).contains(&number) {
                return Err("holds a field that does not exist".to_owned());
            }
            if !take(self, number, kind)? {
                self.skip(kind, depth, false)?;
            }
        }
    }

    fn skip(&mut self, kind: u8, depth: usize, in_list: bool) -> Checked<()> {
        match kind {
            1 | 2 if !in_list => Ok(()),
            1..=3 => self.skip_bytes(1),
            I16 | I32 | I64 => self.unsigned().map(drop),
            7 => self.skip_bytes(8),
            BINARY => {
                let length = self.unsigned()?;
                self.skip_bytes(length)
            }
            LIST | SET => {
                let (kind, count) = self.list()?;
                if depth >= MAX_DEPTH {
                    return Err(format!("is nested deeper than {MAX_DEPTH}"));
                }
                (0..count).try_for_each(|_| self.skip(kind, depth + 1, true))
            }
            MAP => Err("holds a map, which no table has".to_owned()),
            STRUCT => self.fields(depth + 1, |_, _, _| Ok(false)),
            _ => Err("holds a field of an unknown type".to_owned()),
        }
    }
}

/// Checks the end of a file. Returns how many rows it says it has.
pub(crate) fn check_end(file: &File) -> Checked<u64> {
    let damaged = |error: std::io::Error| format!("is not a whole table: {error}");
    let length = file.metadata().map_err(damaged)?.len();
    if length < 12 {
        return Err("is not a whole table: it is too short".to_owned());
    }
    let mut end = [0; 8];
    file.read_exact_at(&mut end, length - 8).map_err(damaged)?;
    let [a, b, c, d, ref magic @ ..] = end;
    if magic != b"PAR1" {
        return Err("is not a whole table: its end is missing".to_owned());
    }
    let about = u64::from(u32::from_le_bytes([a, b, c, d]));
    if about > MAX_METADATA_BYTES {
        return Err(format!("describes itself in {about} bytes; {MAX_METADATA_BYTES} are read at most"));
    }
    if about > length - 8 {
        return Err("is not a whole table: its description is cut off".to_owned());
    }
    let mut bytes = vec![0; about as usize];
    file.read_exact_at(&mut bytes, length - 8 - about).map_err(damaged)?;
    check_metadata(&bytes).map_err(|what| format!("is not a whole table: its description {what}"))
}

/// Checks the description of a table: flat, with few columns and row groups. Returns its rows.
fn check_metadata(bytes: &[u8]) -> Checked<u64> {
    let mut thrift = Thrift { bytes, at: 0 };
    let mut rows = 0;
    thrift.fields(0, |thrift, number, kind| match (number, kind) {
        (2, LIST) => {
            let (kind, count) = thrift.list()?;
            if kind != STRUCT || count > MAX_COLUMNS + 1 {
                return Err(format!("has {count} columns; {MAX_COLUMNS} are read at most"));
            }
            for index in 0..count {
                thrift.fields(1, |thrift, number, kind| {
                    let is_children = (number, kind) == (5, I32);
                    if is_children && thrift.signed()? != 0 && index > 0 {
                        return Err("has columns inside columns".to_owned());
                    }
                    Ok(is_children)
                })?;
            }
            Ok(true)
        }
        (3, I64) => {
            rows = u64::try_from(thrift.signed()?).map_err(|_| "has a negative number of rows".to_owned())?;
            Ok(true)
        }
        (4, LIST) => {
            let (kind, count) = thrift.list()?;
            if kind != STRUCT || count > MAX_ROW_GROUPS {
                return Err(format!("has {count} row groups; {MAX_ROW_GROUPS} are read at most"));
            }
            for _ in 0..count {
                thrift.fields(1, |thrift, number, kind| {
                    if (number, kind) != (1, LIST) {
                        return Ok(false);
                    }
                    let (kind, count) = thrift.list()?;
                    if kind != STRUCT || count > MAX_COLUMNS {
                        return Err(format!("has {count} columns in a row group; {MAX_COLUMNS} are read at most"));
                    }
                    (0..count).try_for_each(|_| thrift.skip(STRUCT, 2, true))?;
                    Ok(true)
                })?;
            }
            Ok(true)
        }
        _ => Ok(false),
    })?;
    Ok(rows)
}

/// Compares what a table says it holds with its length: reading takes time for each row, and a few bytes can stand for
/// very many rows, or be claimed by each of many row groups.
pub(crate) fn check_amount(file: &File, about: &ParquetMetaData) -> Checked<()> {
    let length = file.metadata().map_err(|error| format!("is not a whole table: {error}"))?.len();
    let number = |value: i64| u64::try_from(value).map_err(|_| "is not a whole table: a negative size".to_owned());
    let (mut rows, mut taken) = (0_u64, Vec::new());
    for group in about.row_groups() {
        rows = rows.saturating_add(number(group.num_rows())?);
        for chunk in group.columns() {
            let begin = chunk.dictionary_page_offset().unwrap_or(i64::MAX).min(chunk.data_page_offset());
            taken.push((number(begin)?, number(chunk.compressed_size())?));
        }
    }
    taken.sort_unstable();
    if taken.windows(2).any(|pair| pair[0].0.saturating_add(pair[0].1) > pair[1].0) {
        return Err("is not a whole table: its columns share bytes with one another".to_owned());
    }
    if rows > length.saturating_mul(MAX_ROWS_A_BYTE) {
        return Err(format!(
            "says that it has {rows} rows in {length} bytes; {MAX_ROWS_A_BYTE} a byte are read at most"
        ));
    }
    Ok(())
}

/// What a page says of itself.
#[derive(Debug, Default)]
struct PageHeader {
    kind: i64,
    uncompressed: i64,
    compressed: i64,
    values: i64,
    encoding: i64,
    /// In the second version: nulls, rows, bytes of levels.
    others: [i64; 4],
}

fn page_header(bytes: &[u8]) -> Checked<(PageHeader, usize)> {
    let mut thrift = Thrift { bytes, at: 0 };
    let mut page = PageHeader { kind: -1, ..PageHeader::default() };
    thrift.fields(0, |thrift, number, kind| {
        match (number, kind) {
            (1, I32) => page.kind = thrift.signed()?,
            (2, I32) => page.uncompressed = thrift.signed()?,
            (3, I32) => page.compressed = thrift.signed()?,
            (5 | 7 | 8, STRUCT) => {
                let encoding = if number == 8 { 4 } else { 2 };
                thrift.fields(1, |thrift, field, kind| {
                    match (field, kind) {
                        (1, I32) => page.values = thrift.signed()?,
                        (field, I32) if field == encoding => page.encoding = thrift.signed()?,
                        (2, I32) => page.others[0] = thrift.signed()?,
                        (3, I32) if number == 8 => page.others[1] = thrift.signed()?,
                        (5, I32) if number == 8 => page.others[2] = thrift.signed()?,
                        (6, I32) if number == 8 => page.others[3] = thrift.signed()?,
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok((page, thrift.at))
}

/// Checks the pages of a column in a row group that says it has this many rows. Returns the largest page, bytes.
pub(crate) fn check_pages(file: &File, chunk: &ColumnChunkMetaData, rows: u64) -> Checked<usize> {
    let damaged = |error: std::io::Error| format!("is not a whole table: {error}");
    let begin = chunk.dictionary_page_offset().unwrap_or(i64::MAX).min(chunk.data_page_offset());
    let (begin, length) = match (u64::try_from(begin), u64::try_from(chunk.compressed_size())) {
        (Ok(begin), Ok(length)) => (begin, length),
        _ => return Err("is not a whole table: a negative place".to_owned()),
    };
    let file_length = file.metadata().map_err(damaged)?.len();
    let end = begin.checked_add(length).filter(|end| *end <= file_length);
    let end = end.ok_or("is not a whole table: a column lies beyond its end")?;
    let (mut at, mut values, mut largest) = (begin, 0_u64, 0);
    let mut buffer = vec![0; MAX_PAGE_HEADER];
    while at < end && values < rows {
        // Most descriptions are short; more is read only for a long one.
        let mut read = 256.min((end - at) as usize);
        file.read_exact_at(&mut buffer[..read], at).map_err(damaged)?;
        let parsed = page_header(&buffer[..read]).or_else(|_| {
            read = MAX_PAGE_HEADER.min((end - at) as usize);
            file.read_exact_at(&mut buffer[..read], at).map_err(damaged)?;
            page_header(&buffer[..read]).map_err(|what| format!("is not a whole table: a page's description {what}"))
        });
        let (page, header) = parsed?;
        let bytes = check_page(&page, chunk).map_err(|what| format!("is not a whole table: {what}"))?;
        largest = largest.max(bytes);
        at += header as u64 + page.compressed as u64;
        if at > end {
            return Err("is not a whole table: a page is cut off".to_owned());
        }
        if page.kind != 2 {
            values += page.values as u64;
        }
    }
    if values != rows {
        return Err(format!("is not a whole table: {rows} rows are said to be there, and {values} are"));
    }
    Ok(largest)
}

/// Checks a page's sizes against each other and against the bounds. Returns the larger, bytes.
fn check_page(page: &PageHeader, chunk: &ColumnChunkMetaData) -> Checked<usize> {
    let at_most = |what: &str, value: i64, max: usize| match usize::try_from(value) {
        Ok(value) if value <= max => Ok(value),
        _ => Err(format!("a page has {value} {what}; {max} are read at most")),
    };
    let compressed = at_most("bytes compressed", page.compressed, MAX_PAGE_BYTES)?;
    let uncompressed = at_most("bytes", page.uncompressed, MAX_PAGE_BYTES)?;
    let values = at_most("values", page.values, MAX_PAGE_VALUES)?;
    if chunk.compression() == Compression::UNCOMPRESSED && compressed != uncompressed {
        return Err("a page that is not compressed has two sizes".to_owned());
    }
    // Plain, dictionary, run lengths, differences: what punctual writes. Other encodings trust more counts.
    if !matches!(page.encoding, 0 | 2 | 3 | 5 | 8) {
        return Err(format!("a page is encoded in a way ({}) that punctual does not read", page.encoding));
    }
    let least = if chunk.column_type() == PhysicalType::BYTE_ARRAY { 4 } else { 8 };
    match page.kind {
        0 => {}
        2 if values * least <= uncompressed && matches!(page.encoding, 0 | 2) => {}
        2 => return Err(format!("a dictionary of {values} values has {uncompressed} bytes")),
        3 => {
            at_most("values without a value", page.others[0], values)?;
            at_most("rows", page.others[1], values)?;
            let levels = at_most("bytes of levels", page.others[2], uncompressed)?;
            at_most("bytes of levels", page.others[3], uncompressed - levels)?;
        }
        kind => return Err(format!("a page is of a kind ({kind}) that punctual does not read")),
    }
    Ok(compressed.max(uncompressed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure without a field, as its one closing byte: if the type is missing, it must not pass for a data page,
    /// which is 0.
    #[test]
    fn a_page_without_a_kind_has_none() {
        let (page, length) = page_header(&[0]).unwrap();
        assert_eq!((page.kind, page.values, length), (-1, 0, 1));
    }
}
