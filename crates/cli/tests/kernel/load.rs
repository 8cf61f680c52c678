//! Loads against the running system: files, packages, counting, ends. No privilege is needed.

use crate::support::{self, code, is_alive, json, run, start, stderr, stdout, wait_until};
use punctual_recording::{LoadScore, Recording};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Writes a load file with one command.
fn file(directory: &Path, name: &str, before: &str, command: &str) {
    let text =
        format!("about = \"a trifle\"\nwarm_up = \"300ms\"\n{before}\n[[command]]\nname = \"trifle\"\n{command}\n");
    std::fs::write(directory.join(name), text).unwrap();
}

fn only_score(answer: &Value) -> (f64, u64) {
    let scores = answer["scores"].as_array().unwrap();
    assert_eq!(scores.len(), 1, "{answer}");
    assert_eq!((&scores[0]["name"], &scores[0]["unit"]), (&"trifle".into(), &"iterations".into()));
    (scores[0]["count_thousandths"].as_f64().unwrap() / 1_000.0, scores[0]["elapsed_ns"].as_u64().unwrap())
}

#[test]
fn loads_are_listed_and_shown_as_files_that_work() {
    let directory = tempfile::tempdir().unwrap();
    let listed = json(&run(directory.path(), &["load", "list", "--json"]));
    assert_eq!(listed["schema"], "punctual.load/1");
    let names: Vec<&str> =
        listed["loads"].as_array().unwrap().iter().map(|load| load["name"].as_str().unwrap()).collect();
    assert!(["none", "mixed", "office", "workstation", "games", "web"].iter().all(|name| names.contains(name)));
    for name in ["office", "cpu"] {
        let shown = run(directory.path(), &["load", "show", name]);
        assert_eq!(code(&shown), 0, "{}", stderr(&shown));
        std::fs::write(directory.path().join("mine.toml"), &shown.stdout).unwrap();
        let again = run(directory.path(), &["load", "show", "mine.toml"]);
        assert_eq!(stdout(&again), stdout(&shown));
    }
    assert_eq!(code(&run(directory.path(), &["load", "run", "none"])), 129);
}

#[test]
fn what_cannot_be_used_is_one_clear_line() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |words: &[&str], exit: i32, parts: &[&str]| {
        let output = run(directory.path(), words);
        let said = stderr(&output);
        assert_eq!(code(&output), exit, "{words:?}: {said}");
        let line = said.lines().find(|line| line.starts_with("error: ")).unwrap_or_else(|| panic!("{said}"));
        assert!(parts.iter().all(|part| line.contains(part)), "{words:?}: {said}");
        assert!(said.lines().count() <= 4, "{said}");
    };
    file(directory.path(), "typo.toml", "", "run = \"true\"\npase = \"1s\"");
    file(
        directory.path(),
        "missing.toml",
        "[needs]\nprograms = [\"no-such-program\"]\n[packages]\napt = [\"no-such-package\"]\ndnf = [\"no-such-package\"]\npacman = [\"no-such-package\"]",
        "run = \"true\"",
    );
    file(directory.path(), "unprepared.toml", "prepare = \"echo gone wrong >&2; exit 4\"", "run = \"true\"");
    refused(&["record", "--load", "typo.toml"], 129, &["typo.toml:7:", "pase", "pace"]);
    refused(&["check", "--load", "lots"], 129, &["lots", "office", "mixed"]);
    refused(&["record", "--load", "gone.toml"], 129, &["gone.toml", "no such file"]);
    refused(&["record", "--load", "missing.toml"], 1, &["no-such-program", "punctual load install missing.toml"]);
    refused(&["load", "run", "unprepared.toml"], 1, &["unprepared", "code 4", "gone wrong"]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3, "nothing was recorded");
}

