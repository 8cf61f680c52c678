//! Who holds the lock that a thread waits for. Whoever wakes the thread is it only if it let the lock go.

use crate::episode::classify::{Blamed, Classifier};
use crate::episode::story::{Doing, StateSpan};
use crate::episode::subject::Subject;
use crate::kind::Kind;
use punctual_recording::Stage;
use punctual_recording::episode::{
    Call, Event, EventKind, IN_INTERRUPT, IN_SOFTIRQ, LEFT_FOR_LOCK, WakingAct, WordState,
};

/// The name of a lock's holder where nothing says who that is.
pub const HOLDER_NOT_SEEN: &str = "holder not seen";

/// Who holds a lock of a program, or is waited for otherwise.
pub(crate) struct Holder<'a> {
    /// [`Kind::Lock`] or [`Kind::Wait`].
    pub(crate) kind: Kind,
    /// What the thread that waits has called the kernel for, where that is known.
    pub(crate) call: Option<Call>,
    /// The time for which it is waited for.
    pub(crate) subject: Subject<'a>,
    /// Where the lock is, as far as that is known.
    pub(crate) place: Option<u32>,
}

impl<'a> Classifier<'a> {
    /// Cuts the spans in which the thread has its CPU where it waits there for a lock of its program.
    pub(crate) fn spans(&self, story: Vec<StateSpan>) -> Vec<StateSpan> {
        let mut spans = Vec::with_capacity(story.len());
        for span in story {
            let mut reached = span.start_ns;
            for &(begin, end, holder) in self.waits.spun(span.start_ns, span.end_ns) {
                let (begin, end) = (begin.max(reached), end.min(span.end_ns));
                if span.doing != Doing::Running || begin >= end {
                    continue;
                }
                if begin > reached {
                    spans.push(StateSpan { start_ns: reached, end_ns: begin, ..span });
                }
                spans.push(StateSpan { start_ns: begin, end_ns: end, doing: Doing::Spinning { holder }, ..span });
                reached = end;
            }
            if span.end_ns > reached {
                spans.push(StateSpan { start_ns: reached, ..span });
            }
        }
        spans
    }

