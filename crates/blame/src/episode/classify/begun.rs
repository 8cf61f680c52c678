//! Whether a request is known to begin where it is taken to.

use super::answer::{End, are_of_one_word};
use super::classifier::Classifier;
use super::holder::sleepers_call;
use super::several::{descriptor, is_for_several, teller};
use crate::episode::story::waking;
use crate::episode::subject::Subject;
use punctual_recording::Stage;
use punctual_recording::episode::{Call, Event, EventKind, IN_INTERRUPT, ONE_POLLED, WakingAct};

/// What is known of the beginning of a late thread's request.
pub(crate) enum Beginning {
    /// None of its waits is for the next request; or it is no request at all.
    Known,
    /// Somebody asked for something: this thread, if that was seen.
    AskedBy(Option<u32>),
    /// A timer of its own, in a program that accepted connections, or of which those are not known: a server that sleeps within its requests, or one
    /// with a period.
    OwnTimer,
    /// A timer of its own, in a program that accepted no connection: one with a period, or a server that is asked by a pipe and sleeps within its requests.
    Period,
    /// It may be the answer to a question of the late thread's, and then one of its waits is for the next request.
    Assumed,
}

/// Who ended a wait of the late thread.
#[derive(Clone, Copy)]
pub(crate) struct Ender {
    pub(crate) tid: u32,
    /// Whether the late thread has woken it within the request, and it had not answered that before the wait; or read what comes by a
    /// connection that it asked for.
    pub(crate) was_asked: bool,
    /// Whether it may have worked for the late thread at all, see [`Classifier::may_serve`].
    pub(crate) may_serve: bool,
    /// What the late thread waited for.
    pub(crate) waited_for: WaitedFor,
    /// Whether that came by something of which nothing tells who asks by it: a pipe, one of a pair of sockets, any of several; or a word in memory, a
    /// queue or a signal of a thread that is not known to be of its program.
    pub(crate) is_unclear: bool,
    /// Whether it may be the one that asks, by a connection for which the late thread asked, see
    /// [`Episode::asker_unknown`](punctual_recording::Episode::asker_unknown).
    pub(crate) may_ask: bool,
    /// Whether it is known to be of the late thread's program, and so no client of it.
    pub(crate) is_of_its_program: bool,
}

/// Whom the late thread has woken within its request.
#[derive(Clone, Copy)]
pub(crate) struct Told {
    /// When it last woke anybody, ns; when the request began, if it woke nobody.
    pub(crate) last_ns: u64,
    /// Whether it read what whoever asked has written, and has woken that one, which waited to read.
    pub(crate) was_read: bool,
}

/// What the late thread waited for, as far as its call tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitedFor {
    /// What comes by a connection that it accepted.
    Request,
    /// What comes by a connection that it asked for.
    Answer,
    /// One of several things.
    Several,
    /// Something else.
    Else,
}

