//! What was learned from a person's use of a program: the answer of `punctual interact learn`.

use crate::answer::Answer;
use crate::verdict::interact::learned_verdict;
use punctual_recording::{agreeing, counted};
use serde::Serialize;
use std::path::Path;

/// At a terminal.
const PTY: &str = "pty";

/// What somebody did in windows that is not in the script, how often.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotLearned {
    /// A button went down in one place and came up in another.
    pub drags: u64,
    /// The pointer stopped on the program, and nothing was clicked there.
    pub hovers: u64,
    /// A click, or a turn of the wheel, while Shift, Control, Alt or Super was held.
    pub with_key_held: u64,
    /// A button other than the first three and the wheel.
    pub other_buttons: u64,
    /// In a window of the program other than the one that was shown last.
    pub other_windows: u64,
    /// On the program, but beside that window.
    pub beside: u64,
    /// In other programs, or nobody took it.
    pub elsewhere: u64,
    /// It came too fast to be taken.
    pub lost: u64,
}

impl NotLearned {
    /// In words; `None` if there was nothing.
    fn told(&self) -> Option<String> {
        let all = [
            (self.drags, "drag", ""),
            (self.hovers, "stop", " of the pointer without a click"),
            (self.with_key_held, "click", " with a key held"),
            (self.other_buttons, "click", " of another button"),
            (self.other_windows, "input", " to a window of the program other than the one shown last"),
            (self.beside, "input", " beside the window shown last"),
            (self.elsewhere, "input", " to other programs, or that nobody took"),
            (self.lost, "report", " that came too fast"),
        ];
        let all = all.into_iter().filter(|(count, ..)| *count > 0);
        let told: Vec<String> = all.map(|(count, what, which)| format!("{}{which}", counted(count, what))).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

/// What ended a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum EndedBy {
    /// The program ended, or if somebody else had started it, it is gone.
    Program,
    /// A signal ended the program.
    Signal,
    /// Whoever learns, with Ctrl-C or another signal to punctual.
    User,
    /// The terminal or the display is gone.
    HangUp,
}

impl EndedBy {
    /// Whether the program could have gone on.
    fn is_cut_off(self) -> bool {
        matches!(self, EndedBy::User | EndedBy::HangUp)
    }
}

/// What was counted while learning somebody's use of a program.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// The program and its arguments.
    pub program: &'a [String],
    /// Where it was used, as `--via` has it.
    pub via: &'static str,
    /// Keys in the script.
    pub keys: u64,
    /// Clicks in it.
    pub clicks: u64,
    /// Turns of the wheel in it, each by a notch.
    pub scrolls: u64,
    /// What was done in windows and is not in it.
    pub not_learned: NotLearned,
    /// Clicks and turns of the wheel in it while their window had another size than when it was first used.
    pub resized: u64,
    /// What there was no room for in a script.
    pub too_many: u64,
    /// Keys that were left out because the terminal's echo was off.
    pub left_out: u64,
    /// Keys for which scripts have no name, and the first few as the terminal sent them.
    pub nameless_keys: u64,
    /// The first few of those, as the terminal sent them; in a window, what was held and the key's symbol.
    pub nameless: &'a [String],
    /// How long it took, ns.
    pub lasted_ns: u64,
    /// The program's exit code, if it ended by itself and not by a signal.
    pub program_exit_code: Option<i32>,
    /// What ended the session.
    pub ended_by: EndedBy,
    /// Where the script was to go, if something was there by then and it went elsewhere.
    pub asked_for: Option<&'a Path>,
}

/// A script that was learned.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LearnAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// The script; none was written if nothing was typed.
    script: Option<&'a Path>,
    program: &'a [String],
    /// `pty`, or `x11` for windows.
    via: &'static str,
    keys: u64,
    clicks: u64,
    /// Turns of the wheel, each by a notch.
    scrolls: u64,
    /// What was done in windows and is not in the script.
    not_learned: NotLearned,
    /// Clicks and turns in the script that came while their window had another size than when it was first used.
    resized: u64,
    /// Keys, clicks and turns for which there was no room: a script has a greatest length.
    too_many: u64,
    /// Keys that were left out because the terminal's echo was off, as for a password.
    left_out: u64,
    /// Keys for which scripts have no name.
    nameless_keys: u64,
    /// The first few of those, as the terminal sent them; in a window, what was held and the key's symbol.
    nameless: &'a [String],
    lasted_ns: u64,
    program_exit_code: Option<i32>,
    /// Whether the session ended before the program did.
    cut_off: bool,
    ended_by: EndedBy,
    warnings: Vec<String>,
    /// The command that plays it.
    next: Option<String>,
}

