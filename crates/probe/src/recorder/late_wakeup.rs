//! A late wakeup, as the measuring side knows it.

use punctual_recording::Stage;

/// A late wakeup, as the measuring side knows it.
#[derive(Debug, Clone)]
pub struct LateWakeup {
    /// The thread.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its priority as the kernel counts, see [`Event::priority`](punctual_recording::episode::Event::priority).
    pub priority: i16,
    /// Where it ran.
    pub cpu: u32,
    /// When its timer was due, or it was woken, ns of `CLOCK_MONOTONIC`.
    pub expected_ns: u64,
    /// Where `stage` ends.
    pub end_ns: u64,
    /// What was too long, see [`Episode::stage`](punctual_recording::Episode::stage).
    pub stage: Stage,
    /// See [`Episode::is_asked_for`](punctual_recording::Episode::is_asked_for).
    pub is_asked_for: bool,
    /// See [`Episode::waits_for_answers`](punctual_recording::Episode::waits_for_answers).
    pub waits_for_answers: bool,
    /// See [`Episode::may_sleep_within`](punctual_recording::Episode::may_sleep_within).
    pub may_sleep_within: bool,
    /// See [`Episode::has_period`](punctual_recording::Episode::has_period).
    pub has_period: bool,
    /// See [`Episode::asker_unknown`](punctual_recording::Episode::asker_unknown).
    pub asker_unknown: bool,
    /// What it may read.
    pub connections: Connections,
}

/// Numbers of descriptors that were connections of a thread's program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Connections {
    /// See [`Episode::accepted`](punctual_recording::Episode::accepted).
    pub accepted: Vec<u32>,
    /// See [`Episode::connected`](punctual_recording::Episode::connected).
    pub connected: Vec<u32>,
    /// See [`Episode::connections_unknown`](punctual_recording::Episode::connections_unknown).
    pub is_unknown: bool,
    /// See [`Episode::sockets`](punctual_recording::Episode::sockets).
    pub paths: Vec<(u32, String)>,
}
