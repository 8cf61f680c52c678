//! Texts by number, each kept once.

use std::collections::HashMap;
use std::sync::Arc;

/// More than these are forgotten when a table begins anew.
const MAX_TEXTS: usize = 1 << 16;
/// More than this much text is forgotten too, bytes.
const MAX_BYTES: usize = 8 << 20;

/// Numbers texts in the order in which they come.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    list: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, i64>,
    bytes: usize,
}

impl Texts {
    /// The number of a text.
    pub(crate) fn number(&mut self, text: &str) -> i64 {
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

    /// All, by number.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(AsRef::as_ref)
    }

    /// How much text there is, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets them where there are many. Only when no number is in use.
    pub(crate) fn forget_many(&mut self) {
        if self.list.len() > MAX_TEXTS || self.bytes > MAX_BYTES {
            *self = Texts::default();
        }
    }
}
