//! Hard ends against the running kernel: whatever ends a run, its recording opens and nothing is left behind.

use crate::support::nobody::Nobody;
use crate::support::{self, code, is_alive, run, start, stderr, stdout, wait_until};
use punctual_recording::{EndReason, Recording};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The tests look for what is left in the kernel, so they run one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This project's BPF programs in the kernel; somebody else may be measuring too.
fn programs_in_the_kernel() -> BTreeSet<u32> {
    let ours = ["timer_armed", "timer_expired", "thread_waking", "thread_switched_in", "interrupt"];
    support::programs::of_this_test(&ours)
}

/// Whether all programs that were not there before are gone.
fn all_gone_but(before: &BTreeSet<u32>) -> bool {
    wait_until(|| programs_in_the_kernel().is_subset(before))
}

/// A load that writes down its own process id, and that of a process which detached itself from it.
const LOAD: &str = "echo $$ > one; setsid sh -c 'echo $$ > two; exec sleep 1000' & exec sleep 1000";

fn pids(directory: &Path) -> Option<[String; 2]> {
    let pid = |name: &str| {
        let text = std::fs::read_to_string(directory.join(name)).ok()?;
        Some(text.trim().to_owned()).filter(|pid| !pid.is_empty())
    };
    Some([pid("one")?, pid("two")?])
}

/// Whether a recording has its first segment.
fn has_wakeups(directory: &Path) -> bool {
    directory.join("a.punctual/wakeups/000001.parquet").exists()
}

#[test]
fn a_kill_at_any_moment_leaves_a_recording_and_nothing_else() {
    let _alone = alone();
    let before = programs_in_the_kernel();
    for moment_ms in [50, 300, 1_100, 2_050] {
        let directory = tempfile::tempdir().unwrap();
        let words = ["record", "-q", "-D", "60s", "-o", "a.punctual", "--load-command", LOAD];
        let child = start(directory.path(), &words);
        assert!(wait_until(|| pids(directory.path()).is_some() && directory.path().join("a.punctual").exists()));
        let pids = pids(directory.path()).unwrap();
        std::thread::sleep(Duration::from_millis(moment_ms));
        // In the end there are wakeups, however long a busy machine needs for them.
        assert!(moment_ms < 1_500 || wait_until(|| has_wakeups(directory.path())), "nothing is written");
        support::signal(&child, libc::SIGKILL);
        child.wait_with_output().unwrap();
        assert!(wait_until(|| !pids.iter().any(|pid| is_alive(pid))), "the load outlived the run");
        assert!(all_gone_but(&before), "{:?}", programs_in_the_kernel());
        // At 50 ms the directory may exist without its first document: then there is nothing to open.
        if directory.path().join("a.punctual/recording.json").exists() {
            let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
            assert!(recording.is_cut());
            assert_eq!(recording.count_not_adding_up().unwrap(), 0);
            assert!(moment_ms < 1_500 || recording.document().counters.wakeups > 0);
            let report = run(directory.path(), &["report", "a.punctual"]);
            assert_eq!(code(&report), 0, "{}", stderr(&report));
            assert!(stdout(&report).lines().next().unwrap().contains("cut short"), "{}", stdout(&report));
        }
    }
}

#[test]
fn an_interrupt_ends_cleanly_and_keeps_what_was_measured() {
    let _alone = alone();
    let before = programs_in_the_kernel();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let directory = tempfile::tempdir().unwrap();
        let words = ["record", "-q", "-D", "60s", "-o", "a.punctual", "--load-command", LOAD];
        let child = start(directory.path(), &words);
        assert!(wait_until(|| pids(directory.path()).is_some() && has_wakeups(directory.path())));
        let pids = pids(directory.path()).unwrap();
        support::signal(&child, signal);
        let output = child.wait_with_output().unwrap();
        // Nobody chose the moment at which a terminal hangs up.
        assert_eq!(code(&output), i32::from(signal == libc::SIGHUP), "{}", stderr(&output));
        let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
        assert_eq!(recording.document().ended.as_ref().unwrap().reason, EndReason::Interrupted);
        assert!(recording.document().counters.wakeups > 0);
        assert!(!pids.iter().any(|pid| is_alive(pid)), "the load outlived the run");
        assert!(all_gone_but(&before));
    }
}

#[test]
fn a_long_period_does_not_hold_up_an_interrupt() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let child = start(directory.path(), &["record", "-q", "-D", "2h", "-i", "1h", "-o", "a.punctual"]);
    assert!(wait_until(|| directory.path().join("a.punctual").exists()));
    std::thread::sleep(Duration::from_millis(200));
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

#[test]
fn a_full_disk_is_one_line_and_leaves_what_fitted() {
    let _alone = alone();
    let before = programs_in_the_kernel();
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=400k", "tmpfs"])
        .arg(&small)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        support::skip("full disk", "mounting a small file system takes root");
        return;
    }
    let output = run(&small, &["record", "-q", "-D", "60s", "-i", "100us", "-o", "a.punctual"]);
    let opened = Recording::open(small.join("a.punctual"));
    let report = run(&small, &["report", "a.punctual"]);
    let _ = std::process::Command::new("umount").arg(&small).status();
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    assert!(stderr(&output).contains("no space left"), "{}", stderr(&output));
    assert!(stderr(&output).contains("hint: what was written until then was kept"), "{}", stderr(&output));
    assert!(stderr(&output).lines().count() <= 2, "{}", stderr(&output));
    assert!(opened.unwrap().document().counters.wakeups > 0);
    assert_eq!(code(&report), 0, "{}", stderr(&report));
    assert!(all_gone_but(&before));
}

#[test]
fn a_user_without_privilege_gets_a_result_and_is_told_what_it_lacks() {
    let _alone = alone();
    let Some(nobody) = Nobody::of("no privilege") else { return };
    let output = nobody.run(&["check", "-q", "-D", "2s", "--json", "-o", "checked"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = support::json(&output);
    assert!(answer["wakeups"].as_u64().unwrap() > 0);
    let fallbacks = answer["fallbacks"].to_string();
    for lack in ["normal priority", "only the total", "memory is not locked"] {
        assert!(fallbacks.contains(lack), "{lack}: {fallbacks}");
    }
}
