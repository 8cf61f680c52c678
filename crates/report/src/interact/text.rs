//! Inputs and what became of them: text for people.

use super::account::account;
use super::code::{about_in_words, hottest, lines};
use super::counters::counters;
use super::hardware::hardware;
use super::histogram::histogram;
use super::key_rows::keys;
use super::model::InteractReport;
use super::over_time::agreement_in_words;
use super::spent::Part;
use super::sums::KindSum;
use super::toolkit::events;
use crate::layout::{as_fine_percent, fitting, indented, microseconds, table};
use punctual_recording::{Distribution, Interaction, START, counted, format_ns, printable_path};
use std::fmt::Write as _;

/// How many causes, and longest inputs, are shown; JSON has all.
const SHOWN: usize = 12;
/// Of how many causes the code is shown.
const CODE: usize = 3;
/// How many parts of a long input are shown.
const PARTS: usize = 4;

fn milliseconds(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.2}", ns as f64 / 1e6))
}

fn beyond(all: &Distribution, least: u64, quantile: f64) -> Option<u64> {
    if all.count() >= least { all.quantile(quantile) } else { None }
}

/// The report as text: the verdict, what is missing, then tables.
pub fn text(report: &InteractReport<'_>) -> String {
    let mut text = format!("{}\n", report.verdict());
    for note in report.document.provenance.fallbacks.iter().chain(&report.warnings()) {
        let _ = writeln!(text, "note: {note}");
    }
    let summary = report.summary;
    let program = fitting(&summary.program.join(" "), 60);
    if report.is_own_use() {
        let _ = writeln!(text, "\n{program}, watched while somebody used it");
    } else {
        told_settings(&mut text, report, &program);
    }
    latencies(&mut text, report);
    keys(&mut text, report);
    ends(&mut text, report);
    waiting(&mut text, report);
    if let Some(words) = account(report) {
        let _ = writeln!(text, "\nby the kernel's account: {words}");
    }
    causes(&mut text, report);
    longest(&mut text, report);
    events(&mut text, report);
    counters(&mut text, report);
    hardware(&mut text, report);
    responsiveness(&mut text, report);
    limits(&mut text, report);
    cost(&mut text, report);
    if !report.document.provenance.blind.is_empty() {
        let _ = writeln!(text, "\nnot seen");
        for line in &report.document.provenance.blind {
            let _ = writeln!(text, "  {line}");
        }
    }
    let _ = writeln!(text, "\nrecording: {}", printable_path(report.recording));
    text
}

fn told_settings(text: &mut String, report: &InteractReport<'_>, program: &str) {
    let summary = report.summary;
    let _ = writeln!(
        text,
        "\n{program} by {}, script {}, pace {}, seed {}",
        summary.via, summary.script, summary.pace, summary.seed
    );
}

fn latencies(text: &mut String, report: &InteractReport<'_>) {
    let row = |name: String, inputs: u64, all: &Distribution| {
        vec![
            name,
            inputs.to_string(),
            all.count().to_string(),
            milliseconds(all.min()),
            milliseconds(beyond(all, 2, 0.5)),
            milliseconds(beyond(all, 10, 0.9)),
            milliseconds(beyond(all, 100, 0.99)),
            milliseconds(all.max()),
        ]
    };
    let header = ["ms from input to seen", "inputs", "seen", "min", "p50", "p90", "p99", "max"];
    let rows = report.kinds.iter().map(|kind| row(kind.kind.clone(), kind.inputs, &kind.latencies));
    let tasks = report.tasks.iter().map(|(task, all)| row(format!("task {}", fitting(task, 40)), all.count(), all));
    let _ = writeln!(text, "\n{}", table(&header, 1..8, rows.chain(tasks)));
    let warm = |kind: &&KindSum| kind.kind != START && kind.cold.count() > 0 && kind.warm.count() > 0;
    let rows: Vec<Vec<String>> = report
        .kinds
        .iter()
        .filter(warm)
        .map(|kind| {
            let of = |all: &Distribution| {
                [all.count().to_string(), milliseconds(all.quantile(0.5)), milliseconds(all.max())]
            };
            let spread = [kind.warm.mean(), kind.warm_deviation_ns].map(milliseconds);
            [kind.kind.clone()].into_iter().chain(of(&kind.cold)).chain(of(&kind.warm)).chain(spread).collect()
        })
        .collect();
    if !rows.is_empty() {
        let header = ["ms, first and later", "first", "median", "max", "later", "median", "max", "mean", "deviation"];
        let _ = writeln!(text, "\n{}", table(&header, 1..9, rows));
    }
}

