use super::*;
use crate::recorder::connections::{Connection, WaitedFor};
use crate::recorder::late_wakeup::Connections;
use crate::recorder::looked_at::MAX_LOOKS_AT_ONE;

#[path = "requests_askers_tests.rs"]
mod askers;
#[path = "requests_behind_tests.rs"]
mod late_loops;
#[path = "requests_loops_tests.rs"]
mod loops;
#[path = "requests_made_tests.rs"]
mod made;
#[path = "requests_sights_tests.rs"]
mod sights;
#[path = "requests_tries_tests.rs"]
mod tries;
#[path = "requests_turns_tests.rs"]
mod turns;

const IDLE: u32 = 11;
const ANSWER: u32 = 13;
const OTHER: u32 = 17;
const TID: u32 = 7;
const PROCESS: u32 = 5;
/// Programs are due for a look by then, whenever they were looked at before, ns.
const REFRESHED_NS: u64 = 400_000_000;

/// Plays a thread's stretches: each begins 10 after the previous one ended, and takes 5.
#[derive(Default)]
struct Play {
    requests: Requests,
    now: u64,
    over: Vec<(u64, u64)>,
    /// What is known of them.
    known: Vec<Known>,
}

impl Play {
    fn stretch(&mut self, ended_by: EndedBy, then: Pause) -> &mut Play {
        let expected_ns = self.now + 10;
        self.now = expected_ns + 5;
        let (ran_ns, until_ns) = (expected_ns + 1, self.now);
        let stretch = Stretch { process: PROCESS, expected_ns, ended_by, ran_ns, until_ns, then };
        for request in self.requests.next(TID, &stretch) {
            self.over.push((request.expected_ns, request.end_ns));
            self.known.push(request.known);
        }
        self
    }

    /// Those that have finished since the last look.
    fn over(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.over)
    }
}

fn waits(place: u32, call: Call) -> Pause {
    Pause::Waits { place, call: Some(call) }
}

#[test]
fn a_client_with_a_period_waits_for_its_answers_within_the_request() {
    let mut play = Play::default();
    // It was found at work, woken by a thread: where it waited until then is not known.
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Sleep));
    assert_eq!(play.over(), []);
    for round in 0..3 {
        let start = play.now + 10;
        play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read));
        assert_eq!(play.over(), [], "round {round}");
        play.stretch(EndedBy::Thread, Pause::WithinWork).stretch(EndedBy::Outside, waits(OTHER, Call::Poll));
        play.stretch(EndedBy::Thread, waits(IDLE, Call::Sleep));
        assert_eq!(play.over(), [(start, start + 50)], "round {round}");
    }
}

#[test]
fn a_server_without_a_clock_is_done_when_it_waits_where_it_began() {
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    for _ in 0..3 {
        let start = play.now + 10;
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Read));
        assert_eq!(play.over(), [(start, start + 20)]);
    }
}

/// What was taken for the source was where it waited for answers: a wait for several things takes precedence.
#[test]
fn a_loop_over_many_descriptors_is_a_better_source() {
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Poll));
    // It ends as the wait for several is over.
    let until = play.now;
    play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
    assert_eq!(play.over(), [(25, until)]);
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Poll));
    assert_eq!(play.over(), [(until + 10, play.now)]);
}

/// The time limit of a wait for an answer is no period.
#[test]
fn an_answer_that_did_not_come_in_time_is_a_part_of_the_request() {
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(ANSWER, Call::Futex)).stretch(EndedBy::Thread, waits(IDLE, Call::Sleep));
    assert_eq!(play.over().len(), 1);
    let start = play.now + 10;
    play.stretch(EndedBy::Timer, waits(ANSWER, Call::Futex)).stretch(EndedBy::Timer, waits(IDLE, Call::Sleep));
    assert_eq!(play.over(), [(start, start + 20)]);
    // If nobody ever answered, it is a sleep, whatever the call.
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(OTHER, Call::Futex)).stretch(EndedBy::Timer, waits(IDLE, Call::Sleep));
    assert_eq!(play.over().len(), 2);
}

