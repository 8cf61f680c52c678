//! `punctual sim` as whole commands.

use crate::support::{self, code, is_alive, json, run, signal, start, stderr, stdout, wait_until};
use punctual_recording::Recording;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::time::Duration;

#[test]
fn a_prediction_that_fails_fails_the_command() {
    let directory = tempfile::tempdir().unwrap();
    let failing = ["sim", "run", "nt-timers-table3", "--set", "clock.period=1ms", "--json"];
    let output = run(directory.path(), &failing);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(json(&output)["verdict"].as_str().unwrap().contains("FAIL"));
    assert_eq!(code(&run(directory.path(), &["sim", "run", "nt-timers-table3", "--set", "clock"])), 129);
    let two_modems = run(directory.path(), &["sim", "run", "two-modems"]);
    let constraints = stdout(&two_modems);
    assert_eq!(code(&two_modems), 0, "{constraints}");
    assert!(constraints.contains("time constraints granted"), "{constraints}");
    let sweep = [
        "sim",
        "run",
        "soft-modem-dialup",
        "--case",
        "THR 8",
        "--set",
        "runs=1",
        "--sweep",
        "machine.quantum=20ms,90ms",
        "--json",
    ];
    let answer = json(&run(directory.path(), &sweep));
    assert_eq!(answer["points"][1]["values"][0], "90ms");
    assert!(answer["points"][0]["overruns"] == 0 && answer["points"][1]["overruns"].as_u64() > Some(10), "{answer}");
}

#[test]
fn an_experiment_runs_by_name_or_file_and_its_wakeups_are_a_recording() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["sim", "run", "nt-timers-table3", "--json", "-o", "a.punctual"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(json(&output)["schema"], "punctual.sim/1");
    let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
    assert_eq!(recording.count_not_adding_up().unwrap(), 0);
    assert!(recording.document().counters.wakeups > 9_000);
    // The code that reads it is the one that reads a measured recording.
    assert_eq!(code(&run(directory.path(), &["report", "a.punctual"])), 0);
    assert_eq!(code(&run(directory.path(), &["forecast", "a.punctual"])), 0);
    let listed = stdout(&run(directory.path(), &["sim", "list"]));
    // What each is about, and its cases as `--case` takes them: some names have commas.
    assert!(listed.contains("  soft-modem-table3: Reservations of any period, "), "{listed}");
    assert!(
        listed.contains("    cases: `INT`, ") && listed.contains(", `INT, stress`, `THR 24, stress`, "),
        "{listed}"
    );
}

#[test]
fn a_what_if_on_a_recording_and_a_sweep_that_resumes() {
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), &["sim", "run", "nt-timers-table3", "-o", "a.punctual"]);
    let words = ["sim", "whatif", "--device", "audio64", "--interference", "a.punctual", "-D", "1m", "--json"];
    let answer = json(&run(directory.path(), &words));
    assert_eq!(answer["schema"], "punctual.whatif/1");
    assert!(answer["activations"].as_u64().unwrap() > 40_000);

    let sweep = ["--sweep", "period=4..7", "--sweep", "runtime=1..2", "-D", "10s", "--json"];
    let base = ["sim", "whatif", "--device", "modem", "--context", "slots:1/4"];
    let words = |extra: &[&'static str]| base.iter().chain(&sweep).chain(extra).copied().collect::<Vec<_>>();
    let whole = json(&run(directory.path(), &words(&[])));
    assert_eq!(whole["points"].as_array().unwrap().len(), 8);
    run(directory.path(), &words(&["-o", "points.parquet", "--shard", "1/2"]));
    let resumed = json(&run(directory.path(), &words(&["-o", "points.parquet"])));
    assert_eq!(resumed["points"], whole["points"]);
}

