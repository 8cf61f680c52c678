//! Threads that wait for answers by what their programs accepted: none of their requests is sure, nor were those before that was seen.

use super::*;

const MS: u64 = 1_000_000;
const WORKER: u32 = 19;

/// The thread's next stretch, of 1 ms, which begins so long after the one before ended, ns.
fn stretch(play: &mut Play, waited_ns: u64, ended_by: EndedBy, then: Pause) {
    let expected_ns = play.now + waited_ns;
    play.now = expected_ns + MS;
    let stretch = Stretch { process: PROCESS, expected_ns, ended_by, ran_ns: expected_ns, until_ns: play.now, then };
    for request in play.requests.next(TID, &stretch) {
        play.over.push((request.expected_ns, request.end_ns));
        play.known.push(request.known);
    }
}

/// It is seen to wait for requests where it is, while it does.
fn seen(play: &mut Play) {
    play.requests.next_look();
    let look = (play.now + 1, play.now + 2);
    play.requests.saw(TID, look, WaitedFor::Request);
}

fn sure(play: &Play) -> u64 {
    play.known.iter().filter(|known| known.is_sure()).count() as u64
}

/// Its workers have registered with it, so that it accepted their connections, too.
#[test]
fn none_of_the_requests_of_a_dispatcher_whose_workers_connect_to_it_is_sure() {
    let serve = |places: &[u32]| {
        let mut play = Play::default();
        stretch(&mut play, MS, EndedBy::Thread, waits(places[0], Call::Read));
        for round in 0..20 {
            for next in 0..places.len() {
                if round == 0 {
                    seen(&mut play);
                }
                let then = waits(places[(next + 1) % places.len()], Call::Read);
                stretch(&mut play, MS, EndedBy::Thread, then);
            }
        }
        (play.known.len() as u64, sure(&play), play.requests.not_sure_after_all())
    };
    let (all, sure, not_after_all) = serve(&[IDLE]);
    assert!(sure >= all - 2 && not_after_all == 0, "{sure} of {all}");
    let (all, sure, not_after_all) = serve(&[IDLE, WORKER]);
    assert!(all >= 30 && sure == not_after_all, "{sure} of {all}, {not_after_all}");
}

/// A server whose child connects back to it within each request, and has written its answer by the time the connection is accepted; or one that serves one
/// connection after the other, each for several requests: the places where the two wait are the same, and the sockets are not.
#[test]
fn none_of_the_requests_of_a_server_whose_children_connect_back_to_it_is_sure() {
    let serve = |keeps_connection: bool| {
        let mut play = Play::default();
        stretch(&mut play, MS, EndedBy::Thread, waits(IDLE, Call::Read));
        for round in 0..20 {
            // It reads a request, accepts a connection, and reads the next.
            for (now, next, call) in [(IDLE, WORKER, Call::Connect), (WORKER, IDLE, Call::Read)] {
                play.requests.next_look();
                play.requests.saw(TID, (play.now + 1, play.now + 2), WaitedFor::Request);
                if now == IDLE {
                    play.requests.saw_socket(TID, play.now + 1, 100 + if keeps_connection { 0 } else { round });
                }
                stretch(&mut play, MS, EndedBy::Thread, waits(next, call));
            }
        }
        (play.known.len() as u64, sure(&play), play.requests.not_sure_after_all())
    };
    let (all, sure, not_after_all) = serve(false);
    assert!(sure >= all - 2 && not_after_all == 0, "{sure} of {all}");
    let (all, sure, not_after_all) = serve(true);
    assert!(all >= 30 && sure == not_after_all, "{sure} of {all}, {not_after_all}");
}

/// A client with a period whose server answers by a connection of its own: what it sleeps until its next request is in none.
#[test]
fn a_client_that_accepts_its_answers_does_not_sleep_within_its_requests() {
    const PERIOD_NS: u64 = 25 * MS;
    let mut play = Play::default();
    let client = Connection { descriptor: 3, inode: 100, brings: WaitedFor::Request };
    stretch(&mut play, MS, EndedBy::Thread, waits(OTHER, Call::Sleep));
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[client]);
    let mut due_ns = play.now;
    for round in 0..20 {
        due_ns += PERIOD_NS;
        let waited_ns = due_ns - play.now;
        stretch(&mut play, waited_ns, EndedBy::Timer, waits(ANSWER, Call::Connect));
        if round == 0 {
            seen(&mut play);
        }
        let answered_ns = if round % 3 == 0 { 12 * MS } else { MS };
        stretch(&mut play, answered_ns, EndedBy::Thread, waits(OTHER, Call::Sleep));
    }
    let of_last: Vec<(u64, u64)> = play.over.iter().copied().rev().take(10).collect();
    assert!(of_last.iter().all(|(from_ns, to_ns)| to_ns - from_ns <= 14 * MS), "{of_last:?}");
    let known = &play.known[play.known.len() - 10..];
    assert!(known.iter().all(|known| known.may_be_part && !known.is_asked_for), "{known:?}");
    assert_eq!(sure(&play), play.requests.not_sure_after_all());
}

/// An editor whose language server connected to it, and a server that sleeps within its requests: both read, sleep, write and read. A person's pauses are never as
/// long as the one before; a store is mostly as far.
#[test]
fn a_sleep_between_two_answers_is_no_part_of_a_request_where_it_is_another_each_time() {
    let serve = |pause_ns: fn(u64) -> u64| {
        let mut play = Play::default();
        stretch(&mut play, MS, EndedBy::Thread, waits(IDLE, Call::Read));
        for round in 0..40 {
            if round == 0 {
                seen(&mut play);
            }
            stretch(&mut play, 11 * MS + round * MS / 3, EndedBy::Thread, waits(OTHER, Call::Sleep));
            stretch(&mut play, pause_ns(round), EndedBy::Timer, waits(IDLE, Call::Read));
        }
        let last = &play.over[play.over.len() - 10..];
        let longest_ns = last.iter().map(|(from_ns, to_ns)| to_ns - from_ns).max();
        let known = &play.known[play.known.len() - 10..];
        (longest_ns, known.iter().any(|known| known.is_asked_for), sure(&play) - play.requests.not_sure_after_all())
    };
    let (longest_ns, is_asked_for, sure) = serve(|round| (5 + round * 7 % 23) * MS);
    assert!(!is_asked_for && sure == 0, "{longest_ns:?} {sure}");
    let (longest_ns, is_asked_for, sure) = serve(|round| if round % 11 == 10 { 30 * MS } else { 20 * MS });
    assert!(is_asked_for && sure > 30 && longest_ns >= Some(20 * MS), "{longest_ns:?} {sure}");
}
