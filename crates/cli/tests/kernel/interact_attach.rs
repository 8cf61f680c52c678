//! `punctual interact --attach`: it watches a program at somebody's terminal while a typist in another process uses it.

use crate::requires;
use crate::support::interact::{done, example, in_memory};
use crate::support::interact_truth::{KEYS, Tally, judge};
use crate::support::{self, code, json, run, start, stderr, stdout, wait_until};
use punctual_kernel::pseudo_terminal::PseudoTerminal;
use punctual_recording::{
    Interaction, InteractionPart, Outcome, for_each_interaction_part, read_interaction_document, read_interactions,
};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How many keys are typed, taking turns through those that exist.
const TYPED: usize = 64;
/// The pauses between them, ms, over and over: the program finishes with each key before the next one.
const PAUSES: [u64; 5] = [70, 105, 83, 140, 92];
/// At least this many must be judged.
const MIN_MET: usize = 40;

/// Inputs, the parts of each by its number, and how many of them are said to have none.
type Found = (Vec<Interaction>, BTreeMap<u32, Vec<InteractionPart>>, u64);

/// A program that leads a session at a terminal.
fn at_terminal(terminal: &PseudoTerminal, words: &[&str]) -> Child {
    let far = terminal.open_far().unwrap();
    let end = || Stdio::from(far.try_clone().unwrap());
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(end()).stdout(end()).stderr(end());
    // SAFETY: two system calls on plain numbers.
    unsafe {
        command.pre_exec(|| match libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
            true => Err(std::io::Error::last_os_error()),
            false => Ok(()),
        });
    }
    command.spawn().unwrap()
}

fn wait_for(terminal: &PseudoTerminal, words: &str) {
    let mut shown = String::new();
    let mut buffer = [0; 4_096];
    let is_there = wait_until(|| {
        let (count, _) = terminal.read(&mut buffer);
        shown.push_str(&String::from_utf8_lossy(&buffer[..count]));
        shown.contains(words)
    });
    assert!(is_there, "`{words}` never came: {shown}");
}

/// Waits until the program has answered one more key.
fn wait_for_one(terminal: &PseudoTerminal) {
    let mut one = [0; 1];
    assert!(wait_until(|| terminal.read(&mut one).0 == 1 && one[0] == b'x'), "no answer");
}

