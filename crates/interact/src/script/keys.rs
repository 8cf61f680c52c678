//! Keys by name, what a terminal sends for them, and what to press on a keyboard.

/// A key: what is sent for it, and its kind of input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its name in scripts.
    pub label: String,
    /// What is sent, as xterm sends it.
    pub bytes: Vec<u8>,
    /// `key`, `enter`, `erase`, `move`, `page`, `control`.
    pub kind: &'static str,
    /// What to press on a keyboard for it.
    pub stroke: Stroke,
}

/// A key of a keyboard and those held down with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stroke {
    /// What the X Window System calls the symbol on the key (X11/keysymdef.h).
    pub symbol: u32,
    /// Shift is held, in addition to what the symbol itself takes.
    pub shift: bool,
    /// Control is held.
    pub control: bool,
    /// Alt is held.
    pub alt: bool,
}

/// With a symbol of the table: Control or Shift is held.
const CONTROL: u32 = 1 << 30;
const SHIFTED: u32 = 1 << 29;
/// In the symbols of characters beyond Latin-1.
const LETTER: u32 = 1 << 24;

impl Stroke {
    fn of(symbol: u32) -> Stroke {
        let (shift, control) = (symbol & SHIFTED != 0, symbol & CONTROL != 0);
        Stroke { symbol: symbol & !(CONTROL | SHIFTED), shift, control, alt: false }
    }

    /// For a character: those of Latin-1 are their own symbols, others have this bit.
    fn of_letter(letter: char) -> Stroke {
        let number = u32::from(letter);
        Stroke::of(if number < 0x100 { number } else { LETTER | number })
    }
}

/// Named keys: name, what is sent, kind, the symbol on a keyboard.
const NAMED: [(&str, &str, &str, u32); 33] = [
    ("enter", "\r", "enter", 0xff0d),
    ("tab", "\t", "control", 0xff09),
    ("space", " ", "key", 0x20),
    ("escape", "\x1b", "control", 0xff1b),
    ("backspace", "\x7f", "erase", 0xff08),
    ("delete", "\x1b[3~", "erase", 0xffff),
    ("insert", "\x1b[2~", "control", 0xff63),
    ("up", "\x1b[A", "move", 0xff52),
    ("down", "\x1b[B", "move", 0xff54),
    ("right", "\x1b[C", "move", 0xff53),
    ("left", "\x1b[D", "move", 0xff51),
    ("home", "\x1b[H", "move", 0xff50),
    ("end", "\x1b[F", "move", 0xff57),
    ("page-up", "\x1b[5~", "page", 0xff55),
    ("page-down", "\x1b[6~", "page", 0xff56),
    ("f1", "\x1bOP", "control", 0xffbe),
    ("f2", "\x1bOQ", "control", 0xffbf),
    ("f3", "\x1bOR", "control", 0xffc0),
    ("f4", "\x1bOS", "control", 0xffc1),
    ("f5", "\x1b[15~", "control", 0xffc2),
    ("f6", "\x1b[17~", "control", 0xffc3),
    ("f7", "\x1b[18~", "control", 0xffc4),
    ("f8", "\x1b[19~", "control", 0xffc5),
    ("f9", "\x1b[20~", "control", 0xffc6),
    ("f10", "\x1b[21~", "control", 0xffc7),
    ("f11", "\x1b[23~", "control", 0xffc8),
    ("f12", "\x1b[24~", "control", 0xffc9),
    ("back-tab", "\x1b[Z", "control", SHIFTED | 0xff09),
    ("ctrl-space", "\0", "control", CONTROL | 0x20),
    ("ctrl-backslash", "\x1c", "control", CONTROL | 0x5c),
    ("ctrl-]", "\x1d", "control", CONTROL | 0x5d),
    ("ctrl-^", "\x1e", "control", CONTROL | 0x5e),
    ("ctrl-_", "\x1f", "control", CONTROL | 0x5f),
];

/// The key of this name.
///
/// # Errors
/// What a name would be.
pub fn key(name: &str) -> Result<Key, String> {
    if let Some((label, bytes, kind, symbol)) = NAMED.iter().find(|(label, ..)| *label == name) {
        return Ok(Key {
            label: (*label).to_owned(),
            bytes: bytes.as_bytes().to_vec(),
            kind,
            stroke: Stroke::of(*symbol),
        });
    }
    let label = name.to_owned();
    if let Some([letter @ b'a'..=b'z']) = name.strip_prefix("ctrl-").map(str::as_bytes) {
        let stroke = Stroke::of(CONTROL | u32::from(*letter));
        return Ok(Key { label, bytes: vec![letter - b'a' + 1], kind: "control", stroke });
    }
    if let Some(key) = held_with(name) {
        return Ok(key);
    }
    if let Some(rest) = name.strip_prefix("alt-")
        && let Ok(mut key) = key(rest)
        && !rest.starts_with("alt-")
    {
        key.bytes.insert(0, 0x1b);
        let stroke = Stroke { alt: true, ..key.stroke };
        return Ok(Key { label, bytes: key.bytes, kind: "control", stroke });
    }
    let mut letters = name.chars();
    if let (Some(letter), None) = (letters.next(), letters.next())
        && !letter.is_control()
    {
        return Ok(typed(letter));
    }
    Err(format!(
        "`{name}` is not a key: write a character, ctrl- and a letter, alt- and a key, ctrl- or shift- and an arrow, for instance, or one of {}",
        NAMED.map(|(name, ..)| name).join(", ")
    ))
}

