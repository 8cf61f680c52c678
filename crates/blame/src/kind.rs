//! The kinds of blame.

use crate::handlers::{of_a_softirq, of_an_interrupt};
use crate::who::{ANSWER_OR_REQUEST, Who};
use punctual_recording::Awaited;
use std::fmt::{Display, Formatter};

/// Why a piece of the lateness passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An interrupt's handler ran.
    Irq,
    /// A softirq ran.
    Softirq,
    /// A thread's or a softirq's code kept interrupts off.
    IrqOff,
    /// The interrupt was due and did not come, and nothing in this kernel can have held it up: the host, the hardware,
    /// or code where nothing could look.
    Blind,
    /// A thread's kernel code that would not be preempted.
    Kernel,
    /// A thread of higher priority ran; of two normal threads, one with more weight.
    HigherPriority,
    /// A thread of the same priority ran; of two normal threads, one with the same weight.
    SamePriority,
    /// A normal thread with less weight had its turn.
    LowerPriority,
    /// The victim had used up its group's or its own budget.
    Throttled,
    /// The kernel gave normal threads their reserved share.
    FairServer,
    /// The kernel moved threads between CPUs.
    Migration,
    /// The CPU came out of its idle loop.
    IdleExit,
    /// The victim waited for a page.
    Fault,
    /// The victim waited for input or output.
    Io,
    /// The victim waited for a lock.
    Lock,
    /// The victim waited for another thread, of its own process or another, to do something.
    Wait,
    /// The victim, or the thread that it waited for, slept until a timer.
    Sleep,
    /// The victim had been asked for nothing: it waited for its next request.
    Idle,
    /// The kernel let the victim's timer come later, within the timer slack that this thread allows.
    TimerSlack,
    /// It was stopped: by a signal, by a tracer, by the freezer of its control group.
    Stopped,
    /// It ran, in its own code.
    Own,
    /// The host ran something else.
    Steal,
    /// The ordinary path of a wakeup.
    KernelWake,
    /// Nothing explains it.
    Unknown,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 24] = [
        Kind::Irq,
        Kind::Softirq,
        Kind::IrqOff,
        Kind::Blind,
        Kind::Kernel,
        Kind::HigherPriority,
        Kind::SamePriority,
        Kind::LowerPriority,
        Kind::Throttled,
        Kind::FairServer,
        Kind::Migration,
        Kind::IdleExit,
        Kind::Fault,
        Kind::Io,
        Kind::Lock,
        Kind::Wait,
        Kind::Sleep,
        Kind::Idle,
        Kind::TimerSlack,
        Kind::Stopped,
        Kind::Own,
        Kind::Steal,
        Kind::KernelWake,
        Kind::Unknown,
    ];

    /// The name in JSON and options.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Irq => "irq",
            Kind::Softirq => "softirq",
            Kind::IrqOff => "irq_off",
            Kind::Blind => "blind",
            Kind::Kernel => "kernel",
            Kind::HigherPriority => "higher_priority",
            Kind::SamePriority => "same_priority",
            Kind::LowerPriority => "lower_priority",
            Kind::Throttled => "throttled",
            Kind::FairServer => "fair_server",
            Kind::Migration => "migration",
            Kind::IdleExit => "idle_exit",
            Kind::Fault => "fault",
            Kind::Io => "io",
            Kind::Lock => "lock",
            Kind::Wait => "wait",
            Kind::Sleep => "sleep",
            Kind::Idle => "idle",
            Kind::TimerSlack => "timer_slack",
            Kind::Stopped => "stopped",
            Kind::Own => "own",
            Kind::Steal => "steal",
            Kind::KernelWake => "kernel_wake",
            Kind::Unknown => "unknown",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name in tables for people: the one in JSON, except for [`Kind::LowerPriority`], which is nobody's fault.
    pub fn label(self) -> &'static str {
        match self {
            Kind::LowerPriority => "fair_turn",
            _ => self.name(),
        }
    }

    /// What all of it was, whoever was behind it: `threads of the same priority`.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Irq => "interrupts",
            Kind::Softirq => "softirqs",
            Kind::IrqOff => "code with interrupts off",
            Kind::Blind => "out of sight",
            Kind::Kernel => "kernel code that would not be preempted",
            Kind::HigherPriority => "higher-priority threads",
            Kind::SamePriority => "threads of the same priority",
            Kind::LowerPriority => "normal threads of less weight that had their fair turn",
            Kind::Throttled => "used-up budgets",
            Kind::FairServer => "the normal threads' reserved share",
            Kind::Migration => "moves between CPUs",
            Kind::IdleExit => "the way out of the idle loop",
            Kind::Fault => "page faults",
            Kind::Io => "input or output",
            Kind::Lock => "locks",
            Kind::Wait => "waits for other threads",
            Kind::Sleep => "sleeping on timers",
            Kind::Idle => "time without a request",
            Kind::TimerSlack => "timers that were allowed to come later",
            Kind::Stopped => "being stopped",
            Kind::Own => "their own work",
            Kind::Steal => "the host",
            Kind::KernelWake => "the ordinary path",
            Kind::Unknown => "unknown",
        }
    }

    /// A cause in words: `interrupt local_timer`.
    pub fn cause(self, who: &Who) -> String {
        match who {
            Who::NotSeen(Awaited::Holder) => "a lock whose holder was not seen".to_owned(),
            Who::NotSeen(Awaited::Ender) => "waiting for a thread that was not seen".to_owned(),
            Who::Seen(name) => format!("{} {name}", self.words()),
        }
    }

    /// What it means, to be put before a name.
    fn words(self) -> &'static str {
        match self {
            Kind::Irq => "interrupt",
            Kind::Softirq => "softirq",
            Kind::IrqOff => "interrupts off in",
            Kind::Blind => "out of sight:",
            Kind::Kernel => "kernel code of",
            Kind::HigherPriority => "higher-priority thread",
            Kind::SamePriority => "thread of the same priority",
            Kind::LowerPriority => "the fair turn of a normal thread of less weight,",
            Kind::Throttled => "out of budget:",
            Kind::FairServer => "the normal threads' reserved share:",
            Kind::Migration => "moving threads between CPUs:",
            Kind::IdleExit => "leaving the idle loop:",
            Kind::Fault => "page fault:",
            Kind::Io => "input or output:",
            Kind::Lock => "lock held by",
            Kind::Wait => "waiting for",
            Kind::Sleep => "sleeping on timer",
            Kind::Idle => "idle:",
            Kind::TimerSlack => "the timer slack of",
            Kind::Stopped => "being stopped by",
            Kind::Own => "the work of",
            Kind::Steal => "stolen by",
            Kind::KernelWake => "the ordinary path:",
            Kind::Unknown => "unknown:",
        }
    }

    /// Whether a thread that meets it has no CPU then, nor wants one: what ran on its last one has nothing to do with it.
    pub fn is_off_cpu(self) -> bool {
        match self {
            Kind::Throttled
            | Kind::Fault
            | Kind::Io
            | Kind::Lock
            | Kind::Wait
            | Kind::Sleep
            | Kind::Idle
            | Kind::TimerSlack
            | Kind::Stopped
            | Kind::Unknown => true,
            Kind::Irq
            | Kind::Softirq
            | Kind::IrqOff
            | Kind::Blind
            | Kind::Kernel
            | Kind::HigherPriority
            | Kind::SamePriority
            | Kind::LowerPriority
            | Kind::FairServer
            | Kind::Migration
            | Kind::IdleExit
            | Kind::Own
            | Kind::Steal
            | Kind::KernelWake => false,
        }
    }

    /// What happened, as a sentence.
    pub fn happened(self, who: &Who) -> String {
        match self {
            Kind::Irq => format!("The interrupt {who} ran first."),
            Kind::Softirq => format!("The softirq {who} ran first."),
            Kind::IrqOff => format!("{who} kept interrupts off."),
            Kind::Blind => format!("The interrupt came late, and nothing in this kernel can have delayed it ({who})."),
            Kind::Kernel => format!("{who} was in kernel code that could not be preempted."),
            Kind::HigherPriority => format!("{who} has the higher priority and ran first."),
            Kind::SamePriority => format!("{who} has the same priority and had its turn first."),
            Kind::LowerPriority => {
                format!("{who} had its fair turn: normal threads take turns, whatever their weight.")
            }
            Kind::Throttled => format!("The budget was used up: {who}."),
            Kind::FairServer => format!("The kernel gave normal threads their reserved share: {who}."),
            Kind::Migration => format!("Threads were moved between CPUs: {who}."),
            Kind::IdleExit => "The CPU was asleep and took its time to wake up.".to_owned(),
            Kind::Fault => format!("{who} touched memory that was not there and waited for the page."),
            Kind::Io => format!("The thread waited for input or output ({who})."),
            Kind::Lock if who.not_seen().is_some() => {
                "The thread waited for a lock, and who held it was not seen.".to_owned()
            }
            Kind::Lock => format!("The thread waited for a lock that {who} held."),
            Kind::Wait if who.not_seen().is_some() => {
                "The thread waited for another one, which was not seen.".to_owned()
            }
            Kind::Wait => format!("The thread waited for {who}."),
            Kind::Sleep => format!("The thread slept on a timer ({who})."),
            Kind::Idle => format!("The thread had nothing to do: {who}."),
            Kind::TimerSlack => format!("{who} allows its timers to come later, and the kernel made use of that."),
            Kind::Stopped => format!("The thread was stopped: {who}."),
            Kind::Own => format!("{who} did its own work."),
            Kind::Steal => "The host ran something else on this CPU.".to_owned(),
            Kind::KernelWake => "The wakeup went its ordinary way through the kernel.".to_owned(),
            Kind::Unknown if who.name() == ANSWER_OR_REQUEST => {
                "The thread waited, and nothing tells whether for an answer or for its next request.".to_owned()
            }
            Kind::Unknown => format!("Nothing that was seen explains it ({who})."),
        }
    }

    /// What would change it, in the imperative; `None` if there is nothing to change. `RECORDING --episode N` in it stands
    /// for an episode that has it.
    pub fn remedy(self, who: &Who) -> Option<&'static str> {
        Some(match self {
            Kind::Irq => of_an_interrupt(who.name()),
            Kind::Softirq => of_a_softirq(who.name()),
            Kind::IrqOff => "Keep it off this CPU (taskset, cpuset), or use a PREEMPT_RT kernel.",
            Kind::Blind => {
                "Look below this kernel: pin the virtual CPU on the host, or look for firmware's interrupts with `punctual idle`."
            }
            Kind::Kernel => {
                "Boot with preempt=full or use a PREEMPT_RT kernel; or keep it off this CPU (taskset, cpuset)."
            }
            Kind::HigherPriority => {
                "Give it another CPU (taskset), or the late thread the higher priority: `sudo chrt -f -p PRIORITY TID`."
            }
            Kind::SamePriority => {
                "Give the late thread a higher priority (`sudo chrt -f -p PRIORITY TID`) or another CPU (taskset)."
            }
            Kind::LowerPriority => IN_REAL_TIME,
            Kind::Throttled => {
                "Raise the budget: cpu.max (version 1: cpu.cfs_quota_us; -1 ends it) or io.max of the group, the runtime of a \
                 SCHED_DEADLINE thread, or kernel.sched_rt_runtime_us."
            }
            Kind::FairServer => {
                "Leave normal threads some time of this CPU, or move them to another; the share is set in \
                 /sys/kernel/debug/sched/fair_server."
            }
            Kind::Migration => {
                "Pin the thread: `sudo taskset -cp CPU TID`. Or keep the balancer from it (cpuset partitions)."
            }
            Kind::IdleExit => {
                "Forbid deep idle states while it matters: `sudo sh -c 'exec 3> /dev/cpu_dma_latency; printf 0 >&3; sleep infinity'`."
            }
            Kind::Fault => "Touch all memory beforehand and lock it: mlockall(MCL_CURRENT | MCL_FUTURE).",
            Kind::Io => "Hand input and output to another thread, so that this one never waits for it.",
            Kind::Lock => {
                "Hold it for a shorter time, hand data over without a lock, or let the holder inherit the waiter's priority \
                 (PTHREAD_PRIO_INHERIT)."
            }
            Kind::Wait => {
                "`punctual why RECORDING --episode N` shows what that thread did meanwhile; ask it earlier, or for less at once."
            }
            Kind::TimerSlack => {
                "Allow less: `echo 1 | sudo tee /proc/TID/timerslack_ns`, or TimerSlackNSec=1 of a systemd service; real-time \
                 threads have none."
            }
            Kind::Sleep => of_a_sleep(who),
            Kind::Stopped => "Find out who stops it: a debugger, job control, a freezer; nothing else has to change.",
            Kind::Own => {
                "Its call tree shows what took the time (`punctual why RECORDING --episode N`): do less at once, split it among threads, or begin earlier."
            }
            Kind::Steal => {
                "Give the virtual machine CPUs of its own: pinned, and not shared with others (whoever owns the host: `virsh vcpupin GUEST VCPU CPU`)."
            }
            Kind::Unknown if who.name() == ANSWER_OR_REQUEST => {
                "Record whoever sends the requests (--comm): if a timer wakes it to do so, it is known when they begin."
            }
            Kind::Unknown => MORE_SAMPLES,
            Kind::KernelWake | Kind::Idle => return None,
        })
    }

    /// What happened meanwhile to a thread that others waited for.
    pub(crate) fn meanwhile(self, who: &Who) -> Meanwhile {
        use Meanwhile::{Another, It};
        match self {
            Kind::Irq => Another(format!("the interrupt {who} ran on its CPU")),
            Kind::Softirq => Another(format!("the softirq {who} ran on its CPU")),
            Kind::IrqOff => Another(format!("{who} kept interrupts off on its CPU")),
            Kind::Blind => Another(format!("nothing could be seen ({who})")),
            Kind::Kernel => Another(format!("{who} was on its CPU in kernel code that would not be preempted")),
            Kind::HigherPriority => Another(format!("{who} ran on its CPU, with the higher priority")),
            Kind::SamePriority => Another(format!("{who} ran on its CPU, with the same priority")),
            Kind::LowerPriority => Another(format!("{who} had its fair turn on its CPU")),
            Kind::Throttled => Another(format!("its budget was used up ({who})")),
            Kind::FairServer => Another(format!("{who} ran on its CPU in the normal threads' reserved share")),
            Kind::Migration => Another(format!("{who} moved threads between CPUs")),
            Kind::IdleExit => Another("its CPU came out of the idle loop".to_owned()),
            Kind::Fault => It("waited for a page".to_owned()),
            Kind::Io => It(format!("waited for input or output ({who})")),
            Kind::Lock if who.not_seen().is_some() => {
                It("waited for another lock, whose holder was not seen".to_owned())
            }
            Kind::Lock => It(format!("waited for another lock, which {who} held")),
            Kind::Wait if who.not_seen().is_some() => It("waited for another thread, which was not seen".to_owned()),
            Kind::Wait => It(format!("waited for {who}")),
            Kind::Sleep => It(format!("slept until a timer ({who})")),
            Kind::Idle => It(format!("had nothing to do ({who})")),
            Kind::TimerSlack => It("waited for a timer that it allows to come later".to_owned()),
            Kind::Stopped => It(format!("was stopped by {who}")),
            Kind::Own => It("was at work".to_owned()),
            Kind::Steal => Another("the host ran something else on its CPU".to_owned()),
            Kind::KernelWake => It(format!("was on its ordinary way through the kernel ({who})")),
            Kind::Unknown => Another(format!("nothing that was seen explains its time ({who})")),
        }
    }
}

