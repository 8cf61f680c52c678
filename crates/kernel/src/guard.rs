//! The guard: a child process that runs the load, and ends all of it when its parent is gone, however it went.
//!
//! The measuring process talks to it over its standard input and output, a line of JSON at a time.
//! When the input ends, be it that the measurement is over or that the parent was killed, the guard
//! ends every process the load started, also those that detached themselves (it is their *subreaper*),
//! and removes the directory it made for them. If the guard itself is killed, the kernel kills its children.

use crate::Refused;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// In arguments of commands, stands for the directory that the guard makes and removes.
pub const SCRATCH: &str = "{scratch}";

/// A command that the guard runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardedCommand {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Whether its output is thrown away; otherwise it goes to the standard error stream.
    pub quiet: bool,
    /// The name it has until it becomes the program, at most 15 bytes: whoever follows its threads knows it by that.
    #[serde(default)]
    pub mark: Option<String>,
}

/// What the guard is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardedRun {
    /// The commands, run at the same time.
    pub commands: Vec<GuardedCommand>,
    /// All is ended after this long, even if the parent says nothing.
    pub time_limit: Option<Duration>,
}

/// What the guard tells its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardEvent {
    /// All commands were started.
    Started {
        /// The directory that was made for them.
        scratch: PathBuf,
    },
    /// A command could not be started.
    NotStarted {
        /// Its place in the run.
        index: usize,
        /// Why.
        reason: String,
    },
    /// A command ended by itself.
    Ended {
        /// Its place in the run.
        index: usize,
        /// Its exit code; `None` when a signal ended it.
        code: Option<i32>,
        /// The last line it wrote to its standard error stream, where that was kept.
        last_words: Option<String>,
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
}

/// The hidden subcommand under which the guard runs.
pub const SUBCOMMAND: &str = "__guard";

impl Guard {
    /// Starts a guard, which is this program again, and has it run the commands.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn start(run: &GuardedRun) -> Result<Guard, Refused> {
        let failed = |error: std::io::Error| Refused::because("starting the guard process", crate::plain(&error));
        let program = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(program)
            .arg(SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut input = child.stdin.take();
        let output = child.stdout.take();
        if let Some(input) = &mut input {
            let mut line = serde_json::to_vec(run)
                .map_err(|error| Refused::because("starting the guard process", error.to_string()))?;
            line.push(b'\n');
            input.write_all(&line).map_err(failed)?;
        }
        Ok(Guard { child, input, output, received: Vec::new(), scratch: None })
    }

    /// What the guard has told since the last call; waits up to `patience` for something.
    pub fn events(&mut self, patience: Duration) -> Vec<GuardEvent> {
        let Some(output) = &mut self.output else { return Vec::new() };
        let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        let mut ready = [PollFd::new(output, PollFlags::IN)];
        if poll(&mut ready, Some(&timeout)).unwrap_or(0) == 0 {
            return Vec::new();
        }
        let mut chunk = [0u8; 4096];
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
            if let Some(GuardEvent::Started { scratch }) = &event {
                self.scratch = Some(scratch.clone());
            }
            events.extend(event);
        }
        events
    }

    /// Whether the guard has gone, and with it the load.
    pub fn is_gone(&mut self) -> bool {
        self.output.is_none() || !matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends the load and waits until none of it is left.
    pub fn end(mut self) {
        self.end_now();
    }

    fn end_now(&mut self) {
        self.input = None;
        // Until its output closes, the guard is still clearing up.
        let deadline = Instant::now() + Duration::from_secs(6);
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        // One that does not answer takes its children along; one that was killed left its directory.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if let Some(scratch) = self.scratch.take().filter(|scratch| scratch.exists()) {
            // What wrote there is just being killed.
            std::thread::sleep(Duration::from_millis(100));
            let _ = std::fs::remove_dir_all(scratch);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end_now();
    }
}

/// The guard's side: runs until its input ends or its time is up. Call it from the hidden subcommand [`SUBCOMMAND`].
///
/// # Errors
/// Where the input was not a run.
pub fn serve() -> Result<(), Refused> {
    let failed = |error: String| Refused::because("guarding the load", error);
    // Away from the terminal: Ctrl-C is for the parent, whose end then ends the load.
    let _ = rustix::process::setsid();
    // Not by its parent's name, or whoever kills all processes of that name would kill the guard with it.
    let _ = rustix::thread::set_name(c"load-guard");
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let mut line = String::new();
    BufReader::new(std::io::stdin()).read_line(&mut line).map_err(|error| failed(error.to_string()))?;
    if line.is_empty() {
        return Ok(());
    }
    let run: GuardedRun = serde_json::from_str(&line).map_err(|error| failed(error.to_string()))?;
    let scratch = make_scratch().map_err(|error| failed(crate::plain(&error)))?;
    let end_by = run.time_limit.map(|limit| Instant::now() + limit);
    let mut running = Vec::new();
    let mut all_started = true;
    for (index, command) in run.commands.iter().enumerate() {
        match start(command, index, &scratch) {
            Ok(child) => running.push((index, child)),
            Err(error) => {
                all_started = false;
                tell(&GuardEvent::NotStarted { index, reason: crate::plain(&error) });
            }
        }
    }
    if all_started {
        tell(&GuardEvent::Started { scratch: scratch.clone() });
    }
    watch(&mut running, end_by, &scratch);
    end_descendants();
    let _ = std::fs::remove_dir_all(&scratch);
    Ok(())
}