impl Classifier<'_> {
    /// What is known of the beginning. Where a thread waits only for other threads, where its requests begin is assumed, see
    /// [`Stage::Request`], unless a look told. What those others did before tells nothing: whoever sends requests may sleep
    /// between two of them, and whoever answers them may sleep before it does.
    pub(crate) fn beginning(&self) -> Beginning {
        let episode = self.episode;
        let is_known = episode.is_asked_for && episode.waits_for_answers;
        if self.subject.stage != Stage::Request || !self.subject.is_due || is_known {
            return Beginning::Known;
        }
        let first = waking(episode, &self.subject).map(|index| &episode.events[index]);
        let is_asked_for = episode.is_asked_for || first.is_some_and(|first| reads(first, &episode.accepted));
        let accepts = !episode.accepted.is_empty();
        let end = first.map(|first| (first, self.direct_end(first)));
        let by_own_timer = matches!(&end, Some((first, End::Timer)) if !self.is_answered_at(first));
        // Whoever is waited for may send the next request, whatever began this one and whomever the thread has woken since.
        if episode.connections_unknown && !matches!(end, Some((_, End::Device)) | None) {
            return if by_own_timer { Beginning::OwnTimer } else { Beginning::Assumed };
        }
        match end {
            Some((_, End::By(tid))) if is_asked_for => Beginning::AskedBy(Some(tid)),
            // What an event loop is told of may also be an answer, but then that is all that the thread does with it.
            Some((first, End::By(_) | End::Network)) if accepts && polls(first) => Beginning::AskedBy(None),
            _ if is_asked_for => Beginning::AskedBy(None),
            _ if by_own_timer && accepts => Beginning::OwnTimer,
            _ if by_own_timer && !episode.waits_for_answers => Beginning::Period,
            // It sets out by itself, because it is time, or something outside happened. A packet may be an answer.
            _ if by_own_timer => Beginning::Known,
            Some((_, End::Device)) | None => Beginning::Known,
            Some((_, End::Timer | End::Lock | End::By(_) | End::Network | End::NotBy(_))) => Beginning::Assumed,
        }
    }

    /// Whether a thread that a timer woke waited up to a time limit for a word for which threads are seen to wake it as well:
    /// a lock that it asks for again and again, such as an interpreter's.
    fn is_answered_at(&self, woken_by: &Event) -> bool {
        let wakings = self.index.wakings_of(self.subject.tid, 0, u64::MAX);
        wakings.iter().any(|event| event.context & IN_INTERRUPT == 0 && are_of_one_word(event, woken_by))
    }

    /// Who ended the wait of the late thread that was over at a time.
    pub(crate) fn ender(&self, at_ns: u64) -> Option<Ender> {
        let sleeper = self.subject.tid;
        let woken_by = self.index.next_woken(sleeper, at_ns).filter(|event| event.at_ns == at_ns)?;
        let tid = self.who_answered(woken_by)?;
        let slept_ns = self.index.last_leave(sleeper, at_ns)?.at_ns;
        let since_ns = self.answered_ns(tid, sleeper, slept_ns).max(self.subject.start_ns);
        let waited_for = self.waited_for(woken_by);
        let was_asked = waited_for == WaitedFor::Answer || self.is_asked(tid, sleeper, since_ns, slept_ns);
        let is_of_its_program = self.index.are_of_one_process(tid, sleeper);
        let is_unclear = self.is_unclear(woken_by, waited_for, tid);
        let is_by_connection = match waited_for {
            WaitedFor::Answer | WaitedFor::Several => true,
            WaitedFor::Request => false,
            WaitedFor::Else => descriptor(woken_by) == Some(ONE_POLLED),
        };
        let may_ask = self.episode.asker_unknown && is_by_connection && !is_of_its_program;
        // A thread that is joined brings no job.
        let may_serve = was_asked || self.ends_next(woken_by) || self.may_serve(tid, slept_ns, at_ns);
        Some(Ender { tid, was_asked, may_serve, waited_for, is_unclear, may_ask, is_of_its_program })
    }

    /// See [`Ender::is_unclear`]. `poll` and the like do not tell which it was: it may be by a connection that the program asked for, if it did.
    fn is_unclear(&self, woken_by: &Event, waited_for: WaitedFor, ender: u32) -> bool {
        let asked_none = self.episode.connected.is_empty();
        match (waited_for, descriptor(woken_by)) {
            (WaitedFor::Request | WaitedFor::Answer, _) => false,
            (WaitedFor::Several, _) => asked_none,
            (WaitedFor::Else, Some(read)) => read != ONE_POLLED || asked_none,
            (WaitedFor::Else, None) => {
                let is_told = matches!(sleepers_call(woken_by), Some(Call::Futex | Call::Queue | Call::Signal));
                let tid = self.subject.tid;
                is_told && self.index.knows_process(tid) && !self.index.are_of_one_process(ender, tid)
            }
        }
    }

    /// When the late thread may have answered, if it has woken whoever asked, which is the thread that woke it first, or nobody.
    pub(crate) fn told(&self) -> Option<Told> {
        let Subject { tid, start_ns, end_ns, .. } = self.subject;
        let first = waking(self.episode, &self.subject).map(|index| &self.episode.events[index])?;
        let End::By(asker) = self.direct_end(first) else { return None };
        let is_told = |event: &&Event| {
            let is_within = start_ns <= event.at_ns && event.at_ns <= end_ns;
            event.kind == EventKind::Waking && is_within && teller(event) == Some(tid)
        };
        let (mut last_ns, mut has_answered, mut was_read) = (None, false, false);
        for event in self.episode.events.iter().filter(is_told) {
            last_ns = last_ns.max(Some(event.at_ns));
            has_answered |= event.value == u64::from(asker);
            was_read |= event.value == u64::from(asker) && reads_on(event);
        }
        let is_asked_for = self.episode.is_asked_for || reads(first, &self.episode.accepted);
        let may_be_unseen = last_ns.is_none() && is_asked_for;
        let last_ns = last_ns.unwrap_or(start_ns);
        (has_answered || may_be_unseen).then_some(Told { last_ns, was_read: was_read && reads_on(first) })
    }

    /// See [`Episode::may_sleep_within`](punctual_recording::Episode::may_sleep_within).
    pub(crate) fn may_sleep_within(&self) -> bool {
        self.episode.may_sleep_within
    }

    /// See [`Episode::has_period`](punctual_recording::Episode::has_period).
    pub(crate) fn has_period(&self) -> bool {
        self.episode.has_period
    }

    /// Whether its program is known to have accepted connections.
    pub(crate) fn accepts(&self) -> bool {
        !self.episode.accepted.is_empty()
    }

    /// Whether a wait of the late thread until a time, and that nobody was seen to end, may be for the next request: it was for one of several
    /// things, in a program that accepted connections, or of which those are not known; or it read, and the beginning of requests is only assumed, or is a timer of
    /// its own in such a program, unless it read what it had asked for. `poll` of a single descriptor does not tell which. Or it waited for a word, a queue or a
    /// signal, and is not known to have a period: such a thread may be handed its requests by those, and sleep within some. So may one that is asked by a connection for
    /// which it asked.
    pub(crate) fn may_wait_for_request(&self, beginning: &Beginning, at_ns: u64) -> bool {
        // The interrupt that wakes it begins a little before that.
        let woken_by = self.index.next_woken(self.subject.tid, at_ns);
        let may_accept = self.episode.connections_unknown || !self.episode.accepted.is_empty();
        woken_by.is_some_and(|woken_by| {
            let may_be_handed = !self.episode.has_period && is_handed(woken_by);
            let may_be_read = match beginning {
                Beginning::Assumed => may_read(woken_by) || may_be_handed,
                Beginning::OwnTimer => may_read(woken_by) && !reads(woken_by, &self.episode.connected) || may_be_handed,
                Beginning::Period => may_be_handed || self.may_read_connected(woken_by),
                Beginning::Known | Beginning::AskedBy(_) => false,
            };
            may_accept && polls(woken_by) || may_be_read
        })
    }

    /// Whether the late thread reads several connections that its program accepted, each in a call of its own: whoever serves two clients does not wait for one of
    /// them alone.
    pub(crate) fn reads_several(&self) -> bool {
        let Subject { tid, start_ns, end_ns, .. } = self.subject;
        let first = waking(self.episode, &self.subject).map(|index| &self.episode.events[index]);
        let ends = self.index.wakings_of(tid, start_ns, end_ns.saturating_add(1)).iter().copied();
        let is_read = |event: &&Event| event.wait_end().is_some_and(|end| end.sleeper == Call::Read);
        let mut read = first.into_iter().chain(ends).filter(is_read).filter_map(descriptor);
        let accepted = |descriptor: &u32| self.episode.accepted.contains(descriptor);
        let one = read.by_ref().find(accepted);
        one.is_some_and(|one| read.any(|other| other != one && accepted(&other)))
    }

    /// Whether the late thread accepted a connection as its request began, and it is not known whether what it waited for at a time, to read, came by one that it
    /// had accepted before: none of its program's is known. Whoever calls it back in the midst of what it does for another begins a request so.
    pub(crate) fn may_read_accepted(&self, at_ns: u64) -> bool {
        let accepts = |event: &Event| event.wait_end().is_some_and(|end| end.sleeper == Call::Connect);
        let first = waking(self.episode, &self.subject).map(|index| &self.episode.events[index]);
        let woken_by = self.index.next_woken(self.subject.tid, at_ns).filter(|event| event.at_ns == at_ns);
        let is_told = |woken_by: &Event| {
            let is_read = woken_by.wait_end().is_some_and(|end| end.sleeper == Call::Read);
            !is_read || reads(woken_by, &self.episode.connected)
        };
        self.episode.accepted.is_empty() && first.is_some_and(accepts) && !woken_by.is_none_or(is_told)
    }

    /// Whether the late thread may have waited for what comes by a connection for which it asked, and nothing tells whether it asks by that.
    fn may_read_connected(&self, woken_by: &Event) -> bool {
        let connected = &self.episode.connected;
        let may_poll = || !connected.is_empty() && woken_by.wait_end().is_some_and(|end| end.sleeper == Call::Poll);
        self.episode.asker_unknown && (reads(woken_by, connected) || may_poll())
    }

    fn waited_for(&self, woken_by: &Event) -> WaitedFor {
        if reads(woken_by, &self.episode.accepted) {
            WaitedFor::Request
        } else if reads(woken_by, &self.episode.connected) {
            WaitedFor::Answer
        } else if polls(woken_by) {
            WaitedFor::Several
        } else {
            WaitedFor::Else
        }
    }
}

