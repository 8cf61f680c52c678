//! Makes a script of what somebody does in a program's windows on their own display: keys, clicks and turns of the wheel.
//!
//! What is pressed in other programs passes through this process too, and is counted, not kept.

mod listener;
mod stream;
mod symbols;

use super::{LearnEnd, Learned, ROUND, written};
use crate::attach::Target;
use crate::display::clients::{clients_of, windows_of};
use crate::display::only_this_display;
use crate::display::users::UsersDisplay;
use crate::display::windows::within_border;
use crate::plan::InteractError;
use crate::processes::program_of;
use crate::terminal::{LastWords, Program, Terminal};
use listener::Listener;
use punctual_kernel::capabilities::find_program;
use punctual_kernel::{Refused, clock};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use stream::{Heard, Stream};
use symbols::{Levels, Symbols};
use x11rb::connection::Connection;
use x11rb::errors::{ReplyError, ReplyOrIdError};
use x11rb::protocol::record::ConnectionExt as _;
use x11rb::protocol::xkb::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    ChangeWindowAttributesAux, ConfigureNotifyEvent, ConnectionExt as _, CreateNotifyEvent, EventMask, MapState,
    WindowClass,
};
use x11rb::rust_connection::RustConnection;

/// How much is taken at a time.
const MAX_AT_ONCE: usize = 10_000;
/// At the end, the rest has come once nothing comes for this long, ...
const REST: Duration = Duration::from_millis(100);
/// ... and this is the longest wait.
const MAX_REST: Duration = Duration::from_secs(1);
/// Of the terminal at which the program runs, columns and rows.
const SIZE: (u16, u16) = (80, 24);

/// Starts a program on the display of whoever asks, and learns what is done in its windows until it ends, or `is_asked`
/// says so.
///
/// # Errors
/// What was refused: there is no display, for instance, or no such program.
pub fn learn_in_window(program: &[String], is_asked: &dyn Fn() -> bool) -> Result<Learned, InteractError> {
    let name = program.first().map_or("", String::as_str);
    if find_program(name).is_none() {
        return Err(Refused::because(format!("starting `{name}`"), "there is no such executable program").into());
    }
    let display = UsersDisplay::of_asker().map_err(refused)?;
    let began_ns = clock::monotonic_ns();
    let mut session = Session::open(&display, UsersDisplay::connect_as_owner)?;
    let mut terminal = Terminal::make(SIZE)?;
    let environment = display.environment().into_iter().chain(only_this_display()).collect();
    let mut running = Program::start(program, terminal.path(), environment, false)?;
    session.above = Some(running.guard());
    let mut words = LastWords::default();
    let end = loop {
        let is_there = session.round();
        words.take(&mut terminal);
        if running.has_ended().is_some() {
            break LearnEnd::Program(None);
        }
        if !is_there {
            break LearnEnd::HungUp;
        }
        if is_asked() {
            break LearnEnd::Asked;
        }
    };
    session.take_rest();
    words.take(&mut terminal);
    let ended = running.end();
    let end = if let LearnEnd::Program(_) = end { LearnEnd::Program(ended.flatten()) } else { end };
    if !session.has_shown {
        let words = words.last().map_or_else(String::new, |words| format!("; it said: {words}"));
        let what = format!("{name} showed no window on {}{words}", display.name());
        return Err(Refused::because("learning", what).into());
    }
    Ok(session.learned(name.rsplit('/').next().unwrap_or(name), began_ns, end))
}

/// Learns what is done in the windows of a program that runs, until it ends, or `is_asked` says so.
///
/// # Errors
/// What was refused: it has no window, for instance.
pub fn learn_attached(target: &Target, is_asked: &dyn Fn() -> bool) -> Result<Learned, InteractError> {
    let Some(display) = target.display() else {
        let what = format!(
            "{} ({}) shows no window: what is typed at a terminal is learned by starting the program",
            target.name, target.pid
        );
        return Err(InteractError::Target(what));
    };
    let began_ns = clock::monotonic_ns();
    let mut session = Session::open(display, UsersDisplay::connect)?;
    session.above = Some(target.pid);
    session.find_shown().map_err(refused)?;
    let end = loop {
        let is_there = session.round();
        if !target.is_there() {
            break LearnEnd::Gone;
        }
        if !is_there {
            break LearnEnd::HungUp;
        }
        if is_asked() {
            break LearnEnd::Asked;
        }
    };
    session.take_rest();
    Ok(session.learned(&target.name, began_ns, end))
}

fn refused(error: impl std::fmt::Display) -> Refused {
    Refused::because("learning on the display", error.to_string())
}

