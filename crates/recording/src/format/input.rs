//! Opens whatever somebody names as an input: only files, never anything that has to be waited for, never beyond a
//! limit.
//!
//! A pipe, a terminal or a device in place of a file blocks or never ends, and a directory is not text. All of them are
//! refused at once, in one line, and nothing tries to read them.

use super::place::Caller;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

/// No text that a person writes (task set, simulator file, profiles, load file) is longer than this, bytes.
pub const MAX_TEXT_BYTES: u64 = 1 << 20;

/// Opens a regular file for reading, without waiting for anybody.
///
/// Whatever else is there is not even opened: that alone may do something, such as begin a watchdog's countdown to a
/// restart of the machine, and whoever made the directory or the program that names a path can have it lead anywhere.
///
/// # Errors
/// What the file system says, or that it is not a file.
pub fn open_file(path: &Path) -> Result<File> {
    let found = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    check_is_file(&found)?;
    // Without waiting: a file of the kernel's that is not ready would block the opening itself.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    // What was looked at, whatever is at the path by now.
    let opened = match rustix::fs::open(format!("/proc/self/fd/{}", found.as_raw_fd()), flags, Mode::empty()) {
        // Without /proc there is only the path.
        Err(Errno::NOENT) => rustix::fs::open(path, flags, Mode::empty())?,
        opened => opened?,
    };
    check_is_file(&opened)?;
    Ok(opened.into())
}

/// Whether an open file belongs to root or to the caller. Under sudo that is also whoever called it.
pub fn is_trusted(file: impl AsFd) -> bool {
    rustix::fs::fstat(file).is_ok_and(|about| Caller::current().trusts(&about))
}

fn check_is_file(opened: impl AsFd) -> Result<()> {
    match FileType::from_raw_mode(rustix::fs::fstat(opened)?.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(ErrorKind::IsADirectory.into()),
        _ => Err(no_file()),
    }
}

fn no_file() -> Error {
    Error::other("it is a pipe, a socket or a device, not a file")
}

/// Reads a regular file of at most `limit` bytes.
///
/// A file that claims to be empty is not read at all: that includes kernel files that have to be waited for, such as
/// `/proc/kmsg`, and those that change when they are read.
///
/// # Errors
/// As for [`open_file`]; [`ErrorKind::FileTooLarge`] beyond the limit.
pub fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>> {
    read_opened(open_file(path)?, limit)
}

fn read_opened(file: File, limit: u64) -> Result<Vec<u8>> {
    let says = file.metadata()?.len();
    if says > limit {
        return Err(too_large(limit));
    }
    let mut bytes = Vec::new();
    if says == 0 {
        return Ok(bytes);
    }
    // The length that a file reports is not binding: the file may grow while it is read.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

/// Reads a regular file of at most `limit` bytes that is to be run, provided that nobody but root and the caller owns
/// it or may write to it. Under sudo the caller is whoever called it.
///
/// # Errors
/// As for [`read_file`]; [`ErrorKind::PermissionDenied`] if somebody else may have written it.
pub fn read_trusted(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = open_file(path)?;
    let about = rustix::fs::fstat(&file)?;
    let refused = |words: String| Err(Error::new(ErrorKind::PermissionDenied, words));
    if about.st_uid != 0 && !Caller::current().owns(&about) {
        return refused(format!(
            "it belongs to user {}: only files that belong to root or to you are run",
            about.st_uid
        ));
    }
    if Mode::from_raw_mode(about.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
        return refused("others may write it: chmod go-w".to_owned());
    }
    read_opened(file, limit)
}

/// Reads a text of at most [`MAX_TEXT_BYTES`] that somebody wrote.
///
/// # Errors
/// As for [`read_file`]; [`ErrorKind::InvalidData`] for anything that is not text, or is empty.
pub fn read_text(path: &Path) -> Result<String> {
    let bytes = read_file(path, MAX_TEXT_BYTES)?;
    if bytes.is_empty() {
        return Err(Error::new(ErrorKind::InvalidData, "it is empty"));
    }
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not text"))
}

fn too_large(limit: u64) -> Error {
    let limit = if limit >= 1 << 20 { format!("{} MiB", limit >> 20) } else { format!("{limit} bytes") };
    Error::new(ErrorKind::FileTooLarge, format!("it is larger than {limit}, the most that is read from such a file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read_file(&file, 4).unwrap(), b"text");
        assert_eq!(read_file(&file, 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_text(&file).unwrap(), "text");
        assert_eq!(read_file(&directory.path().join("none"), 9).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(read_file(directory.path(), 9).unwrap_err().kind(), ErrorKind::IsADirectory);
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read_file(&link, 4).unwrap(), b"text");
    }

    #[test]
    fn what_others_may_have_written_is_not_run() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("work.c");
        std::fs::write(&file, "text").unwrap();
        let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        for (bits, is_read) in [(0o644, true), (0o600, true), (0o664, false), (0o646, false), (0o622, false)] {
            mode(bits);
            let read = read_trusted(&file, 9);
            assert_eq!(read.is_ok(), is_read, "{bits:o}: {read:?}");
        }
        mode(0o644);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
            let words = read_trusted(&file, 9).unwrap_err().to_string();
            assert!(words.contains("65534"), "{words}");
        }
    }

    #[test]
    fn what_is_no_file_is_not_even_opened() {
        use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
        let directory = tempfile::tempdir().unwrap();
        let [pipe, file] = ["pipe", "file"].map(|name| directory.path().join(name));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, 0o600.into(), 0).unwrap();
        std::fs::write(&file, "text").unwrap();
        let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&watch, directory.path(), WatchFlags::OPEN).unwrap();
        assert!(read_text(&pipe).unwrap_err().to_string().contains("not a file"));
        assert_eq!(read_text(&file).unwrap(), "text");
        let mut room = [std::mem::MaybeUninit::uninit(); 1_024];
        let (mut events, mut opened) = (Reader::new(&watch, &mut room), Vec::new());
        while let Ok(event) = events.next() {
            opened.extend(event.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
        assert_eq!(opened, ["file"]);
    }

    #[test]
    fn what_would_be_waited_for_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        // Who waits for one of these does so for ever.
        for path in [socket.as_path(), &pipe, Path::new("/dev/zero"), Path::new("/dev/null")] {
            let error = read_text(path).unwrap_err().to_string();
            assert!(error.contains("not a file"), "{}: {error}", path.display());
        }
        // According to the kernel these are empty; reading them may never end.
        for path in ["/proc/kmsg", "/proc/self/status"] {
            match read_text(Path::new(path)) {
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
                read => assert_eq!(read.unwrap_err().to_string(), "it is empty", "{path}"),
            }
        }
    }
}
