//! How many requests were slow, and of how many that is not known.

use super::*;
use punctual_recording::{RecorderSummary, RequestTimes};

/// Three runs of a server, each with so many requests, of which so many were slow.
fn of_server(requests: Option<u64>, late: u64) -> Vec<Run> {
    let mut run = of_loop("a other", 1).remove(0);
    run.cycles.clear();
    run.document.followed = None;
    run.document.recorder = Some(RecorderSummary {
        stage: Stage::Request,
        threshold: "20.0 ms".to_owned(),
        threshold_ns: Some(20_000_000),
        requests,
        request_times: requests.map(|sure| RequestTimes { sure, ..RequestTimes::default() }),
        late,
        armed_ns: RUN_NS,
        ..RecorderSummary::default()
    });
    let mut slow = InTime::new(0, RUN_NS);
    (0..late).for_each(|event| slow.take(event * (RUN_NS / late)));
    run.slow_requests = Some(slow);
    vec![run; 3]
}

/// A client that waits for its answers asks a faster server more often.
#[test]
fn more_slow_requests_of_far_more_requests_are_better() {
    let (slow, fast) = (of_server(Some(1_000), 400), of_server(Some(40_000), 600));
    let found = counts(&slow, &fast, false, 0.95);
    let [row] = &found[..] else { panic!("{found:?}") };
    assert_eq!((row.a.exposure, row.b.exposure), (3_000, 120_000), "{row:?}");
    assert_eq!(row.b.watched_ns, Some(3 * RUN_NS), "{row:?}");
    assert!(row.ratio.estimate.is_some_and(|ratio| (ratio - 0.0375).abs() < 1e-9), "{row:?}");
    assert_eq!(row.outcome, Outcome::Better, "{row:?}");
    // Where one run did not count its requests, or fewer than were slow, only their rate is known.
    for requests in [None, Some(0), Some(599)] {
        let mut uncounted = fast.clone();
        uncounted[1] = of_server(requests, 600).remove(0);
        let found = counts(&slow, &uncounted, false, 0.95);
        let [row] = &found[..] else { panic!("{found:?}") };
        assert_eq!((row.a.exposure, row.a.watched_ns), (3 * RUN_NS, None), "{row:?}");
        assert!(row.ratio.estimate.is_some_and(|ratio| (ratio - 1.5).abs() < 1e-9), "{row:?}");
    }
}

/// One that its client sent late is slow at least if it is from then on, and at most if it is from when it was due. One that begins with what may be an answer
/// may leave out the wait for that, and what may be several is not one.
#[test]
fn requests_of_clients_that_were_behind_have_limits() {
    let of = |late: u64, times: RequestTimes| {
        let mut runs = of_server(Some(1_000), late.max(1));
        for recorder in runs.iter_mut().filter_map(|run| run.document.recorder.as_mut()) {
            let sure = 1_000 - times.maybe_several - times.after_answers;
            (recorder.late, recorder.request_times) = (late, Some(RequestTimes { sure, ..times }));
        }
        runs
    };
    let none = RequestTimes::default();
    // Of a run of B: at least, at most.
    for (late, times, expected) in [
        (40, RequestTimes { without_timer: 600, ..none }, Some((40, 40))),
        (40, RequestTimes { without_timer: 800, late_from_due: 700, ..none }, Some((40, 740))),
        (400, RequestTimes { without_timer: 800, late_from_due: 700, ..none }, Some((400, 1_000))),
        (40, RequestTimes { maybe_several: 9, ..none }, Some((40, 49))),
        (40, RequestTimes { after_answers: 1_000, ..none }, None),
    ] {
        let found = counts(&of(400, none), &of(late, times), false, 0.95);
        let [row] = &found[..] else { panic!("{times:?}: {found:?}") };
        let counted = row.b.untold.is_none().then_some((row.b.least / 3, row.b.events / 3));
        assert_eq!(counted, expected, "{times:?}: {row:?}");
    }
    // A thread that a server made may have worked on one that is in no count.
    let mut made = of(40, none);
    let recorders = made.iter_mut().filter_map(|run| run.document.recorder.as_mut());
    recorders.for_each(|recorder| recorder.ended_threads = 9);
    let row = counts(&of(400, none), &made, false, 0.95).remove(0);
    assert_eq!((row.b.least / 3, row.b.events / 3), (40, 49), "{row:?}");
    made.iter_mut().for_each(|run| run.maybe_slow = 30);
    let row = counts(&of(400, none), &made, false, 0.95).remove(0);
    assert_eq!((row.b.least / 3, row.b.events / 3), (10, 49), "{row:?}");
}

