//! A lab as text for people.

use super::model::{GuestEnd, GuestReport, KernelRow, LabReport, MODELLED, SystemCause};
use crate::layout::{counted, grouped, microseconds, percent, table, thousandths};
use crate::verdict::lab::kernels_verdict;
use crate::{NextStep, next_text};
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
    ranks(report, &mut out);
    causes(report, &mut out);
    let _ = writeln!(out, "\n{}", guests_in_words(report));
    packages(report, &mut out);
    let _ = writeln!(out, "files: {}", report.directory.display());
    if let Some(next) = report.next() {
        let _ = writeln!(out, "next: {next}");
    }
    out
}

/// What went wrong in a guest, one line each.
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
        // A stage's name appears only before its first system.
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

fn ranks(report: &LabReport<'_>, out: &mut String) {
    let Some(first) = report.ranks.first() else { return };
    let rows = report.ranks.iter().map(|rank| {
        let times = [rank.ns, rank.low_ns, rank.high_ns].map(|ns| microseconds(Some(ns)));
        let [level, low, high] = times;
        vec![rank.rank.to_string(), rank.system.clone(), level, format!("{low} to {high}"), rank.runs.to_string()]
    });
    let level = format!("{} us", first.figure);
    let _ = writeln!(out, "\n{}", table(&["rank", "kernel", &level, "95 %", "seeds"], 2..5, rows));
}

/// All systems' causes: the system, the cause, and its share of that system's lateness in percent.
pub(super) fn cause_rows<'a>(report: &'a LabReport<'_>) -> Vec<(String, &'a SystemCause, f64)> {
    let mut rows = Vec::new();
    for system in &report.systems {
        let Some(causes) = &system.causes else { continue };
        let share = |cause: &SystemCause| percent(cause.ns, causes.late_ns);
        rows.extend(causes.rows.iter().map(|cause| (system.name.clone(), cause, share(cause))));
    }
    rows
}

fn causes(report: &LabReport<'_>, out: &mut String) {
    let mut before = String::new();
    let rows: Vec<Vec<String>> = cause_rows(report)
        .into_iter()
        .map(|(system, cause, share)| {
            let name = if before == system { String::new() } else { system.clone() };
            before = system;
            let longest = microseconds(Some(cause.max_ns));
            let share = format!("{share:.1} %");
            vec![name, cause.who.clone(), cause.kind.to_owned(), share, grouped(cause.episodes), longest]
        })
        .collect();
    if !rows.is_empty() {
        let header = ["kernel", "who made it late", "kind", "share", "episodes", "longest us"];
        let _ = writeln!(out, "\n{}", table(&header, 3..6, rows));
    }
}

/// What each kernel came from, where that is known; parameters and loads change nothing of that.
fn packages(report: &LabReport<'_>, out: &mut String) {
    let mut told: Vec<&str> = Vec::new();
    for system in &report.systems {
        let kernel = system.kernel.split(',').next().unwrap_or_default();
        if let Some(package) = system.package.as_ref().filter(|_| !told.contains(&kernel)) {
            told.push(kernel);
            let _ = writeln!(out, "kernel {kernel}: {package}");
        }
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
pub(super) fn verdict_on(kernels: &[KernelRow]) -> String {
    let here = kernels.iter().filter(|kernel| kernel.is_here).count();
    let failed = kernels.iter().filter(|kernel| kernel.error.is_some()).count();
    kernels_verdict(here, kernels.len(), failed)
}

/// The kernels as text.
pub fn kernels_text(kernels: &[KernelRow]) -> String {
    let mut out = format!("{}\n\n", verdict_on(kernels));
    let rows = kernels.iter().map(|kernel| {
        let here = if kernel.is_here { "yes" } else { "no" };
        let unnamed = if kernel.name.contains('/') { "an image of your own" } else { "whatever is newest" };
        let package = kernel.package.clone().unwrap_or_else(|| unnamed.to_owned());
        vec![kernel.name.clone(), here.to_owned(), kernel.error.clone().unwrap_or(package)]
    });
    let _ = writeln!(out, "{}", table(&["kernel", "here", "package"], 0..0, rows));
    // No mirror has what the user named by a path.
    if let Some(missing) = kernels.iter().find(|kernel| !kernel.is_here && !kernel.name.contains('/')) {
        let fetch = format!("punctual lab kernels {} --fetch", missing.name);
        out.push('\n');
        out += &next_text(&[NextStep::new("gets it from its distribution", fetch)]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::model::SystemReport;
    use super::*;
    use std::path::Path;

    #[test]
    fn each_kernel_is_said_once_with_what_it_came_from() {
        let system = |kernel: &str, package: Option<&str>| SystemReport {
            name: kernel.to_owned(),
            kernel: kernel.to_owned(),
            load: None,
            causes: None,
            package: package.map(str::to_owned),
            directory: kernel.to_owned(),
            guests: Vec::new(),
            documents: Vec::new(),
        };
        let report = LabReport {
            words: &[],
            module: None,
            directory: Path::new("lab"),
            systems: vec![
                system("6.12,preempt=full", Some("linux-image 6.12-1")),
                system("6.12,preempt=none", Some("linux-image 6.12-1")),
                system("./vmlinuz", None),
                system("./linux", Some("build tree 6.13.0-rc2")),
            ],
            comparisons: Vec::new(),
            ranks: Vec::new(),
            is_interrupted: false,
            notes: Vec::new(),
            exit_code: 0,
        };
        let text = text(&report);
        let told: Vec<&str> = text.lines().filter(|line| line.starts_with("kernel ")).collect();
        assert_eq!(told, ["kernel 6.12: linux-image 6.12-1", "kernel ./linux: build tree 6.13.0-rc2"]);
    }

    #[test]
    fn what_is_no_package_is_said_and_nothing_of_the_users_own_is_to_be_fetched() {
        let row = |name: &str, error: Option<&str>| KernelRow {
            name: name.to_owned(),
            is_here: error.is_none(),
            package: None,
            error: error.map(str::to_owned),
        };
        let text = kernels_text(&[row("./vmlinuz", None), row("./text", Some("no kernel"))]);
        assert!(text.starts_with("1 of 2 kernels are on this machine; 1 could not be taken.\n"), "{text}");
        assert!(text.contains("an image of your own") && text.contains("no kernel"), "{text}");
        assert!(!text.contains("newest") && !text.contains("--fetch"), "{text}");
        let text = kernels_text(&[row("6.12", Some("not here")), row("./text", Some("no kernel"))]);
        assert!(
            text.ends_with("\n\nnext: `punctual lab kernels 6.12 --fetch` gets it from its distribution\n"),
            "{text}"
        );
    }
}
