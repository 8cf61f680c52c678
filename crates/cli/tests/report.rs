//! `punctual report` on made-up recordings.

mod support;

use punctual_recording::*;
use std::path::Path;
use support::{code, json, run, stderr, stdout};

const MS: u64 = 1_000_000;

/// A recording of wakeups whose lateness follows a fixed pattern; every 100th goes unobserved.
fn write(path: &Path, run_id: &str, load: &str, count: u64, scale: u64, end: Option<EndReason>) {
    let provenance = Provenance {
        punctual_version: "0.0.0".into(),
        run_id: run_id.into(),
        started_ns: 1_000 * MS,
        configuration: Configuration {
            interval_ns: MS,
            policy: "fifo".into(),
            priorities: vec![80],
            cpus: vec![0],
            via: "timer".into(),
            bpf: true,
            power_request: true,
            memory_locked: true,
        },
        load: LoadInfo { name: load.into(), ..LoadInfo::default() },
        blind: vec!["who made a wakeup late: stages say where, not who".into()],
        ..Provenance::default()
    };
    let counters = Counters { missed: Some(0), ..Counters::default() };
    let task = Task { measure: "fifo:80".into(), tid: 7, cpu: Some(0), period_ns: MS, counters };
    let mut writer = Writer::create(path, provenance, vec![task]).unwrap();
    for index in 0..count {
        let expected = (1_000 + index) * MS;
        let late = scale * (1_000 + index % 1_000 * 37);
        let seen = index % 100 != 0;
        let stamps = Stamps {
            expected,
            irq: if seen { expected + late / 2 } else { 0 },
            softirq: 0,
            waking: if seen { expected + late / 2 + 500 } else { 0 },
            switch_in: if seen { expected + late - late / 10 + 500 } else { 0 },
            user: expected + late + 500,
        };
        writer.push(0, &Wakeup::from_stamps(&stamps, 0, 7));
    }
    writer.set_thread_counts(0, 0, 0, count * 20_000);
    writer.flush().unwrap();
    if let Some(reason) = end {
        writer.finish(Ended { reason, detail: None, at_ns: (1_000 + count) * MS }, Vec::new()).unwrap();
    }
}

/// A quantile that takes more wakeups than there are is judged by the maximum, and the report says so.
#[test]
fn a_limit_beyond_what_was_measured_says_what_was_judged() {
    let golden = support::golden();
    let said = |limit: &str| support::stdout(&support::run(&golden, &["report", "record.punctual", "--limit", limit]));
    let text = said("p99.99999=1s");
    let verdict = text.lines().next().unwrap();
    assert!(
        verdict.contains("takes 10,000,000 wakeups to tell p99.99999 from the maximum")
            && verdict.contains("so the maximum of these 200 was judged"),
        "{text}"
    );
    assert!(!said("p99=1s").contains("the maximum of these"));
}

/// A quantile has one value wherever an answer shows it: in its sentence, as a limit and in its table.
#[test]
fn one_quantile_is_said_with_one_value() {
    let directory = tempfile::tempdir().unwrap();
    for (name, scale) in [("one", 1), ("other", 9)] {
        write(&directory.path().join(name), name, "none", 20_000, scale, Some(EndReason::Completed));
    }
    let mut met = 0;
    // Alone, and added up with a run that was nine times as late.
    for recordings in [&["one"][..], &["other"], &["one", "other"]] {
        let words = [&["report"], recordings, &["--limit", "p99.9=1ns", "--json"]].concat();
        let output = run(directory.path(), &words);
        assert_eq!(code(&output), 2, "{recordings:?}: {}", stderr(&output));
        let answer = json(&output);
        let verdict = answer["verdict"].as_str().unwrap();
        let found = answer["limits"][0]["found_ns"].as_u64().unwrap_or_else(|| panic!("{answer}"));
        let said = format_ns(found);
        assert!(verdict.contains(&format!(", 99.9 % within {said}.")), "{verdict}");
        assert!(verdict.contains(&format!("Over the limit: p99.9 is {said};")), "{verdict}");
        let totals = answer["stages"].as_array().unwrap().iter().filter(|row| row["stage"] == "total");
        for row in totals {
            assert_eq!(row["p99_9_ns"], found, "{verdict}");
            met += 1;
        }
        let text = stdout(&run(directory.path(), &words[..words.len() - 1]));
        assert_eq!(text.lines().next(), Some(verdict), "{recordings:?}");
    }
    eprintln!("{met} tables with the quantile of their sentence");
    assert_eq!(met, 6);
}

