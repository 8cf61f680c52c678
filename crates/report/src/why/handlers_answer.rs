//! The answer of `punctual why --all-handlers`.

use super::handlers::{self, INTERRUPT_LIMIT_NS, QUEUE_LIMIT_NS};
use super::{SCHEMA, cost};
use crate::answer::Answer;
use punctual_recording::{HandlerSum, RecorderSummary};
use serde::Serialize;
use std::path::Path;

/// Every handler of a run against limits.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HandlersAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    recording: &'a Path,
    #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    recorder: Option<&'a RecorderSummary>,
    cpu_share: Option<f64>,
    limits: Limits,
    handlers: Vec<HandlerRow<'a>>,
}

impl<'a> HandlersAnswer<'a> {
    /// The sums, with what the flight recorder counted and cost where that is known.
    pub fn new(recording: &'a Path, sums: &'a [HandlerSum], recorder: Option<&'a RecorderSummary>) -> Self {
        HandlersAnswer {
            schema: SCHEMA,
            verdict: handlers::verdict(sums),
            exit_code: 0,
            recording,
            recorder,
            cpu_share: recorder.and_then(cost::cpu_share),
            limits: Limits { interrupt_ns: INTERRUPT_LIMIT_NS, softirq_queue_ns: QUEUE_LIMIT_NS },
            handlers: sums.iter().map(HandlerRow::new).collect(),
        }
    }
}

impl Answer for HandlersAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Limits {
    interrupt_ns: u64,
    softirq_queue_ns: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct HandlerRow<'a> {
    kind: &'a str,
    name: &'a str,
    count: u64,
    total_ns: u64,
    longest_ns: u64,
    longest_at_ns: u64,
    limit_ns: Option<u64>,
    over: bool,
}

impl<'a> HandlerRow<'a> {
    fn new(sum: &'a HandlerSum) -> HandlerRow<'a> {
        HandlerRow {
            kind: &sum.kind,
            name: &sum.name,
            count: sum.count,
            total_ns: sum.total_ns,
            longest_ns: sum.longest_ns,
            longest_at_ns: sum.longest_at_ns,
            limit_ns: handlers::limit(&sum.kind),
            over: handlers::is_over(sum),
        }
    }
}
