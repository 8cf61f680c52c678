//! Causes that were put down, as a program of their own, before any answer to them was seen, by somebody who had not read the judge:
//! of that list those about which it was wrong, or would be if it guessed otherwise: loops that wait for one of several things, and a victim
//! that is stopped while it waits.

mod loops;
mod stops;

use super::cause::{Accepted, CAUSE, Cause, Set, Stage};

/// With waits for other processes.
const FIFTH: Cause = Cause { set: Set::Fifth, stage: Stage::Request, ..CAUSE };

/// Each has its own part: a wait that is told as a stop is wrong, and the other way round.
const EACH: [Accepted; 2] = [("wait", "^{culprit}$"), ("stopped", "^{culprit}$")];
const EACH_FROZEN: [Accepted; 2] = [("wait", "^{culprit}$"), ("stopped", "freezer")];

/// The list.
pub(super) static CAUSES: &[Cause] = &[
    Cause {
        name: "event-loop",
        what: "the victim asks a server, and others tell its event loop news before the answer comes",
        right: &[("wait", "c-server")],
        fast: true,
        make: loops::told_news,
        ..FIFTH
    },
    Cause {
        name: "unasked",
        what: "the same, but nobody was asked: what the loop waits for comes by itself",
        right: &[("wait", "c-server")],
        nameless: &[("wait", "not seen")],
        make: loops::unasked,
        ..FIFTH
    },
    Cause {
        name: "own-tick",
        what: "the victim asks a server, and a timer of its own ticks in its event loop meanwhile",
        right: &[("wait", "c-server")],
        make: loops::ticking,
        ..FIFTH
    },
    Cause {
        name: "in-turn",
        what: "an event loop asks one server, and with its answer another one",
        right: &[("wait", "c-server")],
        make: loops::in_turn,
        ..FIFTH
    },
    Cause {
        name: "servers-loop",
        what: "the server asks a store, and others tell its event loop news before the answer comes",
        right: &[("wait", "c-server")],
        tells: Some("c-store"),
        make: loops::servers,
        ..FIFTH
    },
    Cause {
        name: "stopped-asking",
        what: "the victim is stopped by a signal while it waits for a server, and goes on before the answer or after it",
        right: &EACH,
        make: stops::asking_stopped,
        ..FIFTH
    },
    Cause {
        name: "stopped-polling",
        what: "the same in an event loop",
        right: &EACH,
        make: stops::polling_stopped,
        ..FIFTH
    },
    Cause {
        name: "frozen-asking",
        what: "the victim's group is frozen while it waits for a server",
        right: &EACH_FROZEN,
        make: stops::asking_frozen,
        ..FIFTH
    },
    Cause {
        name: "frozen-asleep",
        what: "the same with an answer by a socket, for which the victim sleeps on while it is frozen",
        right: &EACH_FROZEN,
        make: stops::asleep_frozen,
        ..FIFTH
    },
    Cause {
        name: "stopped-locking",
        what: "the victim is stopped by a signal while it waits for a mutex",
        right: &EACH,
        nameless: &[("lock", "not seen")],
        make: stops::locking_stopped,
        ..FIFTH
    },
];
