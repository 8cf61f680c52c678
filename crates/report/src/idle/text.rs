//! What took the CPU away from loops that wanted it all: text for people.

use crate::layout::{as_fine_percent, counted, grouped, microseconds, percent, table, width};
use punctual_recording::{
    CalibratedCount, CauseKind, Document, GapDocument, ValidationDocument, agreeing, format_ns, printable_path,
};
use std::fmt::Write as _;
use std::path::Path;

/// The share of one CPU is shown for causes that took at least this much, in millionths of the time.
const SHOWN_MILLIONTHS: u128 = 10;
/// At most this many causes are shown in text; JSON has all.
const SHOWN: usize = 15;

/// A measurement of idle time.
pub struct IdleReport<'a> {
    /// Where it is recorded.
    pub recording: &'a Path,
    /// Where it comes from, and why it ended.
    pub document: &'a Document,
    /// The gaps.
    pub gaps: &'a GapDocument,
    /// Keystrokes that the loop and a program saw, if there were any.
    pub validation: Option<&'a ValidationDocument>,
}

impl IdleReport<'_> {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.document.ended.as_ref().is_some_and(|ended| ended.reason.is_failure()))
    }

    pub(crate) fn runtime_ns(&self) -> u64 {
        self.gaps.cpus.iter().map(|cpu| cpu.runtime_ns).sum()
    }

    pub(crate) fn noise_ns(&self) -> u64 {
        self.gaps.cpus.iter().map(|cpu| cpu.noise_ns).sum()
    }

    fn sum(&self, kind: CauseKind) -> u64 {
        self.gaps.causes.iter().filter(|cause| cause.kind == kind).map(|cause| cause.total_ns).sum()
    }

    pub(super) fn name(&self, number: u32) -> &str {
        self.gaps.names.get(number as usize).map_or("?", String::as_str)
    }

    pub(crate) fn cause(&self, kind: CauseKind, name: u32) -> String {
        match kind {
            CauseKind::Irq => format!("interrupt {}", self.name(name)),
            CauseKind::Softirq => format!("softirq {}", self.name(name)),
            CauseKind::Thread => format!("thread {}", self.name(name)),
            _ => self.name(name).to_owned(),
        }
    }

    pub(super) fn ticks_ns(&self, ticks: u64) -> u64 {
        (u128::from(ticks) * 1_000_000_000 / u128::from(self.gaps.ticks_per_second.max(1))) as u64
    }

    /// A time from the beginning of the run, ns.
    pub(crate) fn since_start(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.document.provenance.started_ns)
    }
}

/// What could not be written, so that some gaps lack causes; `None` if everything was.
pub(super) fn what_was_lost(gaps: &GapDocument) -> Option<String> {
    let lost: u64 = gaps.cpus.iter().map(|cpu| cpu.gaps_lost).sum();
    let of_gaps = (lost > 0).then(|| format!("{} could not be passed on", counted(lost, "gap")));
    let entries = gaps.entries_lost;
    let of_entries = (entries > 0).then(|| {
        let (entries, were) = (grouped(entries), agreeing(entries, "entry was", "entries were"));
        format!("{entries} of the kernel's {were} lost")
    });
    let lost: Vec<String> = of_gaps.into_iter().chain(of_entries).collect();
    (!lost.is_empty()).then(|| format!("{}: some gaps lack causes", lost.join(", and ")))
}

/// Where the histogram's rows end, ns (1, 2, 5, 10, ... us), and the gaps in each.
pub(crate) fn histogram(gaps: &GapDocument) -> Vec<(u64, u64)> {
    let bounds = (3..12u32).flat_map(|power| [1u64, 2, 5].map(|digit| digit * 10u64.pow(power)));
    let mut rows: Vec<(u64, u64)> = bounds.map(|bound| (bound, 0)).collect();
    rows.push((u64::MAX, 0));
    for (value, count) in gaps.lengths.buckets() {
        if let Some(row) = rows.iter_mut().find(|(bound, _)| value <= *bound) {
            row.1 += count;
        }
    }
    let first = rows.iter().position(|row| row.1 > 0).unwrap_or(0);
    let last = rows.iter().rposition(|row| row.1 > 0).map_or(0, |last| last + 1);
    rows.get(first..last).map(<[_]>::to_vec).unwrap_or_default()
}

