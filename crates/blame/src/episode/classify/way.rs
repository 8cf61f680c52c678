//! What a loop that serves several waited for until it answered one of them.

use punctual_recording::episode::Event;

/// Which wait says whom a loop waited for.
pub(super) enum Counted<'a> {
    /// The rule does not apply: this is no loop that another thread waits for.
    NotTold,
    /// This one.
    Itself,
    /// A later one: whoever ended that had been asked before.
    Later(&'a Event),
    /// None that is seen: the loop served others meanwhile.
    NotSeen,
}

/// What a loop waited for until it answered.
#[derive(Debug)]
pub(super) struct Way<'a> {
    /// The end of its last wait before the answer.
    pub(super) last: &'a Event,
    /// Whether whoever ended that is seen to have been asked.
    pub(super) is_asked: bool,
    /// Whether that one came to be served instead.
    pub(super) is_served: bool,
    /// The ends of the waits that count, by time: each of whoever was asked for it.
    pub(super) counts: Vec<&'a Event>,
    /// What ended earlier is not seen to be on that way.
    pub(super) begins_ns: u64,
}
