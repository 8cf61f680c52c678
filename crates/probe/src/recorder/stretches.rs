//! What a followed thread did from a waking to its next sleep.

use punctual_recording::episode::Call;

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedBy {
    /// A timer.
    Timer,
    /// A device, the network, a kernel thread that works for them.
    Outside,
    /// Another thread, of whatever process, by what it did itself.
    Thread,
    /// Another thread, by a packet that it sent.
    Sender,
}

/// How a stretch of work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// A sleep within the work: a page, a lock.
    WithinWork,
    /// The thread waits at a place of its program, within this call.
    Waits { place: u32, call: Option<Call> },
    /// It ended.
    Ends,
}

/// A stretch of a thread's work: from a waking to the next sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// The thread's process.
    pub(crate) process: u32,
    /// When it was due to be woken, or was woken.
    pub(crate) expected_ns: u64,
    /// By what.
    pub(crate) ended_by: EndedBy,
    /// When it ran.
    pub(crate) ran_ns: u64,
    /// When it slept again.
    pub(crate) until_ns: u64,
    pub(crate) then: Pause,
}