/// Types at a watched program, ends it, and returns the findings about its inputs. `None`, with a word, if the program had
/// not handled the typed keys after a while, because others keep the disk busy, or if the recorder had no CPU to begin or
/// to read all there was.
fn used(directory: &Path, log: &Path) -> Option<Found> {
    let terminal = PseudoTerminal::make().unwrap();
    let words = [&example("interact_truth"), log, directory].map(|path| path.display().to_string());
    let mut program = at_terminal(&terminal, &words.each_ref().map(String::as_str));
    wait_for(&terminal, "ready");
    let pid = program.id().to_string();
    let child = start(directory, &["interact", "-q", "--json", "-o", "a.punctual", "--attach", &pid]);
    let recording = directory.join("a.punctual");
    if !wait_until(|| recording.join("recording.json").exists()) {
        support::signal(&child, libc::SIGINT);
        let _ = (program.kill(), program.wait());
        eprintln!("it does not watch: set apart: {}", stderr(&child.wait_with_output().unwrap()));
        return None;
    }
    std::thread::sleep(Duration::from_millis(300));
    let keys = KEYS.iter().map(|(key, _)| *key as u8).cycle().take(TYPED);
    let mut buffer = [0; 4_096];
    for (key, pause) in keys.zip(PAUSES.into_iter().cycle()) {
        std::thread::sleep(Duration::from_millis(pause));
        assert_eq!(terminal.write(&[key]), 1);
        let _ = terminal.read(&mut buffer);
    }
    // It is busy for 20 ms with the last key: the key that ends it would be that one's next input.
    std::thread::sleep(Duration::from_millis(PAUSES[0]));
    let mut ends = 0;
    let is_over = wait_until(|| {
        // On a busy machine, earlier keys keep it working for a while.
        if ends == 0 {
            ends += u64::from(terminal.write(&[4]) == 1);
        }
        let _ = terminal.read(&mut buffer);
        program.try_wait().unwrap().is_some()
    });
    if !is_over {
        support::signal(&child, libc::SIGINT);
        let _ = (program.kill(), program.wait(), child.wait_with_output());
        eprintln!("the program had not ended after a while: set apart");
        return None;
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!((&answer["pace"], &answer["followed"]), (&"own".into(), &true.into()));
    assert!(answer["blind"].to_string().contains("which keys they were"), "{}", answer["blind"]);
    let summary = read_interaction_document(&recording).unwrap().unwrap();
    if summary.records_lost > 0 {
        eprintln!("{} records lost: set apart", summary.records_lost);
        return None;
    }
    assert!(summary.background_outputs > 0, "the cursor blinks: {summary:?}");
    let mut parts: BTreeMap<u32, Vec<InteractionPart>> = BTreeMap::new();
    for_each_interaction_part(&recording, |part| parts.entry(part.number).or_default().push(part)).unwrap();
    Some((read_interactions(&recording).unwrap(), parts, summary.not_split))
}

#[test]
fn what_somebody_types_is_seen_and_what_they_waited_for_is_named() {
    requires!("interact attach", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    let mut tally = Tally::default();
    // Beside a build, most runs are disturbed.
    for _ in support::attempts(2 * support::MAX_ATTEMPTS) {
        let (directory, memory) = (tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), in_memory());
        let log = memory.path().join("log");
        let Some((inputs, parts, not_split)) = used(directory.path(), &log) else { continue };
        // The last key ends the program.
        let typed: u64 = inputs.iter().map(|input| input.bytes).sum();
        assert_eq!(typed, TYPED as u64 + 1, "as many bytes were seen as were typed: {inputs:?}");
        let done = done(&log);
        let inputs = &inputs[..inputs.len().saturating_sub(1)];
        if inputs.len() != done.len() {
            eprintln!("two keys were taken at once, on a machine that stood still: set apart");
            continue;
        }
        let befores = std::iter::once(None).chain(done.iter().copied().map(Some));
        for ((input, done), before) in inputs.iter().zip(&done).zip(befores) {
            let parts = parts.get(&input.number);
            match (done.key, input.outcome, parts) {
                ('-', ..) | (_, Some(Outcome::Merged), _) => tally.disturbed += 1,
                (_, Some(Outcome::Seen), Some(parts)) => judge(&mut tally, input, parts, (before, *done)),
                // Counted as such: on a machine that stood still, the recorder was too late for their evidence.
                (_, Some(Outcome::Seen), None) if not_split > 0 => tally.disturbed += 1,
                (_, Some(Outcome::Seen), None) => tally.unknown.push(format!("{input:?}")),
                _ => tally.wrong.push(format!("{input:?} {done:?}")),
            }
        }
        eprintln!("{}", tally.told());
        let met = tally.met();
        if met >= MIN_MET && tally.wrong.len() * 50 <= met && tally.unknown.len() * 20 <= met {
            break;
        }
    }
    let met = tally.met();
    assert!(met >= MIN_MET, "too few: {tally:?}");
    assert!(tally.wrong.len() <= 1 + met / 50, "{} of {met} wrong: {:#?}", tally.wrong.len(), tally.wrong);
    assert!(tally.unknown.len() * 10 <= met, "{} unknown beside {met}: {:#?}", tally.unknown.len(), tally.unknown);
}

/// Types three keys at once, again and again, at a program that works for 30 ms on each; returns how many were typed, how
/// many of them began as they were, and how many waited for the program.
fn typed_fast() -> (usize, usize, usize) {
    const BURSTS: usize = 6;
    const SHELL: &str = "stty raw -echo; echo ready; while read -rsN1 key; do sleep 0.03; printf x; done";
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let terminal = PseudoTerminal::make().unwrap();
    let mut program = at_terminal(&terminal, &["bash", "--norc", "-c", SHELL]);
    wait_for(&terminal, "ready");
    let pid = program.id().to_string();
    let words = ["interact", "-q", "--json", "-o", "a.punctual", "--attach", &pid, "--limit", "key:max=1ms"];
    let child = start(directory.path(), &words);
    assert!(wait_until(|| directory.path().join("a.punctual/recording.json").exists()), "it does not watch");
    std::thread::sleep(Duration::from_millis(300));
    // The key for which it was already waiting in `read()` is not seen.
    assert_eq!(terminal.write(b"a"), 1);
    wait_for(&terminal, "x");
    let now_ns = punctual_kernel::clock::monotonic_ns;
    let mut typed = Vec::new();
    for _ in 0..BURSTS {
        for key in [b"a", b"b", b"c"] {
            let before_ns = now_ns();
            assert_eq!(terminal.write(key), 1);
            typed.push((before_ns, now_ns()));
            std::thread::sleep(Duration::from_millis(8));
        }
        for _ in 0..3 {
            wait_for_one(&terminal);
        }
    }
    std::thread::sleep(Duration::from_millis(500));
    let _ = program.kill().and_then(|()| program.wait());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 2, "some took longer than the limit: {}", stderr(&output));
    assert_eq!(json(&output)["counts"]["began_before"], 0);
    let inputs = read_interactions(&directory.path().join("a.punctual")).unwrap();
    assert!(inputs.len() >= typed.len(), "the program takes a byte at a time: {inputs:?}");
    let inputs = &inputs[inputs.len() - typed.len()..];
    let (mut met, mut waited) = (0, 0);
    for (input, (before_ns, after_ns)) in inputs.iter().zip(&typed) {
        assert!(input.begin_ns <= *after_ns, "it began as it was typed, or with one before: {input:?} {after_ns}");
        met += usize::from(input.begin_ns >= *before_ns);
        waited += usize::from(input.got_ns.is_some_and(|got| got > input.begin_ns + 10_000_000));
    }
    (typed.len(), met, waited)
}

