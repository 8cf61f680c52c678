//! Causes chosen by somebody who had not read the judge, before anybody saw an answer to them.
//!
//! In about half of them a bystander looks guilty: one that passed on what another did, one that ran meanwhile, one
//! whose disk was busy.

mod answers;
mod c_library;
mod calls;
mod collector;
mod daemon;
mod holders;
mod policies;
mod stops;
mod turns;

use super::cause::{CAUSE, Cause, Set, Stage};

/// Chosen on one morning from what people report of audio engines, games, servers, containers and garbage collectors.
const SECOND: Cause = Cause { set: Set::Second, ..CAUSE };

/// The list.
pub(super) static CAUSES: &[Cause] = &[
    Cause {
        name: "stdio-lock",
        what: "a sibling flushes a stream into a pipe with a slow reader, and has the stream's lock meanwhile",
        right: &[("lock", "c-logger|c-reader")],
        tells: Some("c-reader"),
        make: c_library::stream,
        ..SECOND
    },
    Cause {
        name: "malloc-trim",
        what: "a sibling gives the heap's free pages back, and has the heap's lock meanwhile",
        right: &[("lock", "c-trimmer")],
        make: c_library::heap,
        ..SECOND
    },
    Cause {
        name: "loader-lock",
        what: "a sibling looks through the loaded libraries, and has the loader's lock meanwhile",
        right: &[("lock", "c-loader")],
        make: c_library::loader,
        ..SECOND
    },
    Cause {
        name: "mprotect",
        what: "a sibling protects 96 MiB of pages while the victim maps",
        right: &[("lock", "c-protector")],
        make: holders::protection,
        ..SECOND
    },
    Cause {
        name: "directory",
        what: "another process lists a large directory in which the victim makes files",
        right: &[("lock", "c-lister")],
        make: holders::directory,
        ..SECOND
    },
    Cause {
        name: "owner-died",
        what: "the holder of a robust mutex works and ends without letting go",
        right: &[("lock", "c-holder")],
        make: holders::dead,
        ..SECOND
    },
    Cause {
        name: "throttled-holder",
        what: "the group of a mutex's holder is out of quota; another process runs on the holder's CPU meanwhile",
        right: &[("lock", "c-holder")],
        tells: Some("quota|throttl|budget"),
        make: holders::out_of_quota,
        ..SECOND
    },
    Cause {
        name: "barrier",
        what: "one of three is late at a barrier; another came early",
        stage: Stage::Request,
        right: &[("wait", "c-late")],
        make: turns::barrier,
        ..SECOND
    },
    Cause {
        name: "spurious-wake",
        what: "who makes the condition true works first; a bystander wakes all who wait for it meanwhile",
        stage: Stage::Request,
        right: &[("wait", "c-signaller")],
        make: turns::spurious,
        ..SECOND
    },
    Cause {
        name: "queued-writer",
        what: "a reader holds a read-write lock; a writer waits for it, and the victim, a reader, behind the writer",
        stage: Stage::Request,
        right: &[("wait", "c-long|c-queued")],
        tells: Some("c-long"),
        make: turns::queued_writer,
        ..SECOND
    },
    Cause {
        name: "broker",
        what: "a broker hands the victim's question to a slow worker, and the answer back",
        stage: Stage::Request,
        right: &[("wait", "c-broker|c-worker")],
        tells: Some("c-worker"),
        make: turns::broker,
        ..SECOND
    },
    Cause {
        name: "log-socket",
        what: "the victim logs to a socket whose reader is slow; a bystander has filled its queue",
        stage: Stage::Request,
        right: &[("wait", "c-syslog")],
        make: turns::log_socket,
        ..SECOND
    },
    Cause {
        name: "ceiling",
        what: "a FIFO 10 thread takes a mutex of ceiling 90, which the FIFO 70 victim does not want",
        right: &[("higher_priority", "c-holder")],
        make: policies::ceiling,
        ..SECOND
    },
    Cause {
        name: "deadline-budget",
        what: "the victim, a DEADLINE thread, has used up its own budget; normal threads run meanwhile",
        right: &[("throttled", "c-victim|(?i)deadline|budget")],
        nameless: &[("throttled", "")],
        threshold: "4ms",
        make: policies::own_budget,
        ..SECOND
    },
    Cause {
        name: "fair-server",
        what: "the kernel's share for normal threads before a FIFO 70 victim, whose CPU a FIFO 60 thread keeps",
        right: &[("fair_server", "c-normal")],
        nameless: &[("fair_server", "")],
        threshold: "2ms",
        make: policies::fair_share,
        ..SECOND
    },
    Cause {
        name: "demoted",
        what: "somebody makes the FIFO victim a normal thread of nice 10, beside a normal thread",
        right: &[("entitled", "c-burst")],
        threshold: "3ms",
        make: policies::demoted,
        ..SECOND
    },
    Cause {
        name: "timer-slack",
        what: "the victim has allowed its timers to be 5 ms late; a SCHED_IDLE thread runs meanwhile",
        right: &[("kernel_wake|own|idle_exit|sleep|.*timer.*|.*slack.*", "(?i)slack|c-victim")],
        nameless: &[("kernel_wake|own|idle_exit", "")],
        never: Some("host|outside|c-idle"),
        make: policies::slack,
        ..SECOND
    },
    Cause {
        name: "seccomp-notify",
        what: "a supervisor is slow to let the victim's system call through",
        stage: Stage::Request,
        right: &[("wait", "c-supervisor")],
        make: answers::supervised,
        ..SECOND
    },
    Cause {
        name: "fanotify",
        what: "a scanner is slow to let the victim open a file, beside a busy disk",
        stage: Stage::Request,
        right: &[("wait", "c-scanner"), ("io", "c-scanner")],
        make: answers::scanned,
        ..SECOND
    },
    Cause {
        name: "fuse",
        what: "a file system's daemon is slow to answer",
        stage: Stage::Request,
        right: &[("wait", "c-daemon"), ("io", "c-daemon")],
        make: answers::file_system,
        ..SECOND
    },
    Cause {
        name: "stop-the-world",
        what: "a garbage collector stops the victim by a signal, in whose handler it waits for another one",
        stage: Stage::Request,
        right: &[("wait", "c-collector"), ("stopped", "c-collector")],
        nameless: &[("stopped", "")],
        threshold: "3ms",
        make: stops::world,
        ..SECOND
    },
    Cause {
        name: "snapshot",
        what: "the file system that the victim writes to is frozen for a snapshot",
        right: &[("wait", "c-snapshot"), ("io", "c-snapshot"), ("stopped", "c-snapshot")],
        nameless: &[("stopped", "")],
        make: stops::snapshot,
        ..SECOND
    },
    Cause {
        name: "thundering-herd",
        what: "a normal thread writes to an eventfd that 10,000 watch, with interrupts off",
        right: &[("irq_off|kernel", "c-waker")],
        make: stops::herd,
        ..SECOND
    },
];
