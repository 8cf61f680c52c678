//! Threads of which the direction of a connection does not tell whether they ask by it or are asked.

use super::*;

const MS: u64 = 1_000_000;

/// The thread's next stretch, of 0.2 ms, which begins at this time, ns.
fn stretch(play: &mut Play, expected_ns: u64, ended_by: EndedBy, then: Pause) {
    play.now = expected_ns + MS / 5;
    let stretch = Stretch { process: PROCESS, expected_ns, ended_by, ran_ns: expected_ns, until_ns: play.now, then };
    for request in play.requests.next(TID, &stretch) {
        play.over.push((request.expected_ns, request.end_ns));
        play.known.push(request.known);
    }
}

/// Nobody gets a CPU at once: a little later each time, ns, and no clock shows in it.
fn strays_ns(round: u64) -> u64 {
    round * round * 7_919 % 300_000
}

/// It is seen to wait for this where it is.
fn seen(play: &mut Play, awaited: WaitedFor) {
    play.requests.next_look();
    play.requests.saw(TID, (play.now + 1, play.now + 2), awaited);
}

fn is_unknown(play: &Play) -> Vec<bool> {
    play.known.iter().map(|known| known.asker_unknown).collect()
}

/// A service that asked for its connection, and naps for 12 ms in some of the requests that come by it: each so long after the one before, or after its answer, ms.
fn serve(awaited: WaitedFor, naps: fn(u64) -> bool, step_ms: u64, since_answer: bool) -> Play {
    let mut play = Play::default();
    stretch(&mut play, MS, EndedBy::Thread, waits(IDLE, Call::Read));
    seen(&mut play, awaited);
    let mut asked_ns = 0;
    for round in 1..60 {
        asked_ns = if since_answer { play.now + step_ms * MS } else { asked_ns + step_ms * MS };
        let come_ns = asked_ns + strays_ns(round);
        if naps(round) {
            stretch(&mut play, come_ns, EndedBy::Thread, waits(OTHER, Call::Sleep));
            let woken_ns = play.now + 12 * MS;
            stretch(&mut play, woken_ns, EndedBy::Timer, waits(IDLE, Call::Read));
        } else {
            stretch(&mut play, come_ns, EndedBy::Thread, waits(IDLE, Call::Read));
        }
    }
    play
}

#[test]
fn a_service_that_is_asked_by_a_clock_gets_its_requests_by_the_connection_for_which_it_asked() {
    for naps in [|round| round % 3 == 1, |round| round * 7 % 11 < 3] as [fn(u64) -> bool; 2] {
        let play = serve(WaitedFor::Answer, naps, 20, false);
        let last = &play.over[play.over.len() - 30..];
        let longest_ns = last.iter().map(|(from_ns, to_ns)| to_ns - from_ns).max();
        assert!(longest_ns < Some(13 * MS), "no wait for the next one is in a request: {last:?}");
        let long = last.iter().filter(|(from_ns, to_ns)| to_ns - from_ns > 10 * MS).count();
        assert_eq!(long, (30..60).filter(|round| naps(*round)).count(), "each nap is in one");
        assert!(play.known.iter().all(|known| !known.is_sure()), "what comes there may be an answer");
    }
}

/// Until then, and where whoever asks keeps no clock, nothing tells.
#[test]
fn whether_a_service_that_sleeps_in_some_requests_is_asked_is_not_known() {
    for naps in [|round| round % 3 == 1, |round| round * 7 % 11 < 3] as [fn(u64) -> bool; 2] {
        let play = serve(WaitedFor::Answer, naps, 15, true);
        let longs = play.over.iter().zip(&play.known).filter(|((from_ns, to_ns), _)| to_ns - from_ns > 14 * MS);
        let told: Vec<(bool, bool)> = longs.map(|(_, known)| (known.asker_unknown, known.is_bounded)).collect();
        assert!(told.len() > 10 && told.iter().all(|told| *told == (true, false)), "{told:?}");
    }
}

