//! By which local sockets a late thread was asked and answered: the paths at which their other ends, or its own program, listen.

use punctual_recording::Episode;
use punctual_recording::episode::{EventKind, LEFT_FOR_SPINLOCK};
use std::collections::BTreeMap;

/// What a late thread read by local sockets with one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketRead {
    /// Where somebody listens.
    pub path: String,
    /// Whether that is its own program, which accepted the connection; it asked for it otherwise.
    pub is_accepted: bool,
    /// Whether what began the episode came by it.
    pub begins: bool,
    /// How many waits within the episode ended with what came by it.
    pub waits: u64,
    /// How long these were in all, ns.
    pub ns: u64,
}

/// What the late thread read by local sockets of which the paths are known, the longest waits first.
pub fn socket_reads(episode: &Episode) -> Vec<SocketRead> {
    let tid = episode.victim.tid;
    let paths: BTreeMap<u32, &str> = episode.sockets.iter().map(|(number, path)| (*number, path.as_str())).collect();
    let mut reads: BTreeMap<(&str, bool), SocketRead> = BTreeMap::new();
    let mut left_ns = episode.expected_ns;
    for event in episode.events.iter().filter(|event| event.at_ns <= episode.end_ns) {
        match event.kind {
            EventKind::Switch if event.tid == tid && event.left_state() & !LEFT_FOR_SPINLOCK != 0 => {
                left_ns = event.at_ns;
            }
            EventKind::Waking if event.value == u64::from(tid) && event.at_ns >= episode.expected_ns => {
                let Some(number) = event.wait_end().and_then(|end| end.descriptor) else { continue };
                let Some(path) = paths.get(&number).copied() else { continue };
                let is_accepted = episode.accepted.contains(&number);
                let read = reads.entry((path, is_accepted)).or_insert_with(|| SocketRead {
                    path: path.to_owned(),
                    is_accepted,
                    begins: false,
                    waits: 0,
                    ns: 0,
                });
                if event.at_ns == episode.expected_ns {
                    read.begins = true;
                } else {
                    read.waits += 1;
                    read.ns = read.ns.saturating_add(event.at_ns - left_ns.clamp(episode.expected_ns, event.at_ns));
                }
            }
            _ => {}
        }
    }
    let mut reads: Vec<SocketRead> = reads.into_values().collect();
    reads.sort_by_key(|read| std::cmp::Reverse(read.ns));
    reads
}
