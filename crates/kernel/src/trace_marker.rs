//! Marks that programs write into `trace_marker`, read from an instance of the kernel's tracing that is ours alone.
//!
//! The instance has its own buffers, so it disturbs nobody else's reading or tracing. If the kernel can copy
//! (`copy_trace_marker`), what is written into the top `trace_marker` comes here too and also stays where it was.

use crate::Refused;
use crate::guard::{Guard, GuardedRun};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A mark as the kernel's buffer holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceMark {
    /// When it was written, ns of `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// The thread that wrote it.
    pub tid: u32,
    /// What it wrote, without the line end.
    pub text: String,
}

/// What was read from a page.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    marks: Vec<TraceMark>,
    /// How many entries before these were overwritten.
    missed: u64,
}

/// An instance of our own. It is removed when this is dropped, and by the guard if this process is killed.
pub struct TraceMarker {
    directory: PathBuf,
    marker: PathBuf,
    is_top: bool,
    top_is_off: bool,
    event: u16,
    pipes: Vec<(u32, File)>,
    page: Vec<u8>,
    guard: Option<Guard>,
}

const DOING: &str = "reading trace_marker";

fn refused(reason: impl Into<String>) -> Refused {
    Refused::because(DOING, reason)
}

/// Where tracefs is mounted; it is not mounted where it is missing.
fn mounted() -> Result<PathBuf, Refused> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut found: Vec<&str> = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (path, kind) = (words.nth(1)?, words.next()?);
            (kind == "tracefs").then_some(path)
        })
        .collect();
    found.sort_by_key(|path| *path != "/sys/kernel/tracing");
    let none = || refused("tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing");
    found.first().map(PathBuf::from).ok_or_else(none)
}

impl TraceMarker {
    /// Makes the instance and begins to collect.
    ///
    /// # Errors
    /// What the kernel refused; nothing is left behind then.
    pub fn start(cpus: &[u32]) -> Result<TraceMarker, Refused> {
        let top = mounted()?;
        let failed = |error: std::io::Error| refused(crate::plain(&error));
        if !top.join("instances").is_dir() {
            // What we may not look into seems not to be there.
            return Err(refused(
                std::fs::read_dir(&top)
                    .err()
                    .map_or_else(|| "this kernel's tracing has no instances".to_owned(), |error| crate::plain(&error)),
            ));
        }
        let directory = top.join("instances").join(format!("punctual-log-{}", std::process::id()));
        let run = GuardedRun { remove_at_end: vec![directory.clone()], ..GuardedRun::default() };
        // The guard knows what to remove before that exists.
        let guard = Guard::start(&run)?;
        std::fs::create_dir(&directory).map_err(failed)?;
        let mut instance = TraceMarker {
            marker: directory.join("trace_marker"),
            directory,
            is_top: false,
            top_is_off: std::fs::read_to_string(top.join("tracing_on")).is_ok_and(|text| text.trim() == "0"),
            event: 0,
            pipes: Vec::new(),
            page: vec![0; 1 << 16],
            guard: Some(guard),
        };
        instance.set_up(&top, cpus)?;
        Ok(instance)
    }

    fn set_up(&mut self, top: &Path, cpus: &[u32]) -> Result<(), Refused> {
        let failed = |error: std::io::Error| refused(crate::plain(&error));
        std::fs::write(self.directory.join("trace_clock"), "mono").map_err(failed)?;
        // This file gives nothing more after the first read, however short that was.
        let mut header = [0; 4096];
        let length = File::open(self.directory.join("events/header_page"))
            .and_then(|mut file| file.read(&mut header))
            .map_err(failed)?;
        let header = String::from_utf8_lossy(&header[..length]);
        if !is_known_page(&header) {
            return Err(refused("this kernel's pages have another layout"));
        }
        let format = std::fs::read_to_string(self.directory.join("events/ftrace/print/format")).map_err(failed)?;
        self.event = event_number(&format).ok_or_else(|| refused("this kernel's marks have another layout"))?;
        self.is_top = std::fs::write(self.directory.join("options/copy_trace_marker"), "1").is_ok();
        if self.is_top {
            self.marker = top.join("trace_marker");
        }
        for &cpu in cpus {
            let path = self.directory.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
            let mut options = File::options();
            options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
            self.pipes.push((cpu, options.open(path).map_err(failed)?));
        }
        Ok(())
    }

