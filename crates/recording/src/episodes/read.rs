//! Reads the episodes of a recording line by line.

use crate::document::kind::RecordingKind;
use crate::document::kind_of::kind_of;
use crate::episodes::episode::Episode;
use crate::episodes::line::read_plain;
use crate::episodes::place::{EPISODES, directory};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bounds::MAX_EPISODE_BYTES;
use crate::format::input;
use crate::format::json_file::check_json;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// So much is read from the file at once, bytes: several episodes.
const BUFFER: usize = 128 << 10;

/// Passes on every episode of a recording. Returns whether the last line was cut off, as a kill leaves it.
///
/// # Errors
/// [`ErrorKind::NotFound`] if the recording has none, [`ErrorKind::Invalid`] with the number of the damaged line.
pub fn for_each_episode(recording: &Path, take: impl FnMut(Episode)) -> Result<bool> {
    read_episodes(Lines::open(recording)?, take)
}

/// The same for lines that are already open.
pub(super) fn read_episodes(mut lines: Lines, mut take: impl FnMut(Episode)) -> Result<bool> {
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.read(&mut line)? {
            Met::Line => take(parse(&lines.path, lines.number, &line)?),
            Met::End => return Ok(false),
            Met::Cut => return Ok(true),
        }
    }
}

/// Why a recording has none: it is of another kind, or nobody asked for them.
fn without_episodes(recording: &Path) -> String {
    match kind_of(recording) {
        Ok(kind) if kind != RecordingKind::Wakeups => {
            format!("holds {}, no episodes: `punctual report` says what was measured", kind.holds())
        }
        _ => "holds no episodes: record with --why, as in `punctual record --why 500us`".to_owned(),
    }
}

/// What was found where a line may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met {
    /// A whole line.
    Line,
    /// The end of the file.
    End,
    /// A line without an end.
    Cut,
}

/// The lines of an episodes' file.
pub(super) struct Lines {
    reader: BufReader<File>,
    pub(super) path: PathBuf,
    /// The line that was read last, counted from 1.
    pub(super) number: u64,
}

impl Lines {
    /// Opens the lines of a recording.
    pub(super) fn open(recording: &Path) -> Result<Lines> {
        let path = directory(recording).join(EPISODES);
        match input::open_file(&path) {
            Ok(file) => Ok(Lines::of(file, path)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Error::new(ErrorKind::NotFound, recording, without_episodes(recording)))
            }
            Err(error) => Err(Error::io(path, "cannot read", error)),
        }
    }

    /// The lines of an open file.
    pub(super) fn of(file: File, path: PathBuf) -> Lines {
        Lines { reader: BufReader::with_capacity(BUFFER, file), path, number: 0 }
    }

    /// How long the file is, bytes; 0 if that is not known.
    pub(super) fn bytes(&self) -> u64 {
        self.reader.get_ref().metadata().map_or(0, |metadata| metadata.len())
    }

    /// Appends the next line.
    pub(super) fn read(&mut self, to: &mut Vec<u8>) -> Result<Met> {
        self.number += 1;
        let mut limited = self.reader.by_ref().take(MAX_EPISODE_BYTES as u64 + 1);
        let read = limited.read_until(b'\n', to).map_err(|error| Error::io(&self.path, "cannot read", error))?;
        if read > MAX_EPISODE_BYTES {
            let what = format!("it is longer than {MAX_EPISODE_BYTES} bytes, the most that is read of one");
            return Err(damaged(&self.path, self.number, &what));
        }
        Ok(match to.last() {
            _ if read == 0 => Met::End,
            Some(b'\n') => Met::Line,
            _ => Met::Cut,
        })
    }
}

/// Parses a line. What is wrong with one that is damaged is for the parser of JSON to say.
pub(super) fn parse(path: &Path, number: u64, line: &[u8]) -> Result<Episode> {
    read_plain(line).map_or_else(|| parse_any(path, number, line), Ok)
}

/// Parses a line, however it is written.
fn parse_any(path: &Path, number: u64, line: &[u8]) -> Result<Episode> {
    check_json(line).map_err(|what| damaged(path, number, &what))?;
    serde_json::from_slice(line).map_err(|error| damaged(path, number, &error.to_string()))
}

fn damaged(path: &Path, number: u64, what: &str) -> Error {
    Error::new(ErrorKind::Invalid, path, format!("line {number} is damaged: {what}"))
}
