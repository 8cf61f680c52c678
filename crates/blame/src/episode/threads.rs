//! Who is who.

use punctual_recording::Episode;
use punctual_recording::episode::EventKind;
use std::collections::BTreeMap;

/// The names of threads, each by when the thread was first seen with it. A thread renames itself while it runs: the name with which it comes to its CPU it had as it
/// left one before.
pub(crate) fn names_by_time(episode: &Episode) -> BTreeMap<u32, Vec<(u64, &str)>> {
    let mut named: BTreeMap<u32, Vec<(u64, &str)>> = BTreeMap::new();
    let mut left: BTreeMap<u32, u64> = BTreeMap::new();
    for event in &episode.events {
        let (tid, since_ns) = match event.kind {
            EventKind::Switch => {
                left.insert(event.tid, event.at_ns);
                let tid = event.value as u32;
                (tid, left.get(&tid).copied().unwrap_or(event.at_ns))
            }
            EventKind::Waking | EventKind::VectorBegin => (event.tid, event.at_ns),
            _ => continue,
        };
        named.entry(tid).or_default().push((since_ns, episode.name(event.name)));
    }
    for names in named.values_mut() {
        names.sort_by_key(|(at_ns, _)| *at_ns);
        names.dedup_by_key(|(_, name)| *name);
    }
    named
}

/// Names of threads by their numbers, wherever an episode gives one; 0 is `idle`.
pub fn threads(episode: &Episode) -> BTreeMap<u32, &str> {
    let mut threads = BTreeMap::new();
    for event in &episode.events {
        match event.kind {
            EventKind::Switch => threads.insert(event.value as u32, episode.name(event.name)),
            EventKind::Waking | EventKind::VectorBegin => threads.insert(event.tid, episode.name(event.name)),
            _ => None,
        };
    }
    for sample in &episode.samples {
        threads.entry(sample.tid).or_insert_with(|| episode.name(sample.name));
    }
    threads.insert(0, "idle");
    threads
}
