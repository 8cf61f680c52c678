//! What is kept of the recorder's rings, piece by piece, and what comes back.

use super::*;
use proptest::prelude::*;

const PLENTY: u64 = 1 << 20;
const RECORD: u64 = size_of::<Record>() as u64;
/// A piece of one CPU without any record.
const EMPTY: u64 = size_of::<(u32, Copied)>() as u64;

fn record(time: u64) -> Record {
    Record { sequence: 1, time, steal: 0, task: 0, context: 0, value: 0, extra: 0, name: [0; 16] }
}

fn piece(times: &[u64], broken: Option<&'static str>) -> Vec<(u32, Copied)> {
    vec![(3, Copied { records: times.iter().map(|&time| record(time)).collect(), stacks: Vec::new(), broken })]
}

fn times(mut all: Vec<(u32, Copied)>) -> (Vec<u64>, Option<&'static str>) {
    let (_, copied) = all.pop().unwrap();
    (copied.records.iter().map(|record| record.time).collect(), copied.broken)
}

fn between(kept: &Kept, start: u64, end: u64) -> Option<(Vec<u64>, Option<&'static str>)> {
    kept.between(start, end).map(times)
}

#[test]
fn pieces_become_one_with_one_record_from_before() {
    let mut kept = Kept::new(PLENTY);
    kept.add(piece(&[90, 100, 150], None), 100, 200);
    // The ring hands out the last one from before the second piece again.
    kept.add(piece(&[150, 201, 260], None), 201, 300);
    assert_eq!(between(&kept, 100, 300), Some((vec![90, 100, 150, 201, 260], None)));
    assert_eq!(between(&kept, 200, 250), Some((vec![150, 201], None)));
    assert_eq!(between(&kept, 100, 301), None, "the end is not here");
    assert_eq!(between(&kept, 99, 200), Some((vec![90, 100, 150], Some(OVERWRITTEN))));
    kept.forget(&[(210, u64::MAX)]);
    assert_eq!(between(&kept, 210, 300), Some((vec![201, 260], None)));
    assert_eq!(
        between(&kept, 150, 300),
        Some((vec![150, 201, 260], Some(OVERWRITTEN))),
        "the first piece is forgotten"
    );
}

#[test]
fn what_came_before_a_hole_tells_nothing_of_what_came_after() {
    let mut kept = Kept::new(PLENTY);
    kept.add(piece(&[90, 150], None), 100, 200);
    kept.add(piece(&[240, 260], Some("a hole")), 201, 300);
    kept.add(piece(&[260, 310], None), 301, 400);
    assert_eq!(between(&kept, 100, 200), Some((vec![90, 150], None)));
    assert_eq!(between(&kept, 100, 400), Some((vec![240, 260, 310], Some("a hole"))));
    assert_eq!(between(&kept, 301, 400), Some((vec![260, 310], None)));
    // One that was not finished is missing by itself.
    kept.add(piece(&[310, 450], Some(UNFINISHED)), 401, 500);
    assert_eq!(between(&kept, 301, 500), Some((vec![260, 310, 450], Some(UNFINISHED))));
    assert_eq!(between(&kept, 100, 500), Some((vec![240, 260, 310, 450], Some("a hole"))));
}

#[test]
fn an_input_outlives_the_pause_after_it() {
    // Room for three pieces of two records.
    let mut kept = Kept::new(3 * (EMPTY + 2 * RECORD));
    let wanted = [(100, 250)];
    for number in 1..=50 {
        let from = number * 100;
        kept.add(piece(&[from - 50, from + 50], None), from, from + 99);
        kept.forget(&wanted);
        assert!(kept.bytes <= kept.most && kept.pieces.len() <= 3, "{number}");
    }
    assert_eq!(between(&kept, 100, 250), Some((vec![50, 150, 250], None)));
    // What came long after, if it belongs to the input after all, begins behind the hole.
    assert_eq!(between(&kept, 100, 5_099), Some((vec![4_950, 5_050], Some(NO_ROOM))));
    assert_eq!(between(&kept, 100, 4_000), None);
    // With more wanted than there is room for, the oldest goes.
    kept.add(piece(&[5_050, 5_150], None), 5_100, 5_199);
    kept.forget(&[(100, u64::MAX)]);
    assert_eq!(between(&kept, 200, 299), Some((vec![150, 250], None)));
    assert_eq!(between(&kept, 100, 299), Some((vec![150, 250], Some(NO_ROOM))));
}

#[test]
fn the_rings_are_asked_for_what_is_not_whole() {
    let mut kept = Kept::new(PLENTY);
    kept.add(piece(&[90, 150], None), 100, 200);
    let taken = |before, start, end, ring: Option<&'static str>| {
        times(kept.between_or(before, (start, end), || piece(&[7], ring)))
    };
    assert_eq!(taken(100, 120, 200, None).0, [90, 150]);
    assert_eq!(taken(50, 60, 200, None), (vec![7], None));
    assert_eq!(taken(50, 60, 200, Some("a hole")), (vec![90, 150], Some(OVERWRITTEN)));
    assert_eq!(taken(50, 100, 200, Some("a hole")), (vec![90, 150], None), "only what was before is missing");
    assert_eq!(taken(100, 120, 201, Some("a hole")), (vec![7], Some("a hole")));
}

#[test]
fn times_that_touch_become_one() {
    assert_eq!(
        joined([(30, 40), (10, 20), (21, 25), (35, 36), (50, u64::MAX), (60, 70)]),
        [(10, 25), (30, 40), (50, u64::MAX)]
    );
    assert!(joined([]).is_empty());
}

proptest! {
    /// Whatever is let go, what comes back is all there was, or its end with the reason.
    #[test]
    fn nothing_is_left_out_without_a_word(
        pieces in prop::collection::vec(prop::collection::btree_set(0..100u64, 0..6), 1..20),
        spans in prop::collection::vec((0..2_000u64, 0..400u64), 1..4),
        asked in prop::collection::vec((0..2_000u64, 0..600u64), 1..20),
        room in 2..30u64,
    ) {
        let mut kept = Kept::new(room * (EMPTY + RECORD));
        let wanted = joined(spans.into_iter().map(|(begin, length)| (begin, begin + length)));
        let mut all = vec![0];
        for (number, inside) in (1u64..).zip(pieces) {
            let from = number * 100;
            let mut copied = vec![*all.last().unwrap()];
            copied.extend(inside.into_iter().map(|time| from + time));
            all.extend_from_slice(&copied[1..]);
            kept.add(piece(&copied, None), from, from + 99);
            kept.forget(&wanted);
            prop_assert!(kept.bytes <= kept.most);
        }
        for (start, length) in asked {
            let end = start + length;
            let Some((found, broken)) = between(&kept, start, end) else { continue };
            let first = all.partition_point(|time| *time < start).saturating_sub(1);
            let last = all.partition_point(|time| *time <= end);
            let expected = &all[first..last.max(first)];
            if broken.is_none() {
                prop_assert_eq!(&found[..], expected);
            } else {
                prop_assert!(expected.ends_with(&found), "{found:?} {expected:?}");
            }
        }
    }
}
