//! Causes written down before anybody saw an answer to them: what audio, robot, radio and game programs meet. Unlike
//! those of the second list, they were chosen by somebody who had read the judge, not by a stranger.

mod calls;
mod loops;
mod patience;
mod queues;
mod shares;

pub(super) use shares::cpu_time;

use super::cause::{CAUSE, Cause, Set, Stage};

const THIRD: Cause = Cause { set: Set::Third, ..CAUSE };
/// With waits for other processes.
const ASKED: Cause = Cause { stage: Stage::Request, ..THIRD };

/// The list.
pub(super) static CAUSES: &[Cause] = &[
    Cause {
        name: "dispatcher",
        what: "a dispatcher that serves many sockets works for another client first",
        right: &[("wait", "c-dispatcher")],
        make: queues::dispatched,
        ..ASKED
    },
    Cause {
        name: "posix-queue",
        what: "a server is slow to answer through a POSIX message queue",
        right: &[("wait", "c-server")],
        make: queues::messages,
        ..ASKED
    },
    Cause {
        name: "sysv-semaphore",
        what: "another process has taken a System V semaphore, and works",
        right: &[("wait", "c-holder")],
        make: queues::semaphore,
        ..ASKED
    },
    Cause {
        name: "futex-waitv",
        what: "the victim waits for two words at once (futex_waitv); the server of the second is slow",
        right: &[("wait", "c-server")],
        make: queues::two_words,
        ..ASKED
    },
    Cause {
        name: "sigwait",
        what: "the victim asks by a signal and waits for one; the server works first",
        right: &[("wait", "c-server")],
        make: queues::signals,
        ..ASKED
    },
    Cause {
        name: "named-pipe",
        what: "the victim opens a named pipe, whose other end is opened late",
        right: &[("wait", "c-opener"), ("io", "c-opener")],
        make: queues::named_pipe,
        ..ASKED
    },
    Cause {
        name: "full-socket",
        what: "the victim writes into a stream whose reader is slow",
        right: &[("wait", "c-reader")],
        make: queues::full_socket,
        ..ASKED
    },
    Cause {
        name: "joined",
        what: "the victim joins a thread that works first",
        right: &[("wait", "c-worker")],
        make: queues::joined,
        ..ASKED
    },
    Cause {
        name: "range-lock",
        what: "another process has locked a range of a file, and works",
        right: &[("wait", "c-holder")],
        make: shares::range,
        ..ASKED
    },
    Cause {
        name: "unmapping",
        what: "a sibling unmaps 96 MiB of pages while the victim maps",
        right: &[("wait", "c-unmapper")],
        make: shares::unmapping,
        ..THIRD
    },
    Cause {
        name: "dropping",
        what: "a sibling gives back the pages of 96 MiB (MADV_DONTNEED) while the victim protects one of them",
        right: &[("wait", "c-dropper")],
        make: shares::dropping,
        ..THIRD
    },
    Cause {
        name: "punching",
        what: "another process gives back the blocks of the file that the victim writes to",
        right: &[("lock", "c-puncher")],
        nameless: &[("lock", "")],
        make: shares::punching,
        ..THIRD
    },
    Cause {
        name: "idle-holder",
        what: "a SCHED_IDLE thread has the mutex, and a normal one its CPU",
        right: &[("lock", "c-holder")],
        tells: Some("c-busy"),
        make: shares::idle_holder,
        ..THIRD
    },
    Cause {
        name: "yielding",
        what: "a FIFO thread of the victim's priority yields its CPU only every few milliseconds",
        right: &[("same_priority", "c-equal")],
        make: shares::equal,
        ..THIRD
    },
    Cause {
        name: "batch",
        what: "a SCHED_BATCH thread of nice -10, beside a normal victim",
        right: &[("entitled", "c-burst")],
        threshold: "4ms",
        make: shares::batch,
        ..THIRD
    },
    Cause {
        name: "read-loop",
        what: "a server is slow to answer into an event counter from which the victim reads others' news too",
        right: &[("wait", "c-server")],
        make: loops::counted,
        ..ASKED
    },
    Cause {
        name: "news-work",
        what: "the victim asks a server, and works 1.2 ms on the news that others tell its event loop before the answer",
        right: &[("wait", "c-server")],
        make: loops::working,
        ..ASKED
    },
    Cause {
        name: "busy-server",
        what: "the server is at work for another client when the victim asks it",
        right: &[("wait", "c-server")],
        make: loops::busy,
        ..ASKED
    },
    Cause {
        name: "busy-event-loop",
        what: "the same, and others tell the victim's event loop news before the answer",
        right: &[("wait", "c-server")],
        nameless: &[("wait", "not seen")],
        make: loops::busy_told,
        ..ASKED
    },
    Cause {
        name: "busy-news-work",
        what: "the same, and the victim works 1.2 ms on each",
        right: &[("wait", "c-server")],
        nameless: &[("wait", "not seen")],
        make: loops::busy_working,
        ..ASKED
    },
    Cause {
        name: "busy-read-loop",
        what: "the same by an event counter, from which the victim reads answers and news",
        right: &[("wait", "c-server")],
        nameless: &[("wait", "not seen")],
        make: loops::busy_counted,
        ..ASKED
    },
    Cause {
        name: "busy-read-work",
        what: "the same, and the victim works 0.5 ms on each news",
        right: &[("wait", "c-server")],
        nameless: &[("wait", "not seen")],
        make: loops::busy_counted_working,
        ..ASKED
    },
    Cause {
        name: "busy-polled",
        what: "the server is at work for another client, and the victim polls for its answer alone",
        right: &[("wait", "c-server")],
        make: loops::busy_polled,
        ..ASKED
    },
    Cause {
        name: "busy-beside-busy",
        what: "the same in an event loop, which somebody who is at work nearly all the time tells news to work on",
        right: &[("wait", "c-server")],
        nameless: &[("wait", "not seen")],
        make: loops::busy_beside_busy,
        ..ASKED
    },
    Cause {
        name: "queue-news",
        what: "a server is slow to answer into a queue of the program, from which the victim takes news to work on too",
        right: &[("wait", "c-server")],
        nameless: &[("wait", "not seen")],
        make: loops::queued,
        ..ASKED
    },
    Cause {
        name: "parked",
        what: "the victim parks, as threads of Rust do, until a server has answered; another thread unparks it in vain again and again",
        right: &[("wait", "c-server")],
        never: Some("^lock"),
        make: loops::parked,
        ..ASKED
    },
    Cause {
        name: "robust-limit",
        what: "the victim waits for a robust mutex until its patience of 2 ms ends",
        right: &[("lock", "c-holder")],
        make: patience::robust_limit,
        ..THIRD
    },
    Cause {
        name: "frozen-queue",
        what: "a group is frozen with the holder of a mutex in it and others that queue for that before the victim",
        right: &[("lock", "c-owner")],
        nameless: &[("lock", "not seen")],
        make: patience::frozen_queue,
        ..THIRD
    },
];
