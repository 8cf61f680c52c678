//! Who made wakeups late: the answer of `punctual why` as text that fits a terminal. `--all` shows the rest.

use super::model::{ALWAYS_SHOWN, EpisodeView, WhyReport};
use super::notes::Notes;
use super::text::{ending, longest_first, since_beginning, what_happened, whole_text, whose};
use super::words::beside;
use super::{processes, steps};
use crate::layout::{as_percent, counted, grouped, microseconds, table, time_of_day};
use punctual_blame::{Cause, Detail, Kind};
use std::fmt::Write;

/// Causes with a row of their own; all others share one.
const SHOWN_CAUSES: usize = 5;
/// Processes with a row of their own.
const SHOWN_PROCESSES: usize = 3;
/// Parts of the longest episode that are named; all others are one.
const SHOWN_PARTS: usize = 3;
/// Notes beside those that every reader has to know.
const SHOWN_NOTES: usize = 1;

/// The verdict, what is missing, the leading causes, the longest episode, what to do next. Where there is no cause to
/// tell, everything.
pub fn text(report: &WhyReport<'_>) -> String {
    let longest = longest_first(report);
    let Some(episode) = longest.first() else { return whole_text(report) };
    let mut text = format!("{}\n", report.verdict());
    let notes = Notes::of(report);
    let shown = notes.first.len() + SHOWN_NOTES;
    for note in notes.all().take(shown) {
        let _ = writeln!(text, "note: {note}");
    }
    let folded = notes.all().skip(shown).count();
    if folded > 0 {
        let _ = writeln!(text, "note: {} with --all", counted(folded, "more note"));
    }
    let _ = writeln!(text, "\n{}", cause_table(report));
    let by_process = processes::text(report, SHOWN_PROCESSES);
    if !by_process.is_empty() {
        let _ = writeln!(text, "\n{by_process}");
    }
    let _ = writeln!(text, "\n{}", of_longest(report, episode, longest.len()));
    text.push_str(&ending(report, &steps::next(report)));
    text
}

/// The leading causes, all others together, and what nothing explains or nothing could see: the shares add up to all.
fn cause_table(report: &WhyReport<'_>) -> String {
    let causes: Vec<&Cause> = report.causes().iter().filter(|cause| cause.kind != Kind::Idle).collect();
    // A single other one has the room of the row that would count it.
    let shown = if causes.len() == SHOWN_CAUSES + 1 { causes.len() } else { causes.len().min(SHOWN_CAUSES) };
    let (leading, rest) = causes.split_at(shown);
    let mut rows: Vec<Vec<String>> = leading.iter().map(|cause| row_of(report, cause)).collect();
    let others: Vec<&Cause> = rest.iter().copied().filter(|cause| !ALWAYS_SHOWN.contains(&cause.kind)).collect();
    rows.extend(sum_of(report, "", &others));
    for kind in ALWAYS_SHOWN {
        let unshown: Vec<&Cause> = rest.iter().copied().filter(|cause| cause.kind == kind).collect();
        rows.extend(sum_of(report, kind.label(), &unshown));
        if report.total_of(kind) == 0 {
            let nothing = ["-".to_owned(), as_percent(0, report.late_ns()), "0".to_owned(), "-".to_owned()];
            rows.push([kind.label().to_owned()].into_iter().chain(nothing).collect());
        }
    }
    let idle: Vec<&Cause> = report.causes().iter().filter(|cause| cause.kind == Kind::Idle).collect();
    rows.extend(sum_of(report, Kind::Idle.label(), &idle));
    table(&["kind", "name", "share", "episodes", "longest us"], 2..5, rows)
}

/// What it has of the late time; time in which no request was waiting is no part of that.
fn share(report: &WhyReport<'_>, kind: Kind, ns: u64) -> String {
    if kind == Kind::Idle { "-".to_owned() } else { as_percent(ns, report.late_ns()) }
}

