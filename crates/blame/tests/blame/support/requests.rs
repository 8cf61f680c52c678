//! Requests in which the victim waits for other threads.

use super::{NOTHING_TOLD, Story, VICTIM, VICTIM_RUNS, added_up};
use punctual_blame::{Inside, Kind, Part};
use punctual_recording::episode::{Call, EventKind, WaitEnd};
use punctual_recording::{Episode, Stage};

pub(crate) const IDLE: (u32, i16) = (0, 120);
pub(crate) const SERVER: (u32, i16) = (7, 120);
/// Asleep so that a signal would wake it.
pub(crate) const WAITS: u32 = 1;
pub(crate) const READ: WaitEnd = WaitEnd { sleeper: Call::Read, waker: Some(Call::Write), ..NOTHING_TOLD };

pub(crate) fn signalled() -> WaitEnd {
    WaitEnd { signals: true, waker: Some(Call::Other), ..READ }
}

/// A request: due at 1,000 us, in at 1,010, waiting for more work at 5,000. `other` (thread 7) serves, `first` (8) stores.
pub(crate) fn request(build: impl FnOnce(&mut Story)) -> Episode {
    let mut story = Story::new(IDLE, 5_000);
    story.episode.stage = Stage::Request;
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    build(&mut story);
    story.switch(5_000, IDLE, WAITS, 0);
    story.episode
}

/// What the current thread ends by waking the victim.
pub(crate) fn answers(story: &mut Story, at_us: u64, bits: u64) {
    story.event(at_us, EventKind::Waking, 0, u64::from(VICTIM), bits | 19, 2);
    story.switch(at_us + 5, VICTIM_RUNS, 0, 1);
}

pub(crate) fn parts(episode: &Episode) -> Vec<Part> {
    fn add_up(inside: &[Inside], ns: u64) {
        assert!(inside.is_empty() || inside.iter().map(|inside| inside.ns).sum::<u64>() == ns, "{inside:?}");
        inside.iter().for_each(|inside| add_up(&inside.inside, inside.ns));
    }
    let split = added_up(episode);
    split.parts.iter().for_each(|part| add_up(&part.inside, part.ns));
    split.parts
}

pub(crate) fn wait(episode: &Episode) -> Part {
    let mut waits = parts(episode).into_iter().filter(|part| part.kind == Kind::Wait);
    let wait = waits.next().unwrap_or_else(|| panic!("no wait in {:?}", parts(episode)));
    assert_eq!(waits.next(), None);
    wait
}

pub(crate) fn leaf(kind: Kind, name: &str, ns: u64) -> Inside {
    Inside { kind, who: name.into(), ns, inside: Vec::new() }
}
