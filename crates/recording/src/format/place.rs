//! Where a file or directory is written: its path is walked once, and what it leads to is held open.
//!
//! Root may be asked to write into a place where others may write too. Between looking at a path and using it, others
//! can put a link there or swap a directory above it; so nothing here looks at a path twice. Links are followed only if
//! they belong to the caller or to root, that is, to the system.

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// The mode of new directories, even if the umask allows more: nobody else may write there.
const DIRECTORY_MODE: u32 = 0o755;
/// The mode of new files, even if the umask allows more.
const FILE_MODE: u32 = 0o644;

/// As many links as the kernel follows.
const MAX_LINKS: u32 = 40;
const PROC_SUPER_MAGIC: u64 = 0x9fa0;

/// The user that this program runs for.
pub(crate) struct Caller {
    effective: u32,
    /// Who called sudo.
    behind_sudo: Option<(u32, u32)>,
}

impl Caller {
    pub(crate) fn current() -> Caller {
        let effective = rustix::process::geteuid().as_raw();
        let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
        // Only root's environment can be trusted: sudo has cleaned it.
        let behind_sudo = if effective == 0 { number("SUDO_UID").zip(number("SUDO_GID")) } else { None };
        Caller { effective, behind_sudo }
    }

    pub(crate) fn owns(&self, about: &Stat) -> bool {
        about.st_uid == self.effective || self.behind_sudo.is_some_and(|(user, _)| about.st_uid == user)
    }

    pub(crate) fn trusts(&self, about: &Stat) -> bool {
        about.st_uid == 0 || self.owns(about)
    }

    /// Gives what was made to whoever called sudo, if they could have made it themselves: in a directory of their own,
    /// or one open to everybody. What is made in root's directories stays root's; otherwise anyone allowed to run only
    /// this program as root could get anything.
    pub(crate) fn give(&self, made: &impl std::os::fd::AsFd, within: &OwnedFd) {
        let Some((user, group)) = self.behind_sudo else { return };
        let is_theirs = |about: Stat| about.st_uid == user || Mode::from_raw_mode(about.st_mode).contains(Mode::WOTH);
        if rustix::fs::fstat(within).is_ok_and(is_theirs) {
            // On a file system without owners it stays root's.
            let _ = rustix::fs::fchown(made, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
        }
    }
}

/// A name within a directory that is held open, whatever becomes of the path that led there.
#[derive(Debug)]
pub struct Place {
    pub(crate) directory: OwnedFd,
    /// `None` if the path names the directory itself, as `.` and `/` do.
    pub(crate) name: Option<OsString>,
    path: PathBuf,
    /// A link of the kernel's own, such as /proc/self/fd/1: it leads to what is open there, not to a path.
    is_magic: bool,
}

/// What is at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A pipe, a device, a socket, or something that is open in this process.
    Special,
}

impl Place {
    /// Walks a path. Links, including the last part, are followed if they are the caller's own or root's.
    ///
    /// # Errors
    /// What the system refused, or somebody else's link on the way.
    pub fn of(path: &Path) -> Result<Place> {
        walk(path, false)
    }

    /// The same, and makes the missing directories.
    pub(crate) fn made(path: &Path) -> Result<Place> {
        walk(path, true)
    }

    /// What is there.
    ///
    /// # Errors
    /// What the system refused.
    pub fn standing(&self) -> Result<Standing> {
        let Some(name) = &self.name else { return Ok(Standing::Directory) };
        if self.is_magic {
            return Ok(Standing::Special);
        }
        let about = match rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            Err(Errno::NOENT) => return Ok(Standing::Nothing),
            Err(error) => return Err(error.into()),
        };
        Ok(match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => Standing::File,
            FileType::Directory => Standing::Directory,
            _ => Standing::Special,
        })
    }

    /// Makes a file, which must not be there yet.
    ///
    /// # Errors
    /// What the system refused; [`ErrorKind::AlreadyExists`] if something is already there.
    pub fn create_new(&self) -> Result<File> {
        create_new(&self.directory, self.file_name()?)
    }

    /// Opens something other than a file to write into it: /dev/stdout, a pipe. It must be the caller's own, or root's.
    ///
    /// # Errors
    /// What the system refused, that it is somebody else's, or that it is a pipe without a reader.
    pub fn open_special(&self) -> Result<File> {
        // Without waiting: a pipe without a reader would block the opening itself, and with it the whole answer.
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let flags = if self.is_magic { flags } else { flags | OFlags::NOFOLLOW };
        let file = match rustix::fs::openat(&self.directory, self.file_name()?, flags, Mode::empty()) {
            Err(Errno::NXIO) => return Err(Error::other("nobody reads from it")),
            opened => opened?,
        };
        // Somebody decided to open what is already open.
        if !self.is_magic && !Caller::current().trusts(&rustix::fs::fstat(&file)?) {
            return Err(Error::new(ErrorKind::PermissionDenied, "it belongs to another user"));
        }
        // If there is a reader, it may take its time.
        rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
        Ok(file.into())
    }

    /// Writes a whole file: under a temporary name, then renamed, so that nobody opens half of one. If the target is
    /// not a file, it writes into it.
    ///
    /// # Errors
    /// What the system refused.
    pub fn write(&self, contents: &[u8]) -> Result<()> {
        match self.standing()? {
            Standing::Special => self.open_special()?.write_all(contents),
            Standing::Directory => Err(ErrorKind::IsADirectory.into()),
            Standing::Nothing | Standing::File => {
                let name = self.file_name()?;
                let (temporary, mut file) = create_temporary(&self.directory)?;
                let written = file
                    .write_all(contents)
                    .and_then(|()| Ok(rustix::fs::renameat(&self.directory, &temporary, &self.directory, name)?));
                if written.is_err() {
                    let _ = rustix::fs::unlinkat(&self.directory, &temporary, AtFlags::empty());
                }
                written
            }
        }
    }

    /// Whether a file can be written there: makes one beside it and removes it.
    ///
    /// # Errors
    /// What the system refused.
    pub fn try_to_write(&self) -> Result<()> {
        let (temporary, _) = create_temporary(&self.directory)?;
        Ok(rustix::fs::unlinkat(&self.directory, &temporary, AtFlags::empty())?)
    }

    /// Removes a file that this program has made there.
    pub fn remove(&self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
        }
    }

    /// The path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file_name(&self) -> Result<&OsStr> {
        self.name.as_deref().ok_or_else(|| ErrorKind::IsADirectory.into())
    }
}

