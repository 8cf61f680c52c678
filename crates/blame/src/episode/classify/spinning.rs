//! Where a thread spins for a kernel lock before the kernel says so: only its stacks tell.

use super::classifier::{Blamed, Classifier, OWN_PATH_NS, Spin};
use crate::episode::chain::is_by_a_thread;
use crate::episode::detail::Detail;
use crate::episode::replay::{CpuTimeline, SWITCH_NS};
use crate::episode::span::{Doing, StateSpan};
use crate::episode::waits::{KernelLock, is_over_program};
use crate::kind::Kind;
use punctual_recording::Awaited;
use punctual_recording::episode::{Event, EventKind, LOCK_OF_PROGRAM, StackSample, WakingAct};
use std::collections::BTreeSet;

/// Functions that do nothing but wait for a lock, by how their names begin.
const WAITING: [&str; 10] = [
    "rwsem_spin_on_owner",
    "rwsem_optimistic_spin",
    "rwsem_down_",
    "mutex_spin_on_owner",
    "mutex_optimistic_spin",
    "rtmutex_spin_on_owner",
    "osq_lock",
    "native_queued_spin_lock_slowpath",
    "__pv_queued_spin_lock_slowpath",
    "queued_write_lock_slowpath",
];
/// The name of such functions that go on only while the holder is seen to run.
const ON_OWNER: &str = "_spin_on_owner";
/// What is in the names of those that wait for locks with which nobody sleeps.
const OF_SPINLOCKS: &str = "queued_";

