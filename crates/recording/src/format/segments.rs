//! A table that grows by one file at a time, so that whatever ends the run loses at most the last.

use crate::error::{Error, ErrorKind, Result};
use crate::format::bounds::MAX_SEGMENTS;
use crate::format::directory::Directory;
use crate::format::joining::{Batch, Joiner, join};
use crate::format::table::{self, Rows, Schema};
use std::path::{Path, PathBuf};

/// Small segments are joined into one file when there are this many ...
const JOIN: usize = 60;
/// ... or this many rows in them: that keeps the description of a file's row groups far below what readers accept.
const MAX_JOINED_ROWS: u64 = 8_000_000;

/// Writes `000001.parquet`, `000002.parquet`, ... and joins them into `000001-000060.parquet`.
pub(crate) struct SegmentWriter {
    directory: Directory,
    schema: &'static Schema<'static>,
    rows: Rows<'static>,
    written: u64,
    unjoined: Vec<u64>,
    unjoined_rows: u64,
    joiner: Joiner,
}

impl SegmentWriter {
    /// Makes a directory of this name for the files.
    pub(crate) fn create(recording: &Directory, name: &str, schema: &'static Schema<'static>) -> Result<SegmentWriter> {
        let directory = recording.make_below(name)?;
        let (rows, unjoined) = (Rows::new(schema), Vec::new());
        let joiner = Joiner::new(directory.clone(), schema);
        Ok(SegmentWriter { directory, schema, rows, written: 0, unjoined, unjoined_rows: 0, joiner })
    }

    pub(crate) fn rows(&mut self) -> &mut Rows<'static> {
        &mut self.rows
    }

    /// How many segments have been closed.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Closes the open segment, if it has rows.
    pub(crate) fn close_segment(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let number = self.written + 1;
        table::write_table(&self.directory, &format!("{number:06}.parquet"), &self.rows)?;
        self.unjoined_rows += self.rows.len() as u64;
        self.rows.clear();
        self.written = number;
        self.unjoined.push(number);
        Ok(())
    }

    /// Rows of the segments that have not been joined.
    pub(crate) fn unjoined_rows(&self) -> u64 {
        self.unjoined_rows
    }

    /// Has small segments joined later, once there are enough; the caller does not wait for it.
    pub(crate) fn join(&mut self) -> Result<()> {
        self.joiner.what_failed()?;
        if self.unjoined.len() < JOIN && self.unjoined_rows < MAX_JOINED_ROWS {
            return Ok(());
        }
        match self.batch() {
            Some(batch) => self.joiner.begin(batch),
            None => Ok(()),
        }
    }

    /// Joins all of them, and waits for it.
    pub(crate) fn join_all(&mut self) -> Result<()> {
        self.joiner.finish()?;
        match self.batch() {
            Some(batch) => join(&self.directory, self.schema, &batch, &|| true),
            None => Ok(()),
        }
    }

    /// The segments that have not been joined, if there are several.
    fn batch(&mut self) -> Option<Batch> {
        let unjoined = std::mem::take(&mut self.unjoined);
        self.unjoined_rows = 0;
        let [first, .., last] = unjoined[..] else { return None };
        let sources = unjoined.iter().map(|number| format!("{number:06}.parquet")).collect();
        Some(Batch { sources, target: format!("{first:06}-{last:06}.parquet") })
    }
}

/// A closed segment file: the numbers of the first and last segment it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) path: PathBuf,
}

/// The segment files of a directory in order. Leaves out a small one that a joined one also holds (the run ended
/// between joining and removing).
pub(crate) fn list(directory: &Path) -> Result<Vec<Segment>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(directory, "cannot read", error)),
    };
    let mut segments = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Error::io(directory, "cannot read", error))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".parquet"));
        let Some(name) = name else { continue };
        let (first, last) = name.split_once('-').unwrap_or((name, name));
        if let (Ok(first), Ok(last)) = (first.parse(), last.parse()) {
            segments.push(Segment { first, last, path });
            if segments.len() > MAX_SEGMENTS {
                let message = format!("holds more than {MAX_SEGMENTS} files of a table; no more are read");
                return Err(Error::new(ErrorKind::Invalid, directory, message));
            }
        }
    }
    segments.sort_by_key(|segment| (segment.first, std::cmp::Reverse(segment.last)));
    let mut reached = 0;
    segments.retain(|segment| {
        let new = segment.last > reached;
        reached = reached.max(segment.last);
        new
    });
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::table::required;

    static SCHEMA: Schema<'static> = Schema { name: "test", columns: &[required("a")] };

    #[test]
    fn joining_keeps_every_row_and_an_interrupted_joining_repeats_none() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().join("rows");
        let mut writer = SegmentWriter::create(&Directory::make(directory.path()).unwrap(), "rows", &SCHEMA).unwrap();
        let mut spare = None;
        for value in 0..130 {
            writer.rows().push([Some(value)]);
            writer.close_segment().unwrap();
            if value == 5 {
                spare = Some(std::fs::read(at.join("000006.parquet")).unwrap());
            }
            writer.join().unwrap();
        }
        writer.join_all().unwrap();
        // What a kill between joining and removing would have left.
        std::fs::write(at.join("000006.parquet"), spare.unwrap()).unwrap();
        let mut values = Vec::new();
        let segments = list(&at).unwrap();
        for segment in &segments {
            table::read_table(&segment.path, &SCHEMA, |rows| {
                values.extend((0..rows.len()).map(|row| rows.get(0, row)));
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(values, (0..130).collect::<Vec<_>>());
        assert_eq!(segments.len(), 3);
    }
}
