//! Waits in the middle of which a thread is stopped: by a signal, by its tracer, by the freezer of its control group.
//! It is woken to be stopped, and meanwhile nobody wakes it for what it waits for. Until that came it waited all the
//! same, and only from then on did whoever stopped it hold it up.

use super::answer::End;
use super::classifier::{Blamed, Classifier, LOOK_NS};
use super::holder::sleepers_call;
use super::several::{MAX_WAKINGS, teller};
use crate::episode::chain::is_by_a_thread;
use crate::episode::detail::Detail;
use crate::episode::span::{Doing, StateSpan};
use crate::episode::story::STOPPED;
use crate::kind::Kind;
use punctual_recording::Awaited;
use punctual_recording::episode::{
    Call, Event, EventKind, LEFT_FOR_IO, LEFT_FOR_LOCK, LEFT_FOR_SPINLOCK, LEFT_FROZEN, LEFT_UNINTERRUPTIBLE, WakingAct,
};

/// How many stops of one wait are looked through ...
const MAX_STOPS: usize = 64;
/// ... and how many sleeps of whoever was asked.
const MAX_SLEEPS: usize = 64;

/// How a wait went on in the middle of which the thread was stopped.
struct Course {
    /// The state in which it had gone to sleep.
    left_state: u32,
    /// Position of the waking by which it first came to be stopped.
    stopped_by: usize,
    /// When the last stop ended.
    until_ns: u64,
    came: Came,
}

/// When what it waited for came.
enum Came {
    /// After the last stop: position of the waking.
    Later(usize),
    /// While it was stopped: from this thread, which was done with it then.
    Meanwhile(u32, u64),
    /// That is not seen.
    NotSeen,
}

/// How far whoever was asked for something has come.
pub(super) enum Progress {
    /// It is at it.
    AtIt,
    /// It is through since then: it sleeps until it is asked anew.
    Through(u64),
    /// It was woken for something else meanwhile: when it was through is not seen.
    NotSeen,
}

