//! `punctual modem serve` and `punctual modem call`: two modems in two processes.

use crate::support::terminals::{open, until};
use crate::support::{self, code, json, run, start, stderr, stdout, wait_until};
use punctual_modem::apart::{Frame, LENGTH, Says};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Output};
use std::time::Duration;

/// One of the two, and what it has said on standard error.
struct End {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl End {
    fn start(directory: &Path, words: &[&str]) -> End {
        let words: Vec<&str> = ["modem"].iter().chain(words).chain(&["-q"]).copied().collect();
        let mut child = start(directory, &words);
        let said = BufReader::new(child.stderr.take().unwrap());
        End { child, said }
    }

    /// What stands behind this at the beginning of a line.
    fn says(&mut self, begins: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.said.read_line(&mut line).unwrap() > 0, "it ended before it said `{begins}`");
            if let Some(rest) = line.strip_prefix(begins) {
                return rest.trim_end().to_owned();
            }
        }
    }

    /// The terminal that it offers.
    fn terminal(&mut self, name: &str) -> String {
        let line = self.says(&format!("{name}: "));
        line.split_once(", number ").unwrap_or_else(|| panic!("{line}")).0.to_owned()
    }

    fn signal(&self, signal: i32) {
        support::signal(&self.child, signal);
    }

    /// Waits for its end.
    fn end(mut self) -> Output {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        self.said.read_to_end(&mut stderr).unwrap();
        Output { status: self.child.wait().unwrap(), stdout, stderr }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // Also when a test fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn directory_of(line: &str) -> PathBuf {
    Path::new(line).parent().unwrap().to_owned()
}

/// Whether whoever answered has let in a caller: then nobody else finds the line.
fn has_answered(line: &str) -> bool {
    wait_until(|| !Path::new(line).exists())
}

#[test]
fn a_file_arrives_exact_in_either_direction_and_nothing_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..3_000u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(directory.path().join("sent"), &bytes).unwrap();
    for (serves, calls) in [("--receive", "--send"), ("--send", "--receive")] {
        let name = |option: &str| if option == "--send" { "sent" } else { "came" };
        let mut serve = End::start(directory.path(), &["serve", "--json", serves, name(serves)]);
        let line = serve.says("line: ");
        let call = End::start(directory.path(), &["call", &line, "--json", calls, name(calls)]);
        for output in [call.end(), serve.end()] {
            assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
            let answer = json(&output);
            assert_eq!(answer["schema"], "punctual.modem-line/1");
            let file = &answer["file"];
            assert_eq!((&file["passed_bytes"], &file["is_through"]), (&3_000.into(), &true.into()), "{answer}");
            let calls = answer["ends"][0]["calls"].as_array().unwrap();
            assert_eq!((calls.len(), &answer["lost"]), (1, &serde_json::Value::Null), "{answer}");
        }
        assert!(std::fs::read(directory.path().join("came")).unwrap() == bytes, "another file arrived");
        std::fs::remove_file(directory.path().join("came")).unwrap();
        assert!(wait_until(|| !directory_of(&line).exists()), "{line} is left");
    }
}

#[test]
fn programs_at_both_terminals_talk_until_one_end_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let mut serve = End::start(directory.path(), &["serve"]);
    let line = serve.says("line: ");
    let mut answers = open(&serve.terminal("B"));
    // It takes commands before anybody has called.
    answers.write_all(b"ATE0S0=1\r").unwrap();
    until(&mut answers, "OK");
    let mut call = End::start(directory.path(), &["call", &line]);
    let mut dials = open(&call.terminal("A"));
    dials.write_all(b"ATE0DT5550101\r").unwrap();
    for terminal in [&mut dials, &mut answers] {
        until(terminal, "CONNECT 9600\r\n");
    }
    dials.write_all(b"hello").unwrap();
    until(&mut answers, "hello");
    answers.write_all(b"good day").unwrap();
    until(&mut dials, "good day");
    call.signal(libc::SIGINT);
    let [call, serve] = [call.end(), serve.end()];
    for (output, received) in [(&call, 8), (&serve, 5)] {
        assert_eq!(code(output), 0, "{}{}", stdout(output), stderr(output));
        let verdict = format!("1 call connected, {received} bytes received; ");
        assert!(stdout(output).starts_with(&verdict), "{}", stdout(output));
    }
    assert!(stdout(&serve).contains("far hung up") && stdout(&call).contains("open"), "{}", stdout(&serve));
}

