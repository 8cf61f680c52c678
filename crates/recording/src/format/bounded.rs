//! A table that exists once it has a row, and never has more rows than a measurement may write.

use crate::error::{Error, ErrorKind, Result};
use crate::format::directory::Directory;
use crate::format::segments::{self, SegmentWriter};
use crate::format::table::{self, Rows, Schema};
use std::path::Path;

/// Which table, and the most rows that it may have.
pub(crate) struct Bounded {
    pub(crate) schema: &'static Schema<'static>,
    pub(crate) max_rows: usize,
    /// What a row is, several of them.
    pub(crate) what: &'static str,
    /// The greatest numbers of the first columns.
    pub(crate) bounds: &'static [u64],
}

/// Writes it.
pub(crate) struct BoundedWriter {
    table: &'static Bounded,
    recording: Directory,
    rows: Option<SegmentWriter>,
    count: usize,
}

impl BoundedWriter {
    pub(crate) fn new(recording: &Directory, table: &'static Bounded) -> BoundedWriter {
        BoundedWriter { table, recording: recording.clone(), rows: None, count: 0 }
    }

    /// Where so many more rows go, all of which the caller writes; `None` if they are too many.
    pub(crate) fn rows_for(&mut self, more: usize) -> Option<&mut Rows<'static>> {
        if self.count + more > self.table.max_rows {
            return None;
        }
        if self.rows.is_none() {
            self.rows = SegmentWriter::create(&self.recording, self.table.schema.name, self.table.schema).ok();
        }
        let writer = self.rows.as_mut()?;
        self.count += more;
        Some(writer.rows())
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        rows.close_segment()?;
        rows.join()
    }

    pub(crate) fn finish(self) -> Result<()> {
        let Some(mut rows) = self.rows else { return Ok(()) };
        rows.close_segment()?;
        rows.join_all()
    }
}

impl Bounded {
    /// Passes on every row of a recording's table, with its place among `Rows`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] or [`ErrorKind::Io`] for the first segment that cannot be read.
    pub(crate) fn for_each_row(&self, recording: &Path, mut take: impl FnMut(&Rows<'_>, usize)) -> Result<()> {
        let mut count = 0;
        for segment in segments::list(&recording.join(self.schema.name))? {
            table::read_table(&segment.path, self.schema, |rows| {
                rows.check(&segment.path, self.bounds)?;
                count += rows.len();
                if count > self.max_rows {
                    let (most, what) = (self.max_rows, self.what);
                    let what = format!("holds more than {most} {what}, which no measurement writes");
                    return Err(Error::new(ErrorKind::Invalid, &segment.path, what));
                }
                (0..rows.len()).for_each(|row| take(rows, row));
                Ok(())
            })?;
        }
        Ok(())
    }
}
