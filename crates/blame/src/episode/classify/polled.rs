//! Answers handed on by a kernel thread that looks for requests all the time (`IORING_SETUP_SQPOLL`): it has nothing to
//! do before there is one, and nobody has to wake it for that.

use super::answer::End;
use super::classifier::{Classifier, LOOK_NS};
use super::interrupted::Progress;
use super::several::MAX_WAKINGS;
use crate::episode::chain::is_by_a_thread;
use crate::episode::span::{Doing, StateSpan};
use punctual_recording::episode::{Event, EventKind, LEFT_FOR_SPINLOCK};

/// The kernel's name for them, ...
const POLLER: &str = "iou-sqp-";
/// ... and for those to whom they hand on what might have to wait.
const ITS_WORKER: &str = "iou-wrk-";

/// How a poller came to end a wait.
#[derive(Clone, Copy)]
struct Polled {
    /// Who woke the sleeper: the poller itself, or a worker that it had woken for that.
    by: u32,
    poller: u32,
    /// When the poller had found the request at the latest.
    found_ns: u64,
}

impl Classifier<'_> {
    /// Who ended a wait that this thread ended: of one that polls, the only thread that was asked, where that one was at it until then, or
    /// until the poller had no CPU any more. One that slept tells by whom it was woken.
    pub(super) fn behind_poller(&self, woken_by: &Event, tid: u32) -> End {
        let sleeper = woken_by.value as u32;
        let slept_ns = self.index.last_leave(sleeper, woken_by.at_ns).map_or(0, |leave| leave.at_ns);
        let Some(polled) = self.polled(woken_by).filter(|_| tid == woken_by.tid) else { return End::By(tid) };
        match self.asked_of_poller(polled, sleeper, slept_ns) {
            Some((asked, _)) => End::By(asked),
            None if polled.poller == tid && !self.is_awake(tid, slept_ns) => End::By(tid),
            None => End::NotBy(format!(
                "{} handed it on for whoever polls for requests, and whose that was is not seen",
                self.thread(tid)
            )),
        }
    }

    /// Who had found what ended a wait: whoever woke the sleeper, or the one that had woken that one to do it.
    fn polled(&self, woken_by: &Event) -> Option<Polled> {
        let by = woken_by.tid;
        let name = self.thread(by);
        if name.starts_with(POLLER) {
            return Some(Polled { by, poller: by, found_ns: woken_by.at_ns });
        }
        let found = self.index.last_woken(by, woken_by.at_ns).filter(|_| name.starts_with(ITS_WORKER))?;
        // What comes over a poller, which has its CPU all the time, is nothing that it found.
        let is_polled = is_by_a_thread(found) && self.thread(found.tid).starts_with(POLLER);
        is_polled.then_some(Polled { by, poller: found.tid, found_ns: found.at_ns })
    }

    /// Cuts a wait that a poller ended where whoever was asked was through: from then on what it had handed over lay there, and the poller
    /// was waited for; and where that gave it to a worker, from then on the worker.
    pub(super) fn cut_by_poller(&self, span: StateSpan) -> Vec<StateSpan> {
        let Doing::Blocked { left_state, woken_by: Some(woken_by) } = span.doing else { return vec![span] };
        let waker = &self.episode.events[woken_by];
        if !self.waits_for_another(left_state, Some(waker)) || !is_by_a_thread(waker) {
            return vec![span];
        }
        let Some(polled) = self.polled(waker) else { return vec![span] };
        let slept_ns = self.index.last_leave(self.subject.tid, waker.at_ns).map_or(0, |leave| leave.at_ns);
        // Of several things that may have been waited for, it is not known for which this was.
        let is_it = |asked| matches!(self.end(waker), End::By(tid) if tid == asked);
        let is_cut = |through_ns: Option<u64>| through_ns.is_some() || polled.by != polled.poller;
        let asked = self.asked_of_poller(polled, self.subject.tid, slept_ns);
        let asked = asked.filter(|(asked, through_ns)| is_cut(*through_ns) && is_it(*asked));
        let Some((asked, through_ns)) = asked else { return vec![span] };
        let found_ns = polled.found_ns.clamp(span.start_ns, span.end_ns);
        let through_ns = through_ns.unwrap_or(found_ns).clamp(span.start_ns, found_ns);
        let waits_for = |by, start_ns, end_ns| {
            let doing = Doing::Interrupted { by: Some(by), is_lock: false, woken_by };
            StateSpan { start_ns, end_ns, doing, ..span }
        };
        let spans = [
            waits_for(asked, span.start_ns, through_ns),
            waits_for(polled.poller, through_ns, found_ns),
            waits_for(polled.by, found_ns, span.end_ns),
        ];
        spans.into_iter().filter(|span| span.end_ns > span.start_ns).collect()
    }

    /// The only thread that was asked for what a poller handed on and, where it was through before that, since when.
    fn asked_of_poller(&self, polled: Polled, sleeper: u32, slept_ns: u64) -> Option<(u32, Option<u64>)> {
        let Polled { by, poller, found_ns } = polled;
        // What it found before the wait was something else.
        if found_ns <= slept_ns {
            return None;
        }
        let answered_ns = self.answered_ns(poller, sleeper, slept_ns).max(self.answered_ns(by, sleeper, slept_ns));
        let mut asked: Option<&Event> = None;
        for event in self.index.wakings_by(sleeper, answered_ns, slept_ns).iter().rev().take(MAX_WAKINGS) {
            if !self.wakes_itself(event) || event.value == u64::from(poller) {
                continue;
            }
            if asked.is_some_and(|asked| asked.value != event.value) {
                return None;
            }
            asked = asked.or(Some(event));
        }
        // A poller serves one program.
        let asked = asked.filter(|asked| !self.index.are_of_two_processes(poller, asked.value as u32))?;
        let asked_tid = asked.value as u32;
        match self.progress(asked, found_ns) {
            Progress::AtIt => Some((asked_tid, None)),
            // It may sleep by the time at which its request is found.
            Progress::Through(at_ns) if found_ns - at_ns < LOOK_NS => Some((asked_tid, None)),
            // Had the poller looked meanwhile, it would have found it.
            Progress::Through(at_ns) => self.is_kept(poller, at_ns, found_ns).then_some((asked_tid, Some(at_ns))),
            Progress::NotSeen => None,
        }
    }

    /// Whether a thread that was awake had hardly had a CPU in this time.
    fn is_kept(&self, tid: u32, from_ns: u64, until_ns: u64) -> bool {
        let is_in = |event: &&Event| event.value == u64::from(tid);
        let later = self.index.turns_from(u64::from(tid), from_ns.saturating_add(1));
        let mut switches = later.iter().copied().filter(|event| event.kind == EventKind::Switch).peekable();
        let runs = match self.index.last_turn(tid, from_ns) {
            Some(before) => before.kind == EventKind::Switch && is_in(&before),
            None => switches.peek().is_some_and(|next| !is_in(next)),
        };
        let (mut runs_since, mut ran_ns) = (runs.then_some(from_ns), 0);
        for event in switches.take_while(|event| event.at_ns < until_ns) {
            if is_in(&event) {
                runs_since = Some(event.at_ns);
                continue;
            }
            ran_ns += runs_since.take().map_or(0, |since| event.at_ns - since);
            // It slept, and whoever woke it handed it something.
            if event.left_state() & !LEFT_FOR_SPINLOCK != 0 {
                return false;
            }
        }
        ran_ns += runs_since.map_or(0, |since| until_ns - since);
        self.is_awake(tid, from_ns) && ran_ns < LOOK_NS
    }
}