/// Every wakeup appears once in the histogram, in the row of its microsecond and the column of its CPU.
#[test]
fn a_histogram_has_every_wakeup_once() {
    let golden = support::golden();
    let text = support::stdout(&support::run(&golden, &["report", "record.punctual", "--hist"]));
    let recording = punctual_recording::Recording::open(golden.join("record.punctual")).unwrap();
    let mut totals: std::collections::BTreeMap<u32, Vec<u64>> = std::collections::BTreeMap::new();
    recording.for_each_wakeup(|wakeup| totals.entry(wakeup.cpu).or_default().push(wakeup.total_ns)).unwrap();
    let row = |line: &str| line.split_whitespace().map(|cell| cell.parse::<u64>().unwrap()).collect::<Vec<_>>();
    let rows: Vec<Vec<u64>> = text.lines().filter(|line| !line.starts_with('#')).map(row).collect();
    assert!(rows.len() > 10 && rows.windows(2).all(|pair| pair[0][0] < pair[1][0]), "{text}");
    for (column, own) in totals.values().enumerate() {
        let counted: u64 = rows.iter().map(|row| row[column + 1]).sum();
        assert_eq!(counted, own.len() as u64);
        let last = rows.iter().rfind(|row| row[column + 1] > 0).unwrap()[0];
        // A row stands for what a bucket of the distribution stands for: within a thousandth.
        let longest = own.iter().max().unwrap() / 1_000;
        assert!(last.abs_diff(longest) <= 1 + longest / 500, "{last} {longest}");
    }
    let total = text.lines().find_map(|line| line.strip_prefix("# Total: ")).unwrap();
    assert_eq!(row(total), totals.values().map(|own| own.len() as u64).collect::<Vec<_>>());
}

#[test]
fn text_csv_and_json_of_one_recording() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a.punctual"), "1", "none", 20_000, 1, Some(EndReason::Completed));
    insta::assert_snapshot!("text", stdout(&run(directory.path(), &["report", "a.punctual"])));
    insta::assert_snapshot!("csv", stdout(&run(directory.path(), &["report", "a.punctual", "--csv"])));
    insta::assert_json_snapshot!("json", json(&run(directory.path(), &["report", "a.punctual", "--json"])));
}

#[test]
fn the_same_is_added_up_and_the_different_laid_beside() {
    let directory = tempfile::tempdir().unwrap();
    for (name, load) in [("a", "none"), ("b", "none"), ("c", "mixed")] {
        write(&directory.path().join(name), name, load, 1_000, 1, Some(EndReason::Completed));
    }
    let answer = json(&run(directory.path(), &["report", "a", "b", "c", "--json"]));
    assert_eq!(answer["wakeups"], 3_000);
    let parts = answer["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2);
    assert_eq!((&parts[0]["wakeups"], &parts[1]["wakeups"]), (&2_000.into(), &1_000.into()));
    // The same run twice is a mistake, not more data.
    let twice = run(directory.path(), &["report", "a", "a"]);
    assert_eq!(code(&twice), 1);
    assert!(stderr(&twice).contains("the same run is given twice"), "{}", stderr(&twice));
}

#[test]
fn a_cut_recording_opens_and_says_so_first() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", "none", 1_000, 1, None);
    let output = run(directory.path(), &["report", "a"]);
    assert_eq!(code(&output), 0);
    assert!(stdout(&output).lines().next().unwrap().contains("cut short"), "{}", stdout(&output));
    assert_eq!(json(&run(directory.path(), &["report", "a", "--json"]))["cut"], true);
}

