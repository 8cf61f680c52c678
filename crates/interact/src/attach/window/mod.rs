//! Somebody's own use of a program in a window of an X display: punctual listens to what the display's server tells the
//! program.

mod eavesdrop;
mod presses;

use crate::delivered::is_read_by_server;
use crate::display::users::{UsersDisplay, server_name};
use crate::track::Tracker;
use eavesdrop::Eavesdrop;
use presses::Presses;
use punctual_kernel::Refused;
use punctual_probe::terminal::Seen;
use punctual_recording::Moment;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// How much later to look at what was seen: the server's report comes by a connection, to a thread that needs a CPU.
const HELD: Duration = Duration::from_millis(150);

/// What is not seen of somebody's own use of a window.
pub(super) const NOT_SEEN: [&str; 4] = [
    "keyboard, mouse, window manager, compositor, graphics processor and display: an input begins when the display's server reads it, and \
     ends when that has drawn",
    "which keys they were, and how the mouse moved",
    "what other processes draw into the program's windows",
    "input that a program takes by io_uring",
];

/// A window that is watched.
pub(super) struct Window {
    heard: Eavesdrop,
    presses: Presses,
    is_there: bool,
}

impl Window {
    /// Listens to a program and its descendants.
    pub(super) fn watch(display: &UsersDisplay, processes: &[u32]) -> Result<Window, Refused> {
        let doing = format!("watching windows on {}", display.name());
        let heard = Eavesdrop::start(display, processes).map_err(|reason| Refused::because(doing, reason))?;
        Ok(Window { heard, presses: Presses::default(), is_there: true })
    }

    /// Whether any of these shows a window on this display, or why it cannot be watched, in words.
    pub(super) fn is_shown(display: &UsersDisplay, processes: &[u32]) -> Result<(), String> {
        eavesdrop::shows_window(display, processes)
    }

    /// The server's process, and its name.
    pub(super) fn server(&self) -> (u32, &'static str) {
        (self.heard.server, server_name(self.heard.server))
    }

    /// The connection by which the server reports what it has drawn.
    pub(super) fn connection(&self) -> BorrowedFd<'_> {
        self.heard.drawings()
    }

    /// Takes what the server has told, and returns up to when to look at what was seen, ns.
    pub(super) fn upto(&mut self, now_ns: u64) -> u64 {
        let presses = &mut self.presses;
        self.is_there &= self.heard.take(|press| presses.told(press));
        self.presses.cut(now_ns.saturating_sub(HELD.as_nanos() as u64))
    }

    /// Finds out when the completely seen inputs began.
    pub(super) fn begin(&mut self, seen: &[Seen], until_ns: u64) {
        self.presses.begin(seen, until_ns);
    }

    /// Looks at what was seen, in order of time, and returns whether to tell the tracker. `inputs` counts what was put
    /// in.
    pub(super) fn look(&mut self, tracker: &mut Tracker, seen: &Seen, inputs: &mut u64) -> bool {
        self.put_in(tracker, seen.at_ns, inputs);
        // Most of what it reads is others' drawing.
        !is_read_by_server(seen)
    }

    /// Puts in what began by then.
    pub(super) fn put_in(&mut self, tracker: &mut Tracker, by_ns: u64, inputs: &mut u64) {
        while let Some(input) = self.presses.next(by_ns) {
            let begin_ns = input.begin_ns;
            tracker.put_in(input);
            *inputs += 1;
            tracker.seen(&Seen::invented(begin_ns, Moment::Got, self.heard.server).of_servers());
        }
    }

    /// Whether the server is there.
    pub(super) fn is_there(&self) -> bool {
        self.is_there
    }

    /// For how many inputs only the millisecond in which they began is known.
    pub(super) fn to_a_millisecond(&self) -> u64 {
        self.presses.to_a_millisecond
    }

    /// Presses for which there was no room.
    pub(super) fn lost(&self) -> u64 {
        self.presses.lost
    }
}
