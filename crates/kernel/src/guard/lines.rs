//! What the commands of a guard write, line by line, within bounds.

use std::io::{PipeReader, Read};
use std::path::Path;
use std::time::{Duration, Instant};

/// A longer line is cut.
const MAX_LINE: usize = 1_000;
/// More lines a second from one command are not told.
const MAX_LINES: u32 = 2_000;

/// What a command writes, line by line.
pub(super) struct Lines {
    pub(super) pipe: PipeReader,
    begun: Vec<u8>,
    /// The last line that is not empty.
    pub(super) last: Option<String>,
    /// Whether anybody can still write.
    pub(super) open: bool,
    second: Instant,
    told: u32,
}

impl Lines {
    pub(super) fn new(pipe: PipeReader) -> Lines {
        Lines { pipe, begun: Vec::new(), last: None, open: true, second: Instant::now(), told: 0 }
    }

    /// Takes what is there.
    pub(super) fn read(&mut self, mut tell: impl FnMut(String)) {
        let mut chunk = [0u8; 16_384];
        while self.open {
            match self.pipe.read(&mut chunk) {
                Ok(0) => self.open = false,
                Ok(length) => self.begun.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(_) => self.open = false,
            }
            // A progress display ends its lines with a carriage return.
            while let Some(end) = self.begun.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
                let line: Vec<u8> = self.begun.drain(..=end).collect();
                self.take(&line, &mut tell);
            }
            if !self.open || self.begun.len() > MAX_LINE {
                let rest = std::mem::take(&mut self.begun);
                self.take(&rest, &mut tell);
            }
        }
    }

    fn take(&mut self, line: &[u8], tell: &mut impl FnMut(String)) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let text: String = text.chars().take(MAX_LINE).collect();
        self.last = Some(text.clone());
        if self.second.elapsed() >= Duration::from_secs(1) {
            (self.second, self.told) = (Instant::now(), 0);
        }
        self.told += 1;
        if self.told <= MAX_LINES {
            tell(text);
        }
    }
}

/// The last line of a file that is not empty.
pub(super) fn last_line(file: &Path) -> Option<String> {
    let bytes = std::fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(MAX_LINE).collect())
}
