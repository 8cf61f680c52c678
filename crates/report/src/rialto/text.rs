//! The run as text for people.

use super::answer::RialtoReport;
use punctual_recording::{counted, format_ns};

/// The verdict, and the figures behind it.
pub fn text(report: &RialtoReport) -> String {
    let cut = if report.is_cut { " (the first runs; there were more than are kept)" } else { "" };
    let moved = match report.moved {
        0 => String::new(),
        count => format!("; its slots were moved {} for others that came", counted(count, "time")),
    };
    format!(
        "{}\nit wanted the CPU for {}{cut} and slept {}; the clock at its edges at most {} late; {} somebody was stopped at once whose time it was not{moved}\n",
        report.verdict(),
        format_ns(report.seen_ns),
        counted(report.slept, "time"),
        format_ns(report.latest_ns),
        counted(report.repaired, "time")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_rialto::{Form, Share};

    #[test]
    fn counts_are_told_as_times() {
        let share = Share { budget_ns: 2_000_000, period_ns: 8_000_000, form: Form::Hard };
        let report = RialtoReport {
            share,
            received: None,
            seen_ns: 0,
            has_joined: true,
            moved: 1,
            is_cut: false,
            slept: 1,
            repaired: 254,
            latest_ns: 17_500,
            taken_away: None,
            exit_code: 0,
        };
        let said = text(&report);
        assert!(said.contains("slept 1 time; ") && said.contains("; 254 times somebody was stopped"), "{said}");
        assert!(said.contains("moved 1 time for others"), "{said}");
    }
}
