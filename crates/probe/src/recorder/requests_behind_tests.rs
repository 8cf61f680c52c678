//! Clients with a period whose answers come so late that they do not sleep.

use super::*;

const MS: u64 = 1_000_000;
const PERIOD_NS: u64 = 20 * MS;
/// So many requests in time tell the period, and how often it asks.
const IN_TIME: usize = 8;

/// A client that is due every 20 ms, and goes on at once where that has passed. For each request its answers take so long, ms.
fn client(requests: &[&[u64]]) -> Play {
    let mut play = Play::default();
    let (mut woken_ns, mut by) = (10, EndedBy::Timer);
    let stretch = |play: &mut Play, woken_ns: u64, by, then| {
        play.now = woken_ns - 10;
        play.stretch(by, then);
    };
    for (due_ns, answers) in (1_u64..).map(|number| number * PERIOD_NS).zip(requests) {
        if woken_ns + 5 < due_ns {
            stretch(&mut play, woken_ns, by, waits(IDLE, Call::Sleep));
            play.requests.saw_connections(TID, (play.now, play.now + 1), &[]);
            (woken_ns, by) = (due_ns, EndedBy::Timer);
        }
        for answer in *answers {
            stretch(&mut play, woken_ns, by, waits(ANSWER, Call::Read));
            if due_ns == PERIOD_NS && by == EndedBy::Timer {
                look(&mut play, WaitedFor::Answer);
            }
            (woken_ns, by) = (play.now + answer * MS, EndedBy::Thread);
        }
    }
    stretch(&mut play, woken_ns, by, waits(IDLE, Call::Sleep));
    // What it did when it was found.
    play.over.remove(0);
    play.known.remove(0);
    play
}

/// When those that began without their timer were due, ms.
fn due_ms(play: &Play) -> Vec<u64> {
    play.known.iter().filter_map(|known| known.due_ns).map(|ns| ns / MS).collect()
}

#[test]
fn whoever_is_behind_sends_the_next_request_at_once() {
    let mut requests = [&[5][..]; IN_TIME].to_vec();
    requests.extend([&[50][..], &[5], &[5], &[5], &[5]]);
    let play = client(&requests);
    let took: Vec<u64> = play.over.iter().map(|(start, end)| (end - start) / MS).collect();
    // Due at 180 ms and answered at 230; those due at 200, 220 and 240 at 235, 240 and 245; then one in time.
    assert_eq!(took, [5, 5, 5, 5, 5, 5, 5, 5, 50, 5, 5, 5, 5], "{:?}", play.over);
    assert_eq!(due_ms(&play), [200, 220, 240]);
    let series = &play.over[IN_TIME..IN_TIME + 4];
    assert!(series.windows(2).all(|pair| pair[0].1 == pair[1].0), "one begins as the other ends: {series:?}");
    let last = &play.known[IN_TIME..];
    assert!(last.iter().all(|known| known.is_sure() && known.is_bounded && !known.may_be_several), "{last:?}");
    assert!(last[1].is_known_to_begin() && !last[0].is_known_to_begin(), "{last:?}");
}

#[test]
fn a_client_that_asks_twice_is_done_with_the_second_answer() {
    let mut requests = [&[4, 4][..]; IN_TIME].to_vec();
    requests.extend([&[30, 30][..], &[4, 4], &[4, 4], &[4, 4], &[4, 4]]);
    let play = client(&requests);
    assert_eq!((play.over.len(), due_ms(&play)), (requests.len(), vec![200, 220, 240, 260]), "{:?}", play.over);
}

/// However many: no request has more waits than can be followed.
#[test]
fn a_client_that_is_behind_for_long_has_as_many_requests_as_answers() {
    let mut requests = [&[5][..]; IN_TIME].to_vec();
    requests.extend([&[21][..]; 2 * MAX_WAITS as usize]);
    let play = client(&requests);
    assert_eq!((play.over.len(), play.requests.given_up()), (requests.len(), 0));
    let longest = play.over.iter().map(|(start, end)| (end - start) / MS).max();
    assert_eq!((longest, due_ms(&play).len()), (Some(21), 2 * MAX_WAITS as usize - 1));
}

