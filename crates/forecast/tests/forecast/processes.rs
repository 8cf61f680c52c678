//! The parts of the benchmark of processes that its answers rest on, without its processes: what it keeps of a cell that
//! it did not finish, and which counts break a promise.

#[path = "../../benches/processes/kept.rs"]
mod kept;
#[path = "../../benches/processes/promised.rs"]
mod promised;

use kept::{Number, Numbers, store, take, with_table, written};
use promised::Promise;
use proptest::prelude::*;

fn numbers<'a>(runs: &'a mut u32, sum: &'a mut f64, first: &'a mut u64) -> Numbers<'a> {
    let named = [("runs", Number::Count(runs)), ("a sum", Number::Sum(sum)), ("first", Number::Mark(first))];
    named.map(|(name, number)| (name.to_owned(), number)).into()
}

proptest! {
    /// A sum that goes on from what was kept is the sum of one run in one piece, to the last bit.
    #[test]
    fn what_is_kept_is_read_as_it_was(runs: u32, sum in -1e300..1e300f64, first: u64) {
        let (mut own_runs, mut own_sum, mut own_first) = (runs, sum, first);
        let text = written(&numbers(&mut own_runs, &mut own_sum, &mut own_first));
        let (mut runs_again, mut sum_again, mut first_again) = (0, 0.0, 0);
        take(&text, numbers(&mut runs_again, &mut sum_again, &mut first_again)).unwrap();
        prop_assert_eq!((runs_again, sum_again.to_bits(), first_again), (runs, sum.to_bits(), first));
    }
}

#[test]
fn a_file_with_other_numbers_is_refused() {
    let whole = "runs 12\na sum 0.5\nfirst 00000000000000ff\n";
    for (text, expected) in [
        (whole.to_owned(), Ok(())),
        (whole.replace("a sum", "sum"), Err("`a sum` is expected where `sum 0.5` stands")),
        (whole.replace("12", "-1"), Err("`runs` is expected where `runs -1` stands")),
        (whole.replace("ff", "fg"), Err("`first` is expected where `first 00000000000000fg` stands")),
        (whole[..8].to_owned(), Err("`a sum` is expected where `` stands")),
        (format!("{whole}more 1\n"), Err("nothing is expected where `more 1` stands")),
    ] {
        let (mut runs, mut sum, mut first) = (0, 0.0, 0);
        let found = take(&text, numbers(&mut runs, &mut sum, &mut first));
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }
}

#[test]
fn a_file_is_replaced_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("queue-7200.kept");
    for text in ["runs 1\n", "runs 2\n"] {
        store(&path, text).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["queue-7200.kept"]);
    let error = store(&directory.path().join("none").join("queue-7200.kept"), "").unwrap_err();
    assert!(error.contains("queue-7200.kept: "), "{error}");
}

#[test]
fn a_table_stands_between_the_marks_for_its_length() {
    let page = "before\n<!-- processes: 600 s -->\nold\n<!-- processes: end -->\nthen\n<!-- processes: 7200 s -->\n\
                <!-- processes: end -->\nafter\n";
    let found = with_table(page, 7_200.0, "head\nrow\n").unwrap();
    let expected = "before\n<!-- processes: 600 s -->\nold\n<!-- processes: end -->\nthen\n<!-- processes: 7200 s -->\n\n\
                    \x20   head\n    row\n\n<!-- processes: end -->\nafter\n";
    assert_eq!(found, expected);
    // Again, it is the same.
    assert_eq!(with_table(&found, 7_200.0, "head\nrow\n").unwrap(), found);
    let error = with_table(page, 60.0, "").unwrap_err();
    assert_eq!(error, "there is no line <!-- processes: 60 s -->");
}

/// By hand, for ten runs: none comes with 0.3^10 = 6e-6 where 0.7 is promised, four or fewer with 4.7 %, and three or fewer
/// with 1.06 %; where at most 0.1 is promised, four or more come with 1.28 %, and five or more with 0.16 %.
#[test]
fn a_promise_is_broken_by_what_chance_hardly_makes() {
    let cases = [
        (Promise::AtLeast(0.7), 10, [(0, true), (2, true), (3, false), (4, false), (10, false)]),
        (Promise::AtMost(0.1), 10, [(0, false), (1, false), (4, false), (5, true), (10, true)]),
        // Eighteen or more come by chance with 1.4 %, nineteen or more with 0.7 %.
        (Promise::AtMost(0.005), 2_000, [(0, false), (10, false), (18, false), (19, true), (2_000, true)]),
        (Promise::AtLeast(0.93), 2_000, [(2_000, false), (1_860, false), (1_840, false), (1_820, true), (0, true)]),
    ];
    for (promise, of, counts) in cases {
        for (count, expected) in counts {
            assert_eq!(promise.is_broken(count, of), expected, "{count} of {of}");
        }
    }
    assert!(!Promise::AtLeast(0.93).is_broken(0, 0));
}