/// Recordings that say when they were made, a minute apart, answer about a run at a known time; what cannot be asked is
/// refused.
#[test]
fn a_run_at_a_known_time_is_asked_of_recordings_that_say_when_they_were_made() {
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), &["sim", "run", "nt-timers-table3", "-o", "0.punctual"]);
    let at = |path: &str| directory.path().join(path);
    for minute in 1..9_i64 {
        let name = format!("{minute}.punctual");
        let copied = Command::new("cp").arg("-r").arg(at("0.punctual")).arg(at(&name)).status().unwrap();
        assert!(copied.success());
        let path = at(&name).join("recording.json");
        let mut document: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let clock = &mut document["provenance"]["monotonic_to_unix_ns"];
        assert_eq!(*clock, 0, "a simulated recording does not say when it was made");
        *clock = (1_700_000_000_000_000_000 + minute * 60_000_000_000).into();
        std::fs::write(&path, document.to_string()).unwrap();
    }
    let ask = |recordings: &[u32], more: &[&'static str]| {
        let mut words = vec!["sim", "whatif", "--device", "audio64", "-D", "5s", "--json"];
        let names: Vec<String> = recordings.iter().map(|number| format!("{number}.punctual")).collect();
        for name in &names {
            words.extend(["--interference", name]);
        }
        words.extend(more);
        run(directory.path(), &words)
    };
    for time in ["next", "2023-11-14T22:17:50Z"] {
        let answer = json(&ask(&[1, 2, 3, 4, 5, 6, 7, 8], &["--at", time]));
        assert!(answer["interval"]["misses_expected"].is_u64(), "{time}: {answer}");
    }
    assert!(json(&ask(&[1, 2, 3, 4, 5, 6, 7, 8], &[]))["interval"]["misses_expected"].is_null());
    for (recordings, more, said) in [
        (&[1, 2, 3, 4][..], &["--at", "next"][..], "4 recordings"),
        (&[1, 2, 3, 4, 5, 6, 7, 0], &["--at", "next"], "0.punctual does not say when it was made"),
        (&[1, 2, 3, 4, 5, 6, 7, 7], &["--at", "next"], "at the same time"),
        (&[1, 2, 3, 4, 5, 6, 7, 8], &["--at", "tomorrow"], "such as 2026-11-26T14:03:20Z"),
        (&[1, 2, 3, 4, 5, 6, 7, 8], &["--at", "next", "--sweep", "buffers=2..3"], "--sweep"),
        (&[], &["--at", "next"], "--interference"),
    ] {
        let output = ask(recordings, more);
        assert_eq!(code(&output), 129, "{more:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said) || stdout(&output).contains(said), "{said}: {}", stderr(&output));
    }
}

#[test]
fn wrong_questions_are_one_line_with_their_place() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("key.toml", "schema = \"punctual.experiment/1\"\nname = \"x\"\nduration = \"1s\"\ncolour = 1\n");
    write("empty.toml", "");
    for (words, expected) in [
        (vec!["sim", "run", "key.toml"], 1),
        (vec!["sim", "run", "empty.toml"], 1),
        (vec!["sim", "run", "no-such-experiment"], 129),
        (vec!["sim", "timeline", "soft-modem-dialup", "--from", "2s", "--to", "1s", "--html", "t.html"], 129),
        (vec!["sim", "timeline", "soft-modem-dialup", "--to", "11s", "--html", "t.html"], 129),
        (vec!["sim", "whatif", "--device", "submarine"], 129),
        (vec!["sim", "whatif", "--device", "modem", "--context", "moon"], 129),
        (vec!["sim", "whatif", "--device", "modem", "--competitor", "90"], 129),
        (vec!["sim", "whatif", "--device", "modem", "--context", "reservation:9ms/8ms", "-D", "1s"], 129),
        (vec!["sim", "whatif", "--device", "modem", "--context", "slots:9/4", "-D", "1s"], 129),
        (vec!["sim", "whatif", "--device", "modem", "--sweep", "period=1..1000000000"], 129),
        (vec!["sim", "whatif", "--device", "modem", "--sweep", "colour=1..2"], 129),
        (
            vec![
                "sim",
                "whatif",
                "--device",
                "modem",
                "--context",
                "slots:1/4",
                "--sweep",
                "period=4",
                "--shard",
                "3/2",
            ],
            129,
        ),
        (vec!["sim"], 129),
    ] {
        let output = run(directory.path(), &words);
        assert_eq!(code(&output), expected, "{words:?}: {}{}", stdout(&output), stderr(&output));
        let lines: Vec<String> = stderr(&output).lines().map(str::to_owned).collect();
        assert!(lines[0].starts_with("error: ") && lines.len() <= 2, "{words:?}: {lines:?}");
    }
    assert!(stderr(&run(directory.path(), &["sim", "run", "key.toml"])).contains("key.toml:4"));
}

