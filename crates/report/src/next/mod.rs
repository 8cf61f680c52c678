//! What to run next: at most two steps after an answer.

mod about_b;
mod comparison;
mod device;
mod evidence;
mod forecast;
mod host;
mod idle;
mod log;
mod longer;
mod measurement;
mod options;
mod reserve;
mod study;
mod timers;

pub use comparison::{after_comparison, after_comparisons, after_interact_comparison};
pub use device::after_device;
pub use evidence::{above_ordinary, after_no_evidence, fewer_void, more_kept, more_samples};
pub use forecast::{ForecastAsked, after_forecast};
pub use host::with_host;
pub use idle::after_idle;
pub use log::{after_log, after_log_show};
pub use measurement::after_measurement;
pub(crate) use measurement::as_threshold;
pub use options::{every_value, own_options, own_options_and_load, written_period};
pub use reserve::{ReserveAsked, ReserveSubject, after_reserve, after_reserve_phases, after_reserve_together};
pub use study::{after_study, after_verify};
pub(crate) use timers::after_timers;

use serde::Serialize;
use std::fmt::{Display, Formatter, Result, Write};

/// Nobody follows more steps.
const MAX_STEPS: usize = 2;

/// What says why causes cannot be recorded, and what would allow it.
pub const TO_RECORD_CAUSES: &str = "sudo punctual capabilities 'flight recorder'";

/// Where causes were asked for, and this kernel or sandbox refused to have them recorded.
fn after_refusal() -> NextStep {
    NextStep::new("says what it takes to record who makes wakeups late", TO_RECORD_CAUSES.to_owned())
}

/// A step: what it is for, and the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NextStep {
    /// What to change, in whole sentences; absent where running the command is all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// What it shows, as the end of a sentence.
    pub purpose: String,
    /// The command, as a shell takes it.
    pub command: String,
}

impl NextStep {
    pub(crate) fn new(purpose: &str, command: String) -> NextStep {
        NextStep { action: None, purpose: purpose.to_owned(), command }
    }

    /// Something to change; the command says more about it.
    pub(crate) fn to_change(action: String, purpose: &str, command: String) -> NextStep {
        NextStep { action: Some(action), ..NextStep::new(purpose, command) }
    }
}

impl Display for NextStep {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        match &self.action {
            Some(action) => write!(formatter, "next: {action} More: `{}`", self.command),
            None => write!(formatter, "next: `{}` {}", self.command, self.purpose),
        }
    }
}

/// Keeps no more steps than anybody follows.
fn few(mut steps: Vec<NextStep>) -> Vec<NextStep> {
    steps.truncate(MAX_STEPS);
    steps
}

/// The steps as lines.
pub fn next_text(steps: &[NextStep]) -> String {
    let mut text = String::new();
    for step in steps.iter().take(MAX_STEPS) {
        let _ = writeln!(text, "{step}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Measurement;
    use punctual_recording::{CAUSES_NOT_RECORDED, Document, NEEDS_ROOT};

    #[test]
    fn what_a_kernel_refused_is_not_proposed_again() {
        let text = include_str!("../../../cli/tests/golden/record.punctual/recording.json");
        let commands = |reason: &str| -> Vec<String> {
            let mut document: Document = serde_json::from_str(text).unwrap();
            document.provenance.fallbacks.push(format!("{CAUSES_NOT_RECORDED} (loading BPF programs: {reason})"));
            let measurement = Measurement { parts: vec![("a.punctual".into(), document)], ..Measurement::default() };
            after_measurement(&measurement, &[]).into_iter().map(|step| step.command).collect()
        };
        let refused = commands("this kernel lacks loops (from Linux 6.1 on)");
        assert_eq!(refused, [TO_RECORD_CAUSES, "punctual forecast a.punctual"]);
        // As root it would have worked.
        let forbidden = commands(&format!("permission denied: {NEEDS_ROOT}, or CAP_BPF and CAP_PERFMON"));
        assert!(forbidden[0].starts_with("sudo punctual record --why "), "{forbidden:?}");
    }

    #[test]
    fn what_to_change_stands_before_the_command() {
        let step =
            NextStep::to_change("It ran. Stop it.".to_owned(), "says how", "punctual why --explain irq".to_owned());
        assert_eq!(step.to_string(), "next: It ran. Stop it. More: `punctual why --explain irq`");
    }

    #[test]
    fn there_are_never_more_than_two_lines() {
        let step = NextStep::new("says who made it late", "punctual why a.punctual".to_owned());
        let text = next_text(&[step.clone(), step.clone(), step]);
        assert_eq!(text.lines().count(), MAX_STEPS);
        assert_eq!(text.lines().next(), Some("next: `punctual why a.punctual` says who made it late"));
    }
}
