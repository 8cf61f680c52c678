//! The directory that a recording is written into: opened once, and the recording's own from then on.

use crate::error::{Error, ErrorKind, Result};
use crate::format::place::{self, Caller, Place};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open directory of the caller's. Everything written into it is named relative to it, and is newly made or renamed
/// over what was there: neither a link inside it nor a change above it leads anywhere else. Whoever called sudo owns
/// what is made.
#[derive(Debug, Clone)]
pub struct Directory {
    opened: Arc<Opened>,
}

#[derive(Debug)]
struct Opened {
    descriptor: OwnedFd,
    path: PathBuf,
    /// The directory that it was made in, and its name there, if it was made.
    made: Option<(OwnedFd, OsString)>,
}

impl Directory {
    /// Opens a directory, or makes it and those above it.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] where the file system refuses or the directory belongs to somebody else;
    /// [`ErrorKind::Exists`] if something else is there.
    pub fn make(path: &Path) -> Result<Directory> {
        let refused = |error: std::io::Error| Error::io(path, "cannot create", error);
        let Place { directory: parent, name, .. } = Place::made(path).map_err(refused)?;
        Directory::enter(parent, name, path)
    }

    /// Makes or opens a directory inside this one.
    ///
    /// # Errors
    /// As for [`Directory::make`].
    pub fn below(&self, name: &str) -> Result<Directory> {
        let path = self.path().join(name);
        let parent = self.opened.descriptor.try_clone().map_err(|error| Error::io(&path, "cannot create", error))?;
        Directory::enter(parent, Some(name.into()), &path)
    }

    /// The same, but it must not be there yet.
    pub(crate) fn make_below(&self, name: &str) -> Result<Directory> {
        let below = self.below(name)?;
        if below.opened.made.is_none() {
            return Err(Error::io(below.path(), "cannot create", std::io::ErrorKind::AlreadyExists.into()));
        }
        Ok(below)
    }

    /// Opens a directory that need not be the caller's, for a single file.
    pub(crate) fn of_others(path: &Path) -> Result<Directory> {
        Directory::open_there(path, "cannot write")
    }

    /// Opens a directory of the caller's, or of root's, into which nobody else may write.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] where the file system refuses, or somebody else could change what is in it.
    pub fn guarded(path: &Path) -> Result<Directory> {
        let directory = Directory::open_there(path, "cannot open")?;
        let refused = |error: rustix::io::Errno| Error::io(path, "cannot open", error.into());
        let about = rustix::fs::fstat(&directory.opened.descriptor).map_err(refused)?;
        if !Caller::current().trusts(&about) || Mode::from_raw_mode(about.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
            let message = "the directory belongs to another user, or others may write into it";
            return Err(Error::new(ErrorKind::Io, path, message));
        }
        Ok(directory)
    }

    fn open_there(path: &Path, doing: &str) -> Result<Directory> {
        let refused = |error: std::io::Error| Error::io(path, doing, error);
        let Place { directory: parent, name, .. } = Place::of(path).map_err(refused)?;
        let name = name.unwrap_or_else(|| ".".into());
        let descriptor = place::open_directory(&parent, &name).map_err(refused)?;
        Ok(Directory { opened: Arc::new(Opened { descriptor, path: path.to_owned(), made: None }) })
    }

