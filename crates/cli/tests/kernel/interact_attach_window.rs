//! `punctual interact --attach` on a program in a window: another process types into it by XTEST, and the test checks
//! the result.

use crate::requires;
use crate::support::display::Display;
use crate::support::interact::{Done, disturbed_ns, done, example, named};
use crate::support::interact_window::needs;
use crate::support::{self, code, json, number, start, stderr, wait_until};
use punctual_recording::{
    Interaction, InteractionPart, Outcome, for_each_interaction_part, read_interaction_document, read_interactions,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt as _, InputFocus, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MapState};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// Keys, and the kind and name of each key's part; `None`: nothing is drawn after it.
const KEYS: [(char, Option<(&str, &str)>); 5] = [
    ('c', Some(("own", "window"))),
    ('t', Some(("sleep", ""))),
    ('r', Some(("sleep", ""))),
    ('a', Some(("wait", "window-server"))),
    ('n', None),
];
/// How often each key is typed in a run, and how many must be judged at least.
const ROUNDS: usize = 10;
const MIN_MET: usize = 12;
/// The program finishes with one key before the next.
const PAUSE: Duration = Duration::from_millis(85);
/// If others had more than this of an input, it is set apart: something else had a CPU meanwhile.
const DISTURBED_NS: u64 = 100_000;

/// Types by XTEST, the way a person's keys reach all programs.
struct Typist {
    connection: RustConnection,
    root: u32,
    codes: BTreeMap<char, u8>,
}

impl Typist {
    /// Types into the window that appears.
    fn at(display: &Display) -> Typist {
        let connection = display.connect();
        let setup = connection.setup();
        let (root, first) = (setup.roots[0].root, setup.min_keycode);
        let mapping = connection.get_keyboard_mapping(first, setup.max_keycode - first + 1).unwrap().reply().unwrap();
        let each = usize::from(mapping.keysyms_per_keycode);
        let symbols = mapping.keysyms.chunks(each).map(|symbols| char::from_u32(symbols[0]));
        let codes = (first..=u8::MAX).zip(symbols).filter_map(|(code, symbol)| Some((symbol?, code))).collect();
        let window = || {
            let children = connection.query_tree(root).unwrap().reply().unwrap().children;
            let is_shown = |window: &u32| {
                let asked = connection.get_window_attributes(*window).unwrap().reply();
                asked.is_ok_and(|is| is.map_state == MapState::VIEWABLE)
            };
            children.into_iter().find(is_shown)
        };
        assert!(wait_until(|| window().is_some()), "no window came");
        let focus = connection.set_input_focus(InputFocus::POINTER_ROOT, window().unwrap(), x11rb::CURRENT_TIME);
        focus.unwrap().check().unwrap();
        Typist { connection, root, codes }
    }

    /// Presses a key and releases it; returns the times just before and after, ns.
    fn press(&self, key: char) -> (u64, u64) {
        let before_ns = punctual_kernel::clock::monotonic_ns();
        for kind in [KEY_PRESS_EVENT, KEY_RELEASE_EVENT] {
            let _ = self.connection.xtest_fake_input(kind, self.codes[&key], 0, self.root, 0, 0, 0).unwrap();
        }
        self.connection.flush().unwrap();
        let _ = self.connection.get_input_focus().unwrap().reply();
        (before_ns, punctual_kernel::clock::monotonic_ns())
    }
}

