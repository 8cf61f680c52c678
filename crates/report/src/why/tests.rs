//! What tests of several files use.

use super::{EpisodeView, WhyAnswer, WhyReport};
use punctual_blame::{Kind, Part, Room, Split, Who};
use punctual_recording::Episode;
use std::path::Path;

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

#[test]
fn a_part_has_the_number_of_its_thread_where_others_have_the_name() {
    let mut episode = of_parts(&[(Kind::Lock, "worker", 60), (Kind::Own, "late", 40)]);
    episode.split.parts[0].thread = Some(4_711);
    episode.split.parts[0].has_namesakes = true;
    episode.split.parts[1].thread = Some(7);
    let report = WhyReport::new(Path::new("x"), 0, None, vec![episode], false, None, &[]);
    let answer = serde_json::to_value(WhyAnswer::new(&report, None)).unwrap();
    let threads = |rows: &serde_json::Value| [0_usize, 1].map(|row| rows[row]["thread"].as_u64());
    assert_eq!(threads(&answer["episodes"][0]["parts"]), [Some(4_711), None], "{answer}");
    assert_eq!(threads(&answer["causes"]), [Some(4_711), None], "{answer}");
}
