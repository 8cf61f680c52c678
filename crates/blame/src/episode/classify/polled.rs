//! Answers that a thread of the kernel's hands on which looks for requests all the time (`IORING_SETUP_SQPOLL`): it has nothing to do
//! before there is one, and nobody has to wake it for that.

use super::answer::End;
use super::classifier::{Classifier, LOOK_NS};
use super::several::MAX_WAKINGS;
use punctual_recording::episode::Event;

/// How the kernel calls them, ...
const POLLER: &str = "iou-sqp-";
/// ... and those whom they hand on what might have to wait.
const ITS_WORKER: &str = "iou-wrk-";

impl Classifier<'_> {
    /// Who ended a wait that this thread ended: of one that polls, the only thread that was asked, where that one was at it until then. One
    /// that slept tells by whom it was woken.
    pub(super) fn behind_poller(&self, woken_by: &Event, tid: u32) -> End {
        let sleeper = woken_by.value as u32;
        let slept_ns = self.index.last_leave(sleeper, woken_by.at_ns).map_or(0, |leave| leave.at_ns);
        let name = self.thread(tid);
        if tid != woken_by.tid || !(name.starts_with(POLLER) || self.works_for_poller(tid, &name, woken_by.at_ns)) {
            return End::By(tid);
        }
        match self.asked_of_poller(tid, sleeper, slept_ns, woken_by.at_ns) {
            Some(asked) => End::By(asked),
            None if name.starts_with(POLLER) && !self.is_awake(tid, slept_ns) => End::By(tid),
            None => End::NotBy(format!(
                "{name} handed it on for whoever polls for requests, and whose that was is not seen"
            )),
        }
    }

    /// Whether it does what a poller has found.
    fn works_for_poller(&self, tid: u32, name: &str, at_ns: u64) -> bool {
        name.starts_with(ITS_WORKER)
            && self.index.last_woken(tid, at_ns).is_some_and(|woken| self.thread(woken.tid).starts_with(POLLER))
    }

    fn asked_of_poller(&self, poller: u32, sleeper: u32, slept_ns: u64, ended_ns: u64) -> Option<u32> {
        let answered_ns = self.answered_ns(poller, sleeper, slept_ns);
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
        let asked = asked?;
        // It may sleep by the time at which its request is found.
        let through_ns = self.through_with(asked, ended_ns);
        through_ns.is_none_or(|at_ns| ended_ns - at_ns < LOOK_NS).then_some(asked.value as u32)
    }
}