/// A request that was cut, or of which only a part was seen, may have been slow; where that is so of most, or none was recognised,
/// nothing is said of its side, whatever the other one had.
#[test]
fn requests_that_were_not_seen_whole_are_no_evidence() {
    let of = |requests: u64, late: u64, [cut, without_end, maybe_parts]: [u64; 3]| {
        let mut runs = of_server(Some(requests), late.max(1));
        for recorder in runs.iter_mut().filter_map(|run| run.document.recorder.as_mut()) {
            (recorder.late, recorder.cut_requests, recorder.without_end) = (late, cut, without_end);
            recorder.request_times =
                Some(RequestTimes { maybe_parts, sure: requests - maybe_parts, ..RequestTimes::default() });
        }
        runs
    };
    let slow = of(1_000, 400, [0; 3]);
    // The requests of B, those late, cut, without an end, and maybe parts; of a run of B: at least, at most, of how many; what B is.
    type Row = (u64, u64, [u64; 3], Option<(u64, u64, u64)>, Outcome);
    let table: [Row; 10] = [
        (1_000, 4, [0, 0, 0], Some((4, 4, 1_000)), Outcome::Better),
        (1_000, 4, [3, 0, 0], Some((4, 7, 1_003)), Outcome::Better),
        // Each wait of one that was given up may have been for another one.
        (1_000, 4, [3, 2, 0], Some((4, 507, 1_503)), Outcome::NoDifference),
        (1_000, 4, [0, 5, 0], None, Outcome::NoDifference),
        (1_000, 4, [0, 0, 6], Some((4, 10, 1_000)), Outcome::Better),
        // A part that is slow is of a slow request.
        (1_000, 400, [0, 0, 700], None, Outcome::NoDifference),
        (1_000, 4, [0, 0, 400], Some((4, 404, 1_000)), Outcome::NoDifference),
        (1_000, 4, [900, 0, 0], Some((4, 904, 1_900)), Outcome::NoDifference),
        (126, 0, [0, 0, 126], None, Outcome::NoDifference),
        (0, 0, [3, 0, 0], None, Outcome::NoDifference),
    ];
    for (requests, late, unsure, expected, outcome) in table {
        let case = format!("{requests} {late} {unsure:?}");
        let found = counts(&slow, &of(requests, late, unsure), false, 0.95);
        let [row] = &found[..] else { panic!("{case}: {found:?}") };
        assert_eq!(row.outcome, outcome, "{case}: {row:?}");
        let found = row.b.untold.is_none().then_some((row.b.least / 3, row.b.events / 3, row.b.exposure / 3));
        assert_eq!(found, expected, "{case}: {row:?}");
        let untold = match (expected, requests) {
            (Some(_), _) => None,
            (None, 0) => Some(Untold::NoneRecognised),
            (None, _) => Some(Untold::MostlyUnknown),
        };
        assert_eq!((row.b.untold, row.a.untold, row.a.exposure), (untold, None, 3_000), "{case}: {row:?}");
        assert!(untold.is_none() || row.b.exposure == 0 && row.ratio == RateRatio::default(), "{case}: {row:?}");
    }
    // One such run is enough.
    let mut one = slow.clone();
    one[2] = of(0, 0, [0; 3]).remove(0);
    let found = counts(&one, &slow, false, 0.95);
    let [row] = &found[..] else { panic!("{found:?}") };
    assert_eq!((row.outcome, row.a.untold, row.a.exposure), (Outcome::NoDifference, Some(Untold::NoneRecognised), 0));
}

/// One that was given up, or still went on as the recording ended, before it had taken as long as a slow one was in time.
#[test]
fn requests_that_were_cut_before_they_were_slow_were_not() {
    for (maybe_late_cut, expected) in [(None, 503), (Some(0), 0), (Some(1), 250), (Some(2), 500), (Some(4), 502)] {
        let mut runs = of_server(Some(1_000), 1);
        for recorder in runs.iter_mut().filter_map(|run| run.document.recorder.as_mut()) {
            (recorder.late, recorder.without_end, recorder.cut_requests) = (0, 2, 3);
            recorder.maybe_late_cut = maybe_late_cut;
        }
        let row = counts(&of_server(Some(1_000), 400), &runs, false, 0.95).remove(0);
        let found = (row.b.least, row.b.events / 3, row.b.exposure / 3);
        assert_eq!(found, (0, expected, 1_503), "{maybe_late_cut:?}: {row:?}");
    }
}

/// A client that asks again at once looks like a server that answers at once, and its waits for answers are in no request: none that was seen to be slow means
/// nothing. Only what is sure is none of those.
#[test]
fn requests_of_which_it_is_only_assumed_where_they_begin_are_no_evidence() {
    let of = |late: u64, times: RequestTimes| {
        let mut runs = of_server(Some(1_000), late.max(1));
        for recorder in runs.iter_mut().filter_map(|run| run.document.recorder.as_mut()) {
            (recorder.late, recorder.request_times) = (late, Some(times));
        }
        runs
    };
    let none = RequestTimes::default();
    for (late, times, expected) in [
        (0, none, None),
        (2, none, None),
        (4, RequestTimes { sure: 991, assumed: 9, late_assumed: 4, ..none }, Some((4, 9))),
        (0, RequestTimes { sure: 996, ..none }, Some((0, 4))),
        (0, RequestTimes { sure: 1_000, ..none }, Some((0, 0))),
    ] {
        let row = counts(&of(400, RequestTimes { sure: 1_000, ..none }), &of(late, times), false, 0.95).remove(0);
        let counted = row.b.untold.is_none().then_some((row.b.least / 3, row.b.events / 3));
        assert_eq!(counted, expected, "{late} {times:?}: {row:?}");
        assert_eq!(row.b.untold, expected.is_none().then_some(Untold::MostlyUnknown), "{late} {times:?}");
    }
}
