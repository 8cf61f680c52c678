//! Figures and names as words.

use super::width::width;
use punctual_recording::{counted, grouped, is_control};

/// Nanoseconds as microseconds, rounded to the tenth.
pub fn microseconds(nanoseconds: Option<u64>) -> String {
    nanoseconds.map_or_else(
        || "-".to_owned(),
        |nanoseconds| {
            let tenths = nanoseconds.saturating_add(50) / 100;
            format!("{}.{}", tenths / 10, tenths % 10)
        },
    )
}

/// A decimal number with its thousands set apart; anything else as it is.
pub(crate) fn thousands(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    digits.parse().map_or_else(|_| number.to_owned(), |digits: u64| format!("{sign}{}{rest}", grouped(digits)))
}

/// A name that fits into a table: one that is longer than this many characters loses its middle.
pub(crate) fn shortened(name: &str, max_chars: usize) -> String {
    let count = name.chars().count();
    if count <= max_chars {
        return name.to_owned();
    }
    let begin: String = name.chars().take(max_chars / 2).collect();
    let end: String = name.chars().skip(count - (max_chars - max_chars / 2 - 1)).collect();
    format!("{begin}…{end}")
}

/// If lines are not wrapped, names are shown whole up to this length, characters: a forged recording may have any
/// length.
const MAX_WHOLE: usize = 1_000;

/// The same for a reader with limited columns; what goes into a file or a pipe is not shortened.
pub(crate) fn fitting(name: &str, max_chars: usize) -> String {
    shortened(name, if width().is_some() { max_chars } else { MAX_WHOLE })
}

/// With a capital letter, as a sentence begins.
pub(crate) fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A number in thousandths, without needless zeros.
pub(crate) fn thousandths(value: u64) -> String {
    let text = format!("{}.{:03}", value / 1_000, value % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A part of a whole in percent; 0 if there is no whole.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

/// The same in words, to the tenth of a percent.
pub(crate) fn as_percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", percent(part, whole))
}

/// The same, finer where the tenth would look like nothing or everything.
pub(crate) fn as_fine_percent(part: u64, whole: u64) -> String {
    let share = percent(part, whole);
    if share < 0.1 || (share > 99.9 && share < 100.0) { format!("{share:.3} %") } else { format!("{share:.1} %") }
}

/// So many a second: three digits or so, with the thousands set apart.
pub(crate) fn rate(per_second: f64) -> String {
    match per_second {
        _ if per_second >= 99.95 => grouped(per_second.round() as u64),
        _ if per_second >= 9.995 => format!("{per_second:.1}"),
        _ if per_second >= 0.9995 => format!("{per_second:.2}"),
        _ => format!("{per_second:.3}"),
    }
}

/// How often: `once`, or so many times.
pub(crate) fn how_often(count: impl TryInto<u64>) -> String {
    match count.try_into().unwrap_or(u64::MAX) {
        1 => "once".to_owned(),
        count => counted(count, "time"),
    }
}

/// Quoted so that a shell takes it as one word. What may control a terminal, which a command is shown without, is escaped.
pub fn shell_word(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=,+@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else if word.contains(is_control) {
        format!("$'{}'", word.chars().map(escaped).collect::<String>())
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A character within `$'...'`.
fn escaped(character: char) -> String {
    match character {
        '\n' => r"\n".to_owned(),
        '\t' => r"\t".to_owned(),
        '\'' | '\\' => format!(r"\{character}"),
        _ if is_control(character) => {
            character.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!(r"\{byte:03o}")).collect()
        }
        _ => character.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_any_text_as_the_word_that_it_was() {
        let words =
            ["", "plain-1", "two words", "it's", "a = 1\nb = '\\n'\n", "\t\u{1b}[2J9", "\u{202e}txt", "$HOME `id` é"];
        for word in words {
            let shown = shell_word(word);
            assert!(!shown.contains(is_control), "{shown}");
            let script = format!("printf %s {shown}");
            let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word, "{shown}");
        }
    }

    #[test]
    fn a_share_is_as_fine_as_tells_something() {
        for (part, whole, plain, fine) in [
            (0, 0, "0.0 %", "0.000 %"),
            (1, 3, "33.3 %", "33.3 %"),
            (1, 10_000, "0.0 %", "0.010 %"),
            (99_999, 100_000, "100.0 %", "99.999 %"),
            (7, 7, "100.0 %", "100.0 %"),
            (3, 2, "150.0 %", "150.0 %"),
        ] {
            assert_eq!((as_percent(part, whole).as_str(), as_fine_percent(part, whole).as_str()), (plain, fine));
        }
    }
}
