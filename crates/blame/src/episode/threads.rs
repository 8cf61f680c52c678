//! Who is who.

use punctual_recording::Episode;
use punctual_recording::episode::EventKind;
use std::collections::BTreeMap;

/// Names of threads by their numbers, wherever an episode tells one; 0 is `idle`.
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
