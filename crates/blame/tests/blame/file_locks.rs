//! Locks of files: who waits behind one that waits as well is woken as that one gets the lock, and waits on.

use crate::support::requests::{SERVER, WAITS, parts, request};
use crate::support::{NOTHING_TOLD, VICTIM, VICTIM_RUNS};
use punctual_blame::Kind;
use punctual_recording::Episode;
use punctual_recording::episode::{Call, EventKind, WaitEnd};

const NEXT: (u32, i16) = (8, 120);

fn told(sleeper: Call) -> u64 {
    WaitEnd { sleeper, waker: Some(sleeper), ..NOTHING_TOLD }.bits()
}

/// `other` has the lock until 3,000 us, and lets in `first`, which wakes the victim at 3,020; the victim looks, waits on behind it or not, and is
/// let in at 4,500.
fn waits(sleeper: Call, waits_on: bool) -> Episode {
    request(|story| {
        story.switch(1_500, SERVER, WAITS, 2);
        story.event(3_000, EventKind::Waking, 0, u64::from(NEXT.0), told(sleeper) | 120, 2);
        story.switch(3_010, NEXT, WAITS, 3);
        story.event(3_020, EventKind::Waking, 0, u64::from(VICTIM), told(sleeper) | 19, 3);
        story.switch(3_025, VICTIM_RUNS, 0, 1);
        if waits_on {
            story.switch(3_035, NEXT, WAITS, 3);
            story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), told(sleeper) | 19, 3);
            story.switch(4_505, VICTIM_RUNS, 0, 1);
        }
    })
}

/// Names and us of the waits, by name.
fn named(episode: &Episode) -> Vec<(String, u64)> {
    let waits = parts(episode).into_iter().filter(|part| part.kind == Kind::Wait);
    let mut named: Vec<_> = waits.map(|part| (part.who.name().to_owned(), part.ns / 1_000)).collect();
    named.sort();
    named
}

#[test]
fn who_has_just_got_a_lock_of_a_file_did_not_have_it_before() {
    let is = |name: &str, us: u64| (name.to_owned(), us);
    assert_eq!(named(&waits(Call::FileLock, true)), [is("first", 20 + 1_465), is("other", 1_500)]);
    // It got the lock then: whoever woke it let it go, whatever that one had waited for before.
    assert_eq!(named(&waits(Call::FileLock, false)), [is("first", 1_520)]);
    // Another kind of wait has no such queue.
    assert_eq!(named(&waits(Call::Read, true)), [is("first", 1_520 + 1_465)]);
}
