//! A table beside a recording, and a summary of all its rows: `NAME/` and `NAME.json`.

use crate::error::Result;
use crate::format::directory::Directory;
use crate::format::json_file::write_json;
use crate::format::segments::SegmentWriter;
use crate::format::table::{Rows, Schema};
use serde::Serialize;

/// Writes both. Whatever an error leaves undone, what was written before stays readable.
pub(crate) struct SummarizedWriter {
    directory: Directory,
    rows: SegmentWriter,
    summary: String,
}

impl SummarizedWriter {
    /// Begins to write into a directory that [`crate::Writer::create`] has made; both are named after the schema.
    pub(crate) fn create(recording: &Directory, schema: &'static Schema<'static>) -> Result<SummarizedWriter> {
        let rows = SegmentWriter::create(recording, schema.name, schema)?;
        Ok(SummarizedWriter { directory: recording.clone(), rows, summary: format!("{}.json", schema.name) })
    }

    pub(crate) fn rows(&mut self) -> &mut Rows<'static> {
        self.rows.rows()
    }

    /// Closes the open segment; small ones are joined later.
    pub(crate) fn close_segment(&mut self) -> Result<()> {
        self.rows.close_segment()?;
        self.rows.join()
    }

    /// Rewrites the summary, by rename.
    pub(crate) fn summarize(&self, summary: &impl Serialize) -> Result<()> {
        write_json(&self.directory, &self.summary, summary)
    }

    /// Writes what is left, joins the segments and writes the summary.
    pub(crate) fn finish(mut self, summary: &impl Serialize) -> Result<()> {
        self.rows.close_segment()?;
        self.rows.join_all()?;
        self.summarize(summary)
    }
}
