//! Waits within a request: what those who were waited for did.

use super::model::EpisodeView;
use crate::layout::{microseconds, table};
use punctual_blame::{Inside, Kind, Who};
use punctual_recording::Call;

/// A wait, or what whoever was waited for did meanwhile.
pub(super) struct WaitRow<'a> {
    /// 0 for what the late thread waited for, and one more for each that was waited for in turn.
    pub(super) depth: usize,
    kind: Kind,
    who: &'a Who,
    /// How much of the episode it took, ns.
    pub(super) ns: u64,
    /// For the late thread's own waits: what it had called the kernel for.
    call: Option<Call>,
    /// For these: whether the wait ended as whoever was waited for did.
    has_ended: bool,
}

impl WaitRow<'_> {
    pub(super) fn words(&self) -> String {
        let mut words = match (self.depth, self.call) {
            (0, Some(call)) => format!("{} (in {})", self.kind.cause(self.who), call.name()),
            (0, None) => self.kind.cause(self.who),
            _ => step_words(self.kind, self.who),
        };
        if self.has_ended {
            words.push_str(", which ended");
        }
        words
    }
}

/// The waits within a request, each above what whoever was waited for did. Leaves out what is below a thousandth of the
/// whole.
pub(super) fn rows(episode: &EpisodeView) -> Vec<WaitRow<'_>> {
    fn add<'a>(inside: &'a [Inside], depth: usize, least: u64, rows: &mut Vec<WaitRow<'a>>) {
        for Inside { kind, who, ns, inside } in inside.iter().filter(|inside| inside.ns >= least) {
            rows.push(WaitRow { depth, kind: *kind, who, ns: *ns, call: None, has_ended: false });
            add(inside, depth + 1, least, rows);
        }
    }
    let least = (episode.total_ns / 1_000).max(1);
    let mut rows = Vec::new();
    for part in episode.split.parts.iter().filter(|part| !part.inside.is_empty() && part.ns >= least) {
        rows.push(WaitRow {
            depth: 0,
            kind: part.kind,
            who: &part.who,
            ns: part.ns,
            call: part.call,
            has_ended: part.has_ended,
        });
        add(&part.inside, 1, least, &mut rows);
    }
    rows
}

/// The same as text; empty if there was none.
pub(super) fn text(episode: &EpisodeView) -> String {
    let cells =
        |row: &WaitRow<'_>| vec![microseconds(Some(row.ns)), format!("{}{}", "  ".repeat(row.depth), row.words())];
    let rows: Vec<Vec<String>> = rows(episode).iter().map(cells).collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!("\n{}", table(&["us", "waits, and what delayed the thread waited for"], 0..1, rows)),
    }
}

/// What somebody who was waited for did.
pub(super) fn step_words(kind: Kind, who: &Who) -> String {
    match kind {
        Kind::Own => format!("{who} worked"),
        _ => kind.cause(who),
    }
}
