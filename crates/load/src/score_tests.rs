use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn counting(pace_ns: Option<u64>) -> Tally {
    Tally::new([Some(Scored { name: "work".into(), pace_ns, lines: None })])
}

fn reading(pattern: &str) -> Tally {
    let lines = Some(LineScore::new("frames", pattern).unwrap());
    Tally::new([Some(Scored { name: "work".into(), pace_ns: None, lines })])
}

fn ended(mut tally: Tally, at_ns: u64) -> Vec<LoadScore> {
    tally.end(at_ns);
    tally.scores()
}

fn done(tally: &mut Tally, from: u64, to: u64) {
    tally.add(0, to, Deed::Iteration { started_ns: from, succeeded: true });
}

fn only(scores: Vec<LoadScore>) -> (u64, u64) {
    assert_eq!(scores.len(), 1, "{scores:?}");
    (scores[0].count_thousandths, scores[0].elapsed_ns)
}

#[test]
fn a_paced_command_is_counted_exactly() {
    let mut tally = counting(Some(100 * MS));
    // One every 100 ms, each of 3 ms, for 3 s before, 10 s within and 1 s after the measurement.
    for index in 0..140 {
        if index == 30 {
            tally.begin(1_000 * MS + 3_000 * MS - 50 * MS);
        }
        let start = 1_000 * MS + index * 100 * MS;
        done(&mut tally, start, start + 3 * MS);
    }
    let scores = ended(tally, 1_000 * MS + 13_000 * MS - 50 * MS);
    assert_eq!(scores[0].pace_ns, Some(100 * MS));
    assert_eq!(scores[0].rate_thousandths(), 10_000);
    assert_eq!(only(scores), (100_000, 10_000 * MS));
}

#[test]
fn a_long_iteration_counts_by_its_share_and_an_unfinished_one_not_at_all() {
    let mut tally = counting(None);
    tally.begin(6 * MS);
    done(&mut tally, 0, 9 * MS);
    tally.add(0, 16 * MS, Deed::Unfinished { started_ns: 9 * MS });
    assert_eq!(only(ended(tally, 16 * MS)), (333, 3 * MS));

    let mut late = counting(None);
    late.begin(6 * MS);
    done(&mut late, 0, 9 * MS);
    done(&mut late, 9 * MS, 17 * MS);
    assert_eq!(only(ended(late, 16 * MS)), (333, 3 * MS), "it ended after the measurement");
}

#[test]
fn what_fails_or_never_ends_has_no_score() {
    let mut tally = counting(None);
    tally.begin(0);
    tally.add(0, 5 * MS, Deed::Iteration { started_ns: 0, succeeded: false });
    assert_eq!(ended(tally, 10 * MS), []);
    let mut tally = counting(None);
    tally.begin(5 * MS);
    tally.add(0, 10 * MS, Deed::Unfinished { started_ns: 0 });
    assert_eq!(ended(tally, 10 * MS), []);
    assert_eq!(ended(counting(None), 10), []);
}

#[test]
fn a_running_count_goes_on_when_the_program_is_started_again() {
    let mut tally = reading(r"frame=\s*(?<count>\d+)");
    let line = |tally: &mut Tally, at: u64, text: &str| tally.add(0, at * MS, Deed::Line(text.into()));
    line(&mut tally, 10, "frame=900");
    tally.begin(50 * MS);
    for (at, text) in [(100, "frame= 10"), (200, "fps=3"), (600, "frame= 30"), (1_000, "frame= 5"), (1_100, "frame=25")]
    {
        line(&mut tally, at, text);
    }
    line(&mut tally, 1_300, "frame=9000");
    assert_eq!(only(ended(tally, 1_200 * MS)), (45_000, 1_000 * MS));
}

#[test]
fn rates_are_averaged_by_name() {
    let mut tally = reading(r"\[(?<name>\w+)\].* FPS: (?<rate>[\d.]+)");
    tally.begin(0);
    for (at, text) in [(1, "[build] x: FPS: 100 y"), (2, "[shadow] x: FPS: 7.5 y"), (3, "[build] x: FPS: 200 y")] {
        tally.add(0, at * MS, Deed::Line(text.into()));
    }
    let scores = ended(tally, 10_000 * MS);
    let found: Vec<(&str, u64)> = scores.iter().map(|score| (score.name.as_str(), score.rate_thousandths())).collect();
    assert_eq!(found, [("work build", 150_000), ("work shadow", 7_500)]);
}

#[test]
fn stress_ngs_summary_is_read_when_all_is_over() {
    let lines = Some(LineScore::stress_ng().clone());
    let mut tally = Tally::new([Some(Scored { name: "stress-ng".into(), pace_ns: None, lines })]);
    tally.begin(0);
    for text in [
        "stress-ng: metrc: [2646] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s",
        "stress-ng: metrc: [2646]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)",
        "stress-ng: metrc: [2646] cpu                1387      1.95      0.75      0.00       710.59        1839.10",
        "stress-ng: metrc: [2646] udp               93335      1.95      0.02      1.22     47778.79       75456.43",
        "stress-ng: info:  [2646] successful run completed in 1.95s",
    ] {
        tally.add(0, 3_000 * MS, Deed::Line(text.into()));
    }
    let scores = ended(tally, 1_900 * MS);
    assert_eq!(scores.len(), 2);
    assert_eq!(scores[0].name, "stress-ng cpu");
    assert_eq!((scores[0].count_thousandths, scores[0].elapsed_ns), (1_387_000, 1_950 * MS));
    assert_eq!(scores[1].name, "stress-ng udp");
}

#[test]
fn a_pattern_must_say_what_it_finds() {
    for pattern in ["x", "(?<rate>1)(?<count>2)", "(?<cuont>2)", "(", "(?<rate>1)(?<seconds>2)"] {
        let error = LineScore::new("frames", pattern).unwrap_err();
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert!(LineScore::new("", "(?<count>2)").is_err());
}

proptest! {
    /// However long iterations are and wherever the measurement begins and ends: back-to-back iterations of one
    /// length have the rate of that length, to the rounding.
    #[test]
    fn the_rate_of_equal_iterations_is_theirs(length in 1_000_000u64..3_000_000_000, begin in 0u64..5_000_000_000,
                                              span in 1u64..30_000_000_000) {
        let mut tally = counting(None);
        let (mut start, mut begun) = (0, false);
        while start < begin + span {
            if !begun && start + length > begin {
                tally.begin(begin);
                begun = true;
            }
            done(&mut tally, start, start + length);
            start += length;
        }
        if let Some(score) = ended(tally, begin + span).first() {
            let expected = score.elapsed_ns as f64 / length as f64 * 1_000.0;
            prop_assert!((score.count_thousandths as f64 - expected).abs() <= 1.5, "{score:?} {expected}");
            prop_assert!(score.elapsed_ns <= span);
        }
    }

    /// Nothing a program writes makes it fail or invents a time.
    #[test]
    fn any_line_is_survived(lines in proptest::collection::vec(".{0,40}", 0..20), count in any::<f64>()) {
        let mut tally = reading(r"(?<count>\S+)");
        tally.begin(0);
        for (index, line) in lines.into_iter().chain([format!("{count}")]).enumerate() {
            tally.add(0, index as u64 + 1, Deed::Line(line));
        }
        for score in ended(tally, 1_000) {
            prop_assert!(score.elapsed_ns > 0);
        }
    }
}