/// The measurement as text: the verdict, what is missing, then tables.
pub fn text(report: &IdleReport<'_>) -> String {
    let gaps = report.gaps;
    let provenance = &report.document.provenance;
    let mut text = format!("{}\n", report.verdict());
    for note in &provenance.fallbacks {
        let _ = writeln!(text, "note: {note}");
    }
    if let Some(validation) = report.validation {
        text += &crate::idle::validation::text(validation);
    }
    if let Some(lost) = what_was_lost(gaps) {
        let _ = writeln!(text, "note: {lost}");
    }
    let policy = if provenance.configuration.policy == "fifo" {
        "FIFO 1, 90 of every 100 ms"
    } else {
        "idle priority: everything else runs first"
    };
    let iterations: u64 = gaps.cpus.iter().map(|cpu| cpu.iterations).sum();
    let own = report.runtime_ns().saturating_sub(report.noise_ns());
    let each = own as f64 / iterations.max(1) as f64;
    let pace = if gaps.cpus.iter().any(|cpu| cpu.calibrated.is_some()) {
        "a count between two readings".to_owned()
    } else {
        format!("one reading of {} takes {each:.1} ns", gaps.clock)
    };
    let _ = writeln!(
        text,
        "\nloops at {policy}; {pace}; gaps above {} are kept; no hardware counters are read",
        format_ns(gaps.threshold_ns)
    );
    calibrated(&mut text, gaps);
    available(&mut text, gaps);
    if gaps.followed {
        causes(&mut text, report);
        outside(&mut text, report);
    }
    lengths(&mut text, gaps);
    profile(&mut text, gaps);
    longest(&mut text, report);
    costs_and_periods(&mut text, report);
    let _ = writeln!(text, "\nrecording: {}", printable_path(report.recording));
    text
}

/// Whether the count always takes the same time, the one that was calibrated.
pub(super) fn is_steady(count: &CalibratedCount) -> bool {
    let modes = &count.modes;
    modes.len() == 1 && modes[0].duration_ns.abs_diff(count.calibrated_ns) * 10 <= count.calibrated_ns
}

fn calibrated(text: &mut String, gaps: &GapDocument) {
    for cpu in &gaps.cpus {
        let Some(count) = &cpu.calibrated else { continue };
        let modes: Vec<String> = (count.modes.iter())
            .map(|mode| format!("{} in {:.1} %", format_ns(mode.duration_ns), mode.share_thousandths as f64 / 10.0))
            .collect();
        let found = if modes.is_empty() { "no time that 5 % of its runs took".to_owned() } else { modes.join(", ") };
        let judged = if is_steady(count) { "steady" } else { "NOT steady: the extra time is counted as gaps" };
        let _ = writeln!(
            text,
            "CPU {}: to count to {} took {} when calibrated; while measuring {found}: {judged}",
            cpu.cpu,
            grouped(count.count),
            format_ns(count.calibrated_ns)
        );
    }
}

fn available(text: &mut String, gaps: &GapDocument) {
    let header = [
        "CPU",
        "runtime us",
        "noise us",
        "% available",
        "max noise us",
        "max single us",
        "HW",
        "IRQ",
        "softirq",
        "thread",
    ];
    let rows = gaps.cpus.iter().map(|cpu| {
        let count = |count: u64| if gaps.followed { count.to_string() } else { "-".to_owned() };
        let available = 100.0 - percent(cpu.noise_ns, cpu.runtime_ns);
        vec![
            cpu.cpu.to_string(),
            (cpu.runtime_ns / 1_000).to_string(),
            (cpu.noise_ns / 1_000).to_string(),
            format!("{available:.5}"),
            microseconds(Some(cpu.max_noise_ns)),
            microseconds(Some(cpu.max_single_ns)),
            count(cpu.outside),
            count(cpu.irq),
            count(cpu.softirq),
            count(cpu.thread),
        ]
    });
    let _ = writeln!(text, "\n{}", table(&header, 0..10, rows));
    text.push_str(
        "(as rtla osnoise counts; max noise: gaps that began within one second; HW: gaps with nothing traced inside)\n",
    );
}

fn causes(text: &mut String, report: &IdleReport<'_>) {
    let runtime = report.runtime_ns();
    let shown = |total: u64| u128::from(total) * 1_000_000 >= SHOWN_MILLIONTHS * u128::from(runtime);
    let rows = report.gaps.causes.iter().filter(|cause| shown(cause.total_ns)).take(SHOWN).map(|cause| {
        vec![
            report.cause(cause.kind, cause.name),
            as_fine_percent(cause.total_ns, runtime),
            cause.count.to_string(),
            microseconds(cause.total_ns.checked_div(cause.count)),
            microseconds(Some(cause.max_ns)),
        ]
    });
    let _ = writeln!(text, "\n{}", table(&["what took the CPU", "share", "gaps", "mean us", "max us"], 1..5, rows));
}

fn outside(text: &mut String, report: &IdleReport<'_>) {
    let total = report.sum(CauseKind::Outside);
    if total == 0 {
        return;
    }
    let stolen: Option<u64> = report.gaps.cpus.iter().map(|cpu| cpu.outside_stolen_ns).sum();
    let counted: Option<u64> = report.gaps.cpus.iter().map(|cpu| cpu.steal_ns).sum();
    let confirmed = stolen.map_or_else(
        || "the steal counter cannot be read at that point".to_owned(),
        |stolen| format!("the host's steal counter accounts for at most {} of it", format_ns(stolen)),
    );
    let counted =
        counted.map_or_else(String::new, |ns| format!("; the kernel counted {} of steal in all", format_ns(ns)));
    let _ = writeln!(text, "outside this kernel: {}; {confirmed}{counted}", format_ns(total));
}