/// The display, as far as it shows the program.
struct Session {
    control: RustConnection,
    /// Asked for what keys are: whoever has asked that is told less of it when they change.
    keyboard: RustConnection,
    context: u32,
    root: u32,
    stream: Stream,
    listener: Listener,
    /// The process below which all of the program's are.
    above: Option<u32>,
    /// Which clients are the program's, as far as that was asked.
    clients: HashMap<u32, bool>,
    /// Whether windows may have moved with what is around them.
    is_moved: bool,
    /// Whether the program has shown a window.
    has_shown: bool,
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.control.record_disable_context(self.context).and_then(|_| self.control.flush());
    }
}

impl Session {
    fn open(
        display: &UsersDisplay,
        connect: impl Fn(&UsersDisplay) -> Result<(RustConnection, u32), String>,
    ) -> Result<Session, Refused> {
        let (control, _) = connect(display).map_err(refused)?;
        let (recorder, _) = connect(display).map_err(refused)?;
        let (keyboard, _) = connect(display).map_err(refused)?;
        let root = control.setup().roots.first().ok_or_else(|| refused("it has no screen"))?.root;
        let start = || -> Result<(u32, Stream, Symbols), ReplyOrIdError> {
            clients_of(&control, &[])?;
            let context = control.generate_id()?;
            let stream = Stream::start(&control, recorder, context)?;
            let selected = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_NOTIFY);
            control.change_window_attributes(root, &selected)?.check()?;
            Ok((context, stream, symbols(&control, &keyboard)?))
        };
        let (context, stream, symbols) = start().map_err(|error| refused(&error))?;
        let listener = Listener::new(symbols, clock::monotonic_ns());
        let clients = HashMap::new();
        Ok(Session {
            control,
            keyboard,
            context,
            root,
            stream,
            listener,
            above: None,
            clients,
            is_moved: false,
            has_shown: false,
        })
    }

    /// Finds the windows that are shown already.
    fn find_shown(&mut self) -> Result<(), ReplyOrIdError> {
        let Some(above) = self.above else { return Ok(()) };
        let clients = clients_of(&self.control, &program_of(above))?;
        for window in windows_of(&self.control, self.root, &clients)? {
            let asked = (self.control.get_window_attributes(window)?, self.control.get_geometry(window)?);
            // It may be gone by now.
            let (Ok(is), Ok(has)) = (asked.0.reply(), asked.1.reply()) else { continue };
            if is.class != WindowClass::INPUT_OUTPUT {
                continue;
            }
            self.follow(window)?;
            let windows = &mut self.listener.windows;
            windows.made(window, (has.x, has.y), (has.width, has.height), is.override_redirect);
            if is.map_state != MapState::UNMAPPED {
                windows.mapped(window, is.override_redirect);
                self.has_shown = true;
            }
        }
        self.is_moved = true;
        Ok(())
    }

    /// Waits for something and takes it; false if the server is gone.
    fn round(&mut self) -> bool {
        if let Ok((heard, at_ns)) = self.stream.heard.recv_timeout(ROUND) {
            self.take(heard, at_ns);
        }
        for _ in 0..MAX_AT_ONCE {
            let Ok((heard, at_ns)) = self.stream.heard.try_recv() else { break };
            self.take(heard, at_ns);
        }
        // A window that answers a click by moving is still where it was clicked.
        self.find_places();
        self.listener.settle(clock::monotonic_ns());
        // What comes here has come in the stream, too.
        for _ in 0..MAX_AT_ONCE {
            match self.control.poll_for_event() {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        true
    }

    /// Takes what is still under way.
    fn take_rest(&mut self) {
        let until = Instant::now() + MAX_REST;
        while let Ok((heard, at_ns)) = self.stream.heard.recv_timeout(REST) {
            self.take(heard, at_ns);
            if Instant::now() > until {
                break;
            }
        }
        self.listener.settle(clock::monotonic_ns());
        self.listener.end();
    }

    fn take(&mut self, heard: Heard, at_ns: u64) {
        match heard {
            Heard::Reported(reported) => {
                self.find_places();
                self.listener.reported(reported, at_ns);
            }
            Heard::Told { client, told } => {
                if self.is_programs(client) {
                    let control = &self.control;
                    let mut parent = |window: u32| Some(control.query_tree(window).ok()?.reply().ok()?.parent);
                    self.listener.told(told, &mut parent);
                }
            }
            Heard::Made(made) => self.made(&made),
            Heard::Configured(to) => self.configured(&to),
            Heard::Mapped(shown) => {
                self.is_moved = true;
                if self.listener.windows.get(shown.window).is_some() {
                    self.listener.windows.mapped(shown.window, shown.override_redirect);
                    self.listener.shown(at_ns);
                    self.has_shown = true;
                }
            }
            Heard::Unmapped(window) => self.listener.windows.unmapped(window),
            Heard::Destroyed(window) => self.listener.windows.gone(window),
            Heard::Reparented(to) => {
                self.is_moved = true;
                let is_within = to.parent != self.root && self.is_programs(to.parent);
                self.listener.windows.reparented(to.window, is_within.then_some(to.parent));
            }
            Heard::KeysChanged => {
                if let Ok(symbols) = symbols(&self.control, &self.keyboard) {
                    self.listener.has_symbols(symbols);
                }
            }
            Heard::Client(client) => drop(self.clients.remove(&client)),
        }
    }

    /// Whether something with this number is the program's.
    fn is_programs(&mut self, id: u32) -> bool {
        let client = id & !self.control.setup().resource_id_mask;
        if let Some(known) = self.clients.get(&client) {
            return *known;
        }
        let Some(above) = self.above else { return false };
        let Ok(all) = clients_of(&self.control, &program_of(above)) else { return false };
        let is_programs = all.iter().any(|one| one.owns(client));
        self.clients.insert(client, is_programs);
        is_programs
    }

    fn made(&mut self, made: &CreateNotifyEvent) {
        if made.parent == self.root && self.is_programs(made.window) {
            let place = within_border((made.x, made.y), made.border_width);
            self.listener.is_anew(made.window);
            self.listener.windows.made(made.window, place, (made.width, made.height), made.override_redirect);
            let _ = self.follow(made.window);
        }
    }

    /// Has the server report what becomes of a window when a window manager has moved it away from directly below the
    /// screen.
    fn follow(&self, window: u32) -> Result<(), ReplyOrIdError> {
        let selected = ChangeWindowAttributesAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
        // It may be gone by now.
        self.control.change_window_attributes(window, &selected)?.ignore_error();
        Ok(self.control.flush()?)
    }

    fn configured(&mut self, to: &ConfigureNotifyEvent) {
        let Some(window) = self.listener.windows.get(to.window).copied() else {
            // It may be around one of the program's.
            self.is_moved = true;
            return;
        };
        let is_on_screen = to.event == self.root;
        // Within what a window manager puts around it, its place says nothing.
        self.is_moved |= !is_on_screen;
        let place = if is_on_screen { within_border((to.x, to.y), to.border_width) } else { (window.x, window.y) };
        self.listener.windows.changed(to.window, place, (to.width, to.height));
    }

    /// Asks where the windows are, if they may have moved.
    fn find_places(&mut self) {
        if !std::mem::take(&mut self.is_moved) {
            return;
        }
        for id in self.listener.windows.ids() {
            let asked =
                self.control.translate_coordinates(id, self.root, 0, 0).ok().and_then(|asked| asked.reply().ok());
            // It may be gone by now; then it is where it was.
            let (Some(corner), Some(window)) = (asked, self.listener.windows.get(id).copied()) else { continue };
            let size = (window.width, window.height);
            self.listener.windows.changed(id, (corner.dst_x, corner.dst_y), size);
        }
    }

    fn learned(self, name: &str, began_ns: u64, end: LearnEnd) -> Learned {
        let lasted_ns = clock::monotonic_ns().saturating_sub(began_ns);
        let listener = &self.listener;
        let learned = written(name, listener.size(), &listener.happened, lasted_ns, end);
        let mut not_learned = listener.not_learned;
        not_learned.lost += self.stream.lost();
        Learned {
            not_learned,
            resized: listener.resized,
            too_many: learned.too_many + listener.too_many,
            nameless: listener.nameless.clone(),
            nameless_keys: listener.nameless_keys,
            ..learned
        }
    }
}

/// What the keys of the keyboard stand for.
fn symbols(control: &RustConnection, keyboard: &RustConnection) -> Result<Symbols, ReplyError> {
    let (first, each, symbols) = crate::display::xtest::symbols(control)?;
    Ok(Symbols::new(first, each, symbols).with(levels(keyboard).unwrap_or_default()))
}

/// What keys are with Shift and Num Lock, if the server says so.
fn levels(keyboard: &RustConnection) -> Option<Levels> {
    if !keyboard.xkb_use_extension(1, 0).ok()?.reply().ok()?.supported {
        return None;
    }
    let (which, none) = (xkb::MapPart::KEY_TYPES | xkb::MapPart::KEY_SYMS, xkb::MapPart::from(0_u16));
    let device = xkb::ID::USE_CORE_KBD.into();
    let no_mods = xkb::VMod::from(0_u16);
    let asked = keyboard.xkb_get_map(device, which, none, 0, 0, 0, 0, 0, 0, 0, 0, no_mods, 0, 0, 0, 0, 0, 0);
    let told = asked.ok()?.reply().ok()?;
    Some(Levels::new(told.first_key_sym, &told.map.types_rtrn?, &told.map.syms_rtrn?))
}
