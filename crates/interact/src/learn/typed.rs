//! What somebody typed, from the bytes that their terminal sent: keys by their names in scripts. Pure.

use crate::script::key;

/// The longest key or answer of a terminal, bytes.
const MAX_SEQUENCE: usize = 4_096;

/// Something that came from a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// A key, by its name in scripts.
    Key(String),
    /// Nothing typed: the terminal answered a program, or reported the mouse or a paste.
    Told,
    /// A key for which scripts have no name.
    Nameless(Vec<u8>),
}

/// The meaning of the first bytes.
enum Begins {
    /// So many bytes are this.
    With(usize, Typed),
    /// It takes more bytes to tell.
    Unfinished,
}

/// Takes bytes as they come; they may end within a key.
#[derive(Debug, Default)]
pub(super) struct TypedReader {
    rest: Vec<u8>,
}

impl TypedReader {
    /// What these bytes complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Typed> {
        self.rest.extend_from_slice(bytes);
        let mut all = Vec::new();
        while let Begins::With(length, typed) = begins(&self.rest) {
            self.rest.drain(..length);
            all.push(typed);
        }
        all
    }

    /// Whether a key has begun that may go on.
    pub(super) fn is_within(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Nothing more came for a while, so this is all.
    pub(super) fn end(&mut self) -> Vec<Typed> {
        let mut all = Vec::new();
        while !self.rest.is_empty() {
            let (length, typed) = match begins(&self.rest) {
                Begins::With(length, typed) => (length, typed),
                Begins::Unfinished => shortest(&self.rest),
            };
            self.rest.drain(..length);
            all.push(typed);
        }
        all
    }
}

/// What it is if nothing follows: Escape, Alt with a character, or no key at all.
fn shortest(bytes: &[u8]) -> (usize, Typed) {
    match bytes {
        [0x1b, letter @ 0x20..=0x7e, ..] => (2, Typed::Key(format!("alt-{}", named_letter(char::from(*letter))))),
        [0x1b, ..] => (1, Typed::Key("escape".to_owned())),
        _ => (1, Typed::Nameless(bytes[..1].to_vec())),
    }
}

fn begins(bytes: &[u8]) -> Begins {
    match bytes {
        [] | [0x1b] => Begins::Unfinished,
        [0x1b, b'[', ..] => control_sequence(bytes),
        [0x1b, b'O', ..] => application_key(bytes),
        [0x1b, b']' | b'P' | b'_' | b'^', ..] => told(bytes),
        [0x1b, rest @ ..] => with_alt(rest),
        _ => letter(bytes),
    }
}

/// A character, or Control with one.
fn letter(bytes: &[u8]) -> Begins {
    let first = bytes[0];
    let name = match first {
        0 => "ctrl-space".to_owned(),
        b'\t' => "tab".to_owned(),
        b'\r' => "enter".to_owned(),
        1..=26 => format!("ctrl-{}", char::from(first - 1 + b'a')),
        0x1c => "ctrl-backslash".to_owned(),
        0x1d..=0x1f => format!("ctrl-{}", char::from(first + 0x40)),
        0x7f => "backspace".to_owned(),
        _ => return character(bytes),
    };
    Begins::With(1, Typed::Key(name))
}

/// A character of one to four bytes.
fn character(bytes: &[u8]) -> Begins {
    let length = match bytes[0] {
        0x20..=0x7e => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Begins::With(1, Typed::Nameless(bytes[..1].to_vec())),
    };
    let whole = &bytes[..length.min(bytes.len())];
    match std::str::from_utf8(whole).map(|text| text.chars().next()) {
        Ok(Some(letter)) if !letter.is_control() => Begins::With(length, Typed::Key(named_letter(letter))),
        Err(error) if error.error_len().is_none() => Begins::Unfinished,
        _ => Begins::With(1, Typed::Nameless(bytes[..1].to_vec())),
    }
}

fn named_letter(letter: char) -> String {
    if letter == ' ' { "space".to_owned() } else { letter.to_string() }
}