/// The name of the key of a stroke, if scripts have one: the reverse of [`key`].
pub(crate) fn name_of(stroke: Stroke) -> Option<String> {
    if stroke.alt {
        let name = format!("alt-{}", name_of(Stroke { alt: false, ..stroke })?);
        return key(&name).is_ok_and(|key| key.stroke == stroke).then_some(name);
    }
    let bare = Stroke::of(stroke.symbol);
    let of = |wanted: Stroke| NAMED.iter().find(|(.., symbol)| Stroke::of(*symbol) == wanted).map(|(name, ..)| *name);
    let letter = char::from_u32(stroke.symbol & !LETTER).filter(|letter| Stroke::of_letter(*letter) == bare);
    let letter = letter.filter(|letter| !letter.is_control()).map(String::from);
    let base = of(bare).map(str::to_owned).or(letter)?;
    let held = [(stroke.control, "ctrl-"), (stroke.shift, "shift-")];
    let held: String = held.into_iter().filter(|(is_held, _)| *is_held).map(|(_, name)| name).collect();
    let name = of(stroke).map_or_else(|| held + &base, str::to_owned);
    key(&name).is_ok_and(|key| key.stroke == stroke).then_some(name)
}

/// Control, or Shift, held with a key that has no character, as xterm sends it.
fn held_with(name: &str) -> Option<Key> {
    let held = [("shift-", '2'), ("ctrl-", '5')];
    let (rest, number) = held.iter().find_map(|(prefix, number)| Some((name.strip_prefix(prefix)?, *number)))?;
    let (_, sent, kind, symbol) = NAMED.iter().find(|(label, ..)| *label == rest && rest != "back-tab")?;
    let parameters = sent.strip_prefix("\x1b[").or_else(|| sent.strip_prefix("\x1bO"))?;
    let last = parameters.chars().last()?;
    let first = parameters.strip_suffix(last).filter(|first| !first.is_empty()).unwrap_or("1");
    let bytes = format!("\x1b[{first};{number}{last}").into_bytes();
    let (shift, control) = (number == '2', number == '5');
    Some(Key { label: name.to_owned(), bytes, kind, stroke: Stroke { shift, control, ..Stroke::of(*symbol) } })
}

/// The key of a character of a text; a new line is the Enter key.
pub fn typed(letter: char) -> Key {
    match letter {
        '\n' => key("enter").unwrap_or_else(|_| plain(letter)),
        '\t' => key("tab").unwrap_or_else(|_| plain(letter)),
        letter => plain(letter),
    }
}

fn plain(letter: char) -> Key {
    let label = if letter == ' ' { "space".to_owned() } else { letter.to_string() };
    Key { label, bytes: letter.to_string().into_bytes(), kind: "key", stroke: Stroke::of_letter(letter) }
}

#[cfg(test)]
mod tests {
    use super::super::{Act, Button, Direction, KINDS, MIDDLE};
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_has_its_name() {
        let kinds = NAMED.map(|(.., kind, _)| kind).into_iter().chain([key("ctrl-x").unwrap().kind, typed('x').kind]);
        let acts = [Act::Point(MIDDLE), Act::Click(Button::Left), Act::Scroll(Direction::Up)].map(|act| act.kind());
        let found: BTreeSet<&str> = kinds.chain(acts).collect();
        assert_eq!(found, BTreeSet::from(KINDS));
    }

    #[test]
    fn keys_send_what_a_terminal_sends() {
        for (name, bytes, kind) in [
            ("a", "a".as_bytes(), "key"),
            ("ä", "ä".as_bytes(), "key"),
            ("enter", b"\r", "enter"),
            ("ctrl-c", b"\x03", "control"),
            ("alt-x", b"\x1bx", "control"),
            ("alt-enter", b"\x1b\r", "control"),
            ("page-down", b"\x1b[6~", "page"),
            ("ctrl-page-down", b"\x1b[6;5~", "page"),
            ("shift-left", b"\x1b[1;2D", "move"),
            ("ctrl-f1", b"\x1b[1;5P", "control"),
        ] {
            let key = key(name).unwrap();
            assert_eq!((key.bytes.as_slice(), key.kind, key.label.as_str()), (bytes, kind, name));
        }
        assert_eq!((typed('\n').kind, typed(' ').label), ("enter", "space".to_owned()));
        let stroke = |name: &str| {
            let Stroke { symbol, shift, control, alt } = key(name).unwrap().stroke;
            (symbol, shift, control, alt)
        };
        assert_eq!(stroke("a"), (0x61, false, false, false));
        assert_eq!(stroke("€"), (0x0100_20ac, false, false, false));
        assert_eq!(stroke("ctrl-s"), (0x73, false, true, false));
        assert_eq!(stroke("alt-page-down"), (0xff56, false, false, true));
        assert_eq!(stroke("back-tab"), (0xff09, true, false, false));
        let names = NAMED.map(|(name, ..)| name).into_iter();
        for name in
            names.chain(["a", "A", "ä", "€", "ctrl-s", "shift-up", "ctrl-page-down", "alt-x", "alt-left", "alt-A"])
        {
            assert_eq!(name_of(key(name).unwrap().stroke).as_deref(), Some(name));
        }
        let nameless = Stroke { shift: true, ..key("ctrl-s").unwrap().stroke };
        assert_eq!((name_of(nameless), name_of(Stroke::of(0xfe51)), name_of(Stroke::of(7))), (None, None, None));
        for wrong in ["", "ab", "ctrl-1", "alt-alt-x", "\u{7}", "pagedown"] {
            assert!(key(wrong).unwrap_err().contains("page-down"), "{wrong}");
        }
    }
}
