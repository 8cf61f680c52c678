//! Semaphores and synchronization events.

use punctual_sim::cost::Cost;
use punctual_sim::experiment::Experiment;
use punctual_sim::machine::{
    Activity, Arrival, Engine, LateWork, MachineSpec, Policy, SourceSpec, ThreadSpec, WorkContext,
};
use punctual_sim::observe::Everything;
use punctual_sim::time::{MILLISECOND, Span};

/// Ten interrupts at 1 ms each signal a thread that takes 2.5 ms for each activation it makes: activations that ended,
/// and signals that were merged into others.
fn activations(late_work: LateWork) -> (usize, u64) {
    let constant = |time| Cost::Constant(Span(time));
    let work = 2 * MILLISECOND + MILLISECOND / 2;
    let mut thread = ThreadSpec::new("worker", Policy::Priority(24), Activity::Signalled, constant(work));
    thread.late_work = late_work;
    let source = SourceSpec {
        name: "signal".to_owned(),
        cpu: 0,
        irql: 10,
        arrival: Arrival::Periodic { period: MILLISECOND, offset: MILLISECOND },
        latched: false,
        isr: constant(0),
        dpc: constant(0),
        important: false,
        work: constant(work),
        context: WorkContext::Thread,
        thread: Some(0),
    };
    let spec = MachineSpec { threads: vec![thread], sources: vec![source], ..MachineSpec::default() };
    let mut engine = Engine::new(spec).unwrap();
    let mut seen = Everything::default();
    engine.run(10 * MILLISECOND + MILLISECOND / 2, &mut seen);
    let ended = seen.activations.iter().filter(|activation| activation.thread == Some(0)).count();
    (ended, engine.merged(0))
}

#[test]
fn a_semaphore_counts_and_an_event_does_not() {
    // Both are busy without a pause: four activations of 2.5 ms end within 10.5 ms less the first millisecond, three.
    let (counted, none_merged) = activations(LateWork::WorkOff);
    let (events, merged) = activations(LateWork::Event);
    assert_eq!(none_merged, 0);
    assert_eq!(counted, events);
    // Of ten signals, three were done, one is being worked on and one is set: the others found it set.
    assert_eq!((events, merged), (3, 5));
}

#[test]
fn an_event_with_stale_work_is_refused_in_one_line() {
    let text = r#"schema = "punctual.experiment/1"
name = "x"
duration = "1s"

[[thread]]
name = "a"
policy = { priority = 8 }
activity = "signalled"
event = true
drop_stale = true
"#;
    let error = Experiment::parse("x.toml", text).unwrap_err().to_string();
    assert!(error.starts_with("x.toml:") && error.lines().count() == 1, "{error}");
}