impl Classifier<'_> {
    /// The function in which a sample saw the thread wait for a lock.
    fn waits_in(&self, sample: &StackSample) -> Option<&str> {
        let frames = sample.frames.iter().filter_map(|&number| self.episode.frames.get(number as usize));
        let mut of_kernel = frames.filter(|frame| frame.module == "kernel").map(|frame| &*frame.function);
        of_kernel.find(|function| WAITING.iter().any(|begin| function.starts_with(begin)))
    }

    /// Where the subject was seen to spin: from the first stack that shows it to the last one, or to the beginning of the wait that the
    /// kernel reports.
    pub(crate) fn find_spins(&self) -> Vec<Spin> {
        let tid = self.subject.tid;
        let mut samples: Vec<_> = self.samples.iter().filter(|(_, sample)| sample.tid == tid).collect();
        if !samples.iter().any(|(_, sample)| self.waits_in(sample).is_some()) {
            return Vec::new();
        }
        samples.sort_by_key(|(at_ns, _)| *at_ns);
        let is_own = |event: &&Event| {
            event.kind == EventKind::Switch && event.value == u64::from(tid)
                || event.tid == tid && (event.is_the_threads_own() || is_over_program(event))
        };
        let mut own: Vec<&Event> = self.episode.events.iter().filter(is_own).collect();
        own.sort_by_key(|event| event.at_ns);
        let mut spins: Vec<Spin> = Vec::new();
        let mut before_ns = 0;
        for &&(at_ns, sample) in &samples {
            let done = own.partition_point(|event| event.at_ns <= at_ns);
            let done_ns = done.checked_sub(1).map_or(0, |last| own[last].at_ns);
            let reached = before_ns.max(done_ns);
            before_ns = at_ns;
            let Some(function) = self.waits_in(sample) else { continue };
            match spins.last_mut().filter(|spin| spin.end_ns == reached) {
                Some(spin) => {
                    spin.end_ns = at_ns;
                    spin.on_owner |= function.contains(ON_OWNER);
                }
                None => {
                    let unseen = at_ns.saturating_sub(self.episode.sample_period_ns);
                    spins.push(Spin {
                        start_ns: at_ns,
                        end_ns: at_ns,
                        since_ns: if reached == 0 { unseen } else { reached },
                        until_ns: at_ns,
                        function: function.to_owned(),
                        on_owner: function.contains(ON_OWNER),
                        holder: None,
                    });
                }
            }
        }
        for spin in &mut spins {
            let next = own.get(own.partition_point(|event| event.at_ns <= spin.end_ns));
            let sampled = samples.iter().find(|(at_ns, _)| *at_ns > spin.end_ns);
            let is_wait = |event: &&&Event| {
                event.kind == EventKind::LockBegin
                    && event.extra & LOCK_OF_PROGRAM == 0
                    && sampled.is_none_or(|(at_ns, _)| *at_ns >= event.at_ns)
            };
            let seen = next.map(|event| event.at_ns).into_iter().chain(sampled.map(|(at_ns, _)| *at_ns));
            spin.until_ns = seen.min().unwrap_or(spin.end_ns);
            let lock = next.filter(is_wait).map(|event| (event.at_ns, self.waits.lock_from(event.at_ns)));
            spin.holder = match lock {
                Some((begin_ns, lock)) => {
                    spin.end_ns = begin_ns;
                    lock.and_then(|lock| self.who_ends(&lock, spin.start_ns))
                }
                None if spin.on_owner => self.alone_on_other_cpus(spin),
                None => None,
            };
        }
        spins
    }

    /// Who had a kernel lock, from this time on, for which the thread slept in the end: whoever woke it, if nobody else
    /// got the lock meanwhile.
    pub(crate) fn who_ends(&self, lock: &KernelLock, from_ns: u64) -> Option<String> {
        let stretch = (lock.begin_ns, lock.end_ns, from_ns);
        let mut known = self.ended.borrow_mut();
        if known.as_ref().is_none_or(|(of, _)| *of != stretch) {
            *known = Some((stretch, self.who_ended(lock, from_ns)));
        }
        known.as_ref().and_then(|(_, who)| who.clone())
    }

    fn who_ended(&self, lock: &KernelLock, from_ns: u64) -> Option<String> {
        let tid = self.subject.tid;
        let tried_ns = lock.tried_ns(from_ns);
        let mut wakers = self.index.wakings_of(tid, tried_ns.saturating_add(1), lock.end_ns).iter();
        let lets_go = |waker: &Event| {
            let is_signal = waker.lock_waking().act == WakingAct::Signals;
            is_by_a_thread(waker) && waker.tid != 0 && !is_signal && !self.waits_for_it_too(waker)
        };
        let waker: &Event = wakers.next().filter(|waker| lets_go(waker))?;
        let got = self.index.got_within(lock.address, from_ns.saturating_add(1), waker.at_ns);
        let others = got.iter().any(|event| event.tid != tid);
        let had_in_time = self.had_since(lock, waker).is_none_or(|since_ns| since_ns <= from_ns);
        let is_it = wakers.next().is_none() && !others && had_in_time && self.may_have_had(waker, from_ns);
        is_it.then(|| self.thread_at(waker.tid, waker.at_ns))
    }

    /// Whether whoever let a lock go can have had it from a time on: it had a CPU whenever stacks show the subject in a wait that goes on
    /// only while the holder runs, and none shows it waiting for such a lock itself.
    fn may_have_had(&self, waker: &Event, from_ns: u64) -> bool {
        let mut meanwhile = self.samples.iter().filter(|(at_ns, sample)| {
            (from_ns..=waker.at_ns).contains(at_ns) && [self.subject.tid, waker.tid].contains(&sample.tid)
        });
        meanwhile.all(|(at_ns, sample)| match self.waits_in(sample) {
            Some(function) if sample.tid == self.subject.tid && function.contains(ON_OWNER) => {
                self.has_a_cpu(waker.tid, sample.cpu, *at_ns)
            }
            Some(_) if sample.tid == waker.tid => !self.waits_itself(sample),
            _ => true,
        })
    }

    /// Whether a sample saw its thread wait for a lock with which others sleep.
    fn waits_itself(&self, sample: &StackSample) -> bool {
        self.waits_in(sample).is_some_and(|function| !function.contains(OF_SPINLOCKS))
    }

    /// Whether a thread had a CPU other than this one.
    fn has_a_cpu(&self, tid: u32, here: u32, at_ns: u64) -> bool {
        let has = |timeline: &CpuTimeline, at_ns: u64| {
            let slice = timeline.within(at_ns, at_ns.saturating_add(1)).first();
            slice.map(|slice| slice.tid).or_else(|| self.goes_on(timeline)) == Some(tid)
        };
        // That it leaves is noted a moment before.
        let ago_ns = at_ns.saturating_sub(SWITCH_NS);
        self.timelines.iter().any(|(cpu, timeline)| *cpu != here && (has(timeline, at_ns) || has(timeline, ago_ns)))
    }

    /// What a CPU goes on with after its last event.
    fn goes_on(&self, timeline: &CpuTimeline) -> Option<u32> {
        let last = &self.episode.events[timeline.slices.last()?.ends_with];
        Some(if last.kind == EventKind::Switch { last.value as u32 } else { last.tid })
    }

    /// The only thread that ran on another CPU since the subject was last seen before, if it did so all the time. A thread that spins on an
    /// owner goes on only while that one runs; but the lock may change hands meanwhile, and a CPU that the host does not run does not look.
    fn alone_on_other_cpus(&self, spin: &Spin) -> Option<String> {
        let tells_all = |(cpu, timeline): (&u32, _)| self.tells_all(*cpu, timeline, spin.start_ns, spin.end_ns);
        if self.episode.missed_runs > 0 || !self.timelines.iter().all(tells_all) {
            return None;
        }
        let here = self.samples.iter().find(|(at_ns, _)| *at_ns == spin.end_ns).map(|(_, sample)| sample.cpu)?;
        let mut alone = None;
        for (_, timeline) in self.timelines.iter().filter(|(cpu, _)| **cpu != here) {
            let slices = timeline.within(spin.since_ns, spin.end_ns).iter().map(|slice| slice.tid);
            let is_over = timeline.slices.last().is_some_and(|last| last.end_ns < spin.end_ns);
            let ran: BTreeSet<u32> = slices.chain(self.goes_on(timeline).filter(|_| is_over)).collect();
            match ran.first() {
                None | Some(0) if ran.len() <= 1 => {}
                Some(tid) if ran.len() == 1 && alone.is_none() => alone = Some(*tid),
                _ => return None,
            }
        }
        let is_in_time = |at_ns: u64| (spin.since_ns..=spin.end_ns).contains(&at_ns);
        let waits = |tid: u32| {
            let mut its = self.samples.iter().filter(|(at_ns, sample)| sample.tid == tid && is_in_time(*at_ns));
            its.any(|(_, sample)| self.waits_itself(sample))
        };
        alone.filter(|tid| !waits(*tid)).map(|tid| self.thread_at(tid, spin.end_ns))
    }

    /// The spin to which all of this time belongs.
    pub(crate) fn spins_at(&self, start_ns: u64, end_ns: u64) -> Option<&Spin> {
        // They do not overlap.
        let begun = self.spins.partition_point(|spin| spin.start_ns <= start_ns);
        self.spins.get(begun.checked_sub(1)?).filter(|spin| spin.end_ns >= end_ns)
    }

    /// Where the thread has its CPU before a spin and after it, and neither a stack nor anything else says whether it spun.
    fn doubts(&self, spin: &Spin) -> impl Iterator<Item = (u64, u64)> {
        let (before, after) = ((spin.since_ns, spin.start_ns), (spin.end_ns, spin.until_ns));
        [before, after].into_iter().filter(|(from, to)| to.saturating_sub(*from) > OWN_PATH_NS)
    }

    /// Whether all of this time is of that kind.
    pub(crate) fn may_have_spun(&self, start_ns: u64, end_ns: u64) -> bool {
        let begun = self.spins.partition_point(|spin| spin.since_ns <= start_ns);
        let spin = begun.checked_sub(1).and_then(|last| self.spins.get(last));
        spin.is_some_and(|spin| self.doubts(spin).any(|(from, to)| from <= start_ns && to >= end_ns))
    }

    pub(crate) fn spun(&self, spin: &Spin) -> Blamed {
        let detail = Some(Detail::Seen(spin.function.clone()));
        match &spin.holder {
            Some(holder) => Blamed { detail, ..Blamed::new(Kind::Lock, &**holder) },
            None => {
                let inside = Some((Kind::Unknown, format!("who held it ({})", spin.function).into()));
                Blamed { detail, inside, ..Blamed::new(Kind::Lock, Awaited::Holder) }
            }
        }
    }

    /// Where the thread begins and ends spinning, and where it may have.
    pub(super) fn edges_of_spins(&self) -> BTreeSet<u64> {
        let doubts = self.spins.iter().flat_map(|spin| self.doubts(spin)).flat_map(|(from, to)| [from, to]);
        self.spins.iter().flat_map(|spin| [spin.start_ns, spin.end_ns]).chain(doubts).collect()
    }

    /// Cuts spans in which the thread has its CPU where it begins and ends spinning, and where it may have.
    pub(crate) fn cut_by_spins(&self, spans: Vec<StateSpan>) -> Vec<StateSpan> {
        let mut cut = Vec::with_capacity(spans.len());
        for span in spans {
            let mut reached = span.start_ns;
            let inside = self.spin_edges.range(span.start_ns..span.end_ns.max(span.start_ns));
            for &edge in inside.filter(|_| matches!(span.doing, Doing::Running | Doing::Waiting { .. })) {
                if edge > reached {
                    cut.push(StateSpan { start_ns: reached, end_ns: edge, ..span });
                    reached = edge;
                }
            }
            cut.push(StateSpan { start_ns: reached, ..span });
        }
        cut
    }
}
