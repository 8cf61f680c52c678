//! A lab as text for people.

use super::model::{GuestEnd, GuestReport, KernelRow, LabReport, MODELLED};
use crate::layout::{counted, grouped, microseconds, table, thousandths};
use std::fmt::Write as _;

/// The run as text: the verdict first, the next step last.
pub fn text(report: &LabReport<'_>) -> String {
    let mut out = format!("{}\n{MODELLED}\n", report.verdict());
    if let Some(module) = &report.module {
        let _ = writeln!(out, "module: {module}");
    }
    for note in report.all_notes() {
        let _ = writeln!(out, "note: {note}");
    }
    for (system, guest) in report.guests() {
        for line in trouble(guest) {
            let _ = writeln!(out, "{}, seed {}: {line}", system.name, guest.seed);
        }
    }
    stages(report, &mut out);
    loads(report, &mut out);
    let _ = writeln!(out, "\n{}", guests_in_words(report));
    let _ = writeln!(out, "files: {}", report.directory.display());
    if let Some(next) = report.next() {
        let _ = writeln!(out, "next: {next}");
    }
    out
}

/// What went wrong in a guest, a line each.
pub(super) fn trouble(guest: &GuestReport) -> Vec<String> {
    let said = || guest.said.clone().unwrap_or_default();
    let mut lines = match (guest.end, guest.exit_code) {
        (GuestEnd::Failed, _) => vec![said()],
        (GuestEnd::Ran, Some(code)) if code != 0 => vec![format!("the command ended with {code}: {}", said())],
        _ => Vec::new(),
    };
    if let Some(first) = guest.splats.first() {
        let more = match guest.all_splats.saturating_sub(1) {
            0 => String::new(),
            more => format!(" (and {} more such lines)", grouped(more)),
        };
        lines.push(format!("the kernel complained: {}{more}", first.trim()));
    }
    lines
}

fn stages(report: &LabReport<'_>, out: &mut String) {
    let rows = report.stages();
    if rows.is_empty() {
        return;
    }
    let several = rows.iter().any(|row| row.row.measure != rows[0].row.measure);
    let mut before = None;
    let cells = rows.iter().map(|stage| {
        let row = &stage.row;
        let key = (row.measure.clone(), row.stage);
        // A stage's name stands before its first system only.
        let is_new = before.replace(key.clone()) != Some(key);
        let whose = if several { format!("{} ", row.measure) } else { String::new() };
        let name = if is_new { format!("{whose}{}", row.stage.name().replace('_', " ")) } else { String::new() };
        let between = match stage.max_between {
            Some((lowest, highest)) if stage.system.documents.len() > 1 => {
                format!("{} to {}", microseconds(Some(lowest)), microseconds(Some(highest)))
            }
            _ => "-".to_owned(),
        };
        vec![
            name,
            stage.system.name.clone(),
            grouped(row.count),
            microseconds(row.p50_ns),
            microseconds(row.p99_ns),
            microseconds(row.p99_9_ns),
            microseconds(row.max_ns),
            between,
        ]
    });
    let header = ["stage, us", "kernel", "wakeups", "p50", "p99", "p99.9", "max", "max by seed"];
    let _ = writeln!(out, "\n{}", table(&header, 2..8, cells));
}

fn loads(report: &LabReport<'_>, out: &mut String) {
    let rows: Vec<Vec<String>> = (report.systems.iter())
        .flat_map(|system| {
            let rates = system.load_rates().into_iter();
            rates.map(|(name, unit, rate)| vec![name, unit, system.name.clone(), thousandths(rate)])
        })
        .collect();
    if !rows.is_empty() {
        let _ = writeln!(out, "\n{}", table(&["load", "a second", "kernel", "done"], 3..4, rows));
    }
}

/// How many guests ran, and what they took.
pub(super) fn guests_in_words(report: &LabReport<'_>) -> String {
    let count = |wanted: GuestEnd| report.guests().filter(|(_, guest)| guest.end == wanted).count();
    let all = report.guests().count();
    let kept = report.guests().filter(|(_, guest)| guest.is_kept).count();
    let seconds =
        report.guests().filter(|(_, guest)| !guest.is_kept).filter_map(|(_, guest)| guest.used_ms).sum::<u64>();
    let mut words = format!("{} of {} ran", count(GuestEnd::Ran), counted(all, "guest"));
    if kept > 0 {
        let _ = write!(words, ", {kept} of them before");
    }
    let _ = write!(words, "; now {} s of processor time", seconds.div_ceil(1_000));
    words + "."
}

/// Which kernels are here.
pub(super) fn kernels_verdict(kernels: &[KernelRow]) -> String {
    let here = kernels.iter().filter(|kernel| kernel.is_here).count();
    let failed = kernels.iter().filter(|kernel| kernel.error.is_some()).count();
    let trouble = if failed > 0 { format!("; {failed} could not be taken") } else { String::new() };
    format!("{here} of {} kernels are on this machine{trouble}.", kernels.len())
}

/// The kernels as text.
pub fn kernels_text(kernels: &[KernelRow]) -> String {
    let mut out = format!("{}\n\n", kernels_verdict(kernels));
    let rows = kernels.iter().map(|kernel| {
        let here = if kernel.is_here { "yes" } else { "no" };
        let package = kernel.package.clone().unwrap_or_else(|| "whatever is newest".to_owned());
        vec![kernel.name.clone(), here.to_owned(), kernel.error.clone().unwrap_or(package)]
    });
    let _ = writeln!(out, "{}", table(&["kernel", "here", "package"], 0..0, rows));
    if let Some(missing) = kernels.iter().find(|kernel| !kernel.is_here) {
        let _ = writeln!(out, "\nnext: punctual lab kernels {} --fetch", missing.name);
    }
    out
}