    /// The file into which programs write their marks.
    pub fn path(&self) -> &Path {
        &self.marker
    }

    /// Whether that is the `trace_marker` that programs already know.
    pub fn is_top(&self) -> bool {
        self.is_top
    }

    /// Whether somebody switched tracing off at the top: a program that writes there gets an error, but its mark still
    /// comes here.
    pub fn top_is_off(&self) -> bool {
        self.is_top && self.top_is_off
    }

    /// Takes what has arrived; returns how many were overwritten before they could be read.
    pub fn take(&mut self, mut each: impl FnMut(TraceMark)) -> u64 {
        let mut missed = 0;
        for (cpu, pipe) in &mut self.pipes {
            // A bound, in case somebody writes faster than this reads.
            for _ in 0..64 {
                let Ok(length @ 1..) = pipe.read(&mut self.page) else { break };
                let page = read_page(&self.page[..length], *cpu, self.event);
                missed += page.missed;
                page.marks.into_iter().for_each(&mut each);
            }
        }
        missed
    }
}

impl Drop for TraceMarker {
    fn drop(&mut self) {
        self.pipes.clear();
        let _ = std::fs::remove_dir(&self.directory);
        if let Some(guard) = self.guard.take() {
            guard.end();
        }
    }
}

/// Time stamp of 8 bytes, length of 8, then events: as on every 64-bit kernel.
fn is_known_page(header: &str) -> bool {
    let has = |words: &str| header.lines().any(|line| line.contains(words));
    has("timestamp;\toffset:0;\tsize:8;") && has("commit;\toffset:8;\tsize:8;") && has("data;\toffset:16;")
}

/// The number of the event `print`, if its members are where this code expects them.
fn event_number(format: &str) -> Option<u16> {
    let has = |words: &str| format.lines().any(|line| line.contains(words));
    let known =
        has("common_type;\toffset:0;\tsize:2;") && has("common_pid;\toffset:4;\tsize:4;") && has("buf[];\toffset:16;");
    let number = format.lines().find_map(|line| line.strip_prefix("ID: "))?;
    number.trim().parse().ok().filter(|_| known)
}

const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const LENGTH: u64 = (1 << 20) - 1;
const PAGE_HEADER: usize = 16;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Reads a page of the kernel's ring buffer (`linux/ring_buffer.h`): events of a length and a time since the one before.
fn read_page(bytes: &[u8], cpu: u32, event: u16) -> Page {
    let mut page = Page::default();
    let (Some(mut time), Some(commit)) = (long(bytes, 0), long(bytes, 8)) else { return page };
    let end = (PAGE_HEADER + (commit & LENGTH) as usize).min(bytes.len());
    if commit & MISSED != 0 {
        // The number of missed events follows the last event, if there was room for it.
        let stored = (commit & MISSED_STORED != 0).then(|| long(bytes, end.saturating_sub(8))).flatten();
        page.missed = stored.unwrap_or(1).max(1);
    }
    let end = if commit & MISSED_STORED != 0 { end.saturating_sub(8) } else { end };
    let bytes = &bytes[..end];
    let mut at = PAGE_HEADER;
    while let Some(header) = word(bytes, at) {
        let (kind, delta) = (header & 31, u64::from(header >> 5));
        let next = word(bytes, at + 4);
        let (data, length) = match (kind, next) {
            (30, Some(high)) => {
                time = time.wrapping_add(delta | u64::from(high) << 27);
                at += 8;
                continue;
            }
            (31, Some(high)) => {
                // The highest bits are those of the page.
                time = (time & (0x1f << 59)) | delta | u64::from(high) << 27;
                at += 8;
                continue;
            }
            (29, Some(length)) if delta > 0 => {
                at += 4 + length as usize;
                continue;
            }
            (29, _) => break,
            (0, Some(length)) if length >= 4 => (at + 8, length as usize - 4),
            (1..=28, _) => (at + 4, kind as usize * 4),
            _ => break,
        };
        time = time.wrapping_add(delta);
        at = data + length;
        let Some(entry) = bytes.get(data..data + length) else { break };
        page.marks.extend(mark(entry, time, cpu, event));
    }
    page
}

