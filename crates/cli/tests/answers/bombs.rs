//! Inputs made to cost far more than they hold: every reader stays within its memory, answers in time, and in one line.

#[path = "../support/made_up.rs"]
mod made_up;

use made_up::{WAKEUPS, answered, distribution, document, ran, refused, task, write_document, write_table};
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn a_table_of_millions_of_rows_is_read_in_a_few_megabytes() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    let named = recording.to_str().unwrap();
    write_document(&recording, &document(false, &task("fifo:80", 7), ""));
    // Four million rows in one row group: a few hundred kilobytes.
    let value = |column: usize, row: usize| [0, 7, row as i64 * 1_000, 5_000, 0][column];
    write_table(&recording.join("wakeups/000001.parquet"), &WAKEUPS, 4_000_000, 4_000_000, value);
    let report = answered(&["report", named, "--json"]);
    assert_eq!(report.code, Some(0), "{}", report.errors);
    assert!(report.output.contains("4000000"), "{}", report.output);
    assert!(report.peak_bytes < 100_000_000, "{} bytes", report.peak_bytes);
    answered(&["why", named]);
    answered(&["forecast", named]);
}

#[test]
fn rows_of_very_many_cpus_and_values_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    write_document(&recording, &document(false, &task("fifo:80", 7), ""));
    let value = |column: usize, row: usize| [row as i64, 7, row as i64 * 1_000, 5_000 + row as i64, 0][column];
    write_table(&recording.join("wakeups/000001.parquet"), &WAKEUPS, 300_000, 100_000, value);
    let line = refused(&["report", recording.to_str().unwrap()], "000001.parquet");
    assert!(line.contains("distributions"), "{line}");
}

#[test]
fn many_distributions_take_no_more_than_their_text() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    let wide = "[1,1],[9000000000000000000,1]";
    let all: Vec<String> = (0..36_000).map(|cpu| distribution("fifo:80", cpu, wide)).collect();
    write_document(&recording, &document(true, &task("fifo:80", 7), &all.join(",")));
    assert_eq!(answered(&["report", recording.to_str().unwrap()]).code, Some(0));
    let many: Vec<String> = (0..70_000).map(|cpu| distribution("fifo:80", cpu, "[1,1]")).collect();
    write_document(&recording, &document(true, &task("fifo:80", 7), &many.join(",")));
    let line = refused(&["report", recording.to_str().unwrap()], "recording.json");
    assert!(line.contains("65536 distributions"), "{line}");
}