fn row_of(report: &WhyReport<'_>, cause: &Cause) -> Vec<String> {
    let who = report.who(&report.named(cause), cause.cgroup.as_deref(), cause.turn);
    // What became of whoever was waited for is a sentence: `next:` has it.
    let is_sentence = cause.detail.as_ref().and_then(Detail::fate).is_some();
    let code = if is_sentence { String::new() } else { beside(cause) };
    vec![
        cause.kind.label().to_owned(),
        format!("{who}{code}"),
        share(report, cause.kind, cause.total_ns),
        grouped(cause.episodes),
        microseconds(Some(cause.max_ns)),
    ]
}

/// One row for all of these; none if there are none. A single one has its own.
fn sum_of(report: &WhyReport<'_>, kind: &str, causes: &[&Cause]) -> Option<Vec<String>> {
    let first = causes.first()?;
    if let ([only], false) = (causes, kind.is_empty()) {
        return Some(row_of(report, only));
    }
    let ns = causes.iter().fold(0, |sum: u64, cause| sum.saturating_add(cause.total_ns));
    Some(vec![
        kind.to_owned(),
        counted(causes.len(), "further cause"),
        share(report, first.kind, ns),
        "-".to_owned(),
        microseconds(causes.iter().map(|cause| cause.max_ns).max()),
    ])
}

