//! `punctual idle` against the running kernel: what takes the CPU is found, named, and nothing is left behind.

mod support;

use punctual_recording::{EndReason, Gap, Recording, for_each_gap, read_gap_document};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::{code, run, start, stderr, stdout, wait_until};

/// The tests look for what is left in the kernel, and disturb each other: one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This command's BPF programs in the kernel, by number and name.
fn programs_in_the_kernel() -> Vec<(u32, String)> {
    let ours = ["thread_ran", "local_timer_begins", "softirq_begins", "device_interrupt_begins"];
    let all = libbpf_rs::query::ProgInfoIter::default();
    let named = all.map(|program| (program.id, program.name.to_string_lossy().into_owned()));
    // The kernel keeps 15 characters of a name.
    named.filter(|(_, name)| ours.iter().any(|own| !name.is_empty() && own.starts_with(name.as_str()))).collect()
}

fn all_gone_but(before: &[(u32, String)]) -> bool {
    wait_until(|| programs_in_the_kernel().iter().all(|program| before.contains(program)))
}

fn monotonic_ns() -> u64 {
    punctual_kernel::clock::monotonic_ns()
}

/// Spins on this CPU as `burst-test`, FIFO, for these lengths (ns), and returns when each began and ended.
fn bursts(cpu: u32, lengths: Vec<u64>) -> Vec<(u64, u64)> {
    use punctual_kernel::scheduling::{Scheduling, pin_to, set_scheduling};
    let body = move || {
        pin_to(cpu).expect("the CPU is there");
        set_scheduling(Scheduling::Fifo(50)).expect("real-time priority");
        let burst = |length: u64| {
            std::thread::sleep(Duration::from_millis(12));
            let began = monotonic_ns();
            while monotonic_ns() < began + length {}
            (began, monotonic_ns())
        };
        lengths.into_iter().map(burst).collect()
    };
    std::thread::Builder::new().name("burst-test".to_owned()).spawn(body).unwrap().join().unwrap()
}

fn gaps(recording: &Path) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for_each_gap(recording, |gap| gaps.push(*gap)).unwrap();
    gaps
}

/// Injects bursts while the program measures with these options; checks that each lies in a gap.
fn each_burst_is_found(options: &[&str], named: bool) {
    let directory = tempfile::tempdir().unwrap();
    let words = [&["idle", "-q", "-D", "60s", "-a", "0", "-o", "a.punctual"], options].concat();
    let child = start(directory.path(), &words);
    assert!(wait_until(|| directory.path().join("a.punctual/gaps.json").exists()));
    let injected = bursts(0, (0..60).map(|number| 200_000 + number % 20 * 490_000).collect());
    std::thread::sleep(Duration::from_millis(200));
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let recording = directory.path().join("a.punctual");
    let document = read_gap_document(&recording).unwrap().unwrap();
    let (gaps, lost) = (gaps(&recording), document.cpus[0].gaps_lost);
    assert_eq!(gaps.len() as u64, document.lengths.count());
    assert!(document.longest.iter().all(|gap| gap.cause_ns.is_some_and(|ns| ns <= gap.length_ns)));
    let (mut with_its_name, mut missed) = (0, 0);
    let rests = document.followed && options.contains(&"fifo");
    for &(began, ended) in &injected {
        // Nothing but a gap may hold it, however busy the machine is: unless it fell into the loop's own rest.
        let found = gaps.iter().find(|gap| gap.start_ns <= began && gap.start_ns + gap.length_ns + 2_000 >= ended);
        match found {
            Some(gap) => with_its_name += usize::from(document.names[gap.name as usize] == "burst-test"),
            None if rests => missed += 1,
            None => panic!("no gap for {began} to {ended} ({lost} lost)"),
        }
    }
    // A tenth of the time is rest, and a burst takes some ms.
    assert!(missed * 2 < injected.len(), "{missed} missed");
    if named {
        assert!(document.followed, "{:?}", Recording::open(&recording).unwrap().document().provenance.fallbacks);
        let burst = document.causes.iter().find(|cause| document.names[cause.name as usize] == "burst-test");
        let burst = burst.expect("the thread is named");
        let spun: u64 = injected.iter().map(|(began, ended)| ended - began).sum();
        // What interrupts and softirqs took within the bursts is theirs.
        assert!(burst.total_ns * 4 > spun, "{burst:?} of {spun}");
        // At idle priority, other threads of a busy machine may join several bursts in one gap.
        assert!(!rests || with_its_name * 2 > injected.len() - missed, "{with_its_name}");
        // Every part of every gap was given to somebody, and no more.
        let parts: u64 = document.causes.iter().map(|cause| cause.total_ns).sum();
        assert_eq!(parts, document.cpus.iter().map(|cpu| cpu.noise_ns).sum::<u64>());
    }
}

