//! A lock among processes that read and change the same files: one at a time, and the others wait so long and no longer.

use crate::format::directory::Directory;
use crate::format::place::Caller;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// From one try to the next.
const AGAIN: Duration = Duration::from_millis(2);

/// Held until it is dropped, or until its process ends, however that happens.
#[derive(Debug)]
pub struct Lock {
    directory: Directory,
    name: String,
    _file: OwnedFd,
}

impl Lock {
    /// Takes the lock of this name in a directory of the caller's. Nobody else may open its file, so nobody else can
    /// hold it.
    ///
    /// # Errors
    /// What the system says; [`ErrorKind::TimedOut`] if another process holds it all that time.
    pub fn take(directory: &Directory, name: &str, patience: Duration) -> Result<Lock> {
        let until = Instant::now() + patience;
        loop {
            let file = open(directory, name)?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // Whoever held it has removed the file since it was opened: the lock is on another one now.
                Ok(()) if rustix::fs::fstat(&file)?.st_nlink == 0 => {}
                Ok(()) => return Ok(Lock { directory: directory.clone(), name: name.to_owned(), _file: file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if Instant::now() >= until {
                return Err(Error::new(ErrorKind::TimedOut, "another process is at work there: try again"));
            }
            std::thread::sleep(AGAIN);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is held: a moment later the file might be the next one's.
        self.directory.remove(&self.name);
    }
}

fn open(directory: &Directory, name: &str) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory.descriptor(), name, flags, Mode::RUSR | Mode::WUSR)?;
    let about = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile || !Caller::current().owns(&about) {
        return Err(Error::new(ErrorKind::PermissionDenied, "what is there belongs to another user, or is not a file"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(place: &tempfile::TempDir) -> Directory {
        Directory::make(place.path()).unwrap()
    }

    #[test]
    fn whoever_holds_it_is_alone_and_nothing_is_left() {
        let place = tempfile::tempdir().unwrap();
        let directory = own(&place);
        directory.write("count", b"0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..40 {
                        let _lock = Lock::take(&directory, "lock", Duration::from_secs(60)).unwrap();
                        let text = String::from_utf8(directory.read("count", 100).unwrap()).unwrap();
                        let count: u64 = text.parse().unwrap();
                        directory.write("count", (count + 1).to_string().as_bytes()).unwrap();
                    }
                });
            }
        });
        assert_eq!(directory.read("count", 100).unwrap(), b"240");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "the count alone is left");
    }

    #[test]
    fn nobody_waits_longer_than_they_want_to_and_a_link_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let directory = own(&place);
        let held = Lock::take(&directory, "lock", Duration::ZERO).unwrap();
        let began = Instant::now();
        let refused = Lock::take(&directory, "lock", Duration::from_millis(30)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TimedOut);
        assert!(began.elapsed() >= Duration::from_millis(30));
        drop(held);
        drop(Lock::take(&directory, "lock", Duration::ZERO).unwrap());
        std::os::unix::fs::symlink("elsewhere", place.path().join("lock")).unwrap();
        assert!(Lock::take(&directory, "lock", Duration::ZERO).is_err());
        assert!(!place.path().join("elsewhere").exists());
    }
}
