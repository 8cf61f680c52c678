//! Made-up runs: the recording of one thread on one CPU that wakes every millisecond.

use punctual_comparison::{Gather, Run};
use punctual_recording::{
    Counters, Distribution, Distributions, Document, EndReason, Ended, Key, Provenance, SCHEMA, Stage, Task, Wakeup,
};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
pub(crate) const PERIOD_NS: u64 = 1_000_000;

/// The run with this number and these wakeups, in order; `told` adds what else its recording says of it.
pub(crate) fn run_of(number: u64, wakeups: &[Wakeup], told: impl FnOnce(&mut Document)) -> Run {
    let mut total = Distribution::default();
    wakeups.iter().for_each(|wakeup| total.record(wakeup.total_ns));
    let mut distributions = Distributions::default();
    *distributions.entry(Key { measure: "fifo:80".into(), stage: Stage::Total, cpu: 0, load: "none".into() }) = total;
    let counters = Counters { wakeups: wakeups.len() as u64, missed: Some(0), ..Counters::default() };
    let at_ns = wakeups.last().map_or(0, |wakeup| wakeup.expected_ns + PERIOD_NS);
    let mut document = empty();
    document.ended = Some(Ended { reason: EndReason::Completed, detail: None, at_ns });
    document.provenance.run_id = number.to_string();
    document.provenance.configuration.interval_ns = PERIOD_NS;
    document.tasks = vec![Task { measure: "fifo:80".into(), tid: 1, cpu: Some(0), period_ns: PERIOD_NS, counters }];
    document.counters = counters;
    document.distributions = distributions;
    told(&mut document);
    let mut gather = Gather::new(document);
    wakeups.iter().for_each(|wakeup| gather.push(wakeup));
    gather.finish().expect("wakeups")
}

/// A document that says nothing, as it stands on disk, so that this file need not name what is added to documents
/// later.
fn empty() -> Document {
    let value = serde_json::json!({
        "schema": SCHEMA, "ended": null, "provenance": Provenance::default(), "tasks": [], "counters": Counters::default(),
        "segments": 1, "distributions": [],
    });
    serde_json::from_value(value).expect("a document")
}
