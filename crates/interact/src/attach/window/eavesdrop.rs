//! What a display's server tells one program (RECORD), and what that program's windows show (DAMAGE). Nothing is put
//! in.

use super::presses::{Press, Pressed};
use crate::display::clients::{Client, MAX_WINDOWS, clients_of, windows_of};
use crate::display::told::{EVENT_BYTES, FROM_SERVER, Told};
use crate::display::users::UsersDisplay;
use punctual_kernel::clock;
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use x11rb::connection::{Connection, RequestConnection};
use x11rb::errors::ReplyOrIdError;
use x11rb::protocol::Event;
use x11rb::protocol::damage::{ConnectionExt as _, ReportLevel};
use x11rb::protocol::record::{self, ConnectionExt as _, EnableContextReply};
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, ChangeWindowAttributesAux, ConnectionExt as _, EventMask, GE_GENERIC_EVENT, KEY_PRESS_EVENT,
    MapState, WindowClass,
};
use x11rb::rust_connection::RustConnection;

/// How many events are taken at once: programs may make and remove windows, and draw, without end.
const MAX_AT_ONCE: usize = 10_000;

/// What is heard.
pub(super) struct Eavesdrop {
    /// Reports new windows.
    control: RustConnection,
    context: u32,
    /// Reports what was drawn, and nothing else.
    drawings: RustConnection,
    clients: Vec<Client>,
    watched: HashSet<u32>,
    presses: Receiver<Press>,
    /// The process of the server.
    pub(super) server: u32,
}

impl Eavesdrop {
    /// Listens to a process and its descendants on its display, or says why not, in words.
    pub(super) fn start(display: &UsersDisplay, processes: &[u32]) -> Result<Eavesdrop, String> {
        let (control, server) = display.connect()?;
        let clients = clients_of(&control, processes).map_err(|error| format!("asking {}: {error}", display.name()))?;
        if clients.is_empty() {
            return Err(format!("it shows no window on {}", display.name()));
        }
        let (drawings, _) = display.connect()?;
        let (recorder, _) = display.connect()?;
        let started = Eavesdrop::listen(control, drawings, recorder, clients, server);
        started.map_err(|error| format!("listening on {}: {error}", display.name()))
    }

    fn listen(
        control: RustConnection,
        drawings: RustConnection,
        recorder: RustConnection,
        clients: Vec<Client>,
        server: u32,
    ) -> Result<Eavesdrop, ReplyOrIdError> {
        drawings.damage_query_version(1, 1)?.reply()?;
        control.record_query_version(1, 13)?.reply()?;
        recorder.record_query_version(1, 13)?.reply()?;
        let root = control.setup().roots.first().map_or(0, |screen| screen.root);
        let selected = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_NOTIFY);
        control.change_window_attributes(root, &selected)?.check()?;
        let context = control.generate_id()?;
        let all = record::Range8 { first: KEY_PRESS_EVENT, last: GE_GENERIC_EVENT };
        let range = record::Range { delivered_events: all, ..record::Range::default() };
        let specs: Vec<u32> = clients.iter().map(Client::number).collect();
        control.record_create_context(context, 0, &specs, &[range])?.check()?;
        let input_extension = control.extension_information("XInputExtension")?.map(|known| known.major_opcode);
        let (sender, presses) = channel();
        let body = move || hear(&recorder, context, input_extension, &sender);
        // It ends with the context, or with the server.
        let _ = std::thread::Builder::new().name("eavesdrop".to_owned()).spawn(body);
        let watched = HashSet::new();
        let mut heard = Eavesdrop { control, context, drawings, clients, watched, presses, server };
        for window in windows_of(&heard.control, root, &heard.clients)? {
            heard.watch(window)?;
        }
        heard.drawings.flush()?;
        Ok(heard)
    }

    fn watch(&mut self, window: u32) -> Result<(), ReplyOrIdError> {
        if self.watched.len() < MAX_WINDOWS && self.watched.insert(window) {
            let drawn = self.drawings.generate_id()?;
            // It may be gone by now.
            self.drawings.damage_create(drawn, window, ReportLevel::RAW_RECTANGLES)?.ignore_error();
        }
        Ok(())
    }

    /// The connection by which the server reports what was drawn.
    pub(super) fn drawings(&self) -> BorrowedFd<'_> {
        self.drawings.stream().as_fd()
    }

    /// Takes what was reported, and returns whether the server is still there. It watches new windows of the program
    /// from then on.
    pub(super) fn take(&mut self, mut press: impl FnMut(Press)) -> bool {
        self.presses.try_iter().for_each(&mut press);
        let mut made = Vec::new();
        let (control, watched) = (&self.control, &mut self.watched);
        let is_there = drain(
            || control.poll_for_event(),
            |event| match event {
                Event::CreateNotify(event) => made.push(event.window),
                Event::DestroyNotify(event) => drop(watched.remove(&event.window)),
                _ => {}
            },
        );
        // The server itself shows when it was drawn.
        drain(|| self.drawings.poll_for_event(), drop);
        made.retain(|window| self.clients.iter().any(|client| client.owns(*window)));
        let is_watched = made.into_iter().try_for_each(|window| self.watch(window)).is_ok();
        is_there && is_watched && self.drawings.flush().is_ok()
    }
}

