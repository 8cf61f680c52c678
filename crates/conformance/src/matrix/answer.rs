//! The answer that a command printed for programs.

use super::cell::Printed;
use serde_json::Value;

/// What is right about a result, or what is not.
pub(super) type Counted = Result<String, String>;

/// What it printed, as JSON.
pub(super) fn json(printed: &Printed) -> Result<Value, String> {
    serde_json::from_str(&printed.stdout).map_err(|error| format!("it answers no JSON: {error}"))
}

/// A list in such an answer that is not empty.
pub(super) fn list<'a>(answer: &'a Value, name: &str) -> Result<&'a Vec<Value>, String> {
    let list = answer[name].as_array().filter(|list| !list.is_empty());
    list.ok_or_else(|| format!("the answer has nothing under {name}"))
}
