//! What would change a cause for these late threads, on this kernel: some of what helps in general does not there.

use super::preemption::Preemption;
use punctual_blame::{Cause, Detail, Kind, QUOTA_USED_UP, REAL_TIME_BUDGET_USED_UP, Who};

/// The first priority number of a normal thread.
const NORMAL: i16 = 100;
/// What the recorder puts behind the names of punctual's own threads.
pub(super) const OF_THIS_RECORDING: &str = " (this recording)";
/// The name of the one that looks up who asks whom, for requests alone and for so long in all, see `probe/src/recorder/looks.rs`.
const LOOKS: &str = "looks (this recording)";
/// The kernel's threads that belong to one CPU, by what stands before its number.
const BOUND: [&str; 7] = ["cpuhp/", "irq_work/", "ksoftirqd/", "ktimers/", "kworker/", "migration/", "rcuc/"];

/// What is left where deep idle states were forbidden and the way out of idle was long all the same.
const KEPT_AWAKE: &str = "Deep idle states were forbidden already while this was recorded: what is left is idle=poll on the kernel's \
                          command line or, in a virtual machine, what its host does while a CPU idles.";

/// What all late threads are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Class {
    /// `SCHED_DEADLINE`.
    Deadline,
    /// `SCHED_FIFO` or `SCHED_RR`.
    RealTime,
    /// Everything else.
    Normal,
    /// Some of these, or nothing was late.
    #[default]
    Several,
}

impl Class {
    /// Of threads with these priorities, as the kernel counts them.
    pub(super) fn of(priorities: impl Iterator<Item = i16>) -> Class {
        let class = |priority: i16| match priority {
            ..0 => Class::Deadline,
            0..NORMAL => Class::RealTime,
            _ => Class::Normal,
        };
        let mut classes = priorities.map(class);
        let Some(first) = classes.next() else { return Class::Several };
        if classes.all(|other| other == first) { first } else { Class::Several }
    }
}

/// What the late threads are, and under what they were recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Setting {
    /// How far the recorded kernel preempts.
    pub(super) preemption: Preemption,
    pub(super) late: Class,
    /// Whether punctual held a request against deep idle states meanwhile, as it does for its own threads.
    pub(super) is_kept_awake: bool,
}

/// What would change a cause there, in the imperative; `None` if there is nothing to change.
pub(super) fn remedy(cause: &Cause, setting: Setting) -> Option<String> {
    let of_general_use = || {
        let known = setting.preemption.remedy(cause.kind, cause.who.name()).or_else(|| cause.remedy());
        known.map(str::to_owned)
    };
    if cause.kind == Kind::IdleExit && setting.is_kept_awake {
        return Some(KEPT_AWAKE.to_owned());
    }
    of_the_culprit(cause, setting).or_else(|| of_the_late(cause, setting.late)).or_else(of_general_use)
}

/// How a recording takes less of the time of which one of its own threads, with this name, had most; to follow a colon.
pub(super) fn less_of_this_recording(name: &str) -> &'static str {
    if name.starts_with(LOOKS) {
        return "a longer recording has less of it in proportion, and --why-stage response none, because nobody looks up who asks whom";
    }
    "a higher --why threshold or a lower --sample-rate makes it less"
}

/// What to do about a thread of punctual's own with this name, in a sentence: nothing that it delayed is to be changed.
pub(super) fn of_this_recording(name: &str) -> String {
    format!("That is what this recording itself costs: {}.", less_of_this_recording(name))
}

/// A thread that cannot be treated like any other.
enum Culprit<'a> {
    /// One of punctual's own.
    Own,
    /// That of the interrupt with this number: it runs where the interrupt comes.
    OfInterrupt(&'a str),
    /// One of the kernel's that belongs to its CPU.
    Bound,
}

