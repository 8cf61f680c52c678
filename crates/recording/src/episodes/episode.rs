//! An *episode*: one late wakeup with the flight recorder's evidence around it.

use punctual_codes::Stage;
pub use punctual_codes::{Call, EventKind};
use serde::{Deserialize, Serialize};

/// Stands in place of a priority in [`Event::priority`] and the like: the thread is `SCHED_IDLE`, which has the least
/// weight whatever its nice value. Recordings made before this was known have the priority of its nice value.
pub const IDLE_PRIORITY: i16 = 140;

/// In `extra` of [`EventKind::VectorBegin`]: user code was interrupted.
pub const INTERRUPTED_USER: u64 = 1 << 63;

/// In [`Event::context`]: a softirq is being served.
pub const IN_SOFTIRQ: u32 = 1 << 8;
/// In [`Event::context`]: if any of these bits is set, an interrupt that nothing can keep off is being served.
pub const IN_NMI: u32 = 0xf << 20;
/// In [`Event::context`]: if any of these bits is set, an interrupt is being served.
pub const IN_INTERRUPT: u32 = 0xf << 16;

/// No real stack is deeper than this: the kernel gives 96 places, and inlined functions come between them.
pub const MAX_FRAMES: usize = 512;

/// One thing that happened on a CPU. Times are ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// What.
    pub kind: EventKind,
    /// The thread that the CPU was running; 0 if it was idle.
    pub tid: u32,
    /// That thread's priority as the kernel counts: -1 deadline, 0 to 98 real-time (the smaller runs first), 100 to 139
    /// normal, [`IDLE_PRIORITY`] for `SCHED_IDLE`.
    pub priority: i16,
    /// The kernel's nesting count at that moment ([`IN_SOFTIRQ`], [`IN_INTERRUPT`]), with the same layout for every
    /// kernel; see [`Episode::nesting_known`].
    pub context: u32,
    /// The host's steal counter of this CPU, ns; 0 where it cannot be read.
    pub steal_ns: u64,
    /// See [`EventKind`].
    pub value: u64,
    /// See [`EventKind`].
    pub extra: u64,
    /// Position in [`Episode::names`].
    pub name: u32,
}

impl Event {
    /// Whether the current thread itself did it, rather than an interrupt or a softirq that came in between.
    pub fn is_the_threads_own(&self) -> bool {
        self.context & (IN_INTERRUPT | IN_SOFTIRQ | IN_NMI) == 0
    }

    /// For a switch, the next thread's priority; for a waking, the woken thread's.
    pub fn other_priority(&self) -> i16 {
        self.extra as i16
    }

    /// See [`armed_by`].
    pub fn armed_by(&self) -> Option<(u32, u32)> {
        armed_by(self.kind, self.value)
    }

    /// For a switch, the state in which the previous thread left; 0: it could have continued.
    pub fn left_state(&self) -> u32 {
        (self.extra >> 32) as u32
    }
}

/// For the beginning of a timer's function, from its [`Event::value`]: the thread that armed the timer (possibly an
/// ordinary one), and the position of its name in [`Episode::names`]; `None` if that was not seen, or is not in the
/// recording.
pub fn armed_by(kind: EventKind, value: u64) -> Option<(u32, u32)> {
    let is_timer = matches!(kind, EventKind::TimerBegin | EventKind::CallbackBegin);
    // Older recordings have the function's address there.
    let is_told = is_timer && value as u32 != 0 && value >> 63 == 0;
    is_told.then_some((value as u32, (value >> 32) as u32))
}

