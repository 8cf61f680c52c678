//! Sixteen more sequences whose culprit is known by construction, written without a look at the judge.

use crate::support::{HOLDER_NOT_SEEN, INTERRUPT, OTHER, Story, VICTIM, VICTIM_RUNS, on_cpu, parts, parts_of_response};
use punctual_blame::{Kind, Part};
use punctual_recording::episode::{EventKind, IN_SOFTIRQ, LEFT_DEAD, LEFT_STOPPED, LEFT_UNINTERRUPTIBLE};

const IDLE: (u32, i16) = (0, 120);
/// `other`, in real time before the victim.
const HOG: (u32, i16) = (7, 9);
/// `first`, in real time before the victim.
const SECOND: (u32, i16) = (8, 9);
const DEADLINE: (u32, i16) = (8, -1);
const ELEVEN: (u32, i16) = (11, 120);
const TWELVE: (u32, i16) = (12, 120);
const THIRTEEN: (u32, i16) = (13, 120);
const NORMAL_VICTIM: (u32, i16) = (VICTIM, 120);
/// The kernel's flags of waits for its locks.
const SPIN: u64 = 1;
const READ: u64 = 2;
const MUTEX: u64 = 32;
/// A signal that stops a whole process.
const STOPS_ALL: u64 = 19 << 32 | 1;

/// The kind as in the answers, but for its underscores, and the name.
fn told(part: &Part) -> (String, String) {
    (format!("{:?}", part.kind).to_lowercase().replace('_', ""), part.who.name().to_string())
}

fn longest(parts: &[Part]) -> &Part {
    parts.iter().max_by_key(|part| part.ns).unwrap()
}