/// A client that sleeps for a while, and asks so often each time; its store mostly answers within 1 ms.
#[test]
fn a_client_asks_that_does_so_about_as_often_after_each_sleep() {
    let ask = |often: fn(u64) -> u64, store_ms: u64| {
        let mut play = Play::default();
        stretch(&mut play, MS, EndedBy::Thread, waits(OTHER, Call::Sleep));
        for round in 0..30 {
            let woken_ns = play.now + 10 * MS;
            stretch(&mut play, woken_ns, EndedBy::Timer, waits(ANSWER, Call::Read));
            for question in 0..often(round) {
                if (round, question) == (0, 0) {
                    seen(&mut play, WaitedFor::Answer);
                }
                let slow_ns = if (round + question) % 4 == 3 { 15 * MS } else { store_ms * MS };
                let answered_ns = play.now + slow_ns + strays_ns(round);
                let is_last = question + 1 == often(round);
                let then = if is_last { waits(OTHER, Call::Sleep) } else { waits(ANSWER, Call::Read) };
                stretch(&mut play, answered_ns, EndedBy::Thread, then);
            }
        }
        assert!(play.over.len() >= 29, "its requests go from sleep to sleep: {:?}", play.over);
        let slow =
            play.over.iter().zip(is_unknown(&play)).skip(5).filter(|((from_ns, to_ns), _)| to_ns - from_ns > 14 * MS);
        slow.map(|(_, is_unknown)| is_unknown).collect::<Vec<bool>>()
    };
    for often in [|_| 1, |_| 3, |round| 1 + round % 2] as [fn(u64) -> u64; 3] {
        let slow = ask(often, 1);
        assert!(slow.len() >= 5 && slow.iter().all(|unknown| !unknown), "{slow:?}");
    }
    let slow = ask(|_| 1, 8);
    assert!(slow.len() >= 5 && slow.iter().all(|unknown| *unknown), "as a service that sleeps in each: {slow:?}");
    let slow = ask(|round| 1 + round % 3 * 4, 1);
    assert!(slow.len() >= 5 && slow.iter().all(|unknown| *unknown), "as a service that sleeps in some: {slow:?}");
}

#[test]
fn a_client_that_keeps_a_clock_asks_however_often_it_does() {
    let mut play = Play::default();
    stretch(&mut play, MS, EndedBy::Thread, waits(OTHER, Call::Sleep));
    for round in 1..30 {
        stretch(&mut play, round * 20 * MS, EndedBy::Timer, waits(ANSWER, Call::Read));
        for question in 0..=round % 3 {
            let then = if question == round % 3 { waits(OTHER, Call::Sleep) } else { waits(ANSWER, Call::Read) };
            let answered_ns = play.now + 3 * MS;
            stretch(&mut play, answered_ns, EndedBy::Thread, then);
        }
    }
    assert!(is_unknown(&play)[5..].iter().all(|unknown| !unknown), "{:?}", is_unknown(&play));
}

/// A program that accepts a connection and asks by it after pauses, and servers that sleep within their requests.
#[test]
fn the_first_pauses_between_what_comes_by_an_accepted_connection_may_be_those_of_whoever_asks() {
    let read = |sleeps: fn(u64) -> Option<u64>| {
        let mut play = Play::default();
        stretch(&mut play, MS, EndedBy::Thread, waits(IDLE, Call::Read));
        seen(&mut play, WaitedFor::Request);
        for round in 0..8 {
            let come_ns = play.now + (3 + round % 2) * MS;
            match sleeps(round) {
                Some(ms) => {
                    stretch(&mut play, come_ns, EndedBy::Thread, waits(OTHER, Call::Sleep));
                    let woken_ns = play.now + ms * MS;
                    stretch(&mut play, woken_ns, EndedBy::Timer, waits(IDLE, Call::Read));
                }
                None => stretch(&mut play, come_ns, EndedBy::Thread, waits(IDLE, Call::Read)),
            }
        }
        let long = play.over.iter().zip(&play.known).filter(|((from_ns, to_ns), _)| to_ns - from_ns > 5 * MS);
        long.map(|(_, known)| (known.asker_unknown, known.is_asked_for, known.is_bounded)).collect::<Vec<_>>()
    };
    let (maybe, surely) = ((true, false, false), (false, true, true));
    let pauses = read(|round| Some(7 + round * 5 % 23));
    assert!(pauses.len() >= 4 && pauses.iter().take(4).all(|told| *told == maybe), "{pauses:?}");
    assert_eq!(read(|_| Some(20)), [maybe; 8], "as long each time, as a collector pauses whose agent answers sooner");
    let each = read(|_| Some(6));
    assert_eq!((each[0], &each[1..]), (maybe, &[surely; 7][..]), "what comes takes longer than half of that");
    let some = read(|round| (round > 3).then_some(5 + round % 2));
    assert_eq!(some, [surely; 4], "it went on without a sleep before");
}