impl Drop for Eavesdrop {
    fn drop(&mut self) {
        let _ = self.control.record_disable_context(self.context).and_then(|_| self.control.flush());
    }
}

/// Takes what there is, up to [`MAX_AT_ONCE`]. Returns false if nothing more will come.
fn drain<T, E>(mut poll: impl FnMut() -> Result<Option<T>, E>, mut take: impl FnMut(T)) -> bool {
    for _ in 0..MAX_AT_ONCE {
        match poll() {
            Ok(Some(event)) => take(event),
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
    true
}

/// Whether these processes show a window, or why it cannot be watched, in words.
pub(super) fn shows_window(display: &UsersDisplay, processes: &[u32]) -> Result<(), String> {
    let (control, _) = display.connect()?;
    let looked = || -> Result<bool, ReplyOrIdError> {
        let clients = clients_of(&control, processes)?;
        let root = control.setup().roots.first().map_or(0, |screen| screen.root);
        let is_shown = |window: u32| {
            let asked = control.get_window_attributes(window).ok().and_then(|asked| asked.reply().ok());
            asked.is_some_and(|is| is.map_state == MapState::VIEWABLE && is.class == WindowClass::INPUT_OUTPUT)
        };
        Ok(!clients.is_empty() && windows_of(&control, root, &clients)?.into_iter().any(is_shown))
    };
    match looked() {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("none of its windows is shown on {}", display.name())),
        Err(error) => Err(format!("asking {}: {error}", display.name())),
    }
}

/// Hears what the server tells the program, until there is nothing more to hear.
fn hear(recorder: &RustConnection, context: u32, input_extension: Option<u8>, presses: &Sender<Press>) {
    let Ok(heard) = recorder.record_enable_context(context) else { return };
    for reply in heard {
        let Ok(reply) = reply else { return };
        let told_ns = clock::monotonic_ns();
        for press in pressed(&reply, input_extension, told_ns) {
            if presses.send(press).is_err() {
                return;
            }
        }
    }
}

/// What was pressed, from what the server has told; `input_extension` is the number of XInput's events.
fn pressed(reply: &EnableContextReply, input_extension: Option<u8>, told_ns: u64) -> Vec<Press> {
    if reply.category != FROM_SERVER || reply.client_swapped {
        return Vec::new();
    }
    let (whole, _) = reply.data.as_chunks::<EVENT_BYTES>();
    whole.iter().filter_map(|event| one_pressed(event, input_extension, told_ns)).collect()
}

fn one_pressed(event: &[u8; EVENT_BYTES], input_extension: Option<u8>, told_ns: u64) -> Option<Press> {
    let told = Told::of(event, input_extension)?;
    let what = match told.kind {
        KEY_PRESS_EVENT => Pressed::Key,
        BUTTON_PRESS_EVENT => Pressed::Button(told.detail),
        _ => return None,
    };
    Some(Press { what, time_ms: told.time_ms, told_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(bytes: &[(usize, &[u8])]) -> [u8; EVENT_BYTES] {
        let mut event = [0; EVENT_BYTES];
        bytes.iter().for_each(|(at, value)| event[*at..at + value.len()].copy_from_slice(value));
        event
    }

    #[test]
    fn so_many_events_are_taken_at_once_and_no_more() {
        let mut taken = 0;
        assert!(drain(|| Ok::<_, ()>(Some(1)), |one| taken += one));
        assert_eq!(taken, MAX_AT_ONCE);
        let mut left = vec![Err(()), Ok(None), Ok(Some(7))];
        let mut events = Vec::new();
        assert!(drain(|| left.pop().unwrap(), |event| events.push(event)));
        assert!(!drain(|| left.pop().unwrap(), |event| events.push(event)));
        assert_eq!(events, [7]);
    }

    #[test]
    fn presses_are_read_of_both_protocols() {
        let time = 77_u32.to_ne_bytes();
        let core = event(&[(0, &[KEY_PRESS_EVENT, 38]), (4, &time)]);
        let button = event(&[(0, &[BUTTON_PRESS_EVENT, 4]), (4, &time)]);
        let xinput = |kind: u16, detail: u32| {
            event(&[(0, &[GE_GENERIC_EVENT, 131]), (8, &kind.to_ne_bytes()), (12, &time), (16, &detail.to_ne_bytes())])
        };
        let others = [event(&[(0, &[3, 38]), (4, &time)]), xinput(3, 38), xinput(6, 0), event(&[(0, &[35, 140])])];
        let pressed_of = |events: &[[u8; EVENT_BYTES]], category, client_swapped| {
            let data = events.concat();
            let reply = EnableContextReply { category, client_swapped, data, ..EnableContextReply::default() };
            pressed(&reply, Some(131), 5).iter().map(|press| (press.what, press.time_ms)).collect::<Vec<_>>()
        };
        let all = [core, button, xinput(2, 38), xinput(4, 1)];
        let expected = [Pressed::Key, Pressed::Button(4), Pressed::Key, Pressed::Button(1)].map(|what| (what, 77));
        assert_eq!(pressed_of(&all, 0, false), expected);
        assert_eq!(pressed_of(&others, 0, false), []);
        assert_eq!(pressed_of(&all, 4, false), [], "the beginning and the end of it");
        assert_eq!(pressed_of(&all, 0, true), [], "of a client whose bytes stand the other way round");
    }
}