#[test]
fn nothing_is_installed_without_a_yes() {
    let directory = tempfile::tempdir().unwrap();
    let packages = "[packages]\napt = [\"a-package\"]\ndnf = [\"a-package\"]\npacman = [\"a-package\"]";
    file(
        directory.path(),
        "missing.toml",
        &format!("[needs]\nprograms = [\"no-such-program\"]\n{packages}"),
        "run = \"true\"",
    );
    let output = run(directory.path(), &["load", "install", "missing.toml"]);
    // Without any package manager, there is nothing to ask about.
    if stderr(&output).contains("by hand") {
        assert_eq!(code(&output), 1);
        return;
    }
    assert_eq!(code(&output), 129, "{}", stderr(&output));
    assert!(stderr(&output).contains("a-package") && stderr(&output).contains("--yes"), "{}", stderr(&output));
    file(directory.path(), "there.toml", "[needs]\nprograms = [\"sh\"]", "run = \"true\"");
    let output = run(directory.path(), &["load", "install", "there.toml"]);
    assert!(stdout(&output).contains("nothing to do"), "{}", stdout(&output));
}

#[test]
fn a_paced_command_is_counted_and_nothing_is_left_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().display();
    file(
        directory.path(),
        "mine.toml",
        "compression = 2.5\nprepare = \"echo made > made\"",
        &format!(
            "run = \"cat made other > /dev/null && echo >> {here}/count && pwd > {here}/scratch && (setsid sleep 1000 & echo $! >> {here}/pids)\"\npace = \"100ms\"\n[files]\nother = \"text\"",
        ),
    );
    let began = Instant::now();
    let output = run(directory.path(), &["load", "run", "mine.toml", "-D", "2s", "--json"]);
    let took = began.elapsed();
    let answer = json(&output);
    assert_eq!(code(&output), 0, "{answer}");
    let (count, elapsed_ns) = only_score(&answer);
    let all = std::fs::read_to_string(directory.path().join("count")).unwrap().lines().count() as f64;
    assert!(count > 0.0 && count <= all, "{count} of {all}");
    // No faster than the pace, and every iteration that took place, except those before and after, and one under way at
    // either end. A busy machine warms up and ends for longer.
    assert!(count <= elapsed_ns as f64 / 1e8 + 1.0, "{answer}");
    let around = took.saturating_sub(Duration::from_nanos(elapsed_ns)).as_secs_f64() / 0.1;
    assert!(all - count <= around + 2.0, "{count} of {all}, {around:.1} of them around: {answer}");
    assert_eq!(answer["scores"][0]["pace_ns"], 100_000_000);
    let noted = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    assert!(!Path::new(noted("scratch").trim()).exists(), "the directory outlived the load");
    // The last pid: numbers of earlier ones may be others' by now.
    let pids = noted("pids");
    let pid = pids.lines().last().expect("a process was noted");
    assert!(wait_until(|| !is_alive(pid)), "a process outlived the load");
}