/// What a recording's description may claim: each claim would break arithmetic, or keep an answer from coming in time.
#[test]
fn documents_that_no_measurement_writes_are_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    let sound = document(true, &task("fifo:80", 7), &distribution("fifo:80", 0, "[5,9]"));
    let notes: Vec<String> = (0..100_000).map(|number| format!("\"{number}\"")).collect();
    let notes = notes.join(",");
    let tasks: Vec<String> = (0..36_000).map(|tid| task(&format!("m{tid}"), tid)).collect();
    let measures: Vec<String> = (0..36_000).map(|number| distribution(&format!("m{number}"), 0, "[5,9]")).collect();
    let mut cases = 0;
    for (what, text) in [
        ("notes", sound.replace(r#""fallbacks":[]"#, &format!(r#""fallbacks":[{notes}]"#))),
        ("notes", sound.replace(r#""trouble":[]"#, &format!(r#""trouble":[{notes}]"#))),
        ("period", sound.replace(r#""period_ns":1000000"#, r#""period_ns":18446744073709551615"#)),
        ("counts", sound.replace(r#""wakeups":9"#, r#""wakeups":18446744073709551615"#)),
        ("name", document(true, &task(&"A".repeat(20_000_000), 7), &distribution("fifo:80", 0, "[5,9]"))),
        ("measures", document(true, &tasks.join(","), &measures.join(","))),
    ] {
        assert_ne!(text, sound, "{what}");
        write_document(&recording, &text);
        let named = recording.to_str().unwrap();
        for words in [vec!["report", named], vec!["report", named, "--interarrival", "1us"], vec!["forecast", named]] {
            let line = refused(&words, "recording.json");
            assert!(line.contains(what), "{what}: {line}");
            cases += 1;
        }
    }
    assert_eq!(cases, 18);
}

/// A table with numbers below zero, or with numbers that nothing can be added to, is damaged: it is not a measurement
/// of 0 ns.
#[test]
fn numbers_that_no_measurement_writes_are_no_result() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    write_document(&recording, &document(false, &task("fifo:80", 7), ""));
    let named = recording.to_str().unwrap();
    for worst in [i64::MAX, -1] {
        for (wrong, name) in WAKEUPS.iter().enumerate() {
            let value = move |column: usize, row: usize| {
                if column == wrong { worst } else { [0, 7, row as i64 * 1_000, 5_000, 0][column] }
            };
            write_table(&recording.join("wakeups/000001.parquet"), &WAKEUPS, 1_000, 1_000, value);
            for words in [vec!["report", named], vec!["forecast", named], vec!["compare", named, named]] {
                let ran = answered(&words);
                assert_eq!(ran.code, Some(1), "{words:?}, {worst} as {name}: {}", ran.output);
                assert!(ran.errors.contains("no measurement writes"), "{}", ran.errors);
            }
        }
    }
}

#[test]
fn a_page_of_thousands_of_measures_takes_seconds() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    let tasks: Vec<String> = (0..4_000).map(|tid| task(&format!("m{tid}"), tid)).collect();
    let measures: Vec<String> = (0..4_000).map(|number| distribution(&format!("m{number}"), 0, "[5,9]")).collect();
    write_document(&recording, &document(true, &tasks.join(","), &measures.join(",")));
    let columns = ["tid", "stage", "block", "max_ns", "count"];
    let value = |column: usize, row: usize| [(row % 4_000) as i64, 0, (row / 4_000) as i64, 9, 1][column];
    write_table(&recording.join("maxima/000001.parquet"), &columns, 800_000, 800_000, value);
    let (named, page) = (recording.to_str().unwrap(), directory.path().join("page.html"));
    answered(&["report", named, "--html", page.to_str().unwrap()]);
}

/// A wakeup a second on each of eight CPUs, for a day: what a measurement that long writes for every second.
fn write_a_day(path: &Path) {
    use punctual_recording::*;
    const CPUS: u32 = 8;
    const SECONDS: u64 = 86_400;
    let task = |cpu| Task {
        measure: "fifo:80".into(),
        tid: 100 + cpu,
        cpu: Some(cpu),
        period_ns: BLOCK_NS,
        counters: Counters::default(),
    };
    let configuration = Configuration {
        interval_ns: BLOCK_NS,
        policy: "fifo".into(),
        priorities: vec![80],
        cpus: (0..CPUS).collect(),
        bpf: true,
        ..Configuration::default()
    };
    let load = LoadInfo { name: "none".into(), ..LoadInfo::default() };
    let provenance = Provenance { run_id: "day".into(), configuration, load, ..Provenance::default() };
    let mut writer = Writer::create(path, provenance, (0..CPUS).map(task).collect()).unwrap();
    for second in 0..SECONDS {
        let expected = (second + 1) * BLOCK_NS;
        for cpu in 0..CPUS {
            let late = 5_000 + (second * 7_919 + u64::from(cpu)) % 40_000;
            let stamps = Stamps {
                expected,
                irq: expected + late / 2,
                softirq: expected + late / 2 + 100,
                waking: expected + late / 2 + 200,
                switch_in: expected + late - late / 8,
                user: expected + late,
            };
            writer.push(cpu as usize, &Wakeup::from_stamps(&stamps, cpu, 100 + cpu));
        }
        if second % 7_200 == 7_199 {
            writer.flush().unwrap();
        }
    }
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 0 }, Vec::new()).unwrap();
}

#[test]
fn a_day_on_eight_cpus_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write_a_day(&path);
    let mut rows = 0;
    let recording = punctual_recording::Recording::open(&path).unwrap();
    recording.for_each_block_maximum(|_| rows += 1).unwrap();
    eprintln!("{rows} maxima of seconds");
    assert!(rows > 3 << 20, "{rows} maxima of seconds");
    let named = path.to_str().unwrap();
    let page = directory.path().join("page.html");
    let ways: [&[&str]; 3] =
        [&["report", named, "--json"], &["report", named, "--html", page.to_str().unwrap()], &["forecast", named]];
    let read = || ways.map(answered).map(|ran| assert_eq!(ran.code, Some(0), "{}", ran.errors));
    read();
    // As if it had been killed in its last second: the maxima are rebuilt from the wakeups.
    std::fs::remove_file(path.join("tail.parquet")).unwrap();
    let document = std::fs::read_to_string(path.join("recording.json")).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&document).unwrap();
    document["ended"] = serde_json::Value::Null;
    std::fs::write(path.join("recording.json"), document.to_string()).unwrap();
    read();
}

#[test]
fn seconds_of_threads_that_nobody_measured_take_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    write_document(&recording, &document(true, &task("fifo:80", 7), &distribution("fifo:80", 0, "[5,9]")));
    let columns = ["tid", "stage", "block", "max_ns", "count"];
    // The code of `Stage::Total`.
    const TOTAL: i64 = 5;
    // Each row is of another thread: the table has no bound, but what is kept of it does.
    let value = |column: usize, row: usize| [row as i64, TOTAL, 5, 9, 1][column];
    write_table(&recording.join("maxima/000001.parquet"), &columns, 3_000_000, 1_000_000, value);
    let page = directory.path().join("page.html");
    let page = answered(&["report", recording.to_str().unwrap(), "--html", page.to_str().unwrap()]);
    assert_eq!(page.code, Some(0), "{}", page.errors);
    // Each row is of another second: these are refused.
    let value = |column: usize, row: usize| [7, TOTAL, row as i64, 9, 1][column];
    write_table(&recording.join("maxima/000001.parquet"), &columns, 4_000_000, 1_000_000, value);
    refused(&["forecast", recording.to_str().unwrap()], "seconds with wakeups");
}

