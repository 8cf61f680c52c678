//! What the tests of the whole program share.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod compiled;
pub(crate) mod display;
pub(crate) mod guests;
pub(crate) mod interact;
pub(crate) mod interact_truth;
pub(crate) mod interact_window;
pub(crate) mod limited;
pub(crate) mod measured;
pub(crate) mod nobody;
pub(crate) mod programs;
pub(crate) mod reserving;
pub(crate) mod terminals;

use punctual_kernel::clock::monotonic_ns;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How often a test measures that needs a number of cases before it can judge. With fewer cases than that, it fails.
pub(crate) const MAX_ATTEMPTS: usize = 5;

/// The attempts of a test that measures until it has enough cases: so many at most, and none begins once they have taken
/// this long together. On a busy machine the test then ends by itself, and says how many cases it met.
pub(crate) fn attempts(most: usize) -> impl Iterator<Item = usize> {
    const TOGETHER: Duration = Duration::from_secs(240);
    let until = Instant::now() + TOGETHER;
    (0..most).take_while(move |_| Instant::now() < until)
}

/// The program under test, as a user starts it who is not root, or who became root with `sudo`: so commands in its answers are
/// the same whoever runs the tests.
pub(crate) fn punctual() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.stdin(Stdio::null()).env(programs::MARK, std::process::id().to_string()).env("SUDO_COMMAND", "punctual");
    command
}

/// Runs the program in a directory and waits for it.
pub(crate) fn run(directory: &Path, words: &[&str]) -> Output {
    punctual().current_dir(directory).args(words).output().expect("the program starts")
}

/// The recordings whose answers are known word for word.
pub(crate) fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// What readers are asked about the golden recordings, and what needs none: the answer has a verdict, and a text that fits a terminal.
pub(crate) const ANSWERS: &[&str] = &[
    "report record.punctual",
    "report no-bpf.punctual",
    "report softirq.punctual",
    "report comm.punctual",
    "report follow.punctual",
    "report follow.punctual --period 1ms",
    "report cut.punctual",
    "report check",
    "report why.punctual",
    "report log.punctual",
    "report idle.punctual",
    "report calibrated.punctual",
    "report validate.punctual",
    "report interact.punctual",
    "report device.punctual",
    "report timers.punctual",
    "report sim.punctual",
    "forecast record.punctual",
    "forecast cut.punctual",
    "forecast device.punctual",
    "compare check/idle.punctual check/loaded.punctual",
    "compare check/idle.punctual check/loaded.punctual record.punctual",
    "compare interact.punctual interact.punctual",
    "schedulability ../../../../examples/modem-and-audio.toml --latency record.punctual",
    "device list",
    "device show modem",
    "sim list",
    "sim run nt-timers-table3",
    "sim whatif --device modem --duration 10s --context slots:1/4 --sweep period=4..5",
];

/// Copies one of those.
pub(crate) fn copy_golden(from: &str, to: &Path) {
    let mut files = 0;
    let mut ahead = vec![(golden().join(from), to.to_owned())];
    while let Some((from, to)) = ahead.pop() {
        std::fs::create_dir_all(&to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let place = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                ahead.push((entry.path(), place));
            } else {
                std::fs::copy(entry.path(), place).unwrap();
                files += 1;
            }
        }
    }
    assert!(files > 1, "{from} is no recording");
}

/// Every command that the help names, by the words that lead to it; the program itself is the empty string.
pub(crate) fn every_command() -> Vec<String> {
    let mut found = vec![String::new()];
    let mut next = 0;
    while let Some(command) = found.get(next).cloned() {
        let words = command.split_whitespace().chain(["--help"]);
        let help = stdout(&punctual().env("COLUMNS", "80").args(words).output().expect("the program starts"));
        let lines = help.lines().take_while(|line| !["Options:", "Arguments:"].contains(line));
        let names =
            lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| line.starts_with(char::is_alphabetic));
        let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        found.extend(names.map(|name| format!("{command} {name}").trim().to_owned()));
        next += 1;
    }
    found
}

/// Starts the program in a directory.
pub(crate) fn start(directory: &Path, words: &[&str]) -> Child {
    let mut command = punctual();
    command.current_dir(directory).args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The answer of a run with `--json`.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("not JSON ({error}): {}{}", stdout(output), stderr(output)))
}

/// A count from an answer.
pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"))
}

/// Whether this machine allows something, by its name in `punctual capabilities`.
pub(crate) fn allows(name: &str) -> Result<(), String> {
    allows_all(&[name])
}

