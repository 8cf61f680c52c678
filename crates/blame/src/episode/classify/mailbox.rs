//! A thread that has asked several others and waits at one place for what all of them bring: whoever wakes it next is only one of those.

use super::answer::End;
use super::classifier::Classifier;
use super::holder::sleepers_call;
use super::interrupted::Progress;
use super::several::{MAX_WAKINGS, are_of_one_place, is_from, teller};
use crate::episode::story::timer_due;
use punctual_recording::episode::{Call, Event, IN_INTERRUPT};
use std::collections::BTreeSet;

/// So many later wakings of a thread are looked through for an answer: what comes after those is not known. A program can have
/// tens of thousands of them in an episode, each of which is looked at so.
const MAX_LATER: usize = 1_024;

impl<'a> Classifier<'a> {
    /// For a wait that a thread ended: how, if that one came at a time limit of its own, or was only told that what it had brought before was taken, while another
    /// one was waited for. That one ended it all the same if it is seen to answer there later.
    pub(super) fn of_mailbox(&self, woken_by: &Event, tid: u32, slept_ns: u64) -> Option<End> {
        let sleeper = woken_by.value as u32;
        let is_owed = |asked: &&Event| {
            let other = asked.value as u32;
            other != tid
                && self.answered_ns(other, sleeper, slept_ns) < asked.at_ns
                && !self.is_asked(tid, other, asked.at_ns, woken_by.at_ns)
        };
        let others: Vec<&Event> = self.asks(sleeper, slept_ns).filter(is_owed).collect();
        if self.subject.is_due && self.gives_up(tid, woken_by, slept_ns) {
            let other = others
                .iter()
                .find(|asked| self.is_busy_with(asked, woken_by) || self.has_told_nobody(asked, woken_by))?;
            let (tid, other) = (self.thread(tid), self.thread(other.value as u32));
            return Some(End::NotBy(format!(
                "{tid} ended it at a time limit, and {other} had been asked, and had not answered"
            )));
        }
        let told = self.last_ask(tid, sleeper, slept_ns)?;
        let acknowledges = self.acknowledges(told);
        // One that was asked first and has not answered was waited for as well.
        let is_question = |asked: &&&Event| !self.acknowledges(asked) && (acknowledges || asked.at_ns < told.at_ns);
        let questions: Vec<&Event> = others.iter().filter(is_question).copied().collect();
        let answers = questions.iter().filter_map(|asked| self.answers_there(asked.value as u32, woken_by));
        if let Some(last) = answers.max_by_key(|answer| answer.at_ns) {
            return teller(last).map(End::By);
        }
        let tellers = self.tellers(woken_by);
        let may_tell = |asked: &&&Event| acknowledges || tellers.contains(&(asked.value as u32));
        let busy = questions.iter().filter(may_tell).find(|asked| self.is_busy_with(asked, woken_by));
        let at_work = || others.iter().filter(|_| acknowledges).find(|asked| self.is_at_it(asked, woken_by.at_ns));
        let other = busy.or_else(at_work).map(|asked| asked.value as u32);
        let unasked = || acknowledges.then(|| self.works_unasked(woken_by, tid, slept_ns)).flatten();
        let (tid, other) = (self.thread(tid), self.thread(other.or_else(unasked)?));
        Some(End::NotBy(format!("{tid} told it of one of several things, and {other} may have been asked for another")))
    }