#[test]
fn long_wide_and_deep_documents_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    let wide = "[1,1],".repeat(2 << 20) + "[1,1]";
    for (what, text) in [
        ("values", document(true, &task("fifo:80", 7), &distribution("a", 0, &wide))),
        ("nested", document(true, &format!("{}1{}", "[".repeat(100), "]".repeat(100)), "")),
        ("32 MiB", document(true, "", "") + &" ".repeat(40 << 20)),
    ] {
        write_document(&recording, &text);
        let line = refused(&["report", recording.to_str().unwrap()], "recording.json");
        assert!(line.contains(what), "{line}");
    }
}

#[test]
fn a_tail_without_end_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    write_document(&recording, &document(true, &task("fifo:80", 7), &distribution("fifo:80", 0, "[5,9]")));
    let value = |column: usize, row: usize| [7, 0, row as i64, 5_000][column];
    let columns = ["tid", "stage", "expected_ns", "value_ns"];
    write_table(&recording.join("tail.parquet"), &columns, 3_000_000, 1_000_000, value);
    let line = refused(&["forecast", recording.to_str().unwrap()], "tail.parquet");
    assert!(line.contains("largest values"), "{line}");
}

#[test]
fn episodes_whose_stacks_share_nothing_are_told_in_bounds() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    write_document(&recording, &document(true, &task("fifo:80", 7), ""));
    // Each stack is another path of 400 functions: as text, two bytes per function.
    let mut lines = String::new();
    for episode in 0..40 {
        let samples = (0..200).map(|sample| {
            let number = episode * 200 + sample;
            let frames: Vec<String> = (0..400).map(|frame| (number >> (frame % 13) & 1).to_string()).collect();
            format!("[{},0,5,0,false,0,[{}]]", 1_000 + sample, frames.join(","))
        });
        let samples: Vec<String> = samples.collect();
        lines += &format!(
            r#"{{"id":{},"victim":{{"tid":7,"name":"v","priority":19,"cpu":0}},"expected_ns":1000000,"total_ns":900000,
"threshold_ns":1000,"void":null,"sample_period_ns":1000,"names":["x"],"frames":[{{"function":"f","module":"kernel"}},{{"function":"g","module":"kernel"}}],
"events":[[0,0,1,5,19,0,0,7,0,0]],"samples":[{}]}}"#,
            episode + 1,
            samples.join(",")
        )
        .replace('\n', "");
        lines += "\n";
    }
    std::fs::create_dir_all(recording.join("events")).unwrap();
    std::fs::write(recording.join("events/episodes.jsonl"), &lines).unwrap();
    let named = recording.to_str().unwrap();
    assert_eq!(answered(&["why", named]).code, Some(0));
    // In JSON each function is an object of its own; whether that fits or is refused, the bound holds.
    answered(&["why", named, "--json"]);
    std::fs::write(recording.join("events/episodes.jsonl"), "[".repeat(20 << 20) + "\n").unwrap();
    let line = refused(&["why", named], "episodes.jsonl");
    assert!(line.contains("longer than"), "{line}");
}

