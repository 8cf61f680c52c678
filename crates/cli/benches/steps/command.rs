//! The whole command.

use serde_json::Value;
use std::fs::{self, File};
use std::process::{Child, Command as Start, Stdio};
use std::time::{Duration, Instant};

/// Until it measures, ...
const BEGINNING: Duration = Duration::from_millis(1_500);
/// ... has written what it was given, which it is looked at for so long, ...
const QUIET: Duration = Duration::from_millis(300);
const MAX_SETTLING: Duration = Duration::from_secs(8);
/// ... with no more than so much CPU time, ns, ...
const QUIET_NS: u64 = 20_000_000;
/// ... and has ended.
const ENDING: Duration = Duration::from_secs(30);

/// `record --comm` of this benchmark's threads.
pub(crate) struct Command {
    child: Child,
    /// Goes with all that was written.
    scratch: tempfile::TempDir,
}

impl Command {
    /// Starts it with these words, and all of its threads on this CPU.
    pub(crate) fn start(cpu: Option<u32>, words: &[&str]) -> Command {
        let scratch = tempfile::tempdir().expect("a directory");
        let program = std::env::var_os("PUNCTUAL_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_punctual").into());
        let mut start = match cpu {
            None => Start::new(&program),
            Some(cpu) => {
                let mut start = Start::new("taskset");
                start.args(["-c", &cpu.to_string()]).arg(&program);
                start
            }
        };
        start.args(["record", "--comm", "^peers-", "-D", "1h", "--json", "-o"]).arg(scratch.path().join("out"));
        let file = |name| File::create(scratch.path().join(name)).expect("a file");
        start.args(words).stdin(Stdio::null()).stdout(file("printed")).stderr(file("said"));
        let child = start.spawn().expect("it starts");
        std::thread::sleep(BEGINNING);
        Command { child, scratch }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: sends a signal to a child that was not waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn settle(&self) {
        let began = Instant::now();
        let mut before = self.cpu_ns();
        while began.elapsed() < MAX_SETTLING {
            std::thread::sleep(QUIET);
            let now = self.cpu_ns();
            if now.saturating_sub(before) <= QUIET_NS {
                return;
            }
            before = now;
        }
    }

    /// CPU time of its process so far, ns.
    pub(crate) fn cpu_ns(&self) -> u64 {
        let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
        // SAFETY: both write into variables of this call; the process was not waited for, so its number is its own.
        let is_read = unsafe {
            libc::clock_getcpuclockid(self.child.id() as i32, &mut clock) == 0
                && libc::clock_gettime(clock, &mut time) == 0
        };
        if is_read { time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64 } else { 0 }
    }

    /// Ends it; returns how many records it lost.
    pub(crate) fn stop(mut self) -> u64 {
        self.signal(libc::SIGTERM);
        let began = Instant::now();
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) && began.elapsed() < ENDING {
            std::thread::sleep(Duration::from_millis(20));
        }
        let printed = fs::read(self.scratch.path().join("printed")).unwrap_or_default();
        let answer: Value = serde_json::from_slice(&printed).unwrap_or_default();
        match answer["lost"].as_u64() {
            Some(lost) => lost,
            None => panic!("{}", fs::read_to_string(self.scratch.path().join("said")).unwrap_or_default()),
        }
    }
}

impl Drop for Command {
    /// Whatever ends the benchmark, it does not go on.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
