//! What tests of several files use.

use super::EpisodeView;
use punctual_blame::{Kind, Part, Room, Split, Who};
use punctual_recording::Episode;

/// An episode of 100 ms, kept because it was longer than 60 ms, with parts in ms.
pub(super) fn of_parts(parts: &[(Kind, &str, u64)]) -> EpisodeView {
    let line = r#"{"id":1,"victim":{"tid":7,"name":"late","priority":19,"cpu":0},"expected_ns":1000,
        "total_ns":100000000,"stage":"request","threshold_ns":60000000,"void":null}"#;
    let episode: Episode = serde_json::from_str(line).unwrap();
    let mut view = EpisodeView::new(&episode, &mut Room::of(1 << 20));
    let part = |&(kind, who, ms): &(Kind, &str, u64)| part(kind, who.into(), ms * 1_000_000);
    view.split = Split { parts: parts.iter().map(part).collect(), pieces: Vec::new() };
    view
}

/// So much time, ns, attributed to somebody, of whom nothing else is known.
pub(super) fn part(kind: Kind, who: Who, ns: u64) -> Part {
    Part {
        kind,
        who,
        thread: None,
        has_namesakes: false,
        ns,
        detail: None,
        unknown_ns: 0,
        inside: Vec::new(),
        call: None,
        has_ended: false,
        cgroup: None,
        turn: None,
        priorities: None,
    }
}