/// What helps against turns of normal threads.
const IN_REAL_TIME: &str = "Give the late thread a real-time priority if its work is short: `sudo chrt -f -p 50 TID`.";
/// What may tell what is unknown.
const MORE_SAMPLES: &str =
    "Record again with a higher --sample-rate; the notes (--all) say what this kernel does not show.";
/// What helps against a sleep of the late thread itself.
const FIND_THE_SLEEP: &str = "Find the sleep in the late thread (a back-off, a rate limit, a loop that polls): shorten it, or wait there for the event itself.";

/// What helps against a sleep of the late thread itself, which whoever asked may not have waited for.
const RECORD_WHO_ASKS: &str =
    "Record whoever asks (--comm) to see when the answer came: a sleep after that holds up only the next request.";

/// What helps where nothing tells who asks.
const RECORD_OTHER_END: &str =
    "Record whoever is at the other end (--comm): if that answers, the sleep is a pause until the next question.";

fn of_a_sleep(who: &Who) -> &'static str {
    match who.is_maybe_in_no_request() {
        true if who.is_maybe_after_answer() => RECORD_WHO_ASKS,
        true => RECORD_OTHER_END,
        false => FIND_THE_SLEEP,
    }
}

/// A clause at the end of a sentence about a thread.
pub(crate) enum Meanwhile {
    /// What the thread itself did, without its subject: `it` or a name.
    It(String),
    /// What held it up.
    Another(String),
}

