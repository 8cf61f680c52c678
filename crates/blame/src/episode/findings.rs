//! What follows from one episode; what its parts have in common is looked up once.

use crate::episode::chain::{Link, chain_by};
use crate::episode::nesting::with_nesting;
use crate::episode::replay::replay;
use crate::episode::shared::Shared;
use crate::episode::sightings::Sightings;
use crate::episode::split::{Split, split_by};
use crate::episode::words::without_false_locks;
use punctual_recording::Episode;

/// Who caused an episode's lateness, who woke the victim, and which samples saw what of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// As [`split`](crate::split) or [`split_awaited`](crate::split_awaited) gives it.
    pub split: Split,
    /// As [`chain`](crate::chain()) gives it.
    pub chain: Vec<Link>,
    /// The samples that fell into the split's pieces.
    pub sightings: Sightings,
}

impl Findings {
    /// Looks into an episode.
    pub fn of(episode: &Episode) -> Findings {
        Findings::with(episode, true)
    }

    /// Looks into the time in which somebody waited for a thread, see [`split_awaited`](crate::split_awaited).
    pub fn of_awaited(episode: &Episode) -> Findings {
        Findings::with(episode, false)
    }

    fn with(episode: &Episode, is_due: bool) -> Findings {
        let nested = &*without_false_locks(with_nesting(episode));
        let timelines = replay(nested);
        let shared = Shared::new(nested, &timelines);
        let split = split_by(&shared, is_due);
        let sightings = Sightings::among(nested, shared.samples.iter().map(|(seen_at, _)| *seen_at), &split);
        Findings { chain: chain_by(nested, &timelines), sightings, split }
    }
}
