//! The run as text for people.

use super::answer::RialtoReport;
use punctual_recording::counted;
use punctual_recording::format_ns;

/// The verdict, and what stands behind it.
pub fn text(report: &RialtoReport) -> String {
    let cut = if report.is_cut { " (the first runs; there were more than are kept)" } else { "" };
    format!(
        "{}\nit wanted the CPU for {}{cut} and slept {}; the clock at its edges at most {} late; {} somebody was stopped at once whose time it was not\n",
        report.verdict(),
        format_ns(report.seen_ns),
        counted(report.slept, "time"),
        format_ns(report.latest_ns),
        report.repaired
    )
}
