//! Boots what is planned, several guests at a time, and judges the results.

use super::cell::{Cell, Printed, Refuses, Verdict, judge};
use super::checks::Check;
use super::costs::Costs;
use super::plan::{Boot, Command, Drill, table};
use super::promises::{self, Said};
use super::{drills, script};
use punctual_lab::guest::{Guest, GuestError, is_ending, splats};
use punctual_lab::kept::{self, Left};
use regex::Regex;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The result of a boot.
#[derive(Debug)]
pub struct Result {
    /// What was booted.
    pub boot: Boot,
    /// Each command and drill.
    pub cells: Vec<Cell>,
    /// What else its guests did, and what that cost.
    pub beside: Vec<(String, Duration)>,
    /// How much of the host's processors its guests took together.
    pub used: Duration,
}

/// What runs in one guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Every command.
    Commands,
    /// Every drill.
    Drills,
    /// Both in one guest.
    Both,
    /// The same twice.
    Repeated,
}

/// The kernel on which `./test` compares bytes.
const REPEATED_IN_BRIEF: &str = "6.1";

/// An instruction takes 2 ns: at 4 ns, the work of soft devices in interrupts would be too slow for their calibration.
const SHIFT: u32 = 1;

/// How much of a processor all commands may take, s; drills come on top, and commands with a limit of their own.
const COMMANDS_S: u64 = 900;
/// How much of a processor a guest's second takes while both of its CPUs work, s.
const BUSY_SECOND_S: u64 = 4;

/// How boots are tried.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The ELF files of the kernels, by name.
    pub kernels: &'a BTreeMap<String, PathBuf>,
    /// The program that is tried.
    pub program: &'a Path,
    /// Whether each drill has as many injections as its kernel must satisfy, or those of `./test`.
    pub all: bool,
    /// What runs on plain boots; on others, only commands do.
    pub parts: &'a [Part],
    /// Which commands run, by name; all if there is none.
    pub matching: Option<&'a Regex>,
    /// Whether to run only what belongs to `./test`.
    pub brief: bool,
    /// Where to keep what guests leave, and where to find what the same program left before.
    pub keep: Option<&'a Path>,
    /// Guests at a time.
    pub at_once: usize,
}

/// The parts of a boot that are done.
type Done = BTreeMap<Part, Tried>;

/// The result of a part.
#[derive(Default)]
struct Tried {
    cells: Vec<Cell>,
    beside: Vec<(String, Duration)>,
    used: Duration,
    /// What `capabilities` printed, if it ran.
    capabilities: Option<Printed>,
    said: Said,
}

impl Tried {
    /// Adds what no row is about: the boot, the beginning and the end.
    fn with_the_rest(mut self) -> Tried {
        let rows = self.cells.iter().filter_map(|cell| cell.cost);
        let known: Duration = rows.chain(self.beside.iter().map(|beside| beside.1)).sum();
        self.beside.push(("the boot, the rest".to_owned(), self.used.saturating_sub(known)));
        self
    }

    fn failed(row: &str, error: &GuestError) -> Tried {
        let verdict = Verdict::Wrong(error.to_string());
        Tried { cells: vec![Cell { row: row.to_owned(), verdict, cost: None }], ..Tried::default() }
    }

    /// Adds what another part showed.
    fn add(&mut self, other: Tried) {
        self.cells.extend(other.cells);
        self.beside.extend(other.beside);
        self.used += other.used;
        self.capabilities = self.capabilities.take().or(other.capabilities);
        self.said.extend(other.said);
    }
}

impl Trial<'_> {
    /// Boots all of them; calls `tell` with each result as soon as it is complete.
    ///
    /// # Panics
    ///
    /// If a kernel is not among the files.
    pub fn run(&self, boots: &[Boot], tell: impl Fn(&Result) + Sync) -> Vec<Result> {
        try_out(boots, self, tell)
    }
}

