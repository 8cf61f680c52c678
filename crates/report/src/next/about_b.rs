//! What is said of side B after a comparison, besides the command.

use crate::layout::counted;
use punctual_comparison::{CountComparison, Counted, Difference, EventCount};
use punctual_recording::{format_ns, printable, range_in_words};

/// What somebody set and can undo, by area and the beginning of its name: the first that differs is named.
const UNDOABLE: [(&str, &str); 5] = [
    ("configuration", "scheduling of "),
    ("configuration", "policy"),
    ("configuration", "priorities"),
    ("tuning", ""),
    ("program", "options"),
];

/// What B has left of what it has fewer of, to follow a purpose.
pub(super) fn left_in_words(row: &CountComparison) -> String {
    let EventCount { events, least, may_be_more, exposure, may_be_more_exposure, .. } = row.b;
    let often = range_in_words(least, events, may_be_more);
    match &row.what {
        Counted::Cycles { period_ns, .. } => {
            let (cycles, period) = (counted(exposure, "cycle"), format_ns(*period_ns));
            let at_least = if may_be_more_exposure { "at least " } else { "" };
            format!(": {often} of {at_least}{cycles} took longer than {period}")
        }
        Counted::Periods { period_ns, .. } => {
            let (periods, period) = (counted(exposure, "period"), format_ns(*period_ns));
            format!(": overruns in {often} of {periods} of {period}")
        }
        Counted::Requests { threshold_ns } => {
            let most = if least < events { "at most " } else { "" };
            format!(": {most}{} took longer than {}", counted(events, "request"), format_ns(*threshold_ns))
        }
        Counted::Underruns { .. } => format!(": {}", counted(events, "underrun")),
    }
}

/// What may have made B worse and can be undone, to follow a purpose; empty if nothing that somebody set is known to differ.
pub(super) fn to_undo(differences: &[Difference]) -> String {
    let found = UNDOABLE.iter().find_map(|(area, what)| {
        differences.iter().find(|difference| difference.area == *area && difference.what.starts_with(*what))
    });
    let Some(Difference { what, a, b, .. }) = found else { return String::new() };
    let [a, b] = [a, b].map(|value| value.as_deref().map_or_else(|| "none".to_owned(), printable));
    format!("; it may be enough to undo what differs: {} ({b} on B, {a} on A)", printable(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_otherwise_is_named_to_be_undone() {
        let difference = |area, what: &str, a: Option<&str>, b: Option<&str>| Difference {
            area,
            what: what.to_owned(),
            a: a.map(str::to_owned),
            b: b.map(str::to_owned),
        };
        let scheduling = difference("configuration", "scheduling of robot-loop", Some("fifo:80"), Some("deadline"));
        let option = difference("program", "options", None, Some("--why 1ms"));
        let host = difference("host", "kernel", Some("6.1"), Some("6.12"));
        assert_eq!(
            to_undo(&[host.clone(), option.clone(), scheduling]),
            "; it may be enough to undo what differs: scheduling of robot-loop (deadline on B, fifo:80 on A)"
        );
        assert_eq!(to_undo(&[option]), "; it may be enough to undo what differs: options (--why 1ms on B, none on A)");
        assert_eq!(to_undo(&[host]), "");
    }
}