#[test]
fn wakeups_that_are_counted_and_not_there_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    write(&path, "1", "none", 1_000, 1, Some(EndReason::Completed));
    let whole = run(directory.path(), &["report", "a"]);
    assert_eq!((code(&whole), stderr(&whole).as_str()), (0, ""));
    std::fs::remove_dir_all(path.join("wakeups")).unwrap();
    for html in [&[][..], &["--html", "a.html"]] {
        let output = run(directory.path(), &[&["report", "a"][..], html].concat());
        assert_eq!(code(&output), 0);
        let said = stderr(&output);
        assert!(said.contains("a: 1,000 wakeups of the figures are in no table"), "{said}");
    }
}

#[test]
fn a_segment_cut_in_half_is_left_out_or_refused_never_believed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    write(&path, "1", "none", 1_000, 1, None);
    let segment = path.join("wakeups/000001.parquet");
    let bytes = std::fs::read(&segment).unwrap();
    std::fs::write(&segment, &bytes[..bytes.len() / 2]).unwrap();
    let output = run(directory.path(), &["report", "a"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("is not a whole table"), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 1);
}

/// The line that says what is left out, and everything else that was printed.
fn left_out(directory: &Path, words: &[&str]) -> (String, String) {
    let output = run(directory, words);
    let said = stderr(&output);
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!((code(&output), errors.len()), (1, 1), "{words:?}: {said}");
    (errors[0].to_owned(), stdout(&output))
}

#[test]
fn a_table_that_cannot_be_read_leaves_the_rest_of_the_answer() {
    const SUMS: &str = "whether stages add up to their totals";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    write(&path, "1", "none", 1_000, 1, Some(EndReason::Completed));
    let whole = stdout(&run(directory.path(), &["report", "a"]));
    let damage = |table: &str| std::fs::write(path.join(table), "no table").unwrap();
    damage("maxima/000001.parquet");
    let (line, text) = left_out(directory.path(), &["report", "a", "--html", "a.html"]);
    assert!(line.contains("maxima/000001.parquet: ") && line.ends_with("; left out: the pictures over time"), "{line}");
    assert_eq!(text.lines().next(), whole.lines().next());
    damage("wakeups/000001.parquet");
    for (more, lacks) in [
        (&[][..], SUMS.to_owned()),
        (&["--interarrival", "1us"][..], format!("{SUMS}, how late wakeups follow one another")),
    ] {
        let (line, text) = left_out(directory.path(), &[&["report", "a"][..], more].concat());
        let end = format!("; left out: {lacks}");
        assert!(line.contains("wakeups/000001.parquet: is not a whole table") && line.ends_with(&end), "{line}");
        assert_eq!(text, whole, "{more:?}");
    }
    let answer = json(&run(directory.path(), &["report", "a", "--json"]));
    assert_eq!((&answer["exit_code"], &answer["wakeups"]), (&1.into(), &1_000.into()));
    assert!(answer["error"].as_str().unwrap().ends_with(SUMS), "{answer}");
    // Whoever is handed the page is told as well.
    let _ = std::fs::remove_dir_all(path.join("maxima"));
    run(directory.path(), &["report", "a", "--html", "a.html"]);
    let page = std::fs::read_to_string(directory.path().join("a.html")).unwrap();
    assert!(page.contains(&format!("; left out: the pictures over time, {SUMS}")), "{}", page.len());
}

#[test]
fn cycles_that_cannot_be_read_are_left_out_and_nothing_else_of_their_threads() {
    let directory = tempfile::tempdir().unwrap();
    damaged(directory.path(), "follow.punctual", "wakeups");
    let plain = left_out(directory.path(), &["report", "a"]).1;
    let (line, text) = left_out(directory.path(), &["report", "a", "--period", "1ms"]);
    assert!(line.ends_with("; left out: whether stages add up to their totals, the cycles"), "{line}");
    assert!(!text.contains("took longer than") && text.lines().next() == plain.lines().next(), "{text}");
}

