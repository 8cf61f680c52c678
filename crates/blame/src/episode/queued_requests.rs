//! Late requests that may be several: a thread that finds the next one in its queue does not wait for it.

use crate::episode::chain::is_by_a_thread;
use crate::episode::classify::teller;
use crate::episode::threads::threads;
use punctual_recording::episode::{Event, EventKind};
use punctual_recording::{Episode, Stage};
use std::collections::BTreeSet;

/// Threads of the kernel's are called so: whoever wakes one answers nobody.
const OF_THE_KERNEL: [&str; 6] = ["kworker/", "ksoftirqd/", "rcu", "jbd2/", "migration/", "irq/"];

/// Whether a late request may be several: no timer begins it, and the thread woke at least two others within it that it did not wait for, as a server does
/// that answers one client, finds that another one has asked meanwhile, and answers that.
pub fn may_be_several(episode: &Episode) -> bool {
    if episode.stage != Stage::Request {
        return false;
    }
    let tid = episode.victim.tid;
    let is_within = |event: &&Event| {
        event.kind == EventKind::Waking && (episode.expected_ns..=episode.end_ns).contains(&event.at_ns)
    };
    let within: Vec<&Event> = episode.events.iter().filter(is_within).collect();
    let wakes_it = within.iter().filter(|event| event.value == u64::from(tid));
    let Some(first) = wakes_it.clone().min_by_key(|event| event.at_ns) else { return false };
    if !is_by_a_thread(first) && teller(first).is_none() {
        return false;
    }
    let answers: BTreeSet<u32> =
        wakes_it.filter(|event| event.at_ns > first.at_ns).filter_map(|event| teller(event)).collect();
    let names = threads(episode);
    let is_of_the_kernel =
        |other: u32| names.get(&other).is_some_and(|name| OF_THE_KERNEL.iter().any(|begins| name.starts_with(begins)));
    let told = within.iter().filter(|event| teller(event) == Some(tid));
    let told: BTreeSet<u32> = told.filter_map(|event| u32::try_from(event.value).ok()).collect();
    told.difference(&answers).filter(|other| **other != tid && !is_of_the_kernel(**other)).count() > 1
}