fn lengths(text: &mut String, gaps: &GapDocument) {
    let rows = histogram(gaps);
    let most = rows.iter().map(|row| row.1).max().unwrap_or(1).max(1);
    let rows = rows.into_iter().map(|(bound, count)| {
        let bound = if bound == u64::MAX { "more".to_owned() } else { format!("<= {}", format_ns(bound)) };
        vec![bound, count.to_string(), "#".repeat((count * 40).div_ceil(most) as usize)]
    });
    let _ = writeln!(text, "\n{}", table(&["length of a gap", "gaps", ""], 1..2, rows));
}

/// How many columns a CPU's profile may have in lines so wide.
fn profile_columns(width: Option<usize>) -> usize {
    const MAX_COLUMNS: usize = 80;
    const BESIDE: usize = "  CPU 999 ||".len();
    width.map_or(MAX_COLUMNS, |width| width.saturating_sub(BESIDE).clamp(1, MAX_COLUMNS))
}

/// How much of each bin was taken, as the utilization profiles of the paper of 2014 (Figure 3) show it.
fn profile(text: &mut String, gaps: &GapDocument) {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bins = gaps.cpus.iter().map(|cpu| cpu.profile.len()).max().unwrap_or(0);
    if bins < 2 {
        return;
    }
    let together = bins.div_ceil(profile_columns(width()));
    let step = format_ns(gaps.bin_ns * together as u64);
    let _ = writeln!(text, "\nutilization by others over time, {step} a column, full height is the whole CPU:");
    for cpu in &gaps.cpus {
        let line: String = cpu
            .profile
            .chunks(together)
            .map(|bins| {
                let busy: u64 = bins.iter().sum();
                let whole = gaps.bin_ns * bins.len() as u64;
                let level = if busy == 0 { 0 } else { (busy * 8).div_ceil(whole.max(1)).min(8) };
                LEVELS[level as usize]
            })
            .collect();
        let _ = writeln!(text, "  CPU {:<3} |{line}|", cpu.cpu);
    }
}

fn longest(text: &mut String, report: &IdleReport<'_>) {
    let rows = report.gaps.longest.iter().take(8).map(|gap| {
        let cause = if gap.kind == CauseKind::NotFollowed {
            "-".to_owned()
        } else {
            let share = gap.cause_ns.map_or_else(String::new, |ns| as_fine_percent(ns, gap.length_ns));
            format!("{} {share}", report.cause(gap.kind, gap.name))
        };
        vec![
            microseconds(Some(gap.length_ns)),
            gap.cpu.to_string(),
            format!("{:.6}", report.since_start(gap.start_ns) as f64 / 1e9),
            cause,
        ]
    });
    let _ = writeln!(text, "\n{}", table(&["longest gaps us", "CPU", "at s", "mostly"], 0..3, rows));
}

fn costs_and_periods(text: &mut String, report: &IdleReport<'_>) {
    let gaps = report.gaps;
    if !gaps.interrupt_costs.is_empty() {
        let unit = if gaps.clock == "tsc" { "cycles of the time-stamp counter" } else { "ns" };
        let rows = gaps.interrupt_costs.iter().map(|cost| {
            vec![
                report.name(cost.name).to_owned(),
                cost.smallest_ticks.to_string(),
                microseconds(Some(report.ticks_ns(cost.smallest_ticks))),
                cost.count.to_string(),
            ]
        });
        let _ = writeln!(text, "\nsmallest gap with one interrupt and nothing else, in {unit}:");
        let _ = writeln!(
            text,
            "{}",
            table(&["interrupt", unit.split(' ').next().unwrap_or(unit), "us", "gaps"], 1..4, rows)
        );
    }
    if !gaps.periods.is_empty() {
        let rows = gaps.periods.iter().map(|period| {
            vec![
                if period.kind == CauseKind::NotFollowed {
                    "gaps".to_owned()
                } else {
                    report.cause(period.kind, period.name)
                },
                period.cpu.to_string(),
                microseconds(Some(period.period_ns)),
                format!("{:.1}", 1e9 / period.period_ns.max(1) as f64),
                format!("{:.1} %", period.share_thousandths as f64 / 10.0),
            ]
        });
        let _ =
            writeln!(text, "\n{}", table(&["recurs", "CPU", "every us", "per s", "intervals that fit"], 1..5, rows));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_fits_its_reader_however_long_it_is() {
        for bins in [2_usize, 68, 69, 600, 36_000] {
            for width in [40, 80, 200] {
                let columns = bins.div_ceil(bins.div_ceil(profile_columns(Some(width))));
                let line = format!("  CPU {:<3} |{}|", 0, "x".repeat(columns));
                assert!(line.len() <= width, "{bins} bins at {width}: {}", line.len());
            }
        }
        assert_eq!(profile_columns(None), 80);
    }
}
