//! What a server is to fake for an input (XTEST), and what a script needs of a keyboard.

use super::keyboard::Keyboard;
use crate::script::{Act, Script};
use x11rb::connection::Connection;
use x11rb::errors::{ConnectionError, ReplyError};
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, KEY_PRESS_EVENT, KEY_RELEASE_EVENT,
    MOTION_NOTIFY_EVENT,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// Bytes of a request of XTEST.
pub(super) const REQUEST_BYTES: u64 = 36;

/// An event for the server to fake: its kind, the key or button, and where on the screen.
pub(super) type FakeInput = (u8, u8, (i16, i16));

/// The events to fake for an input, with the pointer there; none if the keyboard has no such key.
pub(super) fn fake_inputs(act: &Act, keyboard: &Keyboard, pointer: (i16, i16)) -> Vec<FakeInput> {
    let twice = |(down, up): (u8, u8), keys: &[u8], at: (i16, i16)| {
        let pressed = keys.iter().map(|&key| (down, key, at));
        pressed.chain(keys.iter().rev().map(|&key| (up, key, at))).collect()
    };
    let buttons = (BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT);
    match act {
        Act::Key(key) => twice((KEY_PRESS_EVENT, KEY_RELEASE_EVENT), &keyboard.keys(key.stroke), (0, 0)),
        Act::Click(button) => twice(buttons, &[button.number()], pointer),
        Act::Scroll(direction) => twice(buttons, &[direction.number()], pointer),
        Act::Point(_) => vec![(MOTION_NOTIFY_EVENT, 0, pointer)],
    }
}

/// Asks the server to fake these, without sending it off yet.
pub(super) fn fake(connection: &RustConnection, root: u32, fake_inputs: &[FakeInput]) -> Result<(), ConnectionError> {
    for &(kind, detail, (x, y)) in fake_inputs {
        connection.xtest_fake_input(kind, detail, 0, root, x, y, 0)?.ignore_error();
    }
    Ok(())
}

/// The server's keyboard.
pub(super) fn keyboard(connection: &RustConnection) -> Result<Keyboard, ReplyError> {
    let setup = connection.setup();
    let (first, count) = (setup.min_keycode, setup.max_keycode - setup.min_keycode + 1);
    let mapping = connection.get_keyboard_mapping(first, count)?.reply()?;
    Ok(Keyboard::new(first, usize::from(mapping.keysyms_per_keycode), &mapping.keysyms))
}

/// The symbols that a script types.
pub(super) fn typed(script: &Script) -> impl Iterator<Item = u32> {
    script.presses().filter_map(|press| match &press.act {
        Act::Key(key) => Some(key.stroke.symbol),
        _ => None,
    })
}