/// One episode, and the answers about it; each answer takes far less than looking at all events for each one would.
fn told_at_once(events: &[String], stage: &str, ways: &[&[&str]]) -> usize {
    told_at_once_of(r#""x","v""#, events, stage, ways)
}

/// The same with these names.
fn told_at_once_of(names: &str, events: &[String], stage: &str, ways: &[&[&str]]) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    write_document(&recording, &document(true, &task("fifo:80", 7), ""));
    let line = format!(
        r#"{{"id":1,"victim":{{"tid":7,"name":"v","priority":120,"cpu":0}},"expected_ns":1000000000,"total_ns":1000000,"stage":"{stage}","threshold_ns":1000,"void":null,"names":[{names}],"events":[{}]}}"#,
        events.join(",")
    );
    std::fs::create_dir_all(recording.join("events")).unwrap();
    std::fs::write(recording.join("events/episodes.jsonl"), line + "\n").unwrap();
    let (named, file) = (recording.to_str().unwrap(), directory.path().join("file"));
    for way in ways {
        let mut words = vec!["why", named];
        words.extend_from_slice(way);
        if words.contains(&"--perfetto") {
            words.push(file.to_str().unwrap());
        }
        // What a host takes and does not count passes for the program's time: not each time.
        let most = Duration::from_secs(3);
        let first = answered(&words);
        let told = if first.cpu_time < most { first } else { answered(&words) };
        assert_eq!(told.code, Some(0), "{}", told.errors);
        assert!(told.cpu_time < most, "{words:?}, {stage}: {:?}", told.cpu_time);
    }
    ways.len()
}

