//! `punctual record` against the running kernel. Asserts orders, sums, counts and names, never how fast the machine is.

use crate::requires;
use crate::support::{self, code, json, run, start, stderr, stdout};
use punctual_recording::{EndReason, Recording, Stage, Wakeup};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

fn open(directory: &Path) -> (Recording, Vec<Wakeup>) {
    let recording = Recording::open(directory.join("a.punctual")).unwrap();
    let mut wakeups = Vec::new();
    recording.for_each_wakeup(|wakeup| wakeups.push(*wakeup)).unwrap();
    (recording, wakeups)
}

fn record(words: &[&str]) -> (tempfile::TempDir, std::process::Output) {
    let directory = tempfile::tempdir().unwrap();
    let words: Vec<&str> = ["record", "-q", "-o", "a.punctual"].into_iter().chain(words.iter().copied()).collect();
    let output = run(directory.path(), &words);
    (directory, output)
}

/// What every recording must satisfy: each activation was a wakeup, was missed, was never seen, or was lost.
fn assert_accounted(recording: &Recording, wakeups: &[Wakeup]) {
    assert_eq!(recording.count_not_adding_up().unwrap(), 0);
    let counters = recording.document().counters;
    assert_eq!(counters.wakeups, wakeups.len() as u64);
    assert_eq!(counters.missed, Some(recording.document().tasks.iter().filter_map(|task| task.counters.missed).sum()));
    for task in &recording.document().tasks {
        let own: Vec<&Wakeup> = wakeups.iter().filter(|wakeup| wakeup.tid == task.tid).collect();
        let by_timer = recording.document().provenance.configuration.via == "timer" && counters.lost == 0;
        for pair in own.windows(2) {
            let passed = pair[1].expected_ns - pair[0].expected_ns;
            assert!(passed > 0 && passed % task.period_ns == 0, "off the grid: {pair:?}");
            // What went by without a wakeup, while the threads of all runs rested, is reported with the next.
            let [late, next] = [&pair[0], &pair[1]].map(|wakeup| wakeup.total_ns / task.period_ns);
            assert!(!by_timer || passed / task.period_ns == 1 + late + (pair[1].missed - next), "{pair:?}");
        }
        // In the softirq chain, and when the queue was full, points of the grid may lack a row.
        let (Some(first), Some(last)) = (own.first(), own.last()) else { continue };
        let points = (last.expected_ns - first.expected_ns) / task.period_ns + 1;
        let missed: u64 = own.iter().map(|wakeup| wakeup.missed).sum();
        let without_row = task.counters.lost + task.counters.unobserved;
        // A callback that never comes has no row, and after the last row there is none to report it with. A timer always
        // ends in a row, which may be lost.
        let at_end = task.counters.missed.unwrap().checked_sub(missed).expect("no row has more than are counted");
        assert!(at_end == 0 || !by_timer, "{at_end} missed after the last wakeup");
        assert!(points >= own.len() as u64 && points <= own.len() as u64 + missed + without_row);
    }
}

