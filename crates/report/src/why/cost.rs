//! What the flight recorder counted and what it cost, as it appears in every answer.

use punctual_recording::{RecorderSummary, counted, format_ns, grouped};
use std::fmt::Write;

/// The counts of a recording that was cut short say nothing about times shorter than this, ns.
pub(crate) const MIN_COUNTED_NS: u64 = 100_000_000;

/// Two lines: what was kept, and how much of the processors that took. If a recording was cut short, the counts are
/// those of about its last second, and so a lower bound.
pub fn recorder_lines(recorder: &RecorderSummary, is_cut: bool) -> String {
    let behind = match recorder.writing_behind {
        0 => String::new(),
        behind => format!(" ({} of them not written)", grouped(behind)),
    };
    let mut lines = format!(
        "flight recorder{}: late {}   kept {} ({} of them void)   without evidence {}{behind}   saved within {} of detection\n",
        if is_cut { ", cut short, counts at least" } else { "" },
        grouped(recorder.late),
        grouped(recorder.kept),
        grouped(recorder.void),
        grouped(recorder.without_evidence()),
        format_ns(recorder.longest_collection_ns)
    );
    let _ = match (recorder.programs_ns, recorder.program_runs) {
        (Some(ns), Some(runs)) => {
            write!(lines, "its cost: programs {} of CPU in {}", format_ns(ns), counted(runs, "run"))
        }
        _ => write!(lines, "its cost: programs unknown"),
    };
    let _ = match (&recorder.sample_clock, recorder.sampling_ns) {
        (Some(clock), Some(ns)) => {
            write!(lines, "   {} by {clock} {}", counted(recorder.samples, "stack"), format_ns(ns))
        }
        (Some(clock), None) => write!(lines, "   {} by {clock}", counted(recorder.samples, "stack")),
        (None, _) => write!(lines, "   no stacks"),
    };
    let _ = write!(lines, "   collecting and writing {}", format_ns(recorder.collecting_ns));
    if let Some(share) = cpu_share(recorder) {
        let _ = write!(lines, "; in all {:.2} % of each CPU", share * 100.0);
    }
    let beside_ns = recorder.starting_ns.saturating_add(recorder.finishing_ns);
    if beside_ns > 0 {
        let _ = write!(lines, "; start-up and shutdown {} of CPU", format_ns(beside_ns));
    }
    lines
}

/// The share of its CPUs that the recorder took; `None` if that is not known.
pub(crate) fn cpu_share(recorder: &RecorderSummary) -> Option<f64> {
    let parts = [recorder.programs_ns?, recorder.sampling_ns.unwrap_or(0), recorder.collecting_ns];
    let cpu_ns = parts.into_iter().fold(0, u64::saturating_add);
    // The time of the start is not a share of anything.
    let armed_ns = Some(recorder.armed_ns).filter(|ns| *ns >= MIN_COUNTED_NS)?;
    let all_ns = armed_ns.checked_mul(recorder.cpus).filter(|ns| *ns > 0)?;
    Some(cpu_ns as f64 / all_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_a_share_of_all_cpus() {
        let mut recorder = RecorderSummary {
            programs_ns: Some(30_000_000),
            program_runs: Some(100_000),
            armed_ns: 10_000_000_000,
            cpus: 2,
            collecting_ns: 10_000_000,
            ..RecorderSummary::default()
        };
        assert_eq!(cpu_share(&recorder), Some(0.002));
        assert!(recorder_lines(&recorder, false).ends_with("in all 0.20 % of each CPU"));
        // Reading symbols at the start and writing at the end are not shares of what was measured.
        recorder.starting_ns = 20_000_000_000;
        recorder.finishing_ns = 16_700_000_000;
        assert_eq!(cpu_share(&recorder), Some(0.002));
        assert!(
            recorder_lines(&recorder, false)
                .ends_with("in all 0.20 % of each CPU; start-up and shutdown 36.7 s of CPU")
        );
        recorder.programs_ns = None;
        assert_eq!(cpu_share(&recorder), None);
        assert!(recorder_lines(&recorder, false).contains("programs unknown"));
    }

    #[test]
    fn what_was_lost_to_slow_writing_is_told_apart() {
        let recorder = RecorderSummary { late: 9, kept: 2, over_budget: 4, writing_behind: 3, ..Default::default() };
        let waiting = RecorderSummary { late: 25, kept: 5, ..Default::default() };
        let void = RecorderSummary { late: 1_025, kept: 1_020, void: 24, ..Default::default() };
        assert!(
            recorder_lines(&void, false)
                .starts_with("flight recorder: late 1,025   kept 1,020 (24 of them void)   without evidence 5   ")
        );
        assert!(recorder_lines(&waiting, true).contains("kept 5 (0 of them void)   without evidence 20   "));
        let lines = recorder_lines(&recorder, false);
        assert!(lines.contains("without evidence 7 (3 of them not written)   "), "{lines}");
        assert!(recorder_lines(&recorder, true).starts_with("flight recorder, cut short, counts at least: late 9"));
        let most = u64::MAX;
        let hostile =
            RecorderSummary { programs_ns: Some(most), collecting_ns: most, armed_ns: most, cpus: 1, ..recorder };
        assert_eq!(cpu_share(&hostile), Some(1.0));
    }
}
