//! Of reservations as slots of a CPU: what a command received, and what became of time constraints.

use crate::rialto::{ConstraintsReport, RialtoReport};
use punctual_recording::{agreeing, counted, format_ns};
use punctual_rialto::{Form, Received, Share};

impl RialtoReport {
    /// The answer in words.
    pub fn verdict(&self) -> String {
        let Share { budget_ns, period_ns, form } = self.share;
        if let Some(reason) = &self.taken_away {
            return format!("The scheduler was taken away before the command ended: {reason}.");
        }
        let outside = if form == Form::Hard { "never outside its slots" } else { "competing outside its slots" };
        let granted = format!("{} of every {}, {outside}", format_ns(budget_ns), format_ns(period_ns));
        match self.received {
            None => format!("{granted}: it never wanted the CPU for a whole period."),
            Some(Received { least_ns, most_ns, .. }) => format!(
                "{granted}: in each window of {} in which it wanted the CPU all the time it got {} to {}.",
                format_ns(period_ns),
                microseconds(least_ns),
                microseconds(most_ns)
            ),
        }
    }
}

/// Budgets are given to the microsecond: a few are lost at the edges.
fn microseconds(ns: u64) -> String {
    format!("{}.{} us", ns / 1_000, ns % 1_000 / 100)
}

impl ConstraintsReport {
    /// The answer in words.
    pub fn verdict(&self) -> String {
        let (granted, refused) = (self.side(true), self.side(false));
        let early = if self.is_interrupted { "Ended early. " } else { "" };
        let met = match granted.all - granted.met {
            0 => "each one granted was met".to_owned(),
            missed => {
                let lacked = format_ns(granted.lacked_ns.unwrap_or(0));
                format!("{missed} of them {} not met, by {lacked} of CPU time at most", agreeing(missed, "was", "were"))
            }
        };
        let soon = refused.median_ns.map_or(String::new(), |ns| format!(", half of them within {}", format_ns(ns)));
        format!(
            "{early}Of {} {} {} granted, and {met}; {} {} refused{soon}.",
            counted(self.rows.len(), "time constraint"),
            granted.all,
            agreeing(granted.all, "was", "were"),
            refused.all,
            agreeing(refused.all, "was", "were")
        )
    }
}