impl Classifier<'_> {
    /// Tells stops from waits in the middle of which the thread was stopped.
    pub(super) fn through_stops(&self, story: Vec<StateSpan>) -> Vec<StateSpan> {
        let mut course: Option<Course> = None;
        let mut spans = Vec::with_capacity(story.len());
        for span in story {
            let Doing::Blocked { left_state, woken_by } = span.doing else {
                spans.push(span);
                continue;
            };
            if course.as_ref().is_none_or(|course| span.start_ns >= course.until_ns) {
                course = self.course_of(&span, left_state, woken_by);
            }
            match &course {
                Some(course) => spans.extend(self.along(course, span, left_state)),
                None => spans.push(span),
            }
        }
        spans
    }

    /// The course of the wait to which a sleep or a stop belongs, if there is one.
    fn course_of(&self, span: &StateSpan, left_state: u32, woken_by: Option<usize>) -> Option<Course> {
        let tid = self.subject.tid;
        if left_state & STOPPED == 0 {
            return self.course(left_state, span.start_ns, &self.episode.events[woken_by?]);
        }
        // The time in question began while it was stopped.
        let mut leave = self.index.last_leave(tid, span.start_ns)?;
        for _ in 0..MAX_STOPS {
            let woken_by = self.index.last_woken(tid, leave.at_ns)?;
            leave = self.index.last_leave(tid, woken_by.at_ns)?;
            if leave.left_state() & STOPPED == 0 {
                let course = self.course(leave.left_state(), leave.at_ns, woken_by);
                return course.filter(|course| course.until_ns > span.start_ns);
            }
        }
        None
    }

    /// How a wait went on that ended like this, if a stop interrupted it.
    fn course(&self, left_state: u32, slept_ns: u64, woken_by: &Event) -> Option<Course> {
        let is_lock = left_state & LEFT_FOR_LOCK != 0;
        let is_wait =
            left_state != 0 && left_state & (LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE | LEFT_FOR_SPINLOCK | STOPPED) == 0;
        let call = sleepers_call(woken_by)?;
        if !is_wait || !(is_lock || self.is_of_a_request()) || call == Call::Sleep {
            return None;
        }
        let found = |until_ns, came| Course { left_state, stopped_by: self.position(woken_by), until_ns, came };
        if woken_by.lock_waking().act == WakingAct::Thaws {
            // Since when it was frozen is not seen: it slept.
            let came = if is_lock { None } else { self.answered_meanwhile(slept_ns, slept_ns, woken_by.at_ns) };
            return came.map(|(by, at_ns)| found(woken_by.at_ns, Came::Meanwhile(by, at_ns)));
        }
        let (mut waking, mut stop) = (woken_by, self.stop_after(woken_by)?);
        if !self.wakes_to_stop(woken_by, slept_ns) {
            return None;
        }
        let tid = self.subject.tid;
        for _ in 0..MAX_STOPS {
            let Some(continued) = self.index.next_woken(tid, stop.at_ns) else {
                return Some(found(u64::MAX, Came::NotSeen));
            };
            let until_ns = continued.at_ns;
            if let Some(again) = self.stop_after(continued) {
                stop = again;
                continue;
            }
            let Some(next) = self.waits_on(continued, waking) else {
                let came = if is_lock { None } else { self.answered_meanwhile(slept_ns, stop.at_ns, until_ns) };
                return Some(found(until_ns, came.map_or(Came::NotSeen, |(by, at_ns)| Came::Meanwhile(by, at_ns))));
            };
            waking = next;
            match self.stop_after(next).filter(|_| self.wakes_to_stop(next, slept_ns)) {
                Some(again) => stop = again,
                None => return Some(found(until_ns, Came::Later(self.position(next)))),
            }
        }
        Some(found(stop.at_ns, Came::NotSeen))
    }

    /// What a sleep or a stop within such a wait was: a part of the wait, or the stop after it.
    fn along(&self, course: &Course, span: StateSpan, left_state: u32) -> Vec<StateSpan> {
        let is_lock = course.left_state & LEFT_FOR_LOCK != 0;
        let waits_for =
            |by| StateSpan { doing: Doing::Interrupted { by, is_lock, woken_by: course.stopped_by }, ..span };
        // A thread that the freezer stopped in its sleep left its CPU to sleep.
        let stopped = match span.doing {
            Doing::Blocked { left_state, woken_by } if left_state & STOPPED == 0 => {
                StateSpan { doing: Doing::Blocked { left_state: left_state | LEFT_FROZEN, woken_by }, ..span }
            }
            _ => span,
        };
        match course.came {
            // That sleep for a lock shows who held it then.
            _ if is_lock && left_state & STOPPED == 0 => vec![span],
            Came::Later(woken_by) if is_lock => {
                // A lock that is released while nobody is woken for it may have gone to somebody else.
                let held = self.episode.events[course.stopped_by].lock_waking().owner;
                let last = self.who_let_go(&self.episode.events[woken_by]);
                vec![waits_for(last.filter(|tid| *tid == held))]
            }
            Came::Later(woken_by) => {
                let doing = Doing::Blocked { left_state: course.left_state, woken_by: Some(woken_by) };
                vec![StateSpan { doing, ..span }]
            }
            Came::Meanwhile(by, at_ns) if at_ns >= span.end_ns => vec![waits_for(Some(by))],
            Came::Meanwhile(_, at_ns) if at_ns <= span.start_ns => vec![stopped],
            Came::Meanwhile(by, at_ns) => {
                vec![StateSpan { end_ns: at_ns, ..waits_for(Some(by)) }, StateSpan { start_ns: at_ns, ..stopped }]
            }
            Came::NotSeen => vec![waits_for(None)],
        }
    }

    /// When a thread that was woken is stopped before it can have done anything.
    fn stop_after(&self, woken_by: &Event) -> Option<&Event> {
        let (leave, ran_ns) = self.leaves_next(woken_by.value, woken_by.at_ns)?;
        (leave.left_state() & STOPPED != 0 && ran_ns < LOOK_NS).then_some(leave)
    }

    /// Whether a waking before a stop was for that, and not the end of the wait.
    pub(super) fn wakes_to_stop(&self, woken_by: &Event, slept_ns: u64) -> bool {
        let told = woken_by.lock_waking();
        is_by_a_thread(woken_by)
            && match told.act {
                WakingAct::Signals => true,
                WakingAct::Ends => false,
                // A tracer, or the freezer.
                _ => !told.let_go() && !self.owes(woken_by.tid, self.subject.tid, slept_ns),
            }
    }

    /// The waking that ends the next sleep of one that goes on after a stop, if it goes on with the wait that ended with `before`.
    fn waits_on(&self, continued: &Event, before: &Event) -> Option<&Event> {
        let (leave, ran_ns) = self.leaves_next(continued.value, continued.at_ns)?;
        let other = LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE | STOPPED;
        let next = self.index.next_woken(self.subject.tid, leave.at_ns)?;
        let place = |event: &Event| event.wait_end().is_none().then(|| event.lock_waking().place);
        // Waits with a time limit are resumed by a call of their own.
        let (call, call_before) = (sleepers_call(next), sleepers_call(before)?);
        let goes_on = matches!(call_before, Call::Poll | Call::Futex | Call::Restart) && call == Some(Call::Restart);
        let is_same = goes_on || call == Some(call_before) && place(next) == place(before);
        (ran_ns < LOOK_NS && leave.left_state() & other == 0 && is_same).then_some(next)
    }

    /// The next switch by which a thread leaves its CPU to sleep after a time, and how long it ran before that.
    pub(super) fn leaves_next(&self, tid: u64, after_ns: u64) -> Option<(&Event, u64)> {
        leaves_in(self.index.turns_from(tid, after_ns.saturating_add(1)), tid)
    }

    /// For one that goes on after a stop as if it had not waited, the thread that it had waited for, and when that was
    /// done: the only one that it had asked, if that worked on nothing else.
    fn answered_meanwhile(&self, slept_ns: u64, stopped_ns: u64, until_ns: u64) -> Option<(u32, u64)> {
        let asks = self.asked_before(slept_ns)?;
        let tid = asks.value as u32;
        let slept = self.index.last_leave(tid, asks.at_ns);
        let is_lock = asks.wait_end().is_none() && slept.is_none_or(|leave| leave.left_state() & LEFT_FOR_LOCK != 0);
        let through_ns = self.through_with(asks, until_ns)?;
        let mut wakes = self.index.wakings_by(tid, asks.at_ns, through_ns).iter();
        let asks_on = wakes.any(|event| self.wakes_itself(event));
        let is_it = !is_lock && !asks_on && !self.is_told_only(tid, asks.at_ns);
        (is_it && through_ns > stopped_ns).then_some((tid, through_ns))
    }

    /// Whether whoever was asked is still working on it at a time, or has asked another one for it.
    pub(super) fn is_at_it(&self, asks: &Event, until_ns: u64) -> bool {
        let Progress::Through(through_ns) = self.progress(asks, until_ns) else { return true };
        let mut wakes = self.index.wakings_by(asks.value as u32, asks.at_ns, through_ns).iter();
        wakes.any(|event| self.wakes_itself(event))
    }

    /// The waking that asked the only thread that still owes an answer.
    fn asked_before(&self, slept_ns: u64) -> Option<&Event> {
        let sleeper = self.subject.tid;
        let mut asked: Option<&Event> = None;
        for event in self.index.wakings_by(sleeper, 0, slept_ns).iter().rev().take(MAX_WAKINGS) {
            if self.wakes_itself(event) && self.owes(event.value as u32, sleeper, slept_ns) {
                if asked.is_some_and(|asked| asked.value != event.value) {
                    return None;
                }
                asked = asked.or(Some(event));
            }
        }
        asked
    }

    /// How far whoever was asked has come with that by a time.
    pub(super) fn progress(&self, asks: &Event, until_ns: u64) -> Progress {
        const OF_WORK: u32 = LEFT_FOR_IO | LEFT_FOR_LOCK | LEFT_UNINTERRUPTIBLE | STOPPED;
        let tid = asks.value as u32;
        let mut from_ns = asks.at_ns;
        for _ in 0..MAX_SLEEPS {
            let Some((leave, _)) = self.leaves_next(asks.value, from_ns).filter(|(leave, _)| leave.at_ns < until_ns)
            else {
                return Progress::AtIt;
            };
            let is_of_work = leave.left_state() & OF_WORK != 0;
            let Some(next) = self.index.next_woken(tid, leave.at_ns).filter(|next| next.at_ns < until_ns) else {
                return if is_of_work { Progress::AtIt } else { Progress::Through(leave.at_ns) };
            };
            // It may have been through, and be asked for something new, by a thread, a packet, a device, or the time that it looks after
            // itself. What it asked for itself belongs to its work.
            let is_answered = || teller(next).is_some_and(|by| self.owes(by, tid, leave.at_ns));
            if !(is_of_work || self.sleeps_plainly(next) || is_answered()) {
                return Progress::NotSeen;
            }
            from_ns = next.at_ns;
        }
        Progress::NotSeen
    }

    /// Whether what a thread is woken from was no more than a sleep for some time.
    pub(super) fn sleeps_plainly(&self, woken_by: &Event) -> bool {
        let is_sleep = sleepers_call(woken_by).is_none_or(|call| call == Call::Sleep);
        is_sleep && !is_by_a_thread(woken_by) && matches!(self.direct_end(woken_by), End::Timer)
    }

    /// When whoever was asked went to sleep until it is asked anew, or past that time; what it sleeps meanwhile belongs to its work.
    fn through_with(&self, asks: &Event, until_ns: u64) -> Option<u64> {
        match self.progress(asks, until_ns) {
            Progress::Through(at_ns) => Some(at_ns),
            Progress::AtIt | Progress::NotSeen => None,
        }
    }

    /// Whether somebody was told things before without answering: another one answered while it still owed that.
    fn is_told_only(&self, tid: u32, before_ns: u64) -> bool {
        let sleeper = self.subject.tid;
        let answered = self.index.wakings_of(sleeper, 0, before_ns).iter().rev().take(MAX_WAKINGS);
        let mut by_others = answered.filter(|event| {
            let told = event.lock_waking().act;
            is_by_a_thread(event)
                && event.tid != tid
                && !matches!(told, WakingAct::Signals | WakingAct::Thaws)
                && self.stop_after(event).is_none()
        });
        by_others.any(|event| {
            let slept = self.index.last_leave(sleeper, event.at_ns);
            let is_wait = |leave: &Event| leave.left_state() & (LEFT_FOR_LOCK | STOPPED) == 0;
            slept.is_some_and(|leave| is_wait(leave) && self.owes(tid, sleeper, leave.at_ns))
        })
    }

    /// The thread waited, and was stopped meanwhile: if nothing tells for whom, or what that one did.
    pub(super) fn stopped_meanwhile(&self, by: Option<u32>, is_lock: bool, woken_by: usize) -> Blamed {
        let (kind, awaited) = if is_lock { (Kind::Lock, Awaited::Holder) } else { (Kind::Wait, Awaited::Ender) };
        if let Some(tid) = by {
            let name = self.thread(tid);
            let inside = Some((Kind::Unknown, format!("what {name} did was not looked into").into()));
            return Blamed { inside, tid: Some(tid), ..Blamed::new(kind, name) };
        }
        let stopper = self.thread(self.episode.events[woken_by].tid);
        let why = format!("{stopper} stopped it meanwhile, and when its wait was over is not seen");
        let inside = Some((Kind::Unknown, why.clone().into()));
        Blamed { detail: Some(Detail::NotSeen(why)), inside, ..Blamed::new(kind, awaited) }
    }

    /// Where an event of the index is in the episode.
    pub(super) fn position(&self, event: &Event) -> usize {
        let first = self.episode.events.as_ptr().addr();
        (std::ptr::from_ref(event).addr() - first) / size_of::<Event>()
    }
}

/// The first of these turns of a thread by which it leaves its CPU to sleep, and how long it ran before that.
pub(super) fn leaves_in<'a>(turns: &[&'a Event], tid: u64) -> Option<(&'a Event, u64)> {
    let (mut ran_ns, mut runs_since) = (0, None);
    for event in turns.iter().copied().filter(|event| event.kind == EventKind::Switch) {
        if event.value == tid {
            runs_since = Some(event.at_ns);
            continue;
        }
        ran_ns += event.at_ns - runs_since.take()?;
        if event.left_state() & !LEFT_FOR_SPINLOCK != 0 {
            return Some((event, ran_ns));
        }
    }
    None
}
