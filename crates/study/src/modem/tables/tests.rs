use super::*;
use punctual_modem::tables::Tables;
use std::path::Path;

fn plan(rows: &[(u8, &str)], bytes: u32, attempts: u32, directory: Option<&Path>) -> TablesPlan {
    let mut all = all_rows().unwrap();
    all.retain(|row| rows.contains(&(row.table, &row.id[..])));
    assert_eq!(all.len(), rows.len());
    TablesPlan { bytes, attempts, seed: 1, rows: all, directory: directory.map(Path::to_owned), jobs: 1 }
}

fn whole(plan: &TablesPlan) -> (Tables, TablesProgress) {
    let mut last = None;
    let tables = run(plan, &mut |now| {
        last = Some(*now);
        true
    });
    (tables.unwrap(), last.unwrap())
}

/// Two rows, of which the exchange does not understand one.
const ROWS: [(u8, &str); 2] = [(1, "res-1-4"), (3, "res-3-17")];

#[test]
fn who_goes_on_gets_what_one_run_gets_and_what_is_damaged_is_computed_anew() {
    let (expected, at_once) = whole(&plan(&ROWS, 300, 2, None));
    assert_eq!((at_once.done, at_once.kept, at_once.of), (5, 0, 5));
    assert_eq!(expected.rows[0].transfer.successes(), 2);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("study");
    let plan = plan(&ROWS, 300, 2, Some(&path));
    // One call at a time: at least two of five are over then, but not all.
    let cut = run(&plan, &mut |now| now.done < 2).unwrap();
    let missing: usize = cut.rows.iter().map(|row| 2 - row.numbers.len()).sum();
    assert!((1..=3).contains(&missing), "{missing}");
    assert_eq!(cut.clean, expected.clean);
    let (resumed, now) = whole(&TablesPlan { jobs: 2, ..plan.clone() });
    assert_eq!(resumed, expected);
    assert_eq!(now.kept, 5 - missing);
    // Cut off, somebody else's, more than possible, another row's: four that count for nothing.
    let at = |row: &str, number: u32| path.join(row).join(format!("attempt-{number:03}.json"));
    let text = std::fs::read_to_string(at("table-1-res-1-4", 1)).unwrap();
    std::fs::write(at("table-1-res-1-4", 1), &text[..text.len() / 2]).unwrap();
    let forged = text.replace("\"received\": 300", "\"received\": 301");
    assert_ne!(forged, text);
    std::fs::write(at("table-1-res-1-4", 2), forged).unwrap();
    std::fs::write(at("table-3-res-3-17", 1), &text).unwrap();
    std::fs::remove_file(at("table-3-res-3-17", 2)).unwrap();
    std::os::unix::fs::symlink(at("clean", 1), at("table-3-res-3-17", 2)).unwrap();
    let (again, now) = whole(&plan);
    assert_eq!((again, now.kept), (expected, 1));
    assert_eq!(whole(&plan).1.kept, 5);
}

#[test]
fn a_directory_of_something_else_is_refused_before_anything_is_computed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("study");
    let first = plan(&ROWS[..1], 100, 1, Some(&path));
    assert!(run(&first, &mut |_| false).unwrap().clean.is_none());
    let mut never = |_: &TablesProgress| panic!("something was computed");
    let mut refused = |plan: &TablesPlan| run(plan, &mut never).unwrap_err().to_string();
    for other in [TablesPlan { seed: 2, ..first.clone() }, TablesPlan { bytes: 101, ..first.clone() }] {
        assert!(refused(&other).ends_with("another file, seed or version: choose another directory with -o"));
    }
    std::fs::write(path.join("study.json"), "{").unwrap();
    assert!(refused(&first).contains("something other than a study"));
    std::fs::remove_file(path.join("study.json")).unwrap();
    assert!(refused(&first).contains("something other than a study"), "directories of rows stand there");
}

#[test]
fn more_of_the_processor_never_carries_fewer_files() {
    // Reservations of Table 3 with the same seeds; within a family each has a longer slot or comes more often than the
    // previous one. Those that fail in training take a minute of the line each: one of them is enough.
    let families: [&[&str]; 4] = [
        &["res-2-14", "res-2-13"],
        &["res-3-17", "res-3-16", "res-3-15"],
        &["res-4-17", "res-4-16"],
        &["res-7-20", "res-8-20"],
    ];
    let rows: Vec<(u8, &str)> = families.concat().into_iter().map(|id| (3, id)).collect();
    let (tables, _) = whole(&TablesPlan { jobs: 2, ..plan(&rows, 300, 1, None) });
    let successes = |id: &&str| tables.rows.iter().find(|row| row.id == **id).unwrap().transfer.successes();
    for family in families {
        let carried: Vec<usize> = family.iter().map(successes).collect();
        assert!(carried.is_sorted(), "{family:?}: {carried:?}");
    }
    let carried = tables.rows.iter().filter(|row| row.transfer.successes() == 1).count();
    assert!((4..9).contains(&carried), "{carried} of 9 carried the file");
}
