//! A request of a followed thread that is over, and what is known of it.

/// A request that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// From when, ns.
    pub(crate) expected_ns: u64,
    /// To when, ns.
    pub(crate) end_ns: u64,
    pub(crate) known: Known,
}

/// What is known of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// See [`Episode::is_asked_for`](punctual_recording::Episode::is_asked_for).
    pub(crate) is_asked_for: bool,
    /// See [`Episode::waits_for_answers`](punctual_recording::Episode::waits_for_answers).
    pub(crate) waits_for_answers: bool,
    /// Whether a timer of its own begins it, in a program that accepted no connection.
    pub(crate) is_by_own_timer: bool,
    /// Whether a timer begins it, and its thread may be a server that sleeps within its requests, so that this is what follows: others end its
    /// waits, and its program accepts connections, or nothing tells who asks by what it waits for, and it waits now and then more often for that, or
    /// sleeps for as long each time.
    pub(crate) may_be_part: bool,
    /// Whether it is known to begin and end where it is taken to: it begins as somebody asks, or where it waits for nothing but requests; or it waits for
    /// nobody within it; or a timer of its own begins it, and its waits are for answers, or its timer is a clock. Others may hold a wait for the
    /// next request, or be parts of one.
    pub(crate) is_bounded: bool,
}

impl Known {
    /// Whether it surely holds no wait for the next request.
    pub(crate) fn is_sure(self) -> bool {
        self.is_by_own_timer && !self.may_be_part || self.is_asked_for && self.waits_for_answers
    }
}
