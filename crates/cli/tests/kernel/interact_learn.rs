//! `punctual interact learn` at a real terminal: a synthetic typist types at their own pace, and what was learned is
//! played again.

use crate::support::{self, MAX_ATTEMPTS, code, is_alive, punctual, run, stderr, wait_until};
use punctual_interact::script::{Act, Script};
use punctual_kernel::pseudo_terminal::PseudoTerminal;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Somebody at a terminal, who types and sees what it shows.
struct Typist {
    terminal: PseudoTerminal,
    /// Kept open so that the terminal's settings can be checked after the program ends.
    far: std::os::fd::OwnedFd,
    shown: String,
}

/// The pauses before keys, ms, over and over: synthetic, and unlike those of scripts.
const PAUSES: [u64; 7] = [23, 71, 38, 90, 55, 31, 62];

impl Typist {
    fn new() -> Typist {
        let terminal = PseudoTerminal::make().unwrap();
        let far = terminal.open_far().unwrap();
        Typist { terminal, far, shown: String::new() }
    }

    fn start(&self, directory: &Path, words: &[&str]) -> Child {
        let end = || Stdio::from(self.far.try_clone().unwrap());
        let mut command: Command = punctual();
        command.current_dir(directory).args(words).stdin(end()).stdout(end()).stderr(end()).spawn().unwrap()
    }

    fn look(&mut self) {
        let mut buffer = [0; 4_096];
        let (count, _) = self.terminal.read(&mut buffer);
        self.shown.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }

    fn wait_for(&mut self, words: &str) {
        for _ in 0..3_000 {
            self.look();
            if self.shown.contains(words) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("`{words}` never came: {}", self.shown);
    }

    /// Each element is what one key sends.
    fn type_keys(&mut self, keys: &[&[u8]]) {
        for (key, pause) in keys.iter().zip(PAUSES.into_iter().cycle()) {
            std::thread::sleep(Duration::from_millis(pause));
            assert_eq!(self.terminal.write(key), key.len());
            self.look();
        }
    }

    fn modes(&self) -> [u32; 4] {
        // SAFETY: settings of zeros are a valid value; the call fills them.
        let settings = unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(self.far.as_raw_fd(), &raw mut settings), 0);
            settings
        };
        [settings.c_iflag, settings.c_oflag, settings.c_cflag, settings.c_lflag]
    }

    /// Whether the learner has taken all that was typed.
    fn is_taken(&self) -> bool {
        let mut waiting: libc::c_int = 0;
        // SAFETY: the call fills the number, which lives through it.
        assert_eq!(unsafe { libc::ioctl(self.far.as_raw_fd(), libc::FIONREAD, &raw mut waiting) }, 0);
        waiting == 0
    }

    fn end_of(&mut self, child: &mut Child) -> i32 {
        let mut ended = None;
        let is_over = wait_until(|| {
            self.look();
            ended = child.try_wait().unwrap();
            ended.is_some()
        });
        assert!(is_over, "it did not end: {}", self.shown);
        self.look();
        ended.and_then(|status| status.code()).unwrap_or(-1)
    }
}

/// A program that writes the first this many bytes into a file as they come.
fn takes(count: usize, file: &str) -> String {
    format!("stty raw -echo; printf ready; dd bs=1 count={count} of={file} 2>/dev/null; stty sane")
}

fn read(directory: &Path, name: &str) -> Vec<u8> {
    std::fs::read(directory.join(name)).unwrap_or_default()
}

/// What keys send, and their names in scripts.
const KEYS: [(&[u8], &str); 16] = [
    (b"h", "h"),
    (b"i", "i"),
    (b" ", "space"),
    ("ä".as_bytes(), "ä"),
    (b"\r", "enter"),
    (b"\x1b[A", "up"),
    (b"\x1b[6~", "page-down"),
    (b"\x03", "ctrl-c"),
    (b"\x1b[1;5C", "ctrl-right"),
    (b"\x1bx", "alt-x"),
    (b"\"", "\""),
    (b"\\", "\\"),
    (b"\x7f", "backspace"),
    (b"\t", "tab"),
    (b"#", "#"),
    (b"\x1a", "ctrl-z"),
];

/// Learns the keys from a typist; returns whether the script has each pause separately. If others keep the learner from
/// its CPU, two keys come at once.
fn learns(at: &Path, typed: &[u8]) -> bool {
    let mut typist = Typist::new();
    let before = typist.modes();
    let keys = KEYS.map(|(sent, _)| sent);
    let _ = std::fs::remove_file(at.join("s.toml"));
    let mut child =
        typist.start(at, &["interact", "learn", "-o", "s.toml", "--", "sh", "-c", &takes(typed.len(), "typed")]);
    typist.wait_for("ready");
    typist.type_keys(&keys);
    assert_eq!(typist.end_of(&mut child), 0, "{}", typist.shown);
    assert!(typist.shown.contains("Learned 16 keys in"), "{}", typist.shown);
    assert_eq!(typist.modes(), before, "the terminal is as it was");
    assert_eq!(read(at, "typed"), typed, "the program got what was typed, Ctrl-C too");

    let text = String::from_utf8(read(at, "s.toml")).unwrap();
    let script = Script::parse("s.toml", &text).unwrap();
    let labels: Vec<String> = script.presses().map(|press| press.act.label()).collect();
    assert_eq!(labels, KEYS.map(|(_, name)| name));
    assert!(script.presses().all(|press| matches!(press.act, Act::Key(_)) && press.after.is_some()));
    let pauses: Vec<u128> = script.presses().filter_map(|press| Some(press.after?.as_millis())).skip(1).collect();
    eprintln!("the typist's pauses are 20 ms or more: {pauses:?}");
    pauses.iter().all(|ms| *ms >= 15)
}

