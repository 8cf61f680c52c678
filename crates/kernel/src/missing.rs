//! What a kernel cannot give: what it is, which version first has it, and what cannot be seen without it.

use serde::Serialize;
use std::fmt;

/// Something that this kernel lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// What: a tracepoint, a helper, a field.
    pub what: String,
    /// The first kernel that has it, such as `5.15`; `None` where none is known or it depends on how the kernel was built.
    pub since: Option<&'static str>,
    /// What cannot be seen without it, in words that follow *cannot be seen:*; empty where that is said elsewhere.
    pub blind: String,
}

impl Missing {
    /// Something missing whose consequence has not been said yet.
    pub fn new(what: impl Into<String>, since: Option<&'static str>) -> Missing {
        Missing { what: what.into(), since, blind: String::new() }
    }

    /// What cannot be seen without it.
    #[must_use]
    pub fn so_blind_for(mut self, blind: impl Into<String>) -> Missing {
        self.blind = blind.into();
        self
    }

    /// The line for the list of what a result cannot see: what is blind, and why.
    pub fn line(&self) -> String {
        if self.blind.is_empty() {
            return format!("this kernel lacks {self}");
        }
        format!("{}: this kernel lacks {self}", self.blind)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.since {
            Some(since) => write!(formatter, "{} (from Linux {since} on)", self.what),
            None => formatter.write_str(&self.what),
        }
    }
}

/// Whether this kernel is older than a version such as `5.15`; false if either cannot be read.
pub fn is_older_than(version: &str) -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    matches!((numbers(&release), numbers(version)), (Some(own), Some(wanted)) if own < wanted)
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(numbers("6.1.0-50-amd64"), Some((6, 1)));
        assert_eq!(numbers("7.3"), Some((7, 3)));
        assert!(numbers("6.18.44-fc") > numbers("6.9"));
        assert_eq!(numbers("none"), None);
        assert!(is_older_than("999.0") && !is_older_than("2.6"));
    }

    #[test]
    fn a_line_says_what_is_blind_what_lacks_and_since_when() {
        let missing = Missing::new("the tracepoint `contention_begin`", Some("5.19"));
        assert_eq!(missing.line(), "this kernel lacks the tracepoint `contention_begin` (from Linux 5.19 on)");
        let line = missing.so_blind_for("the kernel's own locks").line();
        assert_eq!(
            line,
            "the kernel's own locks: this kernel lacks the tracepoint `contention_begin` (from Linux 5.19 on)"
        );
    }
}
