//! `punctual interact --via x11`: on a program that does a known thing for each key, draws and logs it
//! (`examples/interact_window.rs`), and on real programs, where the time at which an input is seen is compared with the
//! pixels of their windows.

use crate::requires;
use punctual_recording::{Interaction, Outcome, read_interactions};
use std::path::{Path, PathBuf};

use crate::support::interact::{Done, example, run_at_home};
use crate::support::interact_window::{Truth, answers_without_privilege, is_installed, needs, says_what_is_missing};
use crate::support::nobody::Nobody;
use crate::support::{self, code, json, run, stderr, stdout};
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat};
use x11rb::rust_connection::{DefaultStream, RustConnection};

/// Whether the time at which an input is seen lies between the program's drawing and the server's answer that it was
/// done.
fn is_seen_in_time(input: &Interaction, done: Done) -> bool {
    /// The server may tell the typist before or after it answers the program.
    const AROUND_NS: u64 = 2_000_000;
    input.seen_ns.is_some_and(|seen| {
        seen >= done.begin_ns + done.part_ns - done.part_ns.min(1_000)
            && seen <= done.finished_ns.expect("it draws") + AROUND_NS
    })
}

#[test]
fn each_input_is_seen_when_its_picture_is_drawn_and_was_waited_for_because_of_what_the_program_did() {
    requires!("interact x11 truth", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    needs!("interact x11 truth", "Xvfb");
    Truth {
        via: "x11",
        program: "interact_window",
        keys: &[
            ('c', Some(("own", "window"))),
            ('t', Some(("sleep", ""))),
            ('r', Some(("sleep", ""))),
            ('a', Some(("wait", "window-server"))),
            ('n', None),
        ],
        rounds: 26,
        is_seen_in_time,
        seen_percent: 99,
    }
    .holds();
}

/// A picture of the display: when it was asked for, when it arrived, and what it showed.
#[derive(Debug, Clone, Copy)]
struct Picture {
    asked_ns: u64,
    had_ns: u64,
    digest: u64,
}

/// Takes pictures of a display whose name and key a program reported, in lines as `env` writes them, until the display
/// is gone.
struct Camera {
    environment: PathBuf,
}

impl Camera {
    // As much as the lines that are typed take, in any of the programs.
    const WIDTH: u16 = 640;
    const HEIGHT: u16 = 150;

    fn connect(&self) -> Option<RustConnection> {
        let text = std::fs::read_to_string(&self.environment).ok()?;
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned);
        let number = value("DISPLAY")?.trim_start_matches(':').to_owned();
        let stream = std::os::unix::net::UnixStream::connect(format!("/tmp/.X11-unix/X{number}")).ok()?;
        // The key is the last one in its file.
        let authority = std::fs::read(value("XAUTHORITY")?).ok()?;
        let key = authority.get(authority.len().checked_sub(32)?..)?.to_vec();
        let (stream, _) = DefaultStream::from_unix_stream(stream).ok()?;
        RustConnection::connect_to_stream_with_auth_info(stream, 0, b"MIT-MAGIC-COOKIE-1".to_vec(), key).ok()
    }

    /// Takes pictures until the display is gone.
    fn film(&self) -> Vec<Picture> {
        let until = Instant::now() + Duration::from_secs(60);
        let connection = loop {
            if let Some(connection) = self.connect() {
                break connection;
            }
            assert!(Instant::now() < until, "no display within 60 s");
            std::thread::sleep(Duration::from_millis(20));
        };
        let root = connection.setup().roots[0].root;
        let mut film = Vec::new();
        loop {
            let asked_ns = punctual_kernel::clock::monotonic_ns();
            let asked =
                connection.get_image(ImageFormat::Z_PIXMAP, root, 0, 0, Camera::WIDTH, Camera::HEIGHT, u32::MAX);
            let Ok(Ok(image)) = asked.map(|cookie| cookie.reply()) else { return film };
            let had_ns = punctual_kernel::clock::monotonic_ns();
            film.push(Picture { asked_ns, had_ns, digest: digest(&image.data) });
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

fn digest(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// For keys with pictures: how many there were, how many had changed the picture by the time they were seen, and for
/// how many that was the last change.
fn shown(recording: &Path, film: &[Picture]) -> (usize, usize, usize) {
    let inputs = read_interactions(recording).unwrap();
    let mut counts = (0, 0, 0);
    for input in inputs.iter().filter(|input| input.kind == "key" && input.outcome != Some(Outcome::Merged)) {
        let before = film.iter().rfind(|picture| picture.had_ns < input.begin_ns);
        let seen_ns = input.seen_ns.unwrap_or(input.end_ns);
        let mut after = film.iter().filter(|picture| picture.asked_ns > seen_ns && picture.had_ns < input.end_ns);
        let Some(before) = before else { continue };
        let Some(first) = after.next() else {
            // Not seen, or there was no time to take a picture of it.
            if input.seen_ns.is_none() {
                eprintln!("not seen: {input:?}");
                counts.0 += 1;
            }
            continue;
        };
        counts.0 += 1;
        counts.1 += usize::from(first.digest != before.digest);
        let is_last = after.all(|picture| picture.digest == first.digest);
        counts.2 += usize::from(is_last);
        if !is_last || first.digest == before.digest {
            eprintln!("{} {} {:?} last: {is_last}", input.number, input.label, input.latency_ns());
        }
    }
    counts
}

/// Types at a program while its window is filmed; see [`shown`].
fn film(program: &[&str]) -> (usize, usize, usize) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // A blinking cursor changes the picture at any time. Qt takes that setting from KDE alone.
    let settings = directory.path().join("config");
    std::fs::create_dir_all(settings.join("gtk-3.0")).unwrap();
    std::fs::write(settings.join("gtk-3.0/settings.ini"), "[Settings]\ngtk-cursor-blink=0\n").unwrap();
    std::fs::write(settings.join("kdeglobals"), "[KDE]\nCursorBlinkRate=0\n").unwrap();
    let text = "the quick brown fox jumps over the lazy dog\\n".repeat(3);
    let script = format!("name = \"film\"\n[pace]\nmedian = \"130ms\"\nspread = 0.1\n[[step]]\ntype = \"{text}\"\n");
    std::fs::write(directory.path().join("film.toml"), script).unwrap();
    let camera = Camera { environment: directory.path().join("environment") };
    let filming = std::thread::spawn(move || camera.film());
    let desktop = "XDG_CURRENT_DESKTOP=KDE KDE_SESSION_VERSION=5 XDG_CONFIG_HOME=$PWD/config";
    let shell = format!("env > environment; {desktop} exec {}", program.join(" "));
    let words = ["interact", "-q", "--json", "--via", "x11", "-o", "a.punctual", "--script", "film.toml", "--"];
    let output = run_at_home(directory.path(), &[&words[..], &["sh", "-c", &shell]].concat());
    let film = filming.join().expect("it films");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(json(&output)["followed"], true, "{}", stderr(&output));
    if film.len() <= 500 {
        eprintln!("only {} pictures: the camera had no CPU", film.len());
        return (0, 0, 0);
    }
    shown(&directory.path().join("a.punctual"), &film)
}

/// At least 99 of 100 keys have changed the window's pixels by the time they were seen, and nothing changes them after
/// that. Skips a program that is not installed.
fn judge_film(program: &[&str]) {
    let test = format!("interact x11 {}", program[0]);
    if let Err(reason) = support::allows_all(&["terminal", "kernel's thread ids", "unshifted clock"]) {
        return support::skip(&test, &reason);
    }
    for needed in ["Xvfb", program[0]] {
        if !is_installed(needed) {
            return support::skip(&test, &format!("{needed} is not installed (scripts/setup --test)"));
        }
    }
    let (mut met, mut changed, mut last) = (0, 0, 0);
    for _ in support::attempts(support::MAX_ATTEMPTS) {
        let counts = film(program);
        (met, changed, last) = (met + counts.0, changed + counts.1, last + counts.2);
        eprintln!(
            "{program:?}: of {met} keys with pictures {changed} changed it by when they were seen, for {last} that was all"
        );
        // If there are few, a single one says nothing.
        if met >= 100 && changed * 100 >= met * 99 && last * 100 >= met * 99 {
            break;
        }
    }
    assert!(met >= 100, "too few keys: {met}");
    assert!(changed * 100 >= met * 99, "{changed} of {met}");
    assert!(last * 100 >= met * 99, "{last} of {met}");
}

/// Typing takes 20 s: `./test` has one program of GTK 3 and one of Qt.
fn judge_film_in_all_tests(program: &[&str]) {
    if !support::tests_all() {
        let reason = "it takes long: ./test --all has it, and this one mousepad and featherpad";
        return support::skip(&format!("interact x11 {}", program[0]), reason);
    }
    judge_film(program);
}

#[test]
fn keys_are_seen_in_mousepad_when_its_pixels_have_changed() {
    judge_film(&["mousepad"]);
}

#[test]
fn keys_are_seen_in_featherpad_when_its_pixels_have_changed() {
    judge_film(&["featherpad"]);
}

#[test]
fn keys_are_seen_in_xterm_when_its_pixels_have_changed() {
    judge_film_in_all_tests(&["xterm", "-e", "bash", "--norc"]);
}

/// It draws by a timer of 25 ms.
#[test]
fn keys_are_seen_in_xfce4_terminal_when_its_pixels_have_changed() {
    judge_film_in_all_tests(&["xfce4-terminal", "--disable-server", "-x", "bash", "--norc"]);
}

/// Processes with this name that work on something in a directory, found by their command lines.
fn displays_of(authority: &str) -> usize {
    let lines = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    let lines = lines.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.starts_with(b"Xvfb") && String::from_utf8_lossy(line).contains(authority)).count()
}

#[test]
fn no_display_is_left_whatever_ends_the_run() {
    needs!("interact x11 ends", "Xvfb", "setsid");
    for signal in [libc::SIGKILL, libc::SIGINT, libc::SIGTERM] {
        let directory = tempfile::tempdir().unwrap();
        let script = "name = \"x\"\n[ready]\nat_most = \"60s\"\n[[step]]\ntype = \"a\"\n";
        std::fs::write(directory.path().join("x.toml"), script).unwrap();
        let hides = "env > part; mv part environment; trap '' HUP TERM; sleep 1000";
        let words = ["interact", "-q", "--no-bpf", "--via", "x11", "--script", "x.toml", "-o", "a.punctual", "--"];
        let mut child = support::start(directory.path(), &[&words[..], &["sh", "-c", hides]].concat());
        let environment = || std::fs::read_to_string(directory.path().join("environment")).unwrap_or_default();
        assert!(support::wait_until(|| !environment().is_empty()), "it did not start");
        let text = environment();
        let authority =
            text.lines().find_map(|line| line.strip_prefix("XAUTHORITY=")).expect("it has a key").to_owned();
        assert_eq!(displays_of(&authority), 1);
        support::signal(&child, signal);
        let _ = child.wait();
        assert!(support::wait_until(|| displays_of(&authority) == 0), "{signal}");
        assert!(support::wait_until(|| !Path::new(&authority).exists()), "{signal}: {authority}");
        let report = run(directory.path(), &["report", "a.punctual"]);
        assert!(code(&report) <= 1, "{}", stderr(&report));
    }
}

/// Programs hand the display's key to whatever they find under its name, and tell it everything that is typed.
#[test]
fn no_display_is_used_whose_socket_another_user_could_replace() {
    needs!("interact x11 sockets", "Xvfb", "setpriv", "unshare");
    let Some(nobody) = Nobody::of("interact x11 sockets") else { return };
    for (owner, is_refused) in [("65533", true), ("65534", false), ("0", false)] {
        // In a name space where the directory is the one given here.
        let script = format!(
            "mkdir -m 1777 -p /tmp/.X11-unix && mount -t tmpfs -o mode=1777,uid={owner} sockets /tmp/.X11-unix || exit 77; \
             exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$0\" \"$@\""
        );
        let output = format!("{owner}.punctual");
        // It ends before anything is typed, and the answer says so if the program started at all.
        let words = ["interact", "-q", "--no-bpf", "--via", "x11", "-o", &output, "--", "true"];
        let mut command = std::process::Command::new("unshare");
        command.args(["-m", "sh", "-c", &script]).arg(nobody.program()).args(words);
        let done = command.current_dir(nobody.directory()).env("TMPDIR", nobody.directory()).output().unwrap();
        if code(&done) == 77 {
            support::skip("interact x11 sockets", "mounting a small file system takes root");
            return;
        }
        let said = stderr(&done);
        let is_named = said.contains("/tmp/.X11-unix belongs to another user (65533)") && said.contains("install -d");
        let is_started =
            [&said, &stdout(&done)].iter().any(|text| text.contains("ended with code 0 before anything was typed"));
        assert_eq!(
            (is_named, is_started, code(&done)),
            (is_refused, !is_refused, 1),
            "{owner}: {said}{}",
            stdout(&done)
        );
        let authority = nobody.directory().display().to_string();
        assert!(support::wait_until(|| displays_of(&authority) == 0), "{owner}");
    }
}

#[test]
fn without_privilege_and_without_windows_it_says_so() {
    needs!("interact x11 words", "Xvfb");
    let directory = tempfile::tempdir().unwrap();
    says_what_is_missing("x11", "xvfb", directory.path());
    answers_without_privilege("x11", "interact_window", "20 20", directory.path());
    // A terminal has no mouse.
    let words = ["interact", "-q", "--no-bpf", "--script", "clicks.toml", "--", "bash"];
    let refused = run(directory.path(), &words);
    let said = stderr(&refused);
    assert!(code(&refused) == 129 && said.contains("clicks.toml:6:1: a terminal has no mouse"), "{said}");
}

#[test]
fn a_program_whose_window_goes_is_not_typed_at() {
    needs!("interact x11 gone", "Xvfb");
    let directory = tempfile::tempdir().unwrap();
    let keys = "c".repeat(200);
    let script =
        format!("name = \"x\"\n[pace]\nmedian = \"60ms\"\n[ready]\nat_most = \"5s\"\n[[step]]\ntype = \"{keys}\"\n");
    std::fs::write(directory.path().join("x.toml"), script).unwrap();
    // Its window goes once it has drawn for a key, and the program lives on.
    let (program, log) = (example("interact_window"), directory.path().join("log"));
    let (program, log) = (program.display(), log.display());
    let body = format!("{program} {log} & until [ -s {log} ]; do sleep 0.1; done; kill $!; sleep 100");
    let words = ["interact", "-q", "--no-bpf", "--via", "x11", "--script", "x.toml", "--", "sh", "-c", &body];
    let hung = run(directory.path(), &words);
    let said = stdout(&hung);
    assert!(code(&hung) == 1 && said.contains("sh has had no window for 5 s: `c` could not be put in"), "{said}");
    assert!(said.contains("not put in: "), "{said}");
}