#[test]
fn a_command_that_crashes_is_said_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), "bad.toml", "", "run = \"echo some words; echo last words >&2; exit 7\"");
    let output = run(directory.path(), &["load", "run", "bad.toml", "-D", "1s"]);
    // Before the measurement or during it, depending on how fast the machine is.
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    let said = stdout(&output) + &stderr(&output);
    assert!(said.contains("trifle") && said.contains("code 7") && said.contains("last words"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    // A command that is not repeated and ends badly before the measurement keeps the measurement from beginning.
    file(directory.path(), "bad.toml", "", "run = \"kill -SEGV $$\"\nrepeat = false");
    let output = run(directory.path(), &["record", "-q", "-D", "1s", "--load", "bad.toml", "-o", "a.punctual"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("`trifle` was ended by a signal"), "{}", stderr(&output));
    assert!(!directory.path().join("a.punctual").exists());
}

#[test]
fn what_is_written_in_the_output_is_the_score() {
    let directory = tempfile::tempdir().unwrap();
    file(
        directory.path(),
        "mine.toml",
        "",
        "run = \"n=0; while sleep 0.1; do n=$((n+3)); echo frame=$n; done\"\nrepeat = false\nscore = { unit = \"frames\", match = '^frame=(?<count>\\d+)' }",
    );
    let began = Instant::now();
    let answer = json(&run(directory.path(), &["load", "run", "mine.toml", "-D", "2s", "--json"]));
    let took = began.elapsed();
    let score = &answer["scores"][0];
    assert_eq!(score["unit"], "frames", "{answer}");
    let count = score["count_thousandths"].as_u64().unwrap();
    // At most three frames in each tenth of a second that the program ran, for however long a busy machine let it run.
    let most = took.as_secs_f64() / 0.1 * 3_000.0;
    assert!(count > 0 && count.is_multiple_of(3_000) && count as f64 <= most, "{answer}");
    assert!(score["elapsed_ns"].as_u64().unwrap() <= answer["elapsed_ns"].as_u64().unwrap(), "{answer}");
}

#[test]
fn a_job_file_of_stress_ng_runs_and_is_scored() {
    if !support::load_is_installed("cpu") {
        support::skip("a_job_file_of_stress_ng_runs_and_is_scored", "stress-ng is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // Not `get`: it looks up the machine's own name, which takes seconds where nobody knows that name.
    std::fs::write(directory.path().join("two.job"), "run parallel\ncpu 1\nswitch 1\n").unwrap();
    // On a busy machine, one of them may not get anything done in a second.
    let names = |seconds: u32| -> Vec<String> {
        let length = format!("{seconds}s");
        let output = run(directory.path(), &["load", "run", "two.job", "-D", &length, "--json"]);
        let answer = json(&output);
        assert_eq!(code(&output), 0, "{answer}");
        let scores = answer["scores"].as_array().unwrap();
        scores.iter().map(|score| score["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut found = names(1);
    for seconds in [3, 9, 20] {
        if found.len() < 2 {
            assert!(found.iter().all(|name| ["two cpu", "two switch"].contains(&name.as_str())), "{found:?}");
            found = names(seconds);
        }
    }
    assert_eq!(found, ["two cpu", "two switch"]);
    std::fs::write(directory.path().join("bad.job"), "frobnicate 1\n").unwrap();
    let output = run(directory.path(), &["load", "run", "bad.job", "-D", "1s"]);
    assert_eq!(code(&output), 1);
    // Before the measurement or during it, depending on how fast the machine is.
    let said = stdout(&output) + &stderr(&output);
    assert!(said.contains("frobnicate"), "{said}");
}

#[test]
fn a_recording_keeps_what_its_load_got_done() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), "mine.toml", "compression = 2.5", "run = \"true\"\npace = \"50ms\"");
    let output =
        run(directory.path(), &["record", "-q", "-D", "1500ms", "--load", "mine.toml", "-o", "a.punctual", "--json"]);
    let answer = json(&output);
    assert_eq!(code(&output), 0, "{answer}");
    let (count, elapsed_ns) = only_score(&answer);
    assert!(count >= 1.0 && elapsed_ns > 0);
    let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
    let load = &recording.document().provenance.load;
    assert_eq!((load.name.as_str(), load.compression_thousandths), ("mine", Some(2_500)));
    assert_eq!(load.warm_up_ns, 300_000_000);
    assert!(load.trouble.is_empty(), "{:?}", load.trouble);
    let LoadScore { name, unit, pace_ns, .. } = &load.scores[0];
    assert_eq!((name.as_str(), unit.as_str(), *pace_ns), ("trifle", "iterations", Some(50_000_000)));
    let report = run(directory.path(), &["report", "a.punctual"]);
    assert!(
        stdout(&report).contains("load did trifle") && stdout(&report).contains("2.5 of use"),
        "{}",
        stdout(&report)
    );
    // A program whose end ends the measurement is one iteration of itself.
    let output = run(directory.path(), &["record", "-q", "-o", "b.punctual", "--json", "--", "sleep", "1"]);
    let score = &json(&output)["scores"][0];
    assert_eq!((&score["name"], &score["count_thousandths"]), (&"sleep".into(), &1_000.into()));
    assert!(score["elapsed_ns"].as_u64().unwrap() >= 1_000_000_000, "{score}");
}

#[test]
fn an_interrupt_while_a_load_warms_up_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().display();
    let text = format!(
        "about = \"slow\"\nwarm_up = \"60s\"\n[[command]]\nname = \"slow\"\nrun = \"echo $$ > {here}/pid; exec sleep 1000\"\n"
    );
    std::fs::write(directory.path().join("slow.toml"), text).unwrap();
    let child = start(directory.path(), &["record", "-q", "--load", "slow.toml", "-o", "a.punctual"]);
    let pid = || std::fs::read_to_string(directory.path().join("pid")).unwrap_or_default().trim().to_owned();
    assert!(wait_until(|| !pid().is_empty()));
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("nothing was measured"), "{}", stderr(&output));
    assert!(!is_alive(&pid()) && !directory.path().join("a.punctual").exists());
}

#[test]
fn what_the_load_started_ends_even_when_its_guard_was_killed() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().display();
    let command = format!("echo $PPID > {here}/guard; sleep 1000 & echo $! > {here}/inner; wait");
    file(directory.path(), "mine.toml", "", &format!("run = \"{command}\"\nrepeat = false"));
    let child = start(directory.path(), &["record", "-q", "-D", "5s", "--load", "mine.toml", "-o", "a.punctual"]);
    let noted = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap_or_default().trim().to_owned();
    assert!(wait_until(|| !noted("inner").is_empty() && directory.path().join("a.punctual/recording.json").exists()));
    let guard: i32 = noted("guard").parse().unwrap();
    // SAFETY: sends a signal to the guard of this test's own run, which is still going on.
    unsafe { libc::kill(guard, libc::SIGKILL) };
    let output = child.wait_with_output().unwrap();
    assert!(stdout(&output).contains("ended from outside"), "{}{}", stdout(&output), stderr(&output));
    assert!(wait_until(|| !is_alive(&noted("inner"))), "a process outlived the load");
}

#[test]
fn a_load_that_writes_without_end_ends_with_its_run_however_that_ends() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().display();
    file(
        directory.path(),
        "flood.toml",
        "",
        &format!(
            "run = \"echo $$ > {here}/pid; exec yes\"\nrepeat = false\nscore = {{ unit = \"lines\", match = '^line=(?<count>\\d+)' }}",
        ),
    );
    let pid = || std::fs::read_to_string(directory.path().join("pid")).unwrap_or_default().trim().to_owned();
    let mut child = start(directory.path(), &["load", "run", "flood.toml", "-D", "60s"]);
    assert!(wait_until(|| !pid().is_empty()));
    support::signal(&child, libc::SIGKILL);
    child.wait().unwrap();
    assert!(wait_until(|| !is_alive(&pid())), "a process outlived the load");
}

