//! Numbered texts, each kept once.

use std::collections::HashMap;
use std::sync::Arc;

/// If there are more texts than this, they are forgotten when a new table begins.
const MAX_TEXTS: usize = 1 << 16;
/// The same goes for more text than this, bytes.
const MAX_BYTES: usize = 8 << 20;

/// Numbers texts in the order in which they come.
#[derive(Debug)]
pub(crate) struct Texts {
    list: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, i64>,
    bytes: usize,
    /// Where the last texts were, and their numbers: the same ones come again and again from the same places in memory.
    /// The text there now is compared, so a place that was reused gives no wrong number.
    recent: [(usize, u32); RECENT],
}

/// A power of two.
const RECENT: usize = 128;

impl Default for Texts {
    fn default() -> Self {
        Texts { list: Vec::new(), numbers: HashMap::new(), bytes: 0, recent: [(0, 0); RECENT] }
    }
}

impl Texts {
    /// The number of a text.
    pub(crate) fn number(&mut self, text: &str) -> i64 {
        let at = text.as_ptr() as usize;
        let place = (at >> 3 ^ at >> 10) & (RECENT - 1);
        let (known_at, known) = self.recent[place];
        if known_at == at && self.list.get(known as usize).is_some_and(|known| **known == *text) {
            return i64::from(known);
        }
        let number = self.find_or_add(text);
        if let Ok(number) = u32::try_from(number) {
            self.recent[place] = (at, number);
        }
        number
    }

    fn find_or_add(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let kept: Arc<str> = text.into();
        self.bytes += text.len();
        let number = self.list.len() as i64;
        self.list.push(Arc::clone(&kept));
        self.numbers.insert(kept, number);
        number
    }

    /// The text with a number; empty where there is none.
    pub(crate) fn get(&self, number: i64) -> &str {
        usize::try_from(number).ok().and_then(|number| self.list.get(number)).map_or("", |text| text)
    }

    /// All texts, by number.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(AsRef::as_ref)
    }

    /// How much text there is, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets them if there are many. Call it only when no number is in use.
    pub(crate) fn forget_many(&mut self) {
        if self.list.len() > MAX_TEXTS || self.bytes > MAX_BYTES {
            *self = Texts::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One place in memory holds one text after another; each gets its own number all the same.
    #[test]
    fn a_place_that_is_used_anew_gives_the_number_of_what_stands_there() {
        let (mut texts, mut buffer) = (Texts::default(), String::with_capacity(8));
        let mut numbers = Vec::new();
        for word in ["one", "two", "one", "ten", "two", "one", "", "ten"] {
            buffer.clear();
            buffer.push_str(word);
            numbers.push(texts.number(&buffer));
        }
        assert_eq!(numbers, [0, 1, 0, 2, 1, 0, 3, 2]);
        assert_eq!(texts.all().collect::<Vec<_>>(), ["one", "two", "ten", ""]);
        assert_eq!(texts.bytes(), 9);
    }
}