fn try_out(boots: &[Boot], trial: &Trial<'_>, tell: impl Fn(&Result) + Sync) -> Vec<Result> {
    let Trial { kernels, program, all, parts, matching, brief, keep, at_once } = *trial;
    let wanted = |boot: &Boot, command: &Command| {
        boot.has(command)
            && matching.is_none_or(|pattern| pattern.is_match(&command.name))
            && (!brief || command.fast.contains(&boot.kernel.name))
    };
    let drilled = |boot: &Boot, drill: &Drill| !brief || drill.fast.contains(&boot.kernel.name);
    let parts = |boot: &Boot| -> Vec<Part> {
        let is_beside = |part: Part| part == Part::Repeated && brief && boot.kernel.name != REPEATED_IN_BRIEF;
        let wanted = |part: &&Part| (boot.is_plain() || **part == Part::Commands) && !is_beside(**part);
        parts.iter().filter(wanted).copied().collect()
    };
    let jobs =
        boots.iter().enumerate().flat_map(|(number, boot)| parts(boot).into_iter().map(move |part| (number, part)));
    let jobs: Mutex<VecDeque<(usize, Part)>> = Mutex::new(jobs.collect());
    let done: Mutex<BTreeMap<usize, Done>> = Mutex::new(BTreeMap::new());
    let results: Mutex<BTreeMap<usize, Result>> = Mutex::new(BTreeMap::new());
    let work = || {
        loop {
            if is_ending() {
                return;
            }
            let Some((number, part)) = jobs.lock().expect("no panic while it is held").pop_front() else { return };
            let boot = &boots[number];
            let wanted = |command: &Command| wanted(boot, command);
            let commands = table().command;
            let long = commands.iter().filter(|command| wanted(command)).filter_map(|command| command.limit_s);
            let long_s = long.map(u64::from).sum::<u64>() * BUSY_SECOND_S;
            let mut guest = guest(boot, &kernels[&boot.kernel.name], program, all);
            guest.limit += Duration::from_secs(long_s);
            let drilled = |drill: &Drill| drilled(boot, drill);
            let named = |part: &str| format!("{}-{part}", boot.name());
            let of_commands = || script::commands(boot, wanted);
            let of_drills = || script::drills(boot.length(all), drilled);
            let job = Job { boot, guest: &guest, program, all, wanted: &wanted, drilled: &drilled, keep };
            let tried = match part {
                Part::Commands => job.run(&named("commands"), &[of_commands()], &[Job::commands]),
                Part::Drills => job.run(&named("drills"), &[of_drills()], &[Job::drills]),
                Part::Both => job.run(&named("both"), &[of_commands(), of_drills()], &[Job::commands, Job::drills]),
                Part::Repeated => repeated(boot, &guest, brief, keep),
            };
            let mut done = done.lock().expect("no panic while it is held");
            done.entry(number).or_default().insert(part, tried);
            if done[&number].len() == parts(boot).len() {
                let result = joined(boot, done.remove(&number).expect("it is there"));
                if !is_ending() {
                    tell(&result);
                }
                results.lock().expect("no panic while it is held").insert(number, result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..at_once.max(1) {
            scope.spawn(work);
        }
    });
    results.into_inner().expect("no panic while it was held").into_values().collect()
}

/// What all parts of a boot showed, as one result.
fn joined(boot: &Boot, parts: Done) -> Result {
    let mut whole = Tried::default();
    parts.into_values().for_each(|tried| whole.add(tried));
    let Tried { mut cells, beside, used, capabilities, said } = whole;
    if let Some(capabilities) = capabilities {
        cells.push(promises::cell(&capabilities, &cells, &said));
    }
    Result { boot: boot.clone(), cells, beside, used }
}

fn guest(boot: &Boot, kernel: &Path, program: &Path, all: bool) -> Guest {
    let mut guest = Guest::new(kernel);
    guest.program = Some(program.to_owned());
    guest.cpus = boot.variant.cpus;
    guest.append.clone_from(&boot.variant.append);
    guest.shift = SHIFT;
    guest.limit = Duration::from_secs(u64::from(boot.length(all).injections) * 2 + COMMANDS_S);
    guest
}

/// The most boots of a guest that ends each time at a breakpoint which is gone.
const MAX_BOOTS: u32 = 3;

/// Whether a guest ended since one of its CPUs ran a breakpoint by which the kernel had kept the CPUs off a jump while it rewrote
/// that. An emulator that translates code for one CPU while another one writes it may keep the breakpoint; no guest with one CPU
/// has met that. A fault of the kernel's or of a program's would come at each boot.
fn is_stale_breakpoint(cpus: u32, error: &GuestError) -> bool {
    matches!(error, GuestError::NoResult { console } if cpus > 1 && console.contains("Oops: int3"))
}

/// What runs in one guest.
struct Job<'a> {
    boot: &'a Boot,
    guest: &'a Guest,
    program: &'a Path,
    all: bool,
    wanted: &'a dyn Fn(&Command) -> bool,
    drilled: &'a dyn Fn(&Drill) -> bool,
    keep: Option<&'a Path>,
}

/// Judges one part of what a guest left: rows, and what else took time.
type JudgePart<'a> = fn(&Job<'a>, &Left) -> Tried;

