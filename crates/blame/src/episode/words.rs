//! Words in memory that look like locks but are none. A thread that sleeps for one waits for somebody, as at any other
//! word: that matters if the question is about waits for others.

use punctual_recording::episode::{EventKind, LEFT_FOR_LOCK, WakingAct, WordState};
use punctual_recording::{Episode, Stage};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// If a word is released this often and never looks like a free lock, it is none.
const MAX_DOUBTS: u32 = 4;

/// The episode without the marks of sleeps for locks if what was slept for is none.
pub(crate) fn without_false_locks(episode: Cow<'_, Episode>) -> Cow<'_, Episode> {
    let words = if episode.stage == Stage::Request { no_locks(&episode) } else { BTreeSet::new() };
    if words.is_empty() {
        return episode;
    }
    let mut order: Vec<usize> = (0..episode.events.len()).collect();
    order.sort_by_key(|&position| episode.events[position].at_ns);
    let mut episode = episode.into_owned();
    // By thread: whether its next waking is one out of a sleep for such a word.
    let mut next: BTreeMap<u64, bool> = BTreeMap::new();
    for position in order.into_iter().rev() {
        let event = &mut episode.events[position];
        match event.kind {
            EventKind::Waking => {
                let told = event.lock_waking();
                let is_told = told.act != WakingAct::NotTold && event.wait_end().is_none() && told.owner == 0;
                next.insert(event.value, is_told && words.contains(&told.place));
            }
            EventKind::Switch if next.get(&u64::from(event.tid)) == Some(&true) => {
                event.extra &= !(u64::from(LEFT_FOR_LOCK) << 32);
            }
            _ => {}
        }
    }
    Cow::Owned(episode)
}

/// The places of words that are seen to be no locks: by what was there, or because they never looked like free ones.
fn no_locks(episode: &Episode) -> BTreeSet<u32> {
    let mut words: BTreeMap<u32, (u32, bool)> = BTreeMap::new();
    for event in episode.events.iter().filter(|event| event.kind == EventKind::Waking) {
        let told = event.lock_waking();
        if told.act != WakingAct::WakesWord || told.same_word != Some(true) || told.owner != 0 {
            continue;
        }
        let (doubts, is_free) = words.entry(told.place).or_default();
        match told.state {
            WordState::NoLock => *doubts = MAX_DOUBTS,
            WordState::Held => *doubts = doubts.saturating_add(1),
            WordState::Free => *is_free = true,
            WordState::NotRead => {}
        }
    }
    let is_none = |(_, (doubts, is_free)): &(u32, (u32, bool))| *doubts >= MAX_DOUBTS && !is_free;
    words.into_iter().filter(is_none).map(|(place, _)| place).collect()
}
