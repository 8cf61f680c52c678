//! A line between two processes of one user: a socket in a directory into which nobody else may write.
//!
//! Whatever the other end does has a bound. A piece has one length, the kernel holds only so much that nobody has read,
//! and a piece that does not pass in time ends the line.

use crate::guard::{Guard, GuardEvent, GuardedPreparation, GuardedRun};
use crate::{Refused, plain};
use punctual_recording::Directory;
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The socket's name in its directory.
const NAME: &str = "line";
/// How long the guard may take to make the directory.
const START: Duration = Duration::from_secs(5);
/// How often whoever waits for the other end looks whether to go on.
const LOOK: Duration = Duration::from_millis(100);
/// What a socket says if only time has passed.
const AGAIN: [ErrorKind; 3] = [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted];
const MAKING: &str = "making a line";

/// Where a process waits for another one. Nothing of it is left when the process ends, however it ends.
pub struct Listening {
    listener: Option<UnixListener>,
    directory: Directory,
    // Dropped last: it removes the directory.
    _guard: Option<Guard>,
}

/// Who came.
#[derive(Debug)]
pub enum Came {
    /// Nobody yet.
    Nobody,
    /// Another user, who is not heard.
    Stranger,
    /// A process of this user's, or of root's.
    In(Connection),
}

/// One end of a line.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
}

/// Why a piece did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// The other end is gone.
    Ended,
    /// It did nothing in time.
    Silent,
    /// This end did not want to wait any longer.
    Stopped,
}

impl Listening {
    /// Listens in a new directory, which goes away with this process.
    ///
    /// # Errors
    /// What the system refused.
    pub fn start() -> Result<Listening, Refused> {
        let run = GuardedRun { preparations: vec![GuardedPreparation::default()], ..GuardedRun::default() };
        let mut guard = Guard::start(&run)?;
        let until = Instant::now() + START;
        while Instant::now() < until && !guard.is_gone() {
            for event in guard.events(LOOK) {
                match event {
                    GuardEvent::Started { scratch, .. } => return Listening::within(&scratch, Some(guard)),
                    GuardEvent::NotPrepared { reason, .. } | GuardEvent::Refused { reason } => {
                        return Err(Refused::because(MAKING, reason));
                    }
                    _ => {}
                }
            }
        }
        Err(Refused::because(MAKING, "the guard process made no directory for it"))
    }

    fn within(path: &Path, guard: Option<Guard>) -> Result<Listening, Refused> {
        let refused = |error: std::io::Error| Refused::because(MAKING, plain(&error));
        let directory = Directory::make(path).map_err(|error| Refused::because(MAKING, error.to_string()))?;
        let listener = UnixListener::bind(directory.entry(NAME)).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        Ok(Listening { listener: Some(listener), directory, _guard: guard })
    }

    /// Where others call.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(NAME)
    }

    /// Who has come by now.
    ///
    /// # Errors
    /// What the system refused.
    pub fn accept(&self) -> Result<Came, Refused> {
        let Some(listener) = &self.listener else { return Ok(Came::Nobody) };
        match listener.accept() {
            Ok((stream, _)) => Ok(Connection::over(stream).map_or(Came::Stranger, Came::In)),
            Err(error) if AGAIN.contains(&error.kind()) || error.kind() == ErrorKind::ConnectionAborted => {
                Ok(Came::Nobody)
            }
            Err(error) => Err(Refused::because("waiting for a call", plain(&error))),
        }
    }

    /// Listens no more: whoever calls from now on finds nobody.
    pub fn close(&mut self) {
        self.listener = None;
        self.directory.remove(NAME);
    }
}

impl Connection {
    /// Calls whoever listens at this path.
    ///
    /// # Errors
    /// If nobody does, or somebody whom this user need not trust could.
    pub fn to(path: &Path) -> Result<Connection, Refused> {
        const NOBODY: &str = "nobody answers there: `punctual modem serve` prints the path of its line";
        let refused = |reason: &str| Refused::because(format!("calling over {}", path.display()), reason);
        let failed = |error: Errno| refused(&plain(&error.into()));
        let name = path.file_name().and_then(OsStr::to_str).ok_or_else(|| refused("that is not the path of a line"))?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !path.exists() {
            return Err(refused(NOBODY));
        }
        let directory = Directory::guarded(above).map_err(|error| refused(&error.to_string()))?;
        let address = SocketAddrUnix::new(directory.entry(name)).map_err(failed)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(failed)?;
        match connect(&socket, &address) {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::CONNREFUSED) => return Err(refused(NOBODY)),
            Err(Errno::AGAIN) => return Err(refused("too many others are waiting there")),
            Err(error) => return Err(failed(error)),
        }
        Connection::over(UnixStream::from(socket)).ok_or_else(|| refused("another user answers there"))
    }

    /// A line, if nobody is at its other end who need not be trusted.
    fn over(stream: UnixStream) -> Option<Connection> {
        let prepared = stream.set_nonblocking(false);
        let prepared = prepared.and_then(|()| stream.set_read_timeout(Some(LOOK)));
        let prepared = prepared.and_then(|()| stream.set_write_timeout(Some(LOOK)));
        (is_trusted(&stream) && prepared.is_ok()).then_some(Connection { stream })
    }

    /// Sends a piece. While it waits it asks again and again whether to go on.
    ///
    /// # Errors
    /// If it did not pass.
    pub fn send(&mut self, piece: &[u8], patience: Duration, go_on: &mut dyn FnMut() -> bool) -> Result<(), Lost> {
        pass(piece.len(), patience, go_on, &mut |from| self.stream.write(&piece[from..]))
    }

    /// Receives a piece that is as long as the buffer, in the same way.
    ///
    /// # Errors
    /// If it did not pass.
    pub fn receive(
        &mut self,
        piece: &mut [u8],
        patience: Duration,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), Lost> {
        pass(piece.len(), patience, go_on, &mut |from| self.stream.read(&mut piece[from..]))
    }
}

