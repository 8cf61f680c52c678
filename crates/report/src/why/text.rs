//! Who made wakeups late: everything that `punctual why --all` says, and an episode in full.

use super::cost::recorder_lines;
use super::model::{ALWAYS_SHOWN, EpisodeView, WhyReport};
use super::notes::Notes;
use super::words::{as_detail, beside, is_name, number_in, numbered, with_group};
use super::{processes, steps};
use crate::layout::{agreeing, as_percent, counted, day, grouped, microseconds, table, time_of_day};
use crate::{NextStep, next_text};
use punctual_blame::{Kind, Part, Who};
use punctual_recording::{Stage, printable_path};
use std::fmt::Write;

/// How many episodes are shown separately.
const SHOWN_EPISODES: usize = 5;

/// The whole report as text: the verdict, what is missing, what the recording cost, causes, the worst episodes.
pub fn whole_text(report: &WhyReport<'_>) -> String {
    let mut text = format!("{}\n", report.verdict());
    for note in Notes::of(report).all() {
        let _ = writeln!(text, "note: {note}");
    }
    if let Some(recorder) = &report.recorder {
        let _ = writeln!(text, "{}", recorder_lines(recorder, report.cut));
    }
    if !report.summary.causes.is_empty() {
        let _ = writeln!(text, "\n{}", cause_table(report));
    }
    let by_process = processes::text(report, processes::SHOWN);
    if !by_process.is_empty() {
        let _ = writeln!(text, "\n{by_process}");
    }
    let worst = longest_first(report);
    for episode in worst.iter().take(SHOWN_EPISODES) {
        let _ = writeln!(text, "\n{}", episode_text(report, episode, false));
    }
    if worst.len() > SHOWN_EPISODES {
        let _ = writeln!(
            text,
            "\n{}: --episode N shows one in full",
            counted(worst.len() - SHOWN_EPISODES, "more episode")
        );
    }
    text.push_str(&ending(report, &steps::next(report)));
    text
}

/// The verdict, one episode in full, and what would change its largest parts.
pub fn one_episode(report: &WhyReport<'_>, episode: &EpisodeView) -> String {
    let steps = steps::of_episode(report, episode);
    format!("{}\n\n{}\n{}", report.verdict(), episode_text(report, episode, true), ending(report, &steps))
}

/// The episodes that are whole, those first that were longest without the time in which no request was waiting.
pub(super) fn longest_first<'report>(report: &'report WhyReport<'_>) -> Vec<&'report EpisodeView> {
    let mut worst: Vec<&EpisodeView> = report.episodes.iter().filter(|episode| episode.void.is_none()).collect();
    worst.sort_by_key(|episode| std::cmp::Reverse(episode.total_ns.saturating_sub(episode.idle_ns())));
    worst
}

/// Which recording it is, and what to do next.
pub(super) fn ending(report: &WhyReport<'_>, steps: &[NextStep]) -> String {
    let begun = day(report.started_ns, report.to_unix_ns).map(|day| format!(", begun {day}")).unwrap_or_default();
    format!("\nrecording: {}{begun}\n{}", printable_path(report.recording), next_text(steps))
}

fn cause_table(report: &WhyReport<'_>) -> String {
    let late_ns = report.late_ns();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let row = |kind: &str, name: String, share: String, cells: [String; 5]| {
        let mut row = vec![kind.to_owned(), name, share];
        row.extend(cells);
        row
    };
    for cause in report.shown_causes() {
        let who = report.who(&report.named(cause), cause.cgroup.as_deref(), cause.turn);
        let name = format!("{who}{}", beside(cause));
        rows.push(row(
            cause.kind.label(),
            name,
            // What is no part of a late request has no share of it.
            if cause.kind == Kind::Idle { "-".to_owned() } else { as_percent(cause.total_ns, late_ns) },
            [
                cause.episodes.to_string(),
                microseconds(Some(cause.typical_ns)),
                microseconds(Some(cause.max_ns)),
                microseconds(Some(cause.total_ns)),
                cause.example.to_string(),
            ],
        ));
    }
    let (others, rest) = report.rest();
    let empty = || "-".to_owned();
    if others > 0 {
        let cells = [empty(), empty(), empty(), microseconds(Some(rest)), empty()];
        rows.push(row("", counted(others, "further cause"), as_percent(rest, late_ns), cells));
    }
    for kind in ALWAYS_SHOWN {
        if report.total_of(kind) == 0 {
            rows.push(row(
                kind.label(),
                "-".to_owned(),
                as_percent(0, late_ns),
                ["0".to_owned(), empty(), empty(), microseconds(Some(0)), empty()],
            ));
        }
    }
    table(&["kind", "name", "share", "episodes", "typical us", "longest us", "total us", "example"], 2..8, rows)
}

