//! Threads of one name are told apart where one of them waits for another, or is the culprit.

use crate::support::{NOTHING_TOLD, OTHER, Story, VICTIM, VICTIM_RUNS, lets_go, response};
use punctual_blame::{Kind, split};
use punctual_recording::Stage;
use punctual_recording::episode::{Call, EventKind, LEFT_FOR_LOCK, WaitEnd};

const READ: WaitEnd = WaitEnd { sleeper: Call::Read, waker: Some(Call::Write), ..NOTHING_TOLD };

/// All threads of a server have its name: one waits for the second, that for the third, and a fourth has that one's CPU.
#[test]
fn whoever_is_waited_for_by_one_of_its_name_has_its_number() {
    let mut story = Story::new((0, 120), 5_000);
    story.episode.stage = Stage::Request;
    story.episode.victim.name = "other".into();
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 2);
    story.switch(1_500, (7, 120), 1, 2);
    story.switch(2_000, (8, 120), 1, 2);
    story.switch(2_200, (9, 10), 0, 2);
    story.switch(2_700, (8, 120), 1, 2);
    story.event(3_000, EventKind::Waking, 0, 7, READ.bits() | 120, 2);
    story.switch(3_010, (7, 120), 1, 2);
    story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, 2);
    story.switch(3_505, VICTIM_RUNS, 0, 2);
    story.switch(5_000, (0, 120), 1, 0);
    let parts = split(&story.episode).parts;
    let wait = parts.iter().find(|part| part.kind == Kind::Wait).unwrap();
    assert_eq!((wait.who.name(), wait.ns), ("other (thread 7)", 2_000_000));
    let next = wait.inside.iter().find(|inside| inside.kind == Kind::Wait).unwrap();
    assert_eq!(next.who.name(), "other (thread 8)");
    let kept = next.inside.iter().find(|inside| inside.kind == Kind::HigherPriority).unwrap();
    assert_eq!((kept.who.name(), kept.ns), ("another other (thread 9)", 500_000));
    assert_eq!((kept.who.shared_name(), next.who.shared_name()), ("another other", "other (thread 8)"));
    let own: Vec<_> = wait.inside.iter().filter(|inside| inside.kind == Kind::Own).map(|own| own.who.name()).collect();
    assert_eq!(own, ["other (thread 7)"]);
}

#[test]
fn the_holder_of_a_lock_has_a_number_where_another_thread_has_its_name() {
    // The thread that has the holder's CPU for a while: of another name, and of the same.
    for (name, number) in [(3, None), (2, Some(OTHER.0))] {
        let episode = response(|story| {
            story.switch(1_500, OTHER, LEFT_FOR_LOCK | 1, 2);
            story.switch(1_800, (8, 110), 0, name).switch(3_300, OTHER, 1, 2);
            story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(1).bits() | 19, 2);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        });
        let split = split(&episode);
        let lock = split.parts.iter().find(|part| part.kind == Kind::Lock).unwrap();
        assert_eq!((lock.who.name(), lock.number()), ("other", number), "{:?}", split.parts);
        let own = split.parts.iter().find(|part| part.kind == Kind::Own).unwrap();
        assert_eq!(own.number(), None, "the late thread is no culprit: {own:?}");
    }
}
