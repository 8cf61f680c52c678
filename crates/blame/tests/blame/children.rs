//! Waits for children. Whoever waits for any of them is woken at the end of each, and nothing tells for which one it waited.

use crate::support::requests::{READ, WAITS, leaf, parts, request};
use crate::support::{ENDER_NOT_SEEN, Story, VICTIM, VICTIM_RUNS, in_words};
use punctual_blame::{Kind, Part};
use punctual_recording::Episode;
use punctual_recording::episode::{Call, EventKind, LEFT_DEAD, WaitEnd};

/// `other` and `first`.
const HELPER: (u32, i16) = (7, 120);
const JOB: (u32, i16) = (8, 120);

/// The current thread, whose name has this number, ends: it wakes the late one, which has a CPU at once.
fn ends(story: &mut Story, at_us: u64, name: u32) {
    let end = WaitEnd { sleeper: Call::Child, waker: Some(Call::Other), ends: true, ..READ };
    story.event(at_us, EventKind::Waking, 0, u64::from(VICTIM), end.bits() | 19, name);
    story.switch(at_us + 5, VICTIM_RUNS, LEFT_DEAD, 1);
}

/// The late thread waits for children from 1,500 us on; the helper ends at 2,500. It goes on for so long, and waits for children again; the job, which was seen
/// before that or not, ends at 4,500.
fn runner(looks_us: u64, job_was_there: bool) -> Episode {
    request(|story| {
        if job_was_there {
            story.switch(1_400, JOB, 0, 3).switch(1_450, VICTIM_RUNS, 0, 1);
        }
        story.switch(1_500, HELPER, WAITS, 2);
        ends(story, 2_500, 2);
        story.switch(2_505 + looks_us, JOB, WAITS, 3);
        ends(story, 4_500, 3);
    })
}

fn waits(episode: &Episode) -> Vec<Part> {
    parts(episode).into_iter().filter(|part| part.kind == Kind::Wait).collect()
}

/// It may have needed either, whether it waits on at once or works on what the helper left.
#[test]
fn nobody_is_named_where_one_of_two_children_ended() {
    for looks_us in [20, 400] {
        let told = waits(&runner(looks_us, true));
        let [unseen, job] = &told[..] else { panic!("{told:?}") };
        let (unseen, job) = if unseen.who == ENDER_NOT_SEEN { (unseen, job) } else { (job, unseen) };
        assert_eq!((&unseen.who, unseen.ns, unseen.unknown_ns), (&ENDER_NOT_SEEN, 1_000_000, 1_000_000), "{told:?}");
        assert_eq!(in_words(&unseen.detail).as_deref(), Some("other ended, one of 2 children"));
        assert_eq!((job.who.name(), job.ns), ("first", 1_995_000 - looks_us * 1_000), "{told:?}");
    }
}

/// One after the other, each begun when the one before had ended; or only one.
#[test]
fn the_only_child_is_named() {
    for looks_us in [20, 400] {
        let told = waits(&runner(looks_us, false));
        let mut names: Vec<(&str, u64)> = told.iter().map(|part| (part.who.name(), part.ns)).collect();
        names.sort_unstable();
        assert_eq!(names, [("first", 1_995_000 - looks_us * 1_000), ("other", 1_000_000)], "{told:?}");
    }
    let one = request(|story| {
        story.switch(1_500, HELPER, WAITS, 2);
        ends(story, 3_500, 2);
    });
    let told = waits(&one);
    let [part] = &told[..] else { panic!("{told:?}") };
    assert_eq!((part.who.name(), part.ns, part.has_ended), ("other", 2_000_000, true));
    assert_eq!(part.inside, [leaf(Kind::Own, "other", 2_000_000)]);
}
