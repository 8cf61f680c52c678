//! For which wait of a thread a look at it counts: what is known of the thread is older than what a look sees.

use super::*;

/// Where requests are taken to come after a look at a thread whose waits take 10 each, and its stretches of work 5: the first wait is known as the look
/// is made, and the others are not. Then, where nothing tells who asks.
fn find(begun_ns: u64, over_ns: u64, awaited: WaitedFor) -> [Vec<u32>; 2] {
    let mut play = Play::default();
    play.stretch(EndedBy::Thread, waits(OTHER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Read));
    play.requests.next_look();
    let at = |after_ns: u64| play.now + after_ns;
    let times = (at(begun_ns), at(over_ns));
    play.requests.saw(TID, times, awaited);
    for place in [ANSWER, IDLE, OTHER] {
        play.stretch(EndedBy::Thread, waits(place, Call::Read));
    }
    let thread = &play.requests.threads[&TID];
    [&thread.accepted, &thread.unclear].map(|places| places.iter().copied().collect())
}

/// Of a server that is asked a thousand times a second, each look is at a later wait than is known.
#[test]
fn a_look_at_a_request_counts_for_the_wait_that_lasts_while_it_looks() {
    let find = |begun_ns, over_ns| find(begun_ns, over_ns, WaitedFor::Request)[0].clone();
    assert_eq!(find(1, 9), [IDLE], "the first wait");
    assert_eq!(find(16, 24), [ANSWER], "the second");
    assert_eq!(find(31, 39), [IDLE], "the third");
    for (begun_ns, over_ns) in [(9, 16), (11, 14), (14, 16), (24, 26), (16, 25)] {
        assert_eq!(find(begun_ns, over_ns), [0_u32; 0], "{begun_ns} to {over_ns}");
    }
}

/// An event loop with a timer that is told news by the way waits there as differently often as a server that sleeps within its requests.
#[test]
fn a_look_at_what_may_be_either_counts_for_the_wait_that_was_known() {
    let find = |begun_ns, over_ns| find(begun_ns, over_ns, WaitedFor::Unclear)[1].clone();
    assert_eq!(find(1, 9), [IDLE]);
    for (begun_ns, over_ns) in [(9, 16), (16, 24), (31, 39)] {
        assert_eq!(find(begun_ns, over_ns), [0_u32; 0], "{begun_ns} to {over_ns}");
    }
}
