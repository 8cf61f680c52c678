//! Forecasts of loops that ended before their recording did, and of loops without a grid of periods.

use punctual_forecast::{Input, Loops, Question, Stage, answer, has_loops};
use punctual_recording::{
    CycleCount, Document, EndReason, Ended, FollowedThread, Provenance, Recording, Task, Wakeup, Writer,
};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
const LOOP: &str = "loop fifo:80";

/// A recording of 20 s in which a loop of 1 kHz was there for its first `seconds`.
fn recording(directory: &std::path::Path, seconds: u64) -> Recording {
    let task = Task { measure: LOOP.into(), tid: 7, cpu: None, period_ns: 0, counters: Default::default() };
    let mut writer =
        Writer::create(directory, Provenance { run_id: "1".into(), ..Provenance::default() }, vec![task]).unwrap();
    writer.followed_mut().period_ns = Some(MS);
    for cycle in 0..seconds * 1_000 {
        let work_ns = Some(100_000 + cycle % 997);
        writer.push(
            0,
            &Wakeup { tid: 7, expected_ns: (5_000 + cycle) * MS, total_ns: 50_000, work_ns, ..Wakeup::default() },
        );
    }
    writer.provenance_mut().started_ns = 5_000 * MS;
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 25_000 * MS }, Vec::new()).unwrap();
    Recording::open(directory).unwrap()
}

#[test]
fn a_loop_wakes_once_in_each_period_until_it_ends() {
    for (seconds, is_loop, said) in [
        (20, true, None),
        (8, true, Some("loop fifo:80 ended 12.0 s before the recording did: this is of the time until then")),
        // It did something at the beginning.
        (1, false, None),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut document = recording(&directory.path().join("a"), seconds).into_document();
        let found = |document: &Document| Input::of_loops(document, None, (&[], &[]), &[]);
        // As far as is known, it was there to the end.
        assert_eq!(found(&document).is_ok(), seconds == 20, "{seconds}");
        let ended_ns = Some((5_000 + seconds * 1_000) * MS);
        document.followed.as_mut().unwrap().threads =
            vec![FollowedThread { tid: 7, ended_ns, ..FollowedThread::default() }];
        assert_eq!(has_loops(&document, |_| true), is_loop, "{seconds}");
        let Ok(Some(Loops { inputs, .. })) = found(&document) else {
            assert!(!is_loop, "{seconds}");
            continue;
        };
        assert_eq!((inputs.len(), inputs[0].exposure_ns), (1, seconds * 1_000 * MS), "{seconds}");
        let cautions: Vec<&str> = inputs[0].cautions.iter().map(String::as_str).collect();
        assert_eq!(cautions, said.into_iter().collect::<Vec<&str>>(), "{seconds}");
    }
}

#[test]
fn stretches_that_may_be_several_cycles_are_not_presented_as_cycles() {
    let directory = tempfile::tempdir().unwrap();
    let recording = recording(&directory.path().join("a"), 20);
    let (tail, seconds) = recording.tail_and_seconds().unwrap();
    let verdict = |count: CycleCount| {
        let count = CycleCount { cycles: 20_000, overruns: 30, certain: 30, ..count };
        let loops = Input::of_loops(recording.document(), None, (&tail, &seconds), &[]).unwrap().unwrap();
        let cycles = BTreeMap::from([(LOOP.to_owned(), count)]);
        let Loops { inputs, profile, .. } = loops.held_against(recording.document(), &cycles).unwrap();
        let question = Question {
            stages: vec![Stage::Response],
            device_stage: Stage::Response,
            devices: vec![profile],
            ..Question::default()
        };
        answer(&inputs, &question).unwrap().verdict
    };
    let no_grid = CycleCount { longest_missed: 4, estimated_periods: 20_090, ..CycleCount::default() };
    let words = "No grid of timers shows the periods of loop fifo:80: each stretch without a wait counts as one overrun here, and if it makes \
                 up for the periods that it missed, each of these was one too";
    for (count, said) in [
        (CycleCount { estimated_not_woken: 90, ..no_grid }, Some(" (about 90).")),
        (CycleCount { estimated_not_woken: 90, made_up: 9, ..no_grid }, Some(" (about 90).")),
        (no_grid, Some(".")),
        // It does not make up for any, missed none, or has a grid that shows which.
        (CycleCount { skipped: 9, ..no_grid }, None),
        (CycleCount { longest_missed: 0, ..no_grid }, None),
        (CycleCount { on_grid: 20_000, periods: 20_000, ..no_grid }, None),
    ] {
        let found = verdict(count);
        let expected = said.map(|end| format!("{words}{end}"));
        let is_said = expected.as_ref().map_or(!found.contains("No grid"), |expected| found.contains(expected));
        assert!(is_said, "{expected:?}: {found}");
    }
}

#[test]
fn a_forecast_says_what_is_no_part_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let recording = recording(&directory.path().join("a"), 20);
    let (tail, seconds) = recording.tail_and_seconds().unwrap();
    let cautions = |without_sleep| {
        let loops = Input::of_loops(recording.document(), None, (&tail, &seconds), &[]).unwrap().unwrap();
        let count = CycleCount { cycles: 20_000, without_sleep, ..CycleCount::default() };
        let held = loops.held_against(recording.document(), &BTreeMap::from([(LOOP.to_owned(), count)])).unwrap();
        held.inputs[0].cautions.clone()
    };
    assert_eq!(cautions(0), Vec::<String>::new());
    let words =
        "480 threads that loop fifo:80 may have started ended without ever sleeping: what they did is no part of this";
    assert_eq!(cautions(480), [words]);
}
