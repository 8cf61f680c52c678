//! Requests of a thread of which nothing tells which side of its connections asks.

use crate::answered::slept;
use crate::beginnings::{STORE, Way, by_its_timer, is_untold};
use crate::support::VICTIM;
use crate::support::requests::{READ, parts, signalled};
use punctual_blame::Kind;
use punctual_recording::Episode;
use punctual_recording::episode::{Call, ONE_POLLED, Process, WaitEnd};

const CONNECTED: u32 = 5;

/// A worker asked its master for a connection, and sleeps in some of what comes by it. From one sleep to the next it waits for its master, which sleeps until a timer; so does
/// a client for its store. Whoever works until it writes is named.
#[test]
fn nobody_who_slept_is_named_by_a_connection_where_nothing_tells_who_asks() {
    let mut cases = 0;
    for (sleeper, descriptor) in [(Call::Read, Some(CONNECTED)), (Call::Poll, None), (Call::Poll, Some(ONE_POLLED))] {
        for (asker_unknown, sleeps, is_own_thread) in [
            (true, true, false),
            (true, false, false),
            (false, true, false),
            (false, false, false),
            (true, false, true),
        ] {
            for connections_unknown in [false, true] {
                let mut episode = by_its_timer(Way::Pipe, true, sleeps).episode;
                (episode.asker_unknown, episode.connected) = (asker_unknown, vec![CONNECTED]);
                episode.connections_unknown = connections_unknown;
                if is_own_thread {
                    let threads = vec![VICTIM, STORE.0];
                    episode.processes.push(Process { number: VICTIM, name: "program".into(), threads });
                }
                let end = WaitEnd { sleeper, descriptor, ..READ };
                let wakings = episode.events.iter_mut().filter(|event| event.at_ns == 4_100_000);
                wakings.for_each(|event| event.extra = end.bits() | 19);
                let told = parts(&episode);
                let is_named = told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other");
                // Of several things any may bring the next request, where it is not known what they are.
                let is_told = !connections_unknown || sleeper == Call::Read;
                let expected = is_told && !(asker_unknown && sleeps);
                let case =
                    format!("{sleeper:?} {asker_unknown} {sleeps} {is_own_thread} {connections_unknown}: {told:?}");
                assert_eq!((is_named, told.iter().any(is_untold)), (expected, !expected), "{case}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 30);
}

/// Nor does a wait there that nobody is seen to end make a request late for certain.
#[test]
fn a_wait_that_nobody_is_seen_to_end_may_be_for_the_next_request_where_nothing_tells_who_asks() {
    const PIPE: u32 = 6;
    for (asker_unknown, read) in [(true, CONNECTED), (false, CONNECTED), (true, PIPE)] {
        let mut episode = by_its_timer(Way::Pipe, true, true).episode;
        (episode.asker_unknown, episode.connected) = (asker_unknown, vec![CONNECTED]);
        for event in episode.events.iter_mut().filter(|event| event.at_ns == 4_100_000) {
            event.extra = WaitEnd { descriptor: Some(read), ..signalled() }.bits() | 19;
        }
        let told = parts(&episode);
        assert_eq!(told.iter().any(is_untold), asker_unknown && read == CONNECTED, "{told:?}");
    }
}

/// An editor that accepted its language server's connection reads, pauses, and asks.
#[test]
fn a_sleep_of_a_thread_that_may_ask_makes_no_request_late_for_certain() {
    let sleep = |episode: &Episode| {
        let found: Vec<_> = parts(episode).into_iter().filter(|part| part.kind == Kind::Sleep).collect();
        let [sleep] = &found[..] else { panic!("{found:?}") };
        (sleep.who.is_maybe_in_no_request(), sleep.who.is_maybe_after_answer(), sleep.who.name().to_owned())
    };
    for asker_unknown in [true, false] {
        let told = |before: &[u32]| {
            let mut episode = slept(Way::Tcp, before, &[]);
            episode.asker_unknown = asker_unknown;
            sleep(&episode)
        };
        let (is_maybe, is_after_answer, name) = told(&[]);
        assert_eq!((is_maybe, is_after_answer), (asker_unknown, false), "{name}");
        assert_eq!(name.ends_with(", maybe before it asks"), asker_unknown, "{name}");
        // One word for it is enough.
        let (is_maybe, is_after_answer, name) = told(&[8]);
        assert!(is_maybe && is_after_answer, "{name}");
    }
}