#[test]
fn injected_bursts_are_found_and_named() {
    let _alone = alone();
    requires!("idle bursts", "real-time priority", "BPF", "BTF");
    let before = programs_in_the_kernel();
    each_burst_is_found(&[], true);
    each_burst_is_found(&["--policy", "fifo"], true);
    assert!(all_gone_but(&before), "{:?}", programs_in_the_kernel());
}

#[test]
fn injected_bursts_are_found_without_looking_into_the_kernel() {
    let _alone = alone();
    requires!("idle bursts without BPF", "real-time priority");
    each_burst_is_found(&["--no-bpf"], false);
}

#[test]
fn a_kill_leaves_a_recording_and_nothing_else() {
    let _alone = alone();
    requires!("idle kill", "BPF", "BTF");
    let before = programs_in_the_kernel();
    let directory = tempfile::tempdir().unwrap();
    let child = start(directory.path(), &["idle", "-q", "-D", "60s", "-o", "a.punctual"]);
    assert!(wait_until(|| directory.path().join("a.punctual/gaps.json").exists()));
    support::signal(&child, libc::SIGKILL);
    child.wait_with_output().unwrap();
    assert!(all_gone_but(&before), "{:?}", programs_in_the_kernel());
    let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
    assert!(recording.is_cut());
    let report = run(directory.path(), &["report", "a.punctual"]);
    assert_eq!(code(&report), 0, "{}", stderr(&report));
    assert!(stdout(&report).contains("Cut short"), "{}", stdout(&report));
}

#[test]
fn a_user_without_privilege_gets_gaps_and_is_told_what_is_missing() {
    let _alone = alone();
    // SAFETY: takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        support::skip("idle without privilege", "only root can become somebody else");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let program = directory.path().join("punctual");
    std::fs::copy(env!("CARGO_BIN_EXE_punctual"), &program).unwrap();
    for policy in ["idle", "fifo"] {
        let output = std::process::Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(&program)
            .args(["idle", "-q", "-D", "1s", "--json", "--threshold", "1us", "--policy", policy, "-o", policy])
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = support::json(&output);
        assert_eq!(answer["schema"], "punctual.idle/1");
        assert_eq!(answer["followed"], false);
        assert!(answer["cpus"][0]["irq"].is_null());
        assert!(answer["fallbacks"].to_string().contains("not put down to anything"));
        assert_eq!(answer["fallbacks"].to_string().contains("at idle priority"), policy == "fifo");
        assert!(answer["verdict"].as_str().is_some_and(|verdict| !verdict.is_empty()));
    }
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_a_report_shows_it_again() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let child = start(directory.path(), &["idle", "-q", "-D", "60s", "--json", "--no-bpf", "-o", "a.punctual"]);
    assert!(wait_until(|| directory.path().join("a.punctual/gaps.json").exists()));
    support::signal(&child, libc::SIGTERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
    assert_eq!(recording.document().ended.as_ref().unwrap().reason, EndReason::Interrupted);
    let again = run(directory.path(), &["report", "a.punctual", "--json"]);
    assert_eq!(support::json(&again), support::json(&output));
}

#[test]
fn wrong_usage_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    for words in [
        &["idle", "-D", "0"][..],
        &["idle", "-D", "abc"],
        &["idle", "--threshold", "1ns"],
        &["idle", "--policy", "deadline"],
        &["idle", "-a", "9999"],
        &["idle", "stray"],
    ] {
        let output = run(directory.path(), words);
        assert_eq!(code(&output), 129, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).lines().count() <= 2, "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
