//! Runs that did not measure what the user asked for say so, and exit accordingly.

use crate::requires;
use crate::support::{self, code, json, run, start, stderr, stdout, wait_until};
use std::time::Duration;

/// Commands that run for a short time, each with what its load does.
const FAILING: [&[&str]; 7] = [
    &["record", "-q", "-D", "2s", "--load-command", "no-such-program-anywhere"],
    &["record", "-q", "--", "false"],
    &["record", "-q", "--", "make", "--no-print-directory", "-f", "no-such-makefile"],
    &["record", "-q", "--", "sh", "-c", "kill -9 $$"],
    &["check", "-q", "-D", "4s", "--load", "dies.toml"],
    &["log", "-q", "--", "false"],
    &["compare", "-q", "--repeat", "1", "-D", "500ms", "--while-b", "no-such-program-anywhere"],
];

const DIES: &str =
    "about = \"dies\"\nwarm_up = \"0s\"\n[[command]]\nname = \"dies\"\nrun = \"sleep 0.2; exit 3\"\nrepeat = false\n";

#[test]
fn a_load_that_fails_is_an_error_unless_that_is_wanted() {
    // All at once, to save time; what they measure does not matter.
    let met: u32 = std::thread::scope(|scope| {
        let tries: Vec<_> = FAILING.iter().map(|words| scope.spawn(|| fails_unless_wanted(words))).collect();
        tries.into_iter().map(|tried| tried.join().unwrap()).sum()
    });
    eprintln!("{met} runs with a failing load");
    assert!(met >= 6);
}

