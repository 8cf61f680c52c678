//! `punctual interact --via wayland`: on a program that does a known thing for each key, draws, and logs when the
//! compositor has said that it was shown (`examples/interact_surface.rs`), and on a real terminal.

use crate::requires;
use crate::support::interact::{Done, done, run_at_home};
use crate::support::interact_window::{Truth, answers_without_privilege, needs, says_what_is_missing};
use crate::support::nobody::Nobody;
use crate::support::{self, code, json, run, stderr};
use punctual_recording::{Interaction, Outcome, for_each_interaction_part, read_interactions};
use std::path::{Path, PathBuf};

/// Whether the time at which an input is seen lies between the program's drawing and the compositor's report that it
/// was shown.
fn is_seen_in_time(input: &Interaction, done: Done) -> bool {
    let shown_ns = done.finished_ns.expect("it draws");
    input.seen_ns.is_some_and(|seen| seen + 1_000 >= done.begin_ns + done.part_ns && seen <= shown_ns)
}

#[test]
fn each_input_is_seen_when_the_compositor_has_shown_it_and_was_waited_for_because_of_what_the_program_did() {
    requires!("interact wayland truth", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    needs!("interact wayland truth", "sway");
    Truth {
        via: "wayland",
        program: "interact_surface",
        keys: &[
            ('c', Some(("own", "surface"))),
            ('t', Some(("sleep", ""))),
            ('r', Some(("sleep", ""))),
            ('a', Some(("wait", "surface-server"))),
            ('l', Some(("lock", "holder"))),
            ('n', None),
        ],
        rounds: 22,
        is_seen_in_time,
        // The typist asks late for the next picture if it has no CPU for longer than a refresh.
        seen_percent: 95,
    }
    .holds();
}

/// In other terminals, half of the keys wait 25 ms for a repaint timer.
#[test]
fn keys_to_a_terminal_are_seen_and_wait_for_no_repaint_timer_of_25_ms() {
    requires!("interact wayland foot", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    needs!("interact wayland foot", "sway", "foot", "bash");
    let text = "the quick brown fox jumps over the lazy dog ".repeat(2);
    let script = format!("name = \"foot\"\n[pace]\nmedian = \"120ms\"\nspread = 0.1\n[[step]]\ntype = \"{text}\"\n");
    let words = ["interact", "-q", "--via", "wayland", "-o", "a.punctual", "--script", "foot.toml", "--"];
    let words = [&words[..], &["foot", "bash", "--norc"]].concat();
    let (mut met, mut seen, mut own, mut for_compositor) = (0, 0, Vec::new(), Vec::new());
    for _ in support::attempts(support::MAX_ATTEMPTS) {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::write(directory.path().join("foot.toml"), &script).unwrap();
        let output = run_at_home(directory.path(), &words);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let recording = directory.path().join("a.punctual");
        let keys: Vec<Interaction> =
            read_interactions(&recording).unwrap().into_iter().filter(|input| input.kind == "key").collect();
        met += keys.iter().filter(|input| input.outcome != Some(Outcome::Merged)).count();
        seen += keys.iter().filter(|input| input.outcome == Some(Outcome::Seen)).count();
        let mut sleeps = vec![0u64; keys.iter().map(|input| input.number as usize + 1).max().unwrap_or(0)];
        for_each_interaction_part(&recording, |part| {
            if let Some(ns) = sleeps.get_mut(part.number as usize).filter(|_| part.kind == "sleep") {
                *ns += part.ns;
            }
            if (part.kind.as_str(), part.name.as_str()) == ("wait", "sway") {
                for_compositor.push(part.ns);
            }
        })
        .unwrap();
        own.extend(keys.iter().map(|input| sleeps[input.number as usize]));
        eprintln!("{seen} of {met} keys seen");
        // On a machine that stops for a while, the program takes several keys together, or one is not seen.
        if met >= 60 && seen * 100 >= met * 95 {
            break;
        }
    }
    assert!(met >= 60 && seen * 100 >= met * 95, "{seen} of {met} seen");
    for_compositor.sort_unstable();
    own.sort_unstable();
    let median = own[own.len() / 2];
    let waits = for_compositor.get(for_compositor.len() / 2);
    eprintln!("medians: {median} ns on a timer of its own, {waits:?} ns for the compositor");
    assert!(median < 10_000_000, "{own:?}");
}

/// How many compositors and programs have this word in their command lines.
fn processes_with(word: &str) -> usize {
    let lines = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    let lines = lines.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count()
}

/// Runs a program that ignores signals until it has reported where the compositor's directory is.
fn start_hidden(directory: &Path) -> (std::process::Child, PathBuf) {
    let script = "name = \"x\"\n[ready]\nat_most = \"60s\"\n[[step]]\ntype = \"a\"\n";
    std::fs::write(directory.join("x.toml"), script).unwrap();
    let hides = "env > part; mv part environment; trap '' HUP TERM; sleep 1000";
    let words = ["interact", "-q", "--no-bpf", "--via", "wayland", "--script", "x.toml", "-o", "a.punctual", "--"];
    let child = support::start(directory, &[&words[..], &["sh", "-c", hides]].concat());
    let environment = || std::fs::read_to_string(directory.join("environment")).unwrap_or_default();
    assert!(support::wait_until(|| !environment().is_empty()), "it did not start");
    let text = environment();
    let place = text.lines().find_map(|line| line.strip_prefix("XDG_RUNTIME_DIR=")).expect("it has a directory");
    (child, place.into())
}

#[test]
fn no_compositor_is_left_whatever_ends_the_run() {
    needs!("interact wayland ends", "sway", "setsid");
    for signal in [libc::SIGKILL, libc::SIGINT, libc::SIGTERM] {
        let directory = tempfile::tempdir().unwrap();
        let (mut child, place) = start_hidden(directory.path());
        let word = place.display().to_string();
        assert!(processes_with(&word) >= 1 && place.join("wayland-1").exists());
        support::signal(&child, signal);
        let _ = child.wait();
        assert!(support::wait_until(|| processes_with(&word) == 0), "{signal}");
        assert!(support::wait_until(|| !place.exists()), "{signal}: {word}");
        let report = run(directory.path(), &["report", "a.punctual"]);
        assert!(code(&report) <= 1, "{}", stderr(&report));
    }
}

#[test]
fn a_compositor_that_ends_ends_the_run() {
    needs!("interact wayland gone", "sway");
    let directory = tempfile::tempdir().unwrap();
    let (child, place) = start_hidden(directory.path());
    let word = place.display().to_string();
    let lines = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    let compositor = lines
        .filter(|entry| {
            std::fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| line.starts_with(b"sway\0") && String::from_utf8_lossy(&line).contains(&word))
        })
        .find_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .expect("the compositor runs");
    // SAFETY: a signal to a process that this test's child has started.
    unsafe { libc::kill(compositor, libc::SIGKILL) };
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert!(code(&output) == 1 && said.contains("its server has ended"), "{said}");
    assert!(support::wait_until(|| !place.exists()), "{word}");
    let report = run(directory.path(), &["report", "a.punctual"]);
    assert!(code(&report) <= 1, "{}", stderr(&report));
}

#[test]
fn without_privilege_and_without_windows_it_says_so() {
    needs!("interact wayland words", "sway");
    let directory = tempfile::tempdir().unwrap();
    says_what_is_missing("wayland", "sway", directory.path());
    let log = answers_without_privilege("wayland", "interact_surface", "45% 45%", directory.path());
    assert!(done(&log).iter().any(|done| done.key == '1' || done.key == '-'), "the click comes");
}

/// The compositor refuses to run as root, which it does not do here in either case.
#[test]
fn an_ordinary_user_needs_nothing_but_the_compositor() {
    needs!("interact wayland user", "sway", "foot", "setpriv");
    let Some(nobody) = Nobody::of("interact wayland user") else { return };
    let directory = nobody.directory();
    std::fs::write(directory.join("x.toml"), "name = \"x\"\n[[step]]\ntype = \"echo here\"\n").unwrap();
    let mut command = nobody.punctual(&[]);
    command.args([
        "interact",
        "-q",
        "--json",
        "--via",
        "wayland",
        "--script",
        "x.toml",
        "-o",
        "a.punctual",
        "--",
        "foot",
    ]);
    command.arg("sh").env("TMPDIR", directory).env("HOME", directory).env_remove("XDG_RUNTIME_DIR");
    let done = command.output().unwrap();
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let inputs = json(&done)["inputs"].as_array().unwrap().clone();
    let seen = inputs.iter().filter(|input| input["kind"] == "key" && input["seen_ns"].is_u64()).count();
    assert!(seen >= 7, "{inputs:?}");
    let word = directory.display().to_string();
    assert!(support::wait_until(|| processes_with(&word) == 0), "a compositor is left");
}
