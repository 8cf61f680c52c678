//! JSON files of a recording: written by rename; if one cannot be read, the error says why.

use crate::error::{Error, ErrorKind, Result};
use crate::format::bounds::{MAX_JSON_BYTES, MAX_JSON_DEPTH, MAX_JSON_VALUES};
use crate::format::directory::Directory;
use crate::format::input;
use crate::format::printable::printable_json;
use crate::format::units::counted;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Writes a file under another name and renames it, so that nobody reads half of one.
pub(crate) fn write_json(directory: &Directory, name: &str, document: &impl Serialize) -> Result<()> {
    let path = || directory.path().join(name);
    let text = serde_json::to_vec(document)
        .map_err(|error| Error::new(ErrorKind::Invalid, path(), format!("cannot be put into JSON: {error}")))?;
    directory.write(name, &text).map_err(|error| Error::io(path(), "cannot write", error))
}

/// Reads a file; `None` if there is none. If the file holds something else, `is_not` says what it is not.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, is_not: &str) -> Result<Option<T>> {
    match input::read_file(path, MAX_JSON_BYTES) {
        Ok(text) => parse_json(path, &text, is_not).map(Some),
        // A file in place of a directory can contain nothing: the caller says that it is not a recording.
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Error::io(path, "cannot read", error)),
    }
}

/// Parses a text whose values and depth are bounded. No string in it can control what displays it, or begin a line.
pub(crate) fn parse_json<T: DeserializeOwned>(path: &Path, text: &[u8], is_not: &str) -> Result<T> {
    let invalid = |what: String| Error::new(ErrorKind::Invalid, path, format!("{is_not}: {what}"));
    check_json(text).map_err(invalid)?;
    serde_json::from_slice(&printable_json(text)).map_err(|error| invalid(in_words(text, &error)))
}

/// What is wrong with a text. One that breaks off may well be what it should be: whoever copied it did not end.
fn in_words(text: &[u8], error: &serde_json::Error) -> String {
    match error.is_eof() {
        true if text.is_empty() => "it is empty".to_owned(),
        true => format!("it breaks off after {}", counted(text.len(), "byte")),
        false => error.to_string(),
    }
}

/// Counts values and depth before anything of a text is kept. The parser deals with what is not JSON.
pub(crate) fn check_json(text: &[u8]) -> std::result::Result<(), String> {
    // Each value takes at least a byte, and most texts are short.
    if text.len() < MAX_JSON_VALUES { check_depth(text) } else { check_values(text) }
}

