//! What a program without privilege does may cost root's measurement no more than is promised (`docs/promises.md`): each
//! measurement here runs under a limit of memory, and is timed.

mod support;

use punctual_recording::Recording;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::measured::{Fence, Measured, measured};
use support::{code, stderr};

/// The address space that a measurement may take, bytes: a fault then ends it, not the machine.
const MAX_ADDRESS_SPACE: u64 = 3 << 30;
/// After its time a measurement ends within this.
const SLACK: Duration = Duration::from_secs(8);
/// Or within this, if it took no more CPU time than it may take time: then others kept it from the CPUs.
const BUSY_SLACK: Duration = Duration::from_secs(20);

/// Takes a new name and sleeps for a moment, again and again, in several threads.
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

/// Forks children that wake once under a name of odd bytes and end.
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

/// Where everybody may run it; one of root's own may lie in a directory that nobody else may look into.
const PYTHON: &str = "/usr/bin/python3";

/// A program that no measurement may trust; it ends with the test.
struct Hostile(Child);

impl Hostile {
    /// Starts it as the user nobody, where this user may.
    fn start(script: &str) -> Hostile {
        let python = if Path::new(PYTHON).exists() { PYTHON } else { "python3" };
        let mut command = Command::new("setpriv");
        command.args(support::NOBODY).arg(python);
        if !support::may_become_nobody() {
            command = Command::new(python);
        }
        command.args(["-c", script]);
        // Its children go with it.
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

/// Runs the program under a limit of memory.
fn run_limited(directory: &Path, words: &[&str]) -> Measured {
    let mut command = support::punctual();
    command.current_dir(directory).args(words);
    let cost = measured(command, Fence::Addresses(MAX_ADDRESS_SPACE));
    let (took, peak, said) = (cost.took.as_secs_f64(), cost.peak_bytes / 1_000_000, stderr(&cost.output));
    let cpu = cost.cpu_time.as_secs_f64();
    eprintln!("{}: {took:.1} s, {cpu:.1} s of CPU time, {peak} MB, {}", words.join(" "), said.trim());
    cost
}

/// A recording for so long beside a hostile program keeps to its time and this memory, bytes.
fn costs_at_most(cost: &Measured, seconds: u64, memory: u64) {
    assert_eq!(code(&cost.output), 0, "{}", stderr(&cost.output));
    ends_in_time(cost, seconds);
    assert!(cost.peak_bytes > 0 && cost.peak_bytes < memory, "{} bytes", cost.peak_bytes);
}

/// A measurement for so long ends within what is promised.
fn ends_in_time(cost: &Measured, seconds: u64) {
    let time = Duration::from_secs(seconds);
    let was_kept = cost.cpu_time < time + SLACK && cost.took < time + BUSY_SLACK;
    assert!(cost.took < time + SLACK || was_kept, "took {:?}, and {:?} of CPU time", cost.took, cost.cpu_time);
}

/// The names in a recording are bounded, and every wakeup is counted under one of them.
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
    let cost = run_limited(directory.path(), &words);
    costs_at_most(&cost, 6, FOLLOW_MEMORY);
    assert!(is_bounded(&directory.path().join("a.punctual")) > 10_000);
    let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
    let others = recording.document().tasks.iter().filter(|task| task.measure == punctual_recording::OTHERS);
    assert!(others.map(|task| task.counters.wakeups).sum::<u64>() > 5_000, "nobody is one of the others");
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

/// Makes marks of ever new texts, as fast as it can: `struct punctual_marks` of `include/punctual.h`.
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
    let _hostile: Vec<Hostile> = (0..4).map(|_| Hostile::start(MARKS)).collect();
    let words = ["log", "-q", "-D", "5s", "--events", "mark", "-o", "a.punctual", "--json"];
    let cost = run_limited(directory.path(), &words);
    costs_at_most(&cost, 5, LOG_MEMORY);
    let answer = support::json(&cost.output);
    let log: punctual_recording::LogDocument =
        punctual_recording::read_log_document(&directory.path().join("a.punctual")).unwrap().unwrap();
    eprintln!("{:?}, {} rows: {answer:.200}", log.marks, log.rows());
    assert!(log.marks.library > 1_000 && log.marks.dropped > 0, "it made too few marks: {:?}", log.marks);
    // At first what a second brings, and then what each of five does.
    assert!(log.marks.library <= 6 * 60_000 + 5_000, "{:?}", log.marks);
}

const LOG_MEMORY: u64 = 300_000_000;

/// Tells the longest time (us) that a thread below all real-time ones of ours was kept from a CPU, for so long (s). It goes
/// before ordinary threads, so that what these take from one another does not count as ours, and leaves the CPU to them.
const BELOW: &str = "\
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
end, last, longest = time.monotonic() + float(sys.argv[2]), time.monotonic(), 0
while last < end:
    time.sleep(0.001)
    now = time.monotonic()
    longest = max(longest, now - last)
    last = now
print(int(longest * 1e6))
";

/// Runs something that takes all of a CPU with real-time priority; how long whoever is below that was kept waiting.
fn longest_starvation(directory: &Path, cpu: u32, seconds: u32, words: &[&str]) -> (Duration, Measured) {
    let mut below = Command::new("python3");
    below.args(["-c", BELOW, &cpu.to_string(), &(seconds + 2).to_string()]).stdout(Stdio::piped());
    let below = below.spawn().unwrap();
    let cost = run_limited(directory, words);
    let output = below.wait_with_output().unwrap();
    let micros: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    eprintln!("kept waiting for up to {} ms", micros / 1_000);
    (Duration::from_micros(micros), cost)
}

/// The threads of devices whose work never ends rest every other time; on a machine whose host has time for it.
const MAX_STARVATION: Duration = Duration::from_millis(400);

#[test]
fn many_short_periods_leave_others_their_part() {
    requires!("short periods", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["record", "-q", "-D", "4s", "-i", "2us", "-p", "80,70,60", "-a", "1", "-o", "a.punctual"];
    let (longest, cost) = longest_starvation(directory.path(), 1, 4, &words);
    ends_in_time(&cost, 4);
    // Every tenth of a second, and at the beginning once later.
    assert!(longest < Duration::from_millis(250), "{longest:?}");
}

#[test]
fn competitors_above_everybody_end_in_time_and_leave_others_their_part() {
    requires!("competitors", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["device", "run", "modem", "-q", "-D", "4s", "--competitor", "spin:99", "--competitor", "spin:99"];
    let words: Vec<&str> = words.into_iter().chain(["-a", "1", "-o", "a.punctual"]).collect();
    let (longest, cost) = longest_starvation(directory.path(), 1, 4, &words);
    ends_in_time(&cost, 4);
    assert_eq!(code(&cost.output), 0, "{}", stderr(&cost.output));
    assert!(longest < MAX_STARVATION, "{longest:?}");
}

/// Each of them alone would take all of the CPU, and their rests are the same.
#[test]
fn several_runs_at_once_leave_others_their_part() {
    requires!("several runs", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), [b'x'; 60_000]).unwrap();
    let beside: [&[&str]; 3] = [
        &["device", "mix", "audio64,modem", "-q", "--context", "thread:90", "-D", "6s", "-a", "1", "-o", "b.punctual"],
        &["record", "-q", "-D", "6s", "-i", "50us", "-p", "85", "-a", "1", "-o", "c.punctual"],
        &[
            "modem",
            "transfer",
            "file",
            "-q",
            "--attempts",
            "1",
            "--context",
            "thread:80",
            "--cpu",
            "1",
            "--competitor",
            "spin:95",
        ],
    ];
    let mut beside: Vec<_> = beside.iter().map(|words| support::start(directory.path(), words)).collect();
    let words = ["device", "run", "modem", "-q", "-D", "4s", "--competitor", "spin:99", "-a", "1", "-o", "a.punctual"];
    let (longest, cost) = longest_starvation(directory.path(), 1, 4, &words);
    // The transfer would go on for a minute.
    support::signal(&beside[2], libc::SIGTERM);
    let ended = beside.iter_mut().map(|child| child.wait().unwrap().code());
    let ended: Vec<_> = ended.collect();
    assert_eq!(ended[..2], [Some(0), Some(0)]);
    ends_in_time(&cost, 4);
    assert_eq!(code(&cost.output), 0, "{}", stderr(&cost.output));
    assert!(longest < MAX_STARVATION, "{longest:?}");
}

/// Each waits at times, so that none leaves nothing by itself; together they do.
#[test]
fn devices_that_take_all_of_a_cpu_only_together_leave_others_their_part() {
    requires!("two devices", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let profile = "[[device]]\nid = \"heavy\"\nname = \"Heavy\"\nwhat = \"three quarters of a CPU\"\nperiod = \"2500us\"\n\
                   buffers = 2\ncompute = \"1850us\"\non_miss = \"dummy_buffer\"\n";
    std::fs::write(directory.path().join("heavy.toml"), profile).unwrap();
    let words = ["device", "mix", "heavy,heavy", "--profiles", "heavy.toml", "-q", "--context", "thread:90"];
    let words: Vec<&str> = words.into_iter().chain(["-D", "6s", "-a", "1", "-o", "a.punctual"]).collect();
    let (longest, cost) = longest_starvation(directory.path(), 1, 6, &words);
    assert_eq!(code(&cost.output), 0, "{}", stderr(&cost.output));
    assert!(longest < MAX_STARVATION, "{longest:?}");
}

/// Those above keep their grids, so that none of them has to notice anything; those below get what is left, in turn.
#[test]
fn runs_of_many_priorities_at_once_leave_others_their_part() {
    requires!("many runs", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let mut beside = Vec::new();
    for priority in ["99", "9", "8", "7", "6", "5"] {
        let output = format!("{priority}.punctual");
        let words = ["record", "-q", "-D", "9s", "--no-bpf", "-i", "10us", "-a", "1", "-p", priority, "-o", &output];
        beside.push(support::start(directory.path(), &words));
    }
    let words = ["record", "-q", "-D", "5s", "--no-bpf", "-i", "10us", "-a", "1", "-p", "4", "-o", "a.punctual"];
    let (longest, cost) = longest_starvation(directory.path(), 1, 5, &words);
    let ended: Vec<_> = beside.iter_mut().map(|child| child.wait().unwrap().code()).collect();
    assert!(ended.iter().all(|code| *code == Some(0)), "{ended:?}");
    ends_in_time(&cost, 5);
    assert!(longest < MAX_STARVATION, "{longest:?}");
}

#[test]
fn two_drills_on_a_cpu_keep_the_bound_of_one() {
    requires!("two drills", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["drill", "fifo", "-q", "-D", "4s", "--for", "5ms", "--every", "30ms", "-a", "1"];
    let first = support::start(directory.path(), &words);
    assert!(support::wait_until(|| {
        let sockets = std::fs::read("/proc/net/unix").unwrap_or_default();
        String::from_utf8_lossy(&sockets).contains("@punctual-drill-cpu-1-")
    }));
    let second = run_limited(directory.path(), &words);
    assert_eq!(code(&second.output), 1);
    assert!(stderr(&second.output).contains("other drills"), "{}", stderr(&second.output));
    let output = first.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

/// What the program of `interact` starts, calls itself and writes is without end.
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

/// A command ends this soon after it was asked to, on a machine that does other things too.
const MAX_END: Duration = Duration::from_secs(5);

/// Whatever it is doing: getting ready, or measuring.
#[test]
fn a_signal_ends_every_command_beside_forks_without_end() {
    requires!("ends beside forks", "BPF", "BTF", "kernel's thread ids");
    let directory = tempfile::tempdir().unwrap();
    let _hostile: Vec<Hostile> = (0..2).map(|_| Hostile::start(FORKS)).collect();
    let (mut ends, mut longest) = (0, Duration::ZERO);
    for (signal, after) in [(libc::SIGTERM, 300), (libc::SIGINT, 300), (libc::SIGTERM, 1_500), (libc::SIGINT, 1_500)] {
        for words in [&["record", "--comm", "."][..], &["record", "--why", "100us"], &["idle"], &["log"]] {
            let output = format!("{ends}.punctual");
            let words: Vec<&str> = words.iter().copied().chain(["-q", "-D", "60s", "-o", &output]).collect();
            let child = support::start(directory.path(), &words);
            std::thread::sleep(Duration::from_millis(after));
            let asked = std::time::Instant::now();
            // SAFETY: sends a signal to a child that has not been waited for.
            assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0, "{words:?} has ended by itself");
            let ended = child.wait_with_output().unwrap();
            let took = asked.elapsed();
            // One that was cut while it got ready says that it measured nothing.
            let (code, errors) = (code(&ended), stderr(&ended));
            assert!(code == 0 || (code == 1 && errors.lines().count() == 1), "{words:?}: {code}: {errors}");
            assert!(took < MAX_END, "{words:?} ended {took:?} after signal {signal}");
            (ends, longest) = (ends + 1, longest.max(took));
        }
    }
    assert_eq!(ends, 16);
    eprintln!("{ends} ends, {longest:?} after the signal at the longest");
}