/// A reader that looks at all events for each of very many waits, CPUs or stretches would take more than minutes.
#[test]
fn episodes_of_very_many_waits_and_cpus_are_told_at_once() {
    let mut cases = 0;
    // Between -900 and 900 us from when it was due, the late thread sleeps, is woken and comes 20,000 times; each kind
    // of event is tried in turn.
    for kind in [2, 18, 24] {
        let round = |number: i64| {
            let at = -900_000 + number * 90;
            let (sleeps, wakes, comes) = (1_i64 << 32 | 120, 1_i64 << 16 | 120, 120);
            [
                format!("[{at},0,1,7,120,1,0,8,{sleeps},0]"),
                format!("[{},0,{kind},8,120,65537,0,7,5,0]", at + 10),
                format!("[{},0,2,8,120,65537,0,7,{wakes},0]", at + 20),
                format!("[{},0,1,8,120,1,0,7,{comes},1]", at + 30),
            ]
        };
        let events: Vec<String> = (0..20_000).flat_map(round).collect();
        for stage in ["total", "response", "request"] {
            cases += told_at_once(&events, stage, &[&[]]);
        }
    }
    // Each event is on a CPU of its own; then all are ends that never began; then all are switches between other
    // threads meanwhile.
    let cpus: Vec<String> = (0..130_000).map(|cpu| format!("[{cpu},{cpu},1,{cpu},120,1,0,9,120,0]")).collect();
    cases += told_at_once(&cpus, "total", &[&[], &["--perfetto"]]);
    let ends: Vec<String> = (0..130_000).map(|at| format!("[{at},0,10,5,120,65537,0,1,120,0]")).collect();
    cases += told_at_once(&ends, "total", &[&[], &["--json"]]);
    let wakes = "[-1000000,0,2,5,120,1,0,7,120,0]".to_owned();
    let others =
        (0..130_000).map(|at| format!("[{at},0,1,{},120,1,0,{},120,0]", 100 + at % 9_000, 100 + (at + 1) % 9_000));
    let others: Vec<String> = std::iter::once(wakes.clone()).chain(others).collect();
    cases += told_at_once(&others, "total", &[&[], &["--json"]]);
    // Each of these has a name of its own, which no other thread has.
    let others = (0..40_000).map(|at| format!("[{at},0,1,{},120,1,0,{},120,{at}]", 100 + at, 101 + at));
    let others: Vec<String> = std::iter::once(wakes).chain(others).collect();
    let names: Vec<String> = (0..40_000).map(|number| format!("\"{number}\"")).collect();
    cases += told_at_once_of(&names.join(","), &others, "total", &[&[]]);
    assert_eq!(cases, 16);
}

/// Half a second of a busy machine in each of many late wakeups is not something that only an attacker writes: all of
/// it is shown.
#[test]
fn many_long_episodes_of_a_busy_machine_are_told() {
    const EPISODES: usize = 40;
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    write_document(&recording, &document(true, &task("fifo:80", 7), ""));
    let wakes = "[-1000000,0,2,5,120,1,0,7,120,0]".to_owned();
    let others =
        (0..20_000).map(|at| format!("[{},0,1,{},120,1,0,{},120,{}]", at * 50, 100 + at % 2, 101 - at % 2, at % 2));
    let events: Vec<String> = std::iter::once(wakes).chain(others).collect();
    let lines: String = (1..=EPISODES)
        .map(|id| {
            format!(
                r#"{{"id":{id},"victim":{{"tid":7,"name":"v","priority":120,"cpu":0}},"expected_ns":1000000000,"total_ns":1000000,"threshold_ns":1000,"void":null,"names":["x","y","v"],"events":[{}]}}"#,
                events.join(",")
            ) + "\n"
        })
        .collect();
    std::fs::create_dir_all(recording.join("events")).unwrap();
    std::fs::write(recording.join("events/episodes.jsonl"), lines).unwrap();
    let named = recording.to_str().unwrap();
    let told = answered(&["why", named, "--json"]);
    assert_eq!(told.code, Some(0), "{}", told.errors);
    // Only the beginning of the answer is kept here: the pieces of the first episodes.
    let pieces = told.output.matches("\"kind\":").count();
    assert!(told.output.starts_with('{') && pieces > 10_000, "{pieces} pieces");
}

