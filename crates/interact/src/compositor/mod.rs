//! A Wayland compositor of this run's own, which draws into memory. Keys and clicks come from a virtual keyboard and a
//! virtual pointer, which programs cannot tell from real ones. What was drawn is what changed on its screen.
//!
//! The first window fills the screen, and a new window gets the keys; the pointer is in the middle of the screen at
//! first.

mod keymap;
mod server;
mod watcher;

use crate::display::keyboard::Keyboard;
use crate::screen::Screen;
use crate::script::{Act, Button, Direction, Key, MIDDLE, Script, Spot};
use crate::terminal::Arrival;
use punctual_kernel::{Refused, clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use server::{PROGRAM, SCREEN, Server, failed, refused};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use watcher::{Watcher, memory_of};
use wayland_client::backend::WaylandError;
use wayland_client::globals::{GlobalList, registry_queue_init};
use wayland_client::protocol::wl_keyboard::{KeyState, KeymapFormat};
use wayland_client::protocol::wl_output::WlOutput;
use wayland_client::protocol::wl_pointer::{Axis, AxisSource, ButtonState};
use wayland_client::protocol::wl_seat::WlSeat;
use wayland_client::{Connection, EventQueue, Proxy, QueueHandle};
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::zwp_virtual_keyboard_manager_v1::ZwpVirtualKeyboardManagerV1;
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::zwp_virtual_keyboard_v1::ZwpVirtualKeyboardV1;
use wayland_protocols_wlr::foreign_toplevel::v1::client::zwlr_foreign_toplevel_manager_v1::ZwlrForeignToplevelManagerV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_v1::ZwlrVirtualPointerV1;

/// Bytes of a request with three numbers.
const REQUEST_BYTES: u64 = 24;
/// A wheel's notch, as on mice.
const NOTCH: f64 = 15.0;
/// The kernel's codes for the buttons of a mouse.
const BUTTONS: [(Button, u32); 3] = [(Button::Left, 0x110), (Button::Right, 0x111), (Button::Middle, 0x112)];

/// An action of a hand.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Move {
    /// A key, by the kernel's number, and whether it goes down.
    Key(u32, bool),
    /// A button, by the kernel's number, and whether it goes down.
    Button(u32, bool),
    /// The pointer is there.
    Point(u32, u32),
    /// The wheel turns by a notch.
    Turn(Direction),
}

/// A compositor, and this process's connection to it.
pub(crate) struct Compositor {
    queue: EventQueue<Watcher>,
    watcher: Watcher,
    keyboard: Keyboard,
    keys: ZwpVirtualKeyboardV1,
    pointer: ZwlrVirtualPointerV1,
    /// What remains to be put in.
    ready: Vec<Move>,
    /// The keys that are held with others.
    held: u32,
    has_pointed: bool,
    server: Server,
}

impl Compositor {
    /// A compositor whose keyboard has all that a script types.
    pub(crate) fn start(script: &Script) -> Result<Compositor, Refused> {
        let typed = script.presses().filter_map(|press| Some(press.act.key()?.stroke.symbol));
        let (keyboard, description) =
            keymap::keyboard(typed).ok_or_else(|| refused("the script types more symbols than a keyboard has keys"))?;
        let (server, stream) = Server::start()?;
        let connection = Connection::from_socket(stream).map_err(refused)?;
        let (globals, mut queue) = registry_queue_init::<Watcher>(&connection).map_err(refused)?;
        let handle = queue.handle();
        let seat: WlSeat = bind(&globals, &handle, 1)?;
        let screen: WlOutput = bind(&globals, &handle, 1)?;
        let mut watcher = Watcher::new(bind(&globals, &handle, 3)?, screen, bind(&globals, &handle, 1)?);
        let _windows: ZwlrForeignToplevelManagerV1 = bind(&globals, &handle, 1)?;
        let keyboards: ZwpVirtualKeyboardManagerV1 = bind(&globals, &handle, 1)?;
        let pointers: ZwlrVirtualPointerManagerV1 = bind(&globals, &handle, 1)?;
        let keys = keyboards.create_virtual_keyboard(&seat, &handle, ());
        let (file, bytes) = keymap_file(&description)?;
        keys.keymap(KeymapFormat::XkbV1.into(), file.as_fd(), bytes);
        let pointer = pointers.create_virtual_pointer(Some(&seat), &handle, ());
        watcher.ask(&handle);
        // Programs find all of it there.
        queue.roundtrip(&mut watcher).map_err(refused)?;
        let (ready, has_pointed) = (Vec::new(), false);
        Ok(Compositor { queue, watcher, keyboard, keys, pointer, ready, held: 0, has_pointed, server })
    }

    /// Takes what the compositor has reported.
    fn take(&mut self) -> Result<Option<Arrival>, Refused> {
        self.queue.dispatch_pending(&mut self.watcher).map_err(refused)?;
        if !self.has_pointed && self.watcher.has_window() {
            self.has_pointed = true;
            let (x, y) = on_screen(MIDDLE);
            self.make(Move::Point(x, y));
        }
        self.flush()?;
        self.watcher.take().map_err(refused)
    }

    fn flush(&self) -> Result<(), Refused> {
        match self.queue.flush() {
            Err(WaylandError::Io(error)) if error.kind() != std::io::ErrorKind::WouldBlock => Err(failed(error)),
            Err(error @ WaylandError::Protocol(_)) => Err(refused(error)),
            _ => Ok(()),
        }
    }

