//! What the keys of a display's keyboard stand for, by their names in scripts. Pure.

use crate::script::{Stroke, name_of};
use std::ops::RangeInclusive;
use x11rb::protocol::xkb::{KeySymMap, KeyType};

/// Of the state of a keyboard: which keys are held, which locks are on.
const SHIFT: u16 = 1;
const CAPS_LOCK: u16 = 1 << 1;
const CONTROL: u16 = 1 << 2;
const ALT: u16 = 1 << 3;
const NUM_LOCK: u16 = 1 << 4;
const SUPER: u16 = 1 << 6;
const THIRD_LEVEL: u16 = 1 << 7;
/// Where the number of the layout is in the same word.
const LAYOUT_SHIFT: u16 = 13;
const LAYOUTS: u16 = 3;

/// The symbols of the keys that are held with others, and of those that switch what others stand for.
const HOLDS: RangeInclusive<u32> = 0xffe1..=0xffee;
const SWITCHES: RangeInclusive<u32> = 0xfe01..=0xfe13;
const OTHER_SWITCHES: [u32; 3] = [0xff14, 0xff7e, 0xff7f];
/// Caps Lock and Shift Lock, among those that are held.
const LOCKS: RangeInclusive<u32> = 0xffe5..=0xffe6;
/// The symbols of the keypad.
const KEYPAD: RangeInclusive<u32> = 0xff80..=0xffbd;

/// What a key stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// A key, by its name in scripts.
    Key(String),
    /// Scripts have no name for it: this is what was held and its symbol.
    Nameless(String),
    /// It is held with others; the name says what it is if it is pressed alone.
    Held(String),
    /// It switches what others stand for.
    Switch,
}

/// The symbols of all keys.
#[derive(Debug, Clone)]
pub(super) struct Symbols {
    first: u8,
    each: usize,
    symbols: Vec<u32>,
    levels: Levels,
}

/// With which of Shift and Num Lock keys stand for the second of their symbols, for all keys from one on: each a bit at
/// [`held`]'s number.
#[derive(Debug, Clone, Default)]
pub(super) struct Levels {
    first: u8,
    seconds: Vec<u8>,
}

impl Levels {
    /// From the types that the server says keys have, and which one each key has, from the first on.
    pub(super) fn new(first: u8, types: &[KeyType], keys: &[KeySymMap]) -> Levels {
        let second = |key: &KeySymMap| {
            let Some(of) = types.get(usize::from(key.kt_index[0])) else { return UNTOLD };
            let is_second = |state: &u16| {
                let state = state & u16::from(of.mods_mask);
                of.map.iter().any(|one| one.active && u16::from(one.mods_mask) == state && one.level == 1)
            };
            let states = [0, SHIFT, NUM_LOCK, SHIFT | NUM_LOCK];
            states.iter().filter(|state| is_second(state)).fold(0, |bits, state| bits | 1 << held(*state))
        };
        Levels { first, seconds: keys.iter().map(second).collect() }
    }

    /// Whether a key of the keypad stands for its second symbol.
    fn is_second(&self, key: u8, state: u16) -> bool {
        let told = key.checked_sub(self.first).and_then(|at| self.seconds.get(usize::from(at)).copied());
        told.unwrap_or(UNTOLD) >> held(state) & 1 == 1
    }
}

/// As most keyboards have it: only with Num Lock and without Shift.
const UNTOLD: u8 = 1 << 2;

/// A number for what Shift and Num Lock are.
fn held(state: u16) -> u16 {
    (state & SHIFT) | (state & NUM_LOCK) >> 3
}

/// Whether something is held with which a click means something else.
pub(super) fn holds_key(state: u16) -> bool {
    state & (SHIFT | CONTROL | ALT | SUPER) != 0
}

impl Symbols {
    /// From what the server says: those of all keys from the first on, so many for each.
    pub(super) fn new(first: u8, each: u8, symbols: Vec<u32>) -> Symbols {
        Symbols { first, each: usize::from(each).max(1), symbols, levels: Levels::default() }
    }

    /// With what the server says of Shift and Num Lock.
    pub(super) fn with(self, levels: Levels) -> Symbols {
        Symbols { levels, ..self }
    }

