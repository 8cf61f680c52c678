//! What an unprivileged program does may cost root's measurement no more than `docs/promises.md` says: each measurement
//! here runs under a memory limit and is timed.

use crate::requires;
use crate::support::limited::{ends_in_time, run_limited, run_limited_with};
use crate::support::measured::Measured;
use crate::support::{self, code, stderr};
use punctual_recording::Recording;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Several threads that take a new name and sleep for a moment, again and again.
const NAMES: &str = "\
import threading, time
def rename(first):
    number = first
    while True:
        number += 3
        with open('/proc/thread-self/comm', 'w') as comm: comm.write('n%d' % number)
        time.sleep(0.00002)
for first in range(3): threading.Thread(target=rename, args=(first,)).start()
";

/// Forks children that wake once under a name of odd bytes, and end.
const FORKS: &str = "\
import os, time
number = 0
while True:
    number += 1
    if os.fork() == 0:
        with open('/proc/self/comm', 'wb') as comm: comm.write(b'\\xff)\\x1b[%d(' % number)
        time.sleep(0.0001)
        os._exit(0)
    if number % 8 == 0:
        try:
            while True: os.waitpid(-1, 0)
        except ChildProcessError: pass
";

/// A python3 that everybody may run; root's own may be in a directory that nobody else may look into.
const PYTHON: &str = "/usr/bin/python3";

/// A program that no measurement may trust; it ends with the test.
struct Hostile(Child);

impl Hostile {
    /// Starts it as the user nobody, if this user may.
    fn start(script: &str) -> Hostile {
        let python = if Path::new(PYTHON).exists() { PYTHON } else { "python3" };
        let mut command = Command::new("setpriv");
        command.args(support::NOBODY).arg(python);
        if !support::may_become_nobody() {
            command = Command::new(python);
        }
        command.args(["-c", script]);
        // Its children are killed with it.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let hostile = Hostile(command.spawn().expect("python3 starts"));
        std::thread::sleep(Duration::from_millis(500));
        hostile
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        // SAFETY: sends a signal to a group whose leader is a child that has not been waited for.
        unsafe { libc::kill(-(self.0.id() as i32), libc::SIGKILL) };
        let _ = self.0.wait();
    }
}

/// A recording this long beside a hostile program keeps to its time and to this much memory, bytes.
fn costs_at_most(cost: &Measured, seconds: u64, memory: u64) {
    assert_eq!(code(&cost.output), 0, "{}", stderr(&cost.output));
    ends_in_time(cost, seconds);
    assert!(cost.peak_bytes > 0 && cost.peak_bytes < memory, "{} bytes", cost.peak_bytes);
}

/// The number of names in a recording is bounded, and every wakeup is counted under one of them.
fn is_bounded(path: &Path) -> u64 {
    let document = std::fs::metadata(path.join("recording.json")).unwrap().len();
    assert!(document < 32 << 20, "recording.json has {document} bytes");
    let recording = Recording::open(path).unwrap();
    let whole = recording.document();
    let followed = whole.followed.as_ref().unwrap();
    assert!(whole.tasks.len() <= 1281 && followed.wakers.len() <= 4100, "{} tasks", whole.tasks.len());
    assert_eq!(whole.tasks.len(), followed.threads.len());
    let mut wakeups = 0;
    recording.for_each_wakeup(|_| wakeups += 1).unwrap();
    assert_eq!(whole.tasks.iter().map(|task| task.counters.wakeups).sum::<u64>(), wakeups);
    let total = punctual_recording::Stage::Total;
    assert_eq!(whole.distributions.sum(|key| key.stage == total).count(), wakeups);
    eprintln!("{wakeups} wakeups of {} tasks, {document} bytes of recording.json", whole.tasks.len());
    wakeups
}

const FOLLOW_MEMORY: u64 = 300_000_000;

#[test]
fn names_without_end_become_others() {
    requires!("hostile names", "BPF", "BTF", "kernel's thread ids");
    let directory = tempfile::tempdir().unwrap();
    let hostile = Hostile::start(NAMES);
    let words = ["record", "-q", "-D", "6s", "-o", "a.punctual", "--pid", &hostile.id()];
    // All wakeups, and those of the others: a busy machine may leave the program time for fewer.
    let mut seen = Vec::new();
    let is_enough = |&(all, others): &(u64, u64)| all > 10_000 && others > 5_000;
    for _ in 0..support::MAX_ATTEMPTS {
        let _ = std::fs::remove_dir_all(directory.path().join("a.punctual"));
        let cost = run_limited(directory.path(), &words);
        costs_at_most(&cost, 6, FOLLOW_MEMORY);
        let all = is_bounded(&directory.path().join("a.punctual"));
        let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
        let others = recording.document().tasks.iter().filter(|task| task.measure == punctual_recording::OTHERS);
        seen.push((all, others.map(|task| task.counters.wakeups).sum::<u64>()));
        if seen.iter().any(is_enough) {
            break;
        }
    }
    assert!(seen.iter().any(is_enough), "nobody is one of the others: {seen:?}");
    // It can be read in a moment as well.
    let cost = run_limited(directory.path(), &["report", "a.punctual"]);
    costs_at_most(&cost, 0, FOLLOW_MEMORY);
}