impl Display for Meanwhile {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Meanwhile::It(did) => write!(out, "it {did}"),
            Meanwhile::Another(did) => out.write_str(did),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::who::{MAYBE_AFTER_ANSWER, MAYBE_BEFORE_QUESTION};

    #[test]
    fn every_kind_has_a_sentence_and_a_remedy_where_there_is_anything_to_change() {
        for kind in Kind::ALL {
            let sentence = kind.happened(&"x".into());
            assert!(sentence.ends_with('.') && !sentence.contains(['\n', ';']), "{sentence}");
            let may_change = !matches!(kind, Kind::KernelWake | Kind::Idle);
            assert_eq!(kind.remedy(&"x".into()).is_some(), may_change, "{kind:?}");
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
            let short = kind.label();
            assert!(!short.is_empty() && !short.contains(' '), "{short}");
        }
        assert_eq!(Kind::from_name("several"), None);
        assert!(Kind::Unknown.remedy(&ANSWER_OR_REQUEST.into()).unwrap().contains("--comm"));
        let after_answer = Who::from(format!("hrtimer_wakeup{MAYBE_AFTER_ANSWER}"));
        assert_eq!(Kind::Sleep.remedy(&after_answer), Some(RECORD_WHO_ASKS));
        let before_question = Who::from(format!("hrtimer_wakeup{MAYBE_BEFORE_QUESTION}"));
        assert_eq!(Kind::Sleep.remedy(&before_question), Some(RECORD_OTHER_END));
        assert_eq!(Kind::Sleep.remedy(&"hrtimer_wakeup".into()), Some(FIND_THE_SLEEP));
    }