/// Escape before another key: Alt is held.
fn with_alt(rest: &[u8]) -> Begins {
    match begins(rest) {
        Begins::Unfinished => Begins::Unfinished,
        Begins::With(length, Typed::Key(name)) if name != "escape" && key(&format!("alt-{name}")).is_ok() => {
            Begins::With(length + 1, Typed::Key(format!("alt-{name}")))
        }
        // Escape, and then something else.
        Begins::With(..) => Begins::With(1, Typed::Key("escape".to_owned())),
    }
}

/// Escape and `O`: keys of a terminal whose program asked for this form, or Alt with an O.
fn application_key(bytes: &[u8]) -> Begins {
    let Some(&last) = bytes.get(2) else { return Begins::Unfinished };
    let name = match last {
        b'A' => "up",
        b'B' => "down",
        b'C' => "right",
        b'D' => "left",
        b'H' => "home",
        b'F' => "end",
        b'M' => "enter",
        b'P' => "f1",
        b'Q' => "f2",
        b'R' => "f3",
        b'S' => "f4",
        _ => return Begins::With(2, Typed::Key("alt-O".to_owned())),
    };
    Begins::With(3, Typed::Key(name.to_owned()))
}

/// Escape and `[`: a key with a number, or a report of the terminal.
fn control_sequence(bytes: &[u8]) -> Begins {
    if bytes.get(2) == Some(&b'M') {
        // Where the mouse is, in three bytes.
        return if bytes.len() < 6 { Begins::Unfinished } else { Begins::With(6, Typed::Told) };
    }
    let is_inside = |byte: &u8| (0x20..=0x3f).contains(byte);
    let inside = bytes[2..].iter().take_while(|byte| is_inside(byte)).count();
    let Some(&last) = bytes.get(2 + inside) else {
        let is_endless = bytes.len() > MAX_SEQUENCE;
        return if is_endless {
            Begins::With(bytes.len(), Typed::Nameless(bytes.to_vec()))
        } else {
            Begins::Unfinished
        };
    };
    let whole = &bytes[..=(2 + inside)];
    Begins::With(whole.len(), sequence(&whole[2..2 + inside], last).unwrap_or_else(|| Typed::Nameless(whole.to_vec())))
}

/// The meaning of a control sequence with these parameters and this end.
fn sequence(parameters: &[u8], last: u8) -> Option<Typed> {
    let is_told =
        matches!(parameters, [b'?' | b'>' | b'<' | b'=', ..]) || matches!(last, b'R' | b'c' | b'n' | b't' | b'y');
    let is_mark = matches!((parameters, last), ([], b'I' | b'O') | (b"200" | b"201", b'~'));
    if is_told || is_mark {
        return Some(Typed::Told);
    }
    let words = std::str::from_utf8(parameters).ok()?;
    let mut numbers = words.split(';').map(|word| if word.is_empty() { Ok(1) } else { word.parse::<u32>() });
    let (first, held) = (numbers.next()?.ok()?, numbers.next().unwrap_or(Ok(1)).ok()?);
    let base = match (last, first) {
        (b'A', _) => "up",
        (b'B', _) => "down",
        (b'C', _) => "right",
        (b'D', _) => "left",
        (b'H', _) | (b'~', 1 | 7) => "home",
        (b'F', _) | (b'~', 4 | 8) => "end",
        (b'Z', _) => "back-tab",
        (b'~', 2) => "insert",
        (b'~', 3) => "delete",
        (b'~', 5) => "page-up",
        (b'~', 6) => "page-down",
        (b'P', _) | (b'~', 11) => "f1",
        (b'Q', _) | (b'~', 12) => "f2",
        (b'~', 13) => "f3",
        (b'S', _) | (b'~', 14) => "f4",
        (b'~', 15) => "f5",
        (b'~', number @ 17..=21) => ["f6", "f7", "f8", "f9", "f10"][number as usize - 17],
        (b'~', number @ 23..=24) => ["f11", "f12"][number as usize - 23],
        _ => return None,
    };
    let before = match held {
        1 => "",
        2 => "shift-",
        3 => "alt-",
        5 => "ctrl-",
        _ => return None,
    };
    let name = format!("{before}{base}");
    key(&name).is_ok().then_some(Typed::Key(name))
}