/// A lock with a time limit after which it is asked for again, such as an interpreter's: it runs out before anybody answers.
#[test]
fn a_limit_that_runs_out_each_time_is_no_period_once_somebody_answers_there() {
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(IDLE, Call::Sleep));
    let mut found = Vec::new();
    for _ in 0..3 {
        let start = play.now + 10;
        play.stretch(EndedBy::Timer, waits(ANSWER, Call::Futex)).stretch(EndedBy::Timer, waits(ANSWER, Call::Futex));
        play.stretch(EndedBy::Thread, waits(IDLE, Call::Sleep));
        found.push((start, play.now, play.over()));
    }
    let (start, end, over) = found.pop().unwrap();
    assert_eq!(over, [(start, end)]);
}

#[test]
fn the_network_answers_whoever_has_a_clock_and_wakes_whoever_has_none() {
    let mut play = Play::default();
    let start = play.now + 10;
    play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read)).stretch(EndedBy::Outside, waits(IDLE, Call::Sleep));
    assert_eq!(play.over(), [(start, start + 20)]);
    let mut play = Play::default();
    play.stretch(EndedBy::Outside, waits(IDLE, Call::Read));
    play.stretch(EndedBy::Outside, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    assert_eq!(play.over(), [(25, 45)]);
}

/// A thread that slept once and then serves: requests without an end are given up, and it is judged anew.
#[test]
fn a_source_that_does_not_come_again_is_given_up() {
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read));
    let mut found = 0;
    for _ in 0..MAX_WAITS {
        play.stretch(EndedBy::Thread, waits(OTHER, Call::Read)).stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
        found += play.over().len();
    }
    assert_eq!(play.requests.given_up(), 1);
    assert!(found as u32 > MAX_WAITS / 3, "{found}");
}

/// One of a thread that sleeps once and then serves: what it holds is not known, but for how long it went on.
#[test]
fn requests_that_were_given_up_may_have_been_late_if_they_took_as_long() {
    for (threshold_ns, expected) in [(Some(1_000_000), 0), (Some(1_000), 1), (None, 1)] {
        let mut play = Play::default();
        play.requests.late_after(threshold_ns);
        play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read));
        for _ in 0..MAX_WAITS {
            play.stretch(EndedBy::Thread, waits(OTHER, Call::Read));
        }
        assert_eq!((play.requests.given_up(), play.requests.cut()), (1, 0));
        // The next one begins where it waits now.
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
        assert_eq!(play.requests.cut(), 1);
        let open = u64::from(threshold_ns.is_none());
        assert_eq!(play.requests.maybe_late_cut(play.now), expected + open, "{threshold_ns:?}");
        play.requests.lost_sight_of(TID);
        assert_eq!(play.requests.maybe_late_cut(play.now), expected + 1, "nobody knows how long that one took");
    }
}

#[test]
fn whoever_ends_or_is_lost_is_forgotten() {
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, Pause::Ends);
    assert_eq!(play.over(), [(10, 30)]);
    assert!(play.requests.threads.is_empty());
    play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read));
    play.requests.lost_sight_of(TID);
    play.stretch(EndedBy::Thread, waits(OTHER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Sleep));
    // Since when it works on what is not known; the wait at the other place is a beginning that is.
    assert!(play.over().iter().all(|(start, _)| *start > 45), "{:?}", play.over);
    for tid in 0..MAX_THREADS as u32 + 5 {
        let then = waits(IDLE, Call::Sleep);
        let stretch =
            Stretch { process: PROCESS, expected_ns: 1, ended_by: EndedBy::Timer, ran_ns: 1, until_ns: 2, then };
        assert!(play.requests.next(tid, &stretch).count() <= 1);
    }
    assert!(play.requests.threads.len() <= MAX_THREADS);
}

