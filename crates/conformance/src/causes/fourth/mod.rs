//! Causes chosen by somebody who had not read the judge, before anybody saw an answer to them: things that machines do
//! without being asked (memory, disks, groups, tracers), and servers behind mechanisms newer than pipes.

mod answers;
mod calls;
mod pages;
mod turns;

use super::cause::{CAUSE, Cause, Set, Stage};

/// Chosen on one evening.
const FOURTH: Cause = Cause { set: Set::Fourth, ..CAUSE };
/// With waits for other processes.
const ASKED: Cause = Cause { stage: Stage::Request, ..FOURTH };

/// A disk, or the process that keeps it busy.
const DISK: &str = r"\bvda|\bsd[a-z]|nvme|mmcblk|loop\d|jbd2|ext4|c-writer|c-committer|\d+:\d+";

/// The list.
pub(super) static CAUSES: &[Cause] = &[
    Cause {
        name: "ring",
        what: "the victim reads through io_uring what a slow server answers",
        right: &[("wait", "c-server")],
        make: answers::ring,
        ..ASKED
    },
    Cause {
        name: "ring-by-worker",
        what: "the same, but a worker of the ring reads in the victim's stead, and hands it on",
        right: &[("wait", "c-server|iou-wrk")],
        tells: Some("c-server"),
        make: answers::ring_by_worker,
        ..ASKED
    },
    Cause {
        name: "giant-exit",
        what: "the victim ends a child of 192 MiB and waits until it is gone",
        right: &[("wait", "c-giant")],
        make: answers::giant,
        ..ASKED
    },
    Cause {
        name: "crash",
        what: "the victim waits for a server that crashes, and whose 4 MiB are written to a core file first",
        right: &[("wait", "c-server")],
        make: answers::crash,
        ..ASKED
    },
    Cause {
        name: "terminal",
        what: "the victim writes to a terminal whose window is slow; a worker of the kernel's hands the bytes on",
        right: &[("wait", "c-reader|kworker")],
        tells: Some("c-reader"),
        make: answers::terminal,
        ..ASKED
    },
    Cause {
        name: "pipe-lock",
        what: "another writer of the victim's pipe has its lock while its own memory is answered slowly",
        right: &[("lock", "c-writer|c-pager")],
        tells: Some("c-pager"),
        make: answers::pipe_lock,
        ..ASKED
    },
    Cause {
        name: "traced-calls",
        what: "a tracer stops the victim at each system call, and is slow once in a while",
        right: &[("stopped", "c-strace")],
        make: answers::traced_calls,
        ..FOURTH
    },
    Cause {
        name: "own-fork",
        what: "the victim, of 512 MiB, forks: the kernel copies the tables of its pages",
        right: &[("own|kernel", "c-victim")],
        make: pages::fork,
        ..FOURTH
    },
    Cause {
        name: "huge-pages",
        what: "the victim touches 24 new huge pages, which are cleared first",
        right: &[("fault", "c-victim")],
        make: pages::huge,
        ..FOURTH
    },
    Cause {
        name: "merged",
        what: "the victim writes to 3,000 pages that were made one, and gets copies",
        right: &[("fault", "c-victim")],
        make: pages::merged,
        ..FOURTH
    },
    Cause {
        name: "memory-limit",
        what: "the victim's group is at its memory limit: for each new page the kernel takes one from its cache",
        right: &[("fault", "c-victim")],
        make: pages::reclaimed,
        ..FOURTH
    },
    Cause {
        name: "io-limit",
        what: "the victim's group may read 4 MiB in a second, of a disk that is idle",
        right: &[("throttled", "causes-|(?i)limit"), ("io", "causes-|(?i)limit|throttl")],
        nameless: &[("io|throttled", "")],
        make: pages::limited,
        ..FOURTH
    },
    Cause {
        name: "loop-device",
        what: "the victim reads a disk that is a file on a disk which a writer keeps busy",
        right: &[("io", DISK)],
        nameless: &[("io", "")],
        make: pages::looped,
        ..FOURTH
    },
    Cause {
        name: "aio",
        what: "the victim reads through the kernel's queue (io_submit) from a disk that a writer keeps busy",
        right: &[("io", DISK), ("wait", DISK)],
        nameless: &[("io", "")],
        make: pages::queued,
        ..ASKED
    },
    Cause {
        name: "journal",
        what: "the victim has half a KiB written to the disk, through a journal in which another process has 24 MiB",
        right: &[("io", DISK), ("wait", DISK)],
        nameless: &[("io|lock", "")],
        make: pages::journal,
        ..FOURTH
    },
    Cause {
        name: "signal-timers",
        what: "8000 timers of another process that send signals expire in one interrupt",
        right: &[("irq|softirq", "timer|c-armer")],
        make: turns::signals,
        ..FOURTH
    },
    Cause {
        name: "broadcast",
        what: "a normal thread sends a packet that 8,000 sockets of this machine get, in a softirq",
        right: &[("softirq", "net_rx|udp|c-sender")],
        make: turns::broadcast,
        ..FOURTH
    },
    Cause {
        name: "cpuset",
        what: "a manager gives the victim's group another CPU, which a FIFO 90 thread keeps",
        right: &[("higher_priority", "c-keeper")],
        make: turns::cpuset,
        ..FOURTH
    },
    Cause {
        name: "drained",
        what: "the victim waits for a worker of the kernel's on another CPU, which a FIFO 90 thread keeps",
        right: &[("wait", "kworker|c-keeper")],
        tells: Some("c-keeper"),
        make: turns::drained,
        ..FOURTH
    },
    Cause {
        name: "group-budget",
        what: "the victim's group has used up its budget for real-time threads; a normal one runs meanwhile",
        right: &[("throttled", "causes-|c-victim|(?i)budget")],
        nameless: &[("throttled", "")],
        threshold: "4ms",
        make: turns::group_budget,
        ..FOURTH
    },
    Cause {
        name: "pushed",
        what: "a FIFO 80 thread loses its CPU to a FIFO 90 one, and takes the FIFO 70 victim's",
        right: &[("higher_priority", "c-pushed")],
        make: turns::pushed,
        ..FOURTH
    },
    Cause {
        name: "group-move",
        what: "the victim forks while a process of 3,000 threads is moved to another control group",
        right: &[("lock", "c-mover")],
        make: turns::group_move,
        ..FOURTH
    },
];
