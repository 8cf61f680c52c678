//! Who holds the lock that a thread waits for. Whoever wakes the thread counts only if it released the lock.

use super::NORMAL;
use super::classifier::{Blamed, Classifier, LOOK_NS};
use crate::episode::chain::{is_by_a_thread, slice_before};
use crate::episode::detail::Detail;
use crate::episode::span::{Doing, StateSpan};
use crate::episode::story::STOPPED;
use crate::episode::subject::Subject;
use crate::kind::Kind;
use punctual_recording::Awaited;
use punctual_recording::Stage;
use punctual_recording::episode::{
    Call, Event, EventKind, LEFT_FOR_IO, LEFT_FOR_LOCK, LEFT_UNINTERRUPTIBLE, WakingAct, WordState,
};
use std::collections::BTreeMap;

/// How many that wait for one kernel lock are looked through.
const MAX_IN_QUEUE: usize = 64;
/// The item that the kernel queues after the work that somebody waits for.
const BEHIND_WORK: &str = "wq_barrier_func";

/// Up to this number threads are no program's with locks: the first process, and the one that starts the kernel's threads.
const LAST_OF_NO_PROGRAM: u32 = 2;

/// Who holds a lock of a program, or is waited for otherwise.
pub(crate) struct Holder<'a> {
    /// [`Kind::Lock`] or [`Kind::Wait`].
    pub(crate) kind: Kind,
    /// What the waiting thread has called the kernel for, if that is known.
    pub(crate) call: Option<Call>,
    /// Whether the wait ended when whoever was waited for ended.
    pub(crate) has_ended: bool,
    /// The time for which it is waited for.
    pub(crate) subject: Subject<'a>,
    /// Where the lock is, as far as that is known, and the position of the waking that tells.
    pub(crate) place: Option<(u32, usize)>,
}

