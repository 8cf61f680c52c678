//! The guard's side: makes ready, starts, repeats, reports, and ends everything.

use super::lines::{Lines, last_line};
use super::processes::{Dead, all_below, has_children, reap};
use super::spawn::{lead_at, spawn};
use super::{GuardEvent, GuardedCommand, GuardedPreparation, GuardedRun, SCRATCH, scratch};
use crate::{Refused, clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A command that fails this often in a row is not run again.
const FAILURES: u32 = 3;
/// One that failed is not run again at once.
const PAUSE: Duration = Duration::from_secs(1);
/// How often to reap what others left behind.
const REAP: Duration = Duration::from_secs(1);

/// Runs until its input ends or its time is up. Call it from the hidden subcommand [`super::SUBCOMMAND`].
///
/// # Errors
/// If the input was not a run.
pub fn serve() -> Result<(), Refused> {
    let failed = |error: String| Refused::because("guarding the load", error);
    // Not with its parent's name, or whoever kills all processes of that name would kill the guard too.
    let _ = rustix::thread::set_name(c"load-guard");
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let mut line = String::new();
    BufReader::new(std::io::stdin()).read_line(&mut line).map_err(|error| failed(error.to_string()))?;
    if line.is_empty() {
        return Ok(());
    }
    let run: GuardedRun = serde_json::from_str(&line).map_err(|error| failed(error.to_string()))?;
    let disregarded = match &run.setting {
        // Ctrl-C is for the command, and its parent's end is for the guard.
        Some(_) => disregard(&[libc::SIGINT, libc::SIGQUIT, libc::SIGHUP]),
        // Away from the terminal: Ctrl-C is for the parent, whose end then ends the load.
        None => {
            let _ = rustix::process::setsid();
            Vec::new()
        }
    };
    let needs_scratch = run.setting.is_some() || !run.commands.is_empty() || !run.preparations.is_empty();
    let scratch = match needs_scratch.then(scratch::make).transpose() {
        Ok(made) => made.unwrap_or_default(),
        Err(refused) => {
            tell(&GuardEvent::Refused { reason: refused.to_string() });
            return Ok(());
        }
    };
    let end_by = run.time_limit.map(|limit| Instant::now() + limit);
    let mut runner = Runner { scratch: scratch.clone(), end_by, commands: Vec::new(), disregarded };
    if let Some(setting) = &run.setting {
        tell(&GuardEvent::Started { scratch: scratch.clone(), processes: Vec::new() });
        if !runner.set_up(setting) {
            runner.end();
        }
        let _ = std::fs::remove_dir_all(&scratch);
        return Ok(());
    }
    if runner.prepare(&run.preparations) && runner.start(run.commands) {
        tell(&GuardEvent::Started { scratch: scratch.clone(), processes: runner.processes() });
        runner.watch();
    }
    runner.end();
    let _ = std::fs::remove_dir_all(&scratch);
    run.remove_at_end.iter().for_each(|directory| remove_directory(directory));
    Ok(())
}

/// Removes an empty directory. One that a dying process still has open goes a little later.
fn remove_directory(directory: &Path) {
    for _ in 0..100 {
        match std::fs::remove_dir(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(20));
            }
            _ => return,
        }
    }
}

/// From now on this process ignores these signals. Returns those that it did not ignore before: programs inherit what is ignored.
fn disregard(signals: &[libc::c_int]) -> Vec<libc::c_int> {
    // SAFETY: no handler is set, so nothing runs when a signal comes.
    let before = |&signal: &libc::c_int| unsafe { libc::signal(signal, libc::SIG_IGN) };
    signals.iter().copied().filter(|signal| before(signal) == libc::SIG_DFL).collect()
}

fn tell(event: &GuardEvent) {
    if let Ok(mut line) = serde_json::to_vec(event) {
        line.push(b'\n');
        let mut output = std::io::stdout().lock();
        // The end of the input shows that the parent is gone.
        let _ = output.write_all(&line).and_then(|()| output.flush());
    }
}