#[test]
fn what_somebody_types_is_played_again_key_by_key() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let typed: Vec<u8> = KEYS.map(|(sent, _)| sent).concat();
    assert!((0..MAX_ATTEMPTS).any(|_| learns(at, &typed)), "keys came at once each time");
    for (number, pace) in ["recorded", "human"].into_iter().enumerate() {
        let (again, recording) = (format!("again-{pace}"), format!("{number}.punctual"));
        let program = takes(typed.len(), &again);
        let words = [
            "interact", "-q", "--no-bpf", "--script", "s.toml", "--pace", pace, "-o", &recording, "--", "sh", "-c",
            &program,
        ];
        let output = run(at, &words);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        // Without BPF nothing shows whether the program still has keys to read, and on a busy machine it is ended
        // before it has read them.
        let got = read(at, &again);
        assert!(typed.starts_with(&got) && got.len() + 4 >= typed.len(), "at the pace {pace}: {got:?}");
    }
}

#[test]
fn passwords_are_left_out_and_the_program_still_gets_them() {
    let directory = tempfile::tempdir().unwrap();
    let mut typist = Typist::new();
    let asks = "stty -echo; printf ask; read s; stty echo; printf more; read w; echo got $s $w";
    let words = ["--json", "interact", "learn", "-o", "s.toml", "--", "sh", "-c", asks];
    let mut child = typist.start(directory.path(), &words);
    typist.wait_for("ask");
    typist.type_keys(&[b"h", b"u", b"n", b"t", b"e", b"r", b"2", b"\r"]);
    typist.wait_for("more");
    typist.type_keys(&[b"w", b"o", b"\r"]);
    typist.wait_for("got hunter2 wo");
    assert_eq!(typist.end_of(&mut child), 0);
    let text = String::from_utf8(read(directory.path(), "s.toml")).unwrap();
    assert!(!text.contains("hunter") && text.contains("# 8 keys left out"), "{text}");
    let json = &typist.shown[typist.shown.find("{").expect("an answer")..];
    let answer: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!((&answer["keys"], &answer["left_out"], &answer["program_exit_code"]), (&3.into(), &8.into(), &0.into()));
}

/// Learning restores whatever it changed in the terminal, whatever ends it.
fn ended_by(signal: i32) -> (PathBuf, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let mut typist = Typist::new();
    let before = typist.modes();
    let words = [
        "interact",
        "learn",
        "-o",
        "s.toml",
        "--",
        "sh",
        "-c",
        "stty raw -echo; echo $$ > pid; printf ready; exec sleep 1000",
    ];
    let mut child = typist.start(directory.path(), &words);
    typist.wait_for("ready");
    typist.type_keys(&[b"a", b"b"]);
    assert!(wait_until(|| typist.is_taken()), "nobody reads what is typed");
    std::thread::sleep(Duration::from_millis(100));
    assert_ne!(typist.modes(), before, "bytes pass as they are meanwhile");
    support::signal(&child, signal);
    let ended = typist.end_of(&mut child);
    assert_eq!(typist.modes(), before, "the terminal is as it was");
    // Nobody chooses a hangup.
    assert_eq!(ended, i32::from(signal == libc::SIGHUP), "{}", typist.shown);
    let pid = String::from_utf8(read(directory.path(), "pid")).unwrap();
    assert!(wait_until(|| !is_alive(pid.trim())), "the program was left behind");
    (directory.path().join("s.toml"), directory)
}

#[test]
fn signals_end_it_and_what_was_learned_is_kept() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
        let (script, _directory) = ended_by(signal);
        let script = std::fs::read_to_string(script).unwrap();
        assert!(script.contains("type = \"ab\""), "{script}");
    }
}

#[test]
fn without_a_terminal_or_a_program_it_says_so_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let refused = run(directory.path(), &["interact", "learn", "-o", "s.toml", "--", "cat"]);
    assert_eq!((code(&refused), stderr(&refused).lines().count()), (1, 1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("the standard input is not a terminal"), "{}", stderr(&refused));
    assert!(!directory.path().join("s.toml").exists());
    std::fs::write(directory.path().join("s.toml"), "mine").unwrap();
    let refused = run(directory.path(), &["interact", "learn", "-o", "s.toml", "--", "cat"]);
    assert!(code(&refused) == 1 && stderr(&refused).contains("exists already"), "{}", stderr(&refused));
    let missing = run(directory.path(), &["interact", "learn", "--", "/no/such/program"]);
    assert!(code(&missing) == 1 && stderr(&missing).contains("/no/such/program"), "{}", stderr(&missing));
    let alone = run(directory.path(), &["interact", "learn"]);
    assert_eq!(code(&alone), 129, "{}", stderr(&alone));
    assert_eq!(std::fs::read_to_string(directory.path().join("s.toml")).unwrap(), "mine");
}