/// The depth alone, looking only at what changes it.
fn check_depth(text: &[u8]) -> std::result::Result<(), String> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        at += plain_bytes(&text[at..]);
        let Some(&byte) = text.get(at) else { return Ok(()) };
        at += 1;
        match byte {
            b'"' => at += text_bytes(&text[at..]),
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_JSON_DEPTH {
                    return Err(format!("it is nested deeper than {MAX_JSON_DEPTH}"));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Where the value of a member of the outermost object begins, if no space comes before it. What is not JSON may seem to have
/// any member.
pub(crate) fn begin_of_member(text: &[u8], name: &str) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        at += plain_bytes(&text[at..]);
        let byte = *text.get(at)?;
        at += 1;
        match byte {
            b'"' => {
                let begin = at;
                at += text_bytes(&text[at..]);
                // Only a name has a colon after it.
                let is_it = depth == 1 && text[begin..at].strip_suffix(b"\"") == Some(name.as_bytes());
                if is_it && text.get(at) == Some(&b':') {
                    return Some(at + 1);
                }
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
}

/// How many bytes precede the first that begins or ends a text, a list or an object; eight are looked at at a time.
fn plain_bytes(text: &[u8]) -> usize {
    // The high bit of each byte of a word that is this one. After such a byte, others may be taken for it too.
    let of = |word: u64, byte: u8| {
        let differs = word ^ u64::from_le_bytes([byte; 8]);
        differs.wrapping_sub(u64::from_le_bytes([1; 8])) & !differs & u64::from_le_bytes([0x80; 8])
    };
    let (words, rest) = text.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // `[` and `{`, `]` and `}` differ in one bit.
        let folded = word | u64::from_le_bytes([0x20; 8]);
        let found = of(word, b'"') | of(folded, b'{') | of(folded, b'}');
        if found != 0 {
            return 8 * number + found.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'[' | b']' | b'{' | b'}'));
    8 * words.len() + plain.count()
}

/// How long a text is with its closing quotation mark; everything that is left if there is none.
fn text_bytes(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(next) = text[at.min(text.len())..].iter().position(|&byte| byte == b'"' || byte == b'\\') {
        let found = at + next;
        if text[found] == b'"' {
            return found + 1;
        }
        // An escaped character ends nothing.
        at = found + 2;
    }
    text.len()
}

fn check_values(text: &[u8]) -> std::result::Result<(), String> {
    let (mut values, mut depth, mut is_text, mut is_escaped) = (1_usize, 0_usize, false, false);
    for &byte in text {
        if is_text {
            is_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b'[' | b'{' => {
                (depth, values) = (depth + 1, values + 1);
                if depth > MAX_JSON_DEPTH {
                    return Err(format!("it is nested deeper than {MAX_JSON_DEPTH}"));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
    }
    if values > MAX_JSON_VALUES {
        return Err(format!("it holds {values} values; {MAX_JSON_VALUES} are read at most"));
    }
    Ok(())
}

/// A document that names its format, and refuses any other.
pub(crate) fn read_document<T: DeserializeOwned>(
    path: &Path,
    is_not: &str,
    schema: &str,
    schema_of: impl Fn(&T) -> &str,
) -> Result<Option<T>> {
    let document = read_json(path, is_not)?;
    if let Some(other) = document.as_ref().map(schema_of).filter(|other| *other != schema) {
        let message = format!("has the schema `{other}`; this version reads {schema}");
        return Err(Error::new(ErrorKind::NewerSchema, path, message));
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_and_depth_are_counted_outside_texts() {
        assert_eq!(check_json(br#"{"a,[{\"[": [1, 2, {"b": null}]}"#), Ok(()));
        assert_eq!(check_json(br#"{"ends in an escape\"#), Ok(()));
        assert!(check_json("[".repeat(MAX_JSON_DEPTH).as_bytes()).is_ok());
        assert!(check_json("[".repeat(MAX_JSON_DEPTH + 1).as_bytes()).unwrap_err().contains("nested"));
        let quoted = format!("\"{}\"", "[,".repeat(MAX_JSON_VALUES));
        assert_eq!(check_json(quoted.as_bytes()), Ok(()));
        let many = format!("[{}0]", "0,".repeat(MAX_JSON_VALUES));
        assert!(check_json(many.as_bytes()).unwrap_err().contains("values"));
    }
    #[test]
    fn a_member_is_found_in_the_outermost_object_alone() {
        let found = |text: &str| begin_of_member(text.as_bytes(), "events").map(|begin| text[begin..].to_owned());
        assert_eq!(found(r#"{"id":1,"events":[1]}"#).as_deref(), Some("[1]}"));
        assert_eq!(found(r#"{"of":{"events":[2]},"is":"events","events":[3]}"#).as_deref(), Some("[3]}"));
        assert_eq!(found(r#"{"\"events":[1],"events\"":[2],"an event":"\",\"events\":[3]"}"#), None);
        for text in ["", "{", r#"{"events"}"#, r#"{"events" :[1]}"#, r#"[{"events":[1]}]"#, r#"}{"events":[1]}"#] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_that_breaks_off_is_told_from_one_of_another_kind() {
        let wrong = |text: &[u8]| parse_json::<Vec<u32>>(Path::new("a"), text, "is no list").unwrap_err().to_string();
        assert_eq!(wrong(b""), "a: is no list: it is empty");
        for cut in [&b"["[..], b"[1, 2", b"[1, 2, "] {
            let expected = format!("a: is no list: it breaks off after {}", counted(cut.len(), "byte"));
            assert_eq!(wrong(cut), expected);
        }
        assert!(wrong(b"{}").contains("invalid type"), "{}", wrong(b"{}"));
    }

    proptest! {
        /// Whatever stands in a text, and wherever.
        #[test]
        fn the_depth_of_a_short_text_is_that_of_a_careful_look(
            text in prop::collection::vec(prop::sample::select(&br#"[[[[{{]}"\,:1a "#[..]), 0..400),
        ) {
            prop_assert_eq!(check_depth(&text), check_values(&text));
        }
    }
}