/// Found waiting for its client, it is next seen to wait for an answer, and that is assumed to be its source.
#[test]
fn a_server_gets_its_requests_where_it_reads_what_it_accepted() {
    let found = || {
        let mut play = Play::default();
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Read));
        assert_eq!(play.requests.next_look(), Some(TID));
        play
    };
    let serves = |play: &mut Play| {
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
        play.over();
        let start = play.now + 10;
        play.stretch(EndedBy::Thread, waits(IDLE, Call::Read)).stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
        (start, play.over())
    };
    let mut play = found();
    let seen_ns = play.now + 1;
    play.requests.saw(TID, (seen_ns, seen_ns), WaitedFor::Request);
    let start = play.now + 10;
    play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
    play.over();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    assert_eq!(play.over(), [(start, play.now)]);
    assert_eq!(play.requests.next_look(), None, "it is known");
    // That it was seen after the wait was over says nothing about the place: its request still begins with the answer.
    // So does a look that began before the wait did.
    for (before, after) in [(1, 10), (-1, 1)] {
        let mut play = found();
        let at = |after: i64| play.now.checked_add_signed(after).unwrap();
        let look = (at(before), at(after));
        play.requests.saw(TID, look, WaitedFor::Request);
        let (start, over) = serves(&mut play);
        assert_eq!(over, [(start, start + 20)], "{before} to {after}");
    }
    // One look at a wait says all, and nobody is looked at for ever.
    let mut play = found();
    assert_eq!(play.requests.next_look(), None);
    let looks = (0..100).filter(|_| {
        play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
        play.requests.next_look().is_some()
    });
    assert_eq!(looks.count(), usize::from(MAX_LOOKS_AT_ONE) - 1);
}

/// Looks at the wait in which the thread is.
fn look(play: &mut Play, awaited: WaitedFor) {
    assert_eq!(play.requests.next_look(), Some(TID));
    let at_ns = play.now + 1;
    play.requests.saw(TID, (at_ns, at_ns), awaited);
}

/// A connection is a place of its own. A worker that serves one after the other is idle at each of them, and where it accepts.
#[test]
fn a_worker_is_done_wherever_it_waits_for_requests() {
    const NEXT: u32 = 19;
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    look(&mut play, WaitedFor::Request);
    play.stretch(EndedBy::Thread, waits(OTHER, Call::Connect));
    look(&mut play, WaitedFor::Request);
    play.stretch(EndedBy::Thread, waits(NEXT, Call::Read));
    look(&mut play, WaitedFor::Request);
    play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
    play.over();
    for place in [NEXT, OTHER, IDLE] {
        play.stretch(EndedBy::Thread, waits(place, Call::Read));
        assert_eq!(play.over().len(), 1, "{place}");
        let start = play.now + 10;
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Read));
        assert_eq!(play.over(), [(start, start + 20)], "{place}");
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
    }
}

/// Found asleep in the midst of a request, it seems to get its work from that timer.
#[test]
fn a_server_that_sleeps_within_its_requests_gets_them_where_it_reads_what_it_accepted() {
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(IDLE, Call::Read)).stretch(EndedBy::Thread, waits(OTHER, Call::Sleep));
    play.stretch(EndedBy::Timer, waits(IDLE, Call::Read));
    assert_eq!(play.over(), [(10, 30)], "until it is looked at");
    look(&mut play, WaitedFor::Request);
    play.known.clear();
    for round in 0..3 {
        let start = play.now + 10;
        play.stretch(EndedBy::Thread, waits(OTHER, Call::Sleep)).stretch(EndedBy::Timer, waits(IDLE, Call::Read));
        assert_eq!(play.over(), [(start, start + 20)], "round {round}");
    }
    let known = Known { is_asked_for: true, waits_for_answers: true, is_bounded: true, ..Known::default() };
    // After one sleep it may be the one that asks.
    let first = Known { is_asked_for: false, is_bounded: false, asker_unknown: true, ..known };
    assert_eq!(play.known, [first, known, known]);
}

/// It has a clock, and waited for a connection before that.
#[test]
fn whoever_sleeps_on_and_on_and_waits_for_no_request_has_a_period() {
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Connect));
    look(&mut play, WaitedFor::Request);
    play.stretch(EndedBy::Thread, waits(OTHER, Call::Sleep));
    for _ in 0..MAX_SLEEPS {
        play.stretch(EndedBy::Timer, waits(OTHER, Call::Sleep));
    }
    assert_eq!(play.over(), [], "it may be a long request");
    play.stretch(EndedBy::Timer, waits(OTHER, Call::Sleep));
    assert_eq!(play.over().len(), 2, "the rest of that, and one of the clock");
    let start = play.now + 10;
    play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(OTHER, Call::Sleep));
    assert_eq!(play.over(), [(start, start + 20)]);
}

