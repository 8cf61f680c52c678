//! A thread that loses its CPU in the midst of a wait for a lock of the kernel, or after it asked somebody for something, and waits for that as soon as
//! it has a CPU again: what it waits for kept it all the time, and whoever had the CPU kept it from nothing.

use super::answer::End;
use super::classifier::{Blamed, Classifier, LOOK_NS};
use super::interrupted::{Progress, leaves_in};
use super::several::MAX_WAKINGS;
use crate::episode::chain::is_by_a_thread;
use crate::episode::detail::Detail;
use crate::episode::span::{Doing, StateSpan};
use crate::kind::Kind;
use punctual_recording::Awaited;
use punctual_recording::episode::{Event, EventKind};

/// How many times that a thread is given its CPU, loses it or is woken are looked through for a sleep.
const MAX_TURNS: usize = 64;

impl Classifier<'_> {
    /// What the thread would have waited for in this span, or may have, if it had had a CPU: a lock for which it waited when it lost that, for which
    /// it sleeps when it has hardly run, and is woken later; or somebody's answer.
    pub(super) fn would_have_waited(&self, span: &StateSpan, since_ns: u64) -> Option<Blamed> {
        let (lost, leave, woken_by) = self.waits_next(span, since_ns)?;
        if let Some(by) = self.may_have_asked(lost, leave, woken_by) {
            return Some(Blamed::unknown(&format!("it may have waited for {} already", self.thread(by))));
        }
        let lock = self.waits.in_lock(leave.at_ns, leave.at_ns).filter(|lock| woken_by.at_ns <= lock.end_ns)?;
        let spun = self.spins.iter().any(|spin| spin.end_ns <= lost.at_ns && spin.until_ns == lost.at_ns);
        if !spun && lock.begin_ns > lost.at_ns {
            return None;
        }
        let detail = Some(Detail::Seen(format!("kernel {}", lock.words)));
        Some(match self.who_ends(&lock, span.start_ns) {
            Some(holder) => Blamed { detail, ..Blamed::new(Kind::Lock, holder) },
            None => {
                let inside = Some((Kind::Unknown, format!("who held it (kernel {})", lock.words).into()));
                Blamed { detail, inside, ..Blamed::new(Kind::Lock, Awaited::Holder) }
            }
        })
    }

    /// The span, as a wait for whoever the thread had asked for something before it lost its CPU, where that one was not through with it when
    /// the thread came to wait for it.
    pub(super) fn waits_anyway(&self, span: StateSpan) -> StateSpan {
        let Doing::Waiting { since_ns, .. } = span.doing else { return span };
        if !self.is_of_a_request() {
            return span;
        }
        let tid = self.subject.tid;
        let Some((lost, leave, woken_by)) = self.waits_next(&span, since_ns) else { return span };
        let asks_anew = |by: u32| {
            let since = self.index.wakings_by(tid, lost.at_ns, leave.at_ns);
            since.iter().any(|event| event.value == u64::from(by))
        };
        let is_wait = is_by_a_thread(woken_by) && self.waits_for_another(leave.left_state(), Some(woken_by));
        match self.end(woken_by) {
            End::By(by)
                if is_wait
                    && by == woken_by.tid
                    && self.owes(by, tid, lost.at_ns)
                    && !asks_anew(by)
                    && !self.may_be_through(by, lost, leave) =>
            {
                let doing = Doing::Interrupted { by: Some(by), is_lock: false, woken_by: self.position(woken_by) };
                StateSpan { doing, ..span }
            }
            _ => span,
        }
    }

    /// Whether whoever was asked before the thread lost its CPU may have been through with that, and at work for another one, when the thread came to
    /// wait: then it is not seen whether it was asked anew.
    fn may_be_through(&self, by: u32, lost: &Event, leave: &Event) -> bool {
        let before = self.index.wakings_by(self.subject.tid, 0, lost.at_ns).iter().rev().take(MAX_WAKINGS);
        let asks = before.copied().find(|event| event.value == u64::from(by) && self.wakes_itself(event));
        let is_told = asks.is_none_or(|asks| !matches!(self.progress(asks, leave.at_ns), Progress::NotSeen));
        !is_told && self.is_awake(by, leave.at_ns)
    }

    /// Who may have been asked before the thread lost its CPU, for whose answer it then sleeps: one that was at work all the time is not seen to be
    /// asked, and one that was asked then may have answered.
    fn may_have_asked(&self, lost: &Event, leave: &Event, woken_by: &Event) -> Option<u32> {
        if !is_by_a_thread(woken_by) || !self.waits_for_another(leave.left_state(), Some(woken_by)) {
            return None;
        }
        let by = self.who_answered(woken_by).filter(|by| *by == woken_by.tid)?;
        let asked = self.index.wakings_by(self.subject.tid, lost.at_ns, leave.at_ns);
        let is_asked_then = asked.iter().any(|event| event.value == u64::from(by));
        let may_be_asked = || self.is_awake(by, lost.at_ns) || self.owes(by, self.subject.tid, lost.at_ns);
        (!is_asked_then && self.is_awake(by, leave.at_ns) && may_be_asked()).then_some(by)
    }

    /// For a thread that lost its CPU and waits for it in this span: the switch by which it lost it, that by which it next goes to sleep, if it has
    /// hardly run by then, and what wakes it from that.
    fn waits_next(&self, span: &StateSpan, since_ns: u64) -> Option<(&Event, &Event, &Event)> {
        let tid = self.subject.tid;
        let is_lost = |turn: &&Event| turn.kind == EventKind::Switch && turn.tid == tid && turn.left_state() == 0;
        let lost = self.index.last_turn(tid, since_ns).filter(is_lost)?;
        let leave = self.sleeps_at_once(span.start_ns)?;
        let woken_by = self.index.next_woken(tid, leave.at_ns)?;
        Some((lost, leave, woken_by))
    }

    /// The switch by which the thread goes to sleep after a time, if it has hardly run by then. What it sleeps for when its time is over kept
    /// nobody: it was through with what it was to do.
    fn sleeps_at_once(&self, after_ns: u64) -> Option<&Event> {
        let tid = u64::from(self.subject.tid);
        let turns = self.index.turns_from(tid, after_ns.saturating_add(1));
        let (leave, ran_ns) = leaves_in(turns.get(..MAX_TURNS).unwrap_or(turns), tid)?;
        (ran_ns < LOOK_NS && leave.at_ns < self.subject.end_ns).then_some(leave)
    }
}
