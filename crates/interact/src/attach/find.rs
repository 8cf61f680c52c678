//! The running program that the user means, and its terminal.

use super::window::Window;
use crate::display::users::UsersDisplay;
use crate::plan::InteractError;
use crate::processes::program_of;
use punctual_kernel::Refused;
use punctual_kernel::stat_line::{StatLine, processes};
use punctual_probe::nearest_name;
use rustix::fs::{FileType, Mode, OFlags, fstat, major, minor, open};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};

/// How many processes with the name are listed.
const MAX_LISTED: usize = 8;
/// Words of a command line that are kept, and characters of each.
const MAX_WORDS: usize = 64;
const MAX_WORD: usize = 1_000;
/// How much of one is read, bytes: a program can make its own as long as its memory.
const MAX_LINE: u64 = (MAX_WORDS * MAX_WORD) as u64;

/// A program at a terminal, or in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its words.
    pub words: Vec<String>,
    /// The path of its terminal, as it sees it.
    pub terminal: String,
    /// The kernel's number of the terminal.
    device: u32,
    /// When it was started, in the kernel's ticks: another process may get its number.
    started: u64,
    /// The display on which it shows a window; `None`: it is used at its terminal.
    display: Option<UsersDisplay>,
}

impl Target {
    /// The program with this number or name.
    ///
    /// # Errors
    /// One line that says why there is none, which one may be meant, or which ones have that name.
    pub fn find(wanted: &str) -> Result<Target, InteractError> {
        let wrong = |what: String| Err(InteractError::Target(what));
        if let Ok(pid) = wanted.parse::<u32>() {
            return match Target::of(pid) {
                Some(target) => target.somewhere(),
                None => wrong(format!("no process has the number {pid}")),
            };
        }
        let own = std::process::id();
        let all: Vec<Target> = processes().into_iter().filter(|pid| *pid != own).filter_map(Target::of).collect();
        let mut found: Vec<&Target> = all.iter().filter(|target| target.name == wanted).collect();
        if found.iter().any(|target| target.device != 0) {
            found.retain(|target| target.device != 0);
        }
        match found[..] {
            [one] => one.clone().somewhere(),
            [] => {
                let names: BTreeSet<String> =
                    all.iter().filter(|target| target.device != 0).map(|target| target.name.clone()).collect();
                let meant = nearest_name(wanted, &names).map_or_else(String::new, |meant| format!(": {meant}"));
                wrong(format!("no process is called {wanted}{meant}"))
            }
            _ => {
                let told: Vec<String> = found.iter().take(MAX_LISTED).map(|target| target.told()).collect();
                let more = found.len().saturating_sub(MAX_LISTED);
                let more = if more > 0 { format!(", and {more} more") } else { String::new() };
                wrong(format!("{} are called {wanted}: give the number of one: {}{more}", found.len(), told.join(", ")))
            }
        }
    }

    fn of(pid: u32) -> Option<Target> {
        let stat = StatLine::of_process(pid)?;
        let (name, device, started) = (stat.name().to_owned(), terminal_of(&stat)?, stat.started()?);
        let line = line_of(pid);
        let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).take(MAX_WORDS);
        let mut words: Vec<String> =
            words.map(|word| String::from_utf8_lossy(word).chars().take(MAX_WORD).collect()).collect();
        if words.is_empty() {
            words.push(name.clone());
        }
        let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00);
        let terminal = match major {
            136..=143 => format!("/dev/pts/{}", minor + (major - 136) * 256),
            _ => format!("/dev/tty{minor}"),
        };
        Some(Target { pid, name, words, terminal, device, started, display: None })
    }

    /// With the place where it is used: the display on which it shows a window, or else its terminal.
    fn somewhere(self) -> Result<Target, InteractError> {
        let Target { pid, name, .. } = &self;
        let shown = UsersDisplay::of(*pid).and_then(|display| {
            Window::is_shown(&display, &program_of(*pid))?;
            Ok(display)
        });
        let why = match shown {
            Ok(display) => return Ok(Target { display: Some(display), ..self }),
            Err(why) => why,
        };
        if self.device == 0 {
            let what = format!("{name} ({pid}) has no terminal, and no window that can be watched: {why}");
            return Err(InteractError::Target(what));
        }
        if Target::of(std::process::id()).is_some_and(|own| own.device == self.device) {
            let what = format!("{name} ({pid}) is at this terminal: run punctual in another one");
            return Err(InteractError::Target(what));
        }
        Ok(self)
    }

    fn told(&self) -> String {
        let words: String = self.words.join(" ").chars().filter(|letter| !letter.is_control()).take(40).collect();
        let place = if self.device == 0 { "no terminal" } else { &self.terminal };
        format!("{} ({words}, {place})", self.pid)
    }

    /// The display on which it shows a window, if it does.
    pub(crate) fn display(&self) -> Option<&UsersDisplay> {
        self.display.as_ref()
    }

    /// Whether it is still there.
    pub(crate) fn is_there(&self) -> bool {
        StatLine::of_process(self.pid).is_some_and(|now| !now.has_ended() && now.started() == Some(self.started))
    }

    /// Opens its terminal, without making it this process's own.
    pub(super) fn open_terminal(&self) -> Result<OwnedFd, Refused> {
        let doing = format!("opening the terminal of {} ({})", self.name, self.pid);
        let refused = |error: rustix::io::Errno| {
            let remedy = if matches!(error, rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) {
                ": run it with sudo"
            } else {
                ""
            };
            Refused::because(&doing, format!("{}{remedy}", std::io::Error::from(error)))
        };
        // As the program sees it: in a container another terminal has that name. It may also be no terminal at all, and to
        // open a device is enough for some of them to do something: so it is looked at before it is opened.
        let path = format!("/proc/{}/root{}", self.pid, self.terminal);
        let found = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(refused)?;
        let about = fstat(&found).map_err(refused)?;
        let (major, minor) = (major(about.st_rdev), minor(about.st_rdev));
        let is_it = FileType::from_raw_mode(about.st_mode) == FileType::CharacterDevice
            && major == self.device >> 8 & 0xfff
            && minor == (self.device & 0xff | self.device >> 12 & 0xfff00);
        if !is_it {
            return Err(Refused::because(&doing, "another one has its name"));
        }
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        open(format!("/proc/self/fd/{}", found.as_raw_fd()), flags, Mode::empty()).map_err(refused)
    }
}