struct Runner {
    scratch: PathBuf,
    end_by: Option<Instant>,
    commands: Vec<Running>,
    /// Signals that only the guard ignores.
    disregarded: Vec<libc::c_int>,
}

/// How a script ended.
struct ScriptEnd {
    code: Option<i32>,
    last_words: Option<String>,
}

/// A command, and how it is doing.
struct Running {
    command: GuardedCommand,
    state: State,
    /// When it was last due to start.
    due: Instant,
    failures: u32,
    output: Option<Lines>,
}

enum State {
    Runs { pid: u32, descriptor: OwnedFd, started_ns: u64 },
    Waits { until: Instant },
    Over,
}

impl Runner {
    /// False if something could not be made ready, which has been reported, or nobody waits for it any more.
    fn prepare(&mut self, preparations: &[GuardedPreparation]) -> bool {
        for (index, preparation) in preparations.iter().enumerate() {
            match self.prepare_one(preparation) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(reason) => {
                    tell(&GuardEvent::NotPrepared { index, reason });
                    return false;
                }
            }
        }
        true
    }

    /// False if it was cut short.
    fn prepare_one(&mut self, preparation: &GuardedPreparation) -> Result<bool, String> {
        for (name, text) in &preparation.files {
            let path = self.scratch.join(name);
            let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            made.and_then(|()| std::fs::write(&path, text))
                .map_err(|error| format!("{} could not be written: {}", path.display(), crate::plain(&error)))?;
        }
        let Some(script) = &preparation.script else { return Ok(true) };
        let words = ["/bin/sh", "-e", "-c", script].map(str::to_owned).to_vec();
        let command = GuardedCommand { words, quiet: true, ..GuardedCommand::default() };
        let words_file = self.scratch.join("stderr-prepare");
        let started = start(&command, &self.scratch, &words_file, &mut None);
        match started.map(|started| self.wait_for(started, &words_file)) {
            Ok(Some(ScriptEnd { code: Some(0), .. })) => Ok(true),
            Ok(Some(ScriptEnd { code, last_words, .. })) => {
                let words = last_words.map_or_else(String::new, |words| format!(": {words}"));
                Err(format!("it {}{words}", ending(code)))
            }
            Ok(None) => Ok(false),
            Err(error) => Err(crate::plain(&error)),
        }
    }

    /// Runs a command that sets something up and reports how it ended; false if it was cut short.
    fn set_up(&self, script: &str) -> bool {
        let started_ns = clock::monotonic_ns();
        let words_file = self.scratch.join("stderr-setting");
        let started = std::fs::File::create(&words_file).and_then(|words| {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(words);
            spawn(shell, None, false, &self.disregarded)
        });
        match started.map(|started| self.wait_for(started, &words_file)) {
            Ok(Some(ScriptEnd { code, last_words })) => {
                tell(&GuardEvent::Ended { index: 0, started_ns, ended_ns: clock::monotonic_ns(), code, last_words });
                true
            }
            Ok(None) => false,
            Err(error) => {
                tell(&GuardEvent::NotStarted { index: 0, reason: crate::plain(&error) });
                true
            }
        }
    }

    /// Waits until a process has ended; `None` if that was cut short.
    fn wait_for(&self, (pid, descriptor): (u32, OwnedFd), words_file: &Path) -> Option<ScriptEnd> {
        let input = std::io::stdin();
        loop {
            let mut waited = [PollFd::new(&input, PollFlags::IN), PollFd::new(&descriptor, PollFlags::IN)];
            let left = self.left()?;
            if poll(&mut waited, timespec(left).as_ref()).is_err() {
                continue;
            }
            if !waited[0].revents().is_empty() {
                return None;
            }
            if let Some(dead) = reap().into_iter().find(|dead| dead.pid == pid) {
                return Some(ScriptEnd { code: dead.code, last_words: last_line(words_file) });
            }
        }
    }

    /// How long it may still run; `None` when its time is up.
    fn left(&self) -> Option<Option<Duration>> {
        let left = self.end_by.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) { None } else { Some(left) }
    }

    /// Starts all; false if one could not be started, which has been reported.
    fn start(&mut self, commands: Vec<GuardedCommand>) -> bool {
        let mut all_started = true;
        for (index, command) in commands.into_iter().enumerate() {
            let mut running = Running { command, state: State::Over, due: Instant::now(), failures: 0, output: None };
            if let Err(error) = running.start(index, &self.scratch) {
                all_started = false;
                tell(&GuardEvent::NotStarted { index, reason: crate::plain(&error) });
            }
            self.commands.push(running);
        }
        all_started
    }

    /// Those that run, and when the start of each began.
    fn processes(&self) -> Vec<(u32, u64)> {
        let runs = |running: &Running| match running.state {
            State::Runs { pid, started_ns, .. } => Some((pid, started_ns)),
            _ => None,
        };
        self.commands.iter().filter_map(runs).collect()
    }

    /// Until the input ends or the time is up: repeats, and reports what happens.
    fn watch(&mut self) {
        let input = std::io::stdin();
        loop {
            let Some(left) = self.left() else { return };
            let now = Instant::now();
            let waits = self.commands.iter().filter_map(|running| match running.state {
                State::Waits { until } => Some(until.saturating_duration_since(now)),
                _ => None,
            });
            let timeout = waits.chain(left).chain([REAP]).min();
            let mut waited = vec![PollFd::new(&input, PollFlags::IN)];
            for running in &self.commands {
                if let State::Runs { descriptor, .. } = &running.state {
                    waited.push(PollFd::new(descriptor, PollFlags::IN));
                }
                if let Some(output) = running.output.as_ref().filter(|output| output.open) {
                    waited.push(PollFd::new(&output.pipe, PollFlags::IN));
                }
            }
            if poll(&mut waited, timespec(timeout).as_ref()).is_err() {
                continue;
            }
            let over = !waited[0].revents().is_empty();
            drop(waited);
            self.hear();
            self.note_ends(&reap());
            if over {
                return;
            }
            for (index, running) in self.commands.iter_mut().enumerate() {
                running.start_if_due(index, &self.scratch);
            }
        }
    }

    /// Reports what commands have written.
    fn hear(&mut self) {
        for (index, running) in self.commands.iter_mut().enumerate() {
            if let Some(output) = &mut running.output {
                output.read(|text| tell_line(index, text));
            }
        }
    }

    fn note_ends(&mut self, dead: &[Dead]) {
        for (index, running) in self.commands.iter_mut().enumerate() {
            let State::Runs { pid, started_ns, .. } = running.state else { continue };
            let Some(dead) = dead.iter().find(|dead| dead.pid == pid) else { continue };
            // Its last output may still be in the pipe.
            if let Some(output) = &mut running.output {
                output.read(|text| tell_line(index, text));
            }
            running.ended(index, &self.scratch, started_ns, dead.code);
        }
    }

    /// Ends every descendant: first asks, then kills, until none is left or some seconds have passed.
    fn end(&mut self) {
        for (index, running) in self.commands.iter().enumerate() {
            if let State::Runs { started_ns, .. } = running.state {
                tell(&GuardEvent::Unfinished { index, started_ns });
            }
        }
        let me = std::process::id();
        all_below(me).iter().for_each(|process| process.signal(Signal::TERM));
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_secs(4) {
            self.hear();
            reap();
            let left = all_below(me);
            if left.is_empty() && !has_children() {
                break;
            }
            if asked.elapsed() > Duration::from_millis(700) {
                left.iter().for_each(|process| process.signal(Signal::KILL));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.hear();
    }
}

fn tell_line(index: usize, text: String) {
    tell(&GuardEvent::Line { index, at_ns: clock::monotonic_ns(), text });
}

/// A timeout; `None` for as long as it takes.
fn timespec(timeout: Option<Duration>) -> Option<Timespec> {
    timeout.map(|timeout| Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) })
}

