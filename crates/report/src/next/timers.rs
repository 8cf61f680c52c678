//! After a measurement of the ways to get a periodic callback.

use super::options::exact_time;
use super::{NextStep, few};
use punctual_timing::Timers;

/// What settings change, if that was not measured; then who makes threads late that are woken as often.
pub(crate) fn after_timers(timers: &Timers) -> Vec<NextStep> {
    let interval = exact_time(timers.period_ns);
    let mut steps = Vec::new();
    if !timers.has_effects() {
        let effects = format!("sudo punctual timers --effects -i {interval}");
        steps.push(NextStep::new("shows what timer slack, clock and priority change", effects));
    }
    let record = format!("sudo punctual record --why p99 -i {interval}");
    steps.push(NextStep::new("records who makes the worst 1 % of wakeups late", record));
    few(steps)
}