/// A copy of a golden recording, one of whose tables nobody can read.
fn damaged(directory: &Path, golden: &str, table: &str) {
    let path = directory.join("a");
    support::copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(golden), &path);
    let files: Vec<_> = std::fs::read_dir(path.join(table)).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    files.iter().for_each(|file| std::fs::write(file, "no table").unwrap());
}

#[test]
fn inputs_are_told_without_what_their_time_was_spent_on() {
    let directory = tempfile::tempdir().unwrap();
    damaged(directory.path(), "interact.punctual", "interaction_parts");
    let said = "the recording is damaged; left out: what the time of inputs was spent on";
    let output = run(directory.path(), &["report", "a"]);
    let text = stdout(&output);
    assert_eq!((code(&output), stderr(&output).as_str()), (1, ""), "{text}");
    assert_eq!(text.matches(said).count(), 1, "{text}");
    assert!(text.contains("ms from input to seen") && !text.contains("what was waited for"), "{text}");
    let answer = json(&run(directory.path(), &["report", "a", "--json"]));
    assert!(
        answer["warnings"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().ends_with(said)),
        "{answer}"
    );
    assert_eq!((&answer["exit_code"], answer["causes"].as_array().map(Vec::len)), (&1.into(), Some(0)));
    // A trace has nothing else to show; the answer comes all the same.
    let (line, with_trace) = left_out(directory.path(), &["report", "a", "--perfetto", "t"]);
    assert!(line.starts_with("error: cannot make t: "), "{line}");
    assert_eq!(with_trace, text);
}

#[test]
fn gaps_that_cannot_be_drawn_are_told() {
    let directory = tempfile::tempdir().unwrap();
    damaged(directory.path(), "idle.punctual", "gaps");
    let plain = run(directory.path(), &["report", "a"]);
    assert_eq!(code(&plain), 0, "{}", stderr(&plain));
    let (line, text) = left_out(directory.path(), &["report", "a", "--html", "a.html"]);
    assert!(line.starts_with("error: cannot make a.html: a/gaps/"), "{line}");
    assert_eq!(text, stdout(&plain));
}

#[test]
fn recordings_of_two_machines_say_which_is_which() {
    let directory = tempfile::tempdir().unwrap();
    for (recording, name, id) in [("a", "studio", "1a"), ("b", "stage", "2b"), ("c", "stage", "3c")] {
        let path = directory.path().join(recording);
        write(&path, recording, "none", 1_000, 1, Some(EndReason::Completed));
        let path = path.join("recording.json");
        let mut document: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        document["provenance"]["host"]["name"] = name.into();
        document["provenance"]["host"]["id"] = id.into();
        std::fs::write(&path, document.to_string()).unwrap();
    }
    for (recordings, expected) in [
        (&["a", "b"][..], &[" with no load added on studio, the worst", " with no load added on stage, the worst"][..]),
        (
            &["b", "c"][..],
            &[" with no load added on stage (2b), the worst", " with no load added on stage (3c), the worst"][..],
        ),
        (&["a"][..], &[" with no load added, the worst"][..]),
    ] {
        let text = stdout(&run(directory.path(), &[&["report"], recordings].concat()));
        for words in expected {
            assert!(text.lines().next().unwrap().contains(words), "{words}: {text}");
        }
        // No forecast is of both.
        let of = |one: &&str| text.contains(&format!("next: `punctual forecast {one}` "));
        assert_eq!(recordings.iter().filter(|one| of(one)).count(), 1, "{text}");
        let named = text.lines().filter(|line| line.starts_with("No load added: ") && line.contains(" on sta")).count();
        assert_eq!(named, recordings.iter().filter(|one| recordings.len() > 1 && **one != "a").count(), "{text}");
    }
}