/// A collector whose agents have connected to it: it asks so many in each round, and pauses for 15 ms, or for 0, after that; or a server that sleeps in every so manieth request of its
/// only client. What comes takes this long, ms, and the program has so many connections that it accepted, and so many threads.
fn rounds(awaited: WaitedFor, often: u64, took_ms: u64, (accepted, threads): (usize, usize), pause_ms: u64) -> Play {
    let mut play = Play::default();
    stretch(&mut play, MS, EndedBy::Thread, waits(IDLE, Call::Read));
    let client = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[client]);
    play.requests.programs.saw_accepted(PROCESS, accepted, threads);
    for round in 0..20 {
        for question in 0..often {
            if (round, question) == (0, 0) {
                seen(&mut play, awaited);
            }
            let answered_ns = play.now + took_ms * MS + strays_ns(round);
            let pauses = question + 1 == often && pause_ms > 0;
            let then = if pauses { waits(OTHER, Call::Sleep) } else { waits(IDLE, Call::Read) };
            stretch(&mut play, answered_ns, EndedBy::Thread, then);
        }
        if pause_ms > 0 {
            let woken_ns = play.now + pause_ms * MS;
            stretch(&mut play, woken_ns, EndedBy::Timer, waits(IDLE, Call::Read));
        }
    }
    play
}

/// Of requests that hold a pause, whether it is unknown who asks.
fn paused(play: &Play) -> Vec<bool> {
    let long =
        play.over.iter().zip(&play.known).filter(|((from_ns, to_ns), _)| (15..17).contains(&((to_ns - from_ns) / MS)));
    long.map(|(_, known)| known.asker_unknown).collect()
}

#[test]
fn a_pause_between_rounds_makes_no_request_of_a_collector_late_for_certain() {
    for often in [1, 3] {
        let collects = rounds(WaitedFor::Request, often, 20, (3, 1), 15);
        assert!(paused(&collects).iter().all(|unknown| *unknown), "{often} {:?}", collects.over);
        let apart = collects.over[collects.over.len() - 16..].windows(2).map(|pair| pair[1].0 - pair[0].1);
        assert!(apart.eq([15 * MS; 15]), "the pauses are in none: {:?}", collects.over);
        assert!(collects.known.iter().rev().take(16).all(|known| known.may_be_part && !known.is_sure()));
        for connections in [(1, 1), (3, 3)] {
            let serves = paused(&rounds(WaitedFor::Request, often, 20, connections, 15));
            assert!(serves.len() >= 18 && serves[1..].iter().all(|unknown| !unknown), "{often} {serves:?}");
            let either = paused(&rounds(WaitedFor::Request, often, 2, connections, 15));
            assert!(either.len() >= 18 && either.iter().all(|unknown| *unknown), "it may ask: {often} {either:?}");
            let serves = paused(&rounds(WaitedFor::Either, often, 2, connections, 15));
            assert!(serves.len() >= 18 && serves[1..].iter().all(|unknown| !unknown), "a loop: {often} {serves:?}");
        }
    }
}

#[test]
fn nothing_that_a_collector_reads_is_surely_a_request() {
    let sure = |connections| {
        let play = rounds(WaitedFor::Request, 3, 2, connections, 0);
        let sure = play.known.iter().filter(|known| known.is_sure()).count() as u64;
        (play.known.len(), sure - play.requests.not_sure_after_all())
    };
    assert_eq!(sure((3, 1)).1, 0);
    let (all, surely) = sure((1, 1));
    assert!(all > 50 && surely > 50, "{surely} of {all}");
}