/// Keys typed while the program works for 30 ms on the one before begin when they are typed, not when the program takes
/// them.
#[test]
fn what_is_typed_faster_than_the_program_works_begins_as_it_is_typed() {
    requires!("interact attach", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    let (mut typed, mut met, mut waited) = (0, 0, 0);
    for _ in support::attempts(support::MAX_ATTEMPTS) {
        let more = typed_fast();
        (typed, met, waited) = (typed + more.0, met + more.1, waited + more.2);
        eprintln!("{met} of {typed} began as they were typed, {waited} waited for the program for 10 ms and more");
        // The kernel's worker may pass on two at once if it has to wait for a CPU itself.
        if met * 2 >= typed && waited * 2 >= typed {
            return;
        }
    }
    panic!("of {typed} keys {met} began as they were typed, and {waited} waited");
}

#[test]
fn it_ends_after_a_time_and_with_nobody_typing_says_so() {
    requires!("interact attach", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    // Programs with other names than everybody's: the answer lists only some of many.
    let named = directory.path().join("watched-shell");
    std::os::unix::fs::symlink("/bin/sh", &named).unwrap();
    let reads = [named.to_str().unwrap(), "-c", "read -r line"];
    let terminal = PseudoTerminal::make().unwrap();
    let mut program = at_terminal(&terminal, &reads);
    let pid = program.id().to_string();
    let words = ["interact", "-q", "-o", "a.punctual", "-D", "500ms", "--attach", &pid];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 1, "nothing was measured: {}", stderr(&output));
    let said = stdout(&output);
    assert!(said.starts_with("No input to ") && said.contains("watched-shell was seen"), "{said}");
    assert!(program.try_wait().unwrap().is_none(), "the program goes on");
    // Two programs have the name: the answer lists both.
    let another = PseudoTerminal::make().unwrap();
    let mut other = at_terminal(&another, &reads);
    let several = run(directory.path(), &["interact", "--attach", "watched-shell"]);
    assert!(code(&several) == 129 && stderr(&several).contains(&pid), "{}", stderr(&several));
    assert!(stderr(&several).contains(&other.id().to_string()), "{}", stderr(&several));
    for child in [&mut program, &mut other] {
        let _ = child.kill().and_then(|()| child.wait());
    }
}

#[test]
fn what_cannot_be_watched_is_said_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&["--attach", "no-such-program-at-all"], "no process is called no-such-program-at-all"),
        (&["--attach", "4194400"], "no process has the number 4194400"),
        (&["--attach", "1"], "has no terminal"),
        (&["--attach", "1", "--no-bpf"], "cannot be used with"),
        (&["--attach", "1", "--", "vim"], "cannot be used with"),
        (&["-D", "1s", "--", "true"], "--attach"),
    ];
    for (words, said) in cases {
        let output = run(directory.path(), &[&["interact"], words].concat());
        // In addition, the parser says where to read on.
        let lines = stderr(&output).lines().filter(|line| !line.starts_with("hint:")).count();
        assert_eq!((code(&output), lines), (129, 1), "{}", stderr(&output));
        let is_nobody = said.starts_with("no process");
        assert!(!is_nobody || stderr(&output).contains("hint: ps -e"), "what would help: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is written");
}
