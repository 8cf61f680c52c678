//! The cycles of a recording's followed threads, by the names of these.

use super::cycle_count::CycleCount;
use super::cycles::Cycles;
use super::most_often::Names;
use super::starters::Starters;
use super::woken::{SHAREABLE, Woken};
use crate::{Document, Followed, FollowedThread, OTHERS, Recording, Result, Task, Waker, WakerKind};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The cycles of a recording's followed threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowedCycles {
    /// By name and policy: of a thread that changed these, by those under which it woke most often.
    pub by_name: BTreeMap<String, CycleCount>,
    /// Where a thread did, its wakeups under each name and policy, by the one under which its cycles count.
    pub wakeups_as: BTreeMap<String, BTreeMap<String, u64>>,
    /// Wakeups whose work looks like one long cycle and is several, each with its own period, because a wakeup between
    /// them was not seen: thread id, and when the wakeup was due, ns.
    pub joined: HashSet<(u32, u64)>,
}

impl FollowedCycles {
    /// Adds the wakeups of threads whose cycles count under this name, by their names.
    fn take_wakeups_as(&mut self, name: &str, wakeups: &BTreeMap<String, u64>) {
        let sum = self.wakeups_as.entry(name.to_owned()).or_default();
        for (other, wakeups) in wakeups {
            let so_far = sum.entry(other.clone()).or_default();
            *so_far = so_far.saturating_add(*wakeups);
        }
    }

    /// Adds the counts of another recording, whose wakeups are none of these.
    pub fn add(&mut self, other: &FollowedCycles) {
        other.by_name.iter().for_each(|(name, count)| self.by_name.entry(name.clone()).or_default().add(count));
        other.wakeups_as.iter().for_each(|(name, wakeups)| self.take_wakeups_as(name, wakeups));
    }
}

impl Recording {
    /// The cycles of its followed threads, by name and policy, as loops that should start over this often, ns; none of those that
    /// are there for context.
    ///
    /// # Errors
    /// As for [`Recording::for_each_wakeup`].
    pub fn cycles(&self, period_ns: u64) -> Result<BTreeMap<String, CycleCount>> {
        Ok(self.followed_cycles(period_ns)?.by_name)
    }

    /// The same, with the wakeups that are no single cycle.
    ///
    /// # Errors
    /// As for [`Recording::for_each_wakeup`].
    pub fn followed_cycles(&self, period_ns: u64) -> Result<FollowedCycles> {
        let document = self.document();
        let wakers = document.followed.as_ref().map_or(&[][..], |followed| &followed.wakers);
        let context = document.followed.as_ref().map(Followed::context).unwrap_or_default();
        let renamed = until_renamed(document, &context);
        let mut left = renamed.clone();
        let mut cycles = Cycles::new(period_ns);
        let mut starters = Starters::new(document.followed.as_ref());
        self.for_each_wakeup(|wakeup| {
            if context.contains(&wakeup.tid) {
                let Some(left) = left.get_mut(&wakeup.tid).filter(|left| **left > 0) else { return };
                *left -= 1;
            }
            let waker = wakeup.woken_by.and_then(|position| wakers.get(position as usize));
            let woken = Woken::by(waker);
            cycles.take_woken(wakeup, woken);
            starters.take(wakeup, woken.is_by_timer());
            if waker.is_some_and(is_shareable) {
                cycles.expired(wakeup);
            }
        })?;
        let started_ns = document.provenance.started_ns;
        cycles.within(started_ns, started_ns.saturating_add(document.measured_ns()));
        if document.followed.as_ref().is_some_and(Followed::is_of_the_command) {
            cycles.started();
        }
        for thread in document.followed.iter().flat_map(|followed| &followed.threads) {
            // Other timers expire again and again, and say how often.
            if sets_timers(thread) {
                cycles.sets_timers(thread.tid);
            }
            if renamed.contains_key(&thread.tid) {
                // It went on, but what it did then is not looked at.
                cycles.end(thread.tid, 0);
            } else if let Some(ended_ns) = thread.ended_ns {
                cycles.end(thread.tid, ended_ns);
            }
        }
        let mut names: HashMap<u32, Names<'_>> = HashMap::new();
        for (task, thread) in tasks_with_threads(document) {
            if renamed.contains_key(&task.tid) && thread.is_some_and(|thread| thread.is_context) {
                continue;
            }
            names.entry(task.tid).or_default().take(task);
        }
        let unseen = |tid: u32| names.get(&tid).map_or(0, |names| names.unseen);
        let mut found = FollowedCycles::default();
        for (tid, count, joined) in
            cycles.finish(unseen).filter(|(_, count, _)| count.cycles + count.untold + count.left_out > 0)
        {
            let own = names.get(&tid);
            let name = own.and_then(Names::most_often).unwrap_or(OTHERS);
            found.by_name.entry(name.to_owned()).or_default().add(&count);
            if count.cycles > 0 {
                starters.is_loop(tid, name);
            }
            if let Some(wakeups) = own.and_then(Names::several) {
                found.take_wakeups_as(name, &wakeups);
            }
            found.joined.extend(joined.into_iter().map(|due_ns| (tid, due_ns)));
        }
        starters.note_started(&mut found.by_name);
        Ok(found)
    }
}

/// A thread's own timer that ends one sleep, as [`Waker`](crate::Waker) is written.
const SLEEP: &str = "timer sleep";

/// Whether several threads can wait for this one.
fn is_shareable(waker: &Waker) -> bool {
    waker.kind == WakerKind::Timer && waker.name == SHAREABLE
}

/// Whether mostly such timers wake a thread, and no others of its own.
fn sets_timers(thread: &FollowedThread) -> bool {
    let all = thread.woken_by.values().fold(0, |all: u64, count| all.saturating_add(*count));
    let is_other = |waker: &String| waker != SLEEP && waker.starts_with("timer ");
    let sleeps = thread.woken_by.get(SLEEP).copied().unwrap_or(0);
    sleeps > all / 2 && !thread.woken_by.keys().any(is_other)
}

/// The threads of a document, each with what is known of it as a followed one.
fn tasks_with_threads(document: &Document) -> impl Iterator<Item = (&Task, Option<&FollowedThread>)> {
    let threads = document.followed.as_ref().map_or(&[][..], |followed| &followed.threads);
    document.tasks.iter().enumerate().map(|(position, task)| (task, threads.get(position)))
}

/// How many wakeups of each of these threads, which are there for context by their last name, were under one that was asked for
/// before: only those that were under none but such names are left out.
fn until_renamed(document: &Document, context: &HashSet<u32>) -> HashMap<u32, u64> {
    let (mut wakeups, mut is_over): (HashMap<u32, u64>, HashSet<u32>) = Default::default();
    for (task, thread) in tasks_with_threads(document).filter(|(task, _)| context.contains(&task.tid)) {
        if thread.is_some_and(|thread| thread.is_context) {
            is_over.insert(task.tid);
        } else if !is_over.contains(&task.tid) && task.counters.wakeups > 0 {
            *wakeups.entry(task.tid).or_default() += task.counters.wakeups;
        }
    }
    wakeups
}
