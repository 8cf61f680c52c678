//! Causes that were put down, as a program of their own, before any answer to them was seen, by somebody who had not read the judge:
//! of that list those about which it was wrong, or would be if it guessed otherwise. All are loops that wait for one of several things.

mod loops;

use super::cause::{CAUSE, Cause, Set, Stage};

/// With waits for other processes.
const FIFTH: Cause = Cause { set: Set::Fifth, stage: Stage::Request, ..CAUSE };

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
];
