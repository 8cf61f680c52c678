//! A display of this run's own: a server that draws into memory. XTEST puts in keys and clicks, and DAMAGE reports what
//! was drawn.
//!
//! `shared` does the same on the user's own display, `users` finds that one.
//!
//! There is no window manager. Keys go to the window that was shown last and takes them; the first window has the
//! pointer in its middle.

pub(crate) mod clients;
pub(crate) mod keyboard;
mod server;
pub(crate) mod shared;
mod socket;
pub(crate) mod told;
pub(crate) mod users;
pub(crate) mod windows;
pub(crate) mod xtest;

use crate::screen::Screen;
use crate::script::{Act, MIDDLE, Script};
use crate::terminal::Arrival;
use keyboard::Keyboard;
use punctual_kernel::{Refused, clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use server::{PROGRAM, PROTOCOL, Server};
use std::os::fd::BorrowedFd;
use std::time::Duration;
use windows::{Windows, within_border};
use x11rb::connection::Connection;
use x11rb::errors::{ConnectionError, ReplyOrIdError};
use x11rb::protocol::Event;
use x11rb::protocol::damage::{ConnectionExt as _, ReportLevel};
use x11rb::protocol::xproto::{
    ChangeWindowAttributesAux, ConnectionExt as _, EventMask, InputFocus, MOTION_NOTIFY_EVENT,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::reexports::x11rb_protocol::parse_display::ConnectAddress;
use x11rb::rust_connection::{DefaultStream, RustConnection};
use xtest::{FakeInput, REQUEST_BYTES, fake, fake_inputs, keyboard, typed};

/// Bytes of a pixel.
const PIXEL_BYTES: u64 = 4;

/// A display, and this process's connection to it.
pub(crate) struct Display {
    connection: RustConnection,
    root: u32,
    windows: Windows,
    keyboard: Keyboard,
    /// Which window has the keys now.
    focus: u32,
    pointer: (i16, i16),
    /// What remains to be put in.
    ready: Vec<FakeInput>,
    server: Server,
}

fn refused(error: impl std::fmt::Display) -> Refused {
    Refused::because("using the display", error.to_string())
}

impl Display {
    /// A display whose keyboard has all that a script types.
    pub(crate) fn start(script: &Script) -> Result<Display, Refused> {
        let server = Server::start()?;
        let connecting = |error: String| refused(format!("connecting to :{}: {error}", server.number));
        let (stream, _) = DefaultStream::connect(&ConnectAddress::Socket(socket::path(server.number)))
            .map_err(|error| connecting(error.to_string()))?;
        socket::leads_to_us(&stream).map_err(connecting)?;
        let (name, data) = (PROTOCOL.as_bytes().to_vec(), server.cookie.clone().into_bytes());
        let connection =
            RustConnection::connect_to_stream_with_auth_info(stream, 0, name, data).map_err(|error| refused(&error))?;
        let root = connection.setup().roots.first().ok_or_else(|| refused("it has no screen"))?.root;
        let keyboard = prepare(&connection, root, script).map_err(|error| refused(&error))?;
        let keyboard = keyboard.ok_or_else(|| refused("the script types more symbols than a keyboard has keys"))?;
        let (windows, pointer, ready) = (Windows::default(), (0, 0), Vec::new());
        Ok(Display { connection, root, windows, keyboard, focus: 0, pointer, ready, server })
    }

    /// Takes what the server has reported.
    fn take(&mut self) -> Result<Option<Arrival>, Refused> {
        let at_ns = clock::monotonic_ns();
        let (mut bytes, mut is_drawn) = (0, false);
        while let Some(event) = self.connection.poll_for_event().map_err(refused)? {
            match event {
                Event::DamageNotify(drawn) => {
                    bytes += u64::from(drawn.area.width) * u64::from(drawn.area.height) * PIXEL_BYTES;
                    is_drawn = true;
                }
                Event::CreateNotify(made) if made.parent == self.root => {
                    let place = within_border((made.x, made.y), made.border_width);
                    self.windows.made(made.window, place, (made.width, made.height), made.override_redirect);
                }
                Event::ConfigureNotify(to) => {
                    let place = within_border((to.x, to.y), to.border_width);
                    self.windows.changed(to.window, place, (to.width, to.height));
                }
                Event::MapNotify(mapped) => self.windows.mapped(mapped.window, mapped.override_redirect),
                Event::UnmapNotify(unmapped) => self.windows.unmapped(unmapped.window),
                Event::DestroyNotify(gone) => self.windows.gone(gone.window),
                _ => {}
            }
        }
        self.turn_to_current().map_err(refused)?;
        Ok(is_drawn.then_some(Arrival { at_ns, bytes }))
    }

    /// Gives the keys to the current window, and at first puts the pointer in its middle.
    fn turn_to_current(&mut self) -> Result<(), ConnectionError> {
        let Some(window) = self.windows.current().copied().filter(|window| window.id != self.focus) else {
            return Ok(());
        };
        let is_first = self.focus == 0;
        self.focus = window.id;
        self.connection.set_input_focus(InputFocus::POINTER_ROOT, window.id, x11rb::CURRENT_TIME)?;
        if is_first {
            self.pointer = window.on_screen(MIDDLE);
            fake(&self.connection, self.root, &[(MOTION_NOTIFY_EVENT, 0, self.pointer)])?;
        }
        self.connection.flush()
    }

    /// Where the pointer is for an input.
    fn pointer_for(&mut self, act: &Act) -> (i16, i16) {
        if let (Act::Point(spot), Some(window)) = (act, self.windows.current()) {
            self.pointer = window.on_screen(*spot);
        }
        self.pointer
    }
}

impl Screen for Display {
    fn server(&self) -> u32 {
        self.server.pid
    }

    fn server_name(&self) -> &'static str {
        PROGRAM
    }

    fn environment(&self) -> Vec<(String, String)> {
        let authority = self.server.authority.to_string_lossy().into_owned();
        let own = [("DISPLAY".to_owned(), format!(":{}", self.server.number)), ("XAUTHORITY".to_owned(), authority)];
        own.into_iter().chain(only_this_display()).collect()
    }

    fn has_window(&self) -> bool {
        self.windows.current().is_some()
    }

    fn is_gone(&mut self) -> bool {
        self.server.is_gone()
    }

    fn listen(&mut self, other: BorrowedFd<'_>, patience: Duration) -> Result<Option<Arrival>, Refused> {
        let mut arrival = self.take()?;
        if arrival.is_none() {
            let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
            let mut waited =
                [PollFd::new(self.connection.stream(), PollFlags::IN), PollFd::from_borrowed_fd(other, PollFlags::IN)];
            if poll(&mut waited, Some(&timeout)).unwrap_or(0) > 0 {
                arrival = self.take()?;
            }
        }
        Ok(arrival)
    }

    fn begin(&mut self, act: &Act) {
        let pointer = self.pointer_for(act);
        self.ready = fake_inputs(act, &self.keyboard, pointer);
    }

    fn put_in(&mut self) -> Result<u64, Refused> {
        let ready = std::mem::take(&mut self.ready);
        fake(&self.connection, self.root, &ready).and_then(|()| self.connection.flush()).map_err(refused)?;
        Ok(ready.len() as u64 * REQUEST_BYTES)
    }
}

/// What keeps a program from another display, and from an instance of itself that runs already.
pub(crate) fn only_this_display() -> impl Iterator<Item = (String, String)> {
    let pairs = [
        ("WAYLAND_DISPLAY", ""),
        ("XDG_SESSION_TYPE", "x11"),
        ("GDK_BACKEND", "x11"),
        ("QT_QPA_PLATFORM", "xcb"),
        ("DBUS_SESSION_BUS_ADDRESS", "disabled:"),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// Asks for what it takes to follow a program on the screen: its windows, what is drawn, a keyboard with all that is
/// typed.
fn prepare(connection: &RustConnection, root: u32, script: &Script) -> Result<Option<Keyboard>, ReplyOrIdError> {
    connection.damage_query_version(1, 1)?.reply()?;
    connection.xtest_get_version(2, 2)?.reply()?;
    let mut keyboard = keyboard(connection)?;
    let Some(given) = keyboard.give_keys(typed(script)) else { return Ok(None) };
    for (key, symbol) in given {
        // The same with Shift and without.
        connection.change_keyboard_mapping(1, key, 2, &[symbol, symbol])?.check()?;
    }
    let selected = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_NOTIFY);
    connection.change_window_attributes(root, &selected)?.check()?;
    // Everything drawn on the screen, in whichever window: there is no other program on this display.
    let drawn = connection.generate_id()?;
    connection.damage_create(drawn, root, ReportLevel::RAW_RECTANGLES)?.check()?;
    Ok(Some(keyboard))
}
