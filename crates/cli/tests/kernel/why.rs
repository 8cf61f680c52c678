//! `punctual record --why` and `punctual why` against the running kernel and known causes. The machine may be as noisy
//! as it likes: the tests assert that injected causes are named, that parts add up, and that nothing is left behind.

use crate::requires;
use crate::support::{self, code, json, number, run, start, stderr, stdout, wait_until};
use serde_json::Value;
use std::path::Path;

/// What must hold for every answer.
fn assert_sound(answer: &Value) {
    assert_eq!(answer["schema"], "punctual.why/1");
    let mut late = 0;
    for episode in answer["episodes"].as_array().unwrap() {
        let parts = episode["parts"].as_array().unwrap();
        let sum: u64 = parts.iter().map(|part| number(&part["ns"])).sum();
        assert_eq!(sum, number(&episode["total_ns"]), "{episode}");
        let pieces = episode["pieces"].as_array().unwrap();
        let mut reached = number(&episode["expected_ns"]);
        for piece in pieces {
            assert_eq!(number(&piece["start_ns"]), reached, "{episode}");
            reached += number(&piece["ns"]);
        }
        assert_eq!(reached, number(&episode["expected_ns"]) + sum);
        assert_eq!(episode["void"], !episode["void_reason"].is_null());
        late += if episode["void"] == true { 0 } else { sum };
    }
    assert_eq!(number(&answer["late_ns"]), late);
    let causes = answer["causes"].as_array().unwrap();
    assert_eq!(causes.iter().map(|cause| number(&cause["total_ns"])).sum::<u64>(), late);
}

/// The recorder's counts appear once: the late wakeups are those shown plus those left out.
fn assert_counts_agree(answer: &Value) {
    let recorder = &answer["recorder"];
    let count = |name: &str| number(&recorder[name]);
    let episodes = answer["episodes"].as_array().unwrap();
    let is_concluded = episodes.iter().any(|episode| episode["void"] == false);
    assert_eq!(count("kept"), episodes.len() as u64 + number(&answer["missing_episodes"]), "{recorder}");
    let without = count("late") - count("kept");
    let verdict = answer["verdict"].as_str().unwrap();
    let said = format!("{} without evidence", punctual_recording::grouped(without));
    assert_eq!(verdict.contains(&said), without > 0 && is_concluded, "{verdict}");
    if answer["cut"] == false {
        assert_eq!(without, count("over_budget") + count("writing_behind"), "{recorder}");
    }
}

/// Processes that want a CPU all the time.
struct Loops(Vec<std::process::Child>);

