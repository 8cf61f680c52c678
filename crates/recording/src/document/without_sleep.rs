//! Threads that began, worked and ended without ever sleeping.

use serde::{Deserialize, Serialize};

/// Threads of one name that began while they were followed and ended without having slept: nothing ever woke them, so no wakeup
/// says what they did. A timer, a loop or a server that starts a thread or a process for each job has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithoutSleep {
    /// The process that started them; 0 for those that were processes themselves, and where too many are told apart already.
    pub process: u32,
    /// Their name.
    pub name: String,
    /// How many there were.
    pub threads: u64,
    /// How long the one that ran longest was on a CPU, ns. It took longer than that by the time for which it waited for one.
    pub longest_executed_ns: u64,
    /// When the last of them ended, ns of `CLOCK_MONOTONIC`.
    pub last_ended_ns: u64,
    /// Whether they were there for context, judged by nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_context: bool,
}

/// How many threads never slept, and the longest time for which one of them was on a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unslept {
    /// How many there were.
    pub threads: u64,
    /// The longest time on a CPU, ns.
    pub longest_executed_ns: u64,
}

impl Unslept {
    /// Those of these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a WithoutSleep>) -> Unslept {
        rows.into_iter().fold(Unslept::default(), |sum, row| Unslept {
            threads: sum.threads.saturating_add(row.threads),
            longest_executed_ns: sum.longest_executed_ns.max(row.longest_executed_ns),
        })
    }
}