    /// The wakings by which a thread asked others up to a time, the last ones first. To be let in to a lock is not to be asked.
    fn asks(&self, sleeper: u32, until_ns: u64) -> impl Iterator<Item = &'a Event> {
        let wakings = self.index.wakings_by(sleeper, 0, until_ns).iter().copied().rev().take(MAX_WAKINGS);
        wakings.filter(|event| self.wakes_itself(event) && !self.lets_in(event))
    }

    /// The last of them by which it asked this one.
    pub(super) fn last_ask(&self, tid: u32, sleeper: u32, until_ns: u64) -> Option<&'a Event> {
        self.asks(sleeper, until_ns).find(|asked| asked.value == u64::from(tid))
    }

    /// Whether a thread wakes another one as the first thing after that one woke it: it may only say that it took what that had brought.
    fn acknowledges(&self, asked: &Event) -> bool {
        let before = self.index.last_woken(asked.tid, asked.at_ns);
        before.is_some_and(|before| is_from(before, asked.value as u32))
    }

    /// How a thread ends a later wait of this kind, if it does so without being asked once more.
    fn answers_there(&self, tid: u32, woken_by: &Event) -> Option<&'a Event> {
        let (sleeper, since_ns) = (woken_by.value as u32, woken_by.at_ns.saturating_add(1));
        let later = self.index.wakings_of(sleeper, since_ns, self.subject.end_ns.saturating_add(1));
        let answer = later.iter().copied().take(MAX_LATER).find(|event| is_from(event, tid))?;
        let is_it = are_of_one_place(woken_by, answer) && !self.is_asked(tid, sleeper, since_ns, answer.at_ns);
        is_it.then_some(answer)
    }

    /// Whether whoever was asked works on it as a wait ends, has asked another one for it, or sleeps within it.
    fn is_busy_with(&self, asked: &Event, woken_by: &Event) -> bool {
        let sleeps = || {
            let Progress::Through(slept_ns) = self.progress(asked, woken_by.at_ns) else { return false };
            let wakes = self.index.next_woken(asked.value as u32, slept_ns);
            wakes.is_some_and(|wakes| self.sleeps_plainly(wakes))
        };
        self.is_at_it(asked, woken_by.at_ns) || sleeps()
    }

    /// Whether whoever was asked since the request began has woken nobody by the end of a wait: it cannot have answered through another one either.
    fn has_told_nobody(&self, asked: &Event, woken_by: &Event) -> bool {
        let wakings = self.index.wakings_by(asked.value as u32, asked.at_ns, woken_by.at_ns);
        asked.at_ns >= self.subject.start_ns && !wakings.iter().any(|event| self.wakes_itself(event))
    }

    /// Another one that brings things there later, and worked all the while: it need not have been woken to be asked.
    fn works_unasked(&self, woken_by: &Event, tid: u32, slept_ns: u64) -> Option<u32> {
        let (sleeper, since_ns) = (woken_by.value as u32, woken_by.at_ns.saturating_add(1));
        let later = self.index.wakings_of(sleeper, since_ns, self.subject.end_ns.saturating_add(1));
        // Each is looked at once, however often it tells something.
        let mut known = BTreeSet::from([tid]);
        let tellers = later.iter().take(MAX_LATER).filter_map(|event| teller(event));
        tellers.filter(|other| known.insert(*other)).find(|other| {
            self.is_awake(*other, slept_ns)
                && self.is_awake(*other, woken_by.at_ns)
                && self.answers_there(*other, woken_by).is_some()
                && !self.is_asked(tid, *other, slept_ns, woken_by.at_ns)
        })
    }

    /// Whether a thread that ended a wait had itself waited for most of that up to a time limit: as one does that keeps others' limits.
    fn gives_up(&self, tid: u32, woken_by: &Event, slept_ns: u64) -> bool {
        let wakings = self.index.wakings_of(tid, slept_ns, woken_by.at_ns.saturating_add(1));
        wakings.iter().any(|event| {
            let is_limit = event.context & IN_INTERRUPT != 0 && timer_due(self.index, event).is_some();
            let waited_ns = self.index.last_leave(tid, event.at_ns).map_or(0, |leave| event.at_ns - leave.at_ns);
            is_limit
                && sleepers_call(event).is_some_and(|call| call != Call::Sleep)
                && waited_ns > (woken_by.at_ns - slept_ns) / 2
        })
    }
}
