//! Servers that sleep within their requests, and event loops.

use super::*;

/// An event loop is answered by nobody where it waits for several things, and whatever a timer ends elsewhere is a part of its request.
#[test]
fn a_loop_that_sleeps_within_its_requests_gets_them_where_it_waits_for_several_things() {
    let mut cases = 0;
    // A plain sleep, a timer that is read, `poll` for nothing, a condition with a time limit.
    for call in [Call::Sleep, Call::Read, Call::Poll, Call::Futex] {
        for awaited in [WaitedFor::Request, WaitedFor::Either] {
            let mut play = Play::default();
            play.stretch(EndedBy::Timer, waits(IDLE, Call::Poll));
            look(&mut play, awaited);
            for round in 0..3 {
                let start = play.now + 10;
                play.stretch(EndedBy::Thread, waits(OTHER, call)).stretch(EndedBy::Timer, waits(IDLE, Call::Poll));
                assert_eq!(play.over(), [(start, start + 20)], "{call:?} {awaited:?} {round}");
            }
            // Where something else may come as well, it is not known that somebody asked.
            let is_asked_for: Vec<bool> = play.known.iter().map(|known| known.is_asked_for).collect();
            // Nor after one sleep, when it may be the one that asks.
            assert_eq!(is_asked_for, [false, awaited == WaitedFor::Request, awaited == WaitedFor::Request]);
            // Nobody asks when its time limit is over, and that is no other source.
            play.known.clear();
            play.stretch(EndedBy::Timer, waits(IDLE, Call::Poll));
            assert_eq!((play.over().len(), play.known[0].is_asked_for), (1, false));
            let start = play.now + 10;
            play.stretch(EndedBy::Thread, waits(OTHER, call)).stretch(EndedBy::Timer, waits(IDLE, Call::Poll));
            assert_eq!(play.over(), [(start, start + 20)], "{call:?} {awaited:?}");
            cases += 1;
        }
    }
    assert_eq!(cases, 8);
}

/// A loop that waits for clients and for those that it asks in one call ends a request with each of them, in whatever order they come: which answer belongs to
/// which request is not known, nor of any that it is one.
#[test]
fn no_request_of_a_loop_that_is_answered_out_of_order_is_known_to_be_whole() {
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(IDLE, Call::Poll));
    look(&mut play, WaitedFor::Either);
    play.known.clear();
    for _ in 0..4 {
        play.stretch(EndedBy::Thread, waits(IDLE, Call::Poll));
    }
    let told: Vec<[bool; 3]> =
        play.known.iter().map(|known| [known.is_bounded, known.is_asked_for, known.is_sure()]).collect();
    assert_eq!(told, [[false; 3]; 4]);
}

/// A worker of a pool is handed its requests by a queue: what it waits for within one may be the next one, unless it waits for nothing.
#[test]
fn a_request_of_a_pools_worker_is_known_to_be_whole_only_if_it_waits_for_nobody() {
    for asks in [false, true] {
        let mut play = Play::default();
        play.stretch(EndedBy::Thread, waits(IDLE, Call::Futex));
        play.known.clear();
        for _ in 0..3 {
            if asks {
                play.stretch(EndedBy::Thread, waits(OTHER, Call::Read));
            }
            play.stretch(EndedBy::Thread, waits(IDLE, Call::Futex));
        }
        let told: Vec<[bool; 2]> = play.known.iter().map(|known| [known.is_bounded, known.is_sure()]).collect();
        assert_eq!(told, [[!asks, false]; 3], "asks: {asks}");
    }
}

/// Of a list nobody tells what is in it: in a program that accepts connections, it is those.
#[test]
fn a_list_of_several_things_is_for_requests_where_the_program_accepts_connections() {
    let client = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
    for (connections, expected) in [(&[client][..], 1), (&[][..], 0)] {
        let mut play = Play::default();
        play.stretch(EndedBy::Timer, waits(IDLE, Call::Poll));
        look(&mut play, WaitedFor::Several);
        play.requests.saw_connections(TID, (play.now, play.now + 1), connections);
        play.stretch(EndedBy::Thread, waits(OTHER, Call::Read)).stretch(EndedBy::Timer, waits(IDLE, Call::Poll));
        let start = play.now + 10;
        play.over();
        play.stretch(EndedBy::Thread, waits(OTHER, Call::Read)).stretch(EndedBy::Timer, waits(IDLE, Call::Poll));
        let whole = play.over().into_iter().filter(|over| *over == (start, play.now)).count();
        assert_eq!(whole, expected, "{connections:?}");
    }
}