impl<'a> Culprit<'a> {
    fn of(name: &'a str) -> Option<Culprit<'a>> {
        if name.ends_with(OF_THIS_RECORDING) {
            return Some(Culprit::Own);
        }
        let begins_with_digit = |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_digit());
        if let Some((number, _)) = name.strip_prefix("irq/").and_then(|rest| rest.split_once('-')) {
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            return is_number.then_some(Culprit::OfInterrupt(number));
        }
        let is_bound = BOUND.iter().any(|before| name.strip_prefix(before).is_some_and(begins_with_digit));
        is_bound.then_some(Culprit::Bound)
    }
}

/// What helps against a thread that cannot be moved like any other.
fn of_the_culprit(cause: &Cause, setting: Setting) -> Option<String> {
    let by_priority = matches!(cause.kind, Kind::HigherPriority | Kind::SamePriority);
    // Among normal threads weights count, and what helps there is about the late thread alone.
    let culprit = Culprit::of(cause.who.name())?;
    let is_by_turn = cause.turn.is_some() && !matches!(culprit, Culprit::Own);
    let is_meant = matches!(cause.kind, Kind::Kernel | Kind::IrqOff) || (by_priority && !is_by_turn);
    if !is_meant {
        return None;
    }
    let can_go_before =
        by_priority && setting.late != Class::Deadline && cause.priorities.is_none_or(|both| !both.is_out_of_reach());
    let higher = if can_go_before {
        " Or give the late thread the higher priority: `sudo chrt -f -p PRIORITY TID`."
    } else {
        ""
    };
    Some(match culprit {
        Culprit::Own => of_this_recording(cause.who.name()),
        Culprit::OfInterrupt(number) => format!(
            "Send its interrupt to another CPU, and the thread goes along: `echo CPU | sudo tee \
             /proc/irq/{number}/smp_affinity_list` (stop irqbalance first).{higher}"
        ),
        Culprit::Bound => {
            let how = if setting.late == Class::Deadline { "a cpuset partition" } else { "taskset" };
            let kernel = match (cause.kind, setting.preemption) {
                (Kind::Kernel, Preemption::Partial) => " Or boot with preempt=full, or use a PREEMPT_RT kernel.",
                (Kind::Kernel | Kind::IrqOff, Preemption::Partial | Preemption::Full) => " Or use a PREEMPT_RT kernel.",
                _ => "",
            };
            format!("Give the late thread another CPU ({how}): {} belongs to this one.{kernel}{higher}", cause.who)
        }
    })
}

/// What helps late threads of this class, where that is not what helps others.
fn of_the_late(cause: &Cause, late: Class) -> Option<String> {
    let remedy = match (cause.kind, late) {
        (Kind::Migration, Class::Deadline) => {
            "Give the thread CPUs of its own in a cpuset partition (cpuset.cpus.partition): a SCHED_DEADLINE thread cannot be \
             pinned otherwise, and the balancer keeps off them."
        }
        (Kind::Lock, Class::Normal) => {
            "Hold it for a shorter time, or hand data over without a lock: a normal thread has no priority that the holder could \
             inherit."
        }
        (Kind::Throttled, _) => return of_a_budget(&cause.who, cause.detail.as_ref()?, late),
        _ => return None,
    };
    Some(remedy.to_owned())
}

