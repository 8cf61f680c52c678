//! Sequences whose culprit is known by construction, written without a look at the judge.

use crate::support::{INTERRUPT, OTHER, Story, VICTIM, VICTIM_RUNS, parts_of_response};
use punctual_blame::{Part, split};
use punctual_recording::episode::{EventKind, IN_SOFTIRQ, INTERRUPTED_USER, LEFT_FOR_IO, LEFT_UNINTERRUPTIBLE};

const IO: u32 = LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE;
const IDLE: (u32, i16) = (0, 120);
/// `other`, in real time before the victim.
const HOG: (u32, i16) = (7, 9);
/// Another thread before the victim.
const SECOND: (u32, i16) = (8, 9);
const SERVER: (u32, i16) = (11, 120);
const BYSTANDER: (u32, i16) = (13, 120);

/// The kind as in the answers, but for its underscores, and the name.
fn told(part: &Part) -> (String, String) {
    (format!("{:?}", part.kind).to_lowercase().replace('_', ""), part.who.name().to_string())
}

fn largest(parts: &[Part]) -> (String, String) {
    told(parts.iter().max_by_key(|part| part.ns).unwrap())
}

fn is(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

fn total(build: impl FnOnce(&mut Story)) -> Vec<Part> {
    let mut story = Story::new(IDLE, 3_000);
    build(&mut story);
    // Who goes before the victim sleeps; others are preempted.
    let left_state = u32::from(story.current.1 < VICTIM_RUNS.1);
    story.switch(3_000, VICTIM_RUNS, left_state, 1);
    let parts = split(&story.episode).parts;
    assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), story.episode.total_ns());
    parts
}

