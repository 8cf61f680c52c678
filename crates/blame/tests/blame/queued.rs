//! Waits that a worker of the kernel's ends: whoever gave it the work is who was waited for, and of the worker only the time from then on.

use crate::support::{INTERRUPT, Story, VICTIM, VICTIM_RUNS, awaited_parts, in_words};
use punctual_blame::{Inside, Kind, Part, split};
use punctual_recording::episode::{Event, EventKind};
use punctual_recording::{Episode, Stage};

const EMULATOR: (u32, i16) = (VICTIM, 120);
const IDLE: (u32, i16) = (0, 120);
const WORKER: (u32, i16) = (7, 120);
const SHELL: (u32, i16) = (8, 120);
const WAITS: u32 = 1;
/// Asleep so that no signal would wake it, and that does not count as load.
const NO_WORK: u32 = 0x402;
/// Woken out of a wait in `read()`, by one who writes.
const HOW: u64 = 3 << 19 | 4 << 24 | 120;
const ITEM: u64 = 0xffff_8000_0000_1000;
/// Names from number 5 on.
const NAMES: [&str; 4] = ["kworker/u4:1", "shell", "flush_to_ldisc", "delayed_work_timer_fn"];

/// A terminal emulator sleeps from 1,010 us on; the shell works until 9,000, sleeps for a timer until 20,000, and writes; the worker that
/// is given that waited for a disk before.
fn echo(queued: bool, item: u64) -> Episode {
    let mut story = Story::new(EMULATOR, 22_000);
    story.episode.stage = Stage::Request;
    story.episode.victim.name = "emulator".into();
    story.episode.names.extend(NAMES.map(String::from));
    story.event(900, EventKind::Waking, 0, u64::from(SHELL.0), 120, 1);
    story.switch(1_010, SHELL, WAITS, 6);
    story.switch(9_000, IDLE, WAITS, 0);
    // The worker comes from a disk, and has nothing to do then.
    story.event(11_000, EventKind::Waking, INTERRUPT, u64::from(WORKER.0), 120, 0);
    story.switch(11_010, WORKER, 0, 5).switch(11_020, IDLE, NO_WORK, 0);
    timer(&mut story, 20_000, u64::from(SHELL.0));
    story.switch(20_010, SHELL, 0, 6);
    if queued {
        story.event(20_500, EventKind::WorkQueued, 0, ITEM, 0, 6);
    }
    story.event(20_501, EventKind::Waking, 0, u64::from(WORKER.0), HOW, 6);
    story.switch(20_600, WORKER, WAITS, 5);
    story.event(20_610, EventKind::WorkBegin, 0, item, 0, 7);
    story.event(20_700, EventKind::Waking, 0, u64::from(VICTIM), HOW, 5);
    story.event(20_710, EventKind::WorkEnd, 0, 0, 0, 0);
    story.switch(20_800, EMULATOR, NO_WORK, 1);
    story.switch(22_000, IDLE, WAITS, 0);
    story.episode
}