/// Whether root, or the user that this process runs as, is at the other end.
pub fn is_trusted(stream: impl AsFd) -> bool {
    socket_peercred(stream).is_ok_and(|other| other.uid.is_root() || other.uid == rustix::process::geteuid())
}

/// Passes so many bytes, as many at a time as `some` takes.
fn pass(
    length: usize,
    patience: Duration,
    go_on: &mut dyn FnMut() -> bool,
    some: &mut dyn FnMut(usize) -> std::io::Result<usize>,
) -> Result<(), Lost> {
    let until = Instant::now() + patience;
    let mut passed = 0;
    while passed < length {
        match some(passed) {
            Ok(0) => return Err(Lost::Ended),
            Ok(count) => passed += count,
            Err(error) if !AGAIN.contains(&error.kind()) => return Err(Lost::Ended),
            Err(_) if !go_on() => return Err(Lost::Stopped),
            Err(_) => {}
        }
        // Also where a byte comes now and then.
        if passed < length && Instant::now() >= until {
            return Err(Lost::Silent);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    const SOON: Duration = Duration::from_millis(300);
    const LATER: Duration = Duration::from_secs(60);

    fn connected() -> (tempfile::TempDir, Listening, [Connection; 2]) {
        let place = tempfile::tempdir().unwrap();
        let listening = Listening::within(place.path(), None).unwrap();
        assert!(matches!(listening.accept().unwrap(), Came::Nobody));
        let calling = Connection::to(&listening.path()).unwrap();
        let Came::In(answering) = listening.accept().unwrap() else { panic!("nobody came") };
        (place, listening, [calling, answering])
    }

    #[test]
    fn pieces_pass_both_ways_and_the_end_of_the_other_is_seen() {
        let (place, mut listening, [mut calling, mut answering]) = connected();
        let mut piece = [0; 200];
        for number in 1..=50 {
            calling.send(&[number; 200], LATER, &mut || true).unwrap();
            answering.receive(&mut piece, LATER, &mut || true).unwrap();
            assert_eq!(piece, [number; 200]);
            answering.send(&piece, LATER, &mut || true).unwrap();
            calling.receive(&mut piece, LATER, &mut || true).unwrap();
        }
        listening.close();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        assert!(matches!(listening.accept().unwrap(), Came::Nobody));
        // Half a piece is none.
        calling.send(&[1; 100], LATER, &mut || true).unwrap();
        drop(calling);
        assert_eq!(answering.receive(&mut piece, LATER, &mut || true), Err(Lost::Ended));
        assert_eq!(answering.send(&piece, LATER, &mut || true), Err(Lost::Ended));
    }

    #[test]
    fn whoever_says_nothing_or_reads_nothing_holds_nobody_up() {
        let (_place, _listening, [mut calling, mut answering]) = connected();
        let mut piece = [0; 200];
        assert_eq!(answering.receive(&mut piece, SOON, &mut || true), Err(Lost::Silent));
        assert_eq!(answering.receive(&mut piece, LATER, &mut || false), Err(Lost::Stopped));
        let began = Instant::now();
        std::thread::scope(|scope| {
            let trickle = scope.spawn(|| {
                // A byte now and then, for longer than anybody wants to wait.
                for _ in 0..100 {
                    if calling.send(&[1], LATER, &mut || true).is_err() {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            assert_eq!(answering.receive(&mut piece, SOON, &mut || true), Err(Lost::Silent));
            assert!(began.elapsed() < Duration::from_secs(20));
            trickle.join().unwrap();
        });
        let mut sent = 0;
        let lost = loop {
            match answering.send(&[0; 4_096], SOON, &mut || true) {
                Ok(()) => sent += 1,
                Err(lost) => break lost,
            }
            assert!(sent < 100_000, "there is no end to what the kernel holds");
        };
        assert_eq!(lost, Lost::Silent);
    }

    #[test]
    fn only_a_place_that_nobody_else_can_change_is_called() {
        let place = tempfile::tempdir().unwrap();
        let listening = Listening::within(place.path(), None).unwrap();
        let said = |path: &Path| Connection::to(path).unwrap_err().to_string();
        assert!(said(&place.path().join("nobody")).contains("punctual modem serve"));
        std::fs::write(place.path().join("file"), "").unwrap();
        assert!(said(&place.path().join("file")).contains("nobody answers there"));
        assert!(said(Path::new("/")).contains("not the path of a line"));
        set_permissions(place.path(), Permissions::from_mode(0o770)).unwrap();
        assert!(said(&listening.path()).contains("others may write into it"));
        set_permissions(place.path(), Permissions::from_mode(0o700)).unwrap();
        assert!(Connection::to(&listening.path()).is_ok());
        if !rustix::process::geteuid().is_root() {
            return punctual_testing::skip("another user's line", "only root can give a directory away");
        }
        std::os::unix::fs::chown(place.path(), Some(65_534), None).unwrap();
        assert!(said(&listening.path()).contains("belongs to another user"));
    }
}
