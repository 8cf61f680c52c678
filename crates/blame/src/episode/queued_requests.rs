//! Late requests that may be several: a thread that finds the next one in its queue does not wait for it.

use crate::episode::chain::is_by_a_thread;
use crate::episode::classify::teller;
use crate::episode::piece::{Piece, longest_stretch};
use crate::episode::split::Split;
use crate::episode::threads::threads;
use punctual_recording::episode::{Event, EventKind};
use punctual_recording::{Episode, Stage};
use std::collections::BTreeSet;

/// Threads of the kernel's are called so: whoever wakes one answers nobody.
const OF_THE_KERNEL: [&str; 6] = ["kworker/", "ksoftirqd/", "rcu", "jbd2/", "migration/", "irq/"];

/// An answer may come in so many parts.
const MAX_PARTS: usize = 2;

/// Whether a late request may be several: no timer begins it, and the thread woke at least two others within it that it did not wait for, as a server does
/// that answers one client, finds that another one has asked meanwhile, and answers that; or it woke whoever asked more often than an answer in two parts does. So may the longest stretch of it in which a request was surely
/// waiting, where nothing tells of the rest: whatever begins the late request, that stretch then begins and ends in the midst of it.
pub fn may_be_several(episode: &Episode, split: &Split) -> bool {
    if episode.stage != Stage::Request {
        return false;
    }
    let (whole, pieces) = ((episode.expected_ns, episode.end_ns), &split.pieces);
    let is_told = Piece::is_of_a_request;
    let is_whole = pieces.iter().all(is_told);
    let longest = || longest_stretch(pieces, is_told).filter(|_| !is_whole);
    is_by_no_timer(episode) && tells_several(episode, whole)
        || longest().is_some_and(|stretch| tells_several(episode, stretch))
}

fn is_by_no_timer(episode: &Episode) -> bool {
    let first = wakings(episode, (episode.expected_ns, episode.end_ns));
    let first = first.filter(|event| event.value == u64::from(episode.victim.tid)).min_by_key(|event| event.at_ns);
    first.is_some_and(|first| is_by_a_thread(first) || teller(first).is_some())
}

/// Whether the late thread woke two others or more between two times that had not ended any of its waits by then, but for what began the first of these times.
fn tells_several(episode: &Episode, stretch: (u64, u64)) -> bool {
    let tid = episode.victim.tid;
    let wakes_it = || wakings(episode, stretch).filter(|event| event.value == u64::from(tid));
    let first_ns = wakes_it().map(|event| event.at_ns).min().unwrap_or(0);
    let answers: BTreeSet<u32> = wakes_it().filter(|event| event.at_ns > first_ns).filter_map(teller).collect();
    let names = threads(episode);
    let is_of_the_kernel =
        |other: u32| names.get(&other).is_some_and(|name| OF_THE_KERNEL.iter().any(|begins| name.starts_with(begins)));
    let told = || wakings(episode, stretch).filter(|event| teller(event) == Some(tid));
    let others: BTreeSet<u32> = told().filter_map(|event| u32::try_from(event.value).ok()).collect();
    let is_several =
        others.difference(&answers).filter(|other| **other != tid && !is_of_the_kernel(**other)).count() > 1;
    // Whoever has asked several things at once waits for each of the answers, and ends no wait of the late thread.
    let asker = wakes_it().min_by_key(|event| event.at_ns).and_then(teller).filter(|asker| !answers.contains(asker));
    let is_answer =
        |event: &&Event| asker.is_some_and(|asker| event.value == u64::from(asker)) && event.wait_end().is_some();
    is_several || told().filter(is_answer).count() > MAX_PARTS
}

fn wakings(episode: &Episode, (from_ns, to_ns): (u64, u64)) -> impl Iterator<Item = &Event> {
    let is_within = move |event: &&Event| event.kind == EventKind::Waking && (from_ns..=to_ns).contains(&event.at_ns);
    episode.events.iter().filter(is_within)
}
