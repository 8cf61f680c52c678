//! The file through which a module hands out its stamps.

use punctual_kernel::Refused;
use punctual_recording::{DriverStamps, counted};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// `struct punctual_stamps` of `include/punctual_module.h`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stamped {
    pub(super) stamps: DriverStamps,
    /// The device's, ns; 0 if it has none.
    pub(super) period_ns: u64,
    /// Activations that went by directly before this one.
    pub(super) missed: u32,
    /// Since the module was loaded: stamps for which it had no room.
    pub(super) lost: u32,
    pub(super) cpu: u32,
    pub(super) tid: u32,
    pub(super) policy: u32,
    pub(super) priority: u32,
}

/// The size of one of them, bytes.
const BYTES: usize = 64;
/// At a time, and no more in a round: whatever a file gives, the rest of the program keeps going.
const AT_A_TIME: usize = 1_024;
/// How long a driver may take for its first activation.
const PATIENCE: Duration = Duration::from_secs(5);

impl Stamped {
    fn read(bytes: &[u8; BYTES]) -> Stamped {
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let stamps = DriverStamps { expected: long(0), interrupt: long(8), deferred: long(16), thread: long(24) };
        Stamped {
            stamps,
            period_ns: long(32),
            missed: short(40),
            lost: short(44),
            cpu: short(48),
            tid: short(52),
            policy: short(56),
            priority: short(60),
        }
    }
}

pub(super) struct Source {
    file: File,
    path: PathBuf,
    buffer: Vec<u8>,
}

impl Source {
    /// # Errors
    /// If the file cannot be opened.
    pub(super) fn open(path: &Path) -> Result<Source, Refused> {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound => "there is no such file: is the driver's module loaded?".to_owned(),
                _ => punctual_kernel::plain(&error),
            };
            refused(path, why)
        })?;
        Ok(Source { file, path: path.to_owned(), buffer: vec![0; BYTES * AT_A_TIME] })
    }

    /// Adds what has come; returns whether there may be more.
    ///
    /// # Errors
    /// If it cannot be read, or gives anything but whole stamps.
    pub(super) fn take(&mut self, into: &mut Vec<Stamped>) -> Result<bool, Refused> {
        let length = match self.file.read(&mut self.buffer) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
            Err(error) => return Err(refused(&self.path, punctual_kernel::plain(&error))),
        };
        if length % BYTES != 0 {
            let why =
                format!("it gave {}, but a stamp has {BYTES} (see include/punctual_module.h)", counted(length, "byte"));
            return Err(refused(&self.path, why));
        }
        let (whole, _) = self.buffer[..length].as_chunks::<BYTES>();
        into.extend(whole.iter().map(Stamped::read));
        Ok(length == self.buffer.len())
    }

    /// Waits for the first stamps.
    ///
    /// # Errors
    /// As [`Source::take`], and if none come.
    pub(super) fn first(&mut self) -> Result<Stamped, Refused> {
        let began = Instant::now();
        let mut all = Vec::new();
        while began.elapsed() < PATIENCE {
            self.take(&mut all)?;
            if let Some(last) = all.last() {
                return Ok(*last);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(refused(&self.path, format!("no stamps came in {} s: is the driver running?", PATIENCE.as_secs())))
    }
}

pub(super) fn refused(path: &Path, why: String) -> Refused {
    Refused::because(format!("reading the stamps of {}", path.display()), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_the_header_writes_it() {
        let mut bytes = Vec::new();
        for long in [1_u64, 2, 3, 4, 5] {
            bytes.extend(long.to_ne_bytes());
        }
        for short in [6_u32, 7, 8, 9, 10, 11] {
            bytes.extend(short.to_ne_bytes());
        }
        let read = Stamped::read(bytes.as_slice().try_into().unwrap());
        let stamps = DriverStamps { expected: 1, interrupt: 2, deferred: 3, thread: 4 };
        let expected = Stamped { stamps, period_ns: 5, missed: 6, lost: 7, cpu: 8, tid: 9, policy: 10, priority: 11 };
        assert_eq!(read, expected);
        // The header has the same members in the same order.
        let header = include_str!("../../../../include/punctual_module.h");
        let (_, members) = header.split_once("struct punctual_stamps {").unwrap();
        let (members, _) = members.split_once('}').unwrap();
        let members: Vec<&str> = members.lines().filter_map(|line| line.trim().strip_suffix(';')).collect();
        let names = "u64 expected,u64 interrupt,u64 deferred,u64 thread,u64 period,u32 missed,u32 lost,u32 cpu,u32 tid,\
                     u32 policy,u32 priority";
        assert_eq!(members.join(","), names);
    }

    #[test]
    fn a_file_that_is_not_there_or_gives_something_else_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stamps");
        let absent = Source::open(&path).err().unwrap().to_string();
        assert!(absent.contains("is the driver's module loaded?"), "{absent}");
        std::fs::write(&path, [0; 65]).unwrap();
        let other = Source::open(&path).unwrap().first().unwrap_err().to_string();
        assert!(other.contains("it gave 65 bytes"), "{other}");
        std::fs::write(&path, [0; 128]).unwrap();
        let mut all = Vec::new();
        assert!(!Source::open(&path).unwrap().take(&mut all).unwrap());
        assert_eq!(all, [Stamped::default(); 2]);
    }
}
