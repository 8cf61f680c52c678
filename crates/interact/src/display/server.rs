//! A display server of this run's own, which nobody else may use, and which ends with the run, however that ends.

use super::socket;
use punctual_kernel::Refused;
use punctual_kernel::guard::{Guard, GuardEvent, GuardedCommand, GuardedPreparation, GuardedRun, SCRATCH};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The server: it draws into memory, and into nothing else.
pub(crate) const PROGRAM: &str = "Xvfb";
/// The name of its package.
const MISSING: &str = "it is not installed: its package is called xvfb (apt), xorg-x11-server-Xvfb (dnf) or \
                       xorg-server-xvfb (pacman)";
/// Its one screen: width, height and bits of a pixel.
const SCREEN: &str = "1280x1024x24";
/// How long it may take to start.
const STARTING: Duration = Duration::from_secs(20);
/// Where the key of the display is in the guard's directory.
const AUTHORITY: &str = "authority";
/// How a client shows that it may connect.
pub(super) const PROTOCOL: &str = "MIT-MAGIC-COOKIE-1";

/// The server and the guard that ends it.
pub(super) struct Server {
    guard: Guard,
    /// Its process.
    pub(super) pid: u32,
    /// Its display: 5 is `:5`.
    pub(super) number: u16,
    /// The file with the key, for programs.
    pub(super) authority: PathBuf,
    /// The key.
    pub(super) cookie: String,
}

impl Server {
    pub(super) fn start() -> Result<Server, Refused> {
        let refused = |reason: String| Refused::because(format!("starting {PROGRAM}"), reason);
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|directory| directory.join(PROGRAM).is_file()) {
            return Err(refused(MISSING.to_owned()));
        }
        let cookie = cookie().map_err(|error| refused(format!("cannot get random numbers: {error}")))?;
        let authority = format!("{SCRATCH}/{AUTHORITY}");
        // A key repeats if whoever types is kept from a CPU before it is released: the program would get keys that nobody typed.
        let words = [PROGRAM, "-displayfd", "1", "-screen", "0", SCREEN, "-nolisten", "tcp", "-noreset", "-r", "-auth"];
        let mut words: Vec<String> = words.map(str::to_owned).to_vec();
        words.push(authority);
        let run = GuardedRun {
            preparations: vec![GuardedPreparation {
                files: vec![(AUTHORITY.to_owned(), entry(&host_name(), &cookie))],
                script: None,
            }],
            commands: vec![GuardedCommand { words, tells_lines: true, ..GuardedCommand::default() }],
            ..GuardedRun::default()
        };
        let mut guard = Guard::start(&run)?;
        let until = Instant::now() + STARTING;
        let (mut started, mut last_words) = (None, String::new());
        while Instant::now() < until && !guard.is_gone() {
            for event in guard.events(Duration::from_millis(50)) {
                match event {
                    GuardEvent::Started { processes, scratch } => {
                        started = processes.first().map(|&(pid, _)| (pid, scratch.join(AUTHORITY)));
                    }
                    GuardEvent::NotStarted { reason, .. }
                    | GuardEvent::NotPrepared { reason, .. }
                    | GuardEvent::Refused { reason } => return Err(refused(reason)),
                    GuardEvent::Ended { last_words: told, .. } => {
                        return Err(refused(format!("it ended at once: {}", told.unwrap_or(last_words))));
                    }
                    // It writes the display's number; everything else that it says is a complaint.
                    GuardEvent::Line { text, .. } => match (text.parse(), started.take()) {
                        (Ok(number), Some((pid, authority))) => {
                            socket::is_ours(number).map_err(refused)?;
                            return Ok(Server { guard, pid, number, authority, cookie });
                        }
                        (_, there) => (started, last_words) = (there, text),
                    },
                    _ => {}
                }
            }
        }
        Err(refused(format!("it opened no display within {} s: {last_words}", STARTING.as_secs())))
    }

    /// Whether it has ended.
    pub(super) fn is_gone(&mut self) -> bool {
        let ended = |event: &GuardEvent| matches!(event, GuardEvent::Ended { .. });
        self.guard.events(Duration::ZERO).iter().any(ended) || self.guard.is_gone()
    }
}

/// A key of 128 bits, as the letters of its hexadecimal form, so that the file is text.
fn cookie() -> std::io::Result<String> {
    let mut bytes = [0u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The content of an authority file (Xau(3)) for any display of this machine: numbers, and strings with their lengths,
/// the higher byte first.
fn entry(host: &str, cookie: &str) -> String {
    /// Displays of this machine.
    const LOCAL: &str = "\u{1}\0";
    let string = |text: &str| {
        // Names and keys are shorter than 128 bytes, so that both bytes of the length are characters.
        let text = text.get(..text.len().min(127)).unwrap_or_default();
        format!("\0{}{text}", char::from(text.len() as u8))
    };
    [LOCAL.to_owned(), string(host), string(""), string(PROTOCOL), string(cookie)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_random_and_its_file_as_libraries_read_it() {
        let (one, other) = (cookie().unwrap(), cookie().unwrap());
        assert!(one != other && one.len() == 32);
        let expected = b"\x01\0\0\x03box\0\0\0\x12MIT-MAGIC-COOKIE-1\0\x04abcd";
        assert_eq!(entry("box", "abcd").as_bytes(), expected);
    }
}
