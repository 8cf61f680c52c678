//! Whose time is split.

use punctual_recording::{Episode, Stage};

/// A thread and a stretch of its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) tid: u32,
    pub(crate) name: &'a str,
    /// Its priority if no event tells a newer one, see [`punctual_recording::episode::Event::priority`].
    pub(crate) priority: i16,
    /// Where it is if no event tells.
    pub(crate) cpu: u32,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) stage: Stage,
    /// Whether its timer is due, or somebody wakes it, when its time begins: then it does not sleep on. That holds for
    /// the late thread, and for nobody who is waited for.
    pub(crate) is_due: bool,
    /// For one that another thread waits for, when it had done what that one waited for, ns; `None` if that is not seen.
    pub(crate) answers_ns: Option<u64>,
    /// For the same, that other thread.
    pub(crate) asked_by: Option<u32>,
}

impl<'a> Subject<'a> {
    /// The late thread of an episode.
    pub(crate) fn victim(episode: &'a Episode) -> Subject<'a> {
        let victim = &episode.victim;
        Subject {
            tid: victim.tid,
            name: &victim.name,
            priority: victim.priority,
            cpu: victim.cpu,
            start_ns: episode.expected_ns,
            end_ns: episode.end_ns,
            stage: episode.stage,
            is_due: true,
            answers_ns: None,
            asked_by: None,
        }
    }
}
