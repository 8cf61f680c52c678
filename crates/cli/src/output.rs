//! Data to standard output, everything else to standard error.

use punctual_probe::RunError;
use punctual_report::Measurement;
use punctual_study::StudyError;
use std::io::Write;

/// How to answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) csv: bool,
}

impl Output {
    /// Prints the report on one or more recordings.
    pub(crate) fn measurement(self, measurement: &Measurement) {
        if self.json {
            print(&pretty(&punctual_report::measurement(measurement)));
        } else if self.csv {
            print(&punctual_report::csv(measurement));
        } else {
            print(&punctual_report::measurement_text(measurement));
        }
    }

    /// Says what failed, in one line, and gives the exit code.
    pub(crate) fn fail(self, error: &anyhow::Error) -> u8 {
        let plan_refused = matches!(error.downcast_ref::<StudyError>(), Some(StudyError::Run(RunError::Plan(_))));
        let usage = plan_refused || error.downcast_ref::<Usage>().is_some();
        let code = if usage { crate::USAGE } else { 1 };
        let hint = hint(error);
        let message = format!("{error:#}");
        if self.json {
            print(&pretty(&punctual_report::error(&message, hint, code)));
        } else {
            let _ = writeln!(std::io::stderr(), "{}", punctual_report::failure(&message, hint));
        }
        code
    }
}

/// Options that cannot go together or values that this machine does not have.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

fn hint(error: &anyhow::Error) -> Option<&'static str> {
    let text = format!("{error:#}");
    if text.contains("BPF programs") && text.contains("permission denied") {
        return Some("sudo punctual ..., or see `punctual capabilities`");
    }
    if text.contains("no space left") {
        return Some("what was written until then was kept; choose another place with -o");
    }
    None
}

/// Prints data; a reader that has gone away is no error.
pub(crate) fn print(text: &str) {
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = output.write_all(b"\n");
    }
    let _ = output.flush();
}

pub(crate) fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}