#[test]
fn names_without_end_do_not_fill_the_evidence() {
    requires!("hostile names, why", "BPF", "BTF", "kernel's thread ids");
    let directory = tempfile::tempdir().unwrap();
    let hostile = Hostile::start(NAMES);
    let words = ["record", "-q", "-D", "5s", "--why", "50us", "-o", "a.punctual", "--pid", &hostile.id()];
    costs_at_most(&run_limited(directory.path(), &words), 5, WHY_MEMORY);
    is_bounded(&directory.path().join("a.punctual"));
}

const WHY_MEMORY: u64 = 500_000_000;

/// Makes marks with ever new texts, as fast as it can: `struct punctual_marks` of `include/punctual.h`.
const MARKS: &str = "\
import array, mmap, os, socket, struct, time
while True:
    try:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect('\\0punctual-marks')
        break
    except OSError: time.sleep(0.01)
_, files, _, _ = socket.recv_fds(sock, 1, 1)
memory = mmap.mmap(files[0], 4096 + 65536 * 64)
mask, number, tid = (1 << 64) - 1, 0, os.getpid()
def mark(position, text):
    words = struct.unpack('<7Q', struct.pack('<QIIQ32s', time.monotonic_ns(), tid, 0, 7, text))
    seal = position + 1
    for word in words:
        mixed = ((seal ^ word) * 0x9e3779b97f4a7c15) & mask
        seal = mixed ^ mixed >> 32
    at = 4096 + (position & 65535) * 64
    memory[at + 8:at + 64] = struct.pack('<7Q', *words)
    memory[at:at + 8] = struct.pack('<Q', seal)
while True:
    tail = struct.unpack('<Q', memory[128:136])[0]
    first, number = number, number + min(64, 65536 - (number - tail))
    memory[64:72] = struct.pack('<Q', number)
    for position in range(first, number): mark(position, b'text %d' % position)
";

#[test]
fn marks_without_end_are_dropped_and_counted() {
    requires!("hostile marks", "BPF", "BTF", "kernel's thread ids");
    let directory = tempfile::tempdir().unwrap();
    // Beside this test others log, and would take the marks.
    let name = format!("punctual-hostile-{}", std::process::id());
    let script = MARKS.replace("punctual-marks", &name);
    let words = ["log", "-q", "-D", "5s", "--events", "mark", "-o", "a.punctual", "--json"];
    // A busy machine may leave the programs time for fewer marks than are taken.
    let mut seen = Vec::new();
    let is_flooded = support::attempts(support::MAX_ATTEMPTS).any(|_| {
        let _ = std::fs::remove_dir_all(directory.path().join("a.punctual"));
        // Each has the memory of one log.
        let _hostile: Vec<Hostile> = (0..4).map(|_| Hostile::start(&script)).collect();
        let cost = run_limited_with(directory.path(), &words, &[("PUNCTUAL_MARKS", &name)]);
        costs_at_most(&cost, 5, LOG_MEMORY);
        let answer = support::json(&cost.output);
        let log = punctual_recording::read_log_document(&directory.path().join("a.punctual")).unwrap().unwrap();
        eprintln!("{:?}, {} rows: {answer:.200}", log.marks, log.rows());
        // First what a second brings, and then what each of five does.
        assert!(log.marks.library <= 6 * 60_000 + 5_000, "{:?}", log.marks);
        seen.push((log.marks.library, log.marks.dropped));
        log.marks.library > 1_000 && log.marks.dropped > 0
    });
    assert!(is_flooded, "they made too few marks; taken and dropped: {seen:?}");
}

const LOG_MEMORY: u64 = 300_000_000;

