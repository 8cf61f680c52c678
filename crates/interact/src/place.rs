//! Where a program is used: at a terminal, or in a window; one of a window has a terminal too, which knows its threads.

use crate::display::Display;
use crate::script::{Act, Press, Script};
use crate::terminal::{Arrival, Terminal};
use crate::track::Input;
use punctual_kernel::Refused;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

/// How a program is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// At a terminal.
    Terminal,
    /// In a window on a display of its own.
    Window,
}

impl Via {
    /// The name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Via::Terminal => "pty",
            Via::Window => "x11",
        }
    }
}

pub(crate) struct Place {
    terminal: Terminal,
    display: Option<Display>,
    /// What is still to be put in.
    bytes: Vec<u8>,
    pretences: Vec<(u8, u8, (i16, i16))>,
    /// What the program in a window has last said at its terminal.
    last_words: Vec<u8>,
}

/// So much of what a program says is kept.
const MAX_WORDS: usize = 4_096;

impl Place {
    pub(crate) fn make(via: Via, script: &Script) -> Result<Place, Refused> {
        let terminal = Terminal::make(script.size)?;
        let display = if via == Via::Window { Some(Display::start(script)?) } else { None };
        Ok(Place { terminal, display, bytes: Vec::new(), pretences: Vec::new(), last_words: Vec::new() })
    }

    pub(crate) fn path(&self) -> &Path {
        self.terminal.path()
    }

    /// The program's end of the terminal.
    pub(crate) fn own_end(&self) -> BorrowedFd<'_> {
        self.terminal.own_end()
    }

    /// The process of the display's server, where there is one.
    pub(crate) fn server(&self) -> Option<u32> {
        self.display.as_ref().map(Display::server)
    }

    /// What is different in the program's environment.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        self.display.as_ref().map(Display::environment).unwrap_or_default()
    }

    /// Whether there is something to type into.
    pub(crate) fn is_there(&self) -> bool {
        self.display.as_ref().is_none_or(Display::has_window)
    }

    /// What the program last said, where it has a window, or should have.
    pub(crate) fn last_words(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.last_words);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(line.chars().filter(|letter| !letter.is_control()).take(200).collect())
    }

    /// Waits so long for output, and takes it; `None` where none came.
    pub(crate) fn listen(&mut self, patience: Duration) -> Result<Option<Arrival>, Refused> {
        let Some(display) = &mut self.display else { return Ok(self.terminal.listen(patience)) };
        let arrival = match display.listen(self.terminal.near(), patience) {
            Ok(arrival) => arrival,
            Err(_) if display.is_gone() => return Err(Refused::because("using the display", "its server has ended")),
            Err(refused) => return Err(refused),
        };
        if self.terminal.listen(Duration::ZERO).is_some() {
            self.last_words.extend_from_slice(self.terminal.heard());
            let too_many = self.last_words.len().saturating_sub(MAX_WORDS);
            self.last_words.drain(..too_many);
        }
        Ok(arrival)
    }

    /// What is known of an input before it is put in; it then waits to be.
    pub(crate) fn begin(&mut self, press: &Press, task: &str) -> Input {
        let mut input =
            Input { kind: press.kind.clone(), label: press.act.label(), task: task.to_owned(), ..Input::default() };
        if let Some(display) = &mut self.display {
            self.pretences = display.pretences(&press.act);
        } else if let Act::Key(key) = &press.act {
            self.bytes.clone_from(&key.bytes);
            input.bytes = key.bytes.len() as u64;
            input.ends_line = key.bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 4));
            input.is_for_terminal = self.terminal.edits_lines() && !input.ends_line;
            input.is_signal = matches!(key.bytes[..], [byte] if self.terminal.makes_signal_of(byte));
        }
        input
    }

    /// Puts in what waits; whether all of it is in. `input` learns how much that was.
    pub(crate) fn put_in(&mut self, input: &mut Input) -> Result<bool, Refused> {
        if let Some(display) = &self.display {
            input.bytes = display.put_in(&self.pretences)?;
            return Ok(true);
        }
        let taken = self.terminal.put_in(&self.bytes);
        self.bytes.drain(..taken);
        Ok(self.bytes.is_empty())
    }
}
