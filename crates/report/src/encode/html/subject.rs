//! The subject of a picture.

use serde::Serialize;

/// The subject of a picture, which decides how it is read out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Wakeups, by their latency.
    #[default]
    Wakeups,
    /// Gaps, by their length.
    Gaps,
    /// Inputs to a program, by their latency.
    Inputs,
    /// Events of a log, by their class.
    Events,
    /// Microseconds of waiting, by the latency of the input.
    #[serde(rename = "us of waiting")]
    Waiting,
}
