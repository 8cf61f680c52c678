//! Waits for one of several things: an event loop is told of something else meanwhile, and waits on.

use crate::support::{
    ENDER_NOT_SEEN, INTERRUPT, NOTHING_TOLD, Story, VICTIM, VICTIM_RUNS, added_up, in_words, lets_go,
};
use punctual_blame::{Kind, Part, split, split_awaited};
use punctual_recording::episode::{
    Call, Event, EventKind, IN_SOFTIRQ, LEFT_FOR_LOCK, LockWaking, ONE_POLLED, Process, Sender, WaitEnd, WordState,
};
use punctual_recording::{Episode, Stage};

const SERVER: (u32, i16) = (7, 120);
const BYSTANDER: (u32, i16) = (9, 120);
/// Asleep so that a signal would wake it.
const WAITS: u32 = 1;
const POLL: WaitEnd = WaitEnd { sleeper: Call::Poll, waker: Some(Call::Write), ..NOTHING_TOLD };
const READ: WaitEnd = WaitEnd { sleeper: Call::Read, ..POLL };

/// The current thread wakes another one.
fn wakes(story: &mut Story, at_us: u64, tid: u32, end: WaitEnd) {
    let name = if story.current == BYSTANDER { 3 } else { 2 };
    story.event(at_us, EventKind::Waking, 0, u64::from(tid), end.bits() | 19, name);
}

/// A request of two waits of a loop: a bystander ends the first at 2,500 us, the server the second at 4,000. The loop does `asks`
/// before the first and `between` the two, and looks for so long at what it got.
fn request(end: WaitEnd, asks: &[(u32, i16)], between: &[(u32, i16)], looks_us: u64) -> Episode {
    let mut story = Story::new((0, 120), 5_000);
    story.episode.stage = Stage::Request;
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    for (number, asked) in asks.iter().enumerate() {
        wakes(&mut story, 1_100 + number as u64, asked.0, READ);
    }
    story.switch(1_500, SERVER, WAITS, 2);
    story.switch(2_400, BYSTANDER, 0, 3);
    wakes(&mut story, 2_500, VICTIM, end);
    story.switch(2_505, VICTIM_RUNS, 0, 1);
    for (number, asked) in between.iter().enumerate() {
        wakes(&mut story, 2_506 + number as u64, asked.0, READ);
    }
    story.switch(2_505 + looks_us, SERVER, WAITS, 2);
    wakes(&mut story, 4_000, VICTIM, end);
    story.switch(4_005, VICTIM_RUNS, 0, 1);
    story.switch(5_000, SERVER, WAITS, 2);
    story.episode
}

fn waits(episode: &Episode) -> Vec<Part> {
    let split = added_up(episode);
    let mut waits: Vec<Part> = split.parts.into_iter().filter(|part| part.kind == Kind::Wait).collect();
    waits.sort_by(|a, b| a.who.name().cmp(b.who.name()));
    waits
}

/// Names and us of the waits.
fn named(episode: &Episode) -> Vec<(String, u64)> {
    waits(episode).iter().map(|part| (part.who.name().to_owned(), part.ns / 1_000)).collect()
}

fn both(of_server: u64) -> Vec<(String, u64)> {
    vec![("first".to_owned(), 1_000), ("other".to_owned(), of_server)]
}

#[test]
fn who_was_asked_before_was_waited_for_all_the_time() {
    // Long or short: the answer had not come; and whoever told the loop of something may be answered.
    for (between, looks_us) in [(&[][..], 25), (&[][..], 1_200), (&[BYSTANDER][..], 25)] {
        let episode = request(POLL, &[SERVER], between, looks_us);
        assert_eq!(named(&episode), [("other".to_owned(), 1_000 + 1_495 - looks_us)], "{looks_us}");
        assert_eq!(waits(&episode)[0].unknown_ns, 0);
    }
}