/// Makes a file of the caller's in an open directory; neither a file nor a link may be there yet.
pub(crate) fn create_new(directory: &OwnedFd, name: &OsStr) -> Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(FILE_MODE))?;
    Caller::current().give(&file, directory);
    Ok(file.into())
}

/// Makes a file under a name that nothing has yet.
fn create_temporary(directory: &OwnedFd) -> Result<(OsString, File)> {
    for attempt in 0..100 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let name = OsString::from(format!(".punctual-{}-{:x}-{attempt}", std::process::id(), now.tv_nsec));
        match create_new(directory, &name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (name, file)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Makes a directory of the caller's; false if something is already there.
pub(crate) fn make_directory(parent: &OwnedFd, name: &OsStr) -> Result<bool> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(DIRECTORY_MODE)) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Opens a directory to look into it; refuses a link.
pub(crate) fn open_directory(parent: &OwnedFd, name: &OsStr) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(parent, name, flags, Mode::empty())?)
}

fn walk(path: &Path, make: bool) -> Result<Place> {
    let caller = Caller::current();
    let passing = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = || rustix::fs::openat(CWD, "/", passing, Mode::empty());
    let mut directory = rustix::fs::openat(CWD, ".", passing, Mode::empty())?;
    let mut ahead = parts(path);
    if ahead.is_empty() {
        return Err(Error::new(ErrorKind::NotFound, "an empty path"));
    }
    let mut links = 0;
    let found = |directory, name, is_magic| Ok(Place { directory, name, path: path.to_owned(), is_magic });
    while let Some(part) = ahead.pop_front() {
        let name = match part {
            Part::Root => {
                directory = root()?;
                continue;
            }
            Part::Up => {
                directory = rustix::fs::openat(&directory, "..", passing, Mode::empty())?;
                continue;
            }
            Part::Name(name) => name,
        };
        let looking = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match rustix::fs::openat(&directory, &name, looking, Mode::empty()) {
            Err(Errno::NOENT) if ahead.is_empty() => return found(directory, Some(name), false),
            Err(Errno::NOENT) if make => {
                if make_directory(&directory, &name)? {
                    caller.give(&open_directory(&directory, &name)?, &directory);
                }
                rustix::fs::openat(&directory, &name, looking, Mode::empty())?
            }
            other => other?,
        };
        let about = rustix::fs::fstat(&opened)?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Symlink => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::LOOP.into());
                }
                if !caller.trusts(&about) {
                    let message = format!("the link {} belongs to another user", name.to_string_lossy());
                    return Err(Error::new(ErrorKind::PermissionDenied, message));
                }
                match target_of(&opened)? {
                    Some(target) => parts(&target).into_iter().rev().for_each(|part| ahead.push_front(part)),
                    None if ahead.is_empty() => return found(directory, Some(name), true),
                    None => directory = rustix::fs::openat(&directory, &name, passing, Mode::empty())?,
                }
            }
            FileType::Directory if !ahead.is_empty() => directory = opened,
            _ if ahead.is_empty() => return found(directory, Some(name), false),
            _ => return Err(ErrorKind::NotADirectory.into()),
        }
    }
    found(directory, None, false)
}

/// Where a link leads; `None` for one in `/proc`, which may lead to something that no path names.
fn target_of(link: &OwnedFd) -> Result<Option<PathBuf>> {
    if rustix::fs::fstatfs(link).is_ok_and(|system| system.f_type as u64 == PROC_SUPER_MAGIC) {
        return Ok(None);
    }
    let target = rustix::fs::readlinkat(link, "", Vec::new())?;
    Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes()))))
}

enum Part {
    Root,
    Up,
    Name(OsString),
}

fn parts(path: &Path) -> VecDeque<Part> {
    let part = |part: Component<'_>| match part {
        Component::RootDir | Component::Prefix(_) => Part::Root,
        Component::ParentDir => Part::Up,
        Component::CurDir => Part::Name(".".into()),
        Component::Normal(name) => Part::Name(name.to_owned()),
    };
    path.components().map(part).collect()
}