    /// Who holds the lock of the program that the thread waits for: whoever lets it go, or owns it by the kernel's account.
    pub(crate) fn holder(&self, span: &StateSpan) -> Option<Holder<'a>> {
        let (waker, tid, kind) = match span.doing {
            Doing::Spinning { holder } => (None, holder, Kind::Lock),
            Doing::Blocked { left_state, woken_by: Some(woken_by) } => {
                let waker = &self.episode.events[woken_by];
                if left_state & LEFT_FOR_LOCK != 0 {
                    (Some(waker), self.who_let_go(waker).or_else(|| self.owner(span, waker))?, Kind::Lock)
                } else if self.waits_for_another(left_state, Some(waker)) {
                    (Some(waker), self.who_answered(waker)?, Kind::Wait)
                } else {
                    return None;
                }
            }
            _ => return None,
        };
        let by_waker = waker.filter(|waker| waker.tid == tid);
        Some(Holder {
            kind,
            call: waker.filter(|_| kind == Kind::Wait).and_then(sleepers_call),
            subject: Subject {
                tid,
                name: self.threads.get(&tid)?,
                priority: by_waker.map_or(self.subject.priority, |waker| waker.priority),
                cpu: by_waker.map_or(span.cpu, |waker| waker.cpu),
                start_ns: span.start_ns,
                end_ns: span.end_ns,
                stage: if self.subject.stage == Stage::Request { Stage::Request } else { Stage::Response },
                is_due: false,
            },
            place: waker.filter(|_| kind == Kind::Lock).map(|waker| waker.lock_waking().place),
        })
    }

    /// The thread that woke the sleeper, if it did so by letting go of the lock.
    fn who_let_go(&self, waker: &Event) -> Option<u32> {
        let is_a_thread = is_by_a_thread(waker) && waker.tid != 0;
        (is_a_thread && waker.lock_waking().let_go()).then_some(waker.tid)
    }

    /// Whose the lock is by the kernel's account, or by the word that was waited for, if it did not let it go meanwhile.
    fn owner(&self, span: &StateSpan, waker: &Event) -> Option<u32> {
        let told = waker.lock_waking();
        let let_go = |event: &Event| {
            event.kind == EventKind::Waking && event.tid == told.owner && {
                let other = event.lock_waking();
                other.place == told.place && other.let_go()
            }
        };
        let meanwhile = |event: &&Event| event.at_ns > span.start_ns && event.at_ns < span.end_ns;
        let changed = self.episode.events.iter().filter(meanwhile).any(let_go);
        (told.owner != 0 && !changed && told.state != WordState::NoLock).then_some(told.owner)
    }

    /// The thread slept for a lock of its program, and who holds it was not seen.
    pub(crate) fn lock_of_program(&self, woken_by: Option<&Event>, by: String) -> Blamed {
        let Some(waker) = woken_by else { return not_seen("nobody let it go before the evidence ends".to_owned()) };
        if !is_by_a_thread(waker) {
            return not_seen(ended_by_interrupt(&by));
        }
        let told = waker.lock_waking();
        if told.let_go() {
            // Holders that wait in a circle, or one without a name, are not looked into.
            return not_seen_inside(by);
        }
        not_seen(match (told.act, told.same_word) {
            (WakingAct::NotTold, _) => format!("woken by {by}; whether that let it go is not in the recording"),
            (WakingAct::Signals, _) => format!("the wait ended with a signal of {by}"),
            (WakingAct::Requeues, _) => format!("{by} sent it to wait for something else"),
            (WakingAct::WakesWord, Some(true)) => {
                return Blamed::unknown(&format!("it waited for a word of {by}, which is no lock"));
            }
            (WakingAct::WakesWord | WakingAct::UnlocksWord, _) => format!("woken by {by}, over another word"),
            _ => format!("woken by {by}, which did not let it go"),
        })
    }

    /// The thread waited on its CPU for a lock of its program, and what the holder did is not looked into.
    pub(crate) fn spun_for(&self, holder: u32) -> Blamed {
        not_seen_inside(self.thread(holder))
    }

    /// The thread slept for a lock of the kernel: a thread that ends the wait has let the lock go.
    pub(crate) fn lock_of_kernel(&self, woken_by: Option<&Event>, by: String) -> Blamed {
        match woken_by {
            None => not_seen("nobody let it go before the evidence ends".to_owned()),
            Some(waker) if !is_by_a_thread(waker) => not_seen(ended_by_interrupt(&by)),
            Some(_) => Blamed::new(Kind::Lock, by),
        }
    }
}

/// What who is woken had called the kernel for.
pub(crate) fn sleepers_call(waker: &Event) -> Option<Call> {
    match waker.wait_end() {
        Some(end) => Some(end.sleeper),
        None => (waker.lock_waking().act != WakingAct::NotTold).then_some(Call::Futex),
    }
}

fn is_by_a_thread(waker: &Event) -> bool {
    waker.context & (IN_INTERRUPT | IN_SOFTIRQ) == 0
}

/// The function of a sleep's timer.
const SLEEP_TIMER: &str = "hrtimer_wakeup";

fn ended_by_interrupt(by: &str) -> String {
    if by == SLEEP_TIMER { "the wait ended by its time limit".to_owned() } else { format!("the wait ended by {by}") }
}

fn not_seen(how_it_ended: String) -> Blamed {
    let inside = Some((Kind::Unknown, how_it_ended.clone()));
    Blamed { detail: Some(how_it_ended), inside, ..Blamed::new(Kind::Lock, HOLDER_NOT_SEEN) }
}

/// The holder is known, and what it did meanwhile is not.
fn not_seen_inside(holder: String) -> Blamed {
    let inside = Some((Kind::Unknown, format!("what {holder} did")));
    Blamed { inside, ..Blamed::new(Kind::Lock, holder) }
}
