//! Pseudo-terminals: one end for this program, the other for whichever program opens its path.
//!
//! Nothing of it is left when the process that made it ends, however it ends.

use crate::Refused;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The end of a pseudo-terminal that belongs to a terminal emulator, or a modem; it never blocks.
#[derive(Debug)]
pub struct PseudoTerminal {
    /// For reading what the program at the other end writes, and for writing to it.
    pub near: OwnedFd,
    /// Where programs open the other end.
    path: PathBuf,
}

/// Whether somebody has the other end open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FarSide {
    /// Somebody has it open, or nobody had yet.
    There,
    /// Whoever had it open has closed it.
    Gone,
}

fn refused(error: rustix::io::Errno) -> Refused {
    Refused::because("making a pseudo-terminal", std::io::Error::from(error).to_string())
}

impl PseudoTerminal {
    /// A new one.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn make() -> Result<PseudoTerminal, Refused> {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).map_err(refused)?;
        grantpt(&near).map_err(refused)?;
        unlockpt(&near).map_err(refused)?;
        let name = ptsname(&near, Vec::new()).map_err(refused)?;
        let path = PathBuf::from(std::ffi::OsString::from_vec(name.into_bytes()));
        let flags = fcntl_getfl(&near).map_err(refused)?;
        fcntl_setfl(&near, flags | OFlags::NONBLOCK).map_err(refused)?;
        Ok(PseudoTerminal { near, path })
    }

    /// Where programs open the other end.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the other end, as a program does.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn open_far(&self) -> Result<OwnedFd, Refused> {
        open(&self.path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).map_err(refused)
    }

    /// Bytes pass unchanged and nothing is echoed, until a program sets it otherwise: a modem's answers would come back
    /// to it as commands.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn pass_bytes_as_they_are(&self) -> Result<(), Refused> {
        let mut settings = tcgetattr(&self.near).map_err(refused)?;
        settings.make_raw();
        tcsetattr(&self.near, OptionalActions::Now, &settings).map_err(refused)
    }

    /// Reads what the other end has written, at most as much as the buffer holds. Returns how many bytes, and whether
    /// that end is closed by now and everything was read.
    pub fn read(&self, buffer: &mut [u8]) -> (usize, FarSide) {
        match rustix::io::read(&self.near, buffer) {
            Ok(count) => (count, FarSide::There),
            // This is how Linux tells the remaining end that the other one is closed.
            Err(rustix::io::Errno::IO) => (0, FarSide::Gone),
            Err(_) => (0, FarSide::There),
        }
    }

    /// Hands bytes to the other end; returns how many it took.
    pub fn write(&self, bytes: &[u8]) -> usize {
        rustix::io::write(&self.near, bytes).unwrap_or_default()
    }

    /// Whether the other end is closed now. Bytes from it may still be left to read.
    pub fn far_side(&self) -> FarSide {
        let mut looked = [PollFd::new(&self.near, PollFlags::IN)];
        let hung_up = poll(&mut looked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
            && looked[0].revents().contains(PollFlags::HUP);
        if hung_up { FarSide::Gone } else { FarSide::There }
    }

    /// Throws away what was handed to the other end and nobody read: whoever opens it next would take it as meant for them.
    pub fn forget_unread(&self) {
        if let Ok(far) = self.open_far() {
            let _ = tcflush(&far, QueueSelector::IFlush);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes arrive a moment later: the kernel hands them over in a worker.
    fn soon<T>(mut of: impl FnMut() -> Option<T>) -> T {
        for _ in 0..2_000 {
            if let Some(found) = of() {
                return found;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("it never came");
    }

    #[test]
    fn bytes_pass_as_they_are_and_the_end_of_a_program_is_seen() {
        let terminal = PseudoTerminal::make().unwrap();
        terminal.pass_bytes_as_they_are().unwrap();
        let mut buffer = [0; 600];
        assert_eq!(terminal.read(&mut buffer), (0, FarSide::There), "nobody has opened it yet");
        let far = terminal.open_far().unwrap();
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(rustix::io::write(&far, &bytes).unwrap(), bytes.len());
        let count = soon(|| Some(terminal.read(&mut buffer).0).filter(|count| *count > 0));
        assert_eq!(buffer[..count], bytes);
        assert_eq!(terminal.write(&bytes), bytes.len());
        let mut heard: Vec<u8> = Vec::new();
        while heard.len() < bytes.len() {
            let count = rustix::io::read(&far, &mut buffer[..]).unwrap();
            heard.extend(&buffer[..count]);
        }
        assert_eq!(heard, bytes);
        assert_eq!(terminal.read(&mut buffer).0, 0, "nothing is echoed");
        rustix::io::write(&far, b"last").unwrap();
        terminal.write(b"unread");
        drop(far);
        assert_eq!(terminal.far_side(), FarSide::Gone);
        assert_eq!(soon(|| Some(terminal.read(&mut buffer)).filter(|(count, _)| *count > 0)).0, 4);
        soon(|| (terminal.read(&mut buffer) == (0, FarSide::Gone)).then_some(()));
        terminal.forget_unread();
        let far = terminal.open_far().unwrap();
        assert_eq!(terminal.far_side(), FarSide::There);
        let flags = fcntl_getfl(&far).unwrap();
        fcntl_setfl(&far, flags | OFlags::NONBLOCK).unwrap();
        assert_eq!(rustix::io::read(&far, &mut buffer[..]), Err(rustix::io::Errno::AGAIN), "that was another's");
    }

    #[test]
    fn one_that_nobody_reads_takes_so_much_and_no_more() {
        let terminal = PseudoTerminal::make().unwrap();
        terminal.pass_bytes_as_they_are().unwrap();
        let _far = terminal.open_far().unwrap();
        let mut taken = 0;
        for _ in 0..10_000 {
            taken += terminal.write(&[7; 1_000]);
        }
        assert!((1_000..1_000_000).contains(&taken), "{taken}");
    }
}