/// Whether the woken thread waited for one of several things.
fn polls(woken_by: &Event) -> bool {
    woken_by.wait_end().is_some_and(|end| is_for_several(end.sleeper) && end.descriptor != Some(ONE_POLLED))
}

/// Whether the woken thread waited for what comes by a descriptor, or for a connection.
fn may_read(woken_by: &Event) -> bool {
    woken_by.wait_end().is_some_and(|end| matches!(end.sleeper, Call::Read | Call::Connect | Call::Poll))
}

/// Whether the woken thread waited for what comes by one descriptor, or by any of several.
fn reads_on(woken_by: &Event) -> bool {
    woken_by.wait_end().is_some_and(|end| matches!(end.sleeper, Call::Read | Call::Poll))
}

/// Whether the woken thread read one of these descriptors.
fn reads(woken_by: &Event, descriptors: &[u32]) -> bool {
    descriptor(woken_by).is_some_and(|read| descriptors.contains(&read))
}

/// Whether the woken thread waited for a word in memory, a queue or a signal: by those others may hand it what it is to do.
fn is_handed(woken_by: &Event) -> bool {
    match woken_by.wait_end() {
        Some(end) => matches!(end.sleeper, Call::Futex | Call::Queue | Call::Signal),
        None => woken_by.lock_waking().act != WakingAct::NotTold,
    }
}