#[test]
fn what_is_asked_wrongly_of_an_experiment_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let mut met = 0;
    for (words, expected) in [
        (vec!["nt-timers-table3", "--case", "nope"], "there is no case \"nope\": give one of \"as it was\""),
        (vec!["nt-timers-table3", "--set", "clock.speed=1ms"], "--set clock.speed=1ms: unknown field `speed`"),
        (vec!["nt-timers-table3", "--set", "clock"], "write it as KEY=VALUE"),
        (vec!["nt-timers-table3", "--set", "machine.quantum=20"], "a length of time with its unit, such as \"20ms\""),
        (vec!["nt-timers-table3", "--set", "runs=2", "--set", "machine.speed=1"], "--set machine.speed=1: unknown"),
        (vec!["two-modems", "--set", "thread.film.migrates=true"], "a time constraint belongs to one CPU"),
        (vec!["soft-modem-table3", "--sweep", "device.policy.reservation.runtime=8..1"], "the range is empty"),
        (vec!["soft-modem-table3", "--case", "nope", "--sweep", "runs=1..2"], "there is no case \"nope\""),
    ] {
        let output = run(directory.path(), &[vec!["sim", "run"], words.clone()].concat());
        assert_eq!(code(&output), 129, "{words:?}: {}{}", stdout(&output), stderr(&output));
        let line = stderr(&output).lines().next().unwrap_or_default().to_owned();
        assert!(line.starts_with("error: ") && line.contains(expected), "{words:?}: {line}");
        met += 1;
    }
    assert_eq!(met, 8);
    // A key that the file leaves at its default can be set, and a case can be run alone.
    assert_eq!(code(&run(directory.path(), &["sim", "run", "nt-timers-table3", "--set", "machine.quantum=20ms"])), 0);
    let answer = json(&run(directory.path(), &["sim", "run", "soft-modem-dialup", "--case", "INT", "--json"]));
    assert_eq!(answer["cases"].as_array().unwrap().len(), 1, "{answer}");
    let open =
        answer["rows"].as_array().unwrap().iter().filter(|row| row["class"] == "prediction" && row["holds"].is_null());
    assert!(open.count() > 0 && answer["verdict"].as_str().unwrap().contains("not asked for"), "{answer}");
}

/// Whether a process has a handler for a signal.
fn catches(child: &Child, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
    caught.is_some_and(|caught| caught & 1 << (signal - 1) != 0)
}

/// The CPU time of a process, also of one that has ended and was not waited for. Linux gives it in hundredths of a second.
fn cpu_time(child: &Child) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let (_, behind_name) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    Duration::from_millis(fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum())
}

/// How much CPU time a computation takes from Ctrl-C until it has ended. It says that it was interrupted, and keeps what it
/// computed.
fn cpu_time_to_end(directory: &Path, words: &[&str]) -> Duration {
    let mut child = start(directory, &[&["sim"], words, &["--json"]].concat());
    // On a busy machine it takes a while until the program handles signals at all.
    assert!(wait_until(|| catches(&child, libc::SIGINT)), "{words:?}");
    std::thread::sleep(Duration::from_millis(700));
    let before = cpu_time(&child);
    signal(&child, libc::SIGINT);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    assert!(wait_until(|| !is_alive(&child.id().to_string())), "{words:?}");
    let took = cpu_time(&child).saturating_sub(before);
    let output = Output { status: child.wait().unwrap(), stdout, stderr };
    assert_eq!(code(&output), 1, "{words:?}: {}", support::stderr(&output));
    let answer = json(&output);
    assert_eq!(answer["interrupted"], true, "{words:?}: {answer}");
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(verdict.to_lowercase().contains("interrupted"), "{words:?}: {verdict}");
    took
}

