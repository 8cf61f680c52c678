//! Which wait of an event loop was for the answer that another thread waits for. A loop that serves several is told of
//! their requests meanwhile, takes those, and waits on: whoever told it of them was not waited for.

use super::answer::End;
use super::classifier::Classifier;
use super::several::{MAX_WAITS, is_from, teller};
use super::way::{Counted, Way};
use crate::episode::span::{Doing, StateSpan};
use punctual_recording::episode::{Call, Event, IN_INTERRUPT};
use std::collections::BTreeSet;

/// How many questions to one thread, each asked as that one had answered the one before, are looked through.
const MAX_QUESTIONS: usize = 256;
/// How many wakings by a loop are looked through for another one that was asked.
const MAX_TOLD: usize = 4_096;

/// When a loop asked a thread for what that one told it later.
struct Question<'a> {
    at_ns: u64,
    /// What had woken the loop before.
    begun_by: Option<&'a Event>,
    /// Whether that was the thread itself, or is not seen: then the loop may have answered it instead.
    may_be_reply: bool,
}

impl<'a> Classifier<'a> {
    /// When whoever is waited for in a span had done that, if it is seen.
    pub(super) fn answers_ns(&self, span: &StateSpan, waker: &Event) -> Option<u64> {
        // What an interrupt ended, somebody else ends later.
        let is_end = matches!(span.doing, Doing::Blocked { .. }) && waker.context & IN_INTERRUPT == 0;
        is_end.then(|| match self.counted(waker) {
            Counted::Later(last) => last.at_ns,
            // Whoever is woken in vain waits on for the same.
            Counted::NotTold | Counted::Itself | Counted::NotSeen => {
                self.ended_at_last(waker).map_or(waker.at_ns, |(last, _)| last.at_ns)
            }
        })
    }