/// The longest of so many episodes, in sentences: its largest parts, and what is unknown or could not be seen in it.
fn of_longest(report: &WhyReport<'_>, episode: &EpisodeView, count: usize) -> String {
    let id = episode.id;
    // A void one may be longer.
    let whole = if report.episodes.len() > count { " with complete evidence" } else { "" };
    let of_all = if count > 1 { format!(", the longest of {}{whole}", grouped(count as u64)) } else { String::new() };
    let when = match time_of_day(episode.expected_ns, report.to_unix_ns) {
        Some(time) => format!("at {time}"),
        None => since_beginning(report, episode),
    };
    let mut text = format!("Episode {id}{of_all}: {}, {when}.", what_happened(episode));
    let (mut told, mut rest_ns): (Vec<String>, u64) = (Vec::new(), 0);
    for (index, part) in episode.split.parts.iter().enumerate() {
        if index >= SHOWN_PARTS && !ALWAYS_SHOWN.contains(&part.kind) {
            rest_ns = rest_ns.saturating_add(part.ns);
            continue;
        }
        let was = if told.is_empty() { " was" } else { "" };
        told.push(format!("{}{was} {}", as_percent(part.ns, episode.total_ns), part.kind.cause(&whose(episode, part))));
    }
    if rest_ns > 0 {
        told.push(format!("{} others", as_percent(rest_ns, episode.total_ns)));
    }
    if !told.is_empty() {
        let _ = write!(text, " {}.", told.join(", "));
    }
    let _ = write!(text, " --episode {id} shows it in full; --all shows the rest.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::tests::of_parts;
    use punctual_recording::RecorderSummary;
    use std::path::Path;

    /// The default answer on one episode with these parts, in ms.
    fn told(parts: &[(Kind, &str, u64)]) -> String {
        let view = EpisodeView { nesting_known: true, ..of_parts(parts) };
        text(&WhyReport::new(Path::new("x"), 0, None, vec![view], false, None, &[]))
    }

    /// The shares of the table's rows, in tenths of a percent, by their kinds and names.
    fn shares(text: &str) -> Vec<(String, u64)> {
        let rows =
            text.lines().skip_while(|line| !line.starts_with("kind ")).skip(1).take_while(|line| !line.is_empty());
        let share = |row: &str| {
            let (before, _) = row.split_once(" %").expect("every row has a share");
            let (name, share) = before.rsplit_once(' ').expect("a name stands before it");
            let tenths = share.replace('.', "").parse().expect("a number");
            (name.split_whitespace().collect::<Vec<_>>().join(" "), tenths)
        };
        rows.map(share).collect()
    }

    const MANY: [(Kind, &str, u64); 8] = [
        (Kind::Irq, "a", 30),
        (Kind::Softirq, "b", 20),
        (Kind::Kernel, "c", 15),
        (Kind::Steal, "the host", 12),
        (Kind::IrqOff, "d", 9),
        (Kind::Lock, "e", 8),
        (Kind::Fault, "f", 5),
        (Kind::Unknown, "x", 1),
    ];

    #[test]
    fn five_causes_have_rows_and_the_others_one_and_all_add_up() {
        let text = told(&MANY);
        let shares = shares(&text);
        let names: Vec<&str> = shares.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "irq a",
            "softirq b",
            "kernel c",
            "steal the host",
            "irq_off d",
            "2 further causes",
            "unknown x",
            "blind -",
        ];
        assert_eq!(names, expected, "{text}");
        assert_eq!(shares[5].1, 130, "{text}");
        assert_eq!(shares.iter().map(|(_, tenths)| tenths).sum::<u64>(), 1_000, "{text}");
    }

    #[test]
    fn what_nothing_explains_is_never_among_the_others() {
        for kind in ALWAYS_SHOWN {
            let mut parts = MANY.to_vec();
            parts.pop();
            parts.extend([(kind, "x", 1), (kind, "y", 1)]);
            let text = told(&parts);
            let expected = (format!("{} 2 further causes", kind.label()), 20);
            // Of 101 ms, which is what the causes have in all.
            assert!(shares(&text).contains(&expected), "{text}");
            assert!(text.contains(&format!("1.0 % {}", kind.cause(&"y".into()))), "{text}");
        }
    }

    #[test]
    fn six_causes_need_no_row_that_counts_one() {
        let text = told(&MANY[..6]);
        assert!(text.contains("\nlock ") && !text.contains("further cause"), "{text}");
        // Time without a request has a row and no share.
        let text = told(&[(Kind::Idle, "no request was waiting", 60), (Kind::Own, "late", 40)]);
        let idle = text.lines().find(|line| line.starts_with("idle ")).expect(&text);
        assert!(idle.contains("no request was waiting") && !idle.contains('%'), "{text}");
    }

    #[test]
    fn the_verdict_comes_first_the_steps_last_and_notes_are_counted() {
        let blind = ["what the host takes".to_owned(), "who sends interrupts".to_owned()];
        let recorder = RecorderSummary { late: 3, kept: 1, over_budget: 2, ..RecorderSummary::default() };
        let view = EpisodeView { nesting_known: true, ..of_parts(&MANY) };
        let report = WhyReport::new(Path::new("x"), 0, Some(recorder), vec![view], false, None, &blind);
        let text = text(&report);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], report.verdict());
        let notes: Vec<&&str> = lines.iter().filter(|line| line.starts_with("note: ")).collect();
        let [budget, folded] = notes[..] else { panic!("{text}") };
        assert!(budget.contains("the budget was used up") && *folded == "note: 2 more notes with --all", "{text}");
        assert!(lines.last().is_some_and(|line| line.starts_with("next: ")), "{text}");
        assert!(!text.contains("its cost: ") && whole_text(&report).contains("its cost: "), "{text}");
        let longest = lines.iter().find(|line| line.starts_with("Episode 1: late (thread 7) on CPU 0 ")).expect(&text);
        assert!(
            longest.contains(
                ". 30.0 % was interrupt a, 20.0 % softirq b, 15.0 % kernel code of c, 1.0 % unknown: x, 34.0 % others."
            ),
            "{longest}"
        );
    }

    #[test]
    fn the_longest_of_those_that_are_not_void_is_called_so() {
        let told = |void: usize| {
            let mut episodes: Vec<EpisodeView> = (0..2).map(|_| of_parts(&MANY)).collect();
            episodes.extend((0..void).map(|_| EpisodeView { void: Some("overwritten".into()), ..of_parts(&[]) }));
            text(&WhyReport::new(Path::new("x"), 0, None, episodes, false, None, &[]))
        };
        assert!(told(0).contains("\nEpisode 1, the longest of 2: late"), "{}", told(0));
        assert!(told(1).contains("\nEpisode 1, the longest of 2 with complete evidence: late"), "{}", told(1));
    }

    #[test]
    fn where_no_cause_is_known_everything_is_said() {
        let void = || EpisodeView { void: Some("overwritten".into()), ..of_parts(&[]) };
        let recorder = RecorderSummary { late: 1, kept: 1, ..RecorderSummary::default() };
        let report = WhyReport::new(Path::new("x"), 0, Some(recorder), vec![void()], false, None, &[]);
        assert_eq!(text(&report), whole_text(&report));
        assert!(text(&report).contains("its cost: "));
    }
}