    /// What a key stands for in this state.
    pub(super) fn named(&self, key: u8, state: u16) -> Named {
        let (symbol, is_shift_used) = self.symbol(key, state);
        if OTHER_SWITCHES.contains(&symbol) || SWITCHES.contains(&symbol) || LOCKS.contains(&symbol) {
            return Named::Switch;
        }
        if HOLDS.contains(&symbol) {
            let names =
                ["shift", "shift", "control", "control", "", "", "meta", "meta", "alt", "alt", "super", "super"];
            let name = names.get((symbol - HOLDS.start()) as usize).unwrap_or(&"hyper");
            return Named::Held(format!("{name} alone"));
        }
        let (symbol, is_shifted) = plain(symbol);
        let shift = is_shifted || state & SHIFT != 0 && !is_shift_used;
        let (control, alt) = (state & CONTROL != 0, state & ALT != 0);
        let name = name_of(Stroke { symbol, shift, control, alt }).filter(|_| state & SUPER == 0);
        name.map_or_else(|| Named::Nameless(described(symbol, state)), Named::Key)
    }

    /// The symbol of a key in this state, and whether Shift was used up to choose it.
    fn symbol(&self, key: u8, state: u16) -> (u32, bool) {
        let from = key.checked_sub(self.first).map(|at| usize::from(at) * self.each);
        let row = from.and_then(|from| self.symbols.get(from..from + self.each)).unwrap_or_default();
        let at = |column: usize| row.get(column).copied().unwrap_or_default();
        // Two columns for each of two layouts, and then those of the third level.
        let layout = usize::from(state >> LAYOUT_SHIFT & LAYOUTS);
        let layout = if layout > 1 || at(2 * layout) == 0 { 0 } else { 2 * layout };
        let third = layout + 4;
        let column = if state & THIRD_LEVEL != 0 && at(third) != 0 { third } else { layout };
        let (lower, upper) = (at(column), at(column + 1));
        let is_shift = state & SHIFT != 0;
        let is_letter = char::from_u32(lower).is_some_and(char::is_lowercase);
        let is_keypad = KEYPAD.contains(&upper);
        let is_upper = if is_keypad {
            self.levels.is_second(key, state)
        } else if is_letter && state & CONTROL == 0 {
            is_shift != (state & CAPS_LOCK != 0)
        } else {
            is_shift
        };
        // A character that the key has once is the same with Shift. Of the keypad's, Shift is used up if without it the key
        // stands for the other one.
        let is_character = lower < 0x100 || lower >> 24 == 1;
        let is_used = !is_keypad || lower == upper || is_upper != self.levels.is_second(key, state & !SHIFT);
        match (lower, upper) {
            (lower, upper) if is_upper && upper != 0 && upper != lower => (upper, is_shift && is_used),
            (lower, _) => (lower, is_shift && (is_character || is_keypad) && is_used),
        }
    }
}

/// The symbol that scripts have for one that means the same, and whether that is with Shift.
fn plain(symbol: u32) -> (u32, bool) {
    const MOVES: [u32; 8] = [0xff50, 0xff51, 0xff52, 0xff53, 0xff54, 0xff55, 0xff56, 0xff57];
    let plain = match symbol {
        0xfe20 => return (0xff09, true),
        0x20ac => 0x0100_20ac,
        0xff80 => 0x20,
        0xff89 => 0xff09,
        0xff8d => 0xff0d,
        0xff95..=0xff9c => MOVES[(symbol - 0xff95) as usize],
        0xff9e => 0xff63,
        0xff9f => 0xffff,
        0xffaa..=0xffb9 | 0xffbd => symbol - 0xff80,
        symbol => symbol,
    };
    (plain, false)
}

