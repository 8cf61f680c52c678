//! Which keys of the display's keyboard to press for a stroke.

use crate::script::Stroke;
use std::collections::BTreeMap;

/// The X Window System's names of these keys.
const SHIFT: u32 = 0xffe1;
const CONTROL: u32 = 0xffe3;
const ALT: u32 = 0xffe9;

/// Keys by the symbol that they stand for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keyboard {
    /// The key and whether Shift is held with it, by symbol.
    keys: BTreeMap<u32, (u8, bool)>,
    /// Keys that stand for nothing.
    free: Vec<u8>,
}

impl Keyboard {
    /// From what the server says of its keyboard: symbols of all keys from the first on, so many for each.
    pub(crate) fn new(first: u8, symbols_each: usize, symbols: &[u32]) -> Keyboard {
        let mut keyboard = Keyboard::default();
        for (key, symbols) in (first..=u8::MAX).zip(symbols.chunks(symbols_each.max(1))) {
            if symbols.iter().all(|symbol| *symbol == 0) {
                keyboard.free.push(key);
            }
            for (symbol, shifted) in symbols.iter().take(2).zip([false, true]).filter(|(symbol, _)| **symbol != 0) {
                keyboard.keys.entry(*symbol).or_insert((key, shifted));
            }
        }
        keyboard
    }

    /// Gives a key to each symbol that has none: the keys and their symbols; `None` if there are too few.
    pub(crate) fn give_keys(&mut self, wanted: impl Iterator<Item = u32>) -> Option<Vec<(u8, u32)>> {
        let mut given = Vec::new();
        for symbol in wanted {
            if !self.keys.contains_key(&symbol) {
                let key = self.free.pop()?;
                self.keys.insert(symbol, (key, false));
                given.push((key, symbol));
            }
        }
        Some(given)
    }

    /// The keys to press, in order; they are released in reverse. Empty if one is missing.
    pub(crate) fn keys(&self, stroke: Stroke) -> Vec<u8> {
        let Some(&(key, shifted)) = self.keys.get(&stroke.symbol) else { return Vec::new() };
        let held = [(stroke.control, CONTROL), (stroke.alt, ALT), (stroke.shift || shifted, SHIFT)];
        let held = held.into_iter().filter(|(is_held, _)| *is_held);
        let all: Option<Vec<u8>> = held.map(|(_, symbol)| self.keys.get(&symbol).map(|(key, _)| *key)).collect();
        let Some(mut all) = all else { return Vec::new() };
        all.push(key);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strokes_are_keys_in_order_and_missing_symbols_get_a_key() {
        let symbols = [0, 0, SHIFT, 0, CONTROL, 0, ALT, 0, 0x61, 0x41, 0, 0];
        let mut keyboard = Keyboard::new(8, 2, &symbols);
        let stroke = |symbol| Stroke { symbol, shift: false, control: false, alt: false };
        assert_eq!(keyboard.keys(stroke(0x61)), [12]);
        assert_eq!(keyboard.keys(stroke(0x41)), [9, 12]);
        assert_eq!(keyboard.keys(Stroke { control: true, alt: true, ..stroke(0x61) }), [10, 11, 12]);
        assert!(keyboard.keys(stroke(0xe4)).is_empty());
        assert_eq!(keyboard.give_keys([0xe4, 0x61, 0xf6, 0xe4].into_iter()), Some(vec![(13, 0xe4), (8, 0xf6)]));
        assert_eq!(keyboard.keys(Stroke { shift: true, ..stroke(0xe4) }), [9, 13]);
        assert_eq!(keyboard.give_keys([0xfc].into_iter()), None);
    }
}
