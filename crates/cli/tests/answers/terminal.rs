//! What a command shows on a terminal while it computes.

use crate::support::punctual;
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Stdio;

/// Two ends of a terminal: what is written to the second is read from the first.
fn terminal() -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the size lives through the call, and without a name or settings nothing else is read or written; both
    // descriptors are new, and nobody else closes them.
    unsafe {
        let name = std::ptr::null_mut();
        let opened = libc::openpty(&raw mut ours, &raw mut theirs, name, std::ptr::null(), &raw const size);
        assert_eq!(opened, 0, "no terminal: {}", std::io::Error::last_os_error());
        (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    }
}

/// What a command writes to a terminal of this kind beside its answer.
fn shown(kind: &str, words: &[&str]) -> String {
    let (mut ours, theirs) = terminal();
    let mut command = punctual();
    command.args(words).env("TERM", kind).env_remove("NO_COLOR").env_remove("COLUMNS");
    let mut child = command.stdout(Stdio::null()).stderr(theirs).spawn().expect("the program starts");
    // It holds the end that the program writes to, and while anybody does, reading goes on.
    drop(command);
    let mut text = Vec::new();
    // Once nobody holds that end, reading is an error; what was read before it is kept.
    let _ = ours.read_to_end(&mut text);
    let status = child.wait().unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(status.success(), "{words:?}: {status}: {text}");
    text
}

/// A terminal that can rewrite a line gets a bar; one that cannot gets lines, of which each says how much is done.
#[test]
fn progress_is_a_bar_or_on_a_dumb_terminal_lines() {
    const SWEEP: &[&str] =
        &["sim", "whatif", "--device", "modem", "-D", "10s", "--context", "slots:1/4", "--sweep", "period=4..5"];
    const RUN: &[&str] = &["sim", "run", "soft-modem-callbacks"];
    const CALLS: &[&str] = &["modem", "stalls", "--lengths", "5ms", "--calls", "10"];
    for (words, begins, parts) in
        [(SWEEP, "sweeping: ", " of 2 points"), (RUN, "running: ", " of 6 cases"), (CALLS, "modem: call ", " of 40 ")]
    {
        let text = shown("dumb", words);
        let lines: Vec<&str> = text.lines().collect();
        let says = |line: &&str| line.starts_with(begins) && line.contains(parts);
        assert!(!lines.is_empty() && lines.iter().all(says), "{words:?}: {text:?}");
        assert!(!text.contains('\u{1b}'), "{words:?}: {text:?}");
        let text = shown("xterm", words);
        assert!(text.contains('\u{1b}'), "{words:?}: {text:?}");
    }
}
