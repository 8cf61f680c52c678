//! `punctual interact --toolkit`: events have the names that the programs' own toolkits give them, compared with what
//! the toolkits log, or with what was put in.

use crate::requires;
use crate::support::interact::{example, run_at_home};
use crate::support::interact_window::needs;
use crate::support::{self, code, json, stderr};
use punctual_recording::{InputEvent, Interaction, Outcome, for_each_input_event, read_interactions};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// How many keys are typed.
const TYPED: usize = 36;

/// What a run found: the answer, its inputs and the events.
struct Found {
    answer: Value,
    inputs: Vec<Interaction>,
    events: Vec<InputEvent>,
}

/// Types at a program and looks at its events; `None` if this kernel does not allow that.
fn used(test: &str, directory: &Path, via: &str, program: &[&str]) -> Option<Found> {
    used_with(test, directory, via, program, "")
}

/// The same with further steps of the script.
fn used_with(test: &str, directory: &Path, via: &str, program: &[&str], steps: &str) -> Option<Found> {
    let keys: String = ('a'..='z').cycle().take(TYPED).collect();
    let pace = "[pace]\nmedian = \"60ms\"\nspread = 0.1\n";
    let script = format!("name = \"events\"\n{pace}[[step]]\ntype = \"{keys}\"\n{steps}");
    std::fs::write(directory.join("events.toml"), script).unwrap();
    let words = ["interact", "-q", "--json", "--toolkit", "--via", via, "-o", "a.punctual", "--script", "events.toml"];
    let attempt = || {
        let _ = std::fs::remove_dir_all(directory.join("a.punctual"));
        let output = run_at_home(directory, &[&words[..], &["--"], program].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = json(&output);
        assert_eq!(answer["followed"], true, "{}", stderr(&output));
        answer
    };
    let mut answer = attempt();
    for _ in support::attempts(support::MAX_ATTEMPTS - 1) {
        let lost = answer["toolkit"]["lost"].as_u64().unwrap_or(0);
        if lost == 0 {
            break;
        }
        eprintln!("{lost} events lost: nobody had a CPU to read them");
        answer = attempt();
    }
    if answer["toolkit"].is_null() {
        let said = answer["provenance"]["fallbacks"].to_string();
        assert!(said.contains("events of toolkits are not seen"), "{said}");
        support::skip(test, &said);
        return None;
    }
    let recording = directory.join("a.punctual");
    let mut events = Vec::new();
    for_each_input_event(&recording, |event| events.push(event)).unwrap();
    let toolkit = &answer["toolkit"];
    for none in ["lost", "unnamed", "not_kept"] {
        assert_eq!(toolkit[none], 0, "{none}: {toolkit}");
    }
    // Each event has one sort, and belongs to one input or to none.
    let sum = |name: &str| toolkit["events"].as_array().unwrap().iter().map(|sort| sort[name].as_u64().unwrap()).sum();
    let (all, of_none): (u64, u64) = (sum("count"), sum("background"));
    assert_eq!(all, events.len() as u64);
    assert_eq!(of_none, events.iter().filter(|event| event.number.is_none()).count() as u64);
    assert!(toolkit["stops"].as_u64().unwrap() >= all, "{toolkit}");
    assert!(toolkit["stop_ns"].as_u64().unwrap() > 0, "a stop is not for nothing: {toolkit}");
    Some(Found { answer, inputs: read_interactions(&recording).unwrap(), events })
}

/// How many of the typed keys caused exactly this many events of this name. Keys that the program took together,
/// because it had no CPU for longer than the pause between keys, have as many for each key.
fn keys_with(found: &Found, name: &str, of_each: usize) -> (usize, usize) {
    let named = |number: u32| move |event: &&InputEvent| event.name == name && event.number == Some(number);
    let keys: Vec<&Interaction> = found.inputs.iter().filter(|input| input.kind == "key").collect();
    let together = keys.split_inclusive(|key| key.outcome != Some(Outcome::Merged));
    let right = together.filter(|keys| {
        let events = |key: &&Interaction| found.events.iter().filter(named(key.number)).count();
        keys.iter().map(events).sum::<usize>() == of_each * keys.len()
    });
    (keys.len(), right.map(<[_]>::len).sum())
}

/// All but one in a hundred, or one.
fn nearly_all(right: usize, met: usize) -> bool {
    right + (met / 100).max(1) >= met
}

#[test]
fn events_of_gtk_are_those_that_a_program_of_gtk_logs() {
    requires!("interact toolkit gtk", "terminal", "kernel's thread ids", "unshifted clock");
    needs!("interact toolkit gtk", "Xvfb");
    let program = example("interact_gtk").display().to_string();
    if Command::new(&program).arg("check").status().unwrap().code() == Some(77) {
        return support::skip("interact toolkit gtk", "there is no GTK 3");
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let log = directory.path().join("log");
    let Some(found) = used("interact toolkit gtk", directory.path(), "x11", &[&program, log.to_str().unwrap()]) else {
        return;
    };
    assert!(found.answer["toolkit"]["libraries"].to_string().contains("libgtk-3.so"), "{}", found.answer["toolkit"]);
    let events: Vec<&InputEvent> = found.events.iter().filter(|event| event.toolkit == "gtk3").collect();
    // The program logs an event just before GTK gets it.
    let from_ns = found.inputs.iter().find(|input| input.kind == "key").expect("keys").begin_ns;
    let to_ns = events.last().expect("events").at_ns;
    let text = std::fs::read_to_string(&log).unwrap();
    let logged = text.lines().filter_map(|line| line.split_once(' '));
    let logged = logged.map(|(at, name)| (at.parse::<u64>().unwrap(), name));
    let logged: Vec<(u64, &str)> = logged.filter(|(at, _)| (from_ns..=to_ns).contains(at)).collect();
    let seen: Vec<&&InputEvent> = events.iter().filter(|event| event.at_ns >= from_ns).collect();
    let right =
        logged.iter().zip(&seen).filter(|((at, name), event)| event.name == *name && event.at_ns >= *at).count();
    let (keys, with_one) = keys_with(&found, "key_press", 1);
    eprintln!("{right} of {} events are those of the log, {with_one} of {keys} keys have one key_press", logged.len());
    // Presses and releases are never merged, unlike requests to draw.
    for name in ["key_press", "key_release"] {
        assert_eq!(seen.iter().filter(|event| event.name == name).count(), TYPED, "{name}: {seen:?}");
    }
    assert!(logged.len() == seen.len() && right == seen.len(), "{logged:?} {seen:?}");
    assert_eq!(keys, TYPED);
    assert!(nearly_all(with_one, keys), "{with_one} of {keys}: {seen:?}");
}

#[test]
fn events_of_wayland_are_those_that_its_library_says() {
    requires!("interact toolkit wayland", "terminal", "kernel's thread ids", "unshifted clock");
    needs!("interact toolkit wayland", "sway", "foot");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let log = directory.path().join("log");
    let shell = format!("WAYLAND_DEBUG=client exec foot cat 2>{}", log.display());
    let Some(found) = used("interact toolkit wayland", directory.path(), "wayland", &["sh", "-c", &shell]) else {
        return;
    };
    let seen: Vec<&str> = found.events.iter().map(|event| event.name.as_str()).collect();
    // `[123456.789] wl_keyboard@9.key(12, 345, 30, 1)`; the program's own requests have an arrow.
    let text = std::fs::read_to_string(&log).unwrap();
    let name = |line: &str| {
        let told = line.split_once("] ")?.1;
        let (of, rest) = told.split_once(['@', '#'])?;
        let (_, event) = rest.split_once('.')?;
        let (event, _) = event.split_once('(')?;
        (!told.contains("->") && !told.starts_with("discarded")).then(|| format!("{of}.{event}"))
    };
    let logged: Vec<String> = text.lines().filter_map(name).collect();
    // It prints all of them from its start on, and a few more at its end.
    let is_at = |at: &usize| logged[*at..].iter().zip(&seen).filter(|(logged, seen)| *logged == *seen).count();
    let right = (0..logged.len()).map(|at| is_at(&at)).max().unwrap_or(0);
    let (keys, _) = keys_with(&found, "wl_keyboard.key", 2);
    eprintln!("{right} of {} events are those of the log, in its order; {keys} keys", seen.len());
    assert!(seen.len() >= 100, "too few: {}", seen.len());
    assert!(right * 100 >= seen.len() * 99, "{right} of {}: {seen:?} {logged:?}", seen.len());
    // Press and release of each.
    let count = |all: &mut dyn Iterator<Item = &str>| all.filter(|name| *name == "wl_keyboard.key").count();
    assert_eq!(count(&mut seen.iter().copied()), 2 * TYPED);
    assert_eq!(count(&mut logged.iter().map(String::as_str)), 2 * TYPED);
}

#[test]
fn events_of_xt_come_of_the_keys_that_were_typed() {
    requires!("interact toolkit xt", "terminal", "kernel's thread ids", "unshifted clock");
    needs!("interact toolkit xt", "Xvfb", "xterm");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(found) = used("interact toolkit xt", directory.path(), "x11", &["xterm", "-e", "cat"]) else { return };
    let presses = found.events.iter().filter(|event| (&*event.toolkit, &*event.name) == ("xt", "KeyPress")).count();
    let (keys, with_one) = keys_with(&found, "KeyPress", 1);
    eprintln!("{with_one} of {keys} keys have one KeyPress, {presses} of those in all");
    assert_eq!((keys, presses), (TYPED, TYPED));
    assert!(nearly_all(with_one, keys), "{with_one} of {keys}: {:?}", found.events);
}

#[test]
fn a_program_without_a_toolkit_is_said_to_have_none() {
    requires!("interact toolkit none", "terminal", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(found) = used("interact toolkit none", directory.path(), "pty", &["cat"]) else { return };
    assert_eq!((found.events.len(), found.answer["toolkit"]["stops"].as_u64()), (0, Some(0)));
    let said = found.answer["warnings"].to_string();
    assert!(said.contains("no toolkit was found in the program"), "{said}");
}

/// How often the mouse is clicked after the keys, where the pointer is: in the middle of the window.
const CLICKED: usize = 3;

/// Events of one name that a program must have got.
struct Of {
    name: &'static str,
    /// For each key, and for each click.
    key: usize,
    click: usize,
}

impl Of {
    const fn key(name: &'static str, key: usize) -> Of {
        Of { name, key, click: 0 }
    }

    const fn click(name: &'static str, click: usize) -> Of {
        Of { name, key: 0, click }
    }
}

const GTK: [Of; 4] =
    [Of::key("key_press", 1), Of::key("key_release", 1), Of::click("button_press", 1), Of::click("button_release", 1)];
/// Qt asks first whether somebody overrides a shortcut with the key, and then passes on press and release.
const QT: [Of; 2] = [Of::key("Key", 3), Of::click("Mouse", 2)];
const WAYLAND: [Of; 2] = [Of::key("wl_keyboard.key", 2), Of::click("wl_pointer.button", 2)];

/// What a toolkit passed on from this time on, by name.
fn count(found: &Found, toolkit: &str, name: &str, from_ns: u64) -> usize {
    let is_one = |event: &&InputEvent| event.toolkit == toolkit && event.name == name && event.at_ns >= from_ns;
    found.events.iter().filter(is_one).count()
}

/// What a toolkit of a program must pass on, from a library whose file's name begins like this.
type PassedOn<'a> = (&'a str, &'a str, &'a [Of]);

/// Types and clicks at a program and looks whether its toolkits have passed on all of that. Returns what a run found; `None`
/// if this kernel does not allow that.
///
/// While the thread that passes events on is kept from a CPU, nobody has to wake it for further ones, and what they are due to is
/// not known. Where most are, it is done again.
fn passes_on_all(
    test: &str,
    directory: &Path,
    via: &str,
    program: &[&str],
    expected: &[PassedOn<'_>],
) -> Option<Found> {
    let click = format!("[[step]]\nclick = \"left\"\ntimes = {CLICKED}\n");
    let mut counts = Vec::new();
    for _ in support::attempts(support::MAX_ATTEMPTS) {
        let found = used_with(test, directory, via, program, &click)?;
        counts = expected.iter().map(|one| keys_passed_on(&found, one)).collect();
        if counts.iter().all(|(keys, right)| right * 10 >= keys * 8) {
            return Some(found);
        }
    }
    panic!("keys, and how many of them have their events: {counts:?}");
}

/// Each event that was put in has been passed on; returns how many keys there were, and of how many it is known that they caused
/// theirs.
fn keys_passed_on(found: &Found, (toolkit, library, expected): &PassedOn<'_>) -> (usize, usize) {
    let libraries = found.answer["toolkit"]["libraries"].as_array().unwrap();
    let own = libraries.iter().find(|one| one["toolkit"] == *toolkit).unwrap_or_else(|| panic!("{libraries:?}"));
    assert!(own["library"].as_str().unwrap().contains(library), "{own}");
    assert_eq!(own["processes"], 1, "{own}");
    let begin_ns = |kind: &str| found.inputs.iter().find(|input| input.kind == kind).expect(kind).begin_ns;
    for of in *expected {
        let (of_keys, of_clicks) = (of.key * TYPED, of.click * CLICKED);
        // The pointer may come into a window that has just been shown.
        let from_ns = begin_ns(if of_keys > 0 { "key" } else { "click" });
        let met = count(found, toolkit, of.name, from_ns);
        eprintln!("{toolkit} {}: {met} of {}", of.name, of_keys + of_clicks);
        assert_eq!(met, of_keys + of_clicks, "{toolkit} {}: {:?}", of.name, found.events);
    }
    let first = &expected[0];
    let (keys, right) = keys_with(found, first.name, first.key);
    eprintln!("{right} of {keys} keys have {} {}", first.key, first.name);
    assert_eq!(keys, TYPED);
    (keys, right)
}

#[test]
fn events_of_gtk_2_come_of_what_was_put_in_from_a_library_that_was_replaced_too() {
    requires!("interact toolkit gtk 2", "terminal", "kernel's thread ids", "unshifted clock");
    needs!("interact toolkit gtk 2", "Xvfb", "gmrun");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (own, test) = (directory.path(), "interact toolkit gtk 2");
    let expected: PassedOn<'_> = ("gtk2", "/libgtk-x11-2.0.so.0", &GTK);
    let Some(found) = passes_on_all(test, own, "x11", &["gmrun"], &[expected]) else { return };
    // As an update does it.
    let libraries = found.answer["toolkit"]["libraries"].as_array().unwrap();
    let library = libraries.iter().find(|one| one["toolkit"] == "gtk2").unwrap()["library"].as_str().unwrap();
    let shell = format!(
        "mkdir -p own; cp {library} own/libgtk-x11-2.0.so.0; LD_LIBRARY_PATH=$PWD/own gmrun & \
         until grep -q own/libgtk /proc/$!/maps; do sleep 0.05; done; \
         rm own/libgtk-x11-2.0.so.0; echo new >own/libgtk-x11-2.0.so.0; wait"
    );
    passes_on_all(test, own, "x11", &["sh", "-c", &shell], &[("gtk2", "/own/libgtk-x11-2.0.so.0 (deleted)", &GTK)]);
}

#[test]
fn events_of_qt_5_come_of_what_was_put_in() {
    requires!("interact toolkit qt 5", "terminal", "kernel's thread ids", "unshifted clock");
    needs!("interact toolkit qt 5", "Xvfb", "featherpad");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let expected: PassedOn<'_> = ("qt5", "/libQt5Gui.so.5", &QT);
    passes_on_all("interact toolkit qt 5", directory.path(), "x11", &["featherpad"], &[expected]);
}

#[test]
fn events_of_qt_5_and_of_wayland_are_told_apart_in_one_program() {
    requires!("interact toolkit qt 5 wayland", "terminal", "kernel's thread ids", "unshifted clock");
    needs!("interact toolkit qt 5 wayland", "sway", "featherpad");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (own, test) = (directory.path(), "interact toolkit qt 5 wayland");
    let plugin = "platforms/libqwayland-generic.so";
    let plugins =
        format!("ls /usr/lib/*/qt5/plugins/{plugin} /usr/lib64/qt5/plugins/{plugin} /usr/lib/qt/plugins/{plugin}");
    let found = Command::new("sh").args(["-c", &plugins]).output().unwrap();
    if found.stdout.is_empty() {
        return support::skip(test, "Qt 5 has no plugin for Wayland (scripts/setup --test)");
    }
    let expected: [PassedOn<'_>; 2] = [("qt5", "/libQt5Gui.so.5", &QT), ("wayland", "/libffi.so", &WAYLAND)];
    passes_on_all(test, own, "wayland", &["featherpad"], &expected);
}

/// A window with a field for text.
const PYQT: &str = "import sys
from PyQt6.QtWidgets import QApplication, QPlainTextEdit
application = QApplication(sys.argv)
text = QPlainTextEdit()
text.resize(400, 300)
text.show()
application.exec()
";

#[test]
fn events_of_qt_6_come_of_what_was_put_in() {
    requires!("interact toolkit qt 6", "terminal", "kernel's thread ids", "unshifted clock");
    needs!("interact toolkit qt 6", "Xvfb");
    // The system's Python: another one on the PATH has other packages.
    let python = "/usr/bin/python3";
    let asked = Command::new(python).args(["-c", "import PyQt6.QtWidgets"]).output();
    if !asked.is_ok_and(|done| done.status.success()) {
        return support::skip("interact toolkit qt 6", "PyQt6 is not installed (scripts/setup --test)");
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(directory.path().join("text.py"), PYQT).unwrap();
    let expected: PassedOn<'_> = ("qt6", "/libQt6Gui.so.6", &QT);
    passes_on_all("interact toolkit qt 6", directory.path(), "x11", &[python, "text.py"], &[expected]);
}

#[test]
fn events_of_gtk_4_come_of_what_was_put_in() {
    requires!("interact toolkit gtk 4", "terminal", "kernel's thread ids", "unshifted clock");
    needs!("interact toolkit gtk 4", "Xvfb", "gnome-text-editor");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // Without a graphics processor it draws for a long time by OpenGL.
    let program = ["env", "GSK_RENDERER=cairo", "gnome-text-editor"];
    passes_on_all("interact toolkit gtk 4", directory.path(), "x11", &program, &[("gtk4", "/libgtk-4.so.1", &GTK)]);
}
