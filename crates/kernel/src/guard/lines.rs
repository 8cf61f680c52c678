//! What the commands of a guard write, line by line, within bounds.

use punctual_recording::input;
use std::io::{PipeReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

/// A longer line is cut.
const MAX_LINE: usize = 1_000;
/// More lines a second from one command are not told.
const MAX_LINES: u32 = 2_000;
/// Read at once, bytes: all that a pipe holds, unless root made it larger.
const MAX_AT_ONCE: usize = 1 << 20;
/// How much of the end of a file is searched for its last line, bytes.
const MAX_TAIL: u64 = 64 << 10;

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

    /// Takes what is there, up to [`MAX_AT_ONCE`]: whoever writes faster than this reads must not keep the guard from
    /// hearing that its parent is gone.
    pub(super) fn read(&mut self, mut tell: impl FnMut(String)) {
        let mut chunk = [0u8; 16_384];
        let mut left = MAX_AT_ONCE;
        while self.open && left > 0 {
            match self.pipe.read(&mut chunk) {
                Ok(0) => self.open = false,
                Ok(length) => {
                    left = left.saturating_sub(length);
                    self.begun.extend_from_slice(&chunk[..length]);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(_) => self.open = false,
            }
            self.take_lines(&mut tell);
        }
    }

    fn take_lines(&mut self, tell: &mut impl FnMut(String)) {
        // A progress display ends its lines with a carriage return.
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        if let Some(end) = self.begun.iter().rposition(is_end) {
            let rest = self.begun.split_off(end + 1);
            let lines = std::mem::replace(&mut self.begun, rest);
            lines.split(is_end).for_each(|line| self.take(line, tell));
        }
        if !self.open || self.begun.len() > MAX_LINE {
            let rest = std::mem::take(&mut self.begun);
            self.take(&rest, tell);
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

/// The last line of a file that is not empty, as far as it is among its last bytes: what commands complain may be long.
pub(super) fn last_line(file: &Path) -> Option<String> {
    // The commands may have put anything there since: a pipe would be waited for.
    let mut file = input::open_file(file).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_TAIL).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(MAX_LINE).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode};
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::path::PathBuf;

    #[test]
    fn whoever_writes_without_end_is_read_in_pieces() {
        const LINES: usize = 1 << 21;
        let (reader, mut writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let mut lines = Lines::new(reader);
        let writing = std::thread::spawn(move || {
            let flood = b"y\n".repeat(1 << 12);
            (0..LINES >> 12).for_each(|_| writer.write_all(&flood).unwrap());
            writer.write_all(b"\rdone: 3\r\nlast").unwrap();
        });
        let (mut told, mut reads) = (0, 0);
        while lines.open {
            lines.read(|_| told += 1);
            reads += 1;
            std::thread::yield_now();
        }
        writing.join().unwrap();
        assert!(reads >= 2 * LINES / MAX_AT_ONCE, "{reads}");
        assert_eq!(lines.last.as_deref(), Some("last"));
        assert!(told >= MAX_LINES && told < LINES as u32, "{told}");
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let mut lines = Lines::new(reader);
        writer.write_all(&[b'x'; MAX_LINE + 1]).unwrap();
        let mut told = Vec::new();
        lines.read(|line| told.push(line));
        writer.write_all(b"\n\n a \nb").unwrap();
        lines.read(|line| told.push(line));
        drop(writer);
        lines.read(|line| told.push(line));
        assert_eq!(told, ["x".repeat(MAX_LINE).as_str(), "a", "b"]);
        assert!(!lines.open);
    }

    #[test]
    fn the_last_line_of_a_file_is_found_without_reading_all_of_it() {
        let mut file = memory("first\nlast words\n \n");
        let path = |file: &File| PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        assert_eq!(last_line(&path(&file)).as_deref(), Some("last words"));
        // More than there is memory for.
        file.seek(SeekFrom::Start(1 << 42)).unwrap();
        file.write_all(b"\nafter a hole\n").unwrap();
        assert_eq!(last_line(&path(&file)).as_deref(), Some("after a hole"));
        assert_eq!(last_line(&path(&memory(""))), None);
        assert_eq!(last_line(Path::new("/no/such/file")), None);
    }

    #[test]
    fn a_pipe_in_place_of_a_file_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("stderr-0");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(last_line(&pipe), None);
    }

    /// A file without a name.
    fn memory(text: &str) -> File {
        let mut file = File::from(rustix::fs::memfd_create("words", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
        file.write_all(text.as_bytes()).unwrap();
        file
    }
}
