//! Who asked for what an interrupt does is told beside it: the sender from another CPU, whoever armed the timer.

use crate::support::{INTERRUPT, Story, in_words, parts_of_response};
use punctual_blame::{Kind, Part};
use punctual_recording::episode::{Event, EventKind, IN_SOFTIRQ};

const SINGLE: u64 = 4;
const RESCHEDULE: u64 = 2;
/// Names of the story from number 5 on.
const FUNCTION: u32 = 5;
const SENDER: u32 = 6;
const NOBODYS: u32 = 7;

fn parts_of(build: impl FnOnce(&mut Story)) -> Vec<Part> {
    parts_of_response(["flush_tlb_func", "sender", "hrtick"], build)
}

/// What a part of the interrupts is, of this name: its length and what more is known.
fn irq(parts: &[Part], name: &str) -> (u64, Option<String>) {
    let part = parts.iter().find(|part| part.kind == Kind::Irq && part.who.name() == name);
    let part = part.unwrap_or_else(|| panic!("no {name} in {parts:?}"));
    (part.ns, in_words(&part.detail))
}

/// Something that thread 9, `sender`, does on CPU 1.
fn elsewhere(story: &mut Story, at_us: u64, kind: EventKind, context: u32, value: u64, extra: u64) {
    story.episode.events.push(Event {
        at_ns: at_us * 1_000,
        cpu: 1,
        kind,
        tid: 9,
        priority: 120,
        context,
        steal_ns: 1,
        value,
        extra,
        name: SENDER,
    });
}

/// A function from 2,001 to 2,101 us in an interrupt from 2,000 to 2,110 us.
fn called(story: &mut Story, call: u64) {
    story.event(2_000, EventKind::VectorBegin, INTERRUPT, SINGLE, 0, 1);
    story.event(2_001, EventKind::FunctionBegin, INTERRUPT, call, 0, FUNCTION);
    story.event(2_101, EventKind::FunctionEnd, INTERRUPT, call, 0, FUNCTION);
    story.event(2_110, EventKind::VectorEnd, INTERRUPT, SINGLE, 0, 0);
}

#[test]
fn a_function_from_another_cpu_is_told_with_who_asked_for_it() {
    let parts = parts_of(|story| {
        elsewhere(story, 1_990, EventKind::FunctionAsked, 0, 77, 0);
        elsewhere(story, 1_991, EventKind::InterruptSent, 0, 0, SINGLE);
        called(story, 77);
    });
    let asked = "in call_function_single, asked for by sender (thread 9)";
    assert_eq!(irq(&parts, "flush_tlb_func"), (100_000, Some(asked.to_owned())));
    // What is around it was sent.
    assert_eq!(irq(&parts, "call_function_single"), (10_000, Some("sent by sender (thread 9)".to_owned())));
}

#[test]
fn nobody_is_accused_of_a_call_that_was_not_seen_to_be_asked_for() {
    // Another call, and one that was asked for afterwards.
    let parts = parts_of(|story| {
        elsewhere(story, 1_990, EventKind::FunctionAsked, 0, 78, 0);
        elsewhere(story, 2_050, EventKind::FunctionAsked, 0, 77, 0);
        called(story, 77);
    });
    assert_eq!(irq(&parts, "flush_tlb_func").1.as_deref(), Some("in call_function_single"));
    assert_eq!(irq(&parts, "call_function_single").1, None);
    // It was called for that before, and is called anew.
    let parts = parts_of(|story| {
        elsewhere(story, 1_300, EventKind::FunctionAsked, 0, 77, 0);
        story.event(1_400, EventKind::VectorBegin, INTERRUPT, SINGLE, 0, 1);
        story.event(1_401, EventKind::FunctionBegin, INTERRUPT, 77, 0, FUNCTION);
        story.event(1_402, EventKind::FunctionEnd, INTERRUPT, 77, 0, FUNCTION);
        story.event(1_403, EventKind::VectorEnd, INTERRUPT, SINGLE, 0, 0);
        called(story, 77);
    });
    assert_eq!(irq(&parts, "flush_tlb_func").1.as_deref(), Some("in call_function_single"));
    // The thread that an interrupt came over did not ask.
    let parts = parts_of(|story| {
        elsewhere(story, 1_980, EventKind::VectorBegin, INTERRUPT, 1, 0);
        elsewhere(story, 1_990, EventKind::FunctionAsked, INTERRUPT, 77, 0);
        elsewhere(story, 1_995, EventKind::VectorEnd, INTERRUPT, 1, 0);
        called(story, 77);
    });
    let asked = "in call_function_single, asked for by interrupt local_timer on CPU 1";
    assert_eq!(irq(&parts, "flush_tlb_func").1.as_deref(), Some(asked));
}

#[test]
fn a_function_that_the_idle_loop_calls_is_no_interrupt_and_no_softirq() {
    let parts = parts_of(|story| {
        story.event(2_000, EventKind::FunctionBegin, 0, 77, 0, FUNCTION);
        story.event(2_100, EventKind::FunctionEnd, 0, 77, 0, FUNCTION);
    });
    assert!(parts.iter().all(|part| part.who.name() != "flush_tlb_func"), "{parts:?}");
}