/// An interrupt for 20 us that wakes nobody.
fn short_interrupt(story: &mut Story, at_us: u64) {
    story.event(at_us, EventKind::VectorBegin, INTERRUPT, 1, 0, 2);
    story.event(at_us + 20, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
}

/// The last event was on the other CPU.
fn elsewhere(story: &mut Story) {
    story.episode.events.last_mut().unwrap().cpu = 1;
}

/// A thread of FIFO 90 has the CPU; short interrupts run over it.
#[test]
fn handlers_that_ran_nearby_are_innocent() {
    let parts = total(|story| {
        story.switch(900, HOG, 0, 2).timer(1_002, 0);
        short_interrupt(story, 1_500);
        short_interrupt(story, 2_970);
    });
    assert_eq!(largest(&parts), is("higherpriority", "other"), "{parts:?}");
}

/// Another thread of the victim's name goes first: that is no work of the victim's, nor `other`'s doing, which was preempted.
#[test]
fn a_namesake_that_goes_first_is_guilty() {
    let parts = total(|story| {
        story.switch(900, OTHER, 0, 2).timer(1_002, 0).switch(1_008, SECOND, 0, 1);
    });
    let (kind, name) = largest(&parts);
    assert_eq!(kind, "higherpriority", "{parts:?}");
    assert!(name.contains("victim"), "{parts:?}");
}

/// A callback runs for 2.5 ms over the victim; an interrupt came just before it.
#[test]
fn a_callback_over_the_victim_is_guilty() {
    let parts = parts_of_response(["storm_fn", "b", "c"], |story| {
        short_interrupt(story, 1_970);
        story.event(2_000, EventKind::SoftirqBegin, IN_SOFTIRQ, 1, 0, 2);
        story.event(2_001, EventKind::CallbackBegin, IN_SOFTIRQ, 0, 0, 5);
        story.event(4_499, EventKind::CallbackEnd, IN_SOFTIRQ, 0, 0, 5);
        story.event(4_500, EventKind::SoftirqEnd, IN_SOFTIRQ, 1, 0, 2);
    });
    assert_eq!(largest(&parts), is("softirq", "storm_fn"), "{parts:?}");
}

/// Who had the CPU, with a higher priority, slept before the timer was due; then a normal thread does not leave the kernel.
#[test]
fn who_let_the_cpu_go_before_is_innocent() {
    let parts = total(|story| {
        story.switch(500, SECOND, 0, 3).switch(990, OTHER, 1, 2).timer(1_002, 0);
        short_interrupt(story, 2_000);
    });
    assert_eq!(largest(&parts), is("kernel", "other"), "{parts:?}");
    assert!(parts.iter().all(|part| part.who.name() != "first"), "{parts:?}");
}

/// The host does not let this machine run while a program is in user mode.
#[test]
fn a_program_in_user_mode_holds_no_interrupt_up() {
    let parts = total(|story| {
        story.switch(900, OTHER, 0, 2).timer(2_900, INTERRUPTED_USER);
        // A short turn of one that goes first, after the interrupt came.
        story.switch(2_910, SECOND, 0, 3);
    });
    assert_eq!(largest(&parts).0, "blind", "{parts:?}");
}

/// A long interrupt over a thread of a higher priority, on the other CPU.
#[test]
fn what_another_cpu_does_is_innocent() {
    let parts = total(|story| {
        story.switch(900, OTHER, 0, 2).timer(1_002, 0);
        story.current = SECOND;
        story.event(1_100, EventKind::VectorBegin, INTERRUPT, 1, 0, 3);
        elsewhere(story);
        story.current = OTHER;
        short_interrupt(story, 2_000);
        story.current = SECOND;
        story.event(2_900, EventKind::VectorEnd, INTERRUPT, 1, 0, 3);
        elsewhere(story);
        story.current = OTHER;
    });
    assert_eq!(largest(&parts), is("kernel", "other"), "{parts:?}");
    assert!(parts.iter().all(|part| part.who.name() != "first"), "{parts:?}");
}

/// A thread of a higher priority had the CPU for 2 ms by the clock, of which the host took 1.8.
#[test]
fn what_the_host_took_is_not_who_had_the_cpu() {
    let parts = total(|story| {
        story.switch(900, HOG, 0, 2).timer(1_002, 0);
        story.steal_ns += 1_800_000;
    });
    assert_eq!(largest(&parts).0, "steal", "{parts:?}");
}

/// Another one's request, on another disk, is done between the end of the victim's and its waking.
#[test]
fn another_ones_disk_is_innocent() {
    let parts = parts_of_response(["vda", "vdb", "c"], |story| {
        story.event(1_400, EventKind::RequestBegin, 0, 3, 4096, 1);
        story.switch(1_500, OTHER, IO, 2);
        story.event(1_600, EventKind::RequestBegin, 0, 4, 512 << 10, 2);
        story.event(4_480, EventKind::RequestEnd, INTERRUPT, 3, 0, 5);
        story.event(4_490, EventKind::RequestEnd, INTERRUPT, 4, 0, 6);
        story.event(4_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.switch(4_505, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(largest(&parts), is("io", "vda"), "{parts:?}");
}

/// The victim waits for a server, which waits for its CPU meanwhile: the wait is the server's, the bystander is within it.
#[test]
fn who_has_a_servers_cpu_ends_no_wait() {
    let parts = parts_of_response(["server", "bystander", "c"], |story| {
        story.switch(1_500, SERVER, LEFT_UNINTERRUPTIBLE, 5);
        story.switch(1_600, BYSTANDER, 0, 6);
        story.switch(4_300, SERVER, 0, 5);
        story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), 19, 5);
        story.switch(4_505, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(largest(&parts), is("wait", "server"), "{parts:?}");
}

/// A bystander wakes the victim in vain, which looks and sleeps on 5 us later; the server ends the wait.
#[test]
fn who_wakes_in_vain_ended_nothing() {
    let parts = parts_of_response(["server", "bystander", "c"], |story| {
        story.switch(1_500, BYSTANDER, LEFT_UNINTERRUPTIBLE, 6);
        story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), 19, 6);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
        story.switch(3_510, SERVER, LEFT_UNINTERRUPTIBLE, 5);
        story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), 19, 5);
        story.switch(4_505, VICTIM_RUNS, 0, 1);
    });
    assert_ne!(largest(&parts).1, "bystander", "{parts:?}");
}

/// The victim is preempted within a page fault that needs nothing more: whoever goes first took the time.
#[test]
fn a_fault_that_was_preempted_is_innocent() {
    let parts = parts_of_response(["hog", "b", "c"], |story| {
        story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 0);
        story.switch(2_010, SECOND, 0, 5);
        story.switch(4_500, VICTIM_RUNS, 1, 1);
        story.event(4_510, EventKind::FaultEnd, 0, 0, 0, 0);
    });
    assert_eq!(largest(&parts), is("higherpriority", "hog"), "{parts:?}");
}

/// What another group's limit had held back went on, before the victim asked a disk that is slow by itself.
#[test]
fn a_limit_that_had_let_go_before_is_innocent() {
    let parts = parts_of_response(["vda", "blk_throtl_dispatch_work_fn", "/slow"], |story| {
        story.current = (9, 120);
        story.event(1_299, EventKind::WorkBegin, 0, 0, 0, 6);
        // Names of accounts are told by the number after their own.
        story.event(1_300, EventKind::RequestBegin, 0, 1, 8 << 32 | 65_536, 2);
        story.event(1_301, EventKind::WorkEnd, 0, 0, 0, 0);
        story.current = VICTIM_RUNS;
        story.event(1_400, EventKind::RequestBegin, 0, 3, 4096, 1);
        story.switch(1_500, OTHER, IO, 2);
        story.event(1_900, EventKind::RequestEnd, INTERRUPT, 1, 0, 5);
        story.event(4_490, EventKind::RequestEnd, INTERRUPT, 3, 0, 5);
        story.event(4_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.switch(4_505, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(largest(&parts), is("io", "vda"), "{parts:?}");
    assert!(parts.iter().all(|part| told(part).0 != "throttled" && part.who.name() != "/slow"), "{parts:?}");
}