/// Whether this machine allows all of these; if not, the first one that it lacks. Asks once for all, because each
/// question starts a program.
pub(crate) fn allows_all(names: &[&str]) -> Result<(), String> {
    let answer = punctual().args(["capabilities", "--json"]).args(names).output().expect("the program starts");
    let answer = json(&answer);
    let lines = answer["capabilities"].as_array().expect("a list");
    for name in names {
        let line = lines.iter().find(|line| line["name"] == *name).unwrap_or_else(|| panic!("no capability `{name}`"));
        if line["available"] == "no" {
            return Err(format!("{name}: {}", line["detail"].as_str().unwrap_or_default()));
        }
    }
    Ok(())
}

/// See [`punctual_testing::skip`].
pub(crate) fn skip(test: &str, reason: &str) {
    punctual_testing::skip(test, reason);
}

/// See [`punctual_testing::tests_all`].
pub(crate) fn tests_all() -> bool {
    punctual_testing::tests_all()
}

/// Returns from the test, loudly, unless the machine allows all of these.
#[macro_export]
macro_rules! requires {
    ($test:literal, $($name:literal),+) => {
        if let Err(reason) = $crate::support::allows_all(&[$($name),+]) {
            $crate::support::skip($test, &reason);
            return;
        }
    };
}

/// Whether everything that a load needs is installed, by its name in `punctual load list`.
pub(crate) fn load_is_installed(name: &str) -> bool {
    let list = json(&run(Path::new("/"), &["load", "list", "--json"]));
    let line = list["loads"].as_array().expect("a list").iter().find(|line| line["name"] == name).cloned();
    line.unwrap_or_else(|| panic!("no load `{name}`"))["installed"] == true
}

/// Waits until something holds; false after a long time: beside builds a recording of causes takes 20 s to get ready.
pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Waits until this recording of threads measures: on a busy machine it exists for a while before that.
pub(crate) fn wait_until_it_measures(recording: &Path) {
    let measures = || {
        let text = std::fs::read_to_string(recording.join("recording.json")).unwrap_or_default();
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        document["provenance"]["started_ns"].as_u64().is_some_and(|started| started > 0)
    };
    assert!(wait_until(measures), "{} does not begin", recording.display());
}

/// Keeps this thread's CPU busy for this long.
pub(crate) fn spin_for(ns: u64) {
    let begin = monotonic_ns();
    while monotonic_ns() - begin < ns {
        std::hint::spin_loop();
    }
}

/// Copies a directory with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, copy_of) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() { copy(&path, &copy_of) } else { assert!(std::fs::copy(path, copy_of).is_ok()) }
    }
}

pub(crate) fn signal(child: &Child, signal: i32) {
    // SAFETY: sends a signal to a child that has not been waited for, so its id is still its own.
    unsafe { libc::kill(child.id() as i32, signal) };
}

/// Whether a process exists and is not merely waiting to be collected.
pub(crate) fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z')))
}

/// A thread's name that belongs to this test alone, whatever other tests run on the machine. The kernel keeps 15 bytes.
pub(crate) fn own_name(role: &str) -> String {
    assert!(role.len() <= 10, "{role}");
    format!("{role}{:05}", std::process::id() % 100_000)
}

/// Gives the calling thread this name, this CPU and, if there is a priority, FIFO; returns its number.
pub(crate) fn become_thread(name: &std::ffi::CStr, cpu: usize, priority: Option<i32>) -> i32 {
    // SAFETY: the set and the parameters live through the calls, and 0 is the calling thread; a name ends in a zero.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        let mut cpus: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut cpus);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &cpus);
        if let Some(priority) = priority {
            let parameters = libc::sched_param { sched_priority: priority };
            assert_eq!(libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters), 0);
        }
        libc::gettid()
    }
}

pub(crate) fn is_root() -> bool {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// The options with which `setpriv` runs a program as the user nobody.
pub(crate) const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

/// Whether this user may start programs as the user nobody.
pub(crate) fn may_become_nobody() -> bool {
    let mut words = Command::new("setpriv");
    words.args(NOBODY).arg("true");
    words.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A small file system of its own, unmounted when dropped.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` if this user may not mount.
    pub(crate) fn mount(below: &Path, size: &str) -> Option<SmallDisk> {
        let path = below.join("small");
        std::fs::create_dir(&path).expect("a directory");
        let size = format!("size={size}");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path).output();
        mount.is_ok_and(|output| output.status.success()).then_some(SmallDisk(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
