//! Where a program is used: at a terminal, or in a window; a program in a window also has a terminal, which knows its
//! threads.

use crate::compositor::Compositor;
use crate::display::Display;
use crate::display::shared::SharedDisplay;
use crate::screen::Screen;
use crate::script::{Press, Script};
use crate::terminal::{Arrival, LastWords, Terminal};
use crate::track::{Input, Tracker};
use punctual_kernel::Refused;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

/// How a program is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// At a terminal.
    Terminal,
    /// In a window on a display of its own, an X server.
    Window,
    /// In a window on the display of whoever asks, an X server.
    UsersWindow,
    /// In a window of a Wayland compositor of its own.
    Wayland,
}

impl Via {
    /// The name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Via::Terminal => "pty",
            Via::Window => "x11",
            Via::UsersWindow => "x11-display",
            Via::Wayland => "wayland",
        }
    }

    /// What follows inputs to a program that is used in this way.
    pub(crate) fn tracker(self, followed: bool) -> Tracker {
        match self {
            Via::Terminal => Tracker::new(followed),
            Via::Window | Via::UsersWindow => Tracker::of_display(followed),
            Via::Wayland => Tracker::of_compositor(followed),
        }
    }
}

pub(crate) struct Place {
    terminal: Terminal,
    display: Option<Box<dyn Screen>>,
    /// What remains to be put in at a terminal.
    bytes: Vec<u8>,
    /// What the program in a window last said at its terminal.
    last_words: LastWords,
}

impl Place {
    pub(crate) fn make(via: Via, script: &Script) -> Result<Place, Refused> {
        let terminal = Terminal::make(script.size)?;
        let display: Option<Box<dyn Screen>> = match via {
            Via::Terminal => None,
            Via::Window => Some(Box::new(Display::start(script)?)),
            Via::UsersWindow => Some(Box::new(SharedDisplay::open(script)?)),
            Via::Wayland => Some(Box::new(Compositor::start(script)?)),
        };
        Ok(Place { terminal, display, bytes: Vec::new(), last_words: LastWords::default() })
    }

    pub(crate) fn path(&self) -> &Path {
        self.terminal.path()
    }

    /// The program's end of the terminal.
    pub(crate) fn own_end(&self) -> BorrowedFd<'_> {
        self.terminal.own_end()
    }

    /// The process of the display's server, if there is one.
    pub(crate) fn server(&self) -> Option<u32> {
        self.display.as_ref().map(|display| display.server())
    }

    /// Its name.
    pub(crate) fn server_name(&self) -> Option<&'static str> {
        self.display.as_ref().map(|display| display.server_name())
    }

    /// If others use the display too, the connection by which its server reports what the program has drawn.
    pub(crate) fn drawings(&self) -> Option<BorrowedFd<'_>> {
        self.display.as_ref()?.drawings()
    }

    /// The program has been started; all of its processes are below this one.
    pub(crate) fn program_is_below(&mut self, process: u32) {
        if let Some(display) = &mut self.display {
            display.program_is_below(process);
        }
    }

    /// What is different in the program's environment.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        self.display.as_ref().map(|display| display.environment()).unwrap_or_default()
    }

    /// Whether there is something to type into.
    pub(crate) fn is_there(&self) -> bool {
        self.display.as_ref().is_none_or(|display| display.has_window())
    }

    /// What the program last said, if it has a window, or should have one.
    pub(crate) fn last_words(&self) -> Option<String> {
        self.last_words.last()
    }

    /// Waits this long for output, and takes it; `None` if none came.
    pub(crate) fn listen(&mut self, patience: Duration) -> Result<Option<Arrival>, Refused> {
        let Some(display) = &mut self.display else { return Ok(self.terminal.listen(patience)) };
        let listened = display.listen(self.terminal.near(), patience);
        let arrival = unless_gone(display.as_mut(), listened)?;
        self.last_words.take(&mut self.terminal);
        Ok(arrival)
    }

    /// What is known of an input before it is put in; the input then waits for that.
    pub(crate) fn begin(&mut self, press: &Press, task: &str) -> Input {
        let mut input =
            Input { kind: press.kind.clone(), label: press.act.label(), task: task.to_owned(), ..Input::default() };
        if let Some(display) = &mut self.display {
            display.begin(&press.act);
        } else if let Some(key) = press.act.key() {
            self.bytes.clone_from(&key.bytes);
            input.bytes = key.bytes.len() as u64;
            input.ends_line = key.bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 4));
            input.is_for_terminal = self.terminal.edits_lines() && !input.ends_line;
            input.is_signal = matches!(key.bytes[..], [byte] if self.terminal.makes_signal_of(byte));
        }
        input
    }

    /// Puts in what waits, and returns whether all of it is in. `input` learns how much that was.
    pub(crate) fn put_in(&mut self, input: &mut Input) -> Result<bool, Refused> {
        if let Some(display) = &mut self.display {
            let put_in = display.put_in();
            input.bytes = unless_gone(display.as_mut(), put_in)?;
            return Ok(true);
        }
        let taken = self.terminal.put_in(&self.bytes);
        self.bytes.drain(..taken);
        Ok(self.bytes.is_empty())
    }
}

/// The result of using a display; if its server has ended, that is the reason.
fn unless_gone<T>(display: &mut dyn Screen, result: Result<T, Refused>) -> Result<T, Refused> {
    result.map_err(|refused| {
        if display.is_gone() { Refused::because("using the display", "its server has ended") } else { refused }
    })
}
