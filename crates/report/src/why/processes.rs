//! Late wakeups by the processes of their threads: what one of them waits for need not matter to another.

use super::model::WhyReport;
use crate::layout::{as_percent, counted, grouped, microseconds, table};
use punctual_blame::{Kind, Who};
use serde::Serialize;
use std::collections::BTreeMap;

/// The most processes that the whole text and the page show.
pub(super) const SHOWN: usize = 8;

/// A process with late threads.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ProcessRow<'a> {
    number: u32,
    name: &'a str,
    /// Late wakeups of its threads of which the evidence is whole.
    episodes: u64,
    /// Without the time in which no request was waiting.
    late_ns: u64,
    share: f64,
    /// The largest cause of that.
    most: String,
    most_ns: u64,
}

/// The processes, those that were late for longest first; none where it is one only, or not known.
pub(super) fn rows<'a>(report: &'a WhyReport<'_>) -> Vec<ProcessRow<'a>> {
    #[derive(Default)]
    struct Sum<'a> {
        episodes: u64,
        late_ns: u64,
        causes: BTreeMap<(Kind, &'a Who), u64>,
    }
    let mut sums: BTreeMap<(u32, &str), Sum<'_>> = BTreeMap::new();
    for episode in report.episodes.iter().filter(|episode| episode.void.is_none()) {
        let Some((number, name)) = &episode.process else { continue };
        let sum = sums.entry((*number, name.as_str())).or_default();
        sum.episodes += 1;
        sum.late_ns = sum.late_ns.saturating_add(episode.total_ns.saturating_sub(episode.idle_ns()));
        for part in episode.split.parts.iter().filter(|part| part.kind != Kind::Idle) {
            *sum.causes.entry((part.kind, &part.who)).or_default() += part.ns;
        }
    }
    if sums.len() < 2 {
        return Vec::new();
    }
    let row = |((number, name), sum): ((u32, &'a str), Sum<'a>)| {
        let ((kind, who), most_ns) = sum.causes.iter().max_by_key(|(_, ns)| **ns)?;
        Some(ProcessRow {
            number,
            name,
            episodes: sum.episodes,
            late_ns: sum.late_ns,
            share: sum.late_ns as f64 / report.late_ns().max(1) as f64,
            most: kind.cause(who),
            most_ns: *most_ns,
        })
    };
    let mut rows: Vec<ProcessRow<'_>> = sums.into_iter().filter_map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.late_ns));
    rows
}

/// The titles of columns.
pub(super) const TITLES: [&str; 5] = ["process", "late", "total us", "share", "main cause"];

/// The cells of so many rows at most, in words, and of one that says how many more there are.
pub(super) fn cells(report: &WhyReport<'_>, most: usize) -> Vec<[String; 5]> {
    let rows = rows(report);
    let words = |row: &ProcessRow<'_>| {
        [
            format!("{} ({})", row.name, row.number),
            grouped(row.episodes),
            microseconds(Some(row.late_ns)),
            as_percent(row.late_ns, report.late_ns()),
            format!("{} {}", as_percent(row.most_ns, row.late_ns), row.most),
        ]
    };
    let mut cells: Vec<[String; 5]> = rows.iter().take(most).map(words).collect();
    if let Some(others) = rows.get(most..).filter(|others| !others.is_empty()) {
        let late_ns = others.iter().map(|row| row.late_ns).sum();
        cells.push([
            counted(others.len(), "other"),
            grouped(others.iter().map(|row| row.episodes).sum()),
            microseconds(Some(late_ns)),
            as_percent(late_ns, report.late_ns()),
            String::new(),
        ]);
    }
    cells
}

/// The same as text; empty if there is nothing to distinguish.
pub(super) fn text(report: &WhyReport<'_>, most: usize) -> String {
    let cells = cells(report, most);
    if cells.is_empty() { String::new() } else { table(&TITLES, 1..4, cells.into_iter().map(Vec::from)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::trace::tests::episode;
    use crate::why::{EpisodeView, WhyReport};
    use punctual_blame::Room;
    use punctual_recording::episode::Process;
    use std::path::Path;

    #[test]
    fn late_wakeups_are_told_by_process_where_they_are_of_several() {
        let told = |processes: &[(u32, &str)]| {
            let view = |(id, (number, name)): (usize, &(u32, &str))| {
                let mut late = episode(id as u64 + 1, id as u64 * 2_000_000);
                let process = Process { number: *number, name: (*name).to_owned(), threads: vec![9] };
                late.processes.push(process);
                EpisodeView::new(&late, &mut Room::of(1 << 20))
            };
            let views = processes.iter().enumerate().map(view).collect();
            text(&WhyReport::new(Path::new("x"), 0, None, views, false, None, &[]), SHOWN)
        };
        assert_eq!(told(&[(9, "engine"), (9, "engine")]), "");
        let several = told(&[(9, "engine"), (20, ""), (9, "engine")]);
        let lines: Vec<&str> = several.lines().collect();
        let [_, first, second] = &lines[..] else { panic!("{several}") };
        // A process without a known name has that of its thread.
        assert!(first.starts_with("engine (9)") && first.contains("66.7 %"), "{several}");
        assert!(second.starts_with("victim (20)") && second.contains("33.3 %"), "{several}");
        assert!(["other", "switch"].iter().any(|who| first.contains(who)), "{several}");
    }
}