/// `futex_waitv` waits for several words: of a wait for a single one another kind of waking tells.
#[test]
fn words_that_are_waited_for_together_are_several_things() {
    const WORDS: WaitEnd = WaitEnd { sleeper: Call::Futex, waker: Some(Call::Futex), ..POLL };
    let episode = request(WORDS, &[SERVER], &[], 25);
    assert_eq!(named(&episode), [("other".to_owned(), 2_470)]);
    let unasked = Episode { has_period: true, ..request(WORDS, &[], &[], 25) };
    assert_eq!(named(&unasked), not_seen(2_470));
}

/// Who ended waits is not seen, for so many us.
fn not_seen(us: u64) -> Vec<(String, u64)> {
    vec![("ender not seen".to_owned(), us)]
}

#[test]
fn where_nobody_was_asked_one_of_several_things_accuses_nobody() {
    // Whether the loop only takes what it is told, or works on it.
    for looks_us in [25, 1_200] {
        for episode in [request(POLL, &[], &[], looks_us), asleep(request(POLL, &[], &[], looks_us))] {
            let waits = waits(&episode);
            let ns = (1_000 + 1_495 - looks_us) * 1_000;
            assert_eq!(waits.len(), 1, "{waits:?}");
            assert_eq!((&waits[0].who, waits[0].ns, waits[0].unknown_ns), (&ENDER_NOT_SEEN, ns, ns));
        }
    }
    let words = in_words(&waits(&asleep(request(POLL, &[], &[], 25)))[0].detail);
    let told = "other told it of one of several things, and nobody is seen to have been asked";
    assert_eq!(words.as_deref(), Some(told));
}

#[test]
fn each_has_its_time_where_both_were_asked_or_one_after_the_other() {
    assert_eq!(named(&request(POLL, &[BYSTANDER, SERVER], &[], 25)), both(1_470));
    assert_eq!(named(&request(POLL, &[BYSTANDER], &[SERVER], 25)), both(1_470));
    // Asked before for something, and now for more: which of it the first wait was for is not seen.
    let more = [("ender not seen".to_owned(), 1_000), ("other".to_owned(), 1_470)];
    assert_eq!(named(&request(POLL, &[SERVER], &[SERVER], 25)), more);
    assert_eq!(named(&request(POLL, &[], &[SERVER], 25)), more);
}

/// The server sleeps until the bystander has told the loop something.
fn asleep(mut episode: Episode) -> Episode {
    for event in episode.events.iter_mut().filter(|event| event.at_ns < 2_500_000) {
        if event.kind == EventKind::Switch && event.value == u64::from(SERVER.0) {
            (event.value, event.name) = (8, 4);
        } else if event.tid == SERVER.0 {
            event.tid = 8;
        }
    }
    let wakes = Event { at_ns: 2_500_500, kind: EventKind::Waking, value: u64::from(SERVER.0), ..episode.events[0] };
    episode.events.push(wakes);
    episode.events.sort_by_key(|event| event.at_ns);
    episode
}

#[test]
fn a_wait_for_one_thing_is_that_ones_who_ends_it() {
    assert_eq!(named(&request(READ, &[SERVER], &[], 25)), both(1_470));
}

#[test]
fn who_reads_from_one_descriptor_waits_for_whom_it_asked() {
    let from = |descriptor| WaitEnd { descriptor: Some(descriptor), ..READ };
    for looks_us in [25, 1_200] {
        let waited = [("other".to_owned(), 1_000 + 1_495 - looks_us)];
        assert_eq!(named(&request(from(5), &[SERVER], &[], looks_us)), waited);
        // Another one is another thing.
        let mut apart = request(from(5), &[SERVER], &[], looks_us);
        let answer = apart.events.iter_mut().find(|event| event.at_ns == 4_000_000).expect("the server answers");
        answer.extra = from(6).bits() | 19;
        assert_eq!(named(&apart), both(1_495 - looks_us));
        // Nobody was seen to be asked: whoever tells that loop of something and was at work may have been, one that slept was not.
        let unasked = request(from(5), &[], &[], looks_us);
        assert_eq!(named(&unasked), not_seen(1_000 + 1_495 - looks_us));
        let server_asleep = [("ender not seen".to_owned(), 1_495 - looks_us), ("first".to_owned(), 1_000)];
        assert_eq!(named(&asleep(unasked.clone())), server_asleep);
        assert_eq!(named(&asleep(bystander_asleep(unasked.clone()))), both(1_495 - looks_us));
        // Threads of one program answer for one another.
        let mut one_program = bystander_asleep(unasked);
        let threads = vec![SERVER.0, BYSTANDER.0];
        one_program.processes.push(Process { number: 7, name: "program".into(), threads });
        assert_eq!(named(&asleep(one_program)), both(1_495 - looks_us));
    }
}

