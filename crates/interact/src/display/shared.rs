//! The user's own display, which other programs use too: XTEST puts in keys and clicks, and DAMAGE reports what the program's
//! windows show.
//!
//! What is put in must reach the program and nobody else. Before each input the server is told to serve nobody else; it then
//! says which window has the keys, or is below the pointer, whether a key is held, and which layout the keyboard has. The
//! input and the end of that state go to it in one message. If somebody has turned to another window, the run ends.

use super::clients::{Client, MAX_DEPTH, MAX_WINDOWS, clients_of};
use super::keyboard::Keyboard;
use super::users::{UsersDisplay, server_name};
use super::windows::{Window, Windows};
use super::xtest::{FakeInput, REQUEST_BYTES, fake, fake_inputs, keyboard};
use super::{PIXEL_BYTES, only_this_display};
use crate::processes::program_of;
use crate::screen::Screen;
use crate::script::{Act, MIDDLE, Script};
use crate::terminal::Arrival;
use punctual_kernel::{Refused, clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::errors::ReplyOrIdError;
use x11rb::protocol::Event;
use x11rb::protocol::damage::{ConnectionExt as _, ReportLevel};
use x11rb::protocol::xproto::{
    ChangeWindowAttributesAux, ConnectionExt as _, CreateNotifyEvent, EventMask, GrabMode, GrabStatus, InputFocus,
    MOTION_NOTIFY_EVENT, MapState,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// A window manager gives the keys to a new window within this time; without one, this process does.
const MANAGED: Duration = Duration::from_millis(200);
/// Of what is held: Shift, Caps Lock, Control, Alt, Super and all buttons of the mouse, but not Num Lock.
const HELD: u16 = 0x1f4f;
/// Where the number of the keyboard's layout is in the same word.
const LAYOUT_SHIFT: u16 = 13;
const LAYOUTS: u16 = 3;

/// The user's display, and this process's connections to it.
pub(crate) struct SharedDisplay {
    display: UsersDisplay,
    /// Asks, and puts in.
    control: RustConnection,
    /// Reports what was drawn, and nothing else.
    drawings: RustConnection,
    root: u32,
    /// The process of the server.
    server: u32,
    /// The process below which all of the program's are.
    above: Option<u32>,
    clients: Vec<Client>,
    windows: Windows,
    watched: HashSet<u32>,
    /// The window that is to have the keys, since when, and whether it has been given them.
    turned_to: Option<(u32, Instant, bool)>,
    keyboard: Keyboard,
    /// Where the pointer was put.
    pointer: Option<(i16, i16)>,
    /// What remains to be put in, or why it must not be.
    ready: Result<Vec<FakeInput>, Refused>,
}

fn refused(error: impl std::fmt::Display) -> Refused {
    Refused::because("using your display", error.to_string())
}

impl SharedDisplay {
    /// The display of whoever asks, if that is theirs and its keyboard has all that a script types.
    pub(crate) fn open(script: &Script) -> Result<SharedDisplay, Refused> {
        let display = UsersDisplay::of_asker().map_err(refused)?;
        let (control, server) = display.connect_as_owner().map_err(refused)?;
        let (drawings, _) = display.connect_as_owner().map_err(refused)?;
        let root = control.setup().roots.first().ok_or_else(|| refused("it has no screen"))?.root;
        let keyboard = prepare(&control, &drawings, root).map_err(|error| refused(&error))??;
        let lacks = |act: &Act| act.key().is_some_and(|key| keyboard.keys(key.stroke).is_empty());
        if let Some(press) = script.presses().find(|press| lacks(&press.act)) {
            let key = press.act.label();
            return Err(refused(format!("{}'s keyboard has no key for `{key}`, and is left as it is", display.name())));
        }
        Ok(SharedDisplay {
            display,
            control,
            drawings,
            root,
            server,
            above: None,
            clients: Vec::new(),
            windows: Windows::default(),
            watched: HashSet::new(),
            turned_to: None,
            keyboard,
            pointer: None,
            ready: Ok(Vec::new()),
        })
    }

    fn owns(&self, id: u32) -> bool {
        self.clients.iter().any(|client| client.owns(id))
    }

    /// Takes what the server has reported.
    fn take(&mut self) -> Result<Option<Arrival>, ReplyOrIdError> {
        let at_ns = clock::monotonic_ns();
        let (mut bytes, mut is_drawn) = (0, false);
        while let Some(event) = self.drawings.poll_for_event()? {
            if let Event::DamageNotify(drawn) = event {
                bytes += u64::from(drawn.area.width) * u64::from(drawn.area.height) * PIXEL_BYTES;
                is_drawn = true;
            }
        }
        while let Some(event) = self.control.poll_for_event()? {
            match event {
                Event::CreateNotify(made) if made.parent == self.root => self.learn(&made)?,
                Event::ConfigureNotify(to) => self.windows.changed(to.window, (to.x, to.y), (to.width, to.height)),
                Event::MapNotify(mapped) => self.windows.mapped(mapped.window, mapped.override_redirect),
                Event::ReparentNotify(to) => {
                    let within = self.owns(to.parent).then_some(to.parent);
                    self.windows.reparented(to.window, within);
                }
                Event::UnmapNotify(unmapped) => self.windows.unmapped(unmapped.window),
                Event::DestroyNotify(gone) => {
                    self.windows.gone(gone.window);
                    self.watched.remove(&gone.window);
                }
                _ => {}
            }
        }
        self.turn_to_current(false)?;
        self.drawings.flush()?;
        self.control.flush()?;
        Ok(is_drawn.then_some(Arrival { at_ns, bytes }))
    }

    /// Somebody has made a window: if that is the program, what is drawn there and what becomes of it is reported from now on.
    fn learn(&mut self, made: &CreateNotifyEvent) -> Result<(), ReplyOrIdError> {
        let Some(above) = self.above else { return Ok(()) };
        if !self.owns(made.window) {
            self.clients = clients_of(&self.control, &program_of(above))?;
        }
        if !self.owns(made.window) || self.watched.len() >= MAX_WINDOWS || !self.watched.insert(made.window) {
            return Ok(());
        }
        let (place, size) = ((made.x, made.y), (made.width, made.height));
        self.windows.made(made.window, place, size, made.override_redirect);
        let drawn = self.drawings.generate_id()?;
        // It may be gone by now.
        self.drawings.damage_create(drawn, made.window, ReportLevel::RAW_RECTANGLES)?.ignore_error();
        self.drawings.flush()?;
        // A window manager will move it away from directly below the screen.
        let selected = ChangeWindowAttributesAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
        self.control.change_window_attributes(made.window, &selected)?.ignore_error();
        // It may have done that by now.
        let state = self.control.get_window_attributes(made.window)?.reply().map(|is| is.map_state);
        if state.is_ok_and(|state| state != MapState::UNMAPPED) {
            self.windows.mapped(made.window, made.override_redirect);
        }
        Ok(())
    }

    /// Sees to it once for each new window that the program has the keys: a window manager gives them to it, or nobody does.
    fn turn_to_current(&mut self, now: bool) -> Result<(), ReplyOrIdError> {
        let Some(id) = self.windows.current().map(|window| window.id) else { return Ok(()) };
        let (_, since, is_done) = match self.turned_to {
            Some(turned) if turned.0 == id => turned,
            _ => (id, Instant::now(), false),
        };
        let is_due = !is_done && (now || since.elapsed() >= MANAGED);
        self.turned_to = Some((id, since, is_done || is_due));
        if is_due {
            let focus = self.control.get_input_focus()?.reply()?.focus;
            if !self.owns(focus) {
                self.control.set_input_focus(InputFocus::PARENT, id, x11rb::CURRENT_TIME)?.ignore_error();
            }
        }
        Ok(())
    }

    /// The events to fake for an input, while the server serves nobody else; or why it must not be put in.
    fn checked(&mut self, act: &Act) -> Result<Result<Vec<FakeInput>, String>, ReplyOrIdError> {
        self.turn_to_current(true)?;
        self.control.grab_server()?.ignore_error();
        let (focus, pointer) = (self.control.get_input_focus()?, self.control.query_pointer(self.root)?);
        let (focus, pointer) = (focus.reply()?.focus, pointer.reply()?);
        let label = act.label();
        let state = u16::from(pointer.mask);
        if let Some(what) = wrong_state(state) {
            return Ok(Err(format!("{what}: stopped before `{label}`")));
        }
        let mut at = self.pointer.unwrap_or_default();
        match act {
            act if act.key().is_some() && !self.owns(focus) => {
                return Ok(Err(format!("another window has the keys: stopped before `{label}` went there")));
            }
            Act::Key(_) | Act::KeyDown(_) | Act::KeyUp(_) => {}
            Act::Point(spot) => at = self.on_screen(|window| window.on_screen(*spot))?,
            Act::Click(_) | Act::Scroll(_) => {
                if self.pointer.is_none() {
                    at = self.on_screen(|window| window.on_screen(MIDDLE))?;
                }
                if !self.is_program_at(at)? {
                    return Ok(Err(format!("another window is in front there: stopped before `{label}` went to it")));
                }
            }
        }
        let mut all = fake_inputs(act, &self.keyboard, at);
        if act.key().is_none() {
            self.pointer = Some(at);
        }
        if matches!(act, Act::Click(_) | Act::Scroll(_)) && (pointer.root_x, pointer.root_y) != at {
            // A hand has moved the mouse.
            all.insert(0, (MOTION_NOTIFY_EVENT, 0, at));
        }
        Ok(Ok(all))
    }

    /// A place in the current window, which a window manager may have moved.
    fn on_screen(&self, place: impl Fn(&Window) -> (i16, i16)) -> Result<(i16, i16), ReplyOrIdError> {
        let Some(window) = self.windows.current() else { return Ok((0, 0)) };
        let corner = self.control.translate_coordinates(window.id, self.root, 0, 0)?.reply()?;
        Ok(place(&window.at(corner.dst_x, corner.dst_y)))
    }

    /// Whether the window at this place is the program's.
    fn is_program_at(&self, (x, y): (i16, i16)) -> Result<bool, ReplyOrIdError> {
        let mut window = self.root;
        for _ in 0..MAX_DEPTH {
            let child = self.control.translate_coordinates(self.root, window, x, y)?.reply()?.child;
            if child == x11rb::NONE || self.owns(child) {
                return Ok(child != x11rb::NONE);
            }
            window = child;
        }
        Ok(false)
    }
}

/// Why nothing must be typed in this state of the keyboard and the mouse, in words.
fn wrong_state(state: u16) -> Option<&'static str> {
    if state & HELD != 0 {
        Some("somebody holds a key or a button, or Caps Lock is on")
    } else if state >> LAYOUT_SHIFT & LAYOUTS != 0 {
        Some("the keyboard is not set to its first layout")
    } else {
        None
    }
}

/// Asks for what it takes to follow a program on the screen: the keyboard, or why not to type there, in words.
fn prepare(
    control: &RustConnection,
    drawings: &RustConnection,
    root: u32,
) -> Result<Result<Keyboard, Refused>, ReplyOrIdError> {
    drawings.damage_query_version(1, 1)?.reply()?;
    control.xtest_get_version(2, 2)?.reply()?;
    clients_of(control, &[])?;
    // A locked screen has the keyboard for itself, whatever window has the keys.
    let mode = GrabMode::ASYNC;
    let grabbed = control.grab_keyboard(false, root, x11rb::CURRENT_TIME, mode, mode)?.reply()?;
    control.ungrab_keyboard(x11rb::CURRENT_TIME)?.check()?;
    if grabbed.status != GrabStatus::SUCCESS {
        return Ok(Err(refused("somebody has its keyboard for themselves: a locked screen, or an open menu")));
    }
    let selected = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_NOTIFY);
    control.change_window_attributes(root, &selected)?.check()?;
    Ok(Ok(keyboard(control)?))
}

