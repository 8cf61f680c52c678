//! A pseudo-terminal, and a program that leads a session at it.

use crate::processes::{Account, spent_by};
use punctual_kernel::guard::{Guard, GuardEvent, GuardedCommand, GuardedRun};
use punctual_kernel::hardware_counters::{HardwareCounters, NAMES};
use punctual_kernel::pseudo_terminal::PseudoTerminal;
use punctual_kernel::{Refused, clock};
use punctual_recording::{HardwareCounter, HardwareDocument};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, SpecialCodeIndex, Winsize, tcgetattr, tcsetwinsize};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// Both ends of a pseudo-terminal.
pub(crate) struct Terminal {
    /// The typist's end.
    keyboard: PseudoTerminal,
    /// The program's end. It is kept open, so that only the program's own end marks its end.
    own: OwnedFd,
    buffer: Box<[u8; 65_536]>,
    /// How much of it was heard last.
    heard: usize,
}

/// What happened at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// When, ns of `CLOCK_MONOTONIC`.
    pub(crate) at_ns: u64,
    /// How many bytes came.
    pub(crate) bytes: u64,
}

impl Terminal {
    pub(crate) fn make((columns, rows): (u16, u16)) -> Result<Terminal, Refused> {
        let terminal = PseudoTerminal::make()?;
        let own = terminal.open_far()?;
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&own, size)
            .map_err(|error| Refused::because("making a pseudo-terminal", std::io::Error::from(error).to_string()))?;
        Ok(Terminal { keyboard: terminal, own, buffer: Box::new([0; 65_536]), heard: 0 })
    }

    /// The program's end.
    pub(crate) fn own_end(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }

    /// The typist's end.
    pub(crate) fn near(&self) -> BorrowedFd<'_> {
        self.keyboard.near.as_fd()
    }

    /// Where programs open it.
    pub(crate) fn path(&self) -> &Path {
        self.keyboard.path()
    }

    /// What was heard last.
    pub(crate) fn heard(&self) -> &[u8] {
        &self.buffer[..self.heard]
    }

    /// Whether the terminal now edits lines by itself, and passes them on whole.
    pub(crate) fn edits_lines(&self) -> bool {
        tcgetattr(&self.keyboard.near).is_ok_and(|settings| settings.local_modes.contains(LocalModes::ICANON))
    }

    /// Whether the terminal edits lines and does not show them: the program asks for a password.
    pub(crate) fn hides_input(&self) -> bool {
        tcgetattr(&self.keyboard.near).is_ok_and(|settings| {
            let modes = settings.local_modes;
            modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO)
        })
    }

    /// Sets its size: columns and rows. The kernel tells its program.
    pub(crate) fn resize(&self, (columns, rows): (u16, u16)) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let _ = tcsetwinsize(&self.own, size);
    }

    /// Whether the terminal now makes a signal of this byte.
    pub(crate) fn makes_signal_of(&self, byte: u8) -> bool {
        let signals = [SpecialCodeIndex::VINTR, SpecialCodeIndex::VQUIT, SpecialCodeIndex::VSUSP];
        tcgetattr(&self.keyboard.near).is_ok_and(|settings| {
            settings.local_modes.contains(LocalModes::ISIG)
                && byte != 0
                && signals.iter().any(|&signal| settings.special_codes[signal] == byte)
        })
    }

    /// Puts bytes in, and returns how many were taken.
    pub(crate) fn put_in(&self, bytes: &[u8]) -> usize {
        self.keyboard.write(bytes)
    }

    /// Waits this long for output, and takes it; `None` if none came.
    pub(crate) fn listen(&mut self, patience: Duration) -> Option<Arrival> {
        let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        let mut waited = [PollFd::new(&self.keyboard.near, PollFlags::IN)];
        if poll(&mut waited, Some(&timeout)).unwrap_or(0) == 0 {
            return None;
        }
        let at_ns = clock::monotonic_ns();
        match rustix::io::read(&self.keyboard.near, &mut self.buffer[..]) {
            Ok(count) if count > 0 => {
                self.heard = count;
                Some(Arrival { at_ns, bytes: count as u64 })
            }
            // Nobody is at the other end for the moment, or something else is odd: no reason to spin.
            _ => {
                std::thread::sleep(patience.min(Duration::from_millis(1)));
                None
            }
        }
    }
}

/// What a program in a window last said at its terminal.
#[derive(Debug, Default)]
pub(crate) struct LastWords(Vec<u8>);