fn is(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

fn nobody_says(parts: &[Part], name: &str) {
    assert!(parts.iter().all(|part| part.who.name() != name), "{parts:?}");
}

/// The victim, due at 1,000 us, comes at 3,000; these are names of the story from number 5 on.
fn total(names: [&str; 2], build: impl FnOnce(&mut Story)) -> Vec<Part> {
    let mut story = Story::new(IDLE, 3_000);
    story.episode.names.extend(names.map(String::from));
    build(&mut story);
    // Who need not give way to the victim sleeps; others are preempted.
    let left_state = u32::from(story.current.1 <= VICTIM_RUNS.1);
    story.switch(3_000, VICTIM_RUNS, left_state, 1);
    parts(&story.episode)
}

/// The same of a normal thread of nice 0, woken over `other`, which is one too.
fn normal(names: [&str; 2], build: impl FnOnce(&mut Story)) -> Vec<Part> {
    let mut story = Story::new(IDLE, 3_000);
    story.episode.victim.priority = NORMAL_VICTIM.1;
    story.episode.names.extend(names.map(String::from));
    story.switch(900, OTHER, 0, 2);
    story.event(1_002, EventKind::VectorBegin, INTERRUPT, 1, 0, 2);
    story.event(1_003, EventKind::TimerBegin, INTERRUPT, 0, 1_000_000, 4);
    story.event(1_004, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 120, 2);
    story.event(1_005, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
    story.event(1_006, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
    build(&mut story);
    story.switch(3_000, NORMAL_VICTIM, 0, 1);
    parts(&story.episode)
}

/// The timer's interrupt comes over `first`, and not over `other` as elsewhere.
fn timer_over_first(story: &mut Story) {
    let known = story.episode.events.len();
    story.timer(1_002, 0);
    story.episode.events[known..].iter_mut().filter(|event| event.name == 2).for_each(|event| event.name = 3);
}

/// The current thread makes another one ready.
fn wakes(story: &mut Story, at_us: u64, (tid, priority): (u32, i16), name: u32) {
    story.event(at_us, EventKind::Waking, 0, u64::from(tid), u64::from(priority as u16), name);
}

/// A disk's interrupt takes 2.4 ms; it came over a softirq that had only begun.
#[test]
fn an_interrupt_over_a_softirq_is_guilty() {
    let parts = parts_of_response(["net_rx", "ahci", "c"], |story| {
        story.event(2_000, EventKind::SoftirqBegin, IN_SOFTIRQ, 3, 0, 5);
        story.event(2_020, EventKind::HandlerBegin, INTERRUPT | IN_SOFTIRQ, 30, 0, 6);
        story.event(4_450, EventKind::HandlerEnd, INTERRUPT | IN_SOFTIRQ, 30, 0, 6);
        story.event(4_500, EventKind::SoftirqEnd, IN_SOFTIRQ, 3, 0, 5);
    });
    assert_eq!(told(longest(&parts)), is("irq", "ahci"), "{parts:?}");
}

/// A mutex of the kernel goes through three hands before the victim has it; the second one keeps it for 2.5 ms.
#[test]
fn the_second_of_three_holders_is_guilty() {
    let parts = parts_of_response(["keeper", "queuer", "last"], |story| {
        on_cpu(story, 1, TWELVE, |story| {
            story.event(1_100, EventKind::LockBegin, 0, 0, MUTEX, 6);
            story.switch(1_105, THIRTEEN, LEFT_UNINTERRUPTIBLE, 7);
            story.event(1_110, EventKind::LockBegin, 0, 0, MUTEX, 7);
            story.switch(1_115, ELEVEN, LEFT_UNINTERRUPTIBLE, 5);
        });
        story.event(1_500, EventKind::LockBegin, 0, 0, MUTEX, 1);
        story.switch(1_505, IDLE, LEFT_UNINTERRUPTIBLE, 0);
        on_cpu(story, 1, ELEVEN, |story| {
            wakes(story, 1_700, TWELVE, 5);
            story.switch(1_710, TWELVE, 1, 6);
            story.event(1_712, EventKind::LockEnd, 0, 0, 0, 6);
            wakes(story, 4_200, THIRTEEN, 6);
            story.switch(4_210, THIRTEEN, 1, 7);
            story.event(4_212, EventKind::LockEnd, 0, 0, 0, 7);
            wakes(story, 4_500, VICTIM_RUNS, 7);
        });
        story.switch(4_505, VICTIM_RUNS, 0, 1);
        story.event(4_507, EventKind::LockEnd, 0, 0, 0, 1);
    });
    assert_eq!(told(longest(&parts)), is("lock", "queuer"), "{parts:?}");
}

/// The victim waits on CPU 1 behind `first`; CPU 0, which `other` had until then, takes it over in the end and comes out of its
/// idle loop for it. Unless CPU 1 reports anything later, nothing says that `first` still had it.
#[test]
fn who_had_the_cpu_that_the_victim_left_is_guilty() {
    let waits = |reports: bool| {
        total(["b", "c"], |story| {
            story.switch(890, HOG, 0, 2);
            on_cpu(story, 1, IDLE, |story| {
                story.switch(900, SECOND, 0, 3);
                timer_over_first(story);
                if reports {
                    story.event(2_930, EventKind::VectorBegin, INTERRUPT, 1, 0, 3);
                    story.event(2_931, EventKind::VectorEnd, INTERRUPT, 1, 0, 3);
                }
            });
            story.switch(2_900, IDLE, 1, 0);
            // From CPU 1 to CPU 0.
            story.event(2_950, EventKind::Migrate, 0, u64::from(VICTIM), 1, 0);
        })
    };
    let (reported, unreported) = (waits(true), waits(false));
    assert_eq!(told(longest(&reported)), is("higherpriority", "first"), "{reported:?}");
    assert_eq!(longest(&unreported).kind, Kind::Unknown, "{unreported:?}");
    for parts in [reported, unreported] {
        nobody_says(&parts, "other");
        let sum = |kind| parts.iter().filter(|part| part.kind == kind).map(|part| part.ns).sum::<u64>();
        // The switch at its end is told apart.
        assert!(sum(Kind::IdleExit) >= 40_000 && sum(Kind::Throttled) == 0, "{parts:?}");
    }
}

/// A shell stops the victim's process, and another program has it go on 2.5 ms later; `other` has the CPU meanwhile.
#[test]
fn who_asked_for_the_stop_is_guilty() {
    let parts = parts_of_response(["shell", "resumer", "c"], |story| {
        on_cpu(story, 1, IDLE, |story| {
            story.switch(1_100, ELEVEN, 0, 5);
            story.event(2_000, EventKind::StopAsked, 0, u64::from(VICTIM), STOPS_ALL, 5);
        });
        story.switch(2_005, OTHER, LEFT_STOPPED, 2);
        on_cpu(story, 1, ELEVEN, |story| {
            story.switch(2_100, TWELVE, 1, 6);
            wakes(story, 4_490, VICTIM_RUNS, 6);
        });
        story.switch(4_495, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(told(longest(&parts)), is("stopped", "shell"), "{parts:?}");
    nobody_says(&parts, "resumer");
}

/// The group above the victim's has used up its quota; another group gets new quota meanwhile, which does not help.
#[test]
fn the_group_without_quota_is_guilty() {
    let parts = normal(["/web", "/db"], |story| {
        story.event(1_010, EventKind::OutOfQuota, 0, u64::from(VICTIM), 0, 5);
        story.event(1_900, EventKind::QuotaRefill, INTERRUPT, 0, 0, 6);
        story.event(2_900, EventKind::QuotaRefill, INTERRUPT, 0, 0, 5);
    });
    assert_eq!(told(longest(&parts)), is("throttled", "/web"), "{parts:?}");
}

/// A page fault waits for the lock of the process's memory; who maps there loses its own CPU before it lets go.
#[test]
fn who_maps_while_a_fault_waits_is_guilty() {
    let parts = parts_of_response(["mapper", "b", "c"], |story| {
        on_cpu(story, 1, IDLE, |story| {
            story.switch(1_100, ELEVEN, 0, 5);
        });
        story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 0);
        story.event(2_005, EventKind::LockBegin, 0, 0, READ, 1);
        story.switch(2_010, OTHER, LEFT_UNINTERRUPTIBLE, 2);
        on_cpu(story, 1, ELEVEN, |story| {
            story.switch(2_200, SECOND, 0, 3);
            story.switch(4_000, ELEVEN, 1, 5);
            wakes(story, 4_400, VICTIM_RUNS, 5);
        });
        story.switch(4_410, VICTIM_RUNS, 0, 1);
        story.event(4_412, EventKind::LockEnd, 0, 0, 0, 1);
        story.event(4_420, EventKind::FaultEnd, 0, 0, 0, 0);
    });
    assert_eq!(told(longest(&parts)), is("lock", "mapper"), "{parts:?}");
}

/// A server on CPU 1 wakes the victim, whose CPU a thread of the same real-time priority keeps until it sleeps.
#[test]
fn an_equal_in_real_time_is_guilty() {
    let parts = total(["server", "c"], |story| {
        story.switch(900, (8, VICTIM_RUNS.1), 0, 3);
        on_cpu(story, 1, ELEVEN, |story| wakes(story, 1_000, VICTIM_RUNS, 5));
    });
    assert_eq!(told(longest(&parts)), is("samepriority", "first"), "{parts:?}");
    nobody_says(&parts, "server");
}

/// A deadline thread comes three times for less than half a millisecond; one of FIFO 90 has one longer turn.
#[test]
fn who_comes_again_and_again_is_guilty() {
    let parts = total(["b", "c"], |story| {
        story.switch(900, DEADLINE, 0, 3);
        timer_over_first(story);
        story.switch(1_400, HOG, 1, 2);
        story.event(2_099, EventKind::Waking, INTERRUPT, 8, u64::from(-1_i16 as u16), 2);
        story.switch(2_100, DEADLINE, 0, 3);
        story.switch(2_550, HOG, 1, 2);
        story.event(2_559, EventKind::Waking, INTERRUPT, 8, u64::from(-1_i16 as u16), 2);
        story.switch(2_560, DEADLINE, 1, 3);
    });
    assert_eq!(told(longest(&parts)), is("higherpriority", "first"), "{parts:?}");
}

/// With PREEMPT_RT a thread of FIFO 90 preempts `ksoftirqd` in the middle of a softirq, and then keeps the CPU.
#[test]
fn a_softirq_that_was_preempted_is_innocent() {
    let parts = total(["ksoftirqd/0", "net_rx"], |story| {
        story.switch(700, (9, 120), 0, 5);
        story.event(800, EventKind::SoftirqBegin, IN_SOFTIRQ, 3, 0, 6);
        story.switch(900, HOG, 0, 2).timer(1_002, 0);
    });
    assert_eq!(told(longest(&parts)), is("higherpriority", "other"), "{parts:?}");
    nobody_says(&parts, "net_rx");
    nobody_says(&parts, "ksoftirqd/0");
}

/// A bystander ended; a new thread, which has its number, is the one that the victim waits for.
#[test]
fn who_had_the_number_before_is_innocent() {
    let parts = parts_of_response(["server", "bystander", "c"], |story| {
        on_cpu(story, 1, IDLE, |story| {
            story.switch(1_050, ELEVEN, 0, 6);
            story.switch(1_300, IDLE, LEFT_DEAD, 0);
        });
        story.switch(1_500, IDLE, LEFT_UNINTERRUPTIBLE, 0);
        on_cpu(story, 1, IDLE, |story| {
            story.switch(1_600, ELEVEN, 0, 5);
            wakes(story, 4_500, VICTIM_RUNS, 5);
        });
        story.switch(4_505, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(told(longest(&parts)), is("wait", "server"), "{parts:?}");
    nobody_says(&parts, "bystander");
}

/// A thread of another group is out of quota on the victim's CPU; the victim only waits for its turn after `other`.
#[test]
fn another_ones_quota_is_innocent() {
    let parts = normal(["/batch", "c"], |story| {
        story.event(1_010, EventKind::OutOfQuota, 0, 13, 0, 5);
        story.event(2_900, EventKind::QuotaRefill, INTERRUPT, 0, 0, 5);
    });
    assert_eq!(told(longest(&parts)), is("samepriority", "other"), "{parts:?}");
    nobody_says(&parts, "/batch");
}

/// The end of a disk's write lets a semaphore go, in an interrupt over a bystander that never had it.
#[test]
fn whom_the_interrupt_came_over_had_no_lock() {
    let parts = parts_of_response(["bystander", "nvme", "c"], |story| {
        on_cpu(story, 1, IDLE, |story| {
            story.switch(1_100, THIRTEEN, 0, 5);
        });
        story.event(1_500, EventKind::LockBegin, 0, 0, 0, 1);
        story.switch(1_505, IDLE, LEFT_UNINTERRUPTIBLE, 0);
        on_cpu(story, 1, THIRTEEN, |story| {
            story.event(4_400, EventKind::HandlerBegin, INTERRUPT, 30, 0, 6);
            story.event(4_410, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 5);
            story.event(4_420, EventKind::HandlerEnd, INTERRUPT, 30, 0, 6);
        });
        story.switch(4_425, VICTIM_RUNS, 0, 1);
        story.event(4_427, EventKind::LockEnd, 0, 0, 0, 1);
    });
    let longest = longest(&parts);
    assert!(longest.who == HOLDER_NOT_SEEN || told(longest).0 == "unknown", "{parts:?}");
    nobody_says(&parts, "bystander");
}

/// A server is at work for another client when the victim begins to wait for it, and answers that one first.
#[test]
fn another_client_is_innocent() {
    let parts = parts_of_response(["server", "client", "c"], |story| {
        on_cpu(story, 1, THIRTEEN, |story| {
            wakes(story, 1_200, ELEVEN, 6);
            story.switch(1_210, ELEVEN, 1, 5);
        });
        story.switch(1_500, IDLE, LEFT_UNINTERRUPTIBLE, 0);
        on_cpu(story, 1, ELEVEN, |story| {
            wakes(story, 3_500, THIRTEEN, 5);
            wakes(story, 4_500, VICTIM_RUNS, 5);
        });
        story.switch(4_505, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(told(longest(&parts)), is("wait", "server"), "{parts:?}");
    nobody_says(&parts, "client");
}

/// The holder of a kernel lock lets it go soon; the victim could go on, but a thread of FIFO 90 has its CPU by then.
#[test]
fn who_let_the_lock_go_early_is_innocent() {
    let parts = parts_of_response(["holder", "hog", "c"], |story| {
        on_cpu(story, 1, IDLE, |story| {
            story.switch(1_100, ELEVEN, 0, 5);
        });
        story.event(1_500, EventKind::LockBegin, 0, 0, MUTEX, 1);
        story.switch(1_505, IDLE, LEFT_UNINTERRUPTIBLE, 0);
        story.switch(1_600, SECOND, 0, 6);
        on_cpu(story, 1, ELEVEN, |story| wakes(story, 1_700, VICTIM_RUNS, 5));
        story.switch(4_500, VICTIM_RUNS, 1, 1);
        story.event(4_502, EventKind::LockEnd, 0, 0, 0, 1);
    });
    assert_eq!(told(longest(&parts)), is("higherpriority", "hog"), "{parts:?}");
}

/// The victim computes; its page fault and its wait for a spinlock were short, and a storm was on another CPU.
#[test]
fn what_was_short_or_far_away_is_innocent() {
    let parts = parts_of_response(["storm", "b", "c"], |story| {
        on_cpu(story, 1, IDLE, |story| {
            story.switch(1_100, HOG, 0, 2);
        });
        story.event(1_500, EventKind::FaultUser, 0, 4096, 0, 0);
        story.event(1_530, EventKind::FaultEnd, 0, 0, 0, 0);
        story.event(1_600, EventKind::LockBegin, 0, 0, SPIN, 1);
        story.event(1_610, EventKind::LockEnd, 0, 0, 0, 1);
        on_cpu(story, 1, HOG, |story| {
            story.softirq(2_000, 4_500, 5);
        });
    });
    assert_eq!(told(longest(&parts)), is("own", "victim"), "{parts:?}");
    nobody_says(&parts, "storm");
    nobody_says(&parts, "other");
}

/// `other` gave its CPU to `first` in a switch that was not recorded, and nothing says when.
#[test]
fn who_was_there_before_a_switch_that_was_missed_is_innocent() {
    let parts = total(["b", "c"], |story| {
        story.episode.missed_runs = 1;
        story.switch(900, OTHER, 0, 2).timer(1_002, 0);
        story.current = SECOND;
        story.event(2_900, EventKind::VectorBegin, INTERRUPT, 1, 0, 3);
        story.event(2_920, EventKind::VectorEnd, INTERRUPT, 1, 0, 3);
    });
    assert_eq!(told(longest(&parts)).0, "unknown", "{parts:?}");
    assert!(parts.iter().all(|part| part.who.name() != "other" || part.ns < 100_000), "{parts:?}");
}
