//! What each reader answers to stored recordings, one of each kind: whole commands, with their output and exit code.
//! `golden/README.md` says how the recordings were made. A changed answer is a changed snapshot, and has a reason.

mod support;

use support::{ANSWERS, code, json, punctual, run, stderr, stdout};

/// Runs each command line in the directory of the recordings and compares everything that it printed.
fn answers(name: &str, commands: &[&str]) {
    let golden = support::golden();
    assert!(!commands.is_empty());
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let output =
            punctual().current_dir(&golden).env("TZ", "UTC").args(&words).output().expect("the program starts");
        let whole = format!(
            "$ punctual {command}\nexit code {}\n--- standard output\n{}--- standard error\n{}",
            code(&output),
            stdout(&output),
            stderr(&output)
        );
        let suffix: Vec<String> =
            words.iter().map(|word| word.replace(|letter: char| !letter.is_alphanumeric(), "")).collect();
        insta::assert_snapshot!(format!("{name}__{}", suffix.join("_")), whole);
    }
}

#[test]
fn a_recording_of_own_threads() {
    answers(
        "record",
        &[
            "report record.punctual",
            "report record.punctual --json",
            "report record.punctual --csv",
            "report record.punctual --markdown",
            "report record.punctual --hist",
            "report record.punctual --by-cpu",
            "report record.punctual --limit p99=1us --json",
            "report record.punctual --interarrival 30us,50us",
            "report record.punctual --interarrival 30us,50us --json",
            "forecast record.punctual",
            "forecast record.punctual --json",
            "forecast record.punctual --device modem --want 1/day --curve --reliability 99 --json",
            "schedulability ../../../../examples/modem-and-audio.toml --latency record.punctual --json",
            "why record.punctual --json",
            "log show record.punctual --json",
        ],
    );
}

#[test]
fn a_recording_without_bpf() {
    answers(
        "no_bpf",
        &[
            "report no-bpf.punctual",
            "report no-bpf.punctual --json",
            "report no-bpf.punctual --csv",
            "forecast no-bpf.punctual --json",
        ],
    );
}

#[test]
fn a_recording_by_way_of_softirqs() {
    answers(
        "softirq",
        &[
            "report softirq.punctual",
            "report softirq.punctual --json",
            "report softirq.punctual --csv",
            "forecast softirq.punctual --json",
        ],
    );
}

#[test]
fn a_recording_of_named_threads() {
    answers(
        "comm",
        &[
            "report comm.punctual",
            "report comm.punctual --json",
            "report comm.punctual --csv",
            "forecast comm.punctual --json",
        ],
    );
}

#[test]
fn a_recording_of_a_command() {
    answers(
        "follow",
        &[
            "report follow.punctual",
            "report follow.punctual --json",
            "report follow.punctual --period 1ms",
            "forecast follow.punctual --json",
        ],
    );
}

#[test]
fn a_recording_that_was_cut_short() {
    answers(
        "cut",
        &["report cut.punctual", "report cut.punctual --json", "forecast cut.punctual", "forecast cut.punctual --json"],
    );
}

#[test]
fn recordings_of_a_check() {
    answers(
        "check",
        &[
            "report check",
            "report check --json",
            "forecast check --table",
            "forecast check --json",
            "compare check/idle.punctual check/loaded.punctual",
            "compare check/idle.punctual check/loaded.punctual --json",
            "compare record.punctual,cut.punctual no-bpf.punctual --json",
            "compare check/idle.punctual check/loaded.punctual record.punctual",
            "compare check/idle.punctual check/loaded.punctual record.punctual --json",
        ],
    );
}

#[test]
fn a_recording_of_late_wakeups() {
    answers(
        "why",
        &[
            "report why.punctual",
            "report why.punctual --json",
            "why why.punctual",
            "why why.punctual --all",
            "why why.punctual --json",
            "why why.punctual --episode 2",
            "why why.punctual --episode 2 --json",
            "why why.punctual --thread 18516",
            "why why.punctual --thread measure-2",
            "why why.punctual --thread measure-1 --json",
            "why why.punctual --folded",
            "why why.punctual --all-handlers",
            "why why.punctual --all-handlers --json",
            "why why.punctual --episode 7 --json",
            "sim whatif --device modem --interference why.punctual --duration 10s --json",
            "compare why.punctual why.punctual",
            "compare why.punctual why.punctual --json",
        ],
    );
}

#[test]
fn a_log() {
    answers(
        "log",
        &[
            "report log.punctual",
            "report log.punctual --json",
            "log show log.punctual --to 20ms",
            "log show log.punctual --to 10ms --json",
            "log show log.punctual --to 10ms --csv",
            "log show log.punctual --events mark --limit 4 --json",
            "log show log.punctual --perfetto /dev/null --json",
            "log show log.punctual --perfetto /dev/full --json",
            "why log.punctual",
        ],
    );
}

