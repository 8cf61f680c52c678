//! What a server is to fake for an input (XTEST), and what a script needs of a keyboard.

use super::keyboard::Keyboard;
use crate::script::{Act, Key, Script};
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
    let down = |key: &Key| -> Vec<FakeInput> {
        keyboard.keys(key.stroke).into_iter().map(|key| (KEY_PRESS_EVENT, key, (0, 0))).collect()
    };
    let up = |key: &Key| -> Vec<FakeInput> {
        keyboard.keys(key.stroke).into_iter().rev().map(|key| (KEY_RELEASE_EVENT, key, (0, 0))).collect()
    };
    let click = |button: u8| vec![(BUTTON_PRESS_EVENT, button, pointer), (BUTTON_RELEASE_EVENT, button, pointer)];
    match act {
        Act::Key(key) => [down(key), up(key)].concat(),
        Act::KeyDown(key) => down(key),
        Act::KeyUp(key) => up(key),
        Act::Click(button) => click(button.number()),
        Act::Scroll(direction) => click(direction.number()),
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
    let (first, symbols_each, symbols) = symbols(connection)?;
    Ok(Keyboard::new(first, usize::from(symbols_each), &symbols))
}

/// What its keys stand for: the first key, how many symbols each has, and those.
pub(crate) fn symbols(connection: &RustConnection) -> Result<(u8, u8, Vec<u32>), ReplyError> {
    let setup = connection.setup();
    let (first, count) = (setup.min_keycode, setup.max_keycode - setup.min_keycode + 1);
    let mapping = connection.get_keyboard_mapping(first, count)?.reply()?;
    Ok((first, mapping.keysyms_per_keycode, mapping.keysyms))
}

/// The symbols that a script types.
pub(super) fn typed(script: &Script) -> impl Iterator<Item = u32> {
    script.presses().filter_map(|press| Some(press.act.key()?.stroke.symbol))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::key;

    #[test]
    fn what_goes_down_comes_up_in_reverse_in_one_input_or_in_two() {
        const SHIFT: u32 = 0xffe1;
        let keyboard = Keyboard::new(8, 2, &[SHIFT, 0, 0x61, 0x41]);
        let fakes = |act: Act| fake_inputs(&act, &keyboard, (5, 9));
        let key = key("A").unwrap();
        let down = [(KEY_PRESS_EVENT, 8, (0, 0)), (KEY_PRESS_EVENT, 9, (0, 0))];
        let up = [(KEY_RELEASE_EVENT, 9, (0, 0)), (KEY_RELEASE_EVENT, 8, (0, 0))];
        assert_eq!(fakes(Act::KeyDown(key.clone())), down);
        assert_eq!(fakes(Act::KeyUp(key.clone())), up);
        assert_eq!(fakes(Act::Key(key)), [down, up].concat());
    }
}
