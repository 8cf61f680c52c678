//! A late wakeup of a guest, looked at from outside.
//!
//! The guest is booted again, twice. The first time is to learn at which instructions it read its clock: these are the
//! times in the recording. The second time, what ran between due and running is written down, block by block. Both
//! times it has to leave the same recording.

use super::error::LabError;
use super::run::{CellEnd, LabPlan, LabProgress, RECORDING, run};
use punctual_blame::{Split, split, threads};
use punctual_lab::guest::{self, GuestError, Outcome};
use punctual_lab::outside::{Clock, RecordKind, Story, Switches, Symbols, Trace, story};
use punctual_recording::episode::EventKind;
use punctual_recording::{Episode, Hint, for_each_episode};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A late wakeup, from inside and from outside.
#[derive(Debug)]
pub struct Outside {
    /// The recording that the guest left, each time.
    pub recording: PathBuf,
    /// How many of its files were the same each time, byte by byte.
    pub same_files: usize,
    /// What was seen from inside.
    pub episode: Episode,
    /// How that is explained.
    pub split: Split,
    /// What was seen from outside.
    pub story: Story,
    /// How many of the episode's times are readings of the clock at known instructions, and how many there are.
    pub times: (usize, usize),
    /// How many longer episodes have no place among the instructions, so that this one was taken.
    pub passed_over: usize,
    /// How long an instruction takes, ns.
    pub instruction_ns: u64,
    /// How much of a processor all guests took.
    pub used: Duration,
}

/// Why nothing was seen from outside.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    /// The lab.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The guest did not finish, or its command failed.
    #[error("{0}")]
    Guest(String),
    /// A signal ended it.
    #[error("ended by a signal")]
    Interrupted,
    /// The recording has no evidence.
    #[error("{}: no late wakeup with evidence in it", .0.display())]
    NoEpisode(PathBuf),
    /// There is no episode like the one that was asked for.
    #[error("there is no episode {wanted}: the recording has {least} to {most}")]
    NoSuchEpisode {
        /// Which was asked for.
        wanted: u64,
        /// The first that exists.
        least: u64,
        /// The last.
        most: u64,
    },
    /// The guest left a different recording.
    #[error("{0} has other bytes than before: this guest does not run the same way again")]
    OtherBytes(String),
    /// The times do not match any instructions.
    #[error(
        "the {0} times of the episode fit no one place among the readings of the clock: they are too few, or too many of them are not such readings"
    )]
    NoPlace(usize),
    /// They cannot, because the clock went on while no instruction ran.
    #[error(
        "the guest idled between due and running, so that the {0} times of the episode are not readings of the clock in one stretch"
    )]
    Idled(usize),
    /// The kernel's functions are not known.
    #[error("the guest's kernel does not list its functions")]
    NoSymbols,
    /// What was written down cannot be read.
    #[error("what was seen from outside: {0}")]
    Trace(std::io::Error),
    /// The recording.
    #[error(transparent)]
    Recording(#[from] punctual_recording::Error),
}

impl Hint for WhyError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            WhyError::Lab(error) => error.hint(),
            WhyError::NoEpisode(_) => Some("give `record` a lower threshold, such as --why 100us, or a --load"),
            WhyError::NoSuchEpisode { .. } => {
                Some("`punctual why` of the recording lists them; without --episode the longest is taken")
            }
            WhyError::OtherBytes(_) => {
                Some("was the program, or a file that goes into the guest, changed meanwhile? ask again")
            }
            WhyError::NoPlace(_) | WhyError::Idled(_) => Some("take another one with --episode, or record for longer"),
            WhyError::Recording(error) => error.hint(),
            _ => None,
        }
    }
}

/// What it is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyStep {
    /// The guest runs as in any lab.
    Recording,
    /// It runs again, to learn when it reads its clock.
    Clock,
    /// It runs again, to see what ran.
    Window,
}

/// How often to look at guests.
const EVERY: Duration = Duration::from_millis(100);
/// How long before the wakeup was due the view from outside begins: it shows where interrupts are turned off, and by whom.
const BEFORE_NS: u64 = 5_000_000;
/// How long after it ran that ends.
const AFTER_NS: u64 = 20_000;

