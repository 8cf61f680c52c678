//! The page of a kind of blame.

use super::SCHEMA;
use crate::answer::Answer;
use punctual_blame::{Kind, VOID_PAGE, VOID_PAGE_TEXT};
use serde::Serialize;

/// What a kind of blame is, how to be sure of it, and what helps.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExplainAnswer {
    schema: &'static str,
    /// The page's title, after the kind's name.
    verdict: &'static str,
    exit_code: u8,
    kind: &'static str,
    page: String,
    /// The page in Markdown.
    text: &'static str,
}

impl ExplainAnswer {
    /// The page of this kind.
    pub fn new(kind: Kind) -> ExplainAnswer {
        let text = kind.page_text();
        let title = text.lines().next().and_then(|line| line.split_once(": "));
        let verdict = title.map_or(kind.name(), |(_, meaning)| meaning);
        ExplainAnswer { schema: SCHEMA, verdict, exit_code: 0, kind: kind.name(), page: kind.page(), text }
    }

    /// The page about void episodes, and about late wakeups without evidence.
    pub fn of_void() -> ExplainAnswer {
        ExplainAnswer {
            schema: SCHEMA,
            verdict: "void, and without evidence",
            exit_code: 0,
            kind: "void",
            page: VOID_PAGE.to_owned(),
            text: VOID_PAGE_TEXT,
        }
    }

    /// The page in Markdown.
    pub fn page_text(&self) -> &'static str {
        self.text
    }
}

impl Answer for ExplainAnswer {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// What [`command`] does, as a next step.
pub(crate) const PURPOSE: &str = "says how to be sure of it, and what helps";

/// Where to read more about a kind: a command that needs no network.
pub(crate) fn command(kind: Kind) -> String {
    format!("punctual why --explain {}", kind.name())
}