/// The shortest of the real loads, if it is installed.
#[test]
fn real_programs_run_and_are_scored() {
    let directory = tempfile::tempdir().unwrap();
    let shown = json(&run(directory.path(), &["load", "show", "workstation", "--json"]));
    if shown["loads"][0]["installed"] != true {
        support::skip("real_programs_run_and_are_scored", &format!("missing: {}", shown["loads"][0]["missing"]));
        return;
    }
    let text = shown["loads"][0]["file"].as_str().unwrap().replace("warm_up = \"5s\"", "warm_up = \"1s\"");
    std::fs::write(directory.path().join("short.toml"), text).unwrap();
    let scratch = directory.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let mut command = support::punctual();
    command.current_dir(directory.path()).env("TMPDIR", &scratch);
    let output = command.args(["load", "run", "short.toml", "-D", "4s", "--json"]).output().unwrap();
    let answer = json(&output);
    assert_eq!(code(&output), 0, "{answer}");
    for score in answer["scores"].as_array().unwrap() {
        assert!(["build", "render"].contains(&score["name"].as_str().unwrap()), "{answer}");
    }
    // Whatever it got done, no directory of this run is left.
    let left = || std::fs::read_dir(&scratch).unwrap().flatten().map(|entry| entry.file_name().display().to_string());
    let is_empty = wait_until(|| !left().any(|name| name.starts_with("punctual-load-")));
    assert!(is_empty, "{:?}", left().collect::<Vec<_>>());
}