fn ending(code: Option<i32>) -> String {
    code.map_or_else(|| "was ended by a signal".to_owned(), |code| format!("ended with code {code}"))
}

fn words_file(scratch: &Path, index: usize) -> PathBuf {
    scratch.join(format!("stderr-{index}"))
}

impl Running {
    fn start(&mut self, index: usize, scratch: &Path) -> std::io::Result<()> {
        let started_ns = clock::monotonic_ns();
        let (pid, descriptor) = start(&self.command, scratch, &words_file(scratch, index), &mut self.output)?;
        self.state = State::Runs { pid, descriptor, started_ns };
        Ok(())
    }

    fn start_if_due(&mut self, index: usize, scratch: &Path) {
        let State::Waits { until } = self.state else { return };
        if until > Instant::now() {
            return;
        }
        if let Err(error) = self.start(index, scratch) {
            self.state = State::Over;
            let now = clock::monotonic_ns();
            let last_words = Some(crate::plain(&error));
            tell(&GuardEvent::Ended { index, started_ns: now, ended_ns: now, code: None, last_words });
        }
    }

    fn ended(&mut self, index: usize, scratch: &Path, started_ns: u64, code: Option<i32>) {
        let ended_ns = clock::monotonic_ns();
        let failed = code != Some(0);
        self.failures = if failed { self.failures + 1 } else { 0 };
        let told = self.output.as_ref().and_then(|output| output.last.clone());
        let last_words = || told.or_else(|| last_line(&words_file(scratch, index)));
        if !self.command.repeat || self.failures >= FAILURES {
            self.state = State::Over;
            tell(&GuardEvent::Ended { index, started_ns, ended_ns, code, last_words: last_words() });
            return;
        }
        let last_words = if failed { last_words() } else { None };
        tell(&GuardEvent::Iteration { index, started_ns, ended_ns, code, last_words });
        let now = Instant::now();
        // Starts keep to the grid; a start that misses it begins a new grid.
        let mut until = self.command.pace.map_or(now, |pace| (self.due + pace).max(now));
        if failed {
            until = until.max(now + PAUSE);
        }
        self.due = until;
        self.state = State::Waits { until };
    }
}