/// Where it begins is one thing that is known of a request; what all its waits were for is another.
#[test]
fn what_is_known_of_a_request_is_where_it_begins_and_what_it_waits_for() {
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    look(&mut play, WaitedFor::Request);
    play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
    look(&mut play, WaitedFor::Answer);
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read)).stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read)).stretch(EndedBy::Thread, waits(OTHER, Call::Futex));
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    let known = |is_asked_for| {
        let is_bounded = is_asked_for;
        move |waits_for_answers| Known { is_asked_for, waits_for_answers, is_bounded, ..Known::default() }
    };
    assert_eq!(play.known, [true, true, false].map(known(true)));
    // Where it accepts nothing, it may be a worker that fetches its work.
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(OTHER, Call::Read)).stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
    look(&mut play, WaitedFor::Answer);
    play.stretch(EndedBy::Thread, waits(OTHER, Call::Read));
    assert_eq!(play.known, [known(false)(true)]);
}

/// A time that holds no wait for the next request is one of a thread with a clock, or of one that is asked and waits for its answers alone.
#[test]
fn a_request_is_sure_where_its_beginning_is_known_and_what_it_waits_for() {
    let sure = |play: &Play| play.known.iter().map(|known| known.is_sure()).collect::<Vec<bool>>();
    let client = |accepted: &[Connection], grows_ns: u64| {
        let mut play = Play::default();
        play.stretch(EndedBy::Thread, waits(IDLE, Call::Sleep));
        play.requests.saw_connections(TID, (play.now, play.now + 1), accepted);
        for round in 0..5 {
            play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read));
            play.now += round * grows_ns;
            play.stretch(EndedBy::Thread, waits(IDLE, Call::Sleep));
        }
        let last = play.known.last().map(|known| known.has_period);
        (sure(&play).last().copied(), last)
    };
    assert_eq!(client(&[], 0), (Some(true), Some(true)));
    // Its sleeps end at any time: they may be those of a worker within its requests, which waits for the next one in between.
    assert_eq!(client(&[], 10_000), (Some(false), Some(false)));
    // What it slept for may have been a part of a request.
    let accepted = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
    assert_eq!(client(&[accepted], 0).0, Some(false));
    // Nobody has looked.
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(IDLE, Call::Sleep));
    assert_eq!(sure(&play), [false]);
    // Another thread may have asked for it, or answered it.
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    assert_eq!(sure(&play), [false]);
    let [asked, answers] = [(true, false), (true, true)].map(|(is_asked_for, waits_for_answers)| {
        Known { is_asked_for, waits_for_answers, ..Known::default() }.is_sure()
    });
    assert_eq!((asked, answers), (false, true));
}

#[test]
fn requests_that_were_not_seen_to_end_are_counted() {
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(IDLE, Call::Sleep));
    assert_eq!((play.over().len(), play.requests.cut()), (1, 0));
    play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read));
    assert_eq!(play.requests.cut(), 1, "it is not over yet");
    play.requests.lost_sight_of(TID);
    play.requests.lost_sight_of(TID);
    assert_eq!(play.requests.cut(), 1, "its end will not be seen");
    play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Sleep));
    assert_eq!((play.over().len(), play.requests.cut()), (1, 1), "another one is over");
}