/// Its time limit is what wakes it first, where it was not seen to begin its wait.
#[test]
fn a_loop_with_a_tick_gets_its_requests_where_it_waits_up_to_that() {
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(IDLE, Call::Poll));
    play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Poll));
    play.stretch(EndedBy::Timer, waits(IDLE, Call::Poll));
    play.over();
    for round in 0..3 {
        let start = play.now + 10;
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Poll));
        assert_eq!(play.over(), [(start, start + 20)], "{round}");
    }
}

/// Its client asks again at once, so that it is never found waiting for that: what follows its sleeps seems to be its requests.
#[test]
fn what_a_timer_begins_may_be_a_part_of_a_request_in_a_program_that_accepts_connections() {
    let client = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
    for (connections, expected) in [(&[client][..], true), (&[][..], false)] {
        let mut play = Play::default();
        play.stretch(EndedBy::Timer, waits(IDLE, Call::Read));
        play.requests.saw_connections(TID, (play.now, play.now + 1), connections);
        for _ in 0..3 {
            play.stretch(EndedBy::Thread, waits(OTHER, Call::Read)).stretch(EndedBy::Timer, waits(IDLE, Call::Read));
        }
        let parts: Vec<bool> = play.known.iter().map(|known| known.may_be_part).collect();
        assert_eq!(parts, [expected; 3], "{connections:?}");
    }
    // A thread that does nothing but keep its period serves nobody.
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(OTHER, Call::Sleep));
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[client]);
    play.stretch(EndedBy::Timer, waits(OTHER, Call::Sleep)).stretch(EndedBy::Timer, waits(OTHER, Call::Sleep));
    assert_eq!(play.known.iter().map(|known| known.may_be_part).collect::<Vec<bool>>(), [false; 3]);
}

/// By a pipe or a pair of sockets a server that sleeps within its requests looks like a client with a period; but it has more than one request between
/// two sleeps, and not always as many.
#[test]
fn whoever_waits_by_a_pipe_a_different_number_of_times_may_be_a_server() {
    let parts = |rounds: &[usize]| {
        let mut play = Play::default();
        play.stretch(EndedBy::Timer, waits(IDLE, Call::Read));
        look(&mut play, WaitedFor::Unclear);
        play.stretch(EndedBy::Thread, waits(OTHER, Call::Sleep));
        play.known.clear();
        for waited in rounds {
            play.stretch(EndedBy::Timer, waits(IDLE, Call::Read));
            (1..*waited).for_each(|_| {
                play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
            });
            play.stretch(EndedBy::Thread, waits(OTHER, Call::Sleep));
        }
        play.known.iter().map(|known| known.may_be_part).collect::<Vec<bool>>()
    };
    assert_eq!(parts(&[1, 1, 1]), [false; 3]);
    assert_eq!(parts(&[2, 2, 2]), [false; 3]);
    assert_eq!(parts(&[1, 3, 1]), [false, true, true]);
}

/// It sleeps for as long each time, whenever it is asked; whoever has a period sleeps until the next is due.
#[test]
fn whoever_waits_by_a_pipe_and_sleeps_for_as_long_each_time_may_be_a_server() {
    const MS: u64 = 1_000_000;
    let parts = |awaited: WaitedFor, call: Call, sleeps: [(u64, u64); 5]| {
        let mut play = Play::default();
        play.stretch(EndedBy::Timer, waits(IDLE, call));
        look(&mut play, awaited);
        for (pause_ms, asleep_ms) in sleeps {
            play.now += pause_ms * MS;
            play.stretch(EndedBy::Thread, waits(OTHER, Call::Sleep));
            play.now += asleep_ms * MS;
            play.known.clear();
            play.stretch(EndedBy::Timer, waits(IDLE, call));
        }
        // The last one.
        play.stretch(EndedBy::Thread, waits(OTHER, Call::Sleep));
        play.known.iter().any(|known| known.may_be_part)
    };
    let for_a_while = [(5, 35), (9, 35), (20, 35), (3, 35), (50, 35)];
    let until_a_time = [(1, 19), (5, 15), (1, 19), (12, 8), (2, 18)];
    for (awaited, call, expected) in [
        (WaitedFor::Unclear, Call::Read, true),
        (WaitedFor::UnclearSet, Call::Poll, true),
        (WaitedFor::Several, Call::Poll, true),
        (WaitedFor::Answer, Call::Read, false),
    ] {
        assert_eq!(parts(awaited, call, for_a_while), expected, "{awaited:?} {call:?}");
        assert!(!parts(awaited, call, until_a_time), "{awaited:?} {call:?}");
    }
}

