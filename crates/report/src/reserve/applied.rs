//! `punctual reserve list`: which threads keep a reservation that `--apply` gave them.

use crate::answer::Answer;
use crate::verdict::reserve::applied_verdict;
use crate::{NextStep, next_text};
use serde::Serialize;
use std::fmt::Write as _;

/// A thread that was given a reservation, and has not been put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AppliedRow {
    /// Its number.
    pub tid: u32,
    /// Its name when it was changed.
    pub name: String,
    /// Whether it has a reservation now.
    pub keeps: bool,
    /// How it is scheduled now, in words; `None` if it has ended.
    pub now: Option<String>,
    /// Whether the kernel does not let it run although it has work to do and time reserved.
    pub stuck: bool,
    /// How `reserve undo` would schedule it: as it was before.
    pub before: String,
}

/// What is applied now.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AppliedAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    threads: &'a [AppliedRow],
}

impl<'a> AppliedAnswer<'a> {
    /// The answer for programs.
    pub fn new(threads: &'a [AppliedRow]) -> AppliedAnswer<'a> {
        AppliedAnswer { schema: "punctual.reserve-list/1", verdict: verdict(threads), exit_code: 0, threads }
    }
}

impl Answer for AppliedAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

fn verdict(rows: &[AppliedRow]) -> String {
    applied_verdict(rows.len(), rows.iter().filter(|row| row.keeps).count())
}

/// The same for people, with the way back.
pub fn applied_text(rows: &[AppliedRow]) -> String {
    let mut out = verdict(rows);
    for row in rows {
        let now = row.now.as_deref().unwrap_or("it has ended");
        let stuck = if row.stuck { ", but the kernel does not let it run" } else { "" };
        let _ = write!(out, "\n  {} ({}): {now}{stuck}; before: {}", row.name, row.tid, row.before);
    }
    if rows.iter().any(|row| row.now.is_some()) {
        let back = NextStep::new("puts back what is changed", "sudo punctual reserve undo".to_owned());
        let _ = write!(out, "\n\n{}", next_text(&[back]).trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_applied_is_told_with_the_way_back() {
        assert_eq!(applied_text(&[]), "No reservation is applied.");
        let row = |name: &str, tid, keeps: bool, now: Option<&str>| AppliedRow {
            tid,
            name: name.to_owned(),
            keeps,
            now: now.map(str::to_owned),
            stuck: false,
            before: "fifo:88".to_owned(),
        };
        let reserved = "a reservation of 2.20 ms in every 10.0 ms";
        let kept = row("data-loop", 4711, true, Some(reserved));
        assert_eq!(
            applied_text(&[kept.clone(), row("capture", 4712, false, None)]),
            format!(
                "`--apply` changed 2 threads; 1 has a reservation now.\n  data-loop (4711): {reserved}; before: \
                 fifo:88\n  capture (4712): it has ended; before: fifo:88\n\nnext: `sudo punctual reserve undo` puts back \
                 what is changed"
            )
        );
        let stuck = applied_text(&[AppliedRow { stuck: true, ..kept.clone() }]);
        assert!(stuck.contains(&format!("{reserved}, but the kernel does not let it run; before: fifo:88")), "{stuck}");
        let both = applied_text(&[kept.clone(), kept]);
        assert!(both.starts_with("`--apply` changed 2 threads; 2 have a reservation now.\n"), "{both}");
        // Whom nobody can put back gets no step.
        assert!(!applied_text(&[row("capture", 4712, false, None)]).contains("next:"));
    }
}
