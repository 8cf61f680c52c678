//! A keyboard with the United States layout, with keys for whatever else is typed, in the language of XKB.

use crate::display::keyboard::Keyboard;
use std::fmt::Write;

/// XKB counts keys from here; the kernel counts from 0.
pub(super) const FIRST: u8 = 8;
/// Symbols on each key: without Shift and with it.
const EACH: usize = 2;

/// Rows of characters: the kernel's number of the first key, without Shift and with it.
const ROWS: [(usize, &str, &str); 5] = [
    (2, "1234567890-=", "!@#$%^&*()_+"),
    (16, "qwertyuiop[]", "QWERTYUIOP{}"),
    (30, "asdfghjkl;'`", "ASDFGHJKL:\"~"),
    (43, "\\zxcvbnm,./", "|ZXCVBNM<>?"),
    (57, " ", " "),
];
/// Other keys: the kernel's number, and the symbol without Shift and with it.
const KEYS: [(usize, u32, u32); 29] = [
    (1, 0xff1b, 0xff1b),
    (14, 0xff08, 0xff08),
    (15, 0xff09, 0xfe20),
    (28, 0xff0d, 0xff0d),
    (CONTROL, 0xffe3, 0xffe3),
    (SHIFT, 0xffe1, 0xffe1),
    (ALT, 0xffe9, 0xffe9),
    (59, 0xffbe, 0xffbe),
    (60, 0xffbf, 0xffbf),
    (61, 0xffc0, 0xffc0),
    (62, 0xffc1, 0xffc1),
    (63, 0xffc2, 0xffc2),
    (64, 0xffc3, 0xffc3),
    (65, 0xffc4, 0xffc4),
    (66, 0xffc5, 0xffc5),
    (67, 0xffc6, 0xffc6),
    (68, 0xffc7, 0xffc7),
    (87, 0xffc8, 0xffc8),
    (88, 0xffc9, 0xffc9),
    (102, 0xff50, 0xff50),
    (103, 0xff52, 0xff52),
    (104, 0xff55, 0xff55),
    (105, 0xff51, 0xff51),
    (106, 0xff53, 0xff53),
    (107, 0xff57, 0xff57),
    (108, 0xff54, 0xff54),
    (109, 0xff56, 0xff56),
    (110, 0xff63, 0xff63),
    (111, 0xffff, 0xffff),
];
const CONTROL: usize = 29;
const SHIFT: usize = 42;
const ALT: usize = 56;
/// Keys that are held with others: the kernel's number, XKB's name for what they do, and its bit.
const HELD: [(usize, &str, u32); 3] = [(SHIFT, "Shift", 1), (CONTROL, "Control", 4), (ALT, "Mod1", 8)];

/// A keyboard that has all these symbols, and its description; `None` if that takes more keys than exist.
pub(super) fn keyboard(typed: impl Iterator<Item = u32>) -> Option<(Keyboard, String)> {
    let mut symbols = usual();
    let mut keyboard = Keyboard::new(FIRST, EACH, &symbols);
    for (key, symbol) in keyboard.give_keys(typed)? {
        // The same with Shift and without.
        let at = usize::from(key - FIRST) * EACH;
        symbols[at..at + EACH].fill(symbol);
    }
    Some((keyboard, description(&symbols)))
}

/// The bit for holding this key down, by the kernel's number; 0: it is not such a key.
pub(super) fn held(key: u32) -> u32 {
    HELD.iter().find(|(known, ..)| *known == key as usize).map_or(0, |(.., bit)| *bit)
}

/// The symbols of all keys.
fn usual() -> Vec<u32> {
    let mut symbols = vec![0; usize::from(u8::MAX - FIRST + 1) * EACH];
    for (first, plain, shifted) in ROWS {
        for (at, (plain, shifted)) in plain.chars().zip(shifted.chars()).enumerate() {
            symbols[(first + at) * EACH] = plain.into();
            symbols[(first + at) * EACH + 1] = shifted.into();
        }
    }
    for (key, plain, shifted) in KEYS {
        symbols[key * EACH] = plain;
        symbols[key * EACH + 1] = shifted;
    }
    symbols
}

fn description(symbols: &[u32]) -> String {
    let (mut codes, mut keys) = (String::new(), String::new());
    for (key, symbols) in symbols.chunks(EACH).enumerate() {
        if let &[plain, shifted] = symbols
            && plain != 0
        {
            let _ = writeln!(codes, "<K{key}> = {};", key + usize::from(FIRST));
            let _ = writeln!(keys, "key <K{key}> {{ [ {plain:#x}, {shifted:#x} ] }};");
        }
    }
    for (key, does, _) in HELD {
        let _ = writeln!(keys, "modifier_map {does} {{ <K{key}> }};");
    }
    format!(
        "xkb_keymap {{\nxkb_keycodes \"typed\" {{\nminimum = {FIRST};\nmaximum = 255;\n{codes}}};\n\
         xkb_types \"typed\" {{ include \"complete\" }};\nxkb_compatibility \"typed\" {{ include \"complete\" }};\n\
         xkb_symbols \"typed\" {{\n{keys}}};\n}};\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Stroke, key};

    #[test]
    fn every_named_key_is_on_it_and_others_get_one() {
        let names = ["a", "A", "~", "enter", "back-tab", "ctrl-s", "alt-page-down", "f12", "€", "ä"];
        let strokes: Vec<Stroke> = names.iter().map(|name| key(name).unwrap().stroke).collect();
        let (keyboard, text) = keyboard(strokes.iter().map(|stroke| stroke.symbol)).unwrap();
        let pressed = |name: &str| -> Vec<u32> {
            let keys = keyboard.keys(key(name).unwrap().stroke);
            keys.into_iter().map(|key| u32::from(key - FIRST)).collect()
        };
        assert_eq!((pressed("a"), pressed("A"), pressed("~")), (vec![30], vec![42, 30], vec![42, 41]));
        assert_eq!((pressed("ctrl-s"), pressed("alt-page-down")), (vec![29, 31], vec![56, 109]));
        assert_eq!((pressed("enter"), pressed("back-tab"), pressed("f12")), (vec![28], vec![42, 15], vec![88]));
        assert!(names.iter().all(|name| !pressed(name).is_empty()));
        assert!(text.contains("0x10020ac, 0x10020ac") && text.contains("key <K30> { [ 0x61, 0x41 ] };"), "{text}");
        assert_eq!((held(42), held(29), held(56), held(30)), (1, 4, 8, 0));
    }

    #[test]
    fn no_two_keys_are_one() {
        let symbols = usual();
        let mut plain: Vec<u32> = symbols.iter().step_by(EACH).copied().filter(|symbol| *symbol != 0).collect();
        let count = plain.len();
        plain.sort_unstable();
        plain.dedup();
        assert_eq!((plain.len(), count), (count, 47 + 1 + KEYS.len()));
        let many = (0..300).map(|number| 0x0100_2000 + number);
        assert!(keyboard(many).is_none(), "a keyboard has no more than 248 keys");
    }
}