/// A recording that a what-if replays may claim any lateness and any length.
#[test]
fn what_a_whatif_cannot_replay_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    write_document(&recording, &document(true, &task("fifo:80", 7), ""));
    let named = recording.to_str().unwrap();
    let mut refusals = 0;
    type Value = fn(usize, usize) -> i64;
    let values: [(usize, Value); 4] = [
        // A lateness of years, wakeups that last years, wakeups at the same time, and more late ones than fit in
        // memory.
        (1_000, |column, row| [0, 7, row as i64 * 1_000_000, 1 << (row % 58), 0][column]),
        (1_000, |column, row| [0, 7, row as i64 * (1 << 51), 5_000 + row as i64 % 2 * 9_000, 0][column]),
        (1_000, |column, row| [0, 7, 1 << 61, 5_000 + row as i64 % 2 * 9_000, 0][column]),
        (2_000_000, |column, row| [0, 7, row as i64 * 1_000, 5_000 + row as i64 % 2 * 9_000, 0][column]),
    ];
    for (rows, value) in values {
        write_table(&recording.join("wakeups/000001.parquet"), &WAKEUPS, rows, 100_000, value);
        for context in ["thread:80", "softirq"] {
            let words =
                ["sim", "whatif", "--device", "modem", "-D", "1s", "--context", context, "--interference", named];
            let ran = answered(&words);
            assert!(matches!(ran.code, Some(0 | 1)), "{:?}: {}", ran.code, ran.errors);
            refusals += usize::from(ran.code == Some(1));
        }
    }
    assert_eq!(refusals, 4, "of a recording of years and of one with a million late wakeups");
}

#[test]
fn what_no_bound_foresaw_ends_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.punctual");
    // Values that are all within their bounds, and yet too many for any answer: a hundred thousand tasks to print.
    let tasks: Vec<String> = (0..100_000).map(|tid| task("fifo:80", tid)).collect();
    write_document(&recording, &document(true, &tasks.join(","), &distribution("fifo:80", 0, "[5,9]")));
    answered(&["report", recording.to_str().unwrap(), "--json"]);
    let paths: Vec<String> = (0..20)
        .map(|number| {
            let other = directory.path().join(format!("{number}.punctual"));
            let text = document(true, &tasks.join(","), &distribution("fifo:80", 0, "[5,9]"));
            let text = text.replace(r#""run_id":"00""#, &format!(r#""run_id":"{number}""#));
            write_document(&other, &text);
            other.to_str().unwrap().to_owned()
        })
        .collect();
    let words: Vec<&str> = std::iter::once("report").chain(paths.iter().map(String::as_str)).collect();
    let line = refused(&words, "0.punctual");
    assert!(line.contains("more than 300 MB of memory"), "{line}");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let pipe = at("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (large, folder, page) = (at("large.toml"), at("folder"), at("page.html"));
    std::fs::write(&large, vec![b'#'; 2 << 20]).unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(at("r.punctual")).unwrap();
    let (recording, document) = (at("r.punctual"), at("r.punctual/recording.json"));
    let begun = Instant::now();
    let mut cases = 0;
    for input in ["/dev/zero", "/dev/null", "/proc/kmsg", "/proc/self/environ", &pipe, &folder, &large] {
        // A file is a load by its ending.
        let link = at("link.toml");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(input, &link).unwrap();
        for words in [
            vec!["schedulability", &link],
            vec!["sim", "run", &link],
            vec!["device", "list", "--profiles", &link],
            vec!["device", "mix", "audio64,modem", "--profiles", &link],
            vec!["reserve", "v90", "--profiles", &link],
            vec!["interact", "--no-bpf", "--script", &link, "--", "true"],
            vec!["sim", "timeline", &link, "--html", &page],
            vec!["lab", "run", "--kernel", &link, "--seeds", "1", "-o", &folder, "--", "capabilities"],
            vec!["load", "show", &link],
        ] {
            let ran = ran(&words);
            assert!(ran.code == Some(1) || ran.code == Some(129), "{words:?}: {:?} {}", ran.code, ran.output);
            assert_eq!(ran.errors.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{}", ran.errors);
            cases += 1;
        }
        if *input != large {
            refused(&["modem", "transfer", &link], "link.toml");
            cases += 1;
        }
        let _ = std::fs::remove_file(&document);
        std::os::unix::fs::symlink(input, &document).unwrap();
        for words in [vec!["report", &recording], vec!["why", &recording], vec!["forecast", &recording]] {
            let ran = ran(&words);
            assert_eq!(ran.code, Some(1), "{words:?}: {}", ran.output);
            assert_eq!(ran.errors.lines().count(), 1, "{}", ran.errors);
            cases += 1;
        }
    }
    eprintln!("{cases} inputs that are no files, {:?}", begun.elapsed());
}
