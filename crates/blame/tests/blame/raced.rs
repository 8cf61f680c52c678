//! What two CPUs do at the same moment: a thread that is woken while it goes to sleep, or while its CPU is switched to another one; and
//! wakings that were not seen.

use crate::support::{HOLDER_NOT_SEEN, INTERRUPT, OTHER, Story, VICTIM, VICTIM_RUNS, added_up, lets_go, response};
use punctual_blame::{Kind, Who};
use punctual_recording::Episode;
use punctual_recording::episode::{EventKind, INTERRUPTED_USER, LEFT_FOR_LOCK};

const IDLE: (u32, i16) = (0, 120);
/// Goes before the victim.
const HOG: (u32, i16) = (13, 9);
/// It sleeps for a lock of its program.
const FOR_LOCK: u32 = LEFT_FOR_LOCK | 1;

fn ns_of(episode: &Episode, kind: Kind, who: &Who) -> u64 {
    let split = added_up(episode);
    split.parts.iter().filter(|part| part.kind == kind && part.who == *who).map(|part| part.ns).sum()
}

/// Thread `tid`, which has the name `name`, wakes the victim on CPU 1 as it lets the lock at a place go.
fn wakes_from_afar(story: &mut Story, at_us: u64, (tid, name): (u32, u32), place: u32) {
    story.event(at_us, EventKind::Waking, 0, u64::from(VICTIM), lets_go(place).bits() | 19, name);
    let waking = story.episode.events.last_mut().unwrap();
    (waking.cpu, waking.tid, waking.priority) = (1, tid, 120);
}

/// From 1,500 us on the victim does not run; it is woken at `woken_us`, if at all, gets its CPU at 3,500 us, and sleeps once more
/// from 4,000 to 4,400.
fn sleeps_twice(woken_us: Option<u64>, meanwhile: (u32, i16)) -> Episode {
    response(|story| {
        if let Some(at_us) = woken_us {
            wakes_from_afar(story, at_us, (8, 2), 5);
        }
        story.switch(1_500, meanwhile, FOR_LOCK, if meanwhile == IDLE { 0 } else { 3 });
        story.switch(3_500, VICTIM_RUNS, 1, 1);
        story.switch(4_000, IDLE, FOR_LOCK, 0);
        wakes_from_afar(story, 4_400, (9, 4), 6);
        story.switch(4_405, VICTIM_RUNS, 0, 1);
    })
}

/// It had said that it would sleep, and was woken before it was gone: from then on it waits for its CPU.
#[test]
fn one_that_is_woken_on_its_way_out_does_not_sleep_until_it_is_woken_next() {
    let episode = sleeps_twice(Some(1_498), HOG);
    assert_eq!(ns_of(&episode, Kind::HigherPriority, &"first".into()), 2_000_000);
    assert_eq!(ns_of(&episode, Kind::Lock, &"spin_fn".into()), 400_000);
    // Nobody took its CPU: it was about to idle when the waking came, from which on it waits.
    let episode = sleeps_twice(Some(1_498), IDLE);
    assert_eq!(ns_of(&episode, Kind::IdleExit, &"idle".into()), 1_992_000);
    assert_eq!(ns_of(&episode, Kind::Throttled, &"victim".into()), 0);
    assert_eq!(ns_of(&episode, Kind::Lock, &"spin_fn".into()), 400_000);
}

/// The waking that ended a sleep was not seen: whoever wakes the thread out of its next one did not end this.
#[test]
fn a_waking_that_was_not_seen_is_not_that_of_whoever_wakes_it_next() {
    for woken_us in [None, Some(1_200)] {
        let episode = sleeps_twice(woken_us, HOG);
        assert_eq!(ns_of(&episode, Kind::Lock, &"spin_fn".into()), 400_000, "{woken_us:?}");
        assert_eq!(ns_of(&episode, Kind::Lock, &HOLDER_NOT_SEEN), 2_000_000, "{woken_us:?}");
        assert_eq!(ns_of(&episode, Kind::HigherPriority, &"first".into()), 0, "{woken_us:?}");
    }
}

/// Another CPU wakes the victim at 1,002 us; whom this one is switched to in the midst of that was chosen before.
#[test]
fn who_was_chosen_before_a_thread_was_woken_has_no_share_before_it() {
    let switched = |at_us: u64| {
        let mut story = Story::new(OTHER, 3_020);
        wakes_from_afar(&mut story, 1_002, (9, 4), 5);
        story.switch(at_us, (8, 120), 1, 3);
        story.event(2_990, EventKind::VectorBegin, INTERRUPT, 2, INTERRUPTED_USER, 3);
        story.event(2_992, EventKind::VectorEnd, INTERRUPT, 2, 0, 3);
        story.switch(3_000, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        story.episode
    };
    let (before, after) = (switched(1_004), switched(1_204));
    assert_eq!(ns_of(&before, Kind::FairServer, &"first".into()), 0);
    assert_eq!(ns_of(&before, Kind::Blind, &"outside this kernel".into()), 1_986_000);
    assert!(ns_of(&after, Kind::FairServer, &"first".into()) >= 1_786_000);
}