/// Each of these takes far longer than the time that it gets.
#[test]
fn ctrl_c_ends_a_computation_soon_and_keeps_what_was_computed() {
    // A computation waits for nothing, so its CPU time says how soon it ends, however long others keep it from the CPUs. It takes
    // tenths of a second on two CPUs, where each finishes what it is at.
    let soon = Duration::from_secs(std::thread::available_parallelism().map_or(1, usize::from) as u64);
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), &["sim", "run", "nt-timers-table3", "--set", "duration=40s", "-o", "a.punctual"]);
    let mut met = 0;
    for words in [
        &["papers", "--mutations"][..],
        &["run", "soft-modem-table3", "--set", "runs=50"],
        &["run", "soft-modem-table3", "--sweep", "device.policy.reservation.period=4..20", "--sweep", "seed=1..50"],
        &["whatif", "--device", "modem", "--interference", "a.punctual", "-D", "20d"],
        &["whatif", "--device", "modem", "--context", "slots:1/4", "-D", "20d", "--sweep", "period=4..40"],
    ] {
        let took = cpu_time_to_end(directory.path(), words);
        assert!(took < soon, "{words:?} computed for {took:?} after Ctrl-C");
        met += 1;
    }
    assert_eq!(met, 5);
}

#[test]
fn pages_timelines_and_traces_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let page = |words: &[&str], name: &str| {
        let output = run(directory.path(), words);
        assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
        std::fs::read(directory.path().join(name)).unwrap()
    };
    let run_page = page(&["sim", "run", "nt-timers-table3", "--html", "r.html"], "r.html");
    assert!(String::from_utf8(run_page).unwrap().contains("9,760"));
    let words =
        ["sim", "timeline", "soft-modem-dialup", "--from", "24s", "--html", "t.html", "--perfetto", "t.pftrace"];
    assert!(String::from_utf8(page(&words, "t.html")).unwrap().contains("<svg"));
    assert!(std::fs::metadata(directory.path().join("t.pftrace")).unwrap().len() > 100);
    let words = [
        "sim",
        "whatif",
        "--device",
        "modem",
        "--context",
        "slots:1/4",
        "--sweep",
        "period=4..7",
        "--sweep",
        "runtime=1..2",
        "-D",
        "10s",
        "--html",
        "w.html",
    ];
    let axes = |page: Vec<u8>, names: [&str; 2]| {
        let page = String::from_utf8(page).unwrap();
        assert!(names.iter().all(|name| page.contains(name)), "{names:?}: {page}");
    };
    axes(page(&words, "w.html"), [">↑ period, ms</text>", ">runtime, ms →</text>"]);
    let key = "device.policy.reservation";
    let sweeps = [format!("{key}.runtime=1..2"), format!("{key}.period=7..8")];
    let words = [
        "sim",
        "run",
        "soft-modem-table3",
        "--set",
        "runs=2",
        "--html",
        "s.html",
        "--sweep",
        &sweeps[0],
        "--sweep",
        &sweeps[1],
    ];
    axes(
        page(&words, "s.html"),
        [">↑ device.policy.reservation.runtime, slots</text>", ">device.policy.reservation.period, slots →</text>"],
    );
    assert_eq!(code(&run(directory.path(), &["sim", "timeline", "soft-modem-dialup"])), 129);
    assert_eq!(code(&run(directory.path(), &["sim", "papers", "--html", "/proc/none/x.html"])), 1);
}