/// Watches a program while these keys are typed, until it has logged them all, in lines that end like this; returns when
/// each was typed. `None`, with a word, if it has not after a while, or if the recorder had no CPU to begin or to read all
/// there was.
fn watched(
    directory: &Path,
    display: &Display,
    (program, log, ending): (&mut Child, &Path, &str),
    keys: &[char],
) -> Option<Vec<(u64, u64)>> {
    let typist = Typist::at(display);
    let pid = program.id().to_string();
    let child = start(directory, &["interact", "-q", "--json", "-o", "a.punctual", "--attach", &pid]);
    if !wait_until(|| directory.join("a.punctual/recording.json").exists()) {
        // It may still get ready, and then goes on for as long as the program does.
        support::signal(&child, libc::SIGINT);
        let _ = program.kill().and_then(|()| program.wait());
        eprintln!("set apart: it does not watch: {}", stderr(&child.wait_with_output().unwrap()));
        return None;
    }
    std::thread::sleep(Duration::from_millis(300));
    let mut typed = Vec::new();
    for key in keys {
        typed.push(typist.press(*key));
        std::thread::sleep(PAUSE);
    }
    let logged = || std::fs::read_to_string(log).unwrap_or_default();
    // On a busy machine the program falls behind.
    let has_all = wait_until(|| logged().lines().filter(|line| line.ends_with(ending)).count() >= keys.len());
    std::thread::sleep(Duration::from_millis(300));
    let _ = program.kill().and_then(|()| program.wait());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!((&answer["pace"], &answer["via"], &answer["followed"]), (&"own".into(), &"x11".into(), &true.into()));
    assert!(answer["blind"].to_string().contains("which keys they were"), "{}", answer["blind"]);
    let lost = ["presses_lost", "records_lost"].map(|what| number(&answer["counts"][what]));
    if !has_all || lost != [0, 0] {
        eprintln!("set apart: all keys logged: {has_all}; presses and records lost: {lost:?}");
        return None;
    }
    Some(typed)
}

#[derive(Debug, Default)]
struct Tally {
    typed: usize,
    drawing: usize,
    seen: usize,
    silent: usize,
    unanswered: usize,
    begun: usize,
    right: usize,
    disturbed: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn judge(&mut self, input: &Interaction, parts: Option<&Vec<InteractionPart>>, done: Done, typed: (u64, u64)) {
        self.typed += 1;
        self.begun += usize::from(input.begin_ns >= typed.0 && input.begin_ns <= typed.1.min(done.begin_ns));
        if done.key == '-' || input.outcome == Some(Outcome::Merged) {
            self.disturbed += 1;
            return;
        }
        let Some((kind, name)) = KEYS.iter().find(|(key, _)| *key == done.key).and_then(|(_, part)| *part) else {
            self.silent += 1;
            self.unanswered += usize::from(input.outcome == Some(Outcome::Unanswered));
            return;
        };
        self.drawing += 1;
        let (from, to) =
            (done.begin_ns + done.part_ns - done.part_ns.min(1_000), done.finished_ns.unwrap() + 2_000_000);
        let is_seen = input.seen_ns.is_some_and(|seen| (from..=to).contains(&seen));
        self.seen += usize::from(is_seen);
        let Some(parts) = parts.filter(|_| is_seen) else { return };
        let latency = input.latency_ns().unwrap();
        assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), latency, "parts add up: {input:?} {parts:?}");
        let unknown_ns = parts.iter().map(|part| part.unknown_ns).sum::<u64>();
        let of = |part: &InteractionPart| named(parts, &part.kind, &part.name);
        let on_the_way = named(parts, "wait", "") - if kind == "wait" { named(parts, kind, name) } else { 0 };
        if disturbed_ns(parts) > DISTURBED_NS || unknown_ns * 10 > latency || on_the_way > 2_000_000 {
            self.disturbed += 1;
        } else if parts.iter().map(of).max() == Some(named(parts, kind, name)) {
            self.right += 1;
        } else {
            self.wrong.push(format!("{done:?} {latency} {parts:?}"));
        }
    }
}