#[test]
fn a_long_load_leaves_the_verdict_readable() {
    let directory = tempfile::tempdir().unwrap();
    let load = format!("begin {}end", "and on ".repeat(60));
    write(&directory.path().join("a"), "1", &load, 1_000, 1, Some(EndReason::Completed));
    let text = stdout(&run(directory.path(), &["report", "a"]));
    let verdict = text.lines().next().unwrap();
    assert!(
        verdict.starts_with("In 1.00 s under load (begin and on ") && verdict.contains("and on end), the"),
        "{text}"
    );
    assert!(verdict.contains('…') && verdict.chars().count() < 250, "{text}");
    assert!(text.contains(&format!("Load {load}: ")), "{text}");
}

#[test]
fn a_week_is_not_said_in_hours() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", "none", 1_000, 1, Some(EndReason::Completed));
    let path = directory.path().join("a/recording.json");
    let mut document: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for (hours, said) in [(47, "In 47.0 h with no load added"), (180, "In 7.5 days with no load added")] {
        document["ended"]["at_ns"] = (1_000 * MS + hours * 3_600_000 * MS).into();
        std::fs::write(&path, document.to_string()).unwrap();
        let text = stdout(&run(directory.path(), &["report", "a"]));
        assert!(text.starts_with(said), "{text}");
    }
}

#[test]
fn limits_are_judged() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", "none", 2_000, 1, Some(EndReason::Completed));
    assert_eq!(code(&run(directory.path(), &["report", "a", "--limit", "max=1ms,p99=500us"])), 0);
    let over = run(directory.path(), &["report", "a", "--limit", "p99=5us", "--json"]);
    assert_eq!(code(&over), 2);
    assert_eq!(json(&over)["exit_code"], 2);
    assert!(json(&over)["verdict"].as_str().unwrap().contains("Over the limit: p99"));
}

#[test]
fn newer_and_unreadable_recordings_are_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    write(&path, "1", "none", 100, 1, Some(EndReason::Completed));
    let json_path = path.join("recording.json");
    let text = std::fs::read_to_string(&json_path).unwrap();
    for (text, expected) in [
        (text.replace("punctual.recording/1", "punctual.recording/9"), "was written by a newer punctual"),
        (text[..text.len() / 2].to_owned(), "is not a recording: it breaks off after "),
        (text.replace("\"counters\"", "\"others\""), "is not a recording"),
        (String::new(), "is not a recording: it is empty"),
    ] {
        std::fs::write(&json_path, text).unwrap();
        let output = run(directory.path(), &["report", "a"]);
        assert_eq!(code(&output), 1);
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
}

#[test]
fn a_tail_of_another_run_or_none_at_all_is_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", "none", 2_000, 1, Some(EndReason::Completed));
    write(&directory.path().join("b"), "2", "none", 2_000, 3, Some(EndReason::Completed));
    std::fs::copy(directory.path().join("b/tail.parquet"), directory.path().join("a/tail.parquet")).unwrap();
    let foreign = run(directory.path(), &["forecast", "a"]);
    assert_eq!(code(&foreign), 1);
    assert!(stderr(&foreign).contains("does not belong to this recording"), "{}", stderr(&foreign));
    std::fs::remove_file(directory.path().join("b/tail.parquet")).unwrap();
    assert_eq!(code(&run(directory.path(), &["forecast", "b"])), 0, "the wakeups hold the tail too");
    std::fs::remove_dir_all(directory.path().join("b/wakeups")).unwrap();
    let missing = run(directory.path(), &["forecast", "b"]);
    assert!(code(&missing) == 1 && stderr(&missing).contains("is missing"), "{}", stderr(&missing));
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", "none", 100, 1, Some(EndReason::Completed));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = support::punctual()
        .current_dir(directory.path())
        .args(["report", "a", "--json"])
        .stdout(full)
        .stderr(std::process::Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("could not be written"), "{}", stderr(&output));
}