/// Its sleeps tell, whatever it waits for besides: they last as long each time, or too few of them were seen.
#[test]
fn it_is_known_of_a_request_whether_its_thread_may_sleep_within_requests() {
    const MS: u64 = 1_000_000;
    for (sleeps, expected) in [
        (&[(5, 35), (9, 35), (20, 35), (3, 35), (50, 35)][..], true),
        (&[(1, 19), (5, 15), (1, 19), (12, 8), (2, 18)][..], false),
        (&[(1, 19)][..], true),
    ] {
        let mut play = Play::default();
        play.stretch(EndedBy::Timer, waits(IDLE, Call::Futex));
        for (pause_ms, asleep_ms) in sleeps {
            play.now += pause_ms * MS;
            play.stretch(EndedBy::Thread, waits(OTHER, Call::Sleep));
            play.now += asleep_ms * MS;
            play.stretch(EndedBy::Timer, waits(IDLE, Call::Futex));
        }
        play.stretch(EndedBy::Thread, waits(OTHER, Call::Sleep));
        assert_eq!(play.known.last().map(|known| known.may_sleep_within), Some(expected), "{sleeps:?}");
    }
}

/// Others may hold a wait for the next request, or be a part of one.
#[test]
fn it_is_counted_where_requests_begin_and_end_only_by_assumption() {
    let last = |known: &[Known]| known.last().map(|known| known.is_bounded);
    let answered = |begins_in: Call, within: Option<Call>, awaited: Option<WaitedFor>| {
        let mut play = Play::default();
        play.stretch(EndedBy::Thread, waits(IDLE, begins_in));
        if let Some(awaited) = awaited {
            look(&mut play, awaited);
        }
        if let Some(call) = within {
            play.stretch(EndedBy::Thread, waits(ANSWER, call));
        }
        play.stretch(EndedBy::Thread, waits(IDLE, begins_in));
        last(&play.known)
    };
    // It waits for nobody within it; which of two asks; a loop may wait for answers where it waits for requests.
    assert_eq!(answered(Call::Read, None, None), Some(true));
    assert_eq!(answered(Call::Read, Some(Call::Read), None), Some(false));
    assert_eq!(answered(Call::Poll, None, None), Some(false));
    assert_eq!(answered(Call::Read, Some(Call::Read), Some(WaitedFor::Request)), Some(true));
    assert_eq!(answered(Call::Poll, Some(Call::Read), Some(WaitedFor::Request)), Some(true));
    assert_eq!(answered(Call::Poll, Some(Call::Read), Some(WaitedFor::Either)), Some(false));
    // A timer is a clock if it ends in equal steps. A server that sleeps within its requests has none, and its client may ask at once.
    for (grows_ns, expected) in [(0, true), (10_000, false)] {
        let mut play = Play::default();
        play.stretch(EndedBy::Timer, waits(IDLE, Call::Sleep));
        play.requests.saw_connections(TID, (play.now, play.now + 1), &[]);
        for round in 0..4 {
            play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read));
            play.now += round * grows_ns;
            play.stretch(EndedBy::Thread, waits(IDLE, Call::Sleep));
        }
        assert_eq!(last(&play.known), Some(expected), "{grows_ns}");
    }
}

/// Another thread read the request that it worked on.
#[test]
fn threads_that_ended_in_a_program_that_accepts_connections_are_counted() {
    let client = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[client]);
    for (tid, process, expected) in [(TID + 1, PROCESS, 1), (TID + 2, PROCESS, 2), (TID + 3, PROCESS + 1, 2)] {
        let (ended_by, then) = (EndedBy::Thread, Pause::Ends);
        let stretch = Stretch { process, expected_ns: 1, ended_by, ran_ns: 1, until_ns: 2, then };
        assert_eq!((play.requests.next(tid, &stretch).count(), play.requests.ended()), (0, expected));
    }
    // It has read its requests itself.
    look(&mut play, WaitedFor::Request);
    play.stretch(EndedBy::Thread, Pause::Ends);
    assert_eq!(play.requests.ended(), 2);
}

/// Most of those that are made to answer one request are never woken.
#[test]
fn threads_that_ended_without_a_wakeup_are_counted_too() {
    let client = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[client]);
    for (tid, process, expected) in [(TID + 1, PROCESS, 1), (TID + 2, PROCESS + 1, 1), (TID + 3, PROCESS, 2)] {
        play.requests.ended_unseen(tid, process);
        assert_eq!(play.requests.ended(), expected);
    }
    // It has read its requests itself, and works on one.
    look(&mut play, WaitedFor::Request);
    play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
    play.requests.ended_unseen(TID, PROCESS);
    assert_eq!((play.requests.ended(), play.requests.cut()), (2, 1));
}