    fn moves(&self, act: &Act) -> Vec<Move> {
        match act {
            Act::Key(key) => [self.down(key), self.up(key)].concat(),
            Act::KeyDown(key) => self.down(key),
            Act::KeyUp(key) => self.up(key),
            Act::Click(button) => {
                let number =
                    BUTTONS.iter().find(|(known, _)| known == button).map_or(BUTTONS[0].1, |(_, number)| *number);
                vec![Move::Button(number, true), Move::Button(number, false)]
            }
            Act::Scroll(direction) => vec![Move::Turn(*direction)],
            Act::Point(spot) => {
                let (x, y) = on_screen(*spot);
                vec![Move::Point(x, y)]
            }
        }
    }

    fn down(&self, key: &Key) -> Vec<Move> {
        let keys = self.keyboard.keys(key.stroke);
        keys.into_iter().map(|key| Move::Key(u32::from(key - keymap::FIRST), true)).collect()
    }

    fn up(&self, key: &Key) -> Vec<Move> {
        let keys = self.keyboard.keys(key.stroke);
        keys.into_iter().rev().map(|key| Move::Key(u32::from(key - keymap::FIRST), false)).collect()
    }

    fn make(&self, one: Move) {
        let at_ms = (clock::monotonic_ns() / 1_000_000) as u32;
        match one {
            Move::Key(key, down) => {
                self.keys.key(at_ms, key, if down { KeyState::Pressed } else { KeyState::Released }.into());
            }
            Move::Button(button, down) => {
                self.pointer.button(at_ms, button, if down { ButtonState::Pressed } else { ButtonState::Released });
                self.pointer.frame();
            }
            Move::Point(x, y) => {
                self.pointer.motion_absolute(at_ms, x, y, SCREEN.0, SCREEN.1);
                self.pointer.frame();
            }
            Move::Turn(direction) => {
                let (axis, by) = match direction {
                    Direction::Up => (Axis::VerticalScroll, -1),
                    Direction::Down => (Axis::VerticalScroll, 1),
                    Direction::Left => (Axis::HorizontalScroll, -1),
                    Direction::Right => (Axis::HorizontalScroll, 1),
                };
                self.pointer.axis_source(AxisSource::Wheel);
                self.pointer.axis_discrete(at_ms, axis, f64::from(by) * NOTCH, by);
                self.pointer.frame();
            }
        }
    }
}

impl Screen for Compositor {
    fn server(&self) -> u32 {
        self.server.pid
    }

    fn server_name(&self) -> &'static str {
        PROGRAM
    }

    fn environment(&self) -> Vec<(String, String)> {
        let directory = self.server.directory.to_string_lossy().into_owned();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        vec![
            pair("WAYLAND_DISPLAY", &self.server.socket),
            ("XDG_RUNTIME_DIR".to_owned(), directory),
            pair("DISPLAY", ""),
            pair("XDG_SESSION_TYPE", "wayland"),
            pair("GDK_BACKEND", "wayland"),
            pair("QT_QPA_PLATFORM", "wayland"),
            pair("SDL_VIDEODRIVER", "wayland"),
            pair("DBUS_SESSION_BUS_ADDRESS", "disabled:"),
        ]
    }

    fn has_window(&self) -> bool {
        self.watcher.has_window()
    }

    fn is_gone(&mut self) -> bool {
        self.server.is_gone()
    }

    fn listen(&mut self, other: BorrowedFd<'_>, patience: Duration) -> Result<Option<Arrival>, Refused> {
        if let Some(arrival) = self.take()? {
            return Ok(Some(arrival));
        }
        let Some(reading) = self.queue.prepare_read() else { return self.take() };
        let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        let connection = reading.connection_fd();
        let mut waited =
            [PollFd::from_borrowed_fd(connection, PollFlags::IN), PollFd::from_borrowed_fd(other, PollFlags::IN)];
        if poll(&mut waited, Some(&timeout)).unwrap_or(0) == 0 || waited[0].revents().is_empty() {
            return Ok(None);
        }
        match reading.read() {
            Err(WaylandError::Io(error)) if error.kind() != std::io::ErrorKind::WouldBlock => {
                return Err(failed(error));
            }
            Err(error @ WaylandError::Protocol(_)) => return Err(refused(error)),
            _ => {}
        }
        self.take()
    }

    fn begin(&mut self, act: &Act) {
        self.ready = self.moves(act);
    }

    fn put_in(&mut self) -> Result<u64, Refused> {
        let mut requests = 0;
        for one in std::mem::take(&mut self.ready) {
            self.make(one);
            requests += 1;
            // The compositor relies on a virtual keyboard to say what is held.
            if let Move::Key(key, down) = one
                && keymap::held(key) != 0
            {
                self.held = if down { self.held | keymap::held(key) } else { self.held & !keymap::held(key) };
                self.keys.modifiers(self.held, 0, 0, 0);
                requests += 1;
            }
        }
        self.flush()?;
        Ok(requests * REQUEST_BYTES)
    }
}

/// Something that the compositor offers.
fn bind<I>(globals: &GlobalList, queue: &QueueHandle<Watcher>, version: u32) -> Result<I, Refused>
where
    I: Proxy + 'static,
    Watcher: wayland_client::Dispatch<I, ()>,
{
    let offered = globals.bind::<I, Watcher, ()>(queue, version..=version, ());
    offered.map_err(|_| refused(format!("it does not offer {} {version}", I::interface().name)))
}

/// A keyboard's description in the form for compositors: a text file that ends with a 0.
fn keymap_file(description: &str) -> Result<(File, u32), Refused> {
    let bytes = description.len() as u32 + 1;
    let mut file = File::from(memory_of(bytes.into()).map_err(|error| failed(error.into()))?);
    file.write_all(description.as_bytes()).map_err(failed)?;
    Ok((file, bytes))
}

/// A place on the screen.
fn on_screen(spot: Spot) -> (u32, u32) {
    (spot.x.within(SCREEN.0), spot.y.within(SCREEN.1))
}
