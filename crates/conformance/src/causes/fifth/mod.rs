//! Causes written down, as a program of their own, by somebody who had not read the judge, before anybody saw an answer
//! to them. Of that list, these are the ones about which the judge was wrong, or would be if it guessed otherwise:
//! loops that wait for one of several things, a victim that is stopped while it waits, threads that run when nobody
//! else wants the CPU.

mod disks;
mod loops;
mod policies;
mod stops;
mod words;

use super::cause::{Accepted, CAUSE, Cause, Set, Stage};

/// With waits for other processes.
const FIFTH: Cause = Cause { set: Set::Fifth, stage: Stage::Request, ..CAUSE };

/// Each has its own part: a wait reported as a stop is wrong, and so is a stop reported as a wait.
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
    Cause {
        name: "idle-victim",
        what: "a normal thread has the CPU of a SCHED_IDLE victim of nice -10",
        stage: Stage::Response,
        right: &[("higher_priority", "c-burst")],
        make: policies::victim,
        ..FIFTH
    },
    Cause {
        name: "idle-competitor",
        what: "a SCHED_IDLE thread of nice -10 has its turns beside a victim of nice 19",
        stage: Stage::Response,
        right: &[("lower_priority", "c-idle")],
        threshold: "14ms",
        make: policies::competitor,
        ..FIFTH
    },
    Cause {
        name: "idle-server",
        what: "the server is SCHED_IDLE, and a normal thread has its CPU",
        right: &[("wait", "c-server")],
        tells: Some("c-busy ran on its CPU, with the higher priority"),
        make: policies::server,
        ..FIFTH
    },
    Cause {
        name: "inherited-limit",
        what: "the victim reads what a process has asked for whose group may read 256 KiB in a second, of a disk that is idle",
        stage: Stage::Response,
        right: &[("throttled", "causes-.*-slow")],
        threshold: "20ms",
        nameless: &[("throttled|io", "a control group|not seen")],
        never: Some("request of"),
        make: disks::inherited_limit,
        ..FIFTH
    },
    Cause {
        name: "journal-limit",
        what: "the victim writes through a journal, which waits for a process whose group may write 512 KiB in a second",
        stage: Stage::Response,
        right: &[("throttled", "causes-.*-slow")],
        threshold: "20ms",
        nameless: &[("throttled|io", "a control group|not seen"), ("wait", "^jbd2/")],
        never: Some("request of"),
        make: disks::limit_behind_journal,
        ..FIFTH
    },
    Cause {
        name: "job-word",
        what: "a worker gets its jobs by a futex word that says 2 while there is none, and 0; a FIFO 90 thread has its CPU",
        stage: Stage::Response,
        right: &[("higher_priority", "c-hog")],
        make: words::jobs,
        ..FIFTH
    },
    Cause {
        name: "latch",
        what: "a server is slow to answer, by a signal that the victim reads from a descriptor (signalfd)",
        right: &[("wait", "c-server")],
        make: words::latch,
        ..FIFTH
    },
    Cause {
        name: "polled-server",
        what: "a slow server hands its answers to a thread of the kernel's that polls for requests (io_uring, SQPOLL)",
        right: &[("wait", "c-server")],
        nameless: &[("wait", "not seen")],
        make: words::polled,
        ..FIFTH
    },
];