/// What helps against a budget that was used up, by which it was.
fn of_a_budget(whose: &Who, detail: &Detail, late: Class) -> Option<String> {
    Some(match (detail, late) {
        (Detail::HeldBack(..), _) => {
            format!("Raise the limit of {whose} for the disk: io.max (version 1: the files blkio.throttle.*).")
        }
        (Detail::Seen(what), _) if what == QUOTA_USED_UP => format!(
            "Raise the quota of {whose}: cpu.max (version 1: cpu.cfs_quota_us; -1 ends it). That of a container is set from \
             outside, by what started it."
        ),
        (Detail::Seen(what), _) if what == REAL_TIME_BUDGET_USED_UP => format!(
            "Raise the budget of {whose} for real-time threads (cpu.rt_runtime_us), and those of the groups above it first."
        ),
        (Detail::Seen(_), Class::Deadline) => {
            "Raise the runtime of its reservation (SCHED_DEADLINE) above its longest run: `sudo punctual reserve -- PROGRAM` finds how \
             much that is, where PROGRAM is the one with this thread."
                .to_owned()
        }
        (Detail::Seen(_), Class::RealTime) => {
            "Let real-time threads sleep more, or raise kernel.sched_rt_runtime_us, which is what all of them together may have of \
             each kernel.sched_rt_period_us."
                .to_owned()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::tests::cause;
    use punctual_blame::{HeldBack, Priorities, Turn};

    fn told(cause: &Cause, preemption: Preemption, late: Class) -> String {
        remedy(cause, Setting { preemption, late, ..Setting::default() }).expect("there is something to change")
    }

    #[test]
    fn late_threads_have_a_class_if_all_have_the_same() {
        let of = |priorities: &[i16]| Class::of(priorities.iter().copied());
        for (priorities, expected) in [
            (&[-1, -1][..], Class::Deadline),
            (&[0, 98], Class::RealTime),
            (&[100, 139, 140], Class::Normal),
            (&[19, 120], Class::Several),
            (&[], Class::Several),
        ] {
            assert_eq!(of(priorities), expected, "{priorities:?}");
        }
    }

    #[test]
    fn a_thread_of_the_kernel_that_belongs_to_its_cpu_is_not_to_be_moved() {
        let mut looked_at = 0;
        for name in ["kworker/0:1", "ksoftirqd/1", "ktimers/1", "rcuc/0"] {
            for preemption in [Preemption::Partial, Preemption::Full, Preemption::RealTime] {
                for kind in [Kind::Kernel, Kind::IrqOff] {
                    let told = told(&cause(kind, name), preemption, Class::RealTime);
                    let expected = format!("Give the late thread another CPU (taskset): {name} belongs to this one.");
                    assert!(told.starts_with(&expected), "{told}");
                    assert_eq!(
                        told.contains("PREEMPT_RT"),
                        preemption != Preemption::RealTime,
                        "{preemption:?} {told}"
                    );
                    looked_at += 1;
                }
            }
        }
        assert_eq!(looked_at, 24);
        for (name, kind) in [("kworker/u8:1", Kind::Kernel), ("ffmpeg", Kind::IrqOff)] {
            let told = told(&cause(kind, name), Preemption::Partial, Class::RealTime);
            assert!(told.to_lowercase().contains("keep it off this cpu"), "{name}: {told}");
        }
        // A thread with a deadline cannot be pinned.
        let told = told(&cause(Kind::Kernel, "kworker/0:1"), Preemption::RealTime, Class::Deadline);
        assert_eq!(told, "Give the late thread another CPU (a cpuset partition): kworker/0:1 belongs to this one.");
    }

    #[test]
    fn the_thread_of_an_interrupt_goes_where_the_interrupt_is_sent() {
        let over = |runs, waits, late| {
            let priorities = Some(Priorities { runs, waits });
            told(&Cause { priorities, ..cause(Kind::HigherPriority, "irq/45-nvme0q1") }, Preemption::RealTime, late)
        };
        let can = over(49, 59, Class::RealTime);
        assert!(
            can.contains("tee /proc/irq/45/smp_affinity_list`") && can.contains("chrt -f -p PRIORITY TID"),
            "{can}"
        );
        assert!(!can.contains("taskset"), "{can}");
        let cannot = over(0, 59, Class::RealTime);
        assert!(!cannot.contains("chrt"), "{cannot}");
        let told = told(&cause(Kind::HigherPriority, "irq/x"), Preemption::RealTime, Class::RealTime);
        assert!(!told.contains("/proc/irq/"), "{told}");
    }

    #[test]
    fn deep_idle_states_are_not_to_be_forbidden_twice() {
        let told = |is_kept_awake| {
            remedy(&cause(Kind::IdleExit, "idle"), Setting { is_kept_awake, ..Setting::default() }).unwrap()
        };
        assert!(told(false).contains("/dev/cpu_dma_latency") && !told(true).contains("/dev/cpu_dma_latency"));
        assert!(told(true).contains("idle=poll"), "{}", told(true));
    }

    #[test]
    fn normal_threads_are_told_of_weights_whoever_ran() {
        let turn = Some(Turn { weight: 1_024, waiting_weight: 1_024, waits_in_session: Some(false) });
        let told =
            told(&Cause { turn, ..cause(Kind::SamePriority, "kworker/0:1") }, Preemption::Partial, Class::Normal);
        assert!(told.starts_with("Give the late thread more weight"), "{told}");
    }

    #[test]
    fn what_punctual_itself_took_is_made_less_by_its_options() {
        for kind in [Kind::Kernel, Kind::IrqOff, Kind::HigherPriority] {
            let told = told(&cause(kind, "punctual (this recording)"), Preemption::Partial, Class::RealTime);
            assert!(told.contains("--sample-rate") && !told.contains("preempt=full"), "{kind:?}: {told}");
        }
        // A normal thread that waits has no need of more weight for that.
        let turn = Some(Turn { weight: 1_024, waiting_weight: 1_024, waits_in_session: Some(false) });
        for (name, option) in
            [("why (this recording)", "--sample-rate"), ("looks (this recording)", "--why-stage response")]
        {
            let told = told(&Cause { turn, ..cause(Kind::SamePriority, name) }, Preemption::Partial, Class::Normal);
            let costs = "That is what this recording itself costs: ";
            assert!(told.starts_with(costs) && told.contains(option) && !told.contains("weight"), "{told}");
        }
    }

    #[test]
    fn a_thread_with_a_deadline_is_not_told_to_be_pinned_nor_a_normal_one_to_lend_priority() {
        let moved = |late| told(&cause(Kind::Migration, "migration/0"), Preemption::Partial, late);
        assert!(
            moved(Class::Deadline).contains("cpuset.cpus.partition") && !moved(Class::Deadline).contains("taskset")
        );
        assert!(moved(Class::RealTime).contains("taskset -cp CPU TID"));
        let locked = |late| told(&cause(Kind::Lock, "writer"), Preemption::Partial, late);
        assert!(!locked(Class::Normal).contains("PTHREAD_PRIO_INHERIT"), "{}", locked(Class::Normal));
        for late in [Class::RealTime, Class::Deadline, Class::Several] {
            assert!(locked(late).contains("PTHREAD_PRIO_INHERIT"), "{late:?}: {}", locked(late));
        }
    }

    #[test]
    fn the_budget_that_was_used_up_is_the_one_to_raise() {
        let of = |who: &str, detail: Option<Detail>, late| {
            told(&Cause { detail, ..cause(Kind::Throttled, who) }, Preemption::Partial, late)
        };
        let seen = |what: &str| Some(Detail::Seen(what.to_owned()));
        let quota = of("/web", seen(QUOTA_USED_UP), Class::Normal);
        assert!(quota.starts_with("Raise the quota of /web: cpu.max ") && quota.contains("a container"), "{quota}");
        assert!(!quota.contains("SCHED_DEADLINE") && !quota.contains("io.max"), "{quota}");
        let group = of("/audio", seen(REAL_TIME_BUDGET_USED_UP), Class::RealTime);
        assert!(group.contains("/audio") && group.contains("cpu.rt_runtime_us"), "{group}");
        let disk = of("/backup", Some(Detail::HeldBack("vda".to_owned(), HeldBack::Own)), Class::Normal);
        assert!(disk.contains("io.max") && !disk.contains("cpu.max"), "{disk}");
        let reservation = of("loop", seen("while make ran"), Class::Deadline);
        assert!(reservation.contains("`sudo punctual reserve -- PROGRAM`"), "{reservation}");
        let fifo = of("loop", seen("while make ran"), Class::RealTime);
        assert!(fifo.contains("kernel.sched_rt_runtime_us") && !fifo.contains("cpu.max"), "{fifo}");
        // Of threads of several classes nobody knows which budget it was.
        let several = of("loop", seen("while make ran"), Class::Several);
        assert!(several.starts_with("Raise the budget: ") && several.contains("cpu.max"), "{several}");
    }
}