    fn enter(parent: OwnedFd, name: Option<OsString>, path: &Path) -> Result<Directory> {
        let refused = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotADirectory => Error::new(ErrorKind::Exists, path, OCCUPIED),
            _ => Error::io(path, "cannot create", error),
        };
        let made = match &name {
            Some(name) => place::make_directory(&parent, name).map_err(refused)?,
            None => false,
        };
        let descriptor = place::open_directory(&parent, name.as_deref().unwrap_or(OsStr::new("."))).map_err(refused)?;
        let caller = Caller::current();
        let about = rustix::fs::fstat(&descriptor).map_err(|error| refused(error.into()))?;
        if !caller.owns(&about) {
            let message = format!(
                "the directory belongs to another user (uid {}): choose one of your own, or a name that nothing has yet",
                about.st_uid
            );
            return Err(Error::new(ErrorKind::Io, path, message));
        }
        if made {
            caller.give(&descriptor, &parent);
        }
        let made = name.filter(|_| made).map(|name| (parent, name));
        Ok(Directory { opened: Arc::new(Opened { descriptor, path: path.to_owned(), made }) })
    }

    /// What it was opened as.
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.opened.descriptor
    }

    /// A path to an entry of this directory for interfaces that take nothing else, such as sockets: it leads there as long as
    /// this is held, whatever becomes of the directory's own path.
    pub fn entry(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.opened.descriptor.as_raw_fd()))
    }

    /// Where it was when it was opened, for messages and for reading.
    pub fn path(&self) -> &Path {
        &self.opened.path
    }

    /// Whether nothing is in it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn is_empty(&self) -> Result<bool> {
        let refused = |error: rustix::io::Errno| Error::io(self.path(), "cannot read", error.into());
        let entries = Dir::read_from(&self.opened.descriptor).map_err(refused)?;
        Ok(entries.flatten().all(|entry| is_dot(entry.file_name().to_bytes())))
    }

    /// Makes a file. One that an earlier try left under this name is replaced; the target of a link stays as it is.
    pub(crate) fn create(&self, name: &str) -> std::io::Result<File> {
        match place::create_new(&self.opened.descriptor, name.as_ref()) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                self.remove(name);
                place::create_new(&self.opened.descriptor, name.as_ref())
            }
            made => made,
        }
    }

    /// Makes a file that must not be there yet.
    pub(crate) fn create_new(&self, name: &str) -> std::io::Result<File> {
        place::create_new(&self.opened.descriptor, name.as_ref())
    }

    /// Opens a file of this directory for reading; refuses a link, and waits for nothing.
    pub(crate) fn open(&self, name: &str) -> std::io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.opened.descriptor, name, flags, Mode::empty())?;
        if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(std::io::Error::other("it is not a file"));
        }
        Ok(file.into())
    }

    /// Renames a file of this directory, replacing whatever has the new name.
    pub(crate) fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        Ok(rustix::fs::renameat(&self.opened.descriptor, from, &self.opened.descriptor, to)?)
    }

    /// Moves something in this directory to another one, under a name that nothing has there yet.
    ///
    /// # Errors
    /// What the system says; then it stays where it is.
    pub fn hand_over(&self, name: &str, other: &Directory, new_name: &str) -> std::io::Result<()> {
        let (from, to) = (&self.opened.descriptor, &other.opened.descriptor);
        Ok(rustix::fs::renameat_with(from, name, to, new_name, rustix::fs::RenameFlags::NOREPLACE)?)
    }

    /// Reads a file of this directory; refuses a link, and waits for nothing.
    ///
    /// # Errors
    /// What the system says, and where the file holds more than `max` bytes.
    pub fn read(&self, name: &str, max: u64) -> std::io::Result<Vec<u8>> {
        let mut contents = Vec::new();
        self.open(name)?.take(max.saturating_add(1)).read_to_end(&mut contents)?;
        if contents.len() as u64 > max {
            return Err(std::io::Error::other(format!("it holds more than {max} bytes")));
        }
        Ok(contents)
    }

    /// Writes a file under another name and renames it, so that nobody reads half of one.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, name: &str, contents: &[u8]) -> std::io::Result<()> {
        let temporary = temporary_for(name);
        let written = self.create(&temporary).and_then(|mut file| file.write_all(contents));
        let written = written.and_then(|()| self.rename(&temporary, name));
        if written.is_err() {
            self.remove(&temporary);
        }
        written
    }

    /// Writes what a reader gives into a file, a piece at a time, whatever else is called here. Until all of it is there the
    /// file is half of it: for what counts only once another file is there.
    ///
    /// # Errors
    /// What the system or the reader says.
    pub fn write_from(&self, name: &str, contents: &mut dyn Read) -> std::io::Result<()> {
        let written = self.create(name).and_then(|mut file| std::io::copy(contents, &mut file));
        if written.is_err() {
            self.remove(name);
        }
        written.map(drop)
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.opened.descriptor, name, AtFlags::empty());
    }

    /// Removes what is in it, and the directory itself if this run made it: for a run that has measured nothing.
    pub fn discard(&self) {
        empty(&self.opened.descriptor, DEEP);
        self.discard_if_empty();
    }

    /// Removes the directory if this run made it and nothing was written into it.
    pub fn discard_if_empty(&self) {
        if let Some((parent, name)) = &self.opened.made {
            // Only an empty one is removed, so nothing is lost if another has taken its place by now.
            let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
    }
}

/// How many directories within one another are removed: more than anything has that is written here.
const DEEP: u32 = 32;

/// What an error says if something is already there.
pub(crate) const OCCUPIED: &str = "already exists: choose another name with -o, or remove it";

/// The name under which a file is written before it is renamed.
pub(crate) fn temporary_for(name: &str) -> String {
    format!("{}.tmp", name.rsplit_once('.').map_or(name, |(stem, _)| stem))
}

fn is_dot(name: &[u8]) -> bool {
    matches!(name, b"." | b"..")
}

/// Removes all that is in a directory, never following a link.
fn empty(directory: &OwnedFd, deep: u32) {
    let Ok(entries) = Dir::read_from(directory) else { return };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name().to_owned()).collect();
    for name in names.iter().filter(|name| !is_dot(name.to_bytes())) {
        if rustix::fs::unlinkat(directory, name, AtFlags::empty()).is_ok() || deep == 0 {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(below) = rustix::fs::openat(directory, name, flags, Mode::empty()) {
            empty(&below, deep - 1);
        }
        let _ = rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR);
    }
}