#[test]
fn stages_of_every_wakeup_add_up_and_every_activation_is_accounted_for() {
    requires!("stages", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let (directory, output) = record(&["-D", "2s"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (recording, wakeups) = open(directory.path());
    assert_accounted(&recording, &wakeups);
    let observed = wakeups.iter().filter(|wakeup| wakeup.is_observed()).count();
    assert!(observed * 2 > wakeups.len(), "{observed} of {} observed", wakeups.len());
    assert!(wakeups.iter().all(|wakeup| wakeup.softirq_ns.is_none()));
    let document = recording.document();
    assert!(document.tasks.iter().all(|task| task.measure == "fifo:80" && task.cpu.is_some()));
    let count = |stage| document.distributions.sum(|key| key.stage == stage).count();
    assert_eq!(count(Stage::Total), document.counters.wakeups);
    assert_eq!(count(Stage::Irq), observed as u64);
    assert_eq!(count(Stage::DpcInterruptLatency), 0);
    assert!(document.counters.cpu_ns > 0);
}

#[test]
fn the_softirq_chain_has_all_stages() {
    requires!("softirq chain", "BPF", "BTF", "kernel's thread ids", "softirq path", "real-time priority");
    let (directory, output) = record(&["-D", "2s", "--via", "softirq", "--load", "mixed"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (recording, wakeups) = open(directory.path());
    assert_accounted(&recording, &wakeups);
    let whole = wakeups.iter().filter(|wakeup| wakeup.softirq_ns.is_some() && wakeup.is_observed()).count();
    assert!(whole * 2 > wakeups.len(), "{whole} of {}", wakeups.len());
    assert!(wakeups.iter().all(|wakeup| wakeup.softirq_ns.is_some() || !wakeup.is_observed()));
    assert_eq!(recording.document().provenance.load.name, "mixed");
    let report = run(directory.path(), &["report", "a.punctual"]);
    assert!(stdout(&report).contains("dpc_interrupt_latency"), "{}", stdout(&report));
}

#[test]
fn two_priorities_are_two_measures() {
    requires!("two priorities", "real-time priority");
    let (directory, output) = record(&["-D", "1s", "-p", "95,50", "-a", "0"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (recording, _) = open(directory.path());
    assert_eq!(recording.document().distributions.measures(), ["fifo:50", "fifo:95"]);
    assert_eq!(recording.document().tasks.len(), 2);
}

#[test]
fn deadline_threads_run_unpinned_and_say_so() {
    requires!("deadline", "deadline reservation");
    let (directory, output) = record(&["-D", "1s", "--policy", "deadline", "-i", "2ms"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (recording, _) = open(directory.path());
    assert!(recording.document().tasks.iter().all(|task| task.cpu.is_none() && task.measure == "deadline"));
    assert!(stdout(&output).contains("cannot be pinned"), "{}", stdout(&output));
}

#[test]
fn without_bpf_the_total_is_measured_and_the_rest_is_absent_not_zero() {
    let (directory, output) = record(&["-D", "1s", "--no-bpf", "--policy", "other", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (recording, wakeups) = open(directory.path());
    assert_accounted(&recording, &wakeups);
    assert!(wakeups.iter().all(|wakeup| wakeup.irq_ns.is_none() && wakeup.user_ns.is_none()));
    let answer = json(&output);
    assert_eq!(answer["unobserved"], 0);
    assert!(answer["stages"].as_array().unwrap().iter().all(|row| row["stage"] == "total"));
    assert!(answer["blind"].as_array().unwrap().iter().any(|note| note.as_str().unwrap().contains("stages")));
}

#[test]
fn a_stall_shows_as_missed_activations_not_as_one_sample() {
    let directory = tempfile::tempdir().unwrap();
    let child = start(directory.path(), &["record", "-q", "-o", "a.punctual", "-D", "4s", "-a", "0"]);
    let recording = directory.path().join("a.punctual/wakeups");
    assert!(support::wait_until(|| recording.exists()));
    std::thread::sleep(Duration::from_millis(500));
    support::signal(&child, libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(500));
    support::signal(&child, libc::SIGCONT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (recording, wakeups) = open(directory.path());
    assert_accounted(&recording, &wakeups);
    let stalled = wakeups.iter().max_by_key(|wakeup| wakeup.total_ns).unwrap();
    assert!(stalled.missed >= 450, "a stop of 500 ms at 1 kHz missed {}", stalled.missed);
    // And those of a rest before it.
    assert!(stalled.missed >= stalled.total_ns / 1_000_000, "{stalled:?}");
}

/// `timeout` continues the process that it ends, in case it was stopped.
#[test]
fn a_run_that_timeout_ends_was_not_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let child = start(directory.path(), &["record", "-q", "-o", "a.punctual", "-D", "60s", "-a", "0"]);
    assert!(support::wait_until(|| directory.path().join("a.punctual/wakeups").exists()));
    std::thread::sleep(Duration::from_millis(500));
    support::signal(&child, libc::SIGTERM);
    support::signal(&child, libc::SIGCONT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(!stdout(&output).contains("was stopped meanwhile"), "{}", stdout(&output));
}

#[test]
fn a_limit_stops_the_run_or_is_judged_at_the_end() {
    let (directory, output) = record(&["-D", "60s", "-b", "1us"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let (recording, _) = open(directory.path());
    assert_eq!(recording.document().ended.as_ref().unwrap().reason, EndReason::LimitExceeded);
    let shown = stdout(&output);
    assert!(shown.lines().next().unwrap().contains("Over the limit: the worst wakeup ran "), "{shown}");
    assert!(!shown.starts_with("In 0.0 s"), "{shown}");

    let (_directory, output) = record(&["-D", "1s", "--limit", "p50=1us,max=1h", "--json"]);
    assert_eq!(code(&output), 2);
    let answer = json(&output);
    assert_eq!(answer["limits"][0]["exceeded"], true);
    assert_eq!(answer["limits"][1]["exceeded"], false);
}

#[test]
fn an_interval_that_is_too_short_is_measured_and_its_misses_shown() {
    let (directory, output) = record(&["-D", "1s", "-i", "2us", "-a", "0"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (recording, wakeups) = open(directory.path());
    assert!(!wakeups.is_empty());
    assert!(recording.document().counters.missed.unwrap() > 0);
}

#[test]
fn the_command_is_the_load_for_as_long_as_it_runs() {
    let (directory, output) = record(&["--", "/bin/sh", "-c", "echo from the load; sleep 1"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    // What the load prints is not data.
    assert!(stderr(&output).contains("from the load") && !stdout(&output).contains("from the load\n"));
    let (recording, _) = open(directory.path());
    assert_eq!(recording.document().ended.as_ref().unwrap().reason, EndReason::CommandEnded);
    assert!(recording.document().provenance.load.name.contains("sleep 1"));
}

#[test]
fn check_answers_in_json_with_both_parts_and_all_devices() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["check", "-q", "-D", "3s", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!(answer["schema"], "punctual.report/1");
    // On a busy machine punctual's own threads may rest, which stands before it.
    assert!(answer["verdict"].as_str().unwrap().contains("Music w"), "{}", answer["verdict"]);
    for key in ["provenance", "blind", "wakeups", "missed", "unobserved", "lost", "steal_ns", "cut", "cost"] {
        assert!(answer.get(key).is_some(), "{key} is missing");
    }
    let loads: Vec<&str> =
        answer["parts"].as_array().unwrap().iter().map(|part| part["load"].as_str().unwrap()).collect();
    assert_eq!(loads, ["none", "mixed"]);
    assert_eq!(answer["devices"].as_array().unwrap().len(), 16);
    for part in answer["parts"].as_array().unwrap() {
        assert!(Recording::open(directory.path().join(part["recording"].as_str().unwrap())).is_ok());
    }
}

/// The next steps of a check of a device for which wakeups came too late: who delays it, then what says how often. If the host took most
/// of what was late or of the worst wakeup, that comes before both, and leaves room for the first alone.
fn own_steps(answer: &Value) -> Vec<&Value> {
    let next = answer["next"].as_array().unwrap();
    assert_eq!(next.len(), 2, "{next:?}");
    let is_of_host = next[0]["command"] == "punctual why --explain steal";
    eprintln!("{}", if is_of_host { "one of two steps: the host's comes first" } else { "both steps" });
    next.iter().skip(usize::from(is_of_host)).collect()
}

/// The table of a check puts each device under whose it is; devices that the user names are one group, without a heading.
#[test]
fn a_check_says_whose_its_devices_are() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["check", "-q", "-D", "1s", "--load", "cpu"];
    let first_words = |options: &[&str]| {
        let output = run(directory.path(), &[&words[..], options].concat());
        let text = stdout(&output);
        assert!([0, 2].contains(&code(&output)), "{text}{}", stderr(&output));
        let table = text.lines().skip_while(|line| !line.starts_with("device ")).skip(1);
        let rows = table.take_while(|line| !line.is_empty() && !line.starts_with("next: "));
        let names = rows.filter_map(|line| line.split("  ").next());
        names.map(str::to_owned).collect::<Vec<String>>()
    };
    let told = first_words(&["-o", "a"]);
    for pair in [["today's:", "Audio, 64 frames"], ["the papers':", "ADSL"]] {
        assert!(told.windows(2).any(|names| names == pair), "{pair:?}: {told:?}");
    }
    let told = first_words(&["-o", "b", "--device", "modem", "--device", "audio64"]);
    assert_eq!(told, ["Soft modem", "Audio, 64 frames"]);
}

#[test]
fn a_check_says_how_many_buffers_its_want_takes() {
    let directory = tempfile::tempdir().unwrap();
    // With two buffers, work has to begin within a microsecond.
    let device = ["--device", "sdr 1ms compute=999us x2", "--want", "2/day"];
    let words = ["check", "-q", "-D", "1s", "--load", "cpu", "--json", "-o", "c"];
    let output = run(directory.path(), &[&words[..], &device[..]].concat());
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!(answer["devices"][0]["want_s"], 43_200, "{answer}");
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(verdict.contains("it fails (the target is at most one underrun in 12.0 h). "), "{verdict}");
    assert!(verdict.contains(" buffers of "), "{verdict}");
    // Each part was searched for it.
    let advised = answer["devices"].as_array().unwrap();
    assert_eq!(advised.iter().filter(|row| row["advice"].is_object()).count(), 2, "{advised:?}");
    let next = own_steps(&answer);
    // Where that takes long to show, the measurement is the command, and the forecast comes after it.
    let asks = |step: &&Value| {
        let ends = |text: &str| text.trim_end_matches('`').ends_with(" --want 2/day");
        ["command", "purpose"].iter().any(|part| step[part].as_str().is_some_and(ends))
    };
    assert!(next[1..].iter().all(asks), "{next:?}");
}

#[test]
fn a_check_says_whether_a_device_holds_and_exits_accordingly() {
    let directory = tempfile::tempdir().unwrap();
    // Nobody is served within a microsecond, everybody within an hour.
    let devices = ["--device", "ros2-control 10ms compute=9999us", "--device", "modem 1h compute=1ms"];
    let words = ["check", "-q", "-D", "1s", "--load", "cpu", "--json", "-o", "c"];
    let output = run(directory.path(), &[&words[..], &devices[..]].concat());
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let answer = json(&output);
    let judged: Vec<&str> =
        answer["devices"].as_array().unwrap().iter().map(|row| row["device"].as_str().unwrap()).collect();
    assert_eq!(judged, ["ros2-control", "modem", "ros2-control", "modem"]);
    assert!(answer["devices"].as_array().unwrap().iter().all(|row| row["origin"] == "named"), "{answer}");
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(verdict.contains("ros2-control would have begun too late "), "{verdict}");
    assert!(verdict.contains("; it fails (the target is at most one overrun "), "{verdict}");
    assert!(verdict.contains("modem would not have run dry in "), "{verdict}");
    let next = own_steps(&answer);
    let forecasts = |step: &&Value| step["command"].as_str().unwrap().contains("--device 'modem 1h compute=1ms'");
    assert!(next[1..].iter().all(forecasts), "{next:?}");
    // The next question is about what the device tolerates, not about the worst 1 %.
    let under = ["with no load added", "under cpu"];
    let purposes = under.map(|under| format!("records what delays ros2-control beyond its slack {under}"));
    assert!(purposes.iter().any(|purpose| next[0]["purpose"] == *purpose), "{next:?}");
    assert!(next[0]["command"].as_str().unwrap().starts_with("sudo punctual record --why 1us"), "{next:?}");
    let output = run(directory.path(), &[&words[..7], &["-o", "d"], &devices[2..]].concat());
    assert_eq!(code(&output), 0, "{}", stdout(&output));
}

#[test]
fn two_at_once_do_not_disturb_each_others_counts() {
    let directory = tempfile::tempdir().unwrap();
    let words = |name| ["record", "-q", "-D", "2s", "--load", "network", "-o", name];
    let children = [start(directory.path(), &words("a.punctual")), start(directory.path(), &words("b.punctual"))];
    for (child, name) in children.into_iter().zip(["a.punctual", "b.punctual"]) {
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let recording = Recording::open(directory.path().join(name)).unwrap();
        assert_eq!(recording.count_not_adding_up().unwrap(), 0);
        assert!(recording.document().provenance.load.trouble.is_empty(), "{:?}", recording.document().provenance.load);
        let counters = recording.document().counters;
        assert!(
            counters.unobserved * 2 < counters.wakeups.max(2) || !recording.document().provenance.configuration.bpf
        );
    }
}

#[test]
fn nothing_is_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("a.punctual")).unwrap();
    std::fs::write(directory.path().join("a.punctual/mine"), "x").unwrap();
    let output = run(directory.path(), &["record", "-q", "-D", "1s", "-o", "a.punctual"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("already exists"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(directory.path().join("a.punctual")).unwrap().count(), 1);
}

#[test]
fn a_command_that_ends_at_once_ends_the_run_every_time_and_cannot_pass_a_limit_unmeasured() {
    for _ in 0..8 {
        let (directory, output) = record(&["-a", "0", "--limit", "max=1h", "--", "true"]);
        let (recording, wakeups) = open(directory.path());
        assert_eq!(recording.document().ended.as_ref().unwrap().reason, EndReason::CommandEnded);
        assert_eq!(code(&output), i32::from(wakeups.is_empty()), "{}", stdout(&output));
    }
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["record", "-q", "-o", "a.punctual", "--", "no-such-program-anywhere"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("could not be started"), "{}", stderr(&output));
    assert!(!directory.path().join("a.punctual").exists());
}

#[test]
fn a_killed_guard_is_told_and_leaves_no_directory() {
    let directory = tempfile::tempdir().unwrap();
    let scratch = directory.path().join("tmp");
    std::fs::create_dir(&scratch).unwrap();
    let mut command = support::punctual();
    let child = command
        .current_dir(directory.path())
        .env("TMPDIR", &scratch)
        .args(["record", "-q", "-D", "3s", "--load", "cpu", "-o", "a.punctual"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let made = || std::fs::read_dir(&scratch).unwrap().next().is_some();
    assert!(support::wait_until(|| made() && directory.path().join("a.punctual").exists()));
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap_or_default();
    if let Some(guard) = children.split_whitespace().next() {
        // SAFETY: sends a signal to the guard, a child of the program that was just started.
        unsafe { libc::kill(guard.parse().unwrap(), libc::SIGKILL) };
    }
    let output = child.wait_with_output().unwrap();
    if children.trim().is_empty() {
        support::skip("killed guard", "this kernel does not list children");
        return;
    }
    // What was measured since then had no load.
    assert_eq!(code(&output), 1);
    assert!(stdout(&output).contains("ended from outside"), "{}", stdout(&output));
    assert!(!made(), "the guard's directory was left");
}

#[test]
fn a_pid_namespace_falls_back_to_the_total_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let output = std::process::Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc"])
        .arg(env!("CARGO_BIN_EXE_punctual"))
        .args(["record", "-q", "-D", "1s", "-o", "a.punctual"])
        .current_dir(directory.path())
        .output();
    let Ok(output) = output
        .as_ref()
        .map_err(ToString::to_string)
        .and_then(|output| if stderr(output).contains("unshare") { Err(stderr(output)) } else { Ok(output) })
    else {
        support::skip("PID namespace", "only root can make one");
        return;
    };
    assert_eq!(code(output), 0, "{}", stderr(output));
    let (recording, _) = open(directory.path());
    assert!(!recording.document().provenance.configuration.bpf);
    assert_eq!(recording.document().counters.unobserved, 0);
    assert!(stdout(output).contains("only the total is measured"), "{}", stdout(output));
}