/// One episode as text; `whole` with every part, the chain and the whole call tree.
pub(super) fn episode_text(report: &WhyReport<'_>, episode: &EpisodeView, whole: bool) -> String {
    let at = time_of_day(episode.expected_ns, report.to_unix_ns).map(|time| format!("at {time}, ")).unwrap_or_default();
    let mut text =
        format!("Episode {}: {}, {at}{}", episode.id, what_happened(episode), since_beginning(report, episode));
    if let Some(reason) = &episode.void {
        let _ = write!(text, "\nvoid: {reason}; what follows is as far as the evidence goes");
    }
    let _ = write!(text, "\n{}", part_table(episode, whole));
    if whole && episode.stage == Stage::Request {
        text.push_str(&super::waits::text(episode));
        text.push_str(&super::sockets::text(episode));
    }
    if whole && !episode.chain.is_empty() {
        text.push_str(&chain_text(episode));
    }
    for stack in episode.late_stacks.iter().take(if whole { usize::MAX } else { 1 }) {
        let shown = if whole { stack.len() } else { stack.len().min(6) };
        let _ = write!(text, "\nbelow a late timer interrupt: {}", stack[..shown].join(" < "));
    }
    if episode.tree.count() > 0 {
        let _ = write!(text, "\n{}", super::tree::text(&episode.tree, if whole { usize::MAX } else { 12 }));
        let samples = episode.tree.count();
        let _ = write!(text, "{samples:>6} {} in episode", agreeing(samples, "sample", "samples"));
    }
    if whole {
        for (path, id) in &episode.builds {
            let _ = write!(text, "\nbuild {id} {path}");
        }
    }
    text
}

/// Who was late, where and how late: `engine (thread 7) on CPU 1 ran 73.8 us late`.
pub(super) fn what_happened(episode: &EpisodeView) -> String {
    let victim = &episode.victim;
    let late = grouped_us(episode.total_ns);
    let happened = match episode.stage {
        Stage::Response => format!("slept again {late} us after it was due"),
        Stage::Request => format!("finished its request {late} us after it was woken"),
        _ => format!("ran {late} us late"),
    };
    format!("{} (thread {}) on CPU {} {happened}", victim.name, victim.tid, victim.cpu)
}

/// When it was due: `0.170000 s after the beginning`.
pub(super) fn since_beginning(report: &WhyReport<'_>, episode: &EpisodeView) -> String {
    let after_ns = episode.expected_ns.saturating_sub(report.started_ns);
    format!("{:.6} s after the beginning", after_ns as f64 / 1e9)
}

/// Whose a part of an episode is, with the numbers of its thread and process and its control group where these say more.
pub(super) fn whose(episode: &EpisodeView, part: &Part) -> Who {
    let told = part.number().or_else(|| number_in(&part.who));
    let process = told.and_then(|tid| episode.processes.get(&tid).copied());
    with_group(
        &numbered(&part.who, part.number(), process),
        part.cgroup.as_deref(),
        part.turn,
        episode.cgroup.as_deref() == part.cgroup.as_deref(),
    )
}

/// Microseconds to the tenth, with the thousands set apart.
fn grouped_us(ns: u64) -> String {
    let tenths = ns.saturating_add(50) / 100;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}

/// The parts of an episode; except in `whole`, those with little time are taken together.
fn part_table(episode: &EpisodeView, whole: bool) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut rest = 0;
    for part in &episode.split.parts {
        if !whole
            && part.ns.saturating_mul(100) < episode.total_ns
            && part.kind != Kind::Unknown
            && part.kind != Kind::Blind
        {
            rest += part.ns;
            continue;
        }
        let detail = part.detail.as_ref().filter(|detail| !is_name(detail, &part.who)).map(as_detail);
        let cells = [part.kind.label().to_owned(), whose(episode, part).to_string(), detail.unwrap_or_default()];
        let figures = [microseconds(Some(part.ns)), as_percent(part.ns, episode.total_ns)];
        rows.push(figures.into_iter().chain(cells).collect());
    }
    if rest > 0 {
        let cells =
            [microseconds(Some(rest)), as_percent(rest, episode.total_ns), String::new(), "all others".to_owned()];
        rows.push(cells.into_iter().chain([String::new()]).collect());
    }
    table(&["us", "share", "kind", "name", "code"], 0..2, rows)
}

/// Who woke the late thread, and who woke that one.
fn chain_text(episode: &EpisodeView) -> String {
    let mut text = "\nwoken by:".to_owned();
    for link in &episode.chain {
        let after = link.at_ns as i128 - i128::from(episode.expected_ns);
        let _ = write!(
            text,
            "\n  {} by {} {} on CPU {}, {:+.1} us from when it was due",
            link.woken,
            link.by,
            link.name,
            link.cpu,
            after as f64 / 1e3
        );
    }
    text
}