/// Where it asks now once and now twice, nothing tells where one ends and the next begins.
#[test]
fn requests_of_a_late_client_that_cannot_be_told_apart_are_counted() {
    let mut requests: Vec<&[u64]> =
        (0..IN_TIME).map(|number| if number % 2 == 0 { &[5][..] } else { &[2, 3] }).collect();
    requests.extend([&[50][..], &[5], &[5], &[5], &[5]]);
    let play = client(&requests);
    let several: Vec<bool> = play.known.iter().map(|known| known.may_be_several).collect();
    assert_eq!(several, [[false; IN_TIME].to_vec(), vec![true, false]].concat(), "{:?}", play.over);
    assert!(!play.known[IN_TIME].is_sure() && !play.known[IN_TIME].is_bounded, "{:?}", play.known[IN_TIME]);
}

/// What it was at is lost; what it sends from then on is not.
#[test]
fn a_late_client_that_was_lost_sight_of_is_followed_again_from_its_next_answer_on() {
    let mut play = client(&[&[5][..]; IN_TIME]);
    play.over();
    let begins = |play: &mut Play, at_ns: u64, by, then| {
        play.now = at_ns - 10;
        play.stretch(by, then);
        play.over()
    };
    let due_ns = 9 * PERIOD_NS;
    assert_eq!(begins(&mut play, due_ns, EndedBy::Timer, waits(ANSWER, Call::Read)), []);
    play.requests.lost_sight_of(TID);
    // Where it waited until then is not known, nor what was answered.
    assert_eq!(begins(&mut play, due_ns + 50 * MS, EndedBy::Thread, waits(ANSWER, Call::Read)), []);
    assert_eq!(begins(&mut play, due_ns + 55 * MS, EndedBy::Thread, waits(ANSWER, Call::Read)), []);
    let sent_ns = due_ns + 55 * MS + 1;
    play.known.clear();
    let over = begins(&mut play, due_ns + 63 * MS, EndedBy::Thread, waits(ANSWER, Call::Read));
    assert_eq!(over, [(sent_ns, due_ns + 63 * MS + 1)]);
    assert_eq!(due_ms(&play), [220], "or earlier");
    // It sends nothing before it sleeps.
    play.requests.lost_sight_of(TID);
    begins(&mut play, due_ns + 70 * MS, EndedBy::Thread, waits(ANSWER, Call::Read));
    assert_eq!(begins(&mut play, due_ns + 75 * MS, EndedBy::Thread, waits(IDLE, Call::Sleep)), []);
}

/// One that sleeps for a while after each request is never behind, however long one takes.
#[test]
fn whoever_sleeps_for_a_while_is_never_behind() {
    let mut play = Play::default();
    play.stretch(EndedBy::Timer, waits(IDLE, Call::Sleep));
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[]);
    let requests = [&[5][..], &[7], &[6], &[9], &[50, 40, 8], &[5], &[70, 3]];
    for answers in requests {
        play.now += 20 * MS;
        play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read));
        for (number, answer) in answers.iter().enumerate() {
            play.now += answer * MS;
            let is_last = number + 1 == answers.len();
            play.stretch(EndedBy::Thread, if is_last { waits(IDLE, Call::Sleep) } else { waits(ANSWER, Call::Read) });
        }
    }
    assert_eq!(play.over.len(), requests.len() + 1, "{:?}", play.over);
    assert!(play.known.iter().all(|known| known.due_ns.is_none() && !known.may_be_several), "{:?}", play.known);
}

/// A client that was behind from the beginning looks like a worker that fetches its work by a connection that it asked for.
#[test]
fn it_is_counted_where_requests_begin_with_what_may_be_an_answer() {
    for (awaited, expected) in [(WaitedFor::Answer, true), (WaitedFor::Request, false), (WaitedFor::Unclear, false)] {
        let mut play = Play::default();
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
        play.requests.saw_connections(TID, (play.now, play.now + 1), &[]);
        look(&mut play, awaited);
        for _ in 0..3 {
            play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
        }
        let found: Vec<(bool, bool)> =
            play.known.iter().map(|known| (known.is_after_answer, known.is_bounded)).collect();
        assert_eq!(found, [(expected, !expected); 3], "{awaited:?}");
    }
}