/// What has a descriptor's number may be closed, and another connection have it.
#[test]
fn connections_count_once_they_were_seen_for_a_while_and_as_long_as_they_are_seen() {
    let connection = |descriptor, inode, brings| Connection { descriptor, inode, brings };
    let (client, store) = (connection(4, 100, WaitedFor::Request), connection(5, 101, WaitedFor::Answer));
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    let mut saw = |at_ms: u64, found: &[Connection]| {
        let at_ns = at_ms * 1_000_000;
        play.requests.saw_connections(TID, (at_ns, at_ns + 1_000_000), found);
        [0, 300, 900, 2_900].map(|at_ms| {
            let known = play.requests.connections(TID, at_ms * 1_000_000);
            (known.accepted, known.connected)
        })
    };
    let none = || (Vec::<u32>::new(), Vec::<u32>::new());
    assert_eq!(saw(0, &[client, store]), [none(), none(), none(), none()]);
    let both = || (vec![4_u32], vec![5_u32]);
    assert_eq!(saw(400, &[client, store]), [none(), both(), both(), none()]);
    let another = connection(5, 102, WaitedFor::Request);
    let clients = || (vec![4_u32], Vec::<u32>::new());
    assert_eq!(saw(800, &[client, another]), [none(), clients(), clients(), none()]);
    let unknown = Connections { is_unknown: true, ..Connections::default() };
    assert_eq!(play.requests.connections(TID + 1, 300_000_000), unknown, "a thread that has ended");
    // Each program is looked at again after a while.
    assert_eq!(play.requests.next_refresh(1_000_000_000), None);
    assert_eq!(play.requests.next_refresh(1_200_000_000), Some(TID));
    assert_eq!(play.requests.next_refresh(1_200_000_000), None);
}

/// A program of a thousand threads takes no more looks than one of one.
#[test]
fn a_look_at_one_thread_counts_for_all_of_its_program() {
    let mut requests = Requests::default();
    for tid in 1..=1_000 {
        let then = waits(IDLE, Call::Read);
        let process = if tid <= 999 { PROCESS } else { PROCESS + 1 };
        let stretch = Stretch { process, expected_ns: 1, ended_by: EndedBy::Thread, ran_ns: 1, until_ns: 2, then };
        assert_eq!(requests.next(tid, &stretch).count(), 0);
    }
    let client = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
    for at_ms in [0, 400, 800] {
        let at_ns = at_ms * 1_000_000;
        let asked: Vec<u32> = std::iter::from_fn(|| requests.next_refresh(at_ns + REFRESHED_NS)).collect();
        assert_eq!(asked.len(), 2, "one of each program at {at_ms} ms: {asked:?}");
        assert!(!requests.ask_to_list(asked[0], at_ns + REFRESHED_NS), "it was just asked for");
        requests.saw_connections(asked[0], (at_ns, at_ns + 1_000_000), &[client]);
    }
    for tid in [1, 2, 500, 999] {
        assert_eq!(requests.connections(tid, 500_000_000).accepted, [4], "{tid}");
    }
    let other = requests.connections(1_000, 500_000_000);
    assert_eq!((other.accepted, other.is_unknown), (Vec::new(), true), "another program");
}

/// It has ended, or belongs to somebody whose threads may not be looked at.
#[test]
fn no_look_is_lost_on_a_thread_that_is_out_of_reach() {
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    play.requests.give_up_looks_at(TID);
    assert_eq!((play.requests.next_look(), play.requests.next_refresh(u64::MAX)), (None, None));
}

/// Its client asks again at once, so that it is hardly ever found waiting for that.
#[test]
fn a_server_that_is_only_found_waiting_for_its_store_gets_its_requests_elsewhere() {
    let client = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
    let found = |accepts: bool, awaited: WaitedFor| {
        let mut play = Play::default();
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Read));
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
        // Until then they seem to begin with the answer.
        assert_eq!(play.over(), [(25, 45)]);
        look(&mut play, awaited);
        if accepts {
            play.requests.saw_connections(TID, (play.now, play.now + 1), &[client]);
        }
        play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
        let start = play.now + 10;
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Read));
        (start, play.over())
    };
    for awaited in [WaitedFor::Answer, WaitedFor::Unclear] {
        let (start, over) = found(true, awaited);
        assert_eq!(over, [(start, start + 20)], "{awaited:?}");
        // A worker that accepts nothing may fetch its work by a connection that it asked for, or be sent it by a pipe.
        let (start, over) = found(false, awaited);
        assert_eq!(over, [(start - 15, start + 5)], "{awaited:?}");
        // Nor is there another place for one that waits nowhere else.
        let mut play = Play::default();
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
        look(&mut play, awaited);
        play.requests.saw_connections(TID, (play.now, play.now + 1), &[client]);
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
        assert_eq!(play.over(), [(25, 30), (40, 45)], "{awaited:?}");
    }
}
