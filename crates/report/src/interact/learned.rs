//! What was learned from a person's use of a program: the answer of `punctual interact learn`.

use crate::answer::Answer;
use crate::verdict::interact::learned_verdict;
use punctual_recording::{agreeing, counted};
use serde::Serialize;
use std::path::Path;

/// What was counted while learning somebody's use of a program.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// The program and its arguments.
    pub program: &'a [String],
    /// Keys in the script.
    pub keys: u64,
    /// Keys that were left out because the terminal's echo was off.
    pub left_out: u64,
    /// Keys for which scripts have no name, and the first few as the terminal sent them.
    pub nameless_keys: u64,
    /// The first few of those, as the terminal sent them.
    pub nameless: &'a [String],
    /// How long it took, ns.
    pub lasted_ns: u64,
    /// The program's exit code, if it ended by itself and not by a signal.
    pub program_exit_code: Option<i32>,
    /// Whether the session was cut off before the program ended.
    pub is_cut_off: bool,
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
    keys: u64,
    /// Keys that were left out because the terminal's echo was off, as for a password.
    left_out: u64,
    /// Keys for which scripts have no name.
    nameless_keys: u64,
    /// The first few of those, as the terminal sent them.
    nameless: &'a [String],
    lasted_ns: u64,
    program_exit_code: Option<i32>,
    cut_off: bool,
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
            format!("sudo punctual interact --script {script} --pace recorded -- {words}")
        });
        LearnAnswer {
            schema: "punctual.learn/1",
            verdict: learned_verdict(session.keys, session.lasted_ns, script),
            exit_code: u8::from(script.is_none()),
            script,
            program: session.program,
            keys: session.keys,
            left_out: session.left_out,
            nameless_keys: session.nameless_keys,
            nameless: session.nameless,
            lasted_ns: session.lasted_ns,
            program_exit_code: session.program_exit_code,
            cut_off: session.is_cut_off,
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
    if session.is_cut_off {
        lines.push("the session was cut off before the program ended".to_owned());
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
            keys: 1,
            left_out: 9,
            nameless_keys: 1,
            nameless: &["\\x1b[1;6A".to_owned()],
            lasted_ns: 2_000_000_000,
            program_exit_code: Some(0),
            is_cut_off: false,
        };
        let text = LearnAnswer::new(&session, Some(Path::new("a b.toml"))).text();
        assert!(text.starts_with("Learned 1 key in 2.00 s, into "), "{text}");
        assert!(text.contains("9 keys were left out and not kept"), "{text}");
        assert!(text.contains("--script 'a b.toml' --pace recorded -- vim 'my file'`"), "{text}");
        let none = LearnAnswer::new(&Session { keys: 0, ..session }, None);
        assert_eq!((none.code(), none.next.as_ref()), (1, None));
    }
}