#[test]
fn whoever_is_left_alone_says_so_in_a_line() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("sent"), [7; 100_000]).unwrap();
    let mut met = 0;
    for is_server_killed in [false, true] {
        let mut serve = End::start(directory.path(), &["serve", "--receive", "came"]);
        let line = serve.says("line: ");
        let call = End::start(directory.path(), &["call", &line, "--send", "sent"]);
        assert!(has_answered(&line));
        let (killed, left) = if is_server_killed { (serve, call) } else { (call, serve) };
        killed.signal(libc::SIGKILL);
        let output = left.end();
        assert_eq!(code(&output), 1, "{}{}", stdout(&output), stderr(&output));
        let verdict = stdout(&output).lines().next().unwrap().to_owned();
        assert!(verdict.contains("carrier lost, the process at the other end is gone"), "{verdict}");
        assert!(stdout(&output).trim_end().lines().next_back().unwrap().starts_with("next: `punctual modem serve"));
        assert!(!directory.path().join("came").exists(), "half a file is none");
        drop(killed);
        assert!(wait_until(|| !directory_of(&line).exists()), "{line} is left");
        met += 1;
    }
    assert_eq!(met, 2);
}

#[test]
fn garbage_on_the_line_is_one_line_and_does_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("sent"), [7; 100]).unwrap();
    // Whoever is no modem is not let in, and the next one is.
    let mut serve = End::start(directory.path(), &["serve", "--json", "--receive", "came"]);
    let line = serve.says("line: ");
    let silent = UnixStream::connect(&line).unwrap();
    UnixStream::connect(&line).unwrap().write_all(&[b'x'; 5_000]).unwrap();
    let call = End::start(directory.path(), &["call", &line, "--send", "sent"]);
    assert_eq!(code(&call.end()), 0);
    let output = serve.end();
    assert_eq!((code(&output), &json(&output)["refused_connections"]), (0, &2.into()), "{}", stdout(&output));
    drop(silent);
    // A caller that begins as a modem does.
    let hello = Frame::silent(0, Says::Hello).bytes();
    let later = Frame::silent(900, Says::Sent(1)).bytes();
    let whole: [(&[u8], &str); 2] = [(&[b'x'; 100_000], "is not a modem's"), (&later, "came out of turn")];
    for (garbage, said) in whole {
        let mut serve = End::start(directory.path(), &["serve"]);
        let line = serve.says("line: ");
        let mut stream = UnixStream::connect(&line).unwrap();
        stream.write_all(&hello).unwrap();
        // It may be gone before it has read everything.
        let _ = stream.write_all(garbage);
        let output = serve.end();
        let verdict = stdout(&output).lines().next().unwrap().to_owned();
        assert_eq!(code(&output), 1, "{verdict}");
        assert!(verdict.starts_with("Carrier lost: ") && verdict.contains(said), "{verdict}");
        assert!(wait_until(|| !directory_of(&line).exists()), "{line} is left");
    }
    // Something else answers, or nothing does.
    let listener = UnixListener::bind(directory.path().join("other")).unwrap();
    let answers: [(&[u8], &str); 2] = [(&[b'x'; LENGTH], "is not a modem's"), (&[], "said nothing for 5 s")];
    for (answer, said) in answers {
        let call = End::start(directory.path(), &["call", "other", "--receive", "came"]);
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut asked = [0; LENGTH];
        stream.read_exact(&mut asked).unwrap();
        assert_eq!(asked, hello);
        stream.write_all(answer).unwrap();
        let output = call.end();
        let verdict = stdout(&output).lines().next().unwrap().to_owned();
        assert_eq!(code(&output), 1, "{verdict}");
        assert!(verdict.contains("carrier lost") && verdict.contains(said), "{verdict}");
    }
}

#[test]
fn what_cannot_be_is_said_in_a_line() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("empty"), "").unwrap();
    let refused: [(&[&str], i32, &str); 9] = [
        (&["call", "nothing"], 1, "nobody answers there: `punctual modem serve` prints"),
        (&["call", "empty"], 1, "nobody answers there"),
        (&["call"], 129, "LINE"),
        (&["call", "nothing", "--send", "empty"], 1, "is empty"),
        (&["serve", "--send", "missing"], 1, "cannot read missing"),
        (&["serve", "--send", "a", "--receive", "b"], 129, "--receive"),
        (&["serve", "--receive", "none/b"], 1, "there is no directory"),
        (&["serve", "--context", "irq"], 129, "--context"),
        (&["serve", "-D", "0"], 129, "--duration"),
    ];
    for (words, expected, said) in refused {
        let output = run(directory.path(), &[&["modem"], words].concat());
        assert_eq!((code(&output), stdout(&output).as_str()), (expected, ""), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).starts_with("error: ") && stderr(&output).contains(said), "{}", stderr(&output));
    }
    // Nobody calls: a terminal was offered, and a file did not come.
    let output = run(directory.path(), &["modem", "serve", "-q", "-D", "300ms"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).starts_with("0 calls connected, 0 bytes received; "), "{}", stdout(&output));
    let output = run(directory.path(), &["modem", "serve", "-q", "-D", "300ms", "--receive", "came"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let verdict = "The file did not arrive: no call was set up; 0 bytes received.\n";
    assert!(stdout(&output).starts_with(verdict), "{}", stdout(&output));
    let mut serve = End::start(directory.path(), &["serve"]);
    let line = serve.says("line: ");
    serve.signal(libc::SIGINT);
    assert_eq!(code(&serve.end()), 0);
    assert!(!directory_of(&line).exists(), "{line} is left");
}