impl<'a> LearnAnswer<'a> {
    /// The answer; `script` is where it was written.
    pub fn new(session: &Session<'a>, script: Option<&'a Path>) -> LearnAnswer<'a> {
        let words = session.program.iter().map(|word| crate::layout::shell_word(word)).collect::<Vec<_>>().join(" ");
        let next = script.map(|script| {
            let script = crate::layout::shell_word(&script.display().to_string());
            let via = if session.via == PTY { String::new() } else { format!("--via {} ", session.via) };
            format!("sudo punctual interact {via}--script {script} --pace recorded -- {words}")
        });
        LearnAnswer {
            schema: "punctual.learn/1",
            verdict: learned_verdict([session.keys, session.clicks, session.scrolls], session.lasted_ns, script),
            exit_code: u8::from(script.is_none()),
            script,
            program: session.program,
            via: session.via,
            keys: session.keys,
            clicks: session.clicks,
            scrolls: session.scrolls,
            not_learned: session.not_learned,
            resized: session.resized,
            too_many: session.too_many,
            left_out: session.left_out,
            nameless_keys: session.nameless_keys,
            nameless: session.nameless,
            lasted_ns: session.lasted_ns,
            program_exit_code: session.program_exit_code,
            cut_off: session.ended_by.is_cut_off(),
            ended_by: session.ended_by,
            warnings: warnings(session),
            next,
        }
    }

    /// The exit code of the process.
    pub fn code(&self) -> u8 {
        self.exit_code
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.verdict);
        for warning in &self.warnings {
            text.push_str(&format!("note: {warning}\n"));
        }
        if let Some(next) = &self.next {
            text.push_str(&format!("next: `{next}`\n"));
        }
        text
    }
}

fn warnings(session: &Session<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if session.left_out > 0 {
        let (keys, were) = (counted(session.left_out, "key"), agreeing(session.left_out, "was", "were"));
        lines.push(format!("{keys} {were} left out and not kept: the terminal's echo was off, as for a password"));
    }
    if session.nameless_keys > 0 {
        let (keys, were) = (counted(session.nameless_keys, "key"), agreeing(session.nameless_keys, "was", "were"));
        let sent = session.nameless.join(" ");
        lines.push(format!("{keys} {were} left out that scripts cannot name: {sent}"));
    }
    lines.extend(session.not_learned.told().map(|told| format!("not in the script: {told}")));
    if session.resized > 0 {
        let inputs = counted(session.resized, "input");
        lines.push(format!(
            "{inputs} of the mouse came when their window had another size than at first: if a person resized it, they may \
             land elsewhere"
        ));
    }
    if session.too_many > 0 {
        let (inputs, were) = (counted(session.too_many, "input"), agreeing(session.too_many, "was", "were"));
        lines.push(format!("{inputs} at the end {were} left out: a script has no room for more"));
    }
    if let Some(path) = session.asked_for {
        lines.push(format!(
            "{} was made meanwhile by somebody else, and is left as it is: the script is beside it",
            path.display()
        ));
    }
    match session.ended_by {
        EndedBy::Signal => lines.push("a signal ended the program".to_owned()),
        EndedBy::HangUp => lines.push("the session was cut off before the program ended".to_owned()),
        // That is what was wanted.
        EndedBy::Program | EndedBy::User => {}
    }
    lines
}

impl Answer for LearnAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_is_said_and_the_next_command_is_whole() {
        let program = ["vim".to_owned(), "my file".to_owned()];
        let session = Session {
            program: &program,
            via: "pty",
            keys: 1,
            clicks: 0,
            scrolls: 0,
            not_learned: NotLearned::default(),
            resized: 0,
            too_many: 0,
            left_out: 9,
            nameless_keys: 1,
            nameless: &["\\x1b[1;6A".to_owned()],
            lasted_ns: 2_000_000_000,
            program_exit_code: Some(0),
            ended_by: EndedBy::Program,
            asked_for: None,
        };
        let text = LearnAnswer::new(&session, Some(Path::new("a b.toml"))).text();
        assert!(text.starts_with("Learned 1 key in 2.00 s, into "), "{text}");
        assert!(text.contains("9 keys were left out and not kept"), "{text}");
        assert!(text.contains("--script 'a b.toml' --pace recorded -- vim 'my file'`"), "{text}");
        let not_learned = NotLearned { drags: 2, with_key_held: 1, ..NotLearned::default() };
        let ended_by = EndedBy::HangUp;
        let window =
            Session { via: "x11", clicks: 3, scrolls: 1, not_learned, resized: 2, too_many: 1, ended_by, ..session };
        let text = LearnAnswer::new(&window, Some(Path::new("w.toml"))).text();
        assert!(text.starts_with("Learned 1 key, 3 clicks and 1 scroll in 2.00 s, into w.toml."), "{text}");
        assert!(text.contains("note: not in the script: 2 drags; 1 click with a key held\n"), "{text}");
        assert!(text.contains("1 input at the end was left out"), "{text}");
        assert!(text.contains("interact --via x11 --script w.toml --pace recorded -- vim"), "{text}");
        assert!(text.contains("2 inputs of the mouse came when their window had another size"), "{text}");
        let ends = [
            (EndedBy::Program, false, None),
            (EndedBy::User, true, None),
            (EndedBy::Signal, false, Some("note: a signal ended the program\n")),
            (EndedBy::HangUp, true, Some("note: the session was cut off before the program ended\n")),
        ];
        for (ended_by, cut_off, note) in ends {
            let answer = LearnAnswer::new(&Session { ended_by, ..session }, None);
            assert_eq!(answer.cut_off, cut_off, "{ended_by:?}");
            assert_eq!(answer.text().contains("ended"), note.is_some(), "{}", answer.text());
            assert!(note.is_none_or(|note| answer.text().contains(note)), "{}", answer.text());
        }
        let beside = Session { asked_for: Some(Path::new("w.toml")), ..window };
        let text = LearnAnswer::new(&beside, Some(Path::new("w-2.toml"))).text();
        assert!(text.contains("note: w.toml was made meanwhile") && text.contains("--script w-2.toml"), "{text}");
        let none = LearnAnswer::new(&Session { keys: 0, ..session }, None);
        assert_eq!((none.code(), none.next.as_ref()), (1, None));
    }
}