/// The beginning of its command line.
fn line_of(pid: u32) -> Vec<u8> {
    let mut line = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{pid}/cmdline")) {
        let _ = file.take(MAX_LINE).read_to_end(&mut line);
    }
    line
}

/// The kernel's number of a process's terminal, 0 if it has none; the kernel writes it with a sign.
fn terminal_of(stat: &StatLine) -> Option<u32> {
    stat.field::<i32>(7).map(i32::cast_unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_read() {
        let stat = "42 (a) b) S 1 42 42 34817 42 4194304 1 0 0 0 1 2 0 0 20 0 1 0 98765 1 2 3";
        assert_eq!(terminal_of(&StatLine::parsed(stat).unwrap()), Some(34_817));
        let high = stat.replace("34817", "-2147483648");
        assert_eq!(terminal_of(&StatLine::parsed(&high).unwrap()), Some(1 << 31));
        let own = Target::of(std::process::id()).unwrap();
        assert!(own.is_there());
        assert!(!Target { started: own.started + 1, ..own }.is_there());
    }

    #[test]
    fn a_program_is_found_whatever_its_name_and_however_long_its_command_line() {
        use std::os::unix::ffi::OsStrExt;
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join(std::ffi::OsStr::from_bytes(b"\xff) Z"));
        std::fs::copy("/bin/sh", &program).unwrap();
        let words = ["-c".to_owned(), "read line".to_owned(), "x".repeat(100_000)];
        let mut command = std::process::Command::new(&program);
        let mut child = command.args(words).stdin(std::process::Stdio::piped()).spawn().unwrap();
        // A program has its command line a moment after it has been started.
        while line_of(child.id()).is_empty() {
            std::thread::yield_now();
        }
        let target = Target::of(child.id()).unwrap();
        let is_there = target.is_there();
        let _ = child.kill().and_then(|()| child.wait());
        assert_eq!((target.name.as_str(), is_there), ("\u{fffd}) Z", true));
        assert_eq!(target.words[3].len(), MAX_WORD);
        assert!(!target.is_there());

        let mut long = std::process::Command::new("/bin/sh");
        long.args(["-c", "read line"]).args(vec!["x".repeat(100_000); 4]).stdin(std::process::Stdio::piped());
        let mut child = long.spawn().unwrap();
        let mut line = line_of(child.id());
        while line.is_empty() {
            line = line_of(child.id());
        }
        let _ = child.kill().and_then(|()| child.wait());
        assert_eq!(line.len() as u64, MAX_LINE);
    }

    #[test]
    fn what_is_no_terminal_is_not_opened_in_place_of_one() {
        use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, 0o600.into(), 0).unwrap();
        let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&watch, directory.path(), WatchFlags::OPEN).unwrap();
        let own = Target::of(std::process::id()).unwrap();
        let target = Target { terminal: pipe.to_str().unwrap().to_owned(), device: 0, ..own };
        assert!(target.open_terminal().unwrap_err().to_string().contains("another one has its name"));
        let mut room = [std::mem::MaybeUninit::uninit(); 1_024];
        assert!(Reader::new(&watch, &mut room).next().is_err(), "it was opened");
        let terminal = punctual_kernel::pseudo_terminal::PseudoTerminal::make().unwrap();
        let far = fstat(terminal.open_far().unwrap()).unwrap().st_rdev;
        let device = major(far) << 8 | minor(far) & 0xff | (minor(far) & 0xfff00) << 12;
        let path = terminal.path().to_str().unwrap().to_owned();
        assert!(Target { terminal: path, device, ..target }.open_terminal().is_ok());
    }

    #[test]
    fn who_is_not_there_is_said_in_one_line() {
        let said = |wanted: &str| Target::find(wanted).unwrap_err().to_string();
        assert_eq!(said("4194400"), "no process has the number 4194400");
        assert!(said("no-such-program-at-all").starts_with("no process is called no-such-program-at-all"));
        assert!(said("1").contains("has no terminal"), "{}", said("1"));
    }
}
