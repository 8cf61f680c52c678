//! All that a display's server does with keys, buttons and windows, in the order in which it does it (RECORD). Nothing is put
//! in.
//!
//! The reports on windows are those that the server sends to a connection of this process: in the same stream they come in
//! order with what was pressed.

use super::listener::Reported;
use crate::display::told::{EVENT_BYTES, FROM_SERVER, Told, half, is_sent, word};
use punctual_kernel::clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use x11rb::connection::{Connection, RequestConnection};
use x11rb::errors::ReplyOrIdError;
use x11rb::protocol::record::{self, ConnectionExt as _, EnableContextReply};
use x11rb::protocol::xproto::{
    CONFIGURE_NOTIFY_EVENT, CREATE_NOTIFY_EVENT, ConfigureNotifyEvent, CreateNotifyEvent, DESTROY_NOTIFY_EVENT,
    DestroyNotifyEvent, GE_GENERIC_EVENT, KEY_PRESS_EVENT, MAP_NOTIFY_EVENT, MAPPING_NOTIFY_EVENT, MOTION_NOTIFY_EVENT,
    MapNotifyEvent, REPARENT_NOTIFY_EVENT, ReparentNotifyEvent, UNMAP_NOTIFY_EVENT, UnmapNotifyEvent,
};
use x11rb::rust_connection::RustConnection;
use x11rb::x11_utils::TryParse;

/// How much is kept until it is looked at: whoever uses the display decides how fast it comes.
const MAX_KEPT: usize = 65_536;
/// Of a recorded client, before what the server sends: it has come, or it has gone.
const CLIENT_STARTED: u8 = 2;
const CLIENT_DIED: u8 = 3;

/// Something that the server did.
#[derive(Debug, Clone, Copy)]
pub(super) enum Heard {
    /// A device has reported something.
    Reported(Reported),
    /// A client was told of it.
    Told { client: u32, told: Told },
    /// A window was made.
    Made(CreateNotifyEvent),
    /// It has another place or size.
    Configured(ConfigureNotifyEvent),
    /// It is shown.
    Mapped(MapNotifyEvent),
    /// It is not shown any more.
    Unmapped(u32),
    /// It is gone.
    Destroyed(u32),
    /// It is in another window.
    Reparented(ReparentNotifyEvent),
    /// Keys stand for something else.
    KeysChanged,
    /// A client has come or gone: its number may be another's now.
    Client(u32),
}

/// What comes.
pub(super) struct Stream {
    /// With the time at which it was received, ns.
    pub(super) heard: Receiver<(Heard, u64)>,
    /// How much there was no room for.
    lost: Arc<AtomicU64>,
}

impl Stream {
    /// Listens from now on. `control` is the connection to which the server reports on windows, `recorder` one for this
    /// alone; `context` is the number to end it by.
    pub(super) fn start(
        control: &RustConnection,
        recorder: RustConnection,
        context: u32,
    ) -> Result<Stream, ReplyOrIdError> {
        control.record_query_version(1, 13)?.reply()?;
        recorder.record_query_version(1, 13)?.reply()?;
        // In one range: of several, Xvfb forgot the one with XInput's events.
        let delivered = record::Range {
            delivered_events: record::Range8 { first: KEY_PRESS_EVENT, last: GE_GENERIC_EVENT },
            ..record::Range::default()
        };
        let devices = record::Range {
            device_events: record::Range8 { first: KEY_PRESS_EVENT, last: MOTION_NOTIFY_EVENT },
            client_started: true,
            client_died: true,
            ..record::Range::default()
        };

        let everybody = [u32::from(u8::from(record::CS::ALL_CLIENTS))];
        control.record_create_context(context, 0, &everybody, &[devices, delivered])?.check()?;
        let own = control.setup().resource_id_base;
        let input_extension = control.extension_information("XInputExtension")?.map(|known| known.major_opcode);
        let (sender, heard) = sync_channel(MAX_KEPT);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        let body = move || hear(&recorder, context, (own, input_extension), &sender, &counted);
        // It ends with the context, or with the server.
        let _ = std::thread::Builder::new().name("learn".to_owned()).spawn(body);
        Ok(Stream { heard, lost })
    }

    /// How much there was no room for.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Hears what the server does until there is nothing more to hear.
fn hear(
    recorder: &RustConnection,
    context: u32,
    (own, input_extension): (u32, Option<u8>),
    sender: &SyncSender<(Heard, u64)>,
    lost: &AtomicU64,
) {
    let Ok(replies) = recorder.record_enable_context(context) else { return };
    for reply in replies {
        let Ok(reply) = reply else { return };
        let told_ns = clock::monotonic_ns();
        for one in all_of(&reply, own, input_extension) {
            match sender.try_send((one, told_ns)) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => {
                    lost.fetch_add(1, Ordering::Relaxed);
                }
                Err(TrySendError::Disconnected(_)) => return,
            }
        }
    }
}

/// What a reply tells; `own` is the client to which the server reports on windows, `input_extension` the number of XInput's
/// events.
fn all_of(reply: &EnableContextReply, own: u32, input_extension: Option<u8>) -> Vec<Heard> {
    match reply.category {
        CLIENT_STARTED | CLIENT_DIED => vec![Heard::Client(reply.xid_base)],
        FROM_SERVER if !reply.client_swapped => {
            let (whole, _) = reply.data.as_chunks::<EVENT_BYTES>();
            whole.iter().filter_map(|event| one_of(event, reply.xid_base, own, input_extension)).collect()
        }
        _ => Vec::new(),
    }
}

fn one_of(event: &[u8; EVENT_BYTES], client: u32, own: u32, input_extension: Option<u8>) -> Option<Heard> {
    /// What a device has reported was not yet told to anybody.
    const NOBODY: u32 = 0;
    if client == NOBODY {
        return Some(Heard::Reported(reported(event)));
    }
    if client == own {
        return window_of(event);
    }
    // What other programs send is nobody's key.
    let told = Told::of(event, input_extension).filter(|_| !is_sent(event))?;
    Some(Heard::Told { client, told })
}

fn reported(event: &[u8; EVENT_BYTES]) -> Reported {
    let at = (half(event, 20).cast_signed(), half(event, 22).cast_signed());
    Reported { kind: event[0] & 0x7f, detail: event[1], time_ms: word(event, 4), at, state: half(event, 28) }
}

fn window_of(event: &[u8; EVENT_BYTES]) -> Option<Heard> {
    if is_sent(event) {
        return None;
    }
    match event[0] {
        CREATE_NOTIFY_EVENT => CreateNotifyEvent::try_parse(event).ok().map(|(made, _)| Heard::Made(made)),
        CONFIGURE_NOTIFY_EVENT => ConfigureNotifyEvent::try_parse(event).ok().map(|(to, _)| Heard::Configured(to)),
        MAP_NOTIFY_EVENT => MapNotifyEvent::try_parse(event).ok().map(|(shown, _)| Heard::Mapped(shown)),
        UNMAP_NOTIFY_EVENT => UnmapNotifyEvent::try_parse(event).ok().map(|(gone, _)| Heard::Unmapped(gone.window)),
        DESTROY_NOTIFY_EVENT => {
            DestroyNotifyEvent::try_parse(event).ok().map(|(gone, _)| Heard::Destroyed(gone.window))
        }
        REPARENT_NOTIFY_EVENT => ReparentNotifyEvent::try_parse(event).ok().map(|(to, _)| Heard::Reparented(to)),
        MAPPING_NOTIFY_EVENT => Some(Heard::KeysChanged),
        _ => None,
    }
}
