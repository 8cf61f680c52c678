//! `punctual interact learn --via x11`: another process does what a person does, by XTEST, in windows of a program that logs
//! all that it is given (`examples/interact_clicks.rs`); what was learned is played again.

use crate::support::display::Display;
use crate::support::interact::{example, run_at_home};
use crate::support::interact_window::needs;
use crate::support::{self, code, json, number, punctual, run, stderr, stdout, wait_until};
use punctual_interact::script::{Act, Script, Step};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::Duration;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConfigureWindowAux, ConnectionExt as _, CreateWindowAux, EventMask,
    InputFocus, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, MapState, WindowClass,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// Between two things that somebody does.
const PAUSE: Duration = Duration::from_millis(60);

/// Somebody at a display.
struct Person {
    connection: RustConnection,
    root: u32,
    symbols: Vec<u32>,
    symbols_each: usize,
    first_key: u8,
}

impl Person {
    fn at(display: &Display) -> Person {
        let connection = display.connect();
        let setup = connection.setup();
        let (root, first_key) = (setup.roots[0].root, setup.min_keycode);
        let count = setup.max_keycode - first_key + 1;
        let mapping = connection.get_keyboard_mapping(first_key, count).unwrap().reply().unwrap();
        let symbols_each = usize::from(mapping.keysyms_per_keycode);
        Person { connection, root, symbols: mapping.keysyms, symbols_each, first_key }
    }

    fn fake(&self, kind: u8, detail: u8, at: (i16, i16)) {
        let faked = self.connection.xtest_fake_input(kind, detail, 0, self.root, at.0, at.1, 0);
        faked.unwrap().check().unwrap();
    }

    /// The key that has this symbol.
    fn key(&self, symbol: u32) -> u8 {
        let at = self.symbols.chunks(self.symbols_each).position(|symbols| symbols[0] == symbol);
        self.first_key + u8::try_from(at.expect("a key")).unwrap()
    }

    fn hold(&self, symbol: u32, what: impl Fn()) {
        let key = self.key(symbol);
        self.fake(KEY_PRESS_EVENT, key, (0, 0));
        what();
        self.fake(KEY_RELEASE_EVENT, key, (0, 0));
    }

    fn types(&self, letters: &str) {
        for letter in letters.chars() {
            self.hold(u32::from(letter), || ());
            std::thread::sleep(PAUSE);
        }
    }

    /// Presses a button at a place of a window, and releases it there or elsewhere.
    fn press(&self, button: u8, window: u32, (x, y): (i16, i16), to: (i16, i16)) {
        self.point(window, (x, y));
        self.fake(BUTTON_PRESS_EVENT, button, (0, 0));
        if to != (x, y) {
            self.point(window, to);
        }
        self.fake(BUTTON_RELEASE_EVENT, button, (0, 0));
    }

    fn point(&self, window: u32, (x, y): (i16, i16)) {
        let place = self.connection.translate_coordinates(window, self.root, x, y).unwrap().reply().unwrap();
        self.fake(MOTION_NOTIFY_EVENT, 0, (place.dst_x, place.dst_y));
    }

    fn click(&self, button: u8, window: u32, at: (i16, i16)) {
        self.press(button, window, at, at);
        std::thread::sleep(PAUSE);
    }

    /// The windows that are shown, the lowest first.
    fn shown(&self) -> Vec<u32> {
        let children = self.connection.query_tree(self.root).unwrap().reply().unwrap().children;
        let is_shown = |window: &u32| {
            let asked = self.connection.get_window_attributes(*window).unwrap().reply();
            asked.is_ok_and(|is| is.map_state == MapState::VIEWABLE)
        };
        children.into_iter().filter(is_shown).collect()
    }

