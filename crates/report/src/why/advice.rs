//! What happened and what would change it: a cause in words that lead to an action.

use super::WhyReport;
use punctual_blame::{Cause, ENDER_NOT_SEEN, HOLDER_NOT_SEEN, Kind, sentence};

/// A cause that has at least this share of the lateness is worth a change, percent.
const WORTH_A_CHANGE: u128 = 10;
/// More are too many to act on at once.
const MAX_SHOWN: usize = 2;

/// What happened, and what would change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Advice {
    /// One sentence.
    pub(super) happened: String,
    /// One or two sentences, in the imperative; `None` where there is nothing to change.
    pub(super) remedy: Option<&'static str>,
}

impl Advice {
    pub(super) fn on(cause: &Cause) -> Advice {
        let mut happened = happened(cause.kind, &cause.name);
        if let Some(sentence) = cause.detail.as_deref().and_then(sentence) {
            // Of a wait what matters is what kept whoever was waited for.
            happened.pop();
            happened.push_str(&format!(", and meanwhile {sentence}."));
        }
        Advice { happened, remedy: remedy(cause.kind, &cause.name) }
    }
}

/// The causes that are worth a change, largest first, with advice.
pub(super) fn leading<'a>(report: &'a WhyReport<'_>) -> impl Iterator<Item = Advice> + 'a {
    let late_ns = u128::from(report.summary.late_ns);
    let is_worth = move |cause: &&Cause| u128::from(cause.total_ns) * 100 >= late_ns * WORTH_A_CHANGE;
    let causes = report.causes().iter().filter(is_worth).map(Advice::on);
    causes.filter(|advice| advice.remedy.is_some()).take(MAX_SHOWN)
}

fn happened(kind: Kind, name: &str) -> String {
    match kind {
        Kind::Irq => format!("The interrupt {name} ran first."),
        Kind::Softirq => format!("The softirq {name} ran first."),
        Kind::IrqOff => format!("{name} kept interrupts off."),
        Kind::Blind => format!("The interrupt came late, and nothing in this kernel can have kept it ({name})."),
        Kind::Kernel => format!("{name} was in kernel code that could not be preempted."),
        Kind::HigherPriority => format!("{name} has the higher priority and ran first."),
        Kind::SamePriority => format!("{name} has the same priority and was there first."),
        Kind::LowerPriority => format!("{name} had its fair turn: normal threads take turns, whatever their weight."),
        Kind::Throttled => format!("The budget was used up: {name}."),
        Kind::FairServer => format!("The kernel gave normal threads their reserved share: {name}."),
        Kind::Migration => format!("Threads were moved between CPUs: {name}."),
        Kind::IdleExit => "The CPU was asleep and took its time to wake up.".to_owned(),
        Kind::Fault => format!("{name} touched memory that was not there and waited for the page."),
        Kind::Io => format!("The thread waited for input or output ({name})."),
        Kind::Lock if name == HOLDER_NOT_SEEN => {
            "The thread waited for a lock, and who held it was not seen.".to_owned()
        }
        Kind::Lock => format!("The thread waited for a lock that {name} held."),
        Kind::Wait if name == ENDER_NOT_SEEN => "The thread waited for another one, and which was not seen.".to_owned(),
        Kind::Wait => format!("The thread waited for {name}."),
        Kind::Sleep => format!("Whom it waited for slept on a timer ({name})."),
        Kind::TimerSlack => format!("{name} allows its timers to come later, and the kernel made use of that."),
        Kind::Stopped => format!("The thread was stopped: {name}."),
        Kind::Own => format!("{name} did its own work."),
        Kind::Steal => "The host ran something else on this CPU.".to_owned(),
        Kind::KernelWake => "The wakeup went its ordinary way through the kernel.".to_owned(),
        Kind::Unknown => format!("Nothing that was seen explains it ({name})."),
    }
}