fn tell(event: &GuardEvent) {
    if let Ok(mut line) = serde_json::to_vec(event) {
        line.push(b'\n');
        let mut output = std::io::stdout().lock();
        // A parent that is gone is noticed by the end of the input.
        let _ = output.write_all(&line).and_then(|()| output.flush());
    }
}

fn make_scratch() -> std::io::Result<PathBuf> {
    let base = std::env::temp_dir();
    let mut attempt = 0;
    loop {
        let path = base.join(format!("punctual-load-{}-{attempt}", std::process::id()));
        match std::fs::create_dir(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            result => return result.map(|()| path),
        }
    }
}

fn words_file(scratch: &Path, index: usize) -> PathBuf {
    scratch.join(format!("stderr-{index}"))
}

fn start(command: &GuardedCommand, index: usize, scratch: &Path) -> std::io::Result<(Child, OwnedFd)> {
    let words: Vec<String> =
        command.words.iter().map(|word| word.replace(SCRATCH, &scratch.to_string_lossy())).collect();
    let (program, arguments) = words.split_first().ok_or_else(|| std::io::Error::other("an empty command"))?;
    let mut child = Command::new(program);
    child.args(arguments).stdin(Stdio::null());
    if command.quiet {
        child.stdout(Stdio::null()).stderr(std::fs::File::create(words_file(scratch, index))?).current_dir(scratch);
    } else {
        child.stdout(std::io::stderr().as_fd().try_clone_to_owned()?);
    }
    let mark = command.mark.as_deref().and_then(|mark| std::ffi::CString::new(mark).ok());
    // SAFETY: between fork and exec only async-signal-safe system calls on plain data are made.
    unsafe {
        child.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
            if let Some(mark) = &mark {
                libc::prctl(libc::PR_SET_NAME, mark.as_ptr(), 0, 0, 0);
            }
            Ok(())
        });
    }
    let child = child.spawn()?;
    let pid = Pid::from_child(&child);
    let descriptor = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    // Should memory run out, the load goes first.
    let _ = std::fs::write(format!("/proc/{}/oom_score_adj", child.id()), "1000");
    Ok((child, descriptor))
}

/// Waits for the input to end, the time to be up, and tells of commands that end by themselves.
fn watch(running: &mut Vec<(usize, (Child, OwnedFd))>, end_by: Option<Instant>, scratch: &Path) {
    let input = std::io::stdin();
    loop {
        let left = end_by.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return;
        }
        let timeout =
            left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) });
        let ended: Vec<bool> = {
            let mut waited = vec![PollFd::new(&input, PollFlags::IN)];
            waited.extend(running.iter().map(|(_, (_, descriptor))| PollFd::new(descriptor, PollFlags::IN)));
            if poll(&mut waited, timeout.as_ref()).is_err() {
                continue;
            }
            waited.iter().map(|descriptor| !descriptor.revents().is_empty()).collect()
        };
        let mut position = 0;
        running.retain_mut(|(index, (child, _))| {
            position += 1;
            if !ended[position] {
                return true;
            }
            let code = child.wait().ok().and_then(|status| status.code());
            let last_words = std::fs::read_to_string(words_file(scratch, *index)).ok().and_then(|text| {
                text.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned())
            });
            tell(&GuardEvent::Ended { index: *index, code, last_words });
            false
        });
        if ended[0] {
            return;
        }
    }
}

/// Ends every descendant: first asked, then killed, until none is left or three seconds have passed.
fn end_descendants() {
    let me = std::process::id();
    for &pid in &descendants(me) {
        signal(pid, Signal::TERM);
    }
    let asked = Instant::now();
    while asked.elapsed() < Duration::from_secs(4) {
        while matches!(rustix::process::waitpid(None, WaitOptions::NOHANG), Ok(Some(_))) {}
        let left = descendants(me);
        if left.is_empty() {
            return;
        }
        if asked.elapsed() > Duration::from_millis(700) {
            left.iter().for_each(|&pid| signal(pid, Signal::KILL));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// All processes below this one, zombies apart.
fn descendants(ancestor: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name in parentheses may hold anything, spaces and parentheses too.
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let mut words = rest.split_whitespace();
        let (state, parent) = (words.next(), words.next().and_then(|word| word.parse::<u32>().ok()));
        if let (Some(state), Some(parent)) = (state, parent) {
            parents.push((pid, parent, state == "Z"));
        }
    }
    let mut found = vec![ancestor];
    let mut position = 0;
    while position < found.len() {
        let parent = found[position];
        found.extend(parents.iter().filter(|entry| entry.1 == parent).map(|entry| entry.0));
        position += 1;
    }
    found.remove(0);
    found.retain(|pid| !parents.iter().any(|&(other, _, zombie)| other == *pid && zombie));
    found
}