/// How much of what a program says is kept.
const MAX_WORDS: usize = 4_096;

impl LastWords {
    /// Takes what it has said since, if anything: if nobody did, it would wait for that.
    pub(crate) fn take(&mut self, terminal: &mut Terminal) {
        if terminal.listen(Duration::ZERO).is_some() {
            self.0.extend_from_slice(terminal.heard());
            let too_many = self.0.len().saturating_sub(MAX_WORDS);
            self.0.drain(..too_many);
        }
    }

    /// The last line.
    pub(crate) fn last(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.0);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(line.chars().filter(|letter| !letter.is_control()).take(200).collect())
    }
}

/// The program, with the guard that ends it and all that it starts.
pub(crate) struct Program {
    guard: Guard,
    /// What the processor counts for it; `None`: nobody asks.
    counters: Option<HardwareCounters>,
    /// Its process.
    pub(crate) pid: u32,
    /// When its start began, ns of `CLOCK_MONOTONIC`.
    pub(crate) started_ns: u64,
    ended: Option<Option<i32>>,
}

/// How long the guard may take to start something.
const STARTING: Duration = Duration::from_secs(10);

impl Program {
    /// Starts a program at a terminal, with changes in its environment; `counted` by the processor's counters, or not.
    pub(crate) fn start(
        words: &[String],
        terminal: &Path,
        environment: Vec<(String, String)>,
        counted: bool,
    ) -> Result<Program, Refused> {
        let command = GuardedCommand {
            words: words.to_vec(),
            terminal: Some(terminal.to_owned()),
            environment,
            ..GuardedCommand::default()
        };
        let mut counters = None;
        let run = GuardedRun { commands: vec![command], ..GuardedRun::default() };
        let mut guard = Guard::start_after(&run, |guard| {
            counters = counted.then(|| HardwareCounters::of_children(guard));
        })?;
        let shown = words.first().map_or("", String::as_str).to_owned();
        let refused = |reason: String| Refused::because(format!("starting {shown}"), reason);
        let until = std::time::Instant::now() + STARTING;
        let (mut ended, mut started) = (None, None);
        loop {
            for event in guard.events(Duration::from_millis(50)) {
                match event {
                    GuardEvent::Started { processes, .. } => {
                        let first = processes.first().copied();
                        started = Some(first.ok_or_else(|| refused("it is not there".to_owned()))?);
                    }
                    GuardEvent::NotStarted { reason, .. } | GuardEvent::Refused { reason } => {
                        return Err(refused(reason));
                    }
                    GuardEvent::Ended { code, .. } => ended = Some(code),
                    _ => {}
                }
            }
            if let Some((pid, started_ns)) = started {
                return Ok(Program { guard, counters, pid, started_ns, ended });
            }
            if guard.is_gone() || std::time::Instant::now() > until {
                return Err(refused("the guard did not start it".to_owned()));
            }
        }
    }

    /// What it has spent so far; `None` if it has ended, or nobody counts.
    pub(crate) fn spent(&self) -> Option<Account> {
        let counters = self.counters.as_ref()?;
        spent_by(self.pid).map(|account| account.with(counters))
    }

    /// The processor's counters, if anybody asks for them.
    pub(crate) fn hardware(&self) -> Option<HardwareDocument> {
        let refusals = self.counters.as_ref()?.refusals();
        let counters = NAMES
            .iter()
            .zip(refusals)
            .map(|(name, absent)| HardwareCounter { name: (*name).to_owned(), absent: absent.map(str::to_owned) });
        Some(HardwareDocument { counters: counters.collect() })
    }

    /// The guard's process.
    pub(crate) fn guard(&self) -> u32 {
        self.guard.id()
    }

    /// Whether it has ended, and with which code.
    pub(crate) fn has_ended(&mut self) -> Option<Option<i32>> {
        for event in self.guard.events(Duration::ZERO) {
            if let GuardEvent::Ended { code, .. } = event {
                self.ended = Some(code);
            }
        }
        if self.ended.is_none() && self.guard.is_gone() {
            self.ended = Some(None);
        }
        self.ended
    }

    /// Ends it and all that it started, and waits until none of it is left.
    pub(crate) fn end(self) -> Option<Option<i32>> {
        let mut ended = self.ended;
        for event in self.guard.end() {
            if let GuardEvent::Ended { code, .. } = event {
                ended = Some(code);
            }
        }
        ended
    }
}
