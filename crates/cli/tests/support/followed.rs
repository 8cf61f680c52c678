//! A test's programs that wait until they may go, and what must hold for every recording of them.

use crate::support::{self, code, start, stderr};
use punctual_recording::{Counters, EndReason, Recording, Stage, WakerKind, Wakeup};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Sleeps this often, for this long (s), under a name of its own, and says when it begins; a byte on its input lets it
/// go. In the end it says how often it left its CPU to sleep, by the kernel's account: if the host comes between, a
/// sleep is over before the thread sleeps.
pub(crate) const SLEEPER: &str = "\
import resource, sys, time
count, seconds, name = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
open('/proc/self/comm', 'w').write(name)
def left(): return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
def sleep():
    before = left()
    time.sleep(seconds)
    return left() > before
print('here', flush=True)
sys.stdin.read(1)
slept = sum(sleep() for _ in range(count))
# In one write, and so in one line where several write at once.
sys.stdout.write(f'{name} slept {slept}\\n'); sys.stdout.flush()
";

/// Two processes that pass a byte back and forth, each under a name of its own.
pub(crate) const PAIR: &str = "\
import os, sys
count = int(sys.argv[1])
to_child, to_parent = os.pipe(), os.pipe()
child = os.fork()
open('/proc/self/comm', 'w').write('pong' if child == 0 else 'ping')
if child == 0:
    for _ in range(count): os.read(to_child[0], 1); os.write(to_parent[1], b'x')
    os._exit(0)
print('here', child, flush=True)
sys.stdin.read(1)
for _ in range(count): os.write(to_child[1], b'x'); os.read(to_parent[0], 1)
os.wait()
";

/// A program of these tests that waits until it may go.
pub(crate) struct Program(pub(crate) Child);

impl Program {
    pub(crate) fn start(script: &str, words: &[&str]) -> Program {
        let mut command = Command::new("python3");
        command.args(["-c", script]).args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        Program(command.spawn().expect("python3 starts"))
    }

    /// Waits until it is ready; returns what it said.
    pub(crate) fn ready(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("here"), "{line}");
        line
    }

    pub(crate) fn id(&self) -> String {
        self.0.id().to_string()
    }

    /// What else it said until it ended.
    pub(crate) fn said(&mut self) -> String {
        let mut said = String::new();
        self.0.stdout.as_mut().unwrap().read_to_string(&mut said).unwrap();
        said
    }

    /// Lets it go.
    pub(crate) fn go(&mut self) {
        drop(self.0.stdin.take());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn open(directory: &Path) -> (Recording, Vec<Wakeup>) {
    let recording = Recording::open(directory.join("a.punctual")).unwrap();
    let mut wakeups = Vec::new();
    recording.for_each_wakeup(|wakeup| wakeups.push(*wakeup)).unwrap();
    assert_eq!(recording.count_not_adding_up().unwrap(), 0);
    let counters = recording.document().counters;
    assert_eq!((counters.wakeups, counters.missed), (wakeups.len() as u64, None));
    for task in &recording.document().tasks {
        let own: Vec<&Wakeup> = wakeups.iter().filter(|wakeup| wakeup.tid == task.tid).collect();
        assert!(own.is_sorted_by_key(|wakeup| wakeup.expected_ns + wakeup.total_ns), "out of order");
        // Only one is worked on at a time.
        assert!(own.windows(2).all(|pair| {
            pair[0].expected_ns + pair[0].stage(Stage::Response).unwrap_or(pair[0].total_ns)
                <= pair[1].expected_ns + pair[1].total_ns
        }));
    }
    for wakeup in &wakeups {
        assert!(wakeup.user_ns.is_none() && wakeup.softirq_ns.is_none() && wakeup.thread_ns.is_some());
        assert!(wakeup.executed_ns.unwrap_or(0) <= wakeup.work_ns.unwrap_or(u64::MAX), "{wakeup:?}");
    }
    (recording, wakeups)
}

/// Starts a recording and waits until it follows.
pub(crate) fn record(directory: &Path, words: &[&str]) -> Child {
    let words: Vec<&str> = ["record", "-q", "-D", "20s", "-o", "a.punctual"].iter().chain(words).copied().collect();
    let child = start(directory, &words);
    support::wait_until_it_measures(&directory.join("a.punctual"));
    child
}

/// Follows a program that is ready until it ends; returns what the recording said.
pub(crate) fn follow_to_the_end(directory: &Path, program: &mut Program) -> Output {
    let child = record(directory, &["--pid", &program.id()]);
    program.go();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    output
}

/// How often something of this kind and name woke a thread.
pub(crate) fn woken_by(recording: &Recording, wakeups: &[Wakeup], tid: u32, kind: WakerKind, name: &str) -> u64 {
    let wakers = &recording.document().followed.as_ref().unwrap().wakers;
    let by = |wakeup: &&Wakeup| wakeup.woken_by.map(|position| &wakers[position as usize]);
    wakeups
        .iter()
        .filter(|wakeup| wakeup.tid == tid)
        .filter(|wakeup| by(wakeup).is_some_and(|waker| waker.kind == kind && waker.name == name))
        .count() as u64
}

/// How often a sleeper says that it slept, out of this many times.
pub(crate) fn slept(said: &str, name: &str, of: u64) -> u64 {
    let count = said.lines().find_map(|line| line.strip_prefix(&format!("{name} slept "))).map(str::parse::<u64>);
    let Some(Ok(count)) = count else { panic!("{name} said: {said:?}") };
    assert!(count <= of && count * 2 >= of, "{name} slept {count} of {of} times");
    count
}

/// The program slept this often: each sleep was seen, or counted as unseen.
pub(crate) fn assert_slept(recording: &Recording, wakeups: &[Wakeup], name: &str, count: u64) {
    let document = recording.document();
    let tasks = || document.tasks.iter().filter(|task| task.measure == format!("{name} other"));
    assert_eq!(tasks().count(), 1, "{:?}", document.tasks);
    let task = tasks().next().unwrap();
    let Counters { unobserved, lost, .. } = task.counters;
    let slept = woken_by(recording, wakeups, task.tid, WakerKind::Timer, "sleep");
    // The first sleep may have begun before the program was followed.
    assert!(slept <= count && slept + unobserved + lost + 1 >= count, "{slept} of {count}, {:?}", task.counters);
    let by_timer = wakeups.iter().filter(|wakeup| wakeup.tid == task.tid && wakeup.irq_ns.is_some());
    assert_eq!(by_timer.count() as u64, slept);
}

pub(crate) fn ended(recording: &Recording) -> EndReason {
    recording.document().ended.as_ref().unwrap().reason
}
