//! Who made wakeups late: the answer of `punctual why` as text.

use super::model::{ALWAYS_SHOWN, EpisodeView, WhyReport};
use super::processes;
use super::words::{as_detail, beside, is_name, number_in, numbered, percent, with_group};
use crate::layout::{agreeing, counted, day, grouped, microseconds, table, time_of_day};
use crate::next_text;
use punctual_blame::Kind;
use punctual_recording::{RecorderSummary, Stage, format_ns, printable_path};
use std::fmt::Write;

/// How many episodes the text shows separately.
const SHOWN_EPISODES: usize = 5;

/// The report as text: the verdict, what is missing, causes, the worst episodes.
pub fn text(report: &WhyReport<'_>) -> String {
    let mut text = format!("{}\n", report.verdict());
    notes(&mut text, report);
    if !report.summary.causes.is_empty() {
        let _ = writeln!(text, "\n{}", cause_table(report));
    }
    let by_process = processes::text(report);
    if !by_process.is_empty() {
        let _ = writeln!(text, "\n{by_process}");
    }
    let mut worst: Vec<&EpisodeView> = report.episodes.iter().filter(|episode| episode.void.is_none()).collect();
    worst.sort_by_key(|episode| std::cmp::Reverse(episode.total_ns.saturating_sub(episode.idle_ns())));
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
    let begun = day(report.started_ns, report.to_unix_ns).map(|day| format!(", begun {day}")).unwrap_or_default();
    let _ = writeln!(text, "\nrecording: {}{begun}", printable_path(report.recording));
    text.push_str(&next_text(&super::answer::next(report)));
    text
}

/// What is missing, one line each.
pub(super) fn notes(text: &mut String, report: &WhyReport<'_>) {
    for note in &report.conditions {
        let _ = writeln!(text, "note: {note}");
    }
    for note in report.blind {
        let _ = writeln!(text, "note: not seen: {note}");
    }
    for note in report.left_out_for_room() {
        let _ = writeln!(text, "note: {note}");
    }
    let untold = report.episodes.iter().filter(|episode| !episode.nesting_known).count();
    if untold > 0 {
        let _ = writeln!(
            text,
            "note: in {} the kernel's count of nested interrupts was not read, or not rightly: interrupts and \
             softirqs are known by their beginnings and ends alone, and one whose end was missed seems to go on",
            counted(untold, "episode")
        );
    }
    let within = report.summary.unknown_ns.saturating_sub(report.total_of(Kind::Unknown));
    if within > 0 {
        let _ = writeln!(
            text,
            "note: another {} spent in {} counts as unknown: the {}, or what delayed it, was not seen",
            format_ns(within),
            if report.stage() == Stage::Request { "locks and waits" } else { "locks" },
            if report.stage() == Stage::Request { "holder, or whoever ended the wait" } else { "holder" }
        );
    }
    if let Some(only) = report.only.as_ref().filter(|only| only.others > 0) {
        let others = counted(only.others, "late wakeup");
        let _ = writeln!(
            text,
            "note: {others} of other threads {} left out, as --thread asks",
            agreeing(only.others, "is", "are")
        );
    }
    if let Some(recorder) = &report.recorder {
        notes_of_recorder(text, report, recorder);
    }
}

/// What the flight recorder did not keep, which of its evidence says nothing, and what it cost.
fn notes_of_recorder(text: &mut String, report: &WhyReport<'_>, recorder: &RecorderSummary) {
    if report.missing() > 0 {
        let _ = writeln!(
            text,
            "note: the recorder kept {}, and {} of them {} gone from the recording: what follows is of the rest",
            counted(recorder.kept, "episode"),
            report.missing(),
            agreeing(report.missing(), "is", "are")
        );
    }
    if recorder.over_budget > 0 {
        let _ = writeln!(
            text,
            "note: of {} {} left no evidence because the budget was used up: a higher --why threshold keeps \
             those that matter",
            counted(recorder.late, "late wakeup"),
            recorder.over_budget
        );
    }
    if recorder.writing_behind > 0 {
        let _ = writeln!(
            text,
            "note: of {} {} left no evidence because it could not be written, or not as fast as it came: \
             a higher --why threshold keeps those that matter",
            counted(recorder.late, "late wakeup"),
            recorder.writing_behind
        );
    }
    if recorder.unwritten_yet() > 0 {
        let _ = writeln!(
            text,
            "note: of {} {} had no evidence yet when this was counted, or had not been looked at",
            counted(recorder.late, "late wakeup"),
            recorder.unwritten_yet()
        );
    }
    if recorder.stage == Stage::Request && recorder.requests.is_none() {
        let _ = writeln!(text, "note: how many requests there were in all is not in this recording");
    }
    if let Some(times) = super::request_times::times_in_words(recorder) {
        let _ = writeln!(text, "note: all recognised requests, late or not: {times}");
    }
    if recorder.without_end > 0 {
        let _ = writeln!(
            text,
            "note: not in this: {} with more waits than can be followed, and none that is known to be for more work",
            counted(recorder.without_end, "request")
        );
    }
    if let Some(void) = super::void::in_words(report.episodes.iter().filter_map(|episode| episode.void.as_deref())) {
        let _ = writeln!(text, "note: {void}");
    }
    let _ = writeln!(text, "{}", crate::why::cost::recorder_lines(recorder, report.cut));
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
            if cause.kind == Kind::Idle { "-".to_owned() } else { percent(cause.total_ns, late_ns) },
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
        rows.push(row("", counted(others, "further cause"), percent(rest, late_ns), cells));
    }
    for kind in ALWAYS_SHOWN {
        if report.total_of(kind) == 0 {
            rows.push(row(
                kind.label(),
                "-".to_owned(),
                percent(0, late_ns),
                ["0".to_owned(), empty(), empty(), microseconds(Some(0)), empty()],
            ));
        }
    }
    table(&["kind", "name", "share", "episodes", "typical us", "longest us", "total us", "example"], 2..8, rows)
}

/// One episode as text; `whole` with every part, the chain and the whole call tree.
pub fn episode_text(report: &WhyReport<'_>, episode: &EpisodeView, whole: bool) -> String {
    let victim = &episode.victim;
    let mut text = format!(
        "Episode {}: {} (thread {}) on CPU {} {}, {}{:.6} s after the beginning",
        episode.id,
        victim.name,
        victim.tid,
        victim.cpu,
        match episode.stage {
            Stage::Response => format!("slept again {} us after it was due", grouped_us(episode.total_ns)),
            Stage::Request => format!("finished its request {} us after it was woken", grouped_us(episode.total_ns)),
            _ => format!("ran {} us late", grouped_us(episode.total_ns)),
        },
        time_of_day(episode.expected_ns, report.to_unix_ns).map(|time| format!("at {time}, ")).unwrap_or_default(),
        episode.expected_ns.saturating_sub(report.started_ns) as f64 / 1e9
    );
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
        let told = part.number().or_else(|| number_in(&part.who));
        let process = told.and_then(|tid| episode.processes.get(&tid).copied());
        let who = with_group(
            &numbered(&part.who, part.number(), process),
            part.cgroup.as_deref(),
            part.turn,
            episode.cgroup.as_deref() == part.cgroup.as_deref(),
        );
        let cells = [part.kind.label().to_owned(), who.to_string(), detail.unwrap_or_default()];
        let figures = [microseconds(Some(part.ns)), percent(part.ns, episode.total_ns)];
        rows.push(figures.into_iter().chain(cells).collect());
    }
    if rest > 0 {
        let cells = [microseconds(Some(rest)), percent(rest, episode.total_ns), String::new(), "all others".to_owned()];
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
