//! Keys by name, and what a terminal sends for them.

/// A key: what is sent for it, and of which kind of input it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// As scripts name it.
    pub label: String,
    /// What is sent, as xterm sends it.
    pub bytes: Vec<u8>,
    /// `key`, `enter`, `erase`, `move`, `page`, `control`.
    pub kind: &'static str,
}

/// Named keys: name, what is sent, kind.
const NAMED: [(&str, &str, &str); 31] = [
    ("enter", "\r", "enter"),
    ("tab", "\t", "control"),
    ("space", " ", "key"),
    ("escape", "\x1b", "control"),
    ("backspace", "\x7f", "erase"),
    ("delete", "\x1b[3~", "erase"),
    ("insert", "\x1b[2~", "control"),
    ("up", "\x1b[A", "move"),
    ("down", "\x1b[B", "move"),
    ("right", "\x1b[C", "move"),
    ("left", "\x1b[D", "move"),
    ("home", "\x1b[H", "move"),
    ("end", "\x1b[F", "move"),
    ("page-up", "\x1b[5~", "page"),
    ("page-down", "\x1b[6~", "page"),
    ("f1", "\x1bOP", "control"),
    ("f2", "\x1bOQ", "control"),
    ("f3", "\x1bOR", "control"),
    ("f4", "\x1bOS", "control"),
    ("f5", "\x1b[15~", "control"),
    ("f6", "\x1b[17~", "control"),
    ("f7", "\x1b[18~", "control"),
    ("f8", "\x1b[19~", "control"),
    ("f9", "\x1b[20~", "control"),
    ("f10", "\x1b[21~", "control"),
    ("f11", "\x1b[23~", "control"),
    ("f12", "\x1b[24~", "control"),
    ("back-tab", "\x1b[Z", "control"),
    ("ctrl-space", "\0", "control"),
    ("ctrl-backslash", "\x1c", "control"),
    ("ctrl-]", "\x1d", "control"),
];

/// The key of this name.
///
/// # Errors
/// What would be a name.
pub fn key(name: &str) -> Result<Key, String> {
    if let Some((label, bytes, kind)) = NAMED.iter().find(|(label, ..)| *label == name) {
        return Ok(Key { label: (*label).to_owned(), bytes: bytes.as_bytes().to_vec(), kind });
    }
    let label = name.to_owned();
    if let Some([letter @ b'a'..=b'z']) = name.strip_prefix("ctrl-").map(str::as_bytes) {
        return Ok(Key { label, bytes: vec![letter - b'a' + 1], kind: "control" });
    }
    if let Some(rest) = name.strip_prefix("alt-")
        && let Ok(mut key) = key(rest)
        && !rest.starts_with("alt-")
    {
        key.bytes.insert(0, 0x1b);
        return Ok(Key { label, bytes: key.bytes, kind: "control" });
    }
    let mut letters = name.chars();
    if let (Some(letter), None) = (letters.next(), letters.next())
        && !letter.is_control()
    {
        return Ok(typed(letter));
    }
    Err(format!(
        "`{name}` is no key: write a character, ctrl- and a letter, alt- and a key, or one of {}",
        NAMED.map(|(name, ..)| name).join(", ")
    ))
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
    Key { label, bytes: letter.to_string().into_bytes(), kind: "key" }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            let key = key(name).unwrap();
            assert_eq!((key.bytes.as_slice(), key.kind, key.label.as_str()), (bytes, kind, name));
        }
        assert_eq!((typed('\n').kind, typed(' ').label), ("enter", "space".to_owned()));
        for wrong in ["", "ab", "ctrl-1", "alt-alt-x", "\u{7}", "pagedown"] {
            assert!(key(wrong).unwrap_err().contains("page-down"), "{wrong}");
        }
    }
}
