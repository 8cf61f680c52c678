//! Which causes became more or less frequent, and what keeps them from being compared.

use super::*;
use crate::blamed::CauseTimes;
use crate::counts::tests::document;
use std::collections::BTreeMap;

const RUN_NS: u64 = 5_000_000_000;

fn name(who: &str) -> CauseName {
    CauseName { kind: "same_priority", who: who.to_owned() }
}

/// A run with so many late wakeups of each cause, spread over it, each of which it made 1 ms late.
fn run(causes: &[(&str, u64)]) -> Run {
    let late: u64 = causes.iter().map(|(_, episodes)| *episodes).sum();
    let mut document = document();
    document.last_ns = RUN_NS;
    document.recorder = Some(RecorderSummary {
        threshold: "1.00 ms".to_owned(),
        threshold_ns: Some(1_000_000),
        late,
        kept: late,
        armed_ns: RUN_NS,
        ..RecorderSummary::default()
    });
    let times = |episodes: u64| CauseTimes {
        ended_ns: (0..episodes).map(|episode| episode * (RUN_NS / episodes)).collect(),
        total_ns: episodes * 1_000_000,
    };
    let by = causes.iter().map(|&(who, episodes)| (name(who), times(episodes))).collect();
    Run {
        document,
        stages: BTreeMap::new(),
        cycles: BTreeMap::new(),
        long_responses: BTreeMap::new(),
        slow_requests: None,
        maybe_slow: 0,
        causes: Some(RunCauses { late, whole: late, by }),
        devices: Vec::new(),
        served: Vec::new(),
    }
}

fn three(causes: &[(&str, u64)]) -> Vec<Run> {
    vec![run(causes); 3]
}

fn compared(a: &[Run], b: &[Run]) -> CausesComparison {
    let (found, notes) = causes(a, b, false, 0.95);
    assert!(notes.is_empty(), "{notes:?}");
    found.expect("their evidence is alike")
}

fn recorder(run: &mut Run) -> &mut RecorderSummary {
    run.document.recorder.as_mut().unwrap()
}

/// Who it was, and what became of it.
fn changes(found: &CausesComparison) -> Vec<(&str, Change)> {
    found.rows.iter().map(|row| (row.cause.who.as_str(), row.change)).collect()
}

#[test]
fn a_cause_that_is_gone_is_told_from_those_that_stay_and_those_that_are_rare() {
    let before = three(&[("indexer", 140), ("logger", 200), ("once", 1)]);
    let after = three(&[("logger", 200), ("once", 1)]);
    let found = compared(&before, &after);
    let stay = [("logger", Change::NotShown), ("once", Change::TooFew)];
    assert_eq!(changes(&found), [&[("indexer", Change::Less)][..], &stay].concat(), "{found:?}");
    let indexer = &found.rows[0];
    assert_eq!((indexer.a.episodes, indexer.a.total_ns, indexer.b), (420, 420_000_000, CauseCount::default()));
    assert_eq!((indexer.ratio.low, indexer.ratio.estimate), (None, Some(0.0)), "{found:?}");
    assert_eq!((found.a.watched_ns, found.a.late, found.a.whole), (3 * RUN_NS, 1_023, 1_023));
    // 420 in 15 s.
    assert!((found.a.an_hour(indexer.a.episodes) - 100_800.0).abs() < 1e-6);
    // The other way round.
    let found = compared(&after, &before);
    assert_eq!(changes(&found), [&[("indexer", Change::More)][..], &stay].concat(), "{found:?}");
    assert_eq!((found.rows[0].ratio.estimate, found.rows[0].ratio.high), (None, None), "{found:?}");
    // Seven are never a change, eight are looked at.
    for (episodes, change) in [(7, Change::TooFew), (8, Change::NotShown)] {
        let found = compared(&[run(&[("indexer", episodes)])], &[run(&[])]);
        assert_eq!(changes(&found), [("indexer", change)], "{found:?}");
    }
    assert_eq!(compared(&[run(&[])], &[run(&[])]).rows, []);
}

#[test]
fn what_was_late_without_evidence_may_have_had_any_cause() {
    let before = three(&[("indexer", 140), ("logger", 1_000)]);
    for (untold, change) in [(0, Change::Less), (100, Change::NotShown)] {
        let mut after = three(&[("logger", 1_000)]);
        for own in after.iter_mut().filter_map(|run| run.causes.as_mut()) {
            own.late += untold;
        }
        let found = compared(&before, &after);
        let row = found.rows.iter().find(|row| row.cause == name("indexer")).unwrap();
        assert_eq!((row.change, row.ratio.estimate, found.b.untold()), (change, Some(0.0), 3 * untold), "{found:?}");
    }
}

#[test]
fn evidence_that_was_not_kept_alike_is_not_compared() {
    let side = || three(&[("indexer", 10)]);
    assert_eq!(causes(&side(), &side(), false, 0.95).1, [""; 0]);
    let threshold = "causes were not compared, since not all recordings have the same stage and the same fixed threshold, such as \
                     `--why 1ms`: these have 1.00 ms ";
    type Change = fn(&mut Run);
    let cases: [(Change, String); 9] = [
        (|run| run.document.recorder = None, "B: causes were not compared: a recording was made without `--why`".into()),
        (|run| run.causes = None, "B: causes were not compared: a recording has no evidence that can be read".into()),
        (
            |run| (run.document.last_ns, recorder(run).armed_ns) = (0, 0),
            "B: causes were not compared: a recording does not say for how long it watched".into(),
        ),
        (
            |run| run.causes.as_mut().unwrap().late = 20,
            "B: causes were not compared: evidence is complete for only 30 of 40 late wakeups, and a comparison needs 90 % of them".into(),
        ),
        (
            |run| {
                recorder(run).threshold = "2.00 ms".to_owned();
                recorder(run).threshold_ns = Some(2_000_000);
            },
            format!("{threshold}(total), 2.00 ms (total)"),
        ),
        (|run| recorder(run).threshold = "p99".to_owned(), format!("{threshold}(total), p99 (total)")),
        (|run| recorder(run).stage = Stage::Response, format!("{threshold}(response), 1.00 ms (total)")),
        (
            |run| recorder(run).missing.push("softirq_entry".to_owned()),
            "causes were not compared: the recorder saw less in some of the recordings".into(),
        ),
        (
            |run| recorder(run).sample_rate = 1_000,
            "causes were not compared: the recorder saw less in some of the recordings".into(),
        ),
    ];
    for (change, expected) in cases {
        let mut other = side();
        change(&mut other[1]);
        let (found, notes) = causes(&side(), &other, false, 0.95);
        let [note] = &notes[..] else { panic!("{expected}: {notes:?}") };
        assert!(note.starts_with(&expected), "{note}");
        assert_eq!(found, None, "{note}");
    }
    // Who did not ask is not told.
    let mut plain = side();
    plain.iter_mut().for_each(|run| run.document.recorder = None);
    assert_eq!(causes(&plain, &plain, false, 0.95), (None, Vec::new()));
}