    /// Which wait counts in place of one that ended like this.
    pub(super) fn counted(&self, woken_by: &Event) -> Counted<'a> {
        let Some(answers_ns) = self.subject.answers_ns else { return Counted::NotTold };
        let is_within = (self.subject.start_ns..answers_ns).contains(&woken_by.at_ns);
        if woken_by.value != u64::from(self.subject.tid) || !is_within || !self.is_of_loop(woken_by) {
            return Counted::NotTold;
        }
        // Whoever is woken in vain waits on: what ended that is asked for on the way.
        if self.finds_way.get() {
            return Counted::NotTold;
        }
        let Some(way) = self.way.get_or_init(|| self.find_way(answers_ns)) else { return Counted::NotTold };
        if way.last == woken_by {
            return self.counts_as_last(way);
        }
        if are_alike(&self.direct_end(woken_by), &self.direct_end(way.last), way) {
            return Counted::Itself;
        }
        let counts = way.counts.get(way.counts.partition_point(|end| end.at_ns < woken_by.at_ns)).copied();
        match counts.filter(|_| way.begins_ns <= woken_by.at_ns) {
            Some(end) if end == woken_by => Counted::Itself,
            Some(end) => Counted::Later(end),
            None => Counted::NotSeen,
        }
    }

    fn find_way(&self, answers_ns: u64) -> Option<Way<'a>> {
        self.finds_way.set(true);
        let way = self.way_to_answer(answers_ns);
        self.finds_way.set(false);
        way
    }

    /// The waits of the loop that count until it answers. The last one was for whoever ended that; so were those before it, back to
    /// where the loop asked that one. The wait before that was for whoever ended it, and so on back.
    fn way_to_answer(&self, answers_ns: u64) -> Option<Way<'a>> {
        let start_ns = self.subject.start_ns;
        let ends = self.index.wakings_of(self.subject.tid, start_ns, answers_ns);
        let last = ends.iter().copied().rfind(|end| self.is_of_loop(end))?;
        if !polls(last) && self.may_be_of_lock(last, &self.direct_end(last)) {
            return None;
        }
        let mut way = Way { last, is_asked: false, is_served: false, counts: Vec::new(), begins_ns: u64::MAX };
        let mut end = last;
        for _ in 0..MAX_QUESTIONS {
            let End::By(tid) = self.direct_end(end) else { break };
            let Some(question) = self.question(tid, end).filter(|_| self.is_asked_for_it(tid, end)) else { break };
            way.is_asked = true;
            way.counts.push(end);
            let begun_by = question.begun_by.filter(|begun_by| begun_by.at_ns >= start_ns);
            // What woke the loop before it asked ended another wait.
            way.begins_ns = begun_by.map_or(0, |begun_by| begun_by.at_ns.saturating_add(1));
            match begun_by {
                Some(begun_by) => end = begun_by,
                None => break,
            }
        }
        way.counts.reverse();
        if self.is_served(&way, answers_ns) {
            way = Way { is_asked: false, is_served: true, counts: Vec::new(), begins_ns: u64::MAX, ..way };
        }
        Some(way)
    }

    /// Whether whoever ended the last wait came to be served: the loop told it something before it answered. What made it answer was there by then, or came
    /// while the loop was awake, as what a timer of its own brings, and woke nobody. One that is not seen to have been asked is served, too, if the loop tells
    /// anybody else something first: that is what it does with what it was told.
    fn is_served(&self, way: &Way<'a>, answers_ns: u64) -> bool {
        let End::By(tid) = self.direct_end(way.last) else { return false };
        let server = self.subject.tid;
        let told = self.index.wakings_by(server, way.last.at_ns, answers_ns).iter().take(MAX_TOLD);
        let mut told = told.filter(|event| is_from(event, server) && !makes_room(event));
        told.any(|event| event.value == u64::from(tid) || !way.is_asked)
    }

    /// The same of the last wait before the answer. An answer that comes while the loop is awake wakes nobody: if another one may have
    /// sent it, and whoever woke the loop last was not asked, nobody is known to have been waited for.
    fn counts_as_last(&self, way: &Way<'a>) -> Counted<'a> {
        match self.direct_end(way.last) {
            End::By(_) if way.is_served || !way.is_asked && !polls(way.last) => Counted::NotSeen,
            End::By(tid) if !way.is_asked && self.may_be_answered_by_another(tid, way.last) => Counted::NotSeen,
            End::By(_) => Counted::Itself,
            _ => Counted::NotTold,
        }
    }

    /// When the loop asked a thread for what ended one of its waits: first, since that one told it something. One that tells it several
    /// things in a row was asked for the first of them.
    fn question(&self, tid: u32, end: &Event) -> Option<Question<'a>> {
        let server = self.subject.tid;
        let mut until_ns = end.at_ns;
        for _ in 0..MAX_WAITS {
            let told_ns = self.answered_ns(tid, server, until_ns);
            let asks = self.index.wakings_of(tid, told_ns, until_ns);
            if let Some(asks) = asks.iter().find(|event| is_from(event, server) && !self.lets_in(event)) {
                let before = self.index.wakings_of(server, 0, asks.at_ns.saturating_add(1));
                let begun_by = before.iter().copied().rfind(|event| self.is_of_loop(event));
                let may_be_reply = begun_by.is_none_or(|begun_by| is_from(begun_by, tid));
                return Some(Question { at_ns: asks.at_ns, begun_by, may_be_reply });
            }
            if told_ns == 0 {
                break;
            }
            until_ns = told_ns;
        }
        None
    }

    /// Whether the loop is seen to have asked a thread, and not only to have answered it. What it sends to whoever has just told it
    /// something may be either: it is a question if the first of such a row was one, asked while the answer was waited for.
    fn is_asked_for_it(&self, tid: u32, end: &Event) -> bool {
        let before = self.index.wakings_of(self.subject.tid, 0, self.subject.start_ns.saturating_add(1));
        let first_ns = before.iter().rfind(|event| self.is_of_loop(event)).map_or(0, |begun_by| begun_by.at_ns);
        let mut end = end;
        for number in 0..MAX_QUESTIONS {
            let question = self.question(tid, end).filter(|question| number == 0 || question.at_ns >= first_ns);
            match question {
                Some(Question { may_be_reply: true, begun_by: Some(begun_by), .. }) => end = begun_by,
                question => return question.is_some_and(|question| !question.may_be_reply),
            }
        }
        false
    }

    /// Whether another thread that was asked had a CPU, or came to want one, since a waking of the loop: it may have sent the answer.
    fn may_be_answered_by_another(&self, tid: u32, last: &Event) -> bool {
        let server = self.subject.tid;
        let until_ns = self.subject.answers_ns.unwrap_or(last.at_ns);
        let wakings = self.index.wakings_by(server, 0, last.at_ns).iter().rev().take(MAX_TOLD);
        let told = wakings.filter(|event| teller(event) == Some(server)).map(|event| event.value as u32);
        let told: BTreeSet<u32> = told.collect();
        told.into_iter().any(|other| {
            let is_awake = || {
                let woken = self.index.wakings_of(other, last.at_ns, until_ns);
                self.is_awake(other, last.at_ns) || !woken.is_empty()
            };
            let owes = || self.owes(other, server, last.at_ns) && self.is_question(other, last);
            other != tid && is_awake() && owes()
        })
    }

    /// Whether a thread had waited for several things in one call, or where it is asked itself.
    fn is_of_loop(&self, woken_by: &Event) -> bool {
        polls(woken_by) || self.is_where_asked(woken_by)
    }

    /// Whether the loop asked a thread, as somebody else had told it something, for what was told last.
    fn is_question(&self, tid: u32, end: &Event) -> bool {
        self.question(tid, end).is_some_and(|question| !question.may_be_reply)
    }
}

/// Whether what ended an earlier wait of the loop is of the same kind as what ended the last: two timers, or one thread that was
/// asked.
fn are_alike(own: &End, of_last: &End, way: &Way<'_>) -> bool {
    match (own, of_last) {
        (End::Timer, End::Timer) | (End::Device, End::Device) | (End::Network, End::Network) => true,
        (End::By(one), End::By(other)) => one == other && way.is_asked,
        _ => false,
    }
}

/// Whether a thread was woken because another one read what it had sent: that tells it nothing.
fn makes_room(event: &Event) -> bool {
    event.wait_end().is_some_and(|end| end.waker == Some(Call::Read))
}

/// Whether a thread had waited for several things in one call.
fn polls(woken_by: &Event) -> bool {
    let is_poll = |call| matches!(call, Call::Poll | Call::Restart);
    woken_by.wait_end().is_some_and(|end| is_poll(end.sleeper) && end.descriptor.is_none())
}
