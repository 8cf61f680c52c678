//! Names that come from elsewhere and are shown to people.

use std::borrow::Cow;
use std::path::Path;

/// Whether a character may control whatever displays it: a control character, one that changes the direction of writing,
/// or an end of line that is none of these, at which programs that read an answer line by line would begin another.
pub fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a name can be shown as it is.
pub(crate) fn is_printable(name: &str) -> bool {
    // Most names are plain ASCII, and a whole table of those can be checked at the speed of memory.
    name.bytes().all(|byte| matches!(byte, 0x20..0x7f)) || !name.contains(is_control)
}

/// A name with each control character replaced.
pub fn printable(name: &str) -> String {
    name.replace(is_control, "\u{fffd}")
}

/// A path with each control character replaced, so that it stays on its line.
pub fn printable_path(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// JSON whose texts and keys are printable once they are parsed: spaces in place of ends of lines and tabs, which
/// commands may contain, and U+FFFD in place of all other control characters. What is not JSON is left to the parser.
pub(crate) fn printable_json(json: &[u8]) -> Cow<'_, [u8]> {
    // Control characters cannot appear in JSON as they are; those beyond ASCII begin with a byte that has its highest
    // bit set.
    if !json.iter().any(|&byte| byte == b'\\' || byte >= 0x7f) {
        return Cow::Borrowed(json);
    }
    let (mut out, mut at, mut is_text) = (Vec::with_capacity(json.len() + 16), 0, false);
    while at < json.len() {
        let (length, steering) = match json[at] {
            b'\\' if is_text => escape(&json[at..]),
            byte if byte >= 0x7f => raw(&json[at..]),
            byte => {
                is_text ^= byte == b'"';
                (1, None)
            }
        };
        match steering {
            Some('\n' | '\r' | '\t') => out.push(b' '),
            Some(_) => out.extend_from_slice("\u{fffd}".as_bytes()),
            None => out.extend_from_slice(&json[at..at + length]),
        }
        at += length;
    }
    Cow::Owned(out)
}

/// The length of the escape at the beginning, and the character that it stands for if that is a control character.
fn escape(json: &[u8]) -> (usize, Option<char>) {
    let (length, character) = match json.get(1) {
        Some(b'n') => (2, '\n'),
        Some(b'r') => (2, '\r'),
        Some(b't') => (2, '\t'),
        Some(b'b' | b'f') => (2, '\u{8}'),
        Some(b'u') => {
            let digits = json.get(2..6).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
            let number = digits.and_then(|digits| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
            // Half of a pair is not a character, and no control character takes two.
            match number.and_then(char::from_u32) {
                Some(character) => (6, character),
                None => return (2, None),
            }
        }
        _ => return (2.min(json.len()), None),
    };
    (length, is_control(character).then_some(character))
}

/// The same for a character that is not escaped.
fn raw(json: &[u8]) -> (usize, Option<char>) {
    let length = match json[0] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 1,
    };
    let text = json.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    match text.and_then(|text| text.chars().next()) {
        Some(character) => (length, is_control(character).then_some(character)),
        None => (1, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_replaced_and_the_rest_stays() {
        let steering = "\n\t\u{1b}\u{7f}\u{9b}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}";
        assert_eq!(printable(steering), "\u{fffd}".repeat(steering.chars().count()));
        let harmless = "kworker/0:1 \u{fffd} \u{e4}\u{5d0}\u{2065}\u{200d}";
        assert!(is_printable(harmless));
        assert_eq!(printable(harmless), harmless);
        assert_eq!(printable_path(Path::new("a\nb/\u{1b}c")), "a\u{fffd}b/\u{fffd}c");
    }

    fn parsed(json: &str) -> serde_json::Value {
        serde_json::from_slice(&printable_json(json.as_bytes())).unwrap()
    }

    #[test]
    fn texts_of_json_lose_what_steers_however_it_is_written() {
        let every = (0..=0x2070).filter_map(char::from_u32).filter(|character| is_control(*character));
        let mut cases = 0;
        for character in every {
            let mut ways = vec![format!("\\u{:04x}", u32::from(character)), format!("\\u{:04X}", u32::from(character))];
            ways.push(serde_json::to_string(&character).unwrap().trim_matches('"').to_owned());
            for written in ways {
                let value = parsed(&format!(r#"{{"a{written}":["\\{written}b\"",7]}}"#));
                let new = if "\n\r\t".contains(character) { ' ' } else { '\u{fffd}' };
                let (key, list) = value.as_object().unwrap().iter().next().unwrap();
                assert_eq!(
                    (key, &list[0]),
                    (&format!("a{new}"), &serde_json::json!(format!("\\{new}b\""))),
                    "{written}"
                );
                cases += 1;
            }
        }
        assert_eq!(cases, 3 * (65 + 14));
    }

    #[test]
    fn all_other_json_stays() {
        for json in [
            r#"{"a":"\\n \u00e4 \ud83d\ude00 \/ \"","b":[1,2.5e3,null,true]}"#,
            "{\n\t\"a\": \"\u{e4}\u{5d0}\u{1f600}\u{2065}\"\n}",
            r#""\\\\u001b""#,
        ] {
            assert_eq!(printable_json(json.as_bytes()), json.as_bytes(), "{json}");
        }
        for broken in [&b"\"\\"[..], b"\"\\u12", b"\xe2\x80", b"\xc2", b"\"\xff\xfe\"", b"\"\\uzzzz\""] {
            assert_eq!(printable_json(broken), broken, "{broken:?}");
        }
    }
}