fn remedy(kind: Kind, name: &str) -> Option<&'static str> {
    Some(match kind {
        Kind::Irq if name == "local_timer" => {
            "Arm fewer timers on this CPU, or keep the tick from it (nohz_full= on the kernel's command line)."
        }
        Kind::Irq => "Send it to another CPU: /proc/irq/N/smp_affinity (stop irqbalance first).",
        Kind::Softirq => {
            "Send its device's interrupt to another CPU, or let threads do such work: threadirqs on the kernel's command line, \
             or a PREEMPT_RT kernel."
        }
        Kind::IrqOff => "Keep it off this CPU (taskset, cpuset), or use a PREEMPT_RT kernel.",
        Kind::Blind => {
            "Look below this kernel: pin the virtual CPU on the host, or look for firmware's interrupts with `punctual idle`."
        }
        Kind::Kernel => "Boot with preempt=full or use a PREEMPT_RT kernel; or keep it off this CPU (taskset, cpuset).",
        Kind::HigherPriority => "Give it another CPU (taskset), or the late thread the higher priority (chrt -f).",
        Kind::SamePriority => "Give one of them another priority (chrt -f) or another CPU (taskset).",
        Kind::LowerPriority => "Give the late thread a real-time priority: chrt -f 50, or SCHED_DEADLINE.",
        Kind::Throttled => {
            "Raise the budget: cpu.max of the group, the runtime of a SCHED_DEADLINE thread, or kernel.sched_rt_runtime_us."
        }
        Kind::FairServer => {
            "Leave normal threads some time of this CPU, or move them to another; the share is set in \
             /sys/kernel/debug/sched/fair_server."
        }
        Kind::Migration => "Pin the thread to a CPU (taskset) and keep the balancer from it (cpuset partitions).",
        Kind::IdleExit => "Forbid deep idle states: hold /dev/cpu_dma_latency at 0 while it matters.",
        Kind::Fault => "Touch all memory beforehand and lock it: mlockall(MCL_CURRENT | MCL_FUTURE).",
        Kind::Io => "Hand input and output to another thread, so that this one never waits for it.",
        Kind::Lock => {
            "Hold it for a shorter time, hand data over without a lock, or let the holder inherit the waiter's priority \
             (PTHREAD_PRIO_INHERIT)."
        }
        Kind::Wait => "Look with --episode N at what that one did meanwhile, and ask it earlier or for less at once.",
        Kind::TimerSlack => {
            "Allow less: prctl(PR_SET_TIMERSLACK, 1), TimerSlackNSec=1 of a systemd service; real-time threads have none."
        }
        Kind::Sleep => "Let it wait for what it sleeps for, instead of looking for it by the clock.",
        Kind::Stopped => "Find out who stops it: a debugger, job control, a freezer; nothing else has to change.",
        Kind::Own => "Look at its call tree with --episode N, and do less at once or begin earlier.",
        Kind::Steal => "Give the virtual machine CPUs of its own: pinned, and not shared with others.",
        Kind::Unknown => "Record again with a higher --sample-rate; the notes say what this kernel does not show.",
        Kind::KernelWake => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_sentence_and_all_but_the_ordinary_path_a_remedy() {
        let mut looked_at = 0;
        for kind in Kind::ALL {
            let sentence = happened(kind, "x");
            assert!(sentence.ends_with('.') && !sentence.contains(['\n', ';']), "{sentence}");
            assert_eq!(remedy(kind, "x").is_some(), kind != Kind::KernelWake, "{kind:?}");
            let short = kind.label();
            assert!(!short.is_empty() && !short.contains(' '), "{short}");
            looked_at += 1;
        }
        assert_eq!(looked_at, Kind::ALL.len());
    }

    #[test]
    fn what_kept_the_holder_of_a_lock_is_a_sentence() {
        let cause = |name: &str, detail: &str| Cause {
            kind: Kind::Lock,
            name: name.into(),
            detail: Some(detail.into()),
            cgroup: None,
            turn: None,
            episodes: 1,
            max_ns: 1,
            typical_ns: 1,
            total_ns: 1,
            unknown_ns: 0,
            example: 1,
        };
        let told = Advice::on(&cause("reader", "while it held the lock, rustc had its fair turn on its CPU")).happened;
        assert_eq!(
            told,
            "The thread waited for a lock that reader held, and meanwhile rustc had its fair turn on its CPU."
        );
        let told = Advice::on(&cause(HOLDER_NOT_SEEN, "the wait ended by its time limit")).happened;
        assert_eq!(told, "The thread waited for a lock, and who held it was not seen.");
        assert_eq!(Advice::on(&cause("reader", "memcpy")).happened, "The thread waited for a lock that reader held.");
    }
}