#[test]
fn an_interrupt_is_told_with_those_who_sent_it_since_the_one_before() {
    let reschedule = |story: &mut Story, at_us: u64| {
        story.event(at_us, EventKind::VectorBegin, INTERRUPT, RESCHEDULE, 0, 1);
        story.event(at_us + 50, EventKind::VectorEnd, INTERRUPT, RESCHEDULE, 0, 0);
    };
    let parts = parts_of(|story| {
        elsewhere(story, 1_500, EventKind::InterruptSent, 0, 0, RESCHEDULE);
        reschedule(story, 1_600);
        // To another CPU, and of another class: not this one's.
        elsewhere(story, 1_700, EventKind::InterruptSent, 0, 3, RESCHEDULE);
        elsewhere(story, 1_710, EventKind::InterruptSent, 0, 0, SINGLE);
        reschedule(story, 1_800);
        reschedule(story, 1_900);
    });
    // One of three, and one detail for all: that of most of it, which is none but this.
    assert_eq!(irq(&parts, "reschedule"), (150_000, Some("sent by sender (thread 9)".to_owned())));
    let split_of = |build: &dyn Fn(&mut Story)| irq(&parts_of(|story| build(story)), "reschedule").1;
    let none = split_of(&|story| {
        elsewhere(story, 1_500, EventKind::InterruptSent, 0, 3, RESCHEDULE);
        reschedule(story, 1_600);
    });
    assert_eq!(none, None);
}

#[test]
fn what_goes_to_several_processors_at_once_is_told_with_who_sent_it() {
    const CALL_FUNCTION: u64 = 3;
    let told = |kind: EventKind, value: u64, extra: u64| {
        let parts = parts_of(|story| {
            elsewhere(story, 1_990, kind, 0, value, extra);
            story.event(2_000, EventKind::VectorBegin, INTERRUPT, CALL_FUNCTION, 0, 1);
            story.event(2_100, EventKind::VectorEnd, INTERRUPT, CALL_FUNCTION, 0, 0);
        });
        irq(&parts, "call_function").1
    };
    let sent = Some("sent by sender (thread 9)".to_owned());
    assert_eq!(told(EventKind::InterruptsSent, 0b1101, CALL_FUNCTION), sent);
    // To others, from CPU 64 on, and of another class.
    assert_eq!(told(EventKind::InterruptsSent, 0b1100, CALL_FUNCTION), None);
    assert_eq!(told(EventKind::InterruptsSent, 0b1101, 64 << 32 | CALL_FUNCTION), None);
    assert_eq!(told(EventKind::InterruptsSent, 0b1101, RESCHEDULE), None);
    // What goes to this CPU alone is another interrupt.
    assert_eq!(told(EventKind::InterruptSent, 0, SINGLE), None);
}

#[test]
fn a_timer_is_told_with_who_armed_it() {
    let armed_by_sender = u64::from(SENDER) << 32 | 9;
    let timers = |story: &mut Story, function: u32, armed: u64| {
        story.event(2_000, EventKind::VectorBegin, INTERRUPT, 1, 0, 1);
        story.event(2_001, EventKind::TimerBegin, INTERRUPT, armed, 2_000_000, function);
        story.event(2_101, EventKind::TimerEnd, INTERRUPT, 1, 0, 0);
        story.event(2_102, EventKind::VectorEnd, INTERRUPT, 1, 0, 0);
    };
    let told = |function: u32, name: &str, armed: u64| irq(&parts_of(|story| timers(story, function, armed)), name).1;
    let armed = Some("in local_timer, armed by sender (thread 9)".to_owned());
    assert_eq!(told(FUNCTION, "flush_tlb_func", armed_by_sender), armed);
    let not_known = Some("in local_timer".to_owned());
    assert_eq!(told(FUNCTION, "flush_tlb_func", 0), not_known);
    // An address, as older recordings have it; a name that there is none of.
    assert_eq!(told(FUNCTION, "flush_tlb_func", 0xffff_ffff_8112_3456), not_known);
    assert_eq!(told(FUNCTION, "flush_tlb_func", 99 << 32 | 9), not_known);
    // Whoever runs as the scheduler arms a timer of its own is not to blame.
    assert_eq!(told(NOBODYS, "hrtick", armed_by_sender), not_known);
    let parts = parts_of(|story| {
        story.event(2_000, EventKind::SoftirqBegin, IN_SOFTIRQ, 1, 0, 3);
        story.event(2_001, EventKind::CallbackBegin, IN_SOFTIRQ, armed_by_sender, 0, FUNCTION);
        story.event(2_101, EventKind::CallbackEnd, IN_SOFTIRQ, 0, 0, 0);
        story.event(2_102, EventKind::SoftirqEnd, IN_SOFTIRQ, 1, 0, 3);
    });
    let softirq = parts.iter().find(|part| part.kind == Kind::Softirq && part.who.name() == "flush_tlb_func").unwrap();
    assert_eq!(in_words(&softirq.detail).as_deref(), Some("in softirq first, armed by sender (thread 9)"));
}
