//! What a display's server tells its clients of the keyboard and the mouse, as RECORD shows it. Pure.

use x11rb::protocol::xproto::{BUTTON_RELEASE_EVENT, GE_GENERIC_EVENT, KEY_PRESS_EVENT};

/// The length of an event of the core protocol, and how much of a longer one is recorded, bytes.
pub(crate) const EVENT_BYTES: usize = 32;

/// The category of what a server sends.
pub(crate) const FROM_SERVER: u8 = 0;

/// A key or a button that went down or came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    /// By the core protocol's number, 2 to 5, which XInput 2 shares.
    pub(crate) kind: u8,
    /// The key or the button.
    pub(crate) detail: u32,
    /// By the server's clock, ms.
    pub(crate) time_ms: u32,
    /// The window whose event it is.
    pub(crate) window: u32,
}

impl Told {
    /// Of an event in either protocol; `input_extension` is the number of XInput's events.
    pub(crate) fn of(event: &[u8; EVENT_BYTES], input_extension: Option<u8>) -> Option<Told> {
        let kinds = KEY_PRESS_EVENT..=BUTTON_RELEASE_EVENT;
        // The highest bit: another program has sent it.
        match event[0] & 0x7f {
            kind if kinds.contains(&kind) => {
                Some(Told { kind, detail: event[1].into(), time_ms: word(event, 4), window: word(event, 12) })
            }
            GE_GENERIC_EVENT if Some(event[1]) == input_extension => {
                let kind = u8::try_from(half(event, 8)).ok().filter(|kind| kinds.contains(kind))?;
                Some(Told { kind, detail: word(event, 16), time_ms: word(event, 12), window: word(event, 24) })
            }
            _ => None,
        }
    }
}

/// Whether another program has sent the event, and no device.
pub(crate) fn is_sent(event: &[u8; EVENT_BYTES]) -> bool {
    event[0] & 0x80 != 0
}

/// Four bytes of an event.
pub(crate) fn word(event: &[u8; EVENT_BYTES], at: usize) -> u32 {
    u32::from_ne_bytes([event[at], event[at + 1], event[at + 2], event[at + 3]])
}

/// Two bytes of an event.
pub(crate) fn half(event: &[u8; EVENT_BYTES], at: usize) -> u16 {
    u16::from_ne_bytes([event[at], event[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_protocols_tell_of_the_same_key() {
        let mut core = [0; EVENT_BYTES];
        let mut xinput = [0; EVENT_BYTES];
        let put = |event: &mut [u8; EVENT_BYTES], at: usize, bytes: &[u8]| {
            event[at..at + bytes.len()].copy_from_slice(bytes);
        };
        put(&mut core, 0, &[KEY_PRESS_EVENT, 38]);
        put(&mut core, 4, &77_u32.to_ne_bytes());
        put(&mut core, 12, &9_u32.to_ne_bytes());
        put(&mut xinput, 0, &[GE_GENERIC_EVENT, 131]);
        put(&mut xinput, 8, &2_u16.to_ne_bytes());
        put(&mut xinput, 12, &77_u32.to_ne_bytes());
        put(&mut xinput, 16, &38_u32.to_ne_bytes());
        put(&mut xinput, 24, &9_u32.to_ne_bytes());
        let told = Some(Told { kind: KEY_PRESS_EVENT, detail: 38, time_ms: 77, window: 9 });
        assert_eq!((Told::of(&core, None), Told::of(&xinput, Some(131))), (told, told));
        assert_eq!(Told::of(&xinput, Some(130)), None);
        put(&mut xinput, 8, &6_u16.to_ne_bytes());
        assert_eq!(Told::of(&xinput, Some(131)), None, "the pointer moved");
        assert!(!is_sent(&core));
        core[0] |= 0x80;
        assert_eq!((Told::of(&core, None), is_sent(&core)), (told, true));
    }
}
