//! Threads that read several connections which their programs accepted, one after the other: which of them brings requests, and which answers, nothing tells.

use crate::beginnings::{Before, Way, is_untold, served};
use crate::support::requests::{READ, parts};
use punctual_blame::Kind;
use punctual_recording::episode::{Call, WaitEnd};

const CLIENT: u32 = 4;
const WORKER: u32 = 5;
const LISTENS: u32 = 3;

/// A dispatcher with whom its workers have registered, or a leader to whom its followers have connected: it waits for them.
#[test]
fn a_wait_for_one_of_several_connections_that_are_read_in_turns_is_not_idle() {
    for (call, begins_with, waits_for, expected) in [
        (Call::Read, CLIENT, WORKER, false),
        (Call::Read, WORKER, CLIENT, false),
        (Call::Read, CLIENT, CLIENT, true),
        // It accepts a connection, and reads what comes by it.
        (Call::Connect, LISTENS, CLIENT, true),
    ] {
        let mut episode = served(Way::Pipe, Before::Slept, true, true);
        episode.accepted = vec![LISTENS, CLIENT, WORKER];
        for (at_ns, descriptor, sleeper) in [(1_000_000, begins_with, call), (4_100_000, waits_for, Call::Read)] {
            let end = WaitEnd { descriptor: Some(descriptor), sleeper, ..READ };
            let wakings = episode.events.iter_mut().filter(|event| event.at_ns == at_ns);
            wakings.for_each(|event| event.extra = end.bits() | 19);
        }
        let told = parts(&episode);
        let is_idle = told.iter().any(|part| part.kind == Kind::Idle);
        assert_eq!((is_idle, told.iter().any(is_untold)), (expected, !expected), "{begins_with} {waits_for}: {told:?}");
    }
}

/// A server whose helper connects back to it in mid-request: its requests seem to begin with that, and its client pauses before it asks again. Once looks are used up,
/// nothing tells that the client's connection was accepted, too.
#[test]
fn whoever_pauses_is_not_named_where_it_may_be_a_client_of_one_who_is_called_back() {
    for (begins_with, accepted, connected, sleeps, expected) in [
        (Call::Connect, vec![], vec![], true, false),
        (Call::Connect, vec![], vec![], false, true),
        (Call::Connect, vec![], vec![WORKER], true, true),
        (Call::Connect, vec![LISTENS], vec![], true, true),
        (Call::Read, vec![], vec![], true, true),
    ] {
        let mut episode = served(Way::Pipe, Before::Slept, true, sleeps);
        episode.is_asked_for = true;
        let case = format!("{begins_with:?} {accepted:?} {connected:?} {sleeps}");
        (episode.accepted, episode.connected) = (accepted, connected);
        for (at_ns, descriptor, sleeper) in [(1_000_000, LISTENS, begins_with), (4_100_000, WORKER, Call::Read)] {
            let end = WaitEnd { descriptor: Some(descriptor), sleeper, ..READ };
            let wakings = episode.events.iter_mut().filter(|event| event.at_ns == at_ns);
            wakings.for_each(|event| event.extra = end.bits() | 19);
        }
        let told = parts(&episode);
        let is_named = told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other");
        assert_eq!((is_named, told.iter().any(is_untold)), (expected, !expected), "{case}: {told:?}");
    }
}
