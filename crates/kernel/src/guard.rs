//! The guard: a child process that runs the load, and ends all of it when its parent is gone, however that happened.
//!
//! The measuring process talks to it over its standard input and output, a line of JSON at a time.
//! When the input ends, be it that the measurement is over or that the parent was killed, the guard
//! ends every process the load started, also those that detached themselves (it is their *subreaper*),
//! and removes the directory it made for them. If the guard itself is killed, the kernel kills its children.
//! A command that sets something up is guarded in the same way, but only until it has ended: see [`GuardedRun::setting`].
//! The guard's own side is in `guard/runner.rs`; `guard/spawn.rs` starts its programs, and `guard/lines.rs` takes what
//! they write.

mod lines;
mod processes;
mod runner;
mod scratch;
mod spawn;

pub use processes::descendants;
pub use runner::serve;

use crate::Refused;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// In arguments of commands, stands for the directory that the guard makes and removes.
pub const SCRATCH: &str = "{scratch}";

/// A command that the guard runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardedCommand {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Whether its output is thrown away and it runs in the directory that the guard makes; otherwise its output goes
    /// to the standard error stream.
    pub quiet: bool,
    /// The name it has until it becomes the program, at most 15 bytes: whoever follows its threads recognises it by that.
    #[serde(default)]
    pub mark: Option<String>,
    /// Whether to report every line it writes.
    pub tells_lines: bool,
    /// Whether to run it again when it ends.
    pub repeat: bool,
    /// How long from one start to the next; `None` for back to back.
    pub pace: Option<Duration>,
    /// The terminal at which it leads a session and which is its input and output: its own end of a pseudo-terminal.
    /// Then it runs where the caller is, and is no more likely than others to be ended when memory runs out.
    #[serde(default)]
    pub terminal: Option<PathBuf>,
    /// What is different in its environment.
    #[serde(default)]
    pub environment: Vec<(String, String)>,
}

/// What is made ready in the directory that the guard makes, before the commands start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardedPreparation {
    /// Files: the name within the directory, and the text.
    pub files: Vec<(String, String)>,
    /// What the shell runs then, until it ends.
    pub script: Option<String>,
}

/// What the guard is to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardedRun {
    /// What is made ready first, in this order.
    #[serde(default)]
    pub preparations: Vec<GuardedPreparation>,
    /// The commands, run at the same time.
    pub commands: Vec<GuardedCommand>,
    /// Everything is ended after this long, even if the parent says nothing.
    pub time_limit: Option<Duration>,
    /// Empty directories that the parent makes and that must not outlive it, such as an instance of the kernel's
    /// tracing: removed at the end if they are still there.
    #[serde(default)]
    pub remove_at_end: Vec<PathBuf>,
    /// Instead of all that: a shell command that sets something up and runs to its end ([`GuardEvent::Ended`]). It
    /// belongs to the parent's terminal, so that Ctrl-C reaches it and it may ask for a password, and what it leaves
    /// running stays. Only if the parent goes away first is it ended, with everything that it started.
    #[serde(default)]
    pub setting: Option<String>,
}

/// What the guard tells its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardEvent {
    /// All commands were started.
    Started {
        /// The directory that was made for them.
        scratch: PathBuf,
        /// For each, its process and when its start began, ns of `CLOCK_MONOTONIC`.
        #[serde(default)]
        processes: Vec<(u32, u64)>,
    },
    /// Nothing could be begun.
    Refused {
        /// Why.
        reason: String,
    },
    /// A command could not be started.
    NotStarted {
        /// Its place in the run.
        index: usize,
        /// Why.
        reason: String,
    },
    /// Something could not be made ready, so nothing was started.
    NotPrepared {
        /// Its place in the run.
        index: usize,
        /// Why.
        reason: String,
    },
    /// A command ended by itself and is not run again.
    Ended {
        /// Its place in the run.
        index: usize,
        /// When it had been started, ns of `CLOCK_MONOTONIC`.
        started_ns: u64,
        /// When it ended.
        ended_ns: u64,
        /// Its exit code; `None` when a signal ended it.
        code: Option<i32>,
        /// The last line that it wrote to its standard error stream, if that was kept.
        last_words: Option<String>,
    },
    /// A command that is repeated ended, and is run again.
    Iteration {
        /// Its place in the run.
        index: usize,
        /// When it had been started, ns of `CLOCK_MONOTONIC`.
        started_ns: u64,
        /// When it ended.
        ended_ns: u64,
        /// Its exit code; `None` when a signal ended it.
        code: Option<i32>,
        /// If it failed, the last line that it wrote.
        last_words: Option<String>,
    },
    /// A command was still running when everything was ended.
    Unfinished {
        /// Its place in the run.
        index: usize,
        /// When it had been started, ns of `CLOCK_MONOTONIC`.
        started_ns: u64,
    },
    /// A command wrote a line.
    Line {
        /// Its place in the run.
        index: usize,
        /// When it was read, ns of `CLOCK_MONOTONIC`.
        at_ns: u64,
        /// The line, cut if it is long.
        text: String,
    },
}

