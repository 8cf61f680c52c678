//! What tests of several files use.

use super::{EpisodeView, WhyAnswer, WhyReport};
use punctual_blame::{Cause, Kind, Part, Piece, Room, Split, Who};
use punctual_recording::Episode;
use punctual_recording::episode::Process;
use std::path::Path;

/// An episode of 100 ms, kept because it was longer than 60 ms, with parts in ms.
pub(crate) fn of_parts(parts: &[(Kind, &str, u64)]) -> EpisodeView {
    let line = r#"{"id":1,"victim":{"tid":7,"name":"late","priority":19,"cpu":0},"expected_ns":1000,
        "total_ns":100000000,"stage":"request","threshold_ns":60000000,"void":null}"#;
    let episode: Episode = serde_json::from_str(line).unwrap();
    let mut view = EpisodeView::new(&episode, &mut Room::of(1 << 20));
    let part = |&(kind, who, ms): &(Kind, &str, u64)| part(kind, who.into(), ms * 1_000_000);
    view.split = Split { parts: parts.iter().map(part).collect(), pieces: Vec::new() };
    view
}

/// The same, with these parts as pieces, one after the other.
pub(crate) fn of_pieces(pieces: &[(Kind, &str, u64)]) -> EpisodeView {
    let mut view = of_parts(pieces);
    let mut start_ns = view.expected_ns;
    for &(kind, who, ms) in pieces {
        let ns = ms * 1_000_000;
        view.split.pieces.push(Piece {
            start_ns,
            ns,
            cpu: 0,
            kind,
            who: who.into(),
            thread: None,
            detail: None,
            inside: None,
            path: Vec::new(),
            call: None,
            has_ended: false,
            cgroup: None,
            turn: None,
            priorities: None,
        });
        start_ns += ns;
    }
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

/// A cause in one episode, of which nothing else is known.
pub(super) fn cause(kind: Kind, who: impl Into<Who>) -> Cause {
    Cause {
        kind,
        who: who.into(),
        thread: None,
        detail: None,
        detail_ns: None,
        cgroup: None,
        turn: None,
        priorities: None,
        episodes: 1,
        in_episodes: vec![1],
        ended: 0,
        max_ns: 1,
        typical_ns: 1,
        total_ns: 1,
        unknown_ns: 0,
        example: 1,
    }
}

#[test]
fn a_part_has_the_number_of_its_thread_where_others_have_the_name() {
    let mut episode = of_parts(&[(Kind::Lock, "worker", 60), (Kind::Own, "late", 40)]);
    episode.split.parts[0].thread = Some(4_711);
    episode.split.parts[0].has_namesakes = true;
    episode.split.parts[1].thread = Some(7);
    episode.processes.insert(4_711, 4_700);
    let report = WhyReport::new(Path::new("x"), 0, None, vec![episode], false, None, &[]);
    assert!(
        report.verdict().contains("lock held by worker (thread 4711 of process 4700), in 1 "),
        "{}",
        report.verdict()
    );
    let of_one = super::text::episode_text(&report, &report.episodes[0], true);
    assert!(of_one.contains(" worker (thread 4711 of process 4700)"), "{of_one}");
    let answer = serde_json::to_value(WhyAnswer::new(&report, None)).unwrap();
    let threads = |rows: &serde_json::Value| [0_usize, 1].map(|row| rows[row]["thread"].as_u64());
    assert_eq!(threads(&answer["episodes"][0]["parts"]), [Some(4_711), None], "{answer}");
    assert_eq!(threads(&answer["causes"]), [Some(4_711), None], "{answer}");
}

#[test]
fn a_name_that_has_the_number_of_its_thread_gets_the_process_too() {
    let told = |process: Option<u32>| {
        let mut episode = of_parts(&[(Kind::Wait, "late (thread 4711)", 60), (Kind::Own, "late", 40)]);
        episode.split.parts[0].thread = Some(4_711);
        episode.processes.extend(process.map(|process| (4_711, process)));
        WhyReport::new(Path::new("x"), 0, None, vec![episode], false, None, &[]).verdict()
    };
    assert!(told(None).contains("waiting for late (thread 4711), in 1 "), "{}", told(None));
    let known = told(Some(4_700));
    assert!(known.contains("waiting for late (thread 4711 of process 4700), in 1 "), "{known}");
}

#[test]
fn the_processes_are_those_of_the_threads_that_are_told_apart() {
    let line = r#"{"id":1,"victim":{"tid":7,"name":"late","priority":19,"cpu":0},"expected_ns":1000,"total_ns":500,
        "threshold_ns":100,"void":null}"#;
    let mut episode: Episode = serde_json::from_str(line).unwrap();
    let of = |number, threads: &[u32]| Process { number, name: "python3".to_owned(), threads: threads.to_vec() };
    episode.processes = vec![of(7, &[7, 8]), of(20, &[20, 21, 22])];
    let with = |who: &str, thread, has_namesakes| Part {
        thread: Some(thread),
        has_namesakes,
        ..part(Kind::Wait, who.into(), 100)
    };
    let parts = vec![with("python3 (thread 21)", 21, false), with("python3", 8, true), with("python3", 22, false)];
    let found = super::model::processes_of(&episode, &Split { parts, pieces: Vec::new() });
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(8, 7), (21, 20)]);
}
