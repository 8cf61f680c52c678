//! Makes a script of what was typed. Pure.

use std::fmt::Write as _;
use std::time::Duration;

/// A longer pause is thinking.
const THINKS: Duration = Duration::from_millis(1_500);
/// How much of it belongs to the key that ends it.
const OF_KEY: Duration = Duration::from_millis(150);
/// The longest pause of a script.
const MAX_PAUSE: Duration = Duration::from_secs(3_600);
/// How many keys a step of text has, for people to read.
const MAX_TEXT: usize = 40;
/// Fewer pauses give no distribution.
const MIN_PAUSES: usize = 5;

/// What happened, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Happened {
    /// A key, and the pause before it.
    Key { name: String, pause: Duration },
    /// Keys were left out, and took this long.
    LeftOut { keys: u64, took: Duration },
}

/// What else a script says.
pub(super) struct Heading<'a> {
    pub(super) name: &'a str,
    pub(super) about: &'a str,
    pub(super) size: (u16, u16),
}

/// The text of a script.
pub(super) fn script(heading: &Heading<'_>, happened: &[Happened]) -> String {
    let mut text = format!("name = {}\nabout = {}\n", quoted(heading.name), quoted(heading.about));
    let (columns, rows) = heading.size;
    let _ = writeln!(text, "columns = {columns}\nrows = {rows}");
    if let Some((median, spread)) = pace(happened) {
        let _ = writeln!(text, "\n[pace]\nmedian = \"{median}ms\"\nspread = {spread:.2}");
    }
    let mut group = Group::default();
    for one in happened {
        match one {
            Happened::Key { name, pause } => {
                let pause = (*pause).min(MAX_PAUSE);
                let own = if pause > THINKS { OF_KEY } else { pause };
                if own < pause {
                    group.end(&mut text);
                    let _ = writeln!(text, "\n[[step]]\nthink = \"{}ms\"", (pause - own).as_millis());
                }
                group.add(name, own, &mut text);
            }
            Happened::LeftOut { keys, took } => {
                group.end(&mut text);
                let keys = punctual_recording::counted(*keys, "key");
                let _ = writeln!(text, "\n# {keys} left out: the terminal's echo was off.");
                let _ = writeln!(text, "[[step]]\nthink = \"{}ms\"", (*took).min(MAX_PAUSE).as_millis());
            }
        }
    }
    group.end(&mut text);
    text
}

/// The median of the pauses, ms, and the standard deviation of their logarithm.
fn pace(happened: &[Happened]) -> Option<(u128, f64)> {
    let pause = |one: &Happened| match one {
        Happened::Key { pause, .. } if *pause <= THINKS && pause.as_millis() > 0 => Some(pause.as_millis()),
        _ => None,
    };
    let mut pauses: Vec<u128> = happened.iter().filter_map(pause).collect();
    if pauses.len() < MIN_PAUSES {
        return None;
    }
    pauses.sort_unstable();
    let median = pauses[pauses.len() / 2];
    let squares: f64 = pauses.iter().map(|&pause| (pause as f64 / median as f64).ln().powi(2)).sum();
    Some((median, (squares / pauses.len() as f64).sqrt().min(2.0)))
}

/// Keys written as one step.
#[derive(Default)]
struct Group {
    /// The text, if they are characters.
    typed: String,
    /// The key that is pressed again and again, if they are not.
    named: Option<String>,
    pauses: Vec<Duration>,
}

impl Group {
    fn add(&mut self, name: &str, pause: Duration, text: &mut String) {
        let letter = as_letter(name);
        let goes_on = match letter {
            Some(_) => self.named.is_none() && self.pauses.len() < MAX_TEXT && !self.typed.ends_with('\n'),
            None => self.named.as_deref() == Some(name),
        };
        if !goes_on {
            self.end(text);
        }
        match letter {
            Some(letter) => self.typed.push(letter),
            None => self.named = Some(name.to_owned()),
        }
        self.pauses.push(pause);
    }