#[test]
fn two_drills_on_a_cpu_keep_the_bound_of_one() {
    requires!("two drills", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["drill", "fifo", "-q", "-D", "60s", "--for", "5ms", "--every", "30ms", "-a", "1"];
    let first = support::start(directory.path(), &words);
    assert!(support::wait_until(|| {
        let sockets = std::fs::read("/proc/net/unix").unwrap_or_default();
        String::from_utf8_lossy(&sockets).contains("@punctual-drill-cpu-1-")
    }));
    let second = run_limited(directory.path(), &words);
    assert_eq!(code(&second.output), 1);
    assert!(stderr(&second.output).contains("other drills"), "{}", stderr(&second.output));
    support::signal(&first, libc::SIGINT);
    let output = first.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

/// The program that `interact` uses starts things, renames itself and writes, all without end.
const WRITES: &str = "\
import os
number = 0
while True:
    number += 1
    os.write(1, b'x' * 4096)
    if os.fork() == 0:
        with open('/proc/self/comm', 'wb') as comm: comm.write(b'\\xff)\\x1b[%d(' % number)
        os.write(1, b'y')
        os._exit(0)
    if number % 8 == 0:
        try:
            while True: os.waitpid(-1, 0)
        except ChildProcessError: pass
";

#[test]
fn a_program_that_forks_and_writes_without_end_is_used_within_bounds() {
    requires!("hostile program", "terminal");
    let directory = tempfile::tempdir().unwrap();
    let script = "name = \"short\"\nabout = \"eight keys\"\n[ready]\nat_most = \"1s\"\n[[step]]\ntype = \"abcdefgh\"\n";
    std::fs::write(directory.path().join("short.toml"), script).unwrap();
    let words = ["interact", "-q", "--script", "short.toml", "-o", "a.punctual", "--", PYTHON, "-c", WRITES];
    let cost = run_limited(directory.path(), &words);
    costs_at_most(&cost, 6, FOLLOW_MEMORY);
    let inputs = punctual_recording::read_interaction_document(&directory.path().join("a.punctual")).unwrap().unwrap();
    assert_eq!(inputs.inputs, 8);
}

#[test]
fn forks_without_end_are_followed_within_bounds() {
    requires!("hostile forks", "BPF", "BTF", "kernel's thread ids");
    let directory = tempfile::tempdir().unwrap();
    let _hostile = Hostile::start(FORKS);
    let words = ["record", "-q", "-D", "5s", "-o", "a.punctual", "--comm", "."];
    costs_at_most(&run_limited(directory.path(), &words), 5, FOLLOW_MEMORY);
    is_bounded(&directory.path().join("a.punctual"));
}

/// A command ends this soon after it is asked to, even on a busy machine.
const MAX_END: Duration = Duration::from_secs(10);
/// Or this soon, if it took no more CPU time than it may take time: then others kept it from the CPUs.
const MAX_BUSY_END: Duration = Duration::from_secs(40);

/// The CPU time that a process has had, whether it runs or waits to be collected.
fn cpu_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    // The 14th and the 15th field: in programs and in the kernel.
    let both = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = both.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    // SAFETY: asks for a constant.
    let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Duration::from_millis(ticks * 1_000 / a_second.cast_unsigned())
}

/// Waits until a process has ended, and leaves it to be collected; returns the CPU time that it took until then.
fn cpu_time_to_end(child: &Child) -> Duration {
    let (began, before) = (std::time::Instant::now(), cpu_time(child.id()));
    while support::is_alive(&child.id().to_string()) && began.elapsed() < MAX_BUSY_END {
        std::thread::sleep(Duration::from_millis(10));
    }
    cpu_time(child.id()).saturating_sub(before)
}

/// Whatever it is doing: getting ready, or measuring.
#[test]
fn a_signal_ends_every_command_beside_forks_without_end() {
    requires!("ends beside forks", "BPF", "BTF", "kernel's thread ids");
    let directory = tempfile::tempdir().unwrap();
    let _hostile: Vec<Hostile> = (0..2).map(|_| Hostile::start(FORKS)).collect();
    let end = |words: &[&str], signal: i32, after_ms: u64| {
        let output = format!("{}-{signal}-{after_ms}", words.concat());
        let words: Vec<&str> = words.iter().copied().chain(["-q", "-D", "60s", "-o", &output]).collect();
        let child = support::start(directory.path(), &words);
        std::thread::sleep(Duration::from_millis(after_ms));
        let asked = std::time::Instant::now();
        // SAFETY: sends a signal to a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0, "{words:?} has ended by itself");
        let cpu_time = cpu_time_to_end(&child);
        let ended = child.wait_with_output().unwrap();
        let took = asked.elapsed();
        // A command that was cut while it got ready says that it measured nothing; before it handles signals, the
        // signal ends it.
        let (code, errors) = (code(&ended), stderr(&ended));
        let was_early = ended.status.signal() == Some(signal) && !directory.path().join(&output).exists();
        let is_told = code == 0 || code == 1 && errors.lines().count() == 1;
        assert!(is_told || was_early, "{words:?}: {:?}: {errors}", ended.status);
        let was_kept = cpu_time < MAX_END && took < MAX_BUSY_END;
        assert!(took < MAX_END || was_kept, "{words:?} ended {took:?} after signal {signal}, {cpu_time:?} of CPU time");
        (took, cpu_time)
    };
    let commands: [[&[&str]; 2]; 2] =
        [[&["record", "--comm", "."], &["idle"]], [&["record", "--why", "100us"], &["log"]]];
    let mut all = Vec::new();
    for (signal, after_ms) in [(libc::SIGTERM, 300), (libc::SIGINT, 300), (libc::SIGTERM, 1_500), (libc::SIGINT, 1_500)]
    {
        for both in &commands {
            // Two at once, to save time.
            all.extend(std::thread::scope(|scope| {
                both.map(|words| scope.spawn(move || end(words, signal, after_ms))).map(|ended| ended.join().unwrap())
            }));
        }
    }
    assert_eq!(all.len(), 16);
    let kept = all.iter().filter(|(took, _)| *took >= MAX_END).count();
    eprintln!(
        "{} ends, {:?} after the signal at the longest, {kept} of them kept from the CPUs",
        all.len(),
        all.iter().max()
    );
}
