//! `punctual interact --via x11 --display`: types on a display that the test starts as if it were the user's, beside
//! another program there.

use crate::requires;
use crate::support::display::Display;
use crate::support::interact::{done, example, script};
use crate::support::interact_window::{needs, was_put_in_late};
use crate::support::{self, code, json, punctual, stderr, stdout, wait_until};
use punctual_recording::{
    InteractionPart, Outcome, for_each_interaction_part, read_interaction_document, read_interactions,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt as _, InputFocus, MapState};
use x11rb::rust_connection::RustConnection;

/// Keys that are drawn in the end, and one that is not.
const KEYS: [char; 4] = ['c', 't', 'a', 'n'];
/// How often each key is typed.
const ROUNDS: usize = 10;

/// Somebody else's program on the display, which has the keyboard focus.
struct Bystander {
    program: Child,
    connection: RustConnection,
    window: u32,
}

impl Bystander {
    fn on(display: &Display, log: &Path) -> Bystander {
        let program = display.show("interact_window", log);
        let connection = display.connect();
        let root = connection.setup().roots[0].root;
        let mut window = None;
        let shown = wait_until(|| {
            let children = connection.query_tree(root).unwrap().reply().unwrap().children;
            window = children.into_iter().find(|window| {
                let asked = connection.get_window_attributes(*window).unwrap().reply();
                asked.is_ok_and(|is| is.map_state == MapState::VIEWABLE)
            });
            window.is_some()
        });
        assert!(shown, "no window came");
        let bystander = Bystander { program, connection, window: window.unwrap() };
        bystander.take_keys();
        bystander
    }

    fn take_keys(&self) {
        let taken = self.connection.set_input_focus(InputFocus::PARENT, self.window, x11rb::CURRENT_TIME);
        taken.unwrap().check().unwrap();
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.program.kill().and_then(|()| self.program.wait());
    }
}

/// Starts typing these keys on a display.
fn typing(directory: &Path, display: &str, keys: &str, options: &[&str]) -> Command {
    std::fs::write(directory.join("keys.toml"), keys).unwrap();
    let mut command = punctual();
    command.current_dir(directory).env("DISPLAY", display).env("XAUTHORITY", "/dev/null").env_remove("SUDO_UID");
    let words = ["interact", "-q", "--json", "--via", "x11", "--display", "--script", "keys.toml", "-o", "a.punctual"];
    command.args(words).args(options).arg("--").arg(example("interact_window")).arg(directory.join("log"));
    command
}

#[test]
fn keys_reach_the_program_alone_and_are_seen_when_it_has_drawn() {
    requires!("interact display", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    needs!("interact display", "Xvfb");
    let (mut drawing, mut in_time, mut late, mut silent, mut unanswered) = (0, 0, 0, 0, 0);
    for _ in support::attempts(support::MAX_ATTEMPTS) {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (display, others_log) = (Display::start(), directory.path().join("others"));
        let _bystander = Bystander::on(&display, &others_log);
        let count = KEYS.len() * ROUNDS;
        let keys = script(KEYS.iter().copied(), count);
        let output = typing(directory.path(), &display.name(), &keys, &[]).output().unwrap();
        assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
        let answer = json(&output);
        assert_eq!((answer["via"].as_str(), answer["followed"].as_bool()), (Some("x11-display"), Some(true)));
        assert!(done(&others_log).is_empty(), "somebody else's window got keys");
        let recording = directory.path().join("a.punctual");
        let summary = read_interaction_document(&recording).unwrap().unwrap();
        assert_eq!(summary.inputs as usize, count);
        if summary.records_lost > 0 {
            eprintln!("{} records lost: nobody had a CPU to read them", summary.records_lost);
            continue;
        }
        let mut parts: BTreeMap<u32, Vec<InteractionPart>> = BTreeMap::new();
        for_each_interaction_part(&recording, |part| parts.entry(part.number).or_default().push(part)).unwrap();
        let inputs = read_interactions(&recording).unwrap();
        let typed: Vec<_> = inputs.iter().filter(|input| input.kind != "start").collect();
        let done = done(&directory.path().join("log"));
        assert_eq!((typed.len(), done.len()), (count, count), "no key is lost");
        for (input, done) in typed.iter().zip(&done).filter(|(_, done)| done.key != '-') {
            assert_eq!(input.label, done.key.to_string());
            if let (Some(parts), Some(latency)) = (parts.get(&input.number), input.latency_ns()) {
                assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), latency, "{parts:?}");
            }
            if done.key == 'n' {
                silent += 1;
                unanswered += usize::from(input.outcome == Some(Outcome::Unanswered));
            } else if was_put_in_late(input) {
                late += 1;
            } else if input.outcome != Some(Outcome::Merged) {
                drawing += 1;
                let (from, to) = (done.begin_ns + done.part_ns, done.finished_ns.expect("it draws") + 2_000_000);
                let is_in_time = input.seen_ns.is_some_and(|seen| seen + 1_000 >= from && seen <= to);
                in_time += usize::from(is_in_time);
                if !is_in_time {
                    eprintln!("not in time: {input:?} {done:?}");
                }
            }
        }
        eprintln!("{in_time} of {drawing} seen in time beside {late} put in late, {unanswered} of {silent} unanswered");
        // If there are few, a single one says nothing.
        let is_as_expected = in_time * 100 >= drawing * 95 && unanswered * 100 >= silent * 70;
        if drawing >= 20 && silent >= 6 && is_as_expected {
            break;
        }
    }
    assert!(drawing >= 20 && silent >= 6, "too few: {drawing} and {silent} beside {late} put in late");
    assert!(in_time * 100 >= drawing * 95, "{in_time} of {drawing} seen in time");
    // Beside other work, the cursor's timer may look like a new one.
    assert!(unanswered * 100 >= silent * 70, "{unanswered} of {silent} unanswered");
}

