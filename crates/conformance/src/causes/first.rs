//! The causes with which the judge was corrected; those that a trial found come first.

use super::cause::{Accepted, CAUSE, Cause, Sense, Stage};
use super::{competition, locks, memory, servers, stops, storage, unplug};

/// For a holder that a bully delays for 3 to 7 ms.
const NOT_ASLEEP: Option<&str> = Some("asleep|sleeping|timer|stopped|unknown|^$");
/// Names of a disk, its file system and the process that kept it busy.
const DISK: &str =
    r"\bvda|\bsd[a-z]|nvme|mmcblk|zram|loop\d|jbd2|ext4|xfs|btrfs|c-writer|c-file|c-much|journal|\d+:\d+";

/// The writer, and whoever writes for it, when they keep the victim's CPU after the disk is done.
const WRITER: Accepted = ("kernel|lower_priority|same_priority|higher_priority", "c-writer|kworker|jbd2");

/// The list.
pub(super) static CAUSES: &[Cause] = &[
    Cause {
        name: "quota",
        what: "the victim's group has used up its CPU quota",
        right: &[("throttled", "quota")],
        nameless: &[("throttled", "")],
        fast: true,
        make: competition::quota,
        ..CAUSE
    },
    Cause {
        name: "quota-busy",
        what: "the same, beside a busy process of another group",
        right: &[("throttled", "quota")],
        nameless: &[("throttled", "")],
        make: competition::quota_beside_busy,
        ..CAUSE
    },
    Cause {
        name: "woken-throttled",
        what: "the victim is woken while its group is throttled",
        stage: Stage::Total,
        right: &[("throttled", "quota")],
        nameless: &[("throttled", "")],
        make: competition::woken_throttled,
        ..CAUSE
    },
    Cause {
        name: "woken-throttled-response",
        what: "the same, with the response as evidence",
        right: &[("throttled", "quota")],
        nameless: &[("throttled", "")],
        make: competition::woken_throttled,
        ..CAUSE
    },
    Cause {
        name: "preempted-holder",
        what: "the holder of a mutex that two processes share is preempted by a FIFO thread",
        right: &[("lock", "c-holder")],
        false_detail: NOT_ASLEEP,
        fast: true,
        make: locks::preempted_holder,
        ..CAUSE
    },
    Cause {
        name: "robust-mutex",
        what: "the same with a robust mutex, and the holder lost its CPU long before the victim was due",
        right: &[("lock", "c-holder")],
        false_detail: NOT_ASLEEP,
        make: locks::robust,
        ..CAUSE
    },
    Cause {
        name: "pi-mutex",
        what: "the holder of a mutex with priority inheritance works on another CPU",
        right: &[("lock", "c-holder")],
        make: locks::inheriting,
        ..CAUSE
    },
    Cause {
        name: "timed-mutex",
        what: "the victim waits for a mutex until its patience of 2 ms ends",
        right: &[("lock", "c-holder"), ("wait", "timed out|time ?out|time limit|gave up")],
        make: locks::timed_out,
        ..CAUSE
    },
    Cause {
        name: "signal-waiter",
        what: "the victim waits for a mutex; a bystander sends it a signal meanwhile",
        right: &[("lock", "c-holder")],
        make: locks::bystander,
        ..CAUSE
    },
    Cause {
        name: "convoy",
        what: "the holder of the victim's mutex waits for another mutex, whose holder works",
        right: &[("lock", "c-first|c-second")],
        make: locks::convoy,
        ..CAUSE
    },
    Cause {
        name: "sleeping-holder",
        what: "the holder of a mutex sleeps",
        right: &[("lock", "c-holder")],
        make: locks::sleeping_holder,
        ..CAUSE
    },
    Cause {
        name: "semaphore",
        what: "whoever posts the semaphore works first",
        stage: Stage::Request,
        right: &[("wait", "c-poster")],
        make: locks::semaphore,
        ..CAUSE
    },
    Cause {
        name: "rwlock",
        what: "a writer keeps a reader out",
        stage: Stage::Request,
        right: &[("wait", "c-writer")],
        make: locks::read_write,
        ..CAUSE
    },
    Cause {
        name: "condition",
        what: "whoever signals the condition works first",
        stage: Stage::Request,
        right: &[("wait", "c-signaller")],
        make: locks::condition,
        ..CAUSE
    },
    Cause {
        name: "futex-two",
        what: "nobody waits for the next job, which a futex word of value 2 says is not there",
        sense: Sense::Nothing,
        make: locks::idle_word,
        ..CAUSE
    },
    Cause {
        name: "spin-lock",
        what: "the victim spins in user space for a lock",
        right: &[("own", "c-victim"), ("lock", "c-holder")],
        make: locks::spinning,
        ..CAUSE
    },
    Cause {
        name: "pipe",
        what: "a server is slow to answer through a pipe",
        stage: Stage::Request,
        right: &[("wait", "c-server")],
        make: servers::pipes,
        ..CAUSE
    },
    Cause {
        name: "unix-socket",
        what: "the same through a Unix socket",
        stage: Stage::Request,
        right: &[("wait", "c-server")],
        make: servers::sockets,
        ..CAUSE
    },
    Cause {
        name: "tcp",
        what: "the same through TCP",
        stage: Stage::Request,
        right: &[("wait", "c-server")],
        make: servers::network,
        ..CAUSE
    },
    Cause {
        name: "eventfd",
        what: "the same through an eventfd",
        stage: Stage::Request,
        right: &[("wait", "c-server")],
        make: servers::event_counters,
        ..CAUSE
    },
    Cause {
        name: "major-fault",
        what: "pages of a file come from the disk",
        right: &[("fault", DISK), ("io", DISK)],
        nameless: &[("fault", "c-victim"), ("io", "")],
        make: memory::major_fault,
        ..CAUSE
    },
    Cause {
        name: "mmap-mapper",
        what: "a sibling maps memory with all its pages while the victim maps",
        right: &[("lock", "c-mapper")],
        make: memory::mapping,
        ..CAUSE
    },
    Cause {
        name: "mmap-fork",
        what: "a sibling forks while the victim's new pages are faulted in",
        right: &[("lock", "c-forker")],
        make: memory::forking,
        ..CAUSE
    },
    Cause {
        name: "fsync",
        what: "the victim waits for the disk, which a writer keeps busy",
        right: &[("io", DISK), WRITER],
        nameless: &[("io", ""), ("lock", DISK)],
        make: storage::fsync,
        ..CAUSE
    },
    Cause {
        name: "o-direct",
        what: "the victim reads the disk past the cache, beside a writer",
        right: &[("io", DISK), WRITER],
        nameless: &[("io", "")],
        make: storage::direct,
        ..CAUSE
    },
    Cause {
        name: "deadline",
        what: "a DEADLINE thread before a FIFO 70 victim",
        right: &[("higher_priority", "c-burst")],
        make: competition::deadline,
        ..CAUSE
    },
    Cause {
        name: "fifo",
        what: "a FIFO 99 thread before a FIFO 70 victim",
        right: &[("higher_priority", "c-burst")],
        fast: true,
        make: competition::fifo,
        ..CAUSE
    },
    Cause {
        name: "round-robin",
        what: "a RR 80 thread before a RR 80 victim",
        right: &[("same_priority", "c-burst")],
        make: competition::round_robin,
        ..CAUSE
    },
    Cause {
        name: "nice-in-heavy-group",
        what: "a thread of nice 19 in a group of 20 times the weight, beside a normal victim",
        right: &[("entitled", "c-burst")],
        threshold: "4ms",
        make: competition::heavy_group,
        ..CAUSE
    },
    Cause {
        name: "sigstop",
        what: "the victim is stopped by a signal while it works",
        right: &[("stopped", "c-stopper")],
        nameless: &[("stopped", "")],
        fast: true,
        threshold: "3ms",
        never: Some("freezer|frozen|thawed|tracer|ptrace"),
        make: stops::signal,
        ..CAUSE
    },
    Cause {
        name: "ptrace",
        what: "the victim is stopped by a tracer",
        right: &[("stopped", "c-stopper")],
        nameless: &[("stopped", "")],
        threshold: "3ms",
        never: Some("freezer|frozen|thawed|SIGSTOP|SIGCONT"),
        make: stops::tracer,
        ..CAUSE
    },
    Cause {
        name: "freezer",
        what: "the victim's group is frozen",
        right: &[("stopped", "c-stopper")],
        nameless: &[("stopped", "")],
        threshold: "3ms",
        never: Some("signal|SIG|tracer|ptrace"),
        make: stops::freezer,
        ..CAUSE
    },
    Cause {
        name: "pi-chain",
        what: "convoy, with priority inheritance",
        own: true,
        right: &[("lock", "c-first|c-second")],
        make: locks::inheriting_chain,
        ..CAUSE
    },
    Cause {
        name: "barging",
        what: "a mutex is let go, which wakes the victim, and taken by another before it",
        own: true,
        right: &[("lock", "{culprit}")],
        make: locks::barging,
        ..CAUSE
    },
    Cause {
        name: "requeue",
        what: "a waiter of a condition is moved to a lock and woken by its holder",
        own: true,
        stage: Stage::Request,
        right: &[("wait", "c-holder")],
        make: locks::requeue,
        ..CAUSE
    },
    Cause {
        name: "file-lock",
        what: "another process holds the lock of a file (flock)",
        own: true,
        stage: Stage::Request,
        right: &[("wait", "c-holder")],
        nameless: &[("io", "flock|lock")],
        make: storage::file_lock,
        ..CAUSE
    },
    Cause {
        name: "same-file",
        what: "another process writes 24 MiB into the file that the victim writes to (in the kernel, a lock of the file)",
        own: true,
        right: &[("lock", "c-writer")],
        make: storage::same_file,
        ..CAUSE
    },
    Cause {
        name: "asker-signal",
        what: "a server is slow to answer; a bystander sends the victim signals meanwhile",
        own: true,
        stage: Stage::Request,
        right: &[("wait", "c-server")],
        make: servers::bystander,
        ..CAUSE
    },
    Cause {
        name: "asker-timeout",
        what: "a server is slow to answer; the victim's patience of 2 ms ends, and it looks again later",
        own: true,
        stage: Stage::Request,
        right: &[("wait", "c-server"), ("wait", "timed out|time ?out|time limit|gave up")],
        make: servers::impatient,
        ..CAUSE
    },
    Cause {
        name: "full-pipe",
        what: "the victim writes into a full pipe with a slow reader",
        own: true,
        stage: Stage::Request,
        right: &[("wait", "c-reader")],
        make: servers::full_pipe,
        ..CAUSE
    },
    Cause {
        name: "inotify",
        what: "the victim waits for the word of a file that another makes slowly",
        own: true,
        stage: Stage::Request,
        right: &[("wait", "c-maker")],
        make: servers::notified,
        ..CAUSE
    },
    Cause {
        name: "vfork",
        what: "the victim waits in vfork while the child works before it becomes another program",
        own: true,
        right: &[("wait", "c-child"), ("io", "c-child")],
        make: servers::starting,
        ..CAUSE
    },
    Cause {
        name: "copy-on-write",
        what: "after a fork each page that the victim writes to is copied",
        own: true,
        right: &[("fault", "c-victim"), ("own", "c-victim")],
        make: memory::copying,
        ..CAUSE
    },
    Cause {
        name: "userfaultfd",
        what: "the victim's fault is answered by another thread, which is slow",
        own: true,
        stage: Stage::Request,
        right: &[("wait", "c-pager"), ("fault", "c-pager")],
        nameless: &[("fault", "c-victim")],
        make: memory::answered,
        ..CAUSE
    },
    Cause {
        name: "smaps",
        what: "another process reads the victim's smaps while the victim maps",
        own: true,
        right: &[("lock", "c-reader")],
        make: memory::smaps,
        ..CAUSE
    },
    Cause {
        name: "far-counter",
        what: "the victim switches a counter on another CPU on, which has its interrupts off and does not answer",
        own: true,
        right: &[("irq_off|kernel|own|.*wait.*|lock", "drill-irq-off|smp_call|cpu_function_call|generic_exec")],
        nameless: &[("own", "c-victim"), ("kernel", "c-victim")],
        make: memory::far_counter,
        ..CAUSE
    },
    Cause {
        name: "grace-period",
        what: "the victim waits until every CPU has passed through the scheduler (synchronize_rcu)",
        own: true,
        right: &[("wait", "rcu"), ("kernel", "rcu|membarrier"), ("io", "rcu")],
        make: memory::grace_period,
        ..CAUSE
    },
    Cause {
        name: "msync",
        what: "the victim writes a mapped file to the disk, which a writer keeps busy",
        own: true,
        right: &[("io", DISK), WRITER],
        nameless: &[("io", ""), ("lock", DISK)],
        make: storage::msync,
        ..CAUSE
    },
    Cause {
        name: "pinned-beside",
        what: "a normal thread has its turn on the CPU that the normal victim is pinned to",
        own: true,
        right: &[("same_priority", "c-burst"), ("entitled", "c-burst")],
        threshold: "4ms",
        make: competition::pinned_beside,
        ..CAUSE
    },
    Cause {
        name: "autogroup",
        what: "a thread of nice 10 in a session of nice -20, beside a normal victim",
        own: true,
        right: &[("entitled", "c-burst")],
        threshold: "4ms",
        make: competition::session,
        ..CAUSE
    },
    Cause {
        name: "boosted",
        what: "a normal thread becomes a FIFO 90 one while it runs",
        own: true,
        right: &[("higher_priority", "c-boosted")],
        make: competition::boosted,
        ..CAUSE
    },
    Cause {
        name: "moved",
        what: "the victim is put onto a CPU that a FIFO 90 thread keeps",
        own: true,
        right: &[("higher_priority", "c-keeper")],
        make: competition::moved,
        ..CAUSE
    },
    Cause {
        name: "signal-handler",
        what: "the victim's own signal handler takes 3 ms",
        own: true,
        right: &[("own", "c-victim")],
        make: competition::handler,
        ..CAUSE
    },
    Cause {
        name: "timers",
        what: "8000 timers expire in one interrupt",
        own: true,
        right: &[("irq", "timer|c-armer"), ("softirq", "timer|c-armer")],
        make: competition::timers,
        ..CAUSE
    },
    Cause {
        name: "unplug",
        what: "the victim interrupts all CPUs while one of them is taken out of the machine or put back",
        own: true,
        right: &[("lock", "c-unplugger"), ("wait", "c-unplugger")],
        // Some kernels hand it to a worker, which then has the lock.
        nameless: &[("lock", "kworker")],
        make: unplug::expedited,
        ..CAUSE
    },
];