fn start(
    command: &GuardedCommand,
    scratch: &Path,
    words_file: &Path,
    output: &mut Option<Lines>,
) -> std::io::Result<(u32, OwnedFd)> {
    let words: Vec<String> =
        command.words.iter().map(|word| word.replace(SCRATCH, &scratch.to_string_lossy())).collect();
    let (program, arguments) = words.split_first().ok_or_else(|| std::io::Error::other("an empty command"))?;
    let mut child = Command::new(program);
    child.args(arguments).stdin(Stdio::null());
    child.envs(command.environment.iter().map(|(name, value)| (name, value)));
    if command.quiet {
        child.current_dir(scratch);
    }
    if let Some(terminal) = &command.terminal {
        lead_at(&mut child, terminal)?;
    } else if command.tells_lines {
        let (reader, writer) = std::io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        child.stdout(writer.try_clone()?).stderr(writer);
        *output = Some(Lines::new(reader));
    } else if command.quiet {
        child.stdout(Stdio::null()).stderr(std::fs::File::create(words_file)?);
    } else {
        child.stdout(std::io::stderr().as_fd().try_clone_to_owned()?);
    }
    let (id, descriptor) = spawn(child, command.mark.as_deref(), command.terminal.is_some(), &[])?;
    if command.terminal.is_none() {
        // Should memory run out, the load goes first.
        let _ = std::fs::write(format!("/proc/{id}/oom_score_adj"), "1000");
    }
    Ok((id, descriptor))
}