/// A state of [`Event::left_state`]: it cannot be interrupted, as in disk I/O.
pub const LEFT_UNINTERRUPTIBLE: u32 = 2;
/// States of [`Event::left_state`]: with any of these, it was stopped by a signal, by a tracer, ...
pub const LEFT_STOPPED: u32 = 4;
/// ... with this one, ...
pub const LEFT_TRACED: u32 = 8;
/// ... or by the freezer of its control group.
pub const LEFT_FROZEN: u32 = 0x8000;
/// A state of [`Event::left_state`]: it sleeps for a kernel lock that others spin for, as with `PREEMPT_RT`, in the
/// middle of whatever it does.
pub const LEFT_FOR_SPINLOCK: u32 = 0x1000;
/// A state of [`Event::left_state`]: it has ended.
pub const LEFT_DEAD: u32 = 0x80;
/// A mark in [`Event::left_state`]: it waits for I/O.
pub const LEFT_FOR_IO: u32 = 1 << 31;
/// A mark in [`Event::left_state`]: it waits for a lock of its program, a futex that another thread holds.
pub const LEFT_FOR_LOCK: u32 = 1 << 30;

/// The work item with which the kernel releases what a control group's disk limit had held back.
pub const HELD_BACK_WORK: &str = "blk_throtl_dispatch_work_fn";

/// Who was late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Victim {
    /// Its thread id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its priority as the kernel counts, see [`Event::priority`].
    pub priority: i16,
    /// Where it ran in the end.
    pub cpu: u32,
}

/// The stack at one moment: what a CPU was executing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackSample {
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// The current thread.
    pub tid: u32,
    /// The nesting count, as [`Event::context`].
    pub context: u32,
    /// Whether it was taken because a timer interrupt came late (then the frames above the interrupt belong to the
    /// interrupt), rather than by the sampling clock.
    pub at_late_interrupt: bool,
    /// Position of the thread's name in [`Episode::names`].
    pub name: u32,
    /// Positions in [`Episode::frames`], innermost first; the kernel's come before the program's.
    pub frames: Vec<u32>,
}

/// A place in code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The function; without symbols the module and offset.
    pub function: String,
    /// What it belongs to: `kernel`, `bpf`, a kernel module, or a program's file.
    pub module: String,
}

/// Somebody else's BPF program that runs at a tracepoint inside interrupts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookedProgram {
    /// Its name.
    pub name: String,
    /// The tracepoint, or `perf_event`.
    pub hook: String,
    /// How long it ran in total around the episode, ns; `None` if that was not measured.
    pub ran_ns: Option<u64>,
}

/// A process, and its threads that an episode mentions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number: that of its first thread.
    pub number: u32,
    /// Its name at the time.
    pub name: String,
    /// Threads, by number.
    pub threads: Vec<u32>,
}

/// A control group that shares out CPU time, or the automatic group of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its path below the mount point of its hierarchy; `/` is the root.
    pub path: String,
    /// The weight of each group on the way to it, its own last, as the scheduler counts (1,024 is usual); 0: it has
    /// none of its own, so its members compete with its siblings.
    pub weights: Vec<u64>,
    /// For how much of each period its real-time threads may run, us; `None` if nothing limits that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_time_us: Option<u64>,
}