/// Escape and one of `]P_^`: the terminal answers, up to a bell or Escape and a backslash.
fn told(bytes: &[u8]) -> Begins {
    let bell = bytes.iter().position(|byte| *byte == 7).map(|at| at + 1);
    let end = bytes[2..].windows(2).position(|pair| pair == [0x1b, b'\\']).map(|at| at + 4);
    match bell.into_iter().chain(end).min() {
        Some(length) => Begins::With(length, Typed::Told),
        None if bytes.len() > MAX_SEQUENCE => Begins::With(bytes.len(), Typed::Nameless(bytes.to_vec())),
        None => Begins::Unfinished,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(bytes: &[u8]) -> Vec<String> {
        let mut reader = TypedReader::default();
        let mut all = reader.take(bytes);
        all.extend(reader.end());
        all.into_iter().map(|one| if let Typed::Key(name) = one { name } else { format!("{one:?}") }).collect()
    }

    #[test]
    fn keys_have_the_names_of_scripts() {
        let all = [
            "a",
            "ä",
            "€",
            "space",
            "tab",
            "enter",
            "escape",
            "backspace",
            "delete",
            "insert",
            "up",
            "page-down",
            "home",
            "f1",
            "f5",
            "f10",
            "f12",
            "back-tab",
            "ctrl-a",
            "ctrl-z",
            "ctrl-space",
            "ctrl-backslash",
            "ctrl-]",
            "ctrl-^",
            "ctrl-_",
            "alt-x",
            "alt-O",
            "alt-[",
            "alt-]",
            "alt-enter",
            "alt-backspace",
            "ctrl-left",
            "shift-up",
            "ctrl-page-down",
            "ctrl-delete",
            "shift-f5",
        ];
        for name in all {
            let key = key(name).unwrap();
            assert_eq!(names(&key.bytes), [name], "{:?}", key.bytes);
            // And where it comes byte by byte.
            let mut reader = TypedReader::default();
            let mut apart: Vec<Typed> = key.bytes.iter().flat_map(|&byte| reader.take(&[byte])).collect();
            apart.extend(reader.end());
            assert_eq!(apart, [Typed::Key(name.to_owned())]);
        }
        assert_eq!(names(b"\x1bOAx\x1b[1;3D\n"), ["up", "x", "alt-left", "ctrl-j"]);
        assert_eq!(names(b"\x1b\x1b"), ["escape", "escape"]);
        assert_eq!(names(b"\x1b\x1b[A"), ["alt-up"]);
    }

    #[test]
    fn what_a_terminal_tells_is_not_typed() {
        for told in [
            "\x1b[24;80R",
            "\x1b[?62;22c",
            "\x1b[>0;276;0c",
            "\x1b]11;rgb:0000/0000/0000\x07",
            "\x1bP>|x\x1b\\",
            "\x1b[I",
            "\x1b[<0;5;6M",
            "\x1b[M !!",
            "\x1b[200~",
            "\x1b[0n",
        ] {
            let mut reader = TypedReader::default();
            assert_eq!(reader.take(told.as_bytes()), [Typed::Told], "{told:?}");
        }
        assert_eq!(names(b"\x1b[1;6A"), ["Nameless([27, 91, 49, 59, 54, 65])"]);
        assert_eq!(names(b"\xff"), ["Nameless([255])"]);
    }

    proptest! {
        #[test]
        fn every_byte_becomes_something_and_cuts_change_nothing(bytes in prop::collection::vec(any::<u8>(), 0..60), at in 0..60usize) {
            let whole = names(&bytes);
            prop_assert!(bytes.is_empty() || !whole.is_empty());
            let (one, other) = bytes.split_at(at.min(bytes.len()));
            let mut reader = TypedReader::default();
            let mut all = reader.take(one);
            all.extend(reader.take(other));
            all.extend(reader.end());
            prop_assert_eq!(all.len(), whole.len());
            prop_assert!(!reader.is_within());
        }
    }
}