impl Screen for SharedDisplay {
    fn server(&self) -> u32 {
        self.server
    }

    fn server_name(&self) -> &'static str {
        server_name(self.server)
    }

    fn environment(&self) -> Vec<(String, String)> {
        self.display.environment().into_iter().chain(only_this_display()).collect()
    }

    fn has_window(&self) -> bool {
        self.windows.current().is_some()
    }

    fn is_gone(&mut self) -> bool {
        !Path::new(&format!("/proc/{}", self.server)).exists()
    }

    fn drawings(&self) -> Option<BorrowedFd<'_>> {
        Some(self.drawings.stream().as_fd())
    }

    fn program_is_below(&mut self, process: u32) {
        self.above = Some(process);
    }

    fn listen(&mut self, other: BorrowedFd<'_>, patience: Duration) -> Result<Option<Arrival>, Refused> {
        let mut arrival = self.take().map_err(refused)?;
        if arrival.is_none() {
            let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
            let mut waited = [
                PollFd::new(self.drawings.stream(), PollFlags::IN),
                PollFd::new(self.control.stream(), PollFlags::IN),
                PollFd::from_borrowed_fd(other, PollFlags::IN),
            ];
            if poll(&mut waited, Some(&timeout)).unwrap_or(0) > 0 {
                arrival = self.take().map_err(refused)?;
            }
        }
        Ok(arrival)
    }

    fn begin(&mut self, act: &Act) {
        self.ready = match self.checked(act) {
            Ok(Ok(fake_inputs)) => Ok(fake_inputs),
            Ok(Err(what)) => Err(refused(what)),
            Err(error) => Err(refused(error)),
        };
    }

    fn put_in(&mut self) -> Result<u64, Refused> {
        let ready = std::mem::replace(&mut self.ready, Ok(Vec::new()));
        let put = || {
            if let Ok(fake_inputs) = &ready {
                fake(&self.control, self.root, fake_inputs)?;
            }
            self.control.ungrab_server()?.ignore_error();
            self.control.flush()
        };
        put().map_err(refused)?;
        Ok(ready?.len() as u64 * REQUEST_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_typed_while_somebody_holds_a_key_or_has_another_layout() {
        const NUM_LOCK: u16 = 1 << 4;
        for free in [0, NUM_LOCK] {
            assert_eq!(wrong_state(free), None);
        }
        // Shift, Caps Lock, Control, Alt, Super, the first and the fifth button.
        for held in [0, 1, 2, 3, 6, 8, 12].map(|bit| 1 << bit) {
            assert!(wrong_state(held | NUM_LOCK).is_some_and(|what| what.contains("holds")), "{held:#x}");
        }
        assert!(wrong_state(1 << LAYOUT_SHIFT).is_some_and(|what| what.contains("layout")));
        assert!(wrong_state(3 << LAYOUT_SHIFT).is_some());
    }
}