impl Loops {
    fn start(many: usize) -> Loops {
        let start = |_| std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Loops((0..many).map(start).collect())
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// However busy the machine is, it leaves a recording, and whenever it ends, its counts agree.
#[test]
fn beside_busy_loops_a_recording_is_left_whose_counts_agree() {
    requires!("why busy", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let loops = Loops::start(4);
    let output = run(directory.path(), &["record", "-q", "-D", "400ms", "--why", "1us", "-o", "a.punctual"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    drop(loops);
    let mut child = start(directory.path(), &["record", "-q", "--why", "1us", "-D", "60s", "-o", "b.punctual"]);
    assert!(wait_until(|| directory.path().join("b.punctual/events/episodes.jsonl").exists()), "it is not armed");
    std::thread::sleep(std::time::Duration::from_millis(300));
    support::signal(&child, libc::SIGKILL);
    let _ = child.wait();
    for (name, cut) in [("a.punctual", false), ("b.punctual", true)] {
        let answer = json(&run(directory.path(), &["why", name, "--json"]));
        assert_sound(&answer);
        assert_eq!(answer["cut"], cut);
        assert_counts_agree(&answer);
        assert!(cut || number(&answer["recorder"]["late"]) > 0, "{}", answer["recorder"]);
    }
}

/// The evidence says to which process the late threads belong, and stacks are samples in the trace.
fn assert_processes(directory: &Path, sampled: bool) {
    let lines = std::fs::read_to_string(directory.join("a.punctual/events/episodes.jsonl")).unwrap();
    let (mut met, mut known, mut samples) = (0, 0, 0);
    for line in lines.lines() {
        let episode: Value = serde_json::from_str(line).unwrap();
        let processes = episode["processes"].as_array().map_or(&[][..], Vec::as_slice);
        let of = |tid: &Value| processes.iter().find(|process| process["threads"].as_array().unwrap().contains(tid));
        met += 1;
        known += usize::from(of(&episode["victim"]["tid"]).is_some_and(|process| process["name"] == "punctual"));
        let stacks = episode["samples"].as_array().unwrap();
        samples += stacks.len();
        assert!(stacks.iter().all(|sample| sample[2] == 0 || of(&sample[2]).is_some()), "{line:.2000}");
    }
    // Evidence that is written after the measurement finds its thread gone.
    assert!(met > 10 && known > 0, "{known} of {met}");
    let trace = std::fs::read(directory.join("a.pftrace")).unwrap();
    // A packet's field 66, a sample.
    let in_trace = trace.windows(2).filter(|pair| pair == &[0x92, 0x04]).count();
    assert!(!sampled || samples > 0 && in_trace > 0, "{in_trace} in the trace of {samples}");
}

/// Every other form of the answer, from one recording of everything.
#[test]
fn a_recording_answers_in_all_forms_and_damage_is_one_clear_line() {
    requires!("why forms", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    // Every wakeup is later than a microsecond: the budget bounds what is kept, and the recording says so.
    let output = run(directory.path(), &["record", "-q", "-D", "2s", "--why", "1us", "-o", "a.punctual"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let why = |words: &[&str]| {
        let words: Vec<&str> = ["why", "a.punctual"].into_iter().chain(words.iter().copied()).collect();
        run(directory.path(), &words)
    };
    let answer = json(&why(&["--json"]));
    assert_sound(&answer);
    assert_counts_agree(&answer);
    let recorder = &answer["recorder"];
    // Its own sampling can be told apart by its name.
    let by_clock = recorder["sample_clock"] == "cpu-clock" && number(&recorder["samples"]) > 100;
    assert!(!by_clock || number(&recorder["sampling_ns"]) > 0, "{recorder}");
    // A counter's interrupts are no timer's: how long they take is not known.
    assert!(recorder["sample_clock"] != "cpu-cycles" || recorder["sampling_ns"].is_null(), "{recorder}");
    // However busy the machine is, what the budget allows is kept: 240 in a burst.
    assert_eq!(number(&recorder["writing_behind"]), 0, "{recorder}");
    assert!(number(&recorder["kept"]) >= number(&recorder["late"]).min(240), "{recorder}");
    let episodes = answer["episodes"].as_array().unwrap();
    assert_eq!(number(&recorder["kept"]), episodes.len() as u64);
    assert_eq!(number(&recorder["late"]), number(&recorder["kept"]) + number(&recorder["over_budget"]), "{recorder}");
    let woken = |episode: &&Value| episode["chain"].as_array().unwrap().iter().any(|link| link["by"] == "interrupt");
    // Of a void one nothing is said; on a busy machine, most may be void.
    let whole: Vec<&Value> = episodes.iter().filter(|episode| episode["void"] == false).collect();
    let by_interrupt = whole.iter().filter(|episode| woken(episode)).count();
    assert!(by_interrupt * 2 > whole.len(), "{by_interrupt} of {} are woken by a timer's interrupt", whole.len());
    let whole = stdout(&why(&["--all"]));
    assert!(whole.lines().next().unwrap().contains("later than 1.00 us"), "{whole}");
    assert!(whole.contains("left no evidence because the budget was used up"), "{whole}");
    // Any of them may be void, if a program of the recorder did not run.
    let whole_one =
        episodes.iter().find(|&episode| episode["void"] == false && woken(&episode)).expect("one of them is whole");
    let number_of_one = number(&whole_one["id"]).to_string();
    let one = stdout(&why(&["--episode", &number_of_one]));
    assert!(one.contains(&format!("Episode {number_of_one}: measure-")) && one.contains("woken by:"), "{one}");
    let folded = stdout(&why(&["--folded"]));
    let weight: u64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(weight, number(&answer["late_ns"]), "a flame graph is as wide as the lateness");
    assert_eq!(code(&why(&["--perfetto", "a.pftrace"])), 0);
    assert_processes(directory.path(), by_clock);
    // It is a recording like any other.
    assert_eq!(code(&run(directory.path(), &["report", "a.punctual"])), 0);
    assert_eq!(code(&why(&["--episode", "99999"])), 129);

    // Every form states what the recording cost, and so does the recording itself.
    assert!(number(&recorder["program_runs"]) > 1_000 && number(&recorder["programs_ns"]) > 100_000, "{recorder}");
    assert!(answer["cpu_share"].as_f64().is_some_and(|share| share > 0.0 && share < 1.0), "{}", answer["cpu_share"]);
    let report = run(directory.path(), &["report", "a.punctual"]);
    for text in [&whole, &stdout(&why(&["--all-handlers"])), &stdout(&report)] {
        assert!(text.contains("its cost: programs"), "{text}");
    }
    let of_report = json(&run(directory.path(), &["report", "a.punctual", "--json"]));
    for figure in ["late", "kept", "samples", "programs_ns", "program_runs", "armed_ns"] {
        assert_eq!(of_report["parts"][0]["recorder"][figure], recorder[figure], "{figure}");
    }

    let output = why(&["--json", "--perfetto", "/dev/full"]);
    assert_eq!((code(&output), &json(&output)["exit_code"]), (1, &1.into()));
    assert!(json(&output)["error"].as_str().unwrap().contains("/dev/full"), "{}", stdout(&output));
    assert_eq!(json(&why(&["--all-handlers", "--json"]))["recorder"], *recorder);

    damage(directory.path());
    let output = why(&[]);
    assert_eq!(code(&output), 1);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("line 1 is damaged"), "{}", stderr(&output));
}

/// What is gone is reported, and nothing is claimed about it.
#[test]
fn episodes_that_are_gone_are_missed() {
    requires!("why gone", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["record", "-q", "-D", "1s", "--why", "1us", "-o", "a.punctual"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let path = directory.path().join("a.punctual/events/episodes.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(&path, lines[..lines.len() - 3].join("\n") + "\n").unwrap();
    let output = run(directory.path(), &["why", "a.punctual"]);
    assert!(stdout(&output).contains("and 3 of them are gone from the recording"), "{}", stdout(&output));
    assert_eq!(json(&run(directory.path(), &["why", "a.punctual", "--json"]))["missing_episodes"], 3);
    std::fs::write(&path, "").unwrap();
    let output = run(directory.path(), &["why", "a.punctual"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).lines().next().unwrap().contains("gone from the recording"), "{}", stdout(&output));
    let output = run(directory.path(), &["why", "a.punctual", "--episode", "1"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("the evidence of episode 1 is gone"), "{}", stderr(&output));
}

fn damage(directory: &Path) {
    let path = directory.join("a.punctual/events/episodes.jsonl");
    let mut text = std::fs::read(&path).unwrap();
    text[10] = b'{';
    text[11] = b'{';
    std::fs::write(&path, text).unwrap();
}

#[test]
fn a_recording_without_evidence_says_how_to_make_one() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["record", "-q", "-D", "300ms", "--no-bpf", "--policy", "other", "-o", "a.punctual"];
    assert_eq!(code(&run(directory.path(), &words)), 0);
    let output = run(directory.path(), &["why", "a.punctual"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("record with --why"), "{}", stderr(&output));
}

/// The recorder's programs are gone after the hardest end.
#[test]
fn a_kill_while_armed_leaves_nothing() {
    requires!("why kill", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let mut child = start(directory.path(), &["record", "-q", "--why", "200us", "-D", "60s", "-o", "a.punctual"]);
    assert!(wait_until(|| directory.path().join("a.punctual/events/recorder.json").exists()));
    assert!(!support::programs::of_this_test(&["note_switch"]).is_empty(), "its programs are not found");
    support::signal(&child, libc::SIGKILL);
    let _ = child.wait();
    let left = || support::programs::of_this_test(&["note_switch"]);
    assert!(wait_until(|| left().is_empty()), "a program of the recorder is still loaded");
    let answer = json(&run(directory.path(), &["why", "a.punctual", "--json"]));
    assert_sound(&answer);
    assert_eq!(answer["cut"], true);
    // It was killed as soon as it was armed, and does not claim that nothing was late.
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("Cut short") && !verdict.contains("nothing to explain"), "{verdict}");
}