/// For people: what is held, and the character or the number of the symbol.
fn described(symbol: u32, state: u16) -> String {
    let held = [(SUPER, "super-"), (CONTROL, "ctrl-"), (ALT, "alt-"), (SHIFT, "shift-")];
    let held: String = held.into_iter().filter(|(bit, _)| state & bit != 0).map(|(_, name)| name).collect();
    let letter = char::from_u32(symbol & 0x00ff_ffff).filter(|letter| letter.is_ascii_graphic());
    letter.map_or_else(|| format!("{held}{symbol:#x}"), |letter| format!("{held}{letter}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use x11rb::protocol::xkb::KTMapEntry;

    /// From the 10th key on: a, 7 with /, Tab, left, 4 of the keypad, e with the euro sign, a dead accent, Shift, Alt, Enter,
    /// the space bar.
    fn symbols() -> Symbols {
        let rows: [[u32; 6]; 11] = [
            [0x61, 0x41, 0x3b1, 0x391, 0, 0],
            [0x37, 0x2f, 0, 0, 0x7b, 0],
            [0xff09, 0xfe20, 0, 0, 0, 0],
            [0xff51, 0, 0, 0, 0, 0],
            [0xff96, 0xffb4, 0, 0, 0, 0],
            [0x65, 0x45, 0, 0, 0x20ac, 0],
            [0xfe51, 0xfe50, 0, 0, 0, 0],
            [0xffe1, 0, 0, 0, 0, 0],
            [0xffe9, 0xffe7, 0, 0, 0, 0],
            [0xff0d, 0, 0, 0, 0, 0],
            [0x20, 0x20, 0, 0, 0, 0],
        ];
        Symbols::new(10, 6, rows.concat())
    }

    #[test]
    fn keys_have_the_names_of_scripts_by_what_is_held_and_locked() {
        let all = [
            (10, 0, "a"),
            (10, SHIFT, "A"),
            (10, CAPS_LOCK, "A"),
            (10, SHIFT | CAPS_LOCK, "a"),
            (10, CONTROL, "ctrl-a"),
            (10, CONTROL | CAPS_LOCK, "ctrl-a"),
            (10, ALT, "alt-a"),
            (10, ALT | SHIFT, "alt-A"),
            (10, NUM_LOCK, "a"),
            (11, SHIFT, "/"),
            (11, THIRD_LEVEL, "{"),
            (12, 0, "tab"),
            (12, SHIFT, "back-tab"),
            (13, 0, "left"),
            (13, SHIFT, "shift-left"),
            (13, CONTROL, "ctrl-left"),
            (14, 0, "left"),
            (14, NUM_LOCK, "4"),
            (14, SHIFT, "shift-left"),
            (14, NUM_LOCK | SHIFT, "left"),
            (15, THIRD_LEVEL, "€"),
            (19, 0, "enter"),
            (20, SHIFT, "space"),
        ];
        for (key, state, name) in all {
            assert_eq!(symbols().named(key, state), Named::Key(name.to_owned()), "{key} {state:#x}");
        }
    }

    #[test]
    fn a_servers_own_word_on_shift_and_num_lock_counts() {
        let entry = |state: u16, level: u8| KTMapEntry {
            active: true,
            mods_mask: state.into(),
            level,
            mods_mods: state.into(),
            mods_vmods: 0_u16.into(),
        };
        let of = |map: Vec<KTMapEntry>| KeyType {
            mods_mask: (SHIFT | NUM_LOCK).into(),
            mods_mods: SHIFT.into(),
            mods_vmods: 0_u16.into(),
            num_levels: 2,
            has_preserve: false,
            map,
            preserve: Vec::new(),
        };
        let both = SHIFT | NUM_LOCK;
        let types = [of(vec![entry(NUM_LOCK, 1), entry(both, 0)]), of(vec![entry(NUM_LOCK, 1), entry(SHIFT, 1)])];
        let named = |index: u8, state: u16| {
            let key = KeySymMap { kt_index: [index, 0, 0, 0], group_info: 1, width: 2, syms: Vec::new() };
            symbols().with(Levels::new(14, &types, &[key])).named(14, state)
        };
        let states = [0, SHIFT, NUM_LOCK, both, CONTROL | SHIFT];
        let plain = [0, 1, 7].map(|index| states.map(|state| named(index, state)));
        let key = |name: &str| Named::Key(name.to_owned());
        let nameless = |name: &str| Named::Nameless(name.to_owned());
        let usual = [key("left"), key("shift-left"), key("4"), key("left"), nameless("ctrl-shift-0xff51")];
        assert_eq!((&plain[0], &plain[2]), (&usual, &usual), "a type that there is not is the usual one");
        let mixed = [key("left"), key("4"), key("4"), key("left"), key("ctrl-4")];
        assert_eq!(plain[1][..4], mixed[..4]);
    }

    #[test]
    fn what_has_no_name_is_described_and_what_is_held_is_no_key() {
        let nameless = [
            (10, CONTROL | SHIFT, "ctrl-shift-A"),
            (10, SUPER, "super-a"),
            (10, 1 << LAYOUT_SHIFT, "0x3b1"),
            (13, CONTROL | SHIFT, "ctrl-shift-0xff51"),
            (16, 0, "0xfe51"),
            (99, 0, "0x0"),
            (3, 0, "0x0"),
        ];
        for (key, state, words) in nameless {
            assert_eq!(symbols().named(key, state), Named::Nameless(words.to_owned()));
        }
        assert_eq!(symbols().named(17, 0), Named::Held("shift alone".to_owned()));
        assert_eq!(symbols().named(18, 0), Named::Held("alt alone".to_owned()));
        assert_eq!(Symbols::new(8, 1, vec![0xff7f, 0xffe5]).named(8, 0), Named::Switch);
        assert_eq!(Symbols::new(8, 1, vec![0xff7f, 0xffe5]).named(9, 0), Named::Switch);
        assert!(holds_key(ALT) && !holds_key(NUM_LOCK | CAPS_LOCK));
    }
}