/// The bystander sleeps once it has told the loop of something.
fn bystander_asleep(mut episode: Episode) -> Episode {
    let leaves = |event: &&mut Event| event.kind == EventKind::Switch && event.tid == BYSTANDER.0;
    let leave = episode.events.iter_mut().find(leaves).expect("the bystander leaves its CPU");
    leave.extra |= u64::from(WAITS) << 32;
    episode
}

#[test]
fn a_poll_for_one_thing_is_as_a_read() {
    let one = WaitEnd { descriptor: Some(ONE_POLLED), ..POLL };
    let quiet = || asleep(bystander_asleep(request(one, &[], &[], 25)));
    assert_eq!(named(&quiet()), both(1_470));
    let mut cut = quiet();
    cut.events.retain(|event| event.at_ns < 3_000_000 || event.at_ns == 5_000_000);
    assert_eq!(named(&cut)[0].0, "ender not seen", "nobody ended the last");
}

#[test]
fn an_answer_that_comes_while_the_loop_works_is_not_the_news() {
    // The server that was asked goes to sleep, and the loop does not wait again.
    let mut episode = request(POLL, &[SERVER], &[], 1_200);
    episode.events.retain(|event| event.at_ns < 3_705_000 || event.at_ns == 5_000_000);
    assert_eq!(named(&episode), [("ender not seen".to_owned(), 1_000)]);
    let mut unasked = asleep(request(POLL, &[], &[], 1_200));
    unasked.events.retain(|event| event.at_ns < 3_705_000 || event.at_ns == 5_000_000);
    assert_eq!(named(&unasked), not_seen(1_000));
    // Whoever tells another thread that is waited for of something, gives that its work.
    let mut of_a_server = asleep(request(POLL, &[], &[], 1_200));
    of_a_server.events.retain(|event| event.at_ns < 3_705_000 || event.at_ns == 5_000_000);
    let awaited = split_awaited(&of_a_server).parts;
    assert!(awaited.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "first"), "{awaited:?}");
}

#[test]
fn one_who_is_asked_in_between_was_not_waited_for_before() {
    let from = WaitEnd { descriptor: Some(5), ..READ };
    assert_eq!(named(&request(from, &[], &[SERVER], 25)), both(1_470));
}

#[test]
fn who_is_sent_a_packet_is_asked() {
    let mut episode = request(POLL, &[SERVER], &[], 25);
    let sent = WaitEnd { sender: Sender::Thread(VICTIM), ..READ };
    let asks = episode.events.iter_mut().find(|event| event.value == u64::from(SERVER.0) && event.at_ns == 1_100_000);
    let asks = asks.expect("the server is asked");
    // It is delivered over somebody else.
    (asks.context, asks.tid, asks.extra) = (IN_SOFTIRQ, BYSTANDER.0, sent.bits() | 19);
    let others = split(&episode).parts;
    assert!(others.iter().all(|part| part.who.name() != "first"), "{others:?}");
}