/// How many runs it took to see it.
fn fails_unless_wanted(words: &[&'static str]) -> u32 {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("dies.toml"), DIES).unwrap();
    if words[0] == "log" && support::allows("BPF").is_err() {
        return 0;
    }
    let position = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let with = |extra: &[&'static str]| {
        let (before, after) = words.split_at(position);
        before.iter().chain(extra).chain(after).copied().collect::<Vec<_>>()
    };
    let output = run(directory.path(), &with(&["--json", "-o", "a.punctual"]));
    assert_eq!(code(&output), 1, "{words:?}: {}{}", stdout(&output), stderr(&output));
    let answer = json(&output);
    assert_eq!(answer["exit_code"], 1, "{words:?}");
    let said = format!("{}{}", answer["verdict"], answer["error"]);
    assert!(said.contains("load failed") || said.contains("could not be started"), "{words:?}: {said}");
    if said.contains("could not be started") {
        return 1;
    }
    let output = run(directory.path(), &with(&["--json", "-o", "b.punctual", "--ignore-failure"]));
    assert_eq!(code(&output), 0, "{words:?}: {}{}", stdout(&output), stderr(&output));
    2
}

/// Measurements that run a command, whose output they must keep apart from the answer.
const BESIDE: [&[&str]; 3] = [&["record", "-q"], &["record", "-q", "--follow"], &["log", "-q"]];

/// A command's output belongs to the command: both its streams go to standard error in order, so that standard output
/// holds only the answer. How it ended is reported, and decides the exit code.
#[test]
fn the_output_of_a_command_is_never_part_of_the_answer() {
    let mut met = 0;
    for (words, json_too) in BESIDE.iter().flat_map(|words| [(words, false), (words, true)]) {
        if (words[0] == "log" || words.contains(&"--follow")) && support::allows("BPF").is_err() {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let command = ["--", "sh", "-c", "echo its-output; echo its-error >&2; echo its-end; sleep 0.3; exit 7"];
        let asked: &[&str] = if json_too { &["--json", "-o", "a.punctual"] } else { &["-o", "a.punctual"] };
        let output = run(directory.path(), &[words, asked, &command[..]].concat());
        assert_eq!(code(&output), 1, "{words:?}: {}{}", stdout(&output), stderr(&output));
        // The answer has the command's words, because they were run, and no line that the command printed.
        let lines =
            |text: &str| text.lines().filter(|line| line.starts_with("its-")).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(&stdout(&output)), Vec::<String>::new(), "{words:?}");
        assert_eq!(lines(&stderr(&output)), ["its-output", "its-error", "its-end"], "{words:?}");
        let verdict = match json_too {
            true => json(&output)["verdict"].as_str().unwrap().to_owned(),
            false => stdout(&output).lines().next().unwrap().to_owned(),
        };
        assert!(verdict.contains("The load failed") && verdict.contains("ended with code 7"), "{verdict}");
        met += 1;
    }
    eprintln!("{met} commands with output of their own");
    assert!(met >= 2);
}

#[test]
fn a_program_that_ends_well_is_no_failure() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["record", "-q", "--json", "--", "sleep", "0.3"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(!stdout(&output).contains("load failed"));
}

#[test]
fn a_machine_that_is_busy_with_others_is_not_called_idle() {
    let directory = tempfile::tempdir().unwrap();
    let spin = || std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let cpus = std::thread::available_parallelism().unwrap().get();
    let mut spinners: Vec<_> = (0..cpus).map(|_| spin()).collect();
    let output = run(directory.path(), &["record", "-q", "--json", "-D", "1s", "--no-bpf", "-o", "a.punctual"]);
    for spinner in &mut spinners {
        spinner.kill().unwrap();
        spinner.wait().unwrap();
    }
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(verdict.contains("with no load added, while other programs kept the CPUs "), "{verdict}");
    assert!(!verdict.contains(" idle"), "{verdict}");
    let (passed, idle) = (&answer["passed_ns"], &answer["idle_ns"]);
    assert!(passed.as_u64().unwrap() >= cpus as u64 * 1_000_000_000 && idle.as_u64() < passed.as_u64(), "{answer}");
}

#[test]
fn a_name_that_nobody_has_is_an_error() {
    requires!("a name that nobody has", "BPF");
    let directory = tempfile::tempdir().unwrap();
    let words = ["record", "-q", "-D", "1s", "--comm", "^nobody-has-this$", "-o", "a.punctual"];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    assert!(stderr(&output).contains("no running thread's name matches ^nobody-has-this$"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// The error names the nearest existing name, and says that the kernel truncates names.
#[test]
fn a_name_that_is_nearly_somebodys_is_answered_by_theirs() {
    requires!("a name that is nearly somebody's", "BPF");
    let directory = tempfile::tempdir().unwrap();
    // The kernel keeps `punctual-nearly`.
    let program = directory.path().join("punctual-nearly-named");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let mut sleeper = std::process::Command::new(&program).arg("60").spawn().unwrap();
    let said = |name: &str| {
        let output = run(directory.path(), &["record", "-q", "-D", "1s", "--comm", name, "-o", "a.punctual"]);
        assert_eq!(code(&output), 1, "{}", stdout(&output));
        stderr(&output)
    };
    let (misspelt, whole) = (said("punctual-naerly"), said("punctual-nearly-named"));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert!(misspelt.contains("did you mean punctual-nearly?"), "{misspelt}");
    assert!(whole.contains("the kernel keeps 15 bytes of a name: write punctual-nearly"), "{whole}");
}

#[test]
fn a_check_that_ends_in_the_warm_up_says_that_it_is_half_a_check() {
    let directory = tempfile::tempdir().unwrap();
    let load = DIES.replace("0s", "30s").replace("sleep 0.2; exit 3", "touch $TMPDIR/runs; sleep 100");
    let load = load.replace("$TMPDIR", &directory.path().display().to_string());
    std::fs::write(directory.path().join("long.toml"), load).unwrap();
    let child = start(directory.path(), &["check", "-q", "-D", "1s", "--load", "long.toml", "--json", "-o", "c"]);
    let runs = directory.path().join("runs");
    assert!(wait_until(|| runs.exists()), "the load never ran");
    std::thread::sleep(Duration::from_millis(200));
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    let verdict = json(&output)["verdict"].as_str().unwrap().to_owned();
    assert!(verdict.contains("Only the half with no load added was measured"), "{verdict}");
    assert!(verdict.find("Only the half") < verdict.find("Music"), "{verdict}");
}

#[test]
fn a_device_run_shorter_than_its_phases_says_what_it_rests_on() {
    let needed = ["BPF", "real-time priority"];
    if needed.iter().any(|name| support::allows(name).is_err()) {
        support::skip("device phases", "BPF or real-time priority is not allowed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let words = ["device", "run", "modem", "-q", "-D", "1500ms", "--phases", "18@7200Hz:1s,90@7200Hz:9s,90@8kHz"];
    let output = run(directory.path(), &[&words[..], &["--json", "-o", "a.punctual"]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let verdict = json(&output)["verdict"].as_str().unwrap().to_owned();
    assert!(verdict.starts_with("The run ended after ") && verdict.contains(" in phase 2 of 3"), "{verdict}");
    assert!(verdict.contains("begins after 10.0 s"), "{verdict}");
}

#[test]
fn a_study_that_is_interrupted_concludes_nothing() {
    let needed = ["BPF", "real-time priority"];
    if needed.iter().any(|name| support::allows(name).is_err()) {
        support::skip("device study", "BPF or real-time priority is not allowed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let load = "exec sleep 3592";
    let words = ["device", "study", "modem", "-q", "-D", "120s", "--json", "-o", "s", "--load-command", load];
    let child = start(directory.path(), &words);
    let count = || std::fs::read_dir(directory.path().join("s")).map_or(0, Iterator::count);
    assert!(wait_until(|| count() >= 2), "no second run");
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    let answer = json(&output);
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("The study was ended early") && verdict.contains("nothing is concluded"), "{verdict}");
    // Each run had the load that was asked for, and so has the next study.
    let control = json(&run(directory.path(), &["report", "s/00-control.punctual", "--json"]));
    assert_eq!(control["provenance"]["load"]["name"], load, "{control}");
    let ran = answer["contexts"].as_array().unwrap().iter().filter(|context| context["context"] != "none");
    let ran: Vec<&serde_json::Value> = ran.map(|context| &context["load"]).filter(|load| load.is_string()).collect();
    assert!(ran.iter().all(|its| **its == load), "{answer}");
    // Where the first device was still getting ready, there is nothing to repeat.
    let command = answer["next"][0]["command"].as_str().unwrap();
    assert!(ran.is_empty() || command.contains("--load-command 'exec sleep 3592'"), "{answer}");
}

#[test]
fn a_hangup_is_told_and_nohup_is_honoured() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["record", "-q", "-D", "2s", "--json", "-o"];
    // Longer than it takes to hang up, however busy the machine is.
    let child = start(directory.path(), &["record", "-q", "-D", "60s", "--json", "-o", "a.punctual"]);
    assert!(wait_until(|| directory.path().join("a.punctual/recording.json").exists()));
    std::thread::sleep(Duration::from_millis(300));
    support::signal(&child, libc::SIGHUP);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert_eq!(json(&output)["exit_code"], 1);
    assert!(stderr(&output).contains("hangup") && stdout(&output).contains("hung up"), "{}", stderr(&output));

    // As `nohup` and a shell's `&` do.
    for (ignored, signal) in [("HUP", libc::SIGHUP), ("INT", libc::SIGINT)] {
        let name = format!("{ignored}.punctual");
        let script = format!("trap '' {ignored}; exec \"$0\" {} {name}", words.join(" "));
        let child = std::process::Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_punctual")])
            .current_dir(directory.path())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        assert!(wait_until(|| directory.path().join(&name).join("recording.json").exists()));
        support::signal(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let recording = punctual_recording::Recording::open(directory.path().join(&name)).unwrap();
        assert_eq!(recording.document().ended.as_ref().unwrap().reason, punctual_recording::EndReason::Completed);
    }
}

#[test]
fn a_threshold_that_kept_nothing_is_followed_by_one_that_will() {
    requires!("a threshold that nothing exceeds", "BPF", "flight recorder");
    let directory = tempfile::tempdir().unwrap();
    let steps = |words: &[&str]| -> Vec<String> {
        let output = run(directory.path(), words);
        assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
        let answer = json(&output);
        assert_eq!(answer["parts"][0]["recorder"]["kept"], 0, "{words:?}");
        let next = answer["next"].as_array().unwrap();
        next.iter().map(|step| step["command"].as_str().unwrap().to_owned()).collect()
    };
    let own = steps(&["record", "-q", "-D", "1s", "--why", "5s", "--json", "-o", "own.punctual"]);
    assert!(own.iter().all(|step| !step.starts_with("punctual why")), "{own:?}");
    assert!(own[0].starts_with("sudo punctual record --why "), "{own:?}");

    // Followed threads are followed again, and compared with the same threshold.
    let follow =
        ["record", "-q", "--why", "5s", "--why-stage", "request", "--json", "-o", "followed.punctual", "--follow"];
    let program = ["--", "sh", "-c", "for i in 1 2 3 4 5; do sleep 0.02; done"];
    let followed = steps(&[&follow[..], &program[..]].concat());
    let [step] = &followed[..] else { panic!("{followed:?}") };
    let whole = " --why-stage request --follow -- sh -c 'for i in 1 2 3 4 5; do sleep 0.02; done'";
    assert!(step.ends_with(whole), "{step}");
}
