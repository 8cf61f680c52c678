//! Threads that change while they are looked at: their names, or their priorities.

use crate::beginnings::timer_wakes;
use crate::support::requests::{IDLE, READ, SERVER, WAITS, answers, request, wait};
use crate::support::{INTERRUPT, Story, VICTIM, VICTIM_RUNS, lets_go, response};
use punctual_blame::{Kind, split};
use punctual_recording::episode::{Call, EventKind, LEFT_FOR_LOCK, WaitEnd};

#[test]
fn a_thread_that_becomes_another_program_had_its_cpu_under_the_name_it_had_then() {
    let mut story = Story::new((7, 9), 5_000);
    story.episode.names.extend(["guilty".into(), "true".into()]);
    story.event(900, EventKind::VectorBegin, INTERRUPT, 1, 0, 5);
    story.event(901, EventKind::VectorEnd, INTERRUPT, 1, 0, 5);
    story.timer(1_002, 0);
    for (at_us, name) in [(2_000, 5), (4_500, 6)] {
        story.event(at_us, EventKind::VectorBegin, INTERRUPT, 1, 0, name);
        story.event(at_us + 1, EventKind::VectorEnd, INTERRUPT, 1, 0, name);
    }
    story.switch(5_000, VICTIM_RUNS, 128, 1);
    for event in story.episode.events.iter_mut().filter(|event| event.at_ns < 1_010_000) {
        event.name = if event.kind == EventKind::TimerBegin { 4 } else { 5 };
    }
    let parts = split(&story.episode).parts;
    assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), story.episode.total_ns());
    let of = |name: &str| {
        let its = |part: &&punctual_blame::Part| part.kind == Kind::HigherPriority && part.who.name() == name;
        parts.iter().find(its).map_or(0, |part| part.ns / 1_000)
    };
    assert!(of("guilty") >= 3_400 && (400..=500).contains(&of("true")), "{parts:?}");
}

/// Of FIFO 80, which somebody makes a normal one while it is ready: FIFO 20 may run then, and nobody's budget is used up.
#[test]
fn who_is_lowered_while_it_waits_lost_its_cpu_to_a_higher_priority() {
    let waits = |later: i16| {
        let mut story = Story::new((7, 9), 5_000);
        story.episode.names.push("middle".into());
        story.timer(1_002, 0);
        story.switch(1_100, (8, 79), 0, 5);
        story.switch(5_000, (VICTIM_RUNS.0, later), 128, 1);
        let parts = split(&story.episode).parts;
        assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), story.episode.total_ns());
        let most = &parts[0];
        assert!(most.ns >= 3_800_000, "{parts:?}");
        (most.kind, most.who.name().to_owned())
    };
    assert_eq!(waits(120), (Kind::HigherPriority, "middle".to_owned()));
    assert_eq!(waits(VICTIM_RUNS.1).0, Kind::Throttled);
}

/// Whoever lets a lock go has the name that it had then, also where another thread has its number afterwards.
#[test]
fn who_let_a_lock_go_has_the_name_it_had_then() {
    let episode = response(|story| {
        story.episode.names.push("successor".into());
        story.switch(1_500, (11, 120), LEFT_FOR_LOCK | 1, 2);
        story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(1).bits() | 19, 2);
        story.switch(3_505, VICTIM_RUNS, 128, 1);
        story.switch(4_000, (11, 120), 0, 5).switch(4_100, VICTIM_RUNS, 0, 1);
    });
    let parts = split(&episode).parts;
    assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), episode.total_ns());
    let locks: Vec<_> = parts.iter().filter(|part| part.kind == Kind::Lock).collect();
    assert_eq!(locks.len(), 1, "{parts:?}");
    assert_eq!((locks[0].who.name(), locks[0].ns), ("other", 2_000_000));
}

/// A worker takes the name of each job, and another one when it is done, before it answers or after.
#[test]
fn who_is_waited_for_has_the_name_it_had_meanwhile() {
    const JOB: u32 = 5;
    const SLEEPS: WaitEnd = WaitEnd { sleeper: Call::Sleep, waker: None, ..READ };
    // It leaves its CPU in the midst of its work, comes back, and has this name by then.
    let named = |sleeps: &[(u64, u64, u32)]| {
        let part = wait(&request(|story| {
            story.episode.names.push("job".into());
            story.switch(1_500, SERVER, WAITS, 2);
            for &(leaves_us, comes_us, name) in sleeps {
                story.switch(leaves_us, IDLE, WAITS, 0);
                timer_wakes(story, comes_us - 10, SERVER.0, SLEEPS.bits() | 120);
                story.switch(comes_us, SERVER, 0, name);
            }
            answers(story, 3_500, READ.bits());
        }));
        assert_eq!(part.ns, 2_000_000);
        part.who.name().to_owned()
    };
    assert_eq!(named(&[]), "other", "it keeps its name");
    assert_eq!(named(&[(1_600, 1_660, JOB)]), "job", "it takes another one as it answers");
    assert_eq!(named(&[(1_600, 1_660, JOB), (3_000, 3_060, 2)]), "job", "a little before");
    assert_eq!(named(&[(1_600, 1_660, JOB), (1_900, 1_960, 2)]), "other", "it worked for somebody else first");
    assert_eq!(named(&[(1_600, 3_400, JOB)]), "job", "it sleeps almost all the time");
}