    #[test]
    fn no_interrupt_is_to_be_moved_where_none_is_behind_it() {
        let moves = |kind: Kind, name: &str| kind.remedy(&name.into()).unwrap().contains("interrupt to another CPU");
        assert!(moves(Kind::Softirq, "net_rx") && moves(Kind::Softirq, "tcp_tasklet_func"));
        for (kind, name, expected) in [
            (Kind::Softirq, "timer", "Arm fewer timers"),
            (Kind::Softirq, "hrtimer", "Arm fewer timers"),
            (Kind::Softirq, "rcu", "Keep RCU's callbacks off this CPU"),
            (Kind::Softirq, "sched", "Keep the balancer from this CPU"),
            (Kind::Softirq, "device_callback", "Stop it: a device, drill or modem of punctual"),
            (Kind::Softirq, "drill_softirq_callback", "Stop it: "),
            (Kind::Irq, "drill_irq", "Stop it: "),
            (Kind::Irq, "device_interrupt", "Stop it: "),
            (Kind::Irq, "local_timer", "Arm fewer timers"),
        ] {
            let remedy = kind.remedy(&name.into()).unwrap();
            assert!(remedy.starts_with(expected) && !moves(kind, name), "{name}: {remedy}");
        }
    }

    #[test]
    fn a_thread_that_is_called_as_if_nobody_was_seen_is_named() {
        let mut looked_at = 0;
        for awaited in Awaited::ALL {
            let nobody = Who::from(awaited);
            let called_so = Who::from(nobody.name());
            assert_ne!(nobody, called_so);
            assert_eq!(Kind::Lock.cause(&called_so), format!("lock held by {called_so}"));
            assert_eq!(Kind::Wait.happened(&called_so), format!("The thread waited for {called_so}."));
            assert!(Kind::Lock.cause(&nobody).ends_with("not seen"));
            assert!(Kind::Lock.happened(&nobody).ends_with("was not seen."));
            looked_at += 1;
        }
        assert_eq!(looked_at, 2);
    }
}
