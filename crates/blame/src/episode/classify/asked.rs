//! Who asked for what an interrupt does: whoever sent it from another CPU, had a function called there, or armed the
//! timer. And who gave a kernel worker its work.

use super::classifier::Classifier;
use super::queued::WORKER;
use crate::episode::asked::{Asked, Asker, Asking};
use crate::episode::chain::waker;
use crate::episode::replay::Running;
use punctual_recording::Vector;
use punctual_recording::episode::{Event, EventKind, armed_by};

/// An interrupt that was sent longer ago than this is another one, ns.
const ON_ITS_WAY_NS: u64 = 10_000_000;
/// Timers of the scheduler and of counters: whichever thread runs when they are armed has nothing to do with them.
const NOBODYS: [&str; 13] = [
    "hrtick",
    "sched_cfs_period_timer",
    "sched_cfs_slack_timer",
    "sched_rt_period_timer",
    "dl_task_timer",
    "inactive_task_timer",
    "tick_sched_timer",
    "tick_nohz_handler",
    "perf_swevent_hrtimer",
    "perf_mux_hrtimer_handler",
    "take_sample",
    "delayed_work_timer_fn",
    "psi_rtpoll_timer_fn",
];

impl Classifier<'_> {
    /// Who asked for what runs in an interrupt or a softirq of this CPU, if that was seen.
    pub(super) fn who_asked(&self, cpu: u32, running: &Running) -> Option<Asked> {
        match running.kind {
            EventKind::FunctionBegin => {
                let asked = self.index.last_asked(running.value, running.began_ns?)?;
                Some(Asked { how: Asking::Called, by: vec![self.asker(asked)] })
            }
            EventKind::VectorBegin => self.senders(cpu, running),
            EventKind::TimerBegin | EventKind::CallbackBegin => {
                let function = self.episode.name(running.name);
                let (tid, name) = armed_by(running.kind, running.value)?;
                let name = self.episode.names.get(name as usize).filter(|_| !NOBODYS.contains(&function))?;
                Some(Asked { how: Asking::Armed, by: vec![Asker::Thread(name.clone(), tid)] })
            }
            _ => None,
        }
    }

    /// The thread that gave a kernel worker what it is working on, if that was seen. What another worker or the end of
    /// a delay hands on says nothing about who wanted it.
    pub(super) fn who_queued(&self, worker: u32, at_ns: u64) -> Option<Asked> {
        let item = self.index.work_at(worker, at_ns)?;
        let queued = &self.episode.events[self.index.last_queued(item.value, item.at_ns)?];
        match self.asker(queued) {
            Asker::Thread(name, _) if name.starts_with(WORKER) => None,
            asker @ Asker::Thread(_, 1..) => Some(Asked { how: Asking::Queued, by: vec![asker] }),
            _ => None,
        }
    }

    /// Whoever sent an interrupt of this class since the previous one.
    fn senders(&self, cpu: u32, running: &Running) -> Option<Asked> {
        let class = Vector::from_code(running.value)?;
        let is_sent = matches!(class, Vector::Reschedule | Vector::CallFunction | Vector::CallFunctionSingle);
        // What goes to several CPUs at once has a class of its own. The upper half is the CPU from which they are counted.
        let is_it = |event: &Event| is_sent && event.extra & u64::from(u32::MAX) == u64::from(class.code());
        let began_ns = running.began_ns?;
        let earliest_ns = began_ns.saturating_sub(ON_ITS_WAY_NS);
        let before = self.index.vectors_within(cpu, earliest_ns, began_ns);
        let last = before.iter().rfind(|event| event.kind == EventKind::VectorBegin && event.value == running.value);
        let from_ns = last.map_or(earliest_ns, |last| last.at_ns);
        let mut by: Vec<Asker> = Vec::new();
        for sent in self.index.sent_within(cpu, from_ns, began_ns).iter().filter(|event| is_it(event)) {
            let sender = self.asker(sent);
            if !by.contains(&sender) {
                by.push(sender);
            }
        }
        (!by.is_empty()).then_some(Asked { how: Asking::Sent, by })
    }

    /// The thread, or what interrupted it.
    fn asker(&self, event: &Event) -> Asker {
        match waker(self.episode, event, self.timelines) {
            (_, name, Some(tid)) => Asker::Thread(name, tid),
            (what, name, None) => Asker::Over(what, name, event.cpu),
        }
    }
}