/// The three ends side by side: medians over the inputs that have all of them.
fn ends(text: &mut String, report: &InteractReport<'_>) {
    if !report.summary.followed {
        return;
    }
    let median = |end: &dyn Fn(&Interaction) -> Option<u64>| {
        let mut all = Distribution::new();
        report
            .typed()
            .filter_map(|input| Some(end(input)?.saturating_sub(input.begin_ns)))
            .for_each(|ns| all.record(ns));
        vec![all.count().to_string(), microseconds(all.quantile(0.5)), microseconds(beyond(&all, 10, 0.9))]
    };
    let rows = [
        ("taken by the program", median(&|input| input.got_ns)),
        ("blocked: asks for more, nothing queued", median(&|input| input.blocked_ns)),
        ("busy: its CPUs fall idle", median(&|input| input.busy_ns)),
        ("seen: the last output it caused", median(&|input| input.seen_ns)),
        ("reached the user", median(&|input| input.arrived_ns)),
    ];
    // In somebody else's own use, nobody reports what reached them.
    let rows = rows
        .into_iter()
        .filter(|(_, cells)| cells[0] != "0")
        .map(|(name, cells)| [name.to_owned()].into_iter().chain(cells).collect());
    let _ = writeln!(text, "\n{}", table(&["us from input to", "inputs", "p50", "p90"], 1..4, rows));
}

fn waiting(text: &mut String, report: &InteractReport<'_>) {
    let (waited, lasted) = (report.waited_ns(), report.lasted_ns());
    let _ = writeln!(
        text,
        "\nwaiting: {} of {} ({})",
        format_ns(waited),
        format_ns(lasted),
        as_fine_percent(waited, lasted)
    );
    if let Some(own) = report.own_work_ns().filter(|_| waited > 0) {
        let without = format_ns(waited.saturating_sub(own));
        let _ = writeln!(
            text,
            "  punctual's own work: {} of that ({}); without it {without}",
            format_ns(own),
            as_fine_percent(own, waited)
        );
    }
    if let Some((waited_1996, compared)) = report.waited_1996_ns() {
        let _ = writeln!(
            text,
            "  of {} until inputs were seen, the machine of 1996 (CPU, queue, synchronous I/O) calls {} waiting, {} thinking",
            format_ns(compared),
            format_ns(waited_1996),
            format_ns(compared.saturating_sub(waited_1996))
        );
    }
    if let Some(words) = agreement_in_words(report) {
        let _ = writeln!(text, "  {words}");
    }
    histogram(text, report);
}

fn causes(text: &mut String, report: &InteractReport<'_>) {
    let all: u64 = report.causes.iter().map(|cause| cause.ns).sum();
    if all == 0 {
        return;
    }
    let rows = report.causes.iter().take(SHOWN).map(|cause| {
        vec![
            fitting(&cause.on.words(), 60),
            as_fine_percent(cause.ns, all),
            milliseconds(Some(cause.ns)),
            cause.inputs.to_string(),
        ]
    });
    let _ = writeln!(text, "\n{}", table(&["what was waited for", "share", "ms", "inputs"], 1..4, rows));
    let unknown: u64 = report.causes.iter().map(|cause| cause.unknown_ns).sum();
    let _ = writeln!(text, "unexplained: {} ({})", format_ns(unknown), as_fine_percent(unknown, all));
    let seen = report.causes.iter().filter_map(|cause| Some((cause, report.code.of_cause(&cause.on)?)));
    for (cause, tree) in seen.take(CODE) {
        let _ = writeln!(text, "code of {}, {}", fitting(&cause.on.words(), 40), hottest(tree));
    }
}

fn longest(text: &mut String, report: &InteractReport<'_>) {
    for (head, shown) in [("start", report.start.as_slice()), ("longest", &report.longest)] {
        if shown.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{head}");
        let rows = shown.iter().take(SHOWN).flat_map(|(at, parts)| split_rows(report, &report.inputs[*at], parts));
        indented(text, &[], 2..3, rows.collect::<Vec<_>>());
    }
}

