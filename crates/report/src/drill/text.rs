//! Fire drills, as text for people.

use crate::layout::{microseconds, table};
use crate::verdict::tools::drills_verdict;
use punctual_recording::format_ns;
use std::fmt::Write as _;

/// What a drill did.
#[derive(Debug, Clone)]
pub struct DrillReport {
    /// The drill's name.
    pub kind: &'static str,
    /// The culprit's name: of a BPF program or a thread.
    pub name: &'static str,
    /// The kind of cause that the injections should be attributed to.
    pub blame: &'static str,
    /// What happens, in a few words.
    pub what: &'static str,
    /// Whether only the drill's own victim suffers.
    pub own_victim: bool,
    /// The seed of the random lengths and starts.
    pub seed: u64,
    /// How far apart injections begin on a CPU, on average, ns.
    pub every_ns: u64,
    /// The CPUs drilled.
    pub cpus: Vec<u32>,
    /// When it began, ns of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// When it ended, ns of `CLOCK_MONOTONIC`.
    pub end_ns: u64,
    /// Whether it ended before its time.
    pub interrupted: bool,
    /// Injections that were planned and could not be made.
    pub not_made: u64,
    /// What was injected, in the order of beginning.
    pub injections: Vec<InjectionRow>,
    /// The same, as the log has it.
    pub log: serde_json::Value,
}

/// One injection.
#[derive(Debug, Clone, Copy)]
pub struct InjectionRow {
    /// Where.
    pub cpu: u32,
    /// How long, ns.
    pub length_ns: u64,
    /// From the time a victim was due to the end of its job, ns, if the drill has a victim and met it.
    pub response_ns: Option<u64>,
}

impl DrillReport {
    pub(crate) fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    fn share(&self, total_ns: u64) -> f64 {
        if self.duration_ns() == 0 { 0.0 } else { total_ns as f64 / self.duration_ns() as f64 }
    }
}

/// The drill as text: the verdict first.
pub fn text(report: &DrillReport) -> String {
    let mut text = report.verdict();
    text.push('\n');
    if report.interrupted {
        text += "note: ended early, as asked\n";
    }
    if report.not_made > 0 {
        let _ = writeln!(text, "note: {} more were planned and could not be made", report.not_made);
    }
    let who =
        if report.own_victim { "only its own `drill-victim` suffers" } else { "whatever is due meanwhile suffers" };
    let _ = writeln!(text, "\nOn average every {}: {}; {who}\n", format_ns(report.every_ns), report.what);
    let mut cpus: Vec<u32> = report.injections.iter().map(|row| row.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let rows = cpus.iter().map(|&cpu| {
        let mut lengths: Vec<u64> =
            report.injections.iter().filter(|row| row.cpu == cpu).map(|row| row.length_ns).collect();
        lengths.sort_unstable();
        let total: u64 = lengths.iter().sum();
        vec![
            cpu.to_string(),
            lengths.len().to_string(),
            microseconds(lengths.first().copied()),
            microseconds(lengths.get(lengths.len() / 2).copied()),
            microseconds(lengths.last().copied()),
            microseconds(Some(total)),
            format!("{:.2} %", report.share(total) * 100.0),
        ]
    });
    let header = ["CPU", "count", "shortest us", "median us", "longest us", "total us", "duty"];
    let _ = writeln!(text, "{}", table(&header, 0..7, rows));
    let mut responses: Vec<u64> = report.injections.iter().filter_map(|row| row.response_ns).collect();
    responses.sort_unstable();
    if let (Some(&median), Some(&longest)) = (responses.get(responses.len() / 2), responses.last()) {
        let (median, longest) = (format_ns(median), format_ns(longest));
        let _ = writeln!(
            text,
            "\nThe victim met {} of them: from due to done took {median} in the median, {longest} at most",
            responses.len()
        );
    }
    let _ = writeln!(text, "\nExpected cause: {} `{}`; repeat with --seed {}", report.blame, report.name, report.seed);
    text
}

/// One line about what this kernel and this user can do.
#[derive(Debug, Clone)]
pub struct DrillLine {
    /// The drill's name.
    pub kind: &'static str,
    /// `yes`, `limited` or `no`.
    pub available: &'static str,
    /// What was tried, or why not.
    pub detail: String,
    /// What happens, in a few words.
    pub what: &'static str,
    /// The kind of cause.
    pub blame: &'static str,
    /// The culprit's name.
    pub name: &'static str,
}

/// Which drills there are, as text.
pub fn list_text(lines: &[DrillLine]) -> String {
    let rows = lines.iter().map(|line| {
        [line.kind, line.available, line.what, line.blame, line.name].into_iter().map(str::to_owned).collect()
    });
    let mut text = format!(
        "{}\n\n{}\n",
        drills_verdict(lines),
        table(&["drill", "here", "what happens", "kind of cause", "name"], 5..5, rows)
    );
    let reasons: Vec<&DrillLine> = lines.iter().filter(|line| line.available != "yes").collect();
    if !reasons.is_empty() {
        text += "\nWhy:\n";
        for line in reasons {
            let _ = writeln!(text, "  {}: {}", line.kind, line.detail);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(lengths: &[u64]) -> DrillReport {
        let row =
            |(index, &length_ns): (usize, &u64)| InjectionRow { cpu: index as u32 % 2, length_ns, response_ns: None };
        DrillReport {
            kind: "softirq",
            name: "drill_softirq_callback",
            blame: "softirq",
            what: "it burns",
            own_victim: false,
            seed: 7,
            every_ns: 300_000_000,
            cpus: vec![0, 1],
            start_ns: 5,
            end_ns: 2_000_000_005,
            interrupted: false,
            not_made: 1,
            injections: lengths.iter().enumerate().map(row).collect(),
            log: serde_json::json!([]),
        }
    }

    #[test]
    fn the_text_says_what_was_done() {
        let text = text(&report(&[2_000_100, 1_000_000, 3_000_000]));
        let verdict =
            "Injected softirq 3 times in 2.00 s for 1.00 ms to 3.00 ms; the culprit is `drill_softirq_callback`.\n";
        assert!(text.starts_with(verdict), "{text}");
        assert!(text.contains("note: 1 more were planned and could not be made"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("duty 0 2 2000.1 3000.0 3000.0 5000.1 0.25 % 1 1 1000.0"), "{text}");
        assert!(text.ends_with("Expected cause: softirq `drill_softirq_callback`; repeat with --seed 7\n"), "{text}");
    }

    #[test]
    fn nothing_injected_is_said_too() {
        assert_eq!(report(&[]).verdict(), "No softirq was injected.");
        assert!(text(&report(&[])).starts_with("No softirq"));
    }
}