#[test]
fn once_somebody_turns_to_another_window_nothing_more_is_typed() {
    needs!("interact display", "Xvfb");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (display, log, others_log) = (Display::start(), directory.path().join("log"), directory.path().join("others"));
    let bystander = Bystander::on(&display, &others_log);
    let keys = script(['n'].into_iter(), 400);
    let mut command = typing(directory.path(), &display.name(), &keys, &["--no-bpf"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = || std::fs::read_to_string(&log).map_or(0, |text| text.lines().count());
    assert!(wait_until(|| lines() >= 10), "nothing is typed");
    bystander.take_keys();
    let output = child.wait_with_output().unwrap();
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(code(&output), 1, "{said}");
    assert!(said.contains("another window has the keys"), "{said}");
    let (typed, others) = (lines(), done(&others_log).len());
    assert!(typed < 400 && others == 0, "{typed} typed, {others} of them elsewhere");
    let summary = read_interaction_document(&directory.path().join("a.punctual")).unwrap().unwrap();
    assert!((typed..400).contains(&(summary.inputs as usize)), "{summary:?}");
    eprintln!("{typed} of 400 typed, {others} elsewhere");
}

#[test]
fn a_display_that_is_not_the_askers_or_cannot_be_typed_on_is_refused_in_a_line() {
    needs!("interact display", "Xvfb");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let one = script(['n'].into_iter(), 1);
    let foreign = "name = \"x\"\n[[step]]\ntype = \"\u{436}\"\n";
    let is_refused = |output: Output, words: &str| {
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert!(code(&output) == 1 && said.contains(words), "{}: {said}", code(&output));
        assert!(!directory.path().join("a.punctual").exists() && !directory.path().join("log").exists());
    };
    let own = Display::start();
    let on = |display: &str, keys: &str| typing(directory.path(), display, keys, &["--no-bpf"]);
    is_refused(on("far.example:1", &one).output().unwrap(), "another machine");
    for name in [":", "garbage"] {
        is_refused(on(name, &one).output().unwrap(), "is not the name of a display");
    }
    is_refused(on(&own.name(), foreign).output().unwrap(), "has no key for");
    is_refused(on(&own.name(), &one).env_remove("DISPLAY").output().unwrap(), "DISPLAY is not set");
    if !support::is_root() || !support::may_become_nobody() {
        support::skip("displays of other users", "only root can become somebody else");
        return;
    }
    // What sudo says about the calling user.
    is_refused(on(&own.name(), &one).env("SUDO_UID", "65534").output().unwrap(), "not known to be yours");
    let theirs = Display::start_as(&support::NOBODY);
    is_refused(on(&theirs.name(), &one).output().unwrap(), "another user's");
    let output = on(&theirs.name(), &one).env("SUDO_UID", "65534").output().unwrap();
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert!(!said.contains("another user's") && !said.contains("not known to be yours"), "{said}");
}