/// An input and its largest parts.
fn split_rows(report: &InteractReport<'_>, input: &Interaction, parts: &[Part]) -> Vec<Vec<String>> {
    let told = |part: &Part| {
        let detail = if part.detail.is_empty() { String::new() } else { format!(" [{}]", fitting(&part.detail, 60)) };
        format!("{} {}{detail}", format_ns(part.ns), fitting(&part.on.words(), 48))
    };
    let below = |place: usize, part: &Part| match place {
        0 => lines(&report.code, input.number, part),
        _ => Vec::new(),
    };
    let with_code = parts.iter().take(PARTS).enumerate();
    let mut told = with_code.flat_map(|(place, part)| [told(part)].into_iter().chain(below(place, part)));
    let first = vec![
        format!("{:.3} s", report.since_start(input.begin_ns) as f64 / 1e9),
        format!("{} {}", input.kind, fitting(&input.label, 20)),
        format!("{} ms", milliseconds(input.latency_ns())),
        told.next().unwrap_or_default(),
    ];
    let others = told.map(|part| vec![String::new(), String::new(), String::new(), part]);
    [first].into_iter().chain(others).collect()
}

fn responsiveness(text: &mut String, report: &InteractReport<'_>) {
    let rows: Vec<Vec<String>> = report
        .kinds
        .iter()
        .filter(|kind| kind.latencies.count() > 0)
        .map(|kind| {
            vec![
                kind.kind.clone(),
                format_ns(kind.patience_ns),
                format_ns(kind.over_ns),
                format!("{:.1}", kind.over_squared_ms),
            ]
        })
        .collect();
    let header = ["responsiveness", "patience T", "sum of max(0, latency - T)", "of its squares, ms2"];
    let _ = writeln!(text, "\n{}", table(&header, 1..4, rows));
    let curve: Vec<String> = report
        .curve()
        .iter()
        .filter(|(_, over, _)| *over > 0)
        .map(|(threshold, over, squares)| format!("{}: {} ({squares:.1})", format_ns(*threshold), format_ns(*over)))
        .collect();
    if !curve.is_empty() {
        let _ = writeln!(text, "over other T (squares, ms2): {}", curve.join(", "));
    }
}

fn limits(text: &mut String, report: &InteractReport<'_>) {
    for (kind, limit) in &report.limits {
        let found = limit.found_ns.map_or_else(|| "nothing to judge".to_owned(), format_ns);
        let judged = match limit.found_ns {
            None => "NOT JUDGED",
            Some(_) if report.draws_by_itself() => "not known: it draws by itself",
            Some(_) if limit.exceeded => "EXCEEDED",
            Some(_) if report.began_before() > 0 => "kept by those whose beginning is known",
            Some(_) if report.unfinished() > 0 => "kept by those that were over",
            Some(_) if report.perhaps_over(kind, limit) => "kept by what is known to be an answer",
            Some(_) => "kept",
        };
        let _ = writeln!(text, "limit {kind}:{} {}: {found}, {judged}", limit.what, format_ns(limit.limit_ns));
    }
}

fn cost(text: &mut String, report: &InteractReport<'_>) {
    let summary = report.summary;
    let program = summary.program_cpu_ns.map_or_else(String::new, |ns| format!("; the program {}", format_ns(ns)));
    let doing = if report.is_own_use() { "watching" } else { "typing" };
    let _ = write!(
        text,
        "\nCPU time: {doing} {}, punctual in all {}{program}",
        format_ns(summary.driver_cpu_ns),
        format_ns(summary.process_cpu_ns)
    );
    if let (Some(ns), Some(runs)) = (summary.programs_ran_ns, summary.programs_runs) {
        let each = ns.checked_div(runs).unwrap_or(0);
        let _ = write!(
            text,
            "; the kernel's programs at the terminal {} in {} of {each} ns",
            format_ns(ns),
            counted(runs, "run")
        );
    }
    text.push('\n');
    if let Some(words) = about_in_words(summary.code.as_ref()) {
        let _ = writeln!(text, "code: {words}");
    }
}