#[test]
fn what_somebody_types_into_a_window_is_seen_and_what_they_waited_for_is_named() {
    requires!("interact attach window", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    needs!("interact attach window", "Xvfb");
    // What is started from here on comes before all others, where it may: whatever has the CPU beside it sets keys apart.
    // SAFETY: takes numbers alone, of which 0 is the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    let mut tally = Tally::default();
    let keys: Vec<char> = KEYS.iter().map(|(key, _)| *key).cycle().take(KEYS.len() * ROUNDS).collect();
    for _ in support::attempts(2 * support::MAX_ATTEMPTS) {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (log, display) = (directory.path().join("log"), Display::start());
        let mut program = display.show("interact_window", &log);
        let Some(typed) = watched(directory.path(), &display, (&mut program, &log, ""), &keys) else { continue };
        let recording = directory.path().join("a.punctual");
        let (inputs, done) = (read_interactions(&recording).unwrap(), done(&log));
        assert_eq!((inputs.len(), done.len()), (typed.len(), typed.len()), "no key is lost, and none is invented");
        let summary = read_interaction_document(&recording).unwrap().unwrap();
        assert!(summary.background_outputs > 0, "the cursor blinks: {summary:?}");
        let mut parts: BTreeMap<u32, Vec<InteractionPart>> = BTreeMap::new();
        for_each_interaction_part(&recording, |part| parts.entry(part.number).or_default().push(part)).unwrap();
        for ((input, done), typed) in inputs.iter().zip(&done).zip(&typed) {
            tally.judge(input, parts.get(&input.number), *done, *typed);
        }
        let Tally { typed: all, seen, drawing, unanswered, silent, begun, right, disturbed, wrong } = &tally;
        eprintln!(
            "{seen} of {drawing} seen in time, {unanswered} of {silent} unanswered, {begun} of {all} began as they were typed, {right} right, {} \
             wrong, {disturbed} set apart; of {} only the millisecond is known",
            wrong.len(),
            summary.to_a_millisecond
        );
        // If there are few, a single one says nothing.
        let is_as_expected = seen * 100 >= drawing * 95 && unanswered * 100 >= silent * 75 && begun * 100 >= all * 90;
        if right + wrong.len() >= MIN_MET && *drawing >= 35 && is_as_expected {
            break;
        }
    }
    let met = tally.right + tally.wrong.len();
    assert!(met >= MIN_MET, "too few: {tally:?}");
    assert!(tally.seen * 100 >= tally.drawing * 95, "{tally:?}");
    // Beside compilers, the cursor's timer looks new in some.
    assert!(tally.unanswered * 100 >= tally.silent * 75, "{tally:?}");
    assert!(tally.begun * 100 >= tally.typed * 90, "{tally:?}");
    assert!(tally.wrong.len() <= 1 + met / 50, "{} of {met} wrong: {:#?}", tally.wrong.len(), tally.wrong);
}

/// How the program of GTK ends the line of a key that is pressed.
const GTK_PRESS: &str = " key_press";

/// GTK learns of keys by another protocol than programs without a toolkit.
#[test]
fn what_somebody_types_into_a_window_of_gtk_is_counted() {
    requires!("interact attach gtk", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    needs!("interact attach gtk", "Xvfb");
    let check = Command::new(example("interact_gtk")).arg("check").status().unwrap();
    if check.code() == Some(77) {
        return support::skip("interact attach gtk", "there is no GTK 3");
    }
    let keys: Vec<char> = ('a'..='z').take(20).collect();
    let (mut all, mut right, mut merged) = (0, 0, 0);
    for _ in support::attempts(support::MAX_ATTEMPTS) {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (log, display) = (directory.path().join("log"), Display::start());
        let mut program = display.show("interact_gtk", &log);
        let watched = watched(directory.path(), &display, (&mut program, &log, GTK_PRESS), &keys);
        let Some(typed) = watched else { continue };
        let inputs = read_interactions(&directory.path().join("a.punctual")).unwrap();
        let text = std::fs::read_to_string(&log).unwrap();
        let logged = text.lines().filter_map(|line| line.strip_suffix(GTK_PRESS)?.parse::<u64>().ok());
        let logged: Vec<u64> = logged.collect();
        assert_eq!((inputs.len(), logged.len()), (typed.len(), typed.len()), "{inputs:?}");
        let is_right = |(input, at): &(&Interaction, &u64)| {
            let is_taken = input.got_ns.is_some_and(|got| got <= **at);
            // On a busy machine, two keys are drawn as one.
            let is_shown = input.seen_ns.is_some_and(|seen| seen > **at) || input.outcome == Some(Outcome::Merged);
            is_taken && input.begin_ns <= **at && is_shown
        };
        all += typed.len();
        right += inputs.iter().zip(&logged).filter(is_right).count();
        merged += inputs.iter().filter(|input| input.outcome == Some(Outcome::Merged)).count();
        eprintln!(
            "{right} of {all} keys were taken before GTK handed them on, and seen after that; {merged} with another"
        );
        if right * 20 >= all * 19 && merged * 2 <= all {
            break;
        }
        eprintln!("{inputs:?} {logged:?}");
    }
    assert!(all > 0, "nothing could be judged");
    assert!(right * 20 >= all * 19, "{right} of {all}");
    assert!(merged * 2 <= all, "{merged} of {all} were drawn with another");
}
