//! Makes a script of what was typed and clicked. Pure.

use crate::script::{Act, MAX_BYTES, MAX_INPUTS, Spot};
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
/// More than any one thing that happened takes in a script, bytes.
const MAX_ONE: usize = 400;

/// What happened, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Happened {
    /// A key, and the pause before it.
    Key { name: String, pause: Duration },
    /// A button or the wheel, where, and the pause before it.
    Mouse { act: Act, at: Spot, pause: Duration },
    /// What follows goes to another window.
    OtherWindow,
    /// Keys were left out, and took this long.
    LeftOut { keys: u64, took: Duration },
}

/// What else a script says.
pub(super) struct Heading<'a> {
    pub(super) name: &'a str,
    pub(super) about: &'a str,
    pub(super) size: Size,
}

/// The size of what was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// A terminal: columns and rows.
    Terminal((u16, u16)),
    /// The window in which something was first clicked, pixels, and how many clicks and turns of the wheel came while their
    /// window had another size than when it was first used.
    Window { first: Option<(u16, u16)>, resized: u64 },
}

/// The text of a script, and how many of these it contains: as many as a script may have.
pub(super) fn script(heading: &Heading<'_>, happened: &[Happened]) -> (String, usize) {
    let mut text = format!("name = {}\nabout = {}\n", quoted(heading.name), quoted(heading.about));
    match heading.size {
        Size::Terminal((columns, rows)) => {
            let _ = writeln!(text, "columns = {columns}\nrows = {rows}");
        }
        Size::Window { first, resized } => {
            if let Some((width, height)) = first {
                let of = format!("of a window that was {width} by {height} when it was first clicked");
                let _ = writeln!(text, "# Places are in pixels, {of}.");
            }
            if resized > 0 {
                let when = "came when their window had another size than at first";
                let input = punctual_recording::counted(resized, "input");
                let _ =
                    writeln!(text, "# {input} of the mouse {when}: if a person resized it, they may land elsewhere.");
            }
        }
    }
    if let Some((median, spread)) = pace(happened) {
        let _ = writeln!(text, "\n[pace]\nmedian = \"{median}ms\"\nspread = {spread:.2}");
    }
    let mut group = Group::default();
    // A thought, the way of the pointer and a click are the most that one of them is.
    let mut inputs = 0;
    for (at, one) in happened.iter().enumerate() {
        inputs += 3;
        if text.len() + group.bytes() + MAX_ONE > MAX_BYTES || inputs > MAX_INPUTS as usize {
            group.end(&mut text);
            return (text, at);
        }
        match one {
            Happened::Key { name, pause } => {
                let own = thought(&mut group, *pause, &mut text);
                group.add(name, own, &mut text);
            }
            Happened::Mouse { act, at, pause } => {
                let own = thought(&mut group, *pause, &mut text);
                let what = format!("{} = {}\nat = \"{at}\"", act.kind(), quoted(&act.label()));
                group.add_named(&what, own, &mut text);
            }
            Happened::OtherWindow => {
                group.end(&mut text);
                text.push_str("\n[[step]]\nwait = \"quiet\"\n");
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
    (text, happened.len())
}

/// Writes down the part of a pause that is thinking, and returns the rest.
fn thought(group: &mut Group, pause: Duration, text: &mut String) -> Duration {
    let pause = pause.min(MAX_PAUSE);
    let own = if pause > THINKS { OF_KEY } else { pause };
    if own < pause {
        group.end(text);
        let _ = writeln!(text, "\n[[step]]\nthink = \"{}ms\"", (pause - own).as_millis());
    }
    own
}

/// The median of the pauses, ms, and the standard deviation of their logarithm.
fn pace(happened: &[Happened]) -> Option<(u128, f64)> {
    let pause = |one: &Happened| match one {
        Happened::Key { pause, .. } | Happened::Mouse { pause, .. } if *pause <= THINKS && pause.as_millis() > 0 => {
            Some(pause.as_millis())
        }
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
    /// What is done again and again, if they are not.
    named: Option<String>,
    pauses: Vec<Duration>,
}

impl Group {
    fn add(&mut self, name: &str, pause: Duration, text: &mut String) {
        let Some(letter) = as_letter(name) else {
            return self.add_named(&format!("key = {}", quoted(name)), pause, text);
        };
        if self.named.is_some() || self.pauses.len() >= MAX_TEXT || self.typed.ends_with('\n') {
            self.end(text);
        }
        self.typed.push(letter);
        self.pauses.push(pause);
    }

    fn add_named(&mut self, what: &str, pause: Duration, text: &mut String) {
        if self.named.as_deref() != Some(what) {
            self.end(text);
            self.named = Some(what.to_owned());
        }
        self.pauses.push(pause);
    }

    /// No fewer than it takes once it is written.
    fn bytes(&self) -> usize {
        /// Of a pause and its quotes, and of a letter, at most.
        const OF_EACH: usize = 20;
        self.pauses.len() * OF_EACH + MAX_ONE
    }

    fn end(&mut self, text: &mut String) {
        let group = std::mem::take(self);
        if group.pauses.is_empty() {
            return;
        }
        let what = match &group.named {
            None => format!("type = {}", quoted(&group.typed)),
            Some(what) if group.pauses.len() == 1 => what.clone(),
            Some(what) => format!("{what}\ntimes = {}", group.pauses.len()),
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
    use crate::script::{Button, Direction, Script, Step, key};
    use proptest::prelude::*;

    const HEADING: Heading<'_> = Heading { name: "a \"name\"", about: "", size: Size::Terminal((80, 24)) };

    fn pressed(name: &str, ms: u64) -> Happened {
        Happened::Key { name: name.to_owned(), pause: Duration::from_millis(ms) }
    }

    #[test]
    fn words_keys_thinking_and_what_was_left_out() {
        let mut happened: Vec<Happened> = "ls\"\\".chars().map(|letter| pressed(&letter.to_string(), 100)).collect();
        happened.extend([pressed("space", 120), pressed("enter", 130), pressed("x", 4_150)]);
        happened.push(Happened::LeftOut { keys: 9, took: Duration::from_millis(2_500) });
        happened.extend([pressed("page-down", 200), pressed("page-down", 210), pressed("ctrl-c", 90)]);
        let (text, _) = script(&HEADING, &happened);
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

    #[test]
    fn clicks_and_turns_of_the_wheel_have_their_places_and_another_window_is_waited_for() {
        let mouse = |act: Act, at: &str, ms: u64| {
            let at = Spot::parse(at).unwrap();
            Happened::Mouse { act, at, pause: Duration::from_millis(ms) }
        };
        let left = |at: &str, ms: u64| mouse(Act::Click(Button::Left), at, ms);
        let down = |ms: u64| mouse(Act::Scroll(Direction::Down), "5 9", ms);
        let up = mouse(Act::Scroll(Direction::Up), "5 9", 200);
        let happened =
            [left("5 9", 300), left("5 9", 120), down(2_150), down(0), up, Happened::OtherWindow, left("0 0", 90)];
        let (text, kept) =
            script(&Heading { size: Size::Window { first: Some((640, 480)), resized: 3 }, ..HEADING }, &happened);
        let read = Script::parse("learned.toml", &text).unwrap();
        assert!(
            kept == 7
                && text.contains("640 by 480")
                && text.contains("# 3 inputs of the mouse")
                && read.has_recorded_pauses(),
            "{text}"
        );
        let all: Vec<(String, u128)> =
            read.presses().map(|press| (press.act.label(), press.after.unwrap().as_millis())).collect();
        let expected = [
            ("to 5 9", 150),
            ("left", 150),
            ("left", 120),
            ("down", 150),
            ("down", 0),
            ("up", 200),
            ("to 0 0", 45),
            ("left", 45),
        ];
        assert_eq!(all, expected.map(|(label, ms)| (label.to_owned(), ms)), "{text}");
        assert!(matches!(read.steps[1], Step::Think(pause) if pause.as_millis() == 2_000), "{text}");
        assert!(matches!(read.steps[4], Step::Wait(_)), "{text}");
    }

    #[test]
    fn a_script_that_was_learned_is_never_too_long_to_be_read() {
        let (letter, key) = (pressed("\u{1f600}", 99_999_999), pressed("ctrl-page-down", 99_999_999));
        let click = |at: usize| Happened::Mouse {
            act: Act::Click(Button::Middle),
            at: Spot::parse(&format!("{} 12345", 10_000 + at % 7)).unwrap(),
            pause: Duration::from_secs(99_999),
        };
        let clicks: Vec<Happened> = (0..200_000).map(click).collect();
        for happened in [vec![letter; 200_000], vec![key; 200_000], vec![pressed("a", 1); 200_000], clicks] {
            let (text, kept) = script(&HEADING, &happened);
            let read = Script::parse("learned.toml", &text).unwrap();
            assert!(kept > 5_000 && kept < happened.len(), "{kept}");
            assert_eq!(read.presses().filter(|press| !matches!(press.act, Act::Point(_))).count(), kept);
        }
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
            let read = Script::parse("learned.toml", &script(&HEADING, &happened).0).unwrap();
            let bytes: Vec<Vec<u8>> = happened.iter().map(|one| match one {
                Happened::Key { name, .. } => key(name).unwrap().bytes,
                _ => Vec::new(),
            }).collect();
            let again: Vec<Vec<u8>> = read.presses().map(|press| match &press.act {
                crate::script::Act::Key(key) => key.bytes.clone(),
                other => panic!("{other:?}"),
            }).collect();
            prop_assert_eq!(again, bytes);
        }
    }
}