    fn end(&mut self, text: &mut String) {
        let group = std::mem::take(self);
        if group.pauses.is_empty() {
            return;
        }
        let what = match &group.named {
            None => format!("type = {}", quoted(&group.typed)),
            Some(name) if group.pauses.len() == 1 => format!("key = {}", quoted(name)),
            Some(name) => format!("key = {}\ntimes = {}", quoted(name), group.pauses.len()),
        };
        let pauses: Vec<String> = group.pauses.iter().map(|pause| format!("\"{}ms\"", pause.as_millis())).collect();
        let _ = writeln!(text, "\n[[step]]\n{what}\npauses = [{}]", pauses.join(", "));
    }
}

/// A key that appears in a text as itself.
fn as_letter(name: &str) -> Option<char> {
    match name {
        "space" => return Some(' '),
        "enter" => return Some('\n'),
        "tab" => return Some('\t'),
        _ => {}
    }
    let mut letters = name.chars();
    letters.next().filter(|_| letters.next().is_none())
}

/// As TOML writes it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Script, Step, key};
    use proptest::prelude::*;

    const HEADING: Heading<'_> = Heading { name: "a \"name\"", about: "", size: (80, 24) };

    fn pressed(name: &str, ms: u64) -> Happened {
        Happened::Key { name: name.to_owned(), pause: Duration::from_millis(ms) }
    }

    #[test]
    fn words_keys_thinking_and_what_was_left_out() {
        let mut happened: Vec<Happened> = "ls\"\\".chars().map(|letter| pressed(&letter.to_string(), 100)).collect();
        happened.extend([pressed("space", 120), pressed("enter", 130), pressed("x", 4_150)]);
        happened.push(Happened::LeftOut { keys: 9, took: Duration::from_millis(2_500) });
        happened.extend([pressed("page-down", 200), pressed("page-down", 210), pressed("ctrl-c", 90)]);
        let text = script(&HEADING, &happened);
        let read = Script::parse("learned.toml", &text).unwrap();
        assert!(text.contains("# 9 keys left out") && read.has_recorded_pauses(), "{text}");
        let all: Vec<(String, u128)> =
            read.presses().map(|press| (press.act.label(), press.after.unwrap().as_millis())).collect();
        let expected = [
            ("l", 100),
            ("s", 100),
            ("\"", 100),
            ("\\", 100),
            ("space", 120),
            ("enter", 130),
            ("x", 150),
            ("page-down", 200),
            ("page-down", 210),
            ("ctrl-c", 90),
        ];
        assert_eq!(all, expected.map(|(label, ms)| (label.to_owned(), ms)));
        let thinks: Vec<u128> = read
            .steps
            .iter()
            .filter_map(|step| if let Step::Think(pause) = step { Some(pause.as_millis()) } else { None })
            .collect();
        assert_eq!(thinks, [4_000, 2_500]);
        assert_eq!(read.pace.median_ns, 100_000_000);
    }

    proptest! {
        #[test]
        fn whatever_was_typed_is_read_again_in_order(
            typed in prop::collection::vec((0..14usize, any::<char>(), 0..5_000u64), 1..200),
        ) {
            const NAMES: [&str; 10] = ["enter", "tab", "space", "escape", "up", "ctrl-c", "alt-x", "ctrl-left", "f5", "backspace"];
            let named = |(which, letter, ms): (usize, char, u64)| {
                let letter = if letter.is_control() || letter == ' ' { "é".to_owned() } else { letter.to_string() };
                pressed(NAMES.get(which).copied().unwrap_or(&letter), ms)
            };
            let happened: Vec<Happened> = typed.into_iter().map(named).collect();
            let read = Script::parse("learned.toml", &script(&HEADING, &happened)).unwrap();
            let bytes: Vec<Vec<u8>> = happened.iter().map(|one| match one {
                Happened::Key { name, .. } => key(name).unwrap().bytes,
                Happened::LeftOut { .. } => Vec::new(),
            }).collect();
            let again: Vec<Vec<u8>> = read.presses().map(|press| match &press.act {
                crate::script::Act::Key(key) => key.bytes.clone(),
                other => panic!("{other:?}"),
            }).collect();
            prop_assert_eq!(again, bytes);
        }
    }
}