#[test]
fn a_directory_of_recordings_stands_for_them_and_names_cannot_steer_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("checked");
    std::fs::create_dir(&inner).unwrap();
    write(&inner.join("a.punctual"), "1", "none", 100, 1, Some(EndReason::Completed));
    write(&inner.join("b.punctual"), "2", "red\u{1b}[31m", 100, 1, Some(EndReason::Completed));
    let output = run(directory.path(), &["report", "checked"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("red") && !stdout(&output).contains('\u{1b}'), "{}", stdout(&output));
    assert_eq!(code(&run(directory.path(), &["report", "checked/a.punctual/recording.json"])), 0);
}

/// Whatever was measured, an answer says that it was cut short or interrupted.
#[test]
fn every_kind_of_recording_says_that_it_ended_early() {
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let kinds = ["record", "no-bpf", "comm", "follow", "idle", "log", "device", "interact", "timers"];
    for kind in kinds {
        let name = format!("{kind}.punctual");
        support::copy(&golden.join(&name), &directory.path().join(&name));
        let path = directory.path().join(&name).join("recording.json");
        let whole = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = whole.split_once("\"ended\":").unwrap();
        let (end, after) = rest.split_once('}').unwrap();
        let reason = end.split('"').nth(3).unwrap();
        let interrupted = end.replace(reason, "interrupted");
        for (ended, words) in [("null".to_owned(), "cut short"), (format!("{interrupted}}}"), "interrupted")] {
            std::fs::write(&path, format!("{before}\"ended\":{ended}{after}")).unwrap();
            let output = run(directory.path(), &["report", &name]);
            assert_eq!(code(&output), 0, "{name}, {words}: {}", stderr(&output));
            assert!(stdout(&output).to_lowercase().contains(words), "{name}, {words}: {}", stdout(&output));
        }
    }
}

/// A loop whose cycles cannot be counted has wakeups that can be judged: what is proposed works, and is not proposed again.
#[test]
fn where_no_cycle_can_be_counted_single_wakeups_are_judged() {
    let golden = support::golden();
    let words = ["report", "follow.punctual", "--period", "1ms", "--json"];
    let proposed = |words: &[&str]| {
        let answer = json(&run(&golden, words));
        let steps = answer["next"].as_array().unwrap().clone();
        steps.into_iter().find(|step| step["purpose"].as_str().unwrap().ends_with("where cycles cannot be counted"))
    };
    let step = proposed(&words).expect("the shell's cycles cannot be counted");
    assert_eq!(step["command"], "punctual report follow.punctual --limit response:max=1ms");
    let limit = ["--limit", "response:max=1ms"];
    assert_eq!(code(&run(&golden, &[&words[..2], &limit[..]].concat())), 2);
    assert_eq!(proposed(&[&words[..], &limit[..]].concat()), None);
}

/// Whoever may call the program as root, and nothing else, gets no file within root's directories.
#[test]
fn what_is_made_through_sudo_is_the_callers_only_where_the_directory_is() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return support::skip("files made through sudo", "not root");
    }
    const USER: u32 = 65_534;
    let directory = tempfile::tempdir().unwrap();
    let [own, roots] = ["own", "roots"].map(|name| directory.path().join(name));
    for path in [&own, &roots] {
        std::fs::create_dir(path).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    chown(&own, Some(USER), Some(USER)).unwrap();
    symlink(&roots, own.join("link")).unwrap();
    std::os::unix::fs::lchown(own.join("link"), Some(USER), Some(USER)).unwrap();
    let golden = support::golden().join("record.punctual");
    let owner_of = |page: &str| {
        let mut command = support::punctual();
        command.env("SUDO_UID", USER.to_string()).env("SUDO_GID", USER.to_string());
        let output =
            command.current_dir(directory.path()).arg("report").arg(&golden).args(["--html", page]).output().unwrap();
        assert_eq!(code(&output), 0, "{page}: {}", stderr(&output));
        std::fs::metadata(directory.path().join(page)).unwrap().uid()
    };
    assert_eq!(owner_of("own/page.html"), USER);
    assert_eq!(owner_of("roots/page.html"), 0);
    assert_eq!(owner_of("own/link/linked.html"), 0);
}