fn timer(story: &mut Story, at_us: u64, woken: u64) {
    story.event(at_us, EventKind::TimerBegin, INTERRUPT, 0, at_us * 1_000, 4);
    story.event(at_us + 1, EventKind::Waking, INTERRUPT, woken, 120, 2);
    story.event(at_us + 2, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
}

fn ns_of(parts: &[Part], kind: Kind, name: &str) -> u64 {
    parts.iter().filter(|part| part.kind == kind && part.who.name() == name).map(|part| part.ns).sum()
}

fn inside(part: &Part, kind: Kind) -> u64 {
    fn sum(all: &[Inside], kind: Kind) -> u64 {
        all.iter().map(|one| if one.kind == kind { one.ns } else { sum(&one.inside, kind) }).sum()
    }
    sum(&part.inside, kind)
}

#[test]
fn whoever_gave_the_worker_its_work_was_waited_for() {
    let told = awaited_parts(&echo(true, ITEM));
    assert_eq!((told[0].kind, told[0].who.name()), (Kind::Wait, "shell"), "{told:?}");
    assert_eq!(told[0].ns, 20_500_000 - 1_010_000, "until it gave it that");
    assert!(inside(&told[0], Kind::Own) > 8_000_000 && inside(&told[0], Kind::Sleep) > 10_000_000, "{told:?}");
    // Of the worker from then on alone, so nothing of a disk.
    assert_eq!(ns_of(&told, Kind::Wait, "kworker/u4:1"), 20_800_000 - 20_500_000 - 100_000, "{told:?}");
    assert!(told.iter().all(|part| inside(part, Kind::Io) == 0 && part.unknown_ns == 0), "{told:?}");
}

#[test]
fn where_it_is_not_known_who_gave_it_the_worker_is_named() {
    for episode in [echo(false, ITEM), echo(true, 0), echo(true, ITEM + 8)] {
        let told = awaited_parts(&episode);
        assert_eq!((told[0].kind, told[0].who.name()), (Kind::Wait, "kworker/u4:1"), "{told:?}");
    }
}

/// The worker may lose its CPU in the midst of the work, and go on on another one.
#[test]
fn a_worker_that_changes_its_cpu_is_followed_too() {
    let mut episode = echo(true, ITEM);
    let like = episode.events[0];
    let switch = |at_us: u64, cpu, tid, next: u64, left: u64| Event {
        at_ns: at_us * 1_000,
        cpu,
        kind: EventKind::Switch,
        tid,
        value: next,
        extra: left << 32 | 120,
        name: if next == 0 { 0 } else { 5 },
        ..like
    };
    let moved = [
        switch(20_620, 0, WORKER.0, 0, 0),
        switch(20_640, 1, 0, WORKER.0.into(), 0),
        switch(20_720, 1, WORKER.0, 0, 1),
    ];
    episode.events.retain(|event| event.at_ns < 20_700_000 || event.at_ns >= 21_000_000);
    let waking = Event { at_ns: 20_700_000, cpu: 1, kind: EventKind::Waking, value: VICTIM.into(), ..moved[2] };
    episode.events.extend(moved);
    episode.events.push(Event { extra: HOW, ..waking });
    episode.events.push(Event { name: 1, ..switch(20_800, 0, 0, VICTIM.into(), 0) });
    episode.events.sort_by_key(|event| event.at_ns);
    let told = awaited_parts(&episode);
    assert_eq!((told[0].kind, told[0].who.name(), told[0].ns), (Kind::Wait, "shell", 19_490_000), "{told:?}");
}

/// Work that was to be done later is queued by a timer's function, in the midst of whoever has the CPU then.
#[test]
fn work_that_was_put_off_is_a_sleep() {
    let mut episode = echo(true, ITEM);
    let begins = |event: &&mut Event| event.kind == EventKind::WorkQueued;
    let queued = episode.events.iter_mut().find(begins).unwrap();
    (queued.context, queued.name) = (INTERRUPT, 6);
    let (at_ns, like) = (queued.at_ns, *queued);
    let timer = |kind, at_ns| Event { kind, at_ns, value: 0, extra: at_ns, name: 8, ..like };
    episode.events.extend([timer(EventKind::TimerBegin, at_ns - 500), timer(EventKind::TimerEnd, at_ns + 500)]);
    episode.events.sort_by_key(|event| event.at_ns);
    let told = awaited_parts(&episode);
    assert_eq!((told[0].kind, told[0].who.name()), (Kind::Sleep, "delayed_work_timer_fn"), "{told:?}");
    assert_eq!(told[0].ns, 20_500_000 - 1_010_000);
}

/// A worker whose work gives work to another one: both are followed, to who gave the first one its.
#[test]
fn work_that_a_worker_hands_on_is_followed_to_its_beginning() {
    const SECOND: (u32, i16) = (9, 120);
    let mut story = Story::new(EMULATOR, 6_000);
    story.episode.stage = Stage::Request;
    story.episode.names.extend(NAMES.map(String::from));
    story.switch(1_010, SHELL, WAITS, 6);
    story.event(3_000, EventKind::WorkQueued, 0, ITEM, 0, 6);
    story.event(3_001, EventKind::Waking, 0, u64::from(WORKER.0), HOW, 6);
    story.switch(3_010, WORKER, WAITS, 5);
    story.event(3_020, EventKind::WorkBegin, 0, ITEM, 0, 7);
    story.event(4_000, EventKind::WorkQueued, 0, ITEM + 64, 0, 5);
    story.event(4_001, EventKind::Waking, 0, u64::from(SECOND.0), HOW, 5);
    story.event(4_010, EventKind::WorkEnd, 0, 0, 0, 0);
    story.switch(4_020, SECOND, NO_WORK, 5);
    story.event(4_030, EventKind::WorkBegin, 0, ITEM + 64, 0, 7);
    story.event(5_000, EventKind::Waking, 0, u64::from(VICTIM), HOW, 5);
    story.event(5_005, EventKind::WorkEnd, 0, 0, 0, 0);
    story.switch(5_010, EMULATOR, NO_WORK, 1).switch(6_000, IDLE, WAITS, 0);
    let told = awaited_parts(&story.episode);
    assert_eq!(ns_of(&told, Kind::Wait, "shell"), 3_000_000 - 1_010_000, "{told:?}");
    assert_eq!(ns_of(&told, Kind::Wait, "kworker/u4:1"), 5_000_000 - 3_000_000, "{told:?}");
}

/// The end of its work was not seen. Once it has rested, it does something else, and not for whoever gave it that.
#[test]
fn a_worker_that_rests_has_ended_its_work() {
    let keeps = |left_state: u32| {
        let mut story = Story::new(SHELL, 3_020);
        story.episode.names.extend(NAMES.map(String::from));
        // As whom the timer interrupts.
        story.episode.names[2] = NAMES[0].into();
        story.event(700, EventKind::WorkQueued, 0, ITEM, 0, 6);
        story.switch(750, WORKER, WAITS, 5);
        story.event(800, EventKind::WorkBegin, 0, ITEM, 0, 7);
        story.switch(850, IDLE, left_state, 0).switch(950, WORKER, 0, 5);
        story.timer(1_005, 0).switch(3_009, VICTIM_RUNS, 0, 1);
        let part = split(&story.episode).parts.swap_remove(0);
        assert_eq!((part.kind, part.who.name()), (Kind::Kernel, "kworker/u4:1"));
        in_words(&part.detail)
    };
    assert_eq!(keeps(0).as_deref(), Some("work flush_to_ldisc, queued by shell (thread 8)"));
    assert_eq!(keeps(NO_WORK), None);
}