#[test]
fn a_timer_of_the_loop_ends_no_wait_for_whoever_was_asked() {
    let mut story = Story::new((0, 120), 5_000);
    story.episode.stage = Stage::Request;
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    wakes(&mut story, 1_100, SERVER.0, READ);
    story.switch(1_500, SERVER, WAITS, 2);
    story.event(2_500, EventKind::VectorBegin, INTERRUPT, 1, 0, 2);
    story.event(2_501, EventKind::TimerBegin, INTERRUPT, 0, 2_500_000, 4);
    story.event(2_502, EventKind::Waking, INTERRUPT, u64::from(VICTIM), POLL.bits() | 19, 2);
    story.event(2_503, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
    story.event(2_504, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
    story.switch(2_505, VICTIM_RUNS, 0, 1);
    story.switch(2_530, SERVER, WAITS, 2);
    wakes(&mut story, 4_000, VICTIM, POLL);
    story.switch(4_005, VICTIM_RUNS, 0, 1);
    story.switch(5_000, SERVER, WAITS, 2);
    let named = named(&story.episode);
    assert_eq!(named.len(), 1, "{named:?}");
    assert_eq!(named[0].0, "other");
}

/// A request of two waits for a word of the program, which a bystander ends first, and a server second. The server was woken by the
/// victim before, as it slept so, with this told of that.
fn queued(asked: Option<(u32, u64)>) -> Episode {
    let mut story = Story::new(SERVER, 5_000);
    (story.episode.stage, story.episode.has_period) = (Stage::Request, true);
    if let Some((left_state, _)) = asked {
        story.switch(900, (0, 120), left_state, 0);
    }
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    if let Some((_, told)) = asked {
        story.event(1_100, EventKind::Waking, 0, u64::from(SERVER.0), told | 19, 1);
    }
    let put = LockWaking { state: WordState::NoLock, ..lets_go(40) }.bits() | 19;
    story.switch(1_500, BYSTANDER, WAITS, 3);
    story.event(2_500, EventKind::Waking, 0, u64::from(VICTIM), put, 3);
    story.switch(2_505, VICTIM_RUNS, WAITS, 1);
    story.switch(3_705, SERVER, WAITS, 2);
    story.event(4_000, EventKind::Waking, 0, u64::from(VICTIM), put, 2);
    story.switch(4_005, VICTIM_RUNS, 0, 1);
    story.switch(5_000, SERVER, WAITS, 2);
    story.episode
}

#[test]
fn who_puts_something_into_a_queue_is_not_it_where_another_was_asked_who_does_so_too() {
    let unseen = [("ender not seen".to_owned(), 1_000), ("other".to_owned(), 295)];
    assert_eq!(named(&queued(Some((WAITS, READ.bits())))), unseen);
    // To let somebody in to a lock, or to the same place, is no question. Of a thread with a period nobody would be named who was not asked.
    let is_let_in = [(WAITS | LEFT_FOR_LOCK, lets_go(90).bits()), (WAITS, lets_go(40).bits())].map(Some);
    for asked in [None].into_iter().chain(is_let_in) {
        assert_eq!(named(&Episode { has_period: false, ..queued(asked) }), both(295), "{asked:?}");
    }
    // The bystander answers in its stead.
    let mut handed_on = queued(Some((WAITS, READ.bits())));
    let hands_on = Event {
        at_ns: 1_700_000,
        kind: EventKind::Waking,
        tid: SERVER.0,
        cpu: 1,
        value: u64::from(BYSTANDER.0),
        extra: READ.bits() | 120,
        ..handed_on.events[0]
    };
    handed_on.events.push(Event { context: 0, ..hands_on });
    handed_on.events.sort_by_key(|event| event.at_ns);
    assert_eq!(named(&handed_on)[0], ("first".to_owned(), 1_000));
}

/// As a forged recording may have them: the loop is told of something every 2 us, by one and the same, and nobody was asked.
#[test]
fn many_waits_are_looked_through_in_a_bounded_time() {
    const TOLD: u64 = 5_000;
    let mut story = Story::new((0, 120), 40_000);
    story.episode.stage = Stage::Request;
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    for told in 0..TOLD {
        story.switch(2_000 + 2 * told, BYSTANDER, WAITS, 3);
        wakes(&mut story, 2_001 + 2 * told, VICTIM, POLL);
        story.switch(2_001 + 2 * told, VICTIM_RUNS, 0, 1);
    }
    story.switch(40_000, SERVER, WAITS, 2);
    let waits = waits(&story.episode);
    assert_eq!(waits.iter().map(|part| part.ns).sum::<u64>(), TOLD * 1_000, "{waits:?}");
}