impl<'a> Job<'a> {
    /// Runs a script with these parts, and judges each.
    fn run(&self, name: &str, scripts: &[String], judges: &[JudgePart<'a>]) -> Tried {
        let script = script::whole(scripts);
        let mut stale = 0;
        let left = loop {
            match kept::boot(self.guest, &script, self.keep, name) {
                Ok(left) => break left,
                Err(error) if stale + 1 < MAX_BOOTS && is_stale_breakpoint(self.guest.cpus, &error) => stale += 1,
                Err(error) => return Tried::failed(name.rsplit('-').next().unwrap_or(name), &error),
            }
        };
        let mut whole = Tried { used: left.used, ..Tried::default() };
        if stale > 0 {
            let words = if stale == 1 { "a boot before that ended" } else { "two boots before that ended" };
            whole.beside.push((format!("{words} at a breakpoint that was gone"), Duration::ZERO));
        }
        judges.iter().for_each(|judge| whole.add(judge(self, &left)));
        whole.with_the_rest()
    }

    fn commands(&self, left: &Left) -> Tried {
        let out = left.files.join(script::CELLS);
        let costs = Costs::new(&left.files, left.used, out.clone(), self.guest.cpus);
        let read = |position: usize| Printed::read(&out.join(position.to_string()));
        let commands = table().command;
        let work = left.files.join(script::WORK);
        let mut cells: Vec<Cell> = Vec::new();
        let mut said = Said::new();
        for (position, command) in commands.iter().enumerate().filter(|(_, command)| (self.wanted)(command)) {
            let is_there =
                |name: &String| cells.iter().any(|cell| cell.row == *name && matches!(cell.verdict, Verdict::Right(_)));
            let printed = read(position);
            let verdict = match &printed {
                None => Verdict::Wrong("the guest did not come to it".to_owned()),
                Some(_) if command.of.as_ref().is_some_and(|name| !is_there(name)) => Verdict::LeftOut,
                Some(printed) => verdict(self.boot, command, printed, &work),
            };
            said.extend(printed.map(|printed| (command.name.clone(), said_by(command, &printed, &work))));
            cells.push(Cell { row: command.name.clone(), verdict, cost: costs.of(&position.to_string()) });
        }
        let capabilities = read(0).filter(|_| (self.wanted)(&commands[0]));
        Tried { cells, capabilities, said, ..Tried::default() }
    }

    fn drills(&self, left: &Left) -> Tried {
        let costs = Costs::new(&left.files, left.used, left.files.join(script::CELLS), self.guest.cpus);
        let began = Instant::now();
        let length = self.boot.length(self.all);
        let cells = drills::cells(self.boot, self.program, &left.files, &costs, length, self.drilled);
        let judged = began.elapsed();
        let begins = |name: &&str| Some((format!("drills: {name} begins"), costs.of(name)?));
        let mut beside: Vec<(String, Duration)> = script::RECORDINGS.iter().filter_map(begins).collect();
        beside.push(("drills: why, on the host".to_owned(), judged));
        Tried { cells, beside, used: judged, ..Tried::default() }
    }
}

fn verdict(boot: &Boot, command: &Command, printed: &Printed, work: &Path) -> Verdict {
    let expected = boot.expected(&command.needs, &command.uses, command.refused_before.as_ref());
    let path = command.recording.as_ref().map(|name| work.join(name));
    let refuses = if command.check == Check::Answer { Refuses::InItsAnswer } else { Refuses::InALine };
    judge(printed, &expected, refuses, |whole| {
        command.check.look(printed, path.as_deref(), &command.told, whole, boot.is_by_host())
    })
}

/// What a command printed, and what its recording says of itself.
fn said_by(command: &Command, printed: &Printed, work: &Path) -> String {
    let document = command.recording.as_ref().map(|name| work.join(name).join("recording.json"));
    let document = document.and_then(|path| std::fs::read_to_string(path).ok());
    printed.whole() + &document.unwrap_or_default()
}

/// The row of [`repeated`].
pub(super) const REPEATED_ROW: &str = "the same bytes for a seed";

/// What a run left: the bytes of each file.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Two runs with the same seed leave the same bytes. On a very busy host the emulator itself occasionally shifts a run
/// by an instruction or two: then a third run must equal one of them. No two runs agree in every stamp by chance.
fn repeated(boot: &Boot, guest: &Guest, brief: bool, keep: Option<&Path>) -> Tried {
    let script = if brief { script::REPEATED_IN_BRIEF } else { script::REPEATED };
    let mut used = Duration::ZERO;
    let mut run = |number: u32| -> std::result::Result<Files, String> {
        let name = format!("{}-bytes-{number}", boot.name());
        let left = kept::boot(guest, script, keep, &name).map_err(|error| error.to_string())?;
        used += left.used;
        if let Some(splat) = splats(&left.kernel_log).first() {
            return Err(format!("the kernel complained: {splat}"));
        }
        let mut files = Files::new();
        gather(&left.files, Path::new(""), &mut files).map_err(|error| error.to_string())?;
        files.insert("output".into(), left.output.clone().into_bytes());
        Ok(files)
    };
    let mut runs: Vec<Files> = Vec::new();
    let verdict = loop {
        match run(runs.len() as u32 + 1) {
            Err(error) => break Verdict::Wrong(error),
            Ok(files) if files.len() < 3 => break Verdict::Wrong(format!("only {} files", files.len())),
            Ok(files) if runs.contains(&files) => {
                break Verdict::Right(format!("{} files, in 2 of {} runs", files.len(), runs.len() + 1));
            }
            Ok(files) => runs.push(files),
        }
        if let [first, second, third] = &runs[..] {
            let name = |other| differing(first, other).unwrap_or_default();
            let (second, third) = (name(second), name(third));
            break Verdict::Wrong(format!("three runs with the same seed differ, in {second} and in {third}"));
        }
    };
    let cells = vec![Cell { row: REPEATED_ROW.to_owned(), verdict, cost: Some(used) }];
    Tried { cells, used, ..Tried::default() }
}

/// A file in which two runs differ.
fn differing(first: &Files, second: &Files) -> Option<String> {
    let mut names = first.keys().chain(second.keys());
    names.find(|name| first.get(*name) != second.get(*name)).map(|name| name.display().to_string())
}

fn gather(top: &Path, below: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(top.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            gather(top, &path, files)?;
        } else {
            files.insert(path, std::fs::read(entry.path())?);
        }
    }
    Ok(())
}

impl Verdict {
    /// One word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Right(_) => "right",
            Verdict::Degraded => "degraded",
            Verdict::Refused => "refused",
            Verdict::LeftOut => "-",
            Verdict::NotRun => "not run",
            Verdict::Wrong(_) => "WRONG",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GuestError, is_stale_breakpoint};
    use std::time::Duration;

    #[test]
    fn only_a_breakpoint_that_is_gone_is_the_emulators() {
        let ended = |console: &str| GuestError::NoResult { console: console.to_owned() };
        let breakpoint = || ended("    [   23.897041] Oops: int3: 0000 [#1] SMP NOPTI\n");
        assert!(is_stale_breakpoint(2, &breakpoint()) && !is_stale_breakpoint(1, &breakpoint()));
        assert!(!is_stale_breakpoint(2, &ended("    [   23.897041] Oops: Oops: 0002 [#1] SMP NOPTI\n")));
        let console = "Oops: int3: 0000".to_owned();
        assert!(!is_stale_breakpoint(2, &GuestError::TimedOut { limit: Duration::from_secs(9), console }));
    }
}