impl<'a> Classifier<'a> {
    /// Cuts the spans in which the thread has its CPU where it waits there for a lock, and those in which it sleeps for
    /// one of its program where that passed from one holder to the next.
    pub(crate) fn spans(&self, story: Vec<StateSpan>) -> Vec<StateSpan> {
        let mut spans = Vec::with_capacity(story.len());
        for span in self.cut(story) {
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

    /// Cuts sleeps where it changes who is waited for, and the time with a CPU where the thread spins.
    fn cut(&self, story: Vec<StateSpan>) -> impl Iterator<Item = StateSpan> {
        let cut = |span| self.cut_by_spins(self.handed_over(span));
        let spans = self.through_stops(story).into_iter().map(|span| self.waits_anyway(span));
        spans.flat_map(|span| self.cut_by_limit(span)).flat_map(cut)
    }

    /// Cuts a wait for a disk where a control group's limit released the request.
    fn cut_by_limit(&self, span: StateSpan) -> Vec<StateSpan> {
        let Doing::Blocked { left_state, woken_by: Some(woken_by) } = span.doing else { return vec![span] };
        if left_state & LEFT_FOR_IO == 0 {
            return vec![span];
        }
        let wait = self.disk_wait(&span, &self.episode.events[woken_by]);
        let Some((wait, until)) = wait.and_then(|wait| wait.held_back_until.map(|until| (wait, until))) else {
            return vec![span];
        };
        // Who is under no limit waits for another one's request, or for none that was held back.
        let own = self.episode.disk_limit.as_deref().filter(|_| self.subject.tid == self.episode.victim.tid);
        let is_under_one = own.is_some();
        let is_its = wait.limit.is_none_or(|limit| own == Some(self.episode.name(limit)));
        if !(wait.is_certain || is_under_one && is_its) || until <= span.start_ns || until >= span.end_ns {
            return vec![span];
        }
        let doing = Doing::HeldBack { disk: wait.number, limit: wait.limit, is_under_one };
        vec![StateSpan { end_ns: until, doing, ..span }, StateSpan { start_ns: until, ..span }]
    }

    /// Cuts a sleep for a lock of the program at each moment at which somebody released that lock to somebody else:
    /// until then it was that one's. Whoever tried meanwhile and did not get it did not hold it before; nor, for some of the time,
    /// whoever had let it go before.
    fn handed_over(&self, span: StateSpan) -> Vec<StateSpan> {
        let Doing::Blocked { left_state, woken_by: Some(woken_by) } = span.doing else { return vec![span] };
        let events = &self.episode.events;
        let told = events[woken_by].lock_waking();
        if left_state & LEFT_FOR_LOCK == 0 {
            let handed_on = self.handed_on(span, left_state, woken_by);
            let had = handed_on.into_iter().flat_map(|span| self.cut_by_program(span));
            let by_queue = had.flat_map(|span| self.cut_by_queue(span));
            let by_poller = by_queue.flat_map(|span| self.cut_by_poller(span));
            return by_poller.flat_map(|span| self.cut_by_file_lock(span)).collect();
        }
        if told.act == WakingAct::NotTold {
            return vec![span];
        }
        let meanwhile = self.index.lock_wakings(told.place, span.start_ns.saturating_add(1), span.end_ns);
        let meanwhile: Vec<usize> = meanwhile.filter(|&index| !self.is_of_another_lock(&events[index])).collect();
        // When each thread was last woken in vain, up to where this has looked.
        let (mut looked, mut in_vain) = (0, BTreeMap::new());
        let ends = self.ends_of_one_lock(&meanwhile, &events[woken_by]).into_iter();
        let mut spans = Vec::new();
        let mut reached = span.start_ns;
        let mut before: Option<&Event> = None;
        for end in ends.chain([woken_by]) {
            let end_ns = if end == woken_by { span.end_ns } else { events[end].at_ns };
            let doing = Doing::Blocked { left_state, woken_by: Some(end) };
            if let Some(taker) = self.who_let_go(&events[end]) {
                while let Some(event) =
                    meanwhile.get(looked).map(|&index| &events[index]).filter(|event| event.at_ns < end_ns)
                {
                    looked += 1;
                    if self.who_let_go(event).is_none() {
                        in_vain.insert(event.value, event.at_ns);
                    }
                }
                let in_vain_ns = in_vain.get(&u64::from(taker)).copied();
                let again_ns = before.and_then(|before| self.had_again_ns(before, &events[end]));
                if let Some(last) = in_vain_ns.max(again_ns).filter(|last_ns| *last_ns > reached) {
                    spans.push(StateSpan {
                        start_ns: reached,
                        end_ns: last,
                        doing: Doing::HeldBefore { taker },
                        ..span
                    });
                    reached = last;
                }
            }
            if end_ns > reached {
                spans.push(StateSpan { start_ns: reached, end_ns, doing, ..span });
                reached = end_ns;
            }
            before = Some(&events[end]);
        }
        spans
    }

    /// Those of these wakings by which one and the same lock was let go, up to the one that ended the wait. The place of a lock is no more
    /// than some bits of where it lies: it is another lock of the same place where whoever it went to neither lets it go next nor finds it
    /// taken.
    fn ends_of_one_lock(&self, meanwhile: &[usize], last: &Event) -> Vec<usize> {
        let events = &self.episode.events;
        let mut next = self.who_let_go(last).map(|_| last);
        let mut ends = Vec::new();
        for &index in meanwhile.iter().rev() {
            let end = &events[index];
            if self.who_let_go(end).is_some() && next.is_none_or(|next| self.may_be_followed(end, next)) {
                ends.push(index);
                next = Some(end);
            }
        }
        ends.reverse();
        ends
    }

    /// Whether a waking that tells of a lock at the place of the one that the thread sleeps for is of another lock: one of another program, or one
    /// that was let go to somebody before whom the thread would have been woken. The kernel wakes those who wait for a word by priority,
    /// and of the same one those who came first.
    pub(crate) fn is_of_another_lock(&self, end: &Event) -> bool {
        let (own, other) = (self.subject.tid, end.value as u32);
        let told = end.lock_waking();
        if own == other {
            return false;
        }
        let sleeps = |leave: &&Event| leave.left_state() & LEFT_FOR_LOCK != 0;
        let is_leave = |turn: &&Event| turn.kind == EventKind::Switch && turn.tid == own;
        let mine = self.index.last_turn(own, end.at_ns).filter(is_leave).filter(sleeps);
        let theirs = self.index.last_leave(other, end.at_ns).filter(sleeps);
        let goes_before = mine.zip(theirs).is_some_and(|(mine, theirs)| {
            // One that is lent a priority while it waits goes forward in the queue of a lock that lends it, and those with deadlines go by them.
            let (its, of_other) = (mine.priority.min(NORMAL), theirs.priority.min(end.other_priority()).min(NORMAL));
            let came_first = its >= 0 && mine.at_ns.saturating_add(LOOK_NS) < theirs.at_ns;
            its < of_other || its == of_other && came_first
        });
        told.let_go() && goes_before || self.index.are_other_words(told.place, own, other)
    }

    /// Whether a lock that was let go by one waking may be let go by the other one next.
    fn may_be_followed(&self, end: &Event, next: &Event) -> bool {
        let to = end.value as u32;
        if to == next.tid || end.tid == next.tid {
            return true;
        }
        let has_run = self.index.next_switch_to(to, end.at_ns).is_some_and(|at_ns| at_ns < next.at_ns);
        let leaves = self.index.leaves_within(to, end.at_ns.saturating_add(1), next.at_ns);
        !has_run || leaves.iter().take(MAX_IN_QUEUE).any(|leave| leave.left_state() & LEFT_FOR_LOCK != 0)
    }

    /// Cuts a sleep for a lock of the kernel where another one that waited for it got it first: until then it was that of whoever
    /// let that one in.
    fn handed_on(&self, span: StateSpan, left_state: u32, woken_by: usize) -> Vec<StateSpan> {
        let events = &self.episode.events;
        let Some(lock) = self.waits.in_lock(span.start_ns, span.end_ns) else { return vec![span] };
        let (mut ender, mut end_ns) = (woken_by, span.end_ns);
        let mut spans = Vec::new();
        for _ in 0..MAX_IN_QUEUE {
            let taker = &events[ender];
            if !is_by_a_thread(taker) || taker.tid == 0 || taker.tid == self.subject.tid {
                break;
            }
            let theirs = self.shared.waits(taker.tid).got(lock.address, span.start_ns, end_ns);
            let Some(theirs) = theirs else { break };
            let wakings =
                self.index.wakings_of(taker.tid, theirs.begin_ns.saturating_add(1), theirs.end_ns.saturating_add(1));
            let let_in = wakings.last().copied();
            if let_in.is_some_and(|let_in| let_in.at_ns <= span.start_ns) {
                break;
            }
            let doing = Doing::Blocked { left_state, woken_by: Some(ender) };
            spans.push(StateSpan { start_ns: theirs.end_ns, end_ns, doing, ..span });
            end_ns = theirs.end_ns;
            let Some(let_in) = let_in else {
                // It got the lock without being woken for it: nothing tells from whom.
                spans.push(StateSpan { end_ns, doing: Doing::HeldBefore { taker: taker.tid }, ..span });
                spans.reverse();
                return spans;
            };
            ender = self.position(let_in);
            // Whoever let it in before did so in vain: another one was faster to take the lock, and had it from then on. That may happen
            // several times.
            let in_vain = |event: &&&Event| {
                let is_a_thread = is_by_a_thread(event) && ![0, self.subject.tid].contains(&event.tid);
                is_a_thread && event.lock_waking().act != WakingAct::Signals && event.at_ns > span.start_ns
            };
            for before in wakings.iter().rev().filter(in_vain).take(MAX_IN_QUEUE) {
                if before.tid == events[ender].tid || before.at_ns >= end_ns {
                    continue;
                }
                let doing = Doing::Blocked { left_state, woken_by: Some(ender) };
                spans.push(StateSpan { start_ns: before.at_ns, end_ns, doing, ..span });
                (ender, end_ns) = (self.position(before), before.at_ns);
            }
        }
        spans.push(StateSpan { end_ns, doing: Doing::Blocked { left_state, woken_by: Some(ender) }, ..span });
        spans.reverse();
        spans
    }

    /// Whether a thread slept until a kernel worker was done with what it had been given before: what woke it is the
    /// item that the kernel queues after that.
    fn waits_for_worker(&self, left_state: u32, waker: &Event) -> bool {
        left_state & (STOPPED | LEFT_FOR_LOCK | LEFT_FOR_IO) == 0
            && left_state & LEFT_UNINTERRUPTIBLE != 0
            && is_by_a_thread(waker)
            && slice_before(self.episode, waker, self.timelines)
                .and_then(|slice| slice.work())
                .is_some_and(|name| self.episode.name(name) == BEHIND_WORK)
    }

    /// Whether a thread slept in the middle of its work so that no signal would have woken it, and not for a lock, a
    /// disk or a page: until another one had done its part, such as a child that shares its memory, or whoever ends a
    /// grace period. A thread that a kernel worker wakes while it works on something is not known to have waited for
    /// that; one that sleeps on at once may have been woken in vain.
    fn waits_in_kernel(&self, span: &StateSpan, left_state: u32, waker: &Event) -> bool {
        self.subject.stage.holds_work()
            && left_state & (STOPPED | LEFT_FOR_LOCK | LEFT_FOR_IO) == 0
            && left_state & LEFT_UNINTERRUPTIBLE != 0
            && is_by_a_thread(waker)
            && waker.tid != 0
            && !matches!(waker.lock_waking().act, WakingAct::Signals | WakingAct::Thaws)
            && !self.is_at_work(waker)
            && !self.sleeps_on_at_once(waker)
            && self.last_waited_for(Some(waker)) != Some(EventKind::LockBegin)
            && self.waits.in_fault(span.start_ns, span.end_ns).is_none()
    }

    /// Whether a waking came from a kernel worker in the middle of its work.
    pub(crate) fn is_at_work(&self, waker: &Event) -> bool {
        slice_before(self.episode, waker, self.timelines).is_some_and(|slice| slice.work().is_some())
    }

    /// Whether a thread that was woken looked, and went on sleeping so that no signal would wake it.
    fn sleeps_on_at_once(&self, waker: &Event) -> bool {
        let turns = self.index.turns_from(waker.value, waker.at_ns.saturating_add(1));
        let mut switches = turns.iter().filter(|event| event.kind == EventKind::Switch);
        let Some(comes) = switches.find(|event| event.value == waker.value) else { return false };
        switches.next().is_some_and(|leaves| {
            let left = leaves.left_state();
            leaves.at_ns - comes.at_ns < LOOK_NS
                && left & LEFT_UNINTERRUPTIBLE != 0
                && left & (STOPPED | LEFT_FOR_LOCK | LEFT_FOR_IO) == 0
        })
    }

    /// Who holds the lock of the program that the thread waits for: whoever releases it, or owns it by the kernel's account.
    pub(crate) fn holder(&self, span: &StateSpan) -> Option<Holder<'a>> {
        let (waker, tid, kind) = match span.doing {
            Doing::Spinning { holder } => (None, holder, Kind::Lock),
            Doing::Interrupted { by: Some(tid), is_lock, woken_by } => {
                (self.episode.events.get(woken_by), tid, if is_lock { Kind::Lock } else { Kind::Wait })
            }
            Doing::Blocked { left_state, woken_by: Some(woken_by) } => {
                let waker = &self.episode.events[woken_by];
                if left_state & LEFT_FOR_LOCK != 0 {
                    (Some(waker), self.who_let_go(waker).or_else(|| self.owner(span, waker))?, Kind::Lock)
                } else if self.waits_for_another(left_state, Some(waker)) {
                    (Some(waker), self.who_answered(waker)?, Kind::Wait)
                } else if self.waits_for_worker(left_state, waker) || self.waits_in_kernel(span, left_state, waker) {
                    (Some(waker), waker.tid, Kind::Wait)
                } else {
                    return None;
                }
            }
            _ => return None,
        };
        let by_waker = waker.filter(|waker| waker.tid == tid);
        // It may have another name by now: that of the program that it has run since.
        let name_then = |waker: &Event| Some(self.episode.name(waker.name)).filter(|name| !matches!(*name, "" | "?"));
        let known = self.threads.get(&tid).copied();
        let has_ended = by_waker.is_some_and(|waker| kind == Kind::Wait && waker_ends(waker));
        // Whoever ended may have run another program before.
        let is_by_job = kind == Kind::Wait && !has_ended;
        let during = if is_by_job { self.shared.name_during(tid, span.start_ns, span.end_ns) } else { None };
        Some(Holder {
            kind,
            call: waker.filter(|_| kind == Kind::Wait).and_then(|waker| sleepers_call(self.waking_after(waker))),
            has_ended,
            subject: Subject {
                tid,
                name: during.or(by_waker.and_then(name_then)).or(known)?,
                priority: by_waker.map_or(self.subject.priority, |waker| waker.priority),
                cpu: by_waker.map_or(span.cpu, |waker| waker.cpu),
                start_ns: span.start_ns,
                end_ns: span.end_ns,
                stage: if self.subject.stage == Stage::Request { Stage::Request } else { Stage::Response },
                is_due: false,
                answers_ns: waker.filter(|_| kind == Kind::Wait).and_then(|waker| self.answers_ns(span, waker)),
                asked_by: (kind == Kind::Wait).then_some(self.subject.tid),
            },
            place: waker.filter(|_| kind == Kind::Lock).map(|waker| (waker.lock_waking().place, self.position(waker))),
        })
    }

    /// The thread that woke the sleeper, if it did so by releasing the lock.
    pub(super) fn who_let_go(&self, waker: &Event) -> Option<u32> {
        let is_a_thread = is_by_a_thread(waker) && waker.tid != 0;
        (is_a_thread && waker.lock_waking().let_go() && !self.may_be_no_lock(waker)).then_some(waker.tid)
    }

    /// Whether the word that is waited for was seen to look like a held lock when it was released, and never like a
    /// free one: a lock that another one was faster to take, or a number that tells somebody about a job.
    fn may_be_no_lock(&self, waker: &Event) -> bool {
        let told = waker.lock_waking();
        told.act != WakingAct::NotTold && told.owner == 0 && self.index.is_never_free(told.place)
    }

    /// Whose lock it is by the kernel's account, or by the word that was waited for, unless it was released meanwhile.
    fn owner(&self, span: &StateSpan, waker: &Event) -> Option<u32> {
        let told = waker.lock_waking();
        let let_go = |event: &&Event| {
            let other = event.lock_waking();
            let is_it = !self.index.are_other_words(told.place, self.subject.tid, event.value as u32);
            other.place == told.place && other.let_go() && is_it
        };
        // The span may be only a part of the sleep.
        let slept = self.index.last_leave(self.subject.tid, span.start_ns);
        let start_ns = slept.map_or(span.start_ns, |leave| leave.at_ns);
        let changed = self.index.wakings_by(told.owner, start_ns.saturating_add(1), span.end_ns).iter().any(let_go);
        (told.owner > LAST_OF_NO_PROGRAM && !changed && told.state != WordState::NoLock)
            .then_some(told.owner)
            .filter(|tid| self.threads.get(tid).is_none_or(|name| !is_of_the_kernel(name)))
    }

    /// The thread slept for a lock of its program, and who holds it was not seen.
    pub(crate) fn lock_of_program(&self, woken_by: Option<&Event>, by: String) -> Blamed {
        let Some(waker) = woken_by else { return not_seen("nobody was seen to let it go".to_owned()) };
        if self.may_be_no_lock(waker) {
            return Blamed::unknown(&match is_by_a_thread(waker) {
                true => format!("it waited for a word of {by}, which may be no lock"),
                false => "it waited for a word, which may be no lock".to_owned(),
            });
        }
        if !is_by_a_thread(waker) {
            return not_seen(ended_by_interrupt(&by));
        }
        let told = waker.lock_waking();
        if told.let_go() {
            // Holders that wait in a circle, or one without a name, are not looked into.
            return not_seen_inside(waker.tid, by);
        }
        not_seen(match (told.act, told.same_word) {
            (WakingAct::NotTold, _) => format!("woken by {by}; whether that let it go is not in the recording"),
            (WakingAct::Signals, _) => format!("the wait ended with a signal of {by}"),
            (WakingAct::Thaws, _) => format!("{by} thawed it, and it had been let go before"),
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
        not_seen_inside(holder, self.thread(holder))
    }

    /// The thread slept for a lock of its program, and this one had not got it yet.
    pub(crate) fn held_before(&self, taker: u32) -> Blamed {
        not_seen(format!("before {} had it", self.thread(taker)))
    }

    /// Whether whoever woke the thread waited for the same lock of the kernel: as it comes to wait for it, it may let those in who may have it
    /// before it.
    pub(super) fn waits_for_it_too(&self, waker: &Event) -> bool {
        let waits_for = |tid| {
            let last = self.index.last_wait(tid, waker.at_ns).filter(|event| event.kind == EventKind::LockBegin);
            last.map(|event| event.value)
        };
        let theirs = waits_for(waker.tid);
        theirs.is_some() && theirs == waits_for(self.subject.tid)
    }

    /// The thread slept for a lock of the kernel: a thread that ends the wait has let the lock go.
    pub(crate) fn lock_of_kernel(&self, woken_by: Option<&Event>, by: String) -> Blamed {
        match woken_by {
            None => not_seen("nobody was seen to let it go".to_owned()),
            Some(waker) if !is_by_a_thread(waker) => not_seen(ended_by_interrupt(&by)),
            Some(waker) if waker.tid == 0 => not_seen("woken out of the idle loop".to_owned()),
            // Some locks of the kernel are given up for a signal.
            Some(waker) if waker.lock_waking().act == WakingAct::Signals => {
                not_seen(format!("the wait ended with a signal of {by}"))
            }
            Some(waker) if self.waits_for_it_too(waker) => {
                not_seen(format!("woken by {by}, which waits for it as well"))
            }
            Some(_) => Blamed::new(Kind::Lock, by),
        }
    }
}

/// Whether a thread is called as the kernel's own are. None of them holds a lock of a program: what stood in the word was a number of
/// something else, as of those who read.
fn is_of_the_kernel(name: &str) -> bool {
    const BEGINNINGS: [&str; 14] = [
        "kthreadd",
        "kworker/",
        "ksoftirqd/",
        "ktimers/",
        "migration/",
        "cpuhp/",
        "rcu_",
        "rcub/",
        "rcuc/",
        "rcuop/",
        "rcuog/",
        "irq/",
        "kswapd",
        "jbd2/",
    ];
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// What who is woken had called the kernel for.
pub(crate) fn sleepers_call(waker: &Event) -> Option<Call> {
    match waker.wait_end() {
        Some(end) => Some(end.sleeper),
        None => (waker.lock_waking().act != WakingAct::NotTold).then_some(Call::Futex),
    }
}

/// Whether whoever woke it was ending: the kernel gave back what it had.
pub(crate) fn waker_ends(waker: &Event) -> bool {
    waker.wait_end().map_or_else(|| waker.lock_waking().act == WakingAct::Ends, |end| end.ends)
}
/// The function of a sleep's timer.
const SLEEP_TIMER: &str = "hrtimer_wakeup";

fn ended_by_interrupt(by: &str) -> String {
    if by == SLEEP_TIMER { "the wait ended by its time limit".to_owned() } else { format!("the wait ended by {by}") }
}

pub(super) fn not_seen(how_it_ended: String) -> Blamed {
    let inside = Some((Kind::Unknown, how_it_ended.clone().into()));
    Blamed { detail: Some(Detail::NotSeen(how_it_ended)), inside, ..Blamed::new(Kind::Lock, Awaited::Holder) }
}

/// The holder is known, and what it did meanwhile is not.
fn not_seen_inside(tid: u32, holder: String) -> Blamed {
    let inside = Some((Kind::Unknown, format!("what {holder} did was not looked into").into()));
    Blamed { inside, tid: Some(tid), ..Blamed::new(Kind::Lock, holder) }
}
