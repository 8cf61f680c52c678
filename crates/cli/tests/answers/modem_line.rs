//! `punctual modem line` with the programs of this machine.

use crate::support::terminals::{PATIENCE, open, until};
use crate::support::{self, code, json, stderr};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The command, and what it said at the beginning.
struct Line {
    child: Child,
    paths: [String; 2],
    /// Kept so that the command can go on printing.
    said: BufReader<std::process::ChildStderr>,
}

impl Line {
    fn start(words: &[&str]) -> Line {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["modem", "line", "--json"]).args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let paths = ["A", "B"].map(|name| {
            let mut line = String::new();
            said.read_line(&mut line).unwrap();
            let rest = line.strip_prefix(&format!("{name}: ")).unwrap_or_else(|| panic!("{line}"));
            rest.split_once(", number 555010").unwrap_or_else(|| panic!("{line}")).0.to_owned()
        });
        Line { child, paths, said }
    }

    fn end(mut self, signal: &str) -> Output {
        kill(signal, self.child.id());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.said.read_to_end(&mut stderr).unwrap();
        self.child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        Output { status: self.child.wait().unwrap(), stdout, stderr }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Also when a test fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn kill(signal: &str, process: u32) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

fn connect(line: &Line) -> [File; 2] {
    let mut ends = [open(&line.paths[0]), open(&line.paths[1])];
    ends[1].write_all(b"ATE0S0=1\r").unwrap();
    until(&mut ends[1], "OK");
    ends[0].write_all(b"ATE0DT5550101\r").unwrap();
    for end in &mut ends {
        until(end, "CONNECT 9600\r\n");
    }
    ends
}

/// Whether this machine has a program.
fn has(program: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .chain(["/usr/sbin".into()])
        .any(|directory| directory.join(program).is_file())
}

fn waited(child: &mut Child) -> bool {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.success();
        }
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_file_by_sz_and_rz_arrives_exact_although_the_senders_processor_stalls() {
    let name = "a_file_by_sz_and_rz_arrives_exact_although_the_senders_processor_stalls";
    if let Some(missing) = ["sz", "rz"].into_iter().find(|program| !has(program)) {
        return punctual_testing::skip(name, format!("{missing} is not installed (Debian: lrzsz)"));
    }
    let directory = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..12_000u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(directory.path().join("sent"), &bytes).unwrap();
    let there = directory.path().join("there");
    std::fs::create_dir(&there).unwrap();
    let line = Line::start(&["--stall", "30ms@3s"]);
    let ends = connect(&line);
    let at = |place: usize| {
        let path = &line.paths[place];
        let both = File::options().read(true).write(true).custom_flags(0o400).open(path).unwrap();
        (Stdio::from(both.try_clone().unwrap()), Stdio::from(both))
    };
    let (input, output) = at(1);
    let mut rz = Command::new("rz").arg("-q").current_dir(&there).stdin(input).stdout(output).spawn().unwrap();
    let (input, output) = at(0);
    let mut sz = Command::new("sz")
        .args(["-q", "sent"])
        .current_dir(directory.path())
        .stdin(input)
        .stdout(output)
        .spawn()
        .unwrap();
    let sent = waited(&mut sz);
    assert!(waited(&mut rz) && sent, "sz or rz failed");
    assert!(std::fs::read(there.join("sent")).unwrap() == bytes, "another file arrived");
    drop(ends);
    let output = line.end("-INT");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    let calls = answer["ends"][0]["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 1, "{answer}");
    assert!(calls[0]["sent_bytes"].as_u64().unwrap() > 12_000, "{answer}");
    let starved = &answer["starved"];
    assert!(starved["stalls"].as_u64().unwrap() > 0 && starved["underruns"].as_u64() >= starved["stalls"].as_u64());
}

#[test]
fn whoever_ends_leaves_nothing_and_the_program_at_the_terminal_is_told() {
    for signal in ["-INT", "-TERM", "-KILL"] {
        let line = Line::start(&[]);
        let paths = line.paths.clone();
        let mut ends = connect(&line);
        ends[0].write_all(&[b'x'; 3_000]).unwrap();
        let output = line.end(signal);
        assert!(paths.iter().all(|path| !std::path::Path::new(path).exists()), "{signal}: {paths:?} are left");
        // A terminal whose modem is gone is at its end.
        let mut rest = Vec::new();
        let read = ends[0].read_to_end(&mut rest);
        assert!(read.is_ok() || rest.is_empty(), "{signal}: {read:?}");
        if signal == "-KILL" {
            continue;
        }
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = json(&output);
        assert_eq!(answer["ends"][0]["calls"][0]["ending"], "open", "{answer}");
    }
}

#[test]
fn a_program_that_goes_hangs_up_and_one_that_reads_nothing_stops_the_sender() {
    let line = Line::start(&[]);
    let [mut first, second] = connect(&line);
    // Nobody reads at B: in the end A takes no more, and nothing is lost.
    let (mut sent, began) = (0, Instant::now());
    let block = [7u8; 1_000];
    while began.elapsed() < Duration::from_secs(6) {
        match first.write(&block) {
            Ok(count) => sent += count,
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    assert!((2_000..200_000).contains(&sent), "{sent}");
    // B's program goes away as if it had crashed: A learns of it.
    drop(second);
    until(&mut first, "NO CARRIER");
    let output = line.end("-INT");
    let answer = json(&output);
    let endings = ["far_hung_up", "hung_up"];
    for (place, ending) in endings.into_iter().enumerate() {
        assert_eq!(answer["ends"][place]["calls"][0]["ending"], ending, "{answer}");
    }
    assert!(answer["ends"][1]["unread_bytes"].as_u64().is_some(), "{answer}");
}

#[test]
fn it_ends_by_itself_after_its_time() {
    let directory = tempfile::tempdir().unwrap();
    let output = support::run(directory.path(), &["modem", "line", "-D", "300ms"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(support::stdout(&output).starts_with("0 calls connected, 0 bytes over the line; "));
    let output = support::run(directory.path(), &["modem", "line", "-D", "0"]);
    assert_eq!(code(&output), 129);
}