fn mark(entry: &[u8], time_ns: u64, cpu: u32, event: u16) -> Option<TraceMark> {
    let kind = u16::from_ne_bytes(entry.get(..2)?.try_into().ok()?);
    let text = entry.get(16..)?;
    let length = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    let text = String::from_utf8_lossy(&text[..length]).trim_end_matches('\n').to_owned();
    (kind == event).then_some(TraceMark { time_ns, cpu, tid: word(entry, 4)?, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &[u8]) -> Vec<u8> {
        let mut entry = [&5u16.to_ne_bytes()[..], &[0, 0], &77u32.to_ne_bytes(), &[0; 8], text, &[0]].concat();
        entry.resize(entry.len().next_multiple_of(4), 0);
        entry
    }

    /// An event of the buffer that came `delta` after the one before.
    fn short(delta: u32, entry: &[u8]) -> Vec<u8> {
        [&(delta << 5 | (entry.len() / 4) as u32).to_ne_bytes()[..], entry].concat()
    }

    fn long_event(delta: u32, entry: &[u8]) -> Vec<u8> {
        [&(delta << 5).to_ne_bytes()[..], &(entry.len() as u32 + 4).to_ne_bytes(), entry].concat()
    }

    fn page(time: u64, flags: u64, events: &[Vec<u8>]) -> Vec<u8> {
        let events = events.concat();
        [&time.to_ne_bytes()[..], &(events.len() as u64 | flags).to_ne_bytes(), &events].concat()
    }

    #[test]
    fn a_page_is_read_event_by_event() {
        let extend = [(5u32 << 5 | 30).to_ne_bytes(), 1u32.to_ne_bytes()].concat();
        let long_text = [b'x'; 300];
        let events = [short(0, &entry(b"first\n")), extend, short(7, &entry(b"")), long_event(1, &entry(&long_text))];
        let read = read_page(&page(1_000, 0, &events), 3, 5);
        let told: Vec<_> = read.marks.iter().map(|mark| (mark.time_ns, mark.text.as_str())).collect();
        let after = 1_000 + (1 << 27) + 5 + 7;
        assert_eq!(told, [(1_000, "first"), (after, ""), (after + 1, str::from_utf8(&long_text).unwrap())]);
        assert!(read.marks.iter().all(|mark| (mark.cpu, mark.tid) == (3, 77)));
        assert_eq!(read.missed, 0);
        assert!(read_page(&page(1_000, 0, &events), 3, 6).marks.is_empty());
    }

    #[test]
    fn missed_events_are_told() {
        let events = [short(0, &entry(b"a")), 9u64.to_ne_bytes().to_vec()];
        let read = read_page(&page(1, MISSED | MISSED_STORED, &events), 0, 5);
        assert_eq!((read.missed, read.marks.len()), (9, 1));
        assert_eq!(read_page(&page(1, MISSED, &events[..1]), 0, 5).missed, 1);
    }

    #[test]
    fn damage_is_no_panic() {
        let whole = page(1_000, 0, &[short(0, &entry(b"first")), long_event(9, &entry(b"second"))]);
        for cut in 0..whole.len() {
            let _ = read_page(&whole[..cut], 0, 5);
            for bits in [0xff, 0x1f, 0x80] {
                let mut changed = whole.clone();
                changed[cut] ^= bits;
                let _ = read_page(&changed, 0, 5);
            }
        }
    }
}