#[test]
fn gaps_of_an_idle_loop() {
    answers("idle", &["report idle.punctual", "report idle.punctual --json", "forecast idle.punctual --json"]);
    answers("calibrated", &["report calibrated.punctual", "report calibrated.punctual --json"]);
    answers("validate", &["report validate.punctual", "report validate.punctual --json"]);
}

#[test]
fn inputs_to_a_program() {
    answers(
        "interact",
        &[
            "report interact.punctual",
            "report interact.punctual --json",
            "report interact.punctual --limit p90=1us --json",
            "report interact.punctual --interarrival 100us",
            "report interact.punctual --csv",
            "report interact.punctual --perfetto /dev/null --json",
            "report interact.punctual --perfetto /dev/full --json",
            "report record.punctual --perfetto /dev/null",
            "compare interact.punctual interact.punctual",
            "compare interact.punctual interact.punctual --json",
            "compare interact.punctual record.punctual --json",
        ],
    );
    answers(
        "paces",
        &[
            "report paces/human/01.punctual",
            "report paces/human/01.punctual --json",
            "compare paces/human paces/full",
            "compare paces/human paces/full --json",
        ],
    );
}

#[test]
fn a_run_of_a_device() {
    answers("device", &["report device.punctual", "report device.punctual --json", "forecast device.punctual --json"]);
    answers("profiles", &["device list --json", "device show modem", "device show modem --json"]);
}

#[test]
fn a_recording_of_ways_to_wait() {
    answers("timers", &["report timers.punctual", "report timers.punctual --json"]);
}

#[test]
fn a_simulated_recording() {
    answers("sim", &["report sim.punctual", "report sim.punctual --json", "forecast sim.punctual --json"]);
    answers(
        "simulator",
        &[
            "sim list --json",
            "sim timeline soft-modem-callbacks --perfetto /dev/null --json",
            "sim run nt-timers-table3",
            "sim run nt-timers-table3 --json",
            "sim run soft-modem-table3 --sweep device.policy.reservation.runtime=1..2 --json",
            "sim whatif --device modem --duration 10s --bystander 20 --json",
            "sim whatif --device modem --duration 10s --context slots:1/4 --sweep period=4..5 --json",
        ],
    );
}

#[test]
fn what_cannot_be_answered() {
    answers(
        "errors",
        &[
            "report nothing.punctual --json",
            "report nothing.punctual",
            "report record.punctual --json --unknown",
            "why --json",
            "schedulability nothing.toml --json",
            "load show nothing --json",
            "sim run nothing --json",
            "device show nothing --json",
        ],
    );
}

/// What is asked beside [`ANSWERS`], with `--json`, for the list of all first sentences.
const ASKED: &[&str] = &[
    "report record.punctual --limit p99=1us,max=1s",
    "report record.punctual --limit p99.99999=1s",
    "report record.punctual record.punctual",
    "report follow.punctual --limit response:max=1ms",
    "report interact.punctual --limit p90=1us",
    "forecast record.punctual --device modem --want 1/day",
    "forecast check",
    "forecast check --device sdr",
    "forecast check --device sdr --want 1/day",
    "forecast check --device sdr --compression 5",
    "forecast check/loaded.punctual --device 5g-slot --device adsl --device opcua-tsn",
    "forecast timers.punctual",
    "compare record.punctual record.punctual",
    "compare check/idle.punctual check/loaded.punctual --device sdr",
    "compare comm.punctual comm.punctual",
    "compare follow.punctual follow.punctual",
    "compare follow.punctual follow.punctual follow.punctual",
    "compare device.punctual device.punctual",
    "compare no-bpf.punctual cut.punctual",
    "schedulability ../../../../examples/modem-and-audio.toml",
    "sim whatif --device modem --duration 10s",
    "why record.punctual",
    "log show log.punctual --to 10ms",
];

/// The sentences that users act on stand in one file, so that a change to one of them is read beside all others.
#[test]
fn every_verdict_is_read_as_one_set() {
    let golden = support::golden();
    let mut said = String::new();
    let mut asked: Vec<&str> = ANSWERS.iter().chain(ASKED).copied().collect();
    // Those of one command are read together.
    asked.sort_unstable();
    for command in asked {
        let words: Vec<&str> = command.split_whitespace().chain(["--json"]).collect();
        let answer = json(&run(&golden, &words));
        let sentences = ["verdict", "error"].iter().find_map(|key| answer[*key].as_str());
        let sentences = sentences.unwrap_or_else(|| panic!("{command}: {answer}"));
        assert!(!sentences.is_empty() && !sentences.contains('\n'), "{command}: {sentences}");
        said += &format!("$ punctual {command}\n{sentences}\n");
    }
    insta::assert_snapshot!(said);
}