/// One late wakeup and its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Episode {
    /// Counted from 1 within the recording.
    pub id: u64,
    /// Who was late.
    pub victim: Victim,
    /// When its timer was due, ns of `CLOCK_MONOTONIC`; for threads without a known timer, when they were woken.
    pub expected_ns: u64,
    /// Where `stage` ends.
    pub end_ns: u64,
    /// The stage that was too long: [`Stage::Total`], which ends with the first user-space instruction (for somebody
    /// else's thread, when it is switched in), [`Stage::Response`], which ends when the thread sleeps until it is woken
    /// for something new, or [`Stage::Request`], which ends when it waits for the next unit of its work.
    pub stage: Stage,
    /// Whether a request is known to begin as somebody asks the late thread for something, by a connection that it accepted; or as the thread goes on
    /// with the next one at once, because its loop is behind its timer, and waits only for answers.
    pub is_asked_for: bool,
    /// Whether all waits of a request for others are for what comes by connections that the thread asked for: none is for the next
    /// request then, unless it gets its requests by those.
    pub waits_for_answers: bool,
    /// Whether a timer of its own begins the request, and the late thread may be a server that sleeps within its requests: it sleeps for as long each
    /// time and not until a time, or too few of its sleeps were seen to tell.
    pub may_sleep_within: bool,
    /// Whether a timer of its own begins the request, and the late thread's sleeps end in equal steps, or whole periods apart, as those of a loop with a
    /// period do. Older recordings do not say.
    pub has_period: bool,
    /// Whether nothing tells which side of the late thread's connections asks: it may be asked by those for which it asked, or ask by those that its
    /// program accepted. Older recordings do not say.
    pub asker_unknown: bool,
    /// Numbers of descriptors by which the late thread reads connections that its program accepted, or at which it listens, as seen before the
    /// request began.
    pub accepted: Vec<u32>,
    /// The same of connections for which it asked somebody who listens on this machine.
    pub connected: Vec<u32>,
    /// Whether these connections were not known as the request began, not yet or not any more, so that there may be others.
    pub connections_unknown: bool,
    /// For local sockets among these descriptors: the path at which somebody listens, its own program where it accepted.
    pub sockets: Vec<(u32, String)>,
    /// The length that a wakeup had to exceed.
    pub threshold_ns: u64,
    /// Why the evidence is incomplete, if it is: then it supports no conclusion.
    pub void: Option<String>,
    /// How long a timer interrupt usually takes to come, ns; 0 if not known.
    pub usual_delivery_ns: u64,
    /// What a page fault costs before its first event and after its last, ns; 0 if not known.
    pub fault_path_ns: u64,
    /// Time between samples, ns; 0: none were taken.
    pub sample_period_ns: u64,
    /// Whether [`Event::context`] could be read on the machine. If not, it is 0 and says nothing.
    pub nesting_known: bool,
    /// How often one of the recorder's programs should have run in this time, or shortly before, and did not. If it did
    /// happen, that something was not seen means nothing.
    pub missed_runs: u64,
    /// Names of threads, handlers, functions.
    pub names: Vec<String>,
    /// Places in code.
    pub frames: Vec<Frame>,
    /// What happened, by time.
    pub events: Vec<Event>,
    /// What was executing, by time.
    pub samples: Vec<StackSample>,
    /// BPF programs that may have run inside interrupts.
    pub programs: Vec<HookedProgram>,
    /// Build identifiers of the programs' files in [`Frame::module`], where known.
    pub builds: Vec<(String, String)>,
    /// Control groups of threads.
    pub groups: Vec<Group>,
    /// Threads, by their numbers, and the position of each's group in `groups`; those of one that was moved meanwhile stand there several times.
    pub members: Vec<(u32, u32)>,
    /// The path of the control group whose disk limit the late thread is under, if such limits held requests back.
    pub disk_limit: Option<String>,
    /// Which processes the threads belonged to, as far as that is known; older recordings do not say.
    pub processes: Vec<Process>,
}

impl Episode {
    /// The first episode of a recording, with no evidence yet: its total was too long, on a machine that tells how its
    /// interrupts nest.
    pub fn of(victim: Victim, expected_ns: u64, end_ns: u64) -> Episode {
        Episode {
            id: 1,
            victim,
            expected_ns,
            end_ns,
            stage: Stage::Total,
            is_asked_for: false,
            waits_for_answers: false,
            may_sleep_within: false,
            has_period: false,
            asker_unknown: false,
            accepted: Vec::new(),
            connected: Vec::new(),
            connections_unknown: false,
            sockets: Vec::new(),
            threshold_ns: 0,
            void: None,
            usual_delivery_ns: 0,
            fault_path_ns: 0,
            sample_period_ns: 0,
            nesting_known: true,
            missed_runs: 0,
            names: Vec::new(),
            frames: Vec::new(),
            events: Vec::new(),
            samples: Vec::new(),
            programs: Vec::new(),
            builds: Vec::new(),
            groups: Vec::new(),
            members: Vec::new(),
            disk_limit: None,
            processes: Vec::new(),
        }
    }

    /// How late it was, ns.
    pub fn total_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.expected_ns)
    }

    /// The control group of a thread, if it is known.
    pub fn group_of(&self, tid: u32) -> Option<&Group> {
        let (_, number) = self.members.iter().find(|(member, _)| *member == tid)?;
        self.groups.get(*number as usize)
    }

    /// A name of [`Episode::names`].
    pub fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("?", String::as_str)
    }
}