/// The parent's side: the load runs until this is dropped or ended.
pub struct Guard {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    received: Vec<u8>,
    /// Removed by the guard, unless somebody killed it.
    scratch: Option<PathBuf>,
    is_over: bool,
}

/// The hidden subcommand under which the guard runs.
pub const SUBCOMMAND: &str = "__guard";

impl Guard {
    /// Starts a guard, which is this program again, and has it run the commands.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn start(run: &GuardedRun) -> Result<Guard, Refused> {
        Guard::start_after(run, |_| ())
    }

    /// The same; `before` is done with the guard's process before that is told what to run.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn start_after(run: &GuardedRun, before: impl FnOnce(u32)) -> Result<Guard, Refused> {
        let failed = |error: std::io::Error| Refused::because("starting the guard process", crate::plain(&error));
        let program = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(program)
            .arg(SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        before(child.id());
        let mut input = child.stdin.take();
        let output = child.stdout.take();
        if let Some(input) = &mut input {
            let mut line = serde_json::to_vec(run)
                .map_err(|error| Refused::because("starting the guard process", error.to_string()))?;
            line.push(b'\n');
            input.write_all(&line).map_err(failed)?;
        }
        Ok(Guard { child, input, output, received: Vec::new(), scratch: None, is_over: false })
    }

    /// What the guard has reported since the last call; waits up to `patience` for something.
    pub fn events(&mut self, patience: Duration) -> Vec<GuardEvent> {
        let Some(output) = &mut self.output else { return Vec::new() };
        let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        let mut ready = [PollFd::new(output, PollFlags::IN)];
        if poll(&mut ready, Some(&timeout)).unwrap_or(0) == 0 {
            return Vec::new();
        }
        let mut chunk = [0u8; 16_384];
        match output.read(&mut chunk) {
            Ok(0) | Err(_) => {
                self.output = None;
                return Vec::new();
            }
            Ok(length) => self.received.extend_from_slice(&chunk[..length]),
        }
        let mut events = Vec::new();
        while let Some(end) = self.received.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.received.drain(..=end).collect();
            let event = serde_json::from_slice::<GuardEvent>(&line).ok();
            if let Some(GuardEvent::Started { scratch, .. }) = &event {
                self.scratch = Some(scratch.clone());
            }
            events.extend(event);
        }
        events
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the guard is gone, and the load with it.
    pub fn is_gone(&mut self) -> bool {
        self.output.is_none() || self.has_ended(WaitIdOptions::NOHANG)
    }

    /// Whether its process has ended. Nobody waits for it before the session that it led has ended as well: until then
    /// nobody else has its number.
    fn has_ended(&self, how: WaitIdOptions) -> bool {
        let process = WaitId::Pid(Pid::from_child(&self.child));
        !matches!(waitid(process, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | how), Ok(None))
    }

    /// Ends the load, waits until none of it is left, and returns what the guard reported meanwhile.
    pub fn end(mut self) -> Vec<GuardEvent> {
        self.end_now()
    }

    fn end_now(&mut self) -> Vec<GuardEvent> {
        let mut told = Vec::new();
        if std::mem::replace(&mut self.is_over, true) {
            return told;
        }
        self.input = None;
        // Until its output closes, the guard is still cleaning up; somebody must read what it says, or it would block.
        let deadline = Instant::now() + Duration::from_secs(6);
        while Instant::now() < deadline && !self.has_ended(WaitIdOptions::NOHANG) {
            told.extend(self.events(Duration::from_millis(20)));
            if self.output.is_none() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        // A guard that does not answer takes its children along; one that was killed left its directory behind.
        if !self.has_ended(WaitIdOptions::NOHANG) {
            // Those that detached themselves are below it only as long as it lives.
            processes::kill_descendants(self.child.id());
            let _ = self.child.kill();
            self.has_ended(WaitIdOptions::empty());
        }
        while self.output.is_some() {
            let more = self.events(Duration::ZERO);
            if more.is_empty() {
                break;
            }
            told.extend(more);
        }
        if let Some(scratch) = self.scratch.take().filter(|scratch| scratch.exists()) {
            // What its children had started is on its own now.
            processes::kill_session(self.child.id());
            std::thread::sleep(Duration::from_millis(100));
            let _ = std::fs::remove_dir_all(scratch);
        }
        let _ = self.child.wait();
        told
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn nobody_has_the_number_of_a_guard_that_was_killed_before_its_session_has_ended() {
        let mut command = Command::new("sleep");
        let mut child = command.arg("60").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut guard = Guard { child, input, output, received: Vec::new(), scratch: None, is_over: false };
        let place = format!("/proc/{}", guard.id());
        assert!(!guard.is_gone());
        guard.child.kill().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while !guard.is_gone() {
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(guard.is_gone() && Path::new(&place).exists(), "somebody waited for it");
        guard.end();
        assert!(!Path::new(&place).exists(), "nobody waited for it");
    }
}