/// A module of more is not looked into.
const MAX_MODULE_BYTES: u64 = 64 << 20;

/// The times of an episode; if these fit in more than one place, with those of this long before and after it, ns.
const AROUND_NS: [(u64, u64); 8] = [
    (0, 0),
    (0, 50_000),
    (50_000, 0),
    (50_000, 50_000),
    (200_000, 0),
    (200_000, 200_000),
    (1_000_000, 0),
    (1_000_000, 200_000),
];

/// Without an episode that was asked for, how many are tried.
const MAX_CANDIDATES: usize = 32;

/// Looks at an episode of the plan's only cell, or at the longest that has a place among the instructions. Asks `go_on` ten times a second; once it says no,
/// guests are ended.
///
/// # Errors
///
/// See [`WhyError`].
pub fn why(
    plan: &LabPlan,
    episode: Option<u64>,
    go_on: &mut dyn FnMut(WhyStep, Duration) -> bool,
) -> Result<Outside, WhyError> {
    let began = Instant::now();
    let (recording, mut used) = recorded(plan, &mut |_: &LabProgress<'_>| go_on(WhyStep::Recording, began.elapsed()))?;
    let candidates = chosen(&recording, episode)?;
    let guest = plan.guest(plan.cells[0]);
    let listing = listing(&plan.systems[plan.cells[0].system].preparation);
    let (first, listed) =
        beside(|| guest.boot_watched(plan.script(plan.cells[0]), None), || guest.boot(&listing), &mut || {
            go_on(WhyStep::Clock, began.elapsed())
        });
    let (outcome, trace) = first.map_err(ended)?;
    let listed = listed.map_err(ended)?;
    used += outcome.used + listed.used;
    same(&outcome, &recording)?;
    let symbols = symbols(&listed.output, &guest.files);
    if symbols.is_empty() {
        return Err(WhyError::NoSymbols);
    }
    let instruction_ns = 1 << guest.shift;
    let Placed { episode, clock, passed_over } = placed(&trace, candidates, instruction_ns)?;
    drop(trace);
    let window = window(&clock, &episode);
    let (second, ()) = beside(|| guest.boot_watched(plan.script(plan.cells[0]), Some(window)), || (), &mut || {
        go_on(WhyStep::Window, began.elapsed())
    });
    let (outcome, trace) = second.map_err(ended)?;
    used += outcome.used;
    let same_files = same(&outcome, &recording)?;
    let due_to_running = episode.expected_ns..episode.end_ns;
    let story =
        story(&trace, &clock, &symbols, &Switches::new(switches(&episode)), due_to_running).map_err(WhyError::Trace)?;
    let times = (clock.found, clock.of);
    let split = split(&episode);
    Ok(Outside { recording, same_files, split, episode, story, times, passed_over, instruction_ns, used })
}

/// A command that lists the kernel's functions, once those of modules are where the recording had them: a kernel that
/// runs the same way puts its first modules in the same places.
fn listing(preparation: &str) -> String {
    format!("(\n:\n{preparation}) >/dev/null 2>&1 </dev/null\ncat /proc/kallsyms")
}

/// The kernel's functions; those of modules that were taken along end where their files say.
fn symbols(listed: &str, files: &[(PathBuf, String)]) -> Symbols {
    let mut symbols = Symbols::parse(listed);
    let modules = files.iter().filter(|(file, _)| file.extension().is_some_and(|extension| extension == "ko"));
    for (file, _) in modules {
        // It came into the guest, so it could be read; without it the kernel's list is what there is.
        if let Ok(bytes) = punctual_recording::input::read_file(file, MAX_MODULE_BYTES) {
            symbols.bound(&bytes);
        }
    }
    symbols
}

/// The cell's recording, made if it does not exist, and how much of a processor that took.
fn recorded(plan: &LabPlan, go_on: &mut dyn FnMut(&LabProgress<'_>) -> bool) -> Result<(PathBuf, Duration), WhyError> {
    match run(plan, go_on)?.pop() {
        Some(CellEnd::Ran(ran, recording)) if ran.has_recording => {
            let used = if ran.is_kept { 0 } else { ran.used_ms };
            Ok((recording, Duration::from_millis(used)))
        }
        Some(CellEnd::Ran(ran, _)) => {
            let said = ran.said.unwrap_or_else(|| "it left no recording: give `record --why TIME`".to_owned());
            Err(WhyError::Guest(format!("the guest's command: {said}")))
        }
        Some(CellEnd::Failed(said)) => Err(WhyError::Guest(said)),
        Some(CellEnd::NotRun) | None => Err(WhyError::Interrupted),
    }
}

/// The episode that was asked for, or the longest ones, longest first.
fn chosen(recording: &Path, wanted: Option<u64>) -> Result<Vec<Episode>, WhyError> {
    let mut longest: Vec<Episode> = Vec::new();
    let (mut least, mut most) = (u64::MAX, 0);
    for_each_episode(recording, |episode| {
        (least, most) = (least.min(episode.id), most.max(episode.id));
        if wanted.is_some_and(|wanted| wanted != episode.id) {
            return;
        }
        let place = longest.partition_point(|other| other.total_ns() >= episode.total_ns());
        if place < MAX_CANDIDATES {
            longest.insert(place, episode);
            longest.truncate(MAX_CANDIDATES);
        }
    })?;
    match wanted {
        _ if !longest.is_empty() => Ok(longest),
        Some(wanted) if most > 0 => Err(WhyError::NoSuchEpisode { wanted, least, most }),
        _ => Err(WhyError::NoEpisode(recording.to_owned())),
    }
}

/// An episode whose times are at known instructions.
struct Placed {
    episode: Episode,
    clock: Clock,
    passed_over: usize,
}

/// The first of these episodes that has a place among the instructions; if none has, why not the first.
fn placed(trace: &Trace, candidates: Vec<Episode>, instruction_ns: u64) -> Result<Placed, WhyError> {
    let reads = clock_reads(trace)?;
    let mut refused = None;
    for (passed_over, episode) in candidates.into_iter().enumerate() {
        match aligned(&reads, &episode, instruction_ns) {
            Ok(clock) => return Ok(Placed { episode, clock, passed_over }),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or(WhyError::NoPlace(0)))
}

/// Runs two things side by side, and asks meanwhile whether to go on.
fn beside<A: Send, B: Send>(
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
    go_on: &mut dyn FnMut() -> bool,
) -> (A, B) {
    std::thread::scope(|scope| {
        let (sender, receiver) = channel::<()>();
        let other_sender = sender.clone();
        let first = scope.spawn(move || (first(), drop(sender)).0);
        let second = scope.spawn(move || (second(), drop(other_sender)).0);
        while receiver.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            if !go_on() {
                guest::end();
            }
        }
        let joined = (first.join(), second.join());
        match joined {
            (Ok(first), Ok(second)) => (first, second),
            (Err(panic), _) | (_, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}

fn ended(error: GuestError) -> WhyError {
    match error {
        GuestError::Interrupted => WhyError::Interrupted,
        error => WhyError::Guest(error.in_one_line()),
    }
}

/// Compares what a guest left with the recording, byte by byte, and returns how many files that were.
fn same(outcome: &Outcome, recording: &Path) -> Result<usize, WhyError> {
    let (mut count, mut other) = (0, None);
    let each = outcome.files.each(|path, contents| {
        let Ok(below) = path.strip_prefix(RECORDING) else { return Ok(()) };
        let mut bytes = Vec::new();
        contents.read_to_end(&mut bytes)?;
        let stored = punctual_recording::input::read_file(&recording.join(below), bytes.len() as u64 + 1);
        match stored {
            Ok(stored) if stored == bytes => count += 1,
            _ => other = other.take().or_else(|| Some(below.display().to_string())),
        }
        Ok(())
    });
    each.map_err(WhyError::Trace)?;
    match other {
        Some(other) => Err(WhyError::OtherBytes(other)),
        None if count == 0 => Err(WhyError::OtherBytes("a recording that is missing".to_owned())),
        None => Ok(count),
    }
}

/// The counts at which the guest read its clock.
fn clock_reads(trace: &Trace) -> Result<Vec<u64>, WhyError> {
    let mut reads = Vec::new();
    let read = trace.each(|record| {
        if record.kind == RecordKind::ClockRead {
            reads.push(record.count);
        }
    });
    read.map_err(WhyError::Trace)?;
    Ok(reads)
}

fn aligned(reads: &[u64], episode: &Episode, instruction_ns: u64) -> Result<Clock, WhyError> {
    let is_idle = idled(&switches(episode), &(episode.expected_ns..episode.end_ns));
    let refused = |times: usize| if is_idle { WhyError::Idled(times) } else { WhyError::NoPlace(times) };
    // How far the stretch without idling extends beyond the episode is not known: a short one has few times of its own.
    let clocks = AROUND_NS.iter().map(|(before_ns, after_ns)| {
        let within = episode.expected_ns.saturating_sub(*before_ns)..=episode.end_ns + after_ns;
        let mut times: Vec<u64> =
            episode.events.iter().map(|event| event.at_ns).filter(|at| within.contains(at)).collect();
        times.sort_unstable();
        times.dedup();
        Clock::align(&times, reads, instruction_ns).ok_or_else(|| refused(times.len()))
    });
    // What is said of a refused one is about its own times.
    let better = |first: Result<_, _>, other: Result<_, _>| if first.is_err() && other.is_ok() { other } else { first };
    clocks.reduce(better).unwrap_or(Err(WhyError::NoPlace(0)))
}

/// The stretch to look at, in instructions.
fn window(clock: &Clock, episode: &Episode) -> Range<u64> {
    clock.count_at(episode.expected_ns.saturating_sub(BEFORE_NS))..clock.count_at(episode.end_ns + AFTER_NS)
}

/// Whether the idle thread had the CPU at some time; the switches are in order.
fn idled(switches: &[(u64, u32, String)], due_to_running: &Range<u64>) -> bool {
    let at_due = switches.partition_point(|(at, ..)| *at <= due_to_running.start).saturating_sub(1);
    let until = switches.iter().skip(at_due).take_while(|(at, ..)| *at < due_to_running.end);
    until.map(|(_, tid, _)| *tid).any(|tid| tid == 0)
}

/// Which thread had the CPU when, as the guest wrote it down: in order, times, threads' numbers and their names.
fn switches(episode: &Episode) -> Vec<(u64, u32, String)> {
    let names = threads(episode);
    let name = |tid: u32| names.get(&tid).map_or_else(|| format!("thread {tid}"), |name| (*name).to_owned());
    let mut switches: Vec<(u64, u32, String)> = Vec::new();
    // Whoever had it when the evidence begins.
    switches.extend(episode.events.first().map(|event| (event.at_ns, event.tid, name(event.tid))));
    let switched = episode.events.iter().filter(|event| event.kind == EventKind::Switch);
    switches.extend(switched.map(|event| (event.at_ns, event.value as u32, name(event.value as u32))));
    switches.sort();
    switches
}

#[cfg(test)]
mod tests {
    use super::{idled, listing};

    #[test]
    fn a_guest_idled_if_the_idle_thread_had_the_cpu_between_due_and_running() {
        let switches = [(100, 0), (200, 114), (300, 0), (400, 114)].map(|(at, tid)| (at, tid, String::new()));
        let cases = [(150, 200, true), (200, 300, false), (250, 301, true), (400, 900, false), (350, 390, true)];
        for (due, running, expected) in cases {
            assert_eq!(idled(&switches, &(due..running)), expected, "{due} to {running}");
        }
        assert!(!idled(&[], &(0..10)));
    }

    /// Whatever the preparation prints is no function, and where it gives up the list comes all the same.
    #[test]
    fn the_list_comes_after_the_preparation_whatever_becomes_of_that() {
        let cases = [("", false), ("touch made; echo no function\n", true), ("touch made; exit 1\n", true)];
        for (preparation, is_made) in cases {
            let directory = tempfile::tempdir().unwrap();
            let script = listing(preparation).replace("/proc/kallsyms", "/dev/null; echo listed");
            let mut shell = std::process::Command::new("sh");
            let output = shell.current_dir(directory.path()).args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), "listed\n", "{script}");
            assert_eq!(directory.path().join("made").exists(), is_made, "{script}");
        }
    }
}