/// A server that forks for each connection: what its children did for that is in no request.
#[test]
fn processes_that_ended_beside_a_program_that_accepts_connections_are_counted() {
    let client = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
    let children = |accepts: bool, count: u32| {
        let mut play = Play::default();
        play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
        if accepts {
            play.requests.saw_connections(TID, (play.now, play.now + 1), &[client]);
        }
        for child in 100..100 + count {
            if child % 2 == 0 {
                play.requests.ended_unseen(child, child);
                continue;
            }
            let (ended_by, then) = (EndedBy::Thread, Pause::Ends);
            let stretch = Stretch { process: child, expected_ns: 1, ended_by, ran_ns: 1, until_ns: 2, then };
            assert_eq!(play.requests.next(child, &stretch).count(), 0);
        }
        play.requests.ended()
    };
    assert_eq!([children(true, 2), children(true, 3), children(true, 20), children(false, 20)], [0, 3, 20, 0]);
}

/// The C library's thread for timers that are to call a function makes a thread for each time, in which the program waits for its answer.
#[test]
fn a_thread_that_hands_its_requests_on_to_threads_that_it_makes_has_no_sure_ones() {
    let serve = |makes_one_in: u32| {
        let mut play = Play::default();
        play.stretch(EndedBy::Timer, waits(IDLE, Call::Signal));
        play.requests.saw_connections(TID, (play.now, play.now + 1), &[]);
        for round in 0..40 {
            play.stretch(EndedBy::Timer, waits(IDLE, Call::Signal));
            if round % makes_one_in == 0 {
                let (ended_by, then) = (EndedBy::Thread, Pause::Ends);
                let (expected_ns, until_ns) = (play.now + 1, play.now + 3);
                let stretch = Stretch { process: PROCESS, expected_ns, ended_by, ran_ns: expected_ns, until_ns, then };
                assert_eq!(play.requests.next(TID + 1 + round, &stretch).count(), 0);
            }
        }
        let sure = play.known.iter().filter(|known| known.is_sure()).count() as u64;
        (sure, play.requests.not_sure_after_all(), play.requests.ended())
    };
    let (sure, not_after_all, made) = serve(1);
    assert!(sure > 30 && not_after_all == sure && made == 40, "{sure} {not_after_all} {made}");
    let (sure, not_after_all, made) = serve(20);
    assert!(sure > 30 && not_after_all == 0 && made == 0, "{sure} {not_after_all} {made}");
}

/// Whoever reads an answer out of a local stream socket wakes the server that wrote it.
#[test]
fn a_short_stretch_right_after_a_longer_one_may_be_a_wakeup_in_vain() {
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    for (ended_by, worked_ns, call, expected) in [
        (EndedBy::Thread, 40_000, Call::Read, false),
        (EndedBy::Thread, 3_000, Call::Read, true),
        // There is one at most for each answer.
        (EndedBy::Thread, 3_000, Call::Read, false),
        (EndedBy::Thread, 4_000, Call::Read, false),
        (EndedBy::Thread, 60_000, Call::Read, false),
        (EndedBy::Thread, 25_000, Call::Read, false),
        // A packet is no such waking, nor does whoever waits for a word have one.
        (EndedBy::Sender, 3_000, Call::Read, false),
        (EndedBy::Thread, 60_000, Call::Read, false),
        (EndedBy::Thread, 3_000, Call::Futex, false),
    ] {
        let (process, expected_ns) = (PROCESS, play.now + 10);
        let (ran_ns, until_ns, then) = (expected_ns, expected_ns + worked_ns, waits(IDLE, call));
        play.now = until_ns;
        let stretch = Stretch { process, expected_ns, ended_by, ran_ns, until_ns, then };
        let over: Vec<bool> = play.requests.next(TID, &stretch).map(|over| over.known.may_be_in_vain).collect();
        assert_eq!(over, [expected], "{ended_by:?} {worked_ns} {call:?}");
    }
}

/// A tick of a loop, or a thread in the background, is as likely as a request.
#[test]
fn what_a_timer_begins_in_a_program_that_accepts_connections_may_be_a_tick() {
    let client = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
    let ticks = |play: &Play| play.known.iter().map(|known| known.may_be_tick).collect::<Vec<bool>>();
    for (connections, expected) in [(&[client][..], [false, true, true]), (&[][..], [false; 3])] {
        let mut play = Play::default();
        play.stretch(EndedBy::Timer, waits(OTHER, Call::Sleep));
        play.requests.saw_connections(TID, (play.now, play.now + 1), connections);
        play.stretch(EndedBy::Timer, waits(OTHER, Call::Sleep)).stretch(EndedBy::Timer, waits(OTHER, Call::Sleep));
        assert_eq!(ticks(&play), expected, "{connections:?}");
    }
    // The time limit of the call in which it waits for its requests.
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(IDLE, Call::Poll));
    look(&mut play, WaitedFor::Request);
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[client]);
    play.stretch(EndedBy::Timer, waits(IDLE, Call::Poll)).stretch(EndedBy::Thread, waits(IDLE, Call::Poll));
    assert_eq!(ticks(&play), [true, false]);
}