    /// Waits for so many windows, and gives the keys to one of them.
    fn turn_to(&self, at: usize, of: usize) -> u32 {
        assert!(wait_until(|| self.shown().len() == of), "{} windows and not {of}", self.shown().len());
        // Whoever learns is told by now.
        std::thread::sleep(PAUSE);
        let window = self.shown()[at];
        let focus = self.connection.set_input_focus(InputFocus::POINTER_ROOT, window, x11rb::CURRENT_TIME);
        focus.unwrap().check().unwrap();
        window
    }

    /// A window of somebody else's.
    fn open_own(&self) -> u32 {
        let window = self.connection.generate_id().unwrap();
        let wanted = CreateWindowAux::new().event_mask(EventMask::BUTTON_PRESS | EventMask::KEY_PRESS);
        let (depth, class, copied) =
            (x11rb::COPY_DEPTH_FROM_PARENT, WindowClass::INPUT_OUTPUT, x11rb::COPY_FROM_PARENT);
        let made = self.connection.create_window(depth, window, self.root, 540, 380, 90, 90, 0, class, copied, &wanted);
        made.unwrap().check().unwrap();
        self.connection.map_window(window).unwrap().check().unwrap();
        window
    }
}

/// Starts to learn on a display.
fn learning(directory: &Path, display: &Display, words: &[&str]) -> Child {
    let mut command = punctual();
    command.current_dir(directory).env("DISPLAY", display.name()).env("XAUTHORITY", "/dev/null").env_remove("SUDO_UID");
    // Whatever it starts is at home there: editors keep drafts, and open them again.
    command.env("HOME", directory.join("home"));
    command.args(["--json", "interact", "learn", "--via", "x11", "-o", "s.toml"]).args(words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A program that logs what is done in its windows.
fn clicks() -> String {
    example("interact_clicks").display().to_string()
}

/// That program on a display of its own, and a person there.
fn learning_clicks(directory: &Path) -> (Display, Person, Child) {
    let display = Display::start();
    let child = learning(directory, &display, &["--", &clicks(), "log"]);
    let person = Person::at(&display);
    (display, person, child)
}

fn learned(directory: &Path, output: &Output) -> (serde_json::Value, Script) {
    assert_eq!(code(output), 0, "{}{}", stdout(output), stderr(output));
    let text = std::fs::read_to_string(directory.join("s.toml")).unwrap();
    (json(output), Script::parse("s.toml", &text).unwrap_or_else(|error| panic!("{error}: {text}")))
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// What there is in a script, in order: clicks and turns with their places.
fn acts(script: &Script) -> Vec<String> {
    let mut place = String::new();
    let mut all = Vec::new();
    for press in script.presses() {
        match &press.act {
            Act::Point(spot) => place = spot.to_string(),
            Act::Click(_) | Act::Scroll(_) => all.push(format!("{} {place}", press.act.label())),
            act => all.push(act.label()),
        }
    }
    all
}

const SHIFT: u32 = 0xffe1;
const CONTROL: u32 = 0xffe3;
const DOWN: u32 = 0xff54;

/// What a script can do again, and what it then contains.
fn does_what_scripts_can(person: &Person, first: u32) -> Vec<&'static str> {
    person.click(1, first, (40, 50));
    // Twice within the window in it, whose corner within its border is at 151, 101.
    person.click(1, first, (200, 130));
    person.click(1, first, (200, 130));
    person.types("ab");
    person.hold(SHIFT, || person.types("x"));
    person.click(3, first, (10, 200));
    for (button, times) in [(5, 3), (4, 1)] {
        (0..times).for_each(|_| person.click(button, first, (10, 200)));
    }
    // At once.
    (0..4).for_each(|_| person.press(5, first, (10, 200), (10, 200)));
    std::thread::sleep(PAUSE);
    person.hold(CONTROL, || person.types("s"));
    person.hold(DOWN, || ());
    // It moves away.
    person.types("m");
    std::thread::sleep(3 * PAUSE);
    person.click(2, first, (40, 50));
    person.types("o");
    let second = person.turn_to(1, 2);
    person.types("c");
    person.click(1, second, (20, 30));
    person.turn_to(0, 1);
    person.types("dp");
    let menu = person.turn_to(1, 2);
    person.turn_to(0, 2);
    person.click(1, menu, (70, 12));
    person.turn_to(0, 1);
    vec![
        "left 40 50",
        "left 200 130",
        "left 200 130",
        "a",
        "b",
        "X",
        "right 10 200",
        "down 10 200",
        "down 10 200",
        "down 10 200",
        "up 10 200",
        "down 10 200",
        "down 10 200",
        "down 10 200",
        "down 10 200",
        "ctrl-s",
        "down",
        "m",
        "middle 40 50",
        "o",
        "c",
        "left 20 30",
        "d",
        "p",
        // The menu's corner is at 61, 201 of the screen by then, the window's at 92, 72.
        "left 39 141",
    ]
}

#[test]
fn what_somebody_does_in_windows_is_played_again() {
    needs!("interact learn window", "Xvfb");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = directory.path();
    let (_display, person, child) = learning_clicks(at);
    let first = person.turn_to(0, 1);
    let expected = does_what_scripts_can(&person, first);
    person.types("q");
    let output = child.wait_with_output().unwrap();
    let (answer, script) = learned(at, &output);
    let done: Vec<&str> = expected.iter().copied().chain(["q"]).collect();
    assert_eq!(acts(&script), done, "{}", stdout(&output));
    let counts = ["keys", "clicks", "scrolls", "nameless_keys", "too_many"].map(|what| number(&answer[what]));
    assert_eq!(counts, [11, 7, 8, 0, 0], "{answer}");
    let not: Vec<u64> = answer["not_learned"].as_object().unwrap().values().map(number).collect();
    assert_eq!((not.iter().sum::<u64>(), &answer["cut_off"]), (0, &false.into()), "{answer}");
    assert!(script.has_recorded_pauses());
    // Before the keys to the second window, and before those to the first one after that.
    assert_eq!(script.steps.iter().filter(|step| matches!(step, Step::Wait(_))).count(), 2);

    for pace in ["recorded", "human"] {
        let (log, recording) = (format!("log-{pace}"), format!("{pace}.punctual"));
        let words = ["interact", "-q", "--no-bpf", "--via", "x11", "--script", "s.toml", "--pace", pace, "-o"];
        let played = run(at, &[&words[..], &[&recording, "--", &clicks(), &log]].concat());
        assert_eq!(code(&played), 0, "{}{}", stdout(&played), stderr(&played));
        assert_eq!(lines(&at.join(&log)), lines(&at.join("log")), "at the pace {pace}");
    }
}

#[test]
fn what_scripts_cannot_do_is_counted_and_not_done() {
    needs!("interact learn window", "Xvfb");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = directory.path();
    let (_display, person, child) = learning_clicks(at);
    let first = person.turn_to(0, 1);
    let other = person.open_own();
    person.types("a");
    person.press(1, first, (50, 50), (120, 90));
    person.hold(CONTROL, || person.click(1, first, (50, 50)));
    person.click(9, first, (50, 50));
    person.hold(CONTROL, || person.hold(SHIFT, || person.types("t")));
    person.hold(SHIFT, || ());
    person.point(first, (70, 70));
    std::thread::sleep(Duration::from_millis(600));
    // Beyond the lower edge of the window.
    person.types("p");
    let windows = 3;
    assert!(wait_until(|| person.shown().len() == windows));
    let menu = *person.shown().iter().find(|window| ![first, other].contains(window)).unwrap();
    person.click(1, menu, (10, 100));
    assert!(wait_until(|| person.shown().len() == 2));
    person.click(1, other, (5, 5));
    let focus = person.connection.set_input_focus(InputFocus::POINTER_ROOT, other, x11rb::CURRENT_TIME);
    focus.unwrap().check().unwrap();
    person.types("secret");
    person.turn_to(0, 2);
    // Back to the first window while the second one is shown.
    person.types("o");
    assert!(wait_until(|| person.shown().len() == windows));
    std::thread::sleep(PAUSE);
    person.click(1, first, (12, 13));
    person.types("z");
    person.hold(u32::from('q'), || ());
    let output = child.wait_with_output().unwrap();
    let (answer, script) = learned(at, &output);
    assert_eq!(acts(&script), ["a", "p", "o"], "{}", stdout(&output));
    let not = |what: &str| number(&answer["not_learned"][what]);
    let counts = ["drags", "with_key_held", "other_buttons", "hovers", "beside", "elsewhere", "other_windows", "lost"];
    assert_eq!(counts.map(not), [1, 1, 1, 1, 1, 7, 3, 0], "{answer}");
    assert_eq!(number(&answer["nameless_keys"]), 2);
    assert_eq!(answer["nameless"], serde_json::json!(["ctrl-shift-T", "shift alone"]));
    assert!(!std::fs::read_to_string(at.join("s.toml")).unwrap().contains("secret"));
    let notes = answer["warnings"].to_string();
    assert!(notes.contains("not in the script: 1 drag; ") && notes.contains("7 inputs to other programs"), "{notes}");
}

#[test]
fn a_signal_keeps_what_was_learned_of_a_program_that_ran_already_and_leaves_that_alone() {
    needs!("interact learn window", "Xvfb");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = directory.path();
    let display = Display::start();
    let mut program = display.show("interact_clicks", &at.join("log"));
    let person = Person::at(&display);
    let first = person.turn_to(0, 1);
    person.types("m");
    let child = learning(at, &display, &["--attach", &program.id().to_string()]);
    // It is there once a key that it has seen is in the log and in its script; the first ones may come too early.
    std::thread::sleep(Duration::from_secs(2));
    person.click(3, first, (7, 9));
    person.types("k");
    std::thread::sleep(Duration::from_millis(300));
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    let (answer, script) = learned(at, &output);
    assert_eq!(acts(&script), ["right 7 9", "k"], "{}", stdout(&output));
    assert_eq!((&answer["cut_off"], &answer["via"]), (&true.into(), &"x11".into()));
    assert_eq!((&answer["ended_by"], &answer["warnings"]), (&"user".into(), &serde_json::json!([])));
    assert!(matches!(program.try_wait(), Ok(None)), "it goes on");
    let _ = program.kill().and_then(|()| program.wait());
}

/// GTK learns of keys and clicks by another protocol, which says nothing of their place where they are recorded.
#[test]
fn what_somebody_does_in_a_window_of_gtk_is_learned() {
    needs!("interact learn gtk", "Xvfb");
    let program = example("interact_gtk").display().to_string();
    if std::process::Command::new(&program).arg("check").status().unwrap().code() == Some(77) {
        return support::skip("interact learn gtk", "there is no GTK 3");
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = directory.path();
    let display = Display::start();
    let child = learning(at, &display, &["--", &program, "log"]);
    let person = Person::at(&display);
    let first = person.turn_to(0, 1);
    std::thread::sleep(Duration::from_secs(1));
    person.click(1, first, (30, 40));
    person.types("ab");
    person.click(3, first, (50, 20));
    (0..3).for_each(|_| person.click(5, first, (50, 20)));
    (0..2).for_each(|_| person.press(4, first, (50, 20), (50, 20)));
    std::thread::sleep(Duration::from_millis(300));
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    let (_, script) = learned(at, &output);
    let expected =
        ["left 30 40", "a", "b", "right 50 20", "down 50 20", "down 50 20", "down 50 20", "up 50 20", "up 50 20"];
    assert_eq!(acts(&script), expected, "{}", stdout(&output));
}

/// What is typed into a real editor stands in its file again when it is played.
#[test]
fn an_editor_saves_the_same_text_again() {
    const LINE: &str = "one two three four five six seven";
    needs!("interact learn mousepad", "Xvfb", "mousepad");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (at, text) = (directory.path(), format!("{LINE}\n").repeat(60));
    let file = at.join("t.txt");
    std::fs::write(&file, &text).unwrap();
    let display = Display::start();
    let person = Person::at(&display);
    let child = learning(at, &display, &["--", "mousepad", "t.txt"]);
    let first = person.turn_to(0, 1);
    std::thread::sleep(Duration::from_secs(2));
    person.click(1, first, (100, 150));
    person.types("ab");
    (0..5).for_each(|_| person.click(5, first, (120, 150)));
    (0..2).for_each(|_| person.click(4, first, (120, 150)));
    // A double click selects a word; after a while, it is not taken for a third one.
    std::thread::sleep(Duration::from_secs(1));
    (0..2).for_each(|_| person.click(1, first, (60, 250)));
    person.types("xyz");
    person.hold(CONTROL, || person.types("s"));
    let is_saved = || std::fs::read_to_string(&file).is_ok_and(|now| now != text);
    assert!(wait_until(is_saved), "it saves nothing");
    let saved = std::fs::read_to_string(&file).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    support::signal(&child, libc::SIGINT);
    let (_, script) = learned(at, &child.wait_with_output().unwrap());
    assert_eq!(acts(&script).len(), 16);
    std::fs::write(&file, &text).unwrap();
    let words = ["interact", "-q", "--no-bpf", "--via", "x11", "--script", "s.toml", "--pace", "recorded"];
    let played = run_at_home(at, &[&words[..], &["-o", "p.punctual", "--", "mousepad", "t.txt"]].concat());
    assert_eq!(code(&played), 0, "{}{}", stdout(&played), stderr(&played));
    // GTK scrolls by how far a wheel has turned since it last looked, and by nothing at its first look: on a busy machine that
    // is a notch more or less, and `xyz` stands in a line above or below, all of which say the same.
    let played_text = std::fs::read_to_string(&file).unwrap();
    let changed = |text: &str| text.lines().filter(|line| *line != LINE).map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!((changed(&played_text), played_text.len()), (changed(&saved), saved.len()));
    assert!(saved.contains("ab") && saved.contains("xyz"), "{saved}");
}

/// A window manager puts a window into another one, which it moves.
#[test]
fn places_are_right_in_what_a_window_manager_puts_around_a_window() {
    needs!("interact learn window", "Xvfb");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = directory.path();
    let (_display, person, child) = learning_clicks(at);
    let first = person.turn_to(0, 1);
    let frame = person.open_own();
    person.connection.reparent_window(first, frame, 5, 20).unwrap().check().unwrap();
    person.turn_to(0, 1);
    let move_to = |x: i32, y: i32| {
        let to = ConfigureWindowAux::new().x(x).y(y).width(400).height(300);
        person.connection.configure_window(frame, &to).unwrap().check().unwrap();
        std::thread::sleep(3 * PAUSE);
    };
    move_to(10, 10);
    person.click(1, first, (33, 44));
    move_to(150, 60);
    person.click(3, first, (33, 44));
    (0..2).for_each(|_| person.click(4, first, (201, 140)));
    let focus = person.connection.set_input_focus(InputFocus::POINTER_ROOT, first, x11rb::CURRENT_TIME);
    focus.unwrap().check().unwrap();
    person.types("aq");
    let (_, script) = learned(at, &child.wait_with_output().unwrap());
    assert_eq!(acts(&script), ["left 33 44", "right 33 44", "up 201 140", "up 201 140", "a", "q"]);
}

/// Toolkits make a window and put it into another of their own, around a menu bar. Where the pointer is decides which of the
/// two has a key.
#[test]
fn a_window_that_the_program_put_into_another_is_a_part_of_that() {
    needs!("interact learn window", "Xvfb");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = directory.path();
    let (_display, person, child) = learning_clicks(at);
    let first = person.turn_to(0, 1);
    // Where the pointer is when a script is played.
    person.point(first, (200, 130));
    person.types("w");
    let wrapper = person.turn_to(1, 2);
    person.types("c");
    person.click(1, wrapper, (20, 50));
    person.types("dq");
    let (answer, script) = learned(at, &child.wait_with_output().unwrap());
    assert_eq!(acts(&script), ["w", "c", "left 20 50", "d", "q"], "{answer}");
    assert_eq!(number(&answer["not_learned"]["other_windows"]), 0, "{answer}");
    let words = ["interact", "-q", "--no-bpf", "--via", "x11", "--script", "s.toml", "--pace", "recorded", "-o"];
    let played = run(at, &[&words[..], &["r.punctual", "--", &clicks(), "played"]].concat());
    assert_eq!(code(&played), 0, "{}{}", stdout(&played), stderr(&played));
    assert_eq!(lines(&at.join("played")), lines(&at.join("log")));
}

#[test]
fn what_is_in_the_way_of_the_script_by_then_is_left_alone() {
    needs!("interact learn window", "Xvfb");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = directory.path();
    let (_display, person, child) = learning_clicks(at);
    person.turn_to(0, 1);
    std::fs::write(at.join("s.toml"), "somebody's").unwrap();
    person.types("aq");
    let output = child.wait_with_output().unwrap();
    let answer = json(&output);
    assert_eq!((code(&output), &answer["script"]), (0, &"s-2.toml".into()), "{answer}{}", stderr(&output));
    assert!(answer["warnings"].to_string().contains("s.toml was made meanwhile"), "{answer}");
    assert_eq!(std::fs::read_to_string(at.join("s.toml")).unwrap(), "somebody's");
    let text = std::fs::read_to_string(at.join("s-2.toml")).unwrap();
    assert_eq!(acts(&Script::parse("s-2.toml", &text).unwrap()), ["a", "q"]);
}

#[test]
fn a_disk_that_is_full_by_then_is_said_in_one_line() {
    needs!("interact learn window", "Xvfb");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = directory.path();
    let Some(small) = support::SmallDisk::mount(at, "64k") else {
        return support::skip("interact learn window", "this user may not mount");
    };
    let display = Display::start();
    let person = Person::at(&display);
    let program = example("interact_clicks").display().to_string();
    let script = small.path().join("full.toml").display().to_string();
    let mut command = punctual();
    command.current_dir(at).env("DISPLAY", display.name()).env("XAUTHORITY", "/dev/null").env_remove("SUDO_UID");
    command.args(["interact", "learn", "--via", "x11", "-o", &script, "--", &program, "log"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    person.turn_to(0, 1);
    let _ = std::fs::write(small.path().join("all"), [0; 1 << 17]);
    person.types("aq");
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!((code(&output), said.lines().count()), (1, 1), "{said}{}", stdout(&output));
    assert!(said.contains("no space left on the disk; what was learned is lost"), "{said}");
    assert!(!Path::new(&script).exists());
}

#[test]
fn a_program_without_a_window_and_a_display_that_is_not_there_are_said_in_one_line() {
    needs!("interact learn window", "Xvfb");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = directory.path();
    let display = Display::start();
    let child = learning(at, &display, &["--", "sh", "-c", "echo no toolkit here"]);
    let said = child.wait_with_output().unwrap();
    assert!(code(&said) == 1 && stdout(&said).contains("showed no window"), "{}{}", stdout(&said), stderr(&said));
    assert!(stdout(&said).contains("no toolkit here"), "{}", stdout(&said));
    let mut without = punctual();
    let words = ["interact", "learn", "--via", "x11", "-o", "s.toml", "--", "sh"];
    let without = without.current_dir(at).env("DISPLAY", "").args(words).output().unwrap();
    assert_eq!((code(&without), stderr(&without).lines().count()), (1, 1), "{}", stderr(&without));
    assert!(stderr(&without).contains("DISPLAY"), "{}", stderr(&without));
    assert!(!at.join("s.toml").exists());
    let attached = run(at, &["interact", "learn", "--attach", "1"]);
    assert_eq!(code(&attached), 129, "{}", stderr(&attached));
}
