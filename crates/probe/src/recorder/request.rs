//! A request of a followed thread, and what is known of it.

/// A request that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// From when, ns.
    pub(crate) expected_ns: u64,
    /// To when, ns.
    pub(crate) end_ns: u64,
    pub(crate) known: Known,
}

impl Request {
    /// The same, which ends with a sleep out of step.
    pub(super) fn out_of_step(self) -> Request {
        Request { known: Known { is_in_step: false, ..self.known }, ..self }
    }
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
    /// See [`Episode::may_sleep_within`](punctual_recording::Episode::may_sleep_within).
    pub(crate) may_sleep_within: bool,
    /// See [`Episode::has_period`](punctual_recording::Episode::has_period).
    pub(crate) has_period: bool,
    /// See [`Episode::asker_unknown`](punctual_recording::Episode::asker_unknown).
    pub(crate) asker_unknown: bool,
    /// Whether it begins with a sleep that ended in step with those before, or would have, as a clock's do, and was not seen to end with another. A sleep that a
    /// thread takes within its work, as between two tries, ends at any time.
    pub(crate) is_in_step: bool,
    /// Whether it is known to begin and end where it is taken to: it begins as somebody asks, or where it waits for nothing but requests; or it waits for
    /// nobody within it; or a timer of its own begins it, and its waits are for answers, or its timer is a clock. Others may hold a wait for the
    /// next request, or be parts of one.
    pub(crate) is_bounded: bool,
    /// When its timer was due, ns, if it begins without that, because its loop was behind and went on at once.
    pub(crate) due_ns: Option<u64>,
    /// Whether it may be several requests of a loop that was behind its timer: it took longer than the period, and waited more often than
    /// one does.
    pub(crate) may_be_several: bool,
    /// Whether it may be a wakeup in vain, see [`super::in_vain`].
    pub(crate) may_be_in_vain: bool,
    /// Whether a timer begins it in a program that accepts connections, and nothing says that it is a part of a request: a tick, or work in the background.
    pub(crate) may_be_tick: bool,
    /// Whether it begins with what comes by a connection that its program asked for: of a client without a timer that is the answer, and the wait for it
    /// is in no request.
    pub(crate) is_after_answer: bool,
    /// Whether a timer of its own begins it, in a program that accepted no connection, and it waits for nobody: it may hand on what is to be done.
    pub(crate) is_alone: bool,
}

/// A request that is not over.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Open {
    pub(super) expected_ns: u64,
    /// Where its thread waited before; 0: not known.
    pub(super) place: u32,
    /// As far as its waits so far tell.
    pub(super) known: Known,
    /// How many waits it has had.
    pub(super) waits: u32,
    /// Whether any of these was for another thread, or the like, as their ends showed.
    pub(super) has_waited: bool,
    /// How long the longest of those was, ns, and where.
    pub(super) longest: (u64, u32),
    /// How long its thread's longest sleep within it was, ns; 0: it has not slept.
    pub(super) slept_ns: u64,
    /// Since when it waits, ns, if nothing says that this ends the request.
    pub(super) waits_since: Option<u64>,
    /// Whether it begins with the end of a sleep, or whatever else a timer ends, or would if its loop were not behind.
    pub(super) is_by_timer: bool,
    /// Whether a timer begins it, wherever its thread waited.
    pub(super) begins_by_timer: bool,
    /// Whether it begins where its thread waits for several things.
    pub(super) is_of_several: bool,
    /// How many of its waits were for answers, or for requests, if all places for those were known as it began.
    pub(super) unclear_waits: Option<u32>,
}

impl Open {
    /// A wait within it is over: a sleep within the work, of so long, ns, or 0; for others, for so long, ns, and where, or only until a timer; for an answer, or not.
    pub(super) fn note_wait(&mut self, slept_ns: u64, waited: Option<(u64, u32)>, for_answer: bool) {
        self.slept_ns = self.slept_ns.max(slept_ns);
        if let Some(waited) = waited {
            self.known.waits_for_answers &= for_answer;
            self.has_waited = true;
            self.longest = self.longest.max(waited);
        }
    }
}

impl Known {
    /// Whether it surely holds no wait for the next request, and is all of one. A timer alone does not show that: a thread that sleeps now and then within its
    /// requests has stretches from one sleep to the next.
    pub(crate) fn is_sure(self) -> bool {
        self.is_by_own_timer && self.is_bounded && self.is_in_step || self.is_asked_for && self.waits_for_answers
    }

    /// Whether none of its waits is for the next request, because where it begins is known, or what it waits for: what somebody asks for, or the answer
    /// to what its thread asked for at once.
    pub(super) fn is_known_to_begin(self) -> bool {
        self.is_asked_for || self.due_ns.is_some() && self.waits_for_answers
    }
}
