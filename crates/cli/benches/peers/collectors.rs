//! What looks on: punctual's commands, and what others look with.

use punctual_kernel::capabilities;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Something that looks on.
pub(crate) struct Collector {
    pub(crate) name: &'static str,
    how: How,
}

enum How {
    Nothing,
    /// An instance of the kernel's tracing, with these events of the scheduler, that nobody reads.
    Ring(&'static [&'static str]),
    /// A program with these words; `OUT` stands for where it writes.
    Program(&'static str, &'static [&'static str], Lost),
}

/// Where a program says how much it lost.
#[derive(Clone, Copy)]
enum Lost {
    /// Under this key of what it prints, which tells its own cost too.
    Json(&'static str, Printed),
    /// In what `perf report --stats` counts.
    Perf,
    /// Nowhere.
    Untold,
}

/// What of its own CPU time a command of punctual prints.
#[derive(Clone, Copy)]
enum Printed {
    /// That of its measuring threads, which is not that of the process.
    Threads,
    /// That of its process.
    Process,
    /// The same for each wakeup.
    EachWakeup,
}

impl Printed {
    /// CPU time of the process while it measured, as its answer has it, ns.
    fn ns(self, answer: &Value) -> Option<f64> {
        match self {
            Printed::Threads => None,
            Printed::Process => answer["cost"]["process_ns"].as_f64(),
            Printed::EachWakeup => Some(answer["cost"]["cpu_ns_per_wakeup"].as_f64()? * answer["wakeups"].as_f64()?),
        }
    }
}

/// The run queue's latency as bpftrace's own tool measures it.
const RUN_QUEUE: &str = "tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new { @queued[args->pid] = nsecs; } \
    tracepoint:sched:sched_switch { if (args->prev_state == 0) { @queued[args->prev_pid] = nsecs; } \
    $from = @queued[args->next_pid]; if ($from) { @usecs = hist((nsecs - $from) / 1000); } delete(@queued[args->next_pid]); }";

const PUNCTUAL: &str = env!("CARGO_BIN_EXE_punctual");
const FOLLOWED: [&str; 8] = ["record", "--comm", "^peers-", "-D", "1h", "--json", "-o", "OUT"];
const WITH_WHY: [&str; 10] = ["record", "--comm", "^peers-", "--why", "50ms", "-D", "1h", "--json", "-o", "OUT"];

pub(crate) fn all() -> Vec<Collector> {
    let program = |name, program, words, lost| Collector { name, how: How::Program(program, words, lost) };
    vec![
        Collector { name: "nothing", how: How::Nothing },
        Collector {
            name: "trace ring, three events",
            how: How::Ring(&["sched_switch", "sched_waking", "sched_wakeup"]),
        },
        program("perf sched record", "perf", &["sched", "record", "-q", "-o", "OUT"], Lost::Perf),
        program("bpftrace, run queue", "bpftrace", &["-e", RUN_QUEUE], Lost::Untold),
        program(
            "cyclictest, 1 ms",
            "cyclictest",
            &["-q", "-m", "-p", "80", "-t", "1", "-a", "0", "-i", "1000"],
            Lost::Untold,
        ),
        program("oslat, another CPU", "oslat", &["-c", "1", "-D", "3600", "-q"], Lost::Untold),
        program(
            "punctual record, 1 ms",
            PUNCTUAL,
            &["record", "-a", "0", "-D", "1h", "--json", "-o", "OUT"],
            Lost::Json("lost", Printed::Threads),
        ),
        program(
            "punctual log, sched",
            PUNCTUAL,
            &["log", "--events", "sched", "-D", "1h", "--json", "-o", "OUT"],
            Lost::Json("dropped", Printed::Process),
        ),
        program("punctual record --comm", PUNCTUAL, &FOLLOWED, Lost::Json("lost", Printed::EachWakeup)),
        program("punctual record --comm --why", PUNCTUAL, &WITH_WHY, Lost::Json("lost", Printed::EachWakeup)),
    ]
}

/// What it left when it ended.
pub(crate) struct Kept {
    pub(crate) bytes: Option<u64>,
    pub(crate) lost: Option<u64>,
    /// CPU time of its own that it prints, ns.
    pub(crate) printed_ns: Option<f64>,
}

/// A collector that looks on.
pub(crate) struct Running {
    what: What,
    /// Goes with all that was written.
    scratch: tempfile::TempDir,
}

enum What {
    Nothing,
    Ring(PathBuf),
    Program(Child, Lost),
}

/// A program that takes no CPU time for this long has done what it does to begin, or goes on like that.
const SETTLED: Duration = Duration::from_millis(400);
const MAX_SETTLING: Duration = Duration::from_secs(8);
const ENDING: Duration = Duration::from_secs(30);

impl Collector {
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self.how, How::Nothing)
    }

    /// Why it cannot be tried here.
    pub(crate) fn missing(&self) -> Option<String> {
        match self.how {
            How::Nothing => None,
            How::Ring(_) => tracing().is_none().then(|| "the kernel's tracing is not mounted".to_owned()),
            How::Program("oslat", ..) if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) => {
                Some("takes a CPU for itself".to_owned())
            }
            How::Program(PUNCTUAL, ..) => None,
            How::Program(program, ..) => {
                capabilities::find_program(program).is_none().then(|| "is not installed".to_owned())
            }
        }
    }

    pub(crate) fn start(&self) -> Result<Running, String> {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        let what = match self.how {
            How::Nothing => What::Nothing,
            How::Ring(events) => What::Ring(begin_tracing(events)?),
            How::Program(program, words, lost) => {
                let output = scratch.path().join("out");
                let file = |name| fs::File::create(scratch.path().join(name)).map_err(|error| error.to_string());
                let words = words.iter().map(|&word| if word == "OUT" { output.as_os_str() } else { word.as_ref() });
                // Another build of it may be measured, such as a release.
                let other = std::env::var_os("PUNCTUAL_PROGRAM").filter(|_| program == PUNCTUAL);
                let mut command = Command::new(other.unwrap_or_else(|| program.into()));
                command.args(words).stdin(Stdio::null()).stdout(file("printed")?).stderr(file("said")?);
                What::Program(command.spawn().map_err(|error| error.to_string())?, lost)
            }
        };
        let mut running = Running { what, scratch };
        running.settle()?;
        Ok(running)
    }
}

impl Running {
    /// Waits until it has begun, or has caught up with what it was given.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        if !matches!(self.what, What::Program(..)) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(1));
        let (began, mut quiet_since, mut before) = (Instant::now(), Instant::now(), self.cpu_ns());
        while quiet_since.elapsed() < SETTLED && began.elapsed() < MAX_SETTLING {
            std::thread::sleep(Duration::from_millis(50));
            let now = self.cpu_ns();
            // A twentieth of a CPU is how some go on.
            if now.saturating_sub(before) > 2_500_000 {
                quiet_since = Instant::now();
            }
            before = now;
        }
        let has_ended = match &mut self.what {
            What::Program(child, _) => child.try_wait().is_ok_and(|ended| ended.is_some()),
            _ => false,
        };
        if has_ended { Err(self.said()) } else { Ok(()) }
    }

    fn said(&self) -> String {
        let said = fs::read_to_string(self.scratch.path().join("said")).unwrap_or_default();
        said.lines().last().unwrap_or("ended at once").to_owned()
    }

    /// CPU time of its processes so far, ns.
    pub(crate) fn cpu_ns(&self) -> u64 {
        match &self.what {
            What::Program(child, _) => cpu_ns_below(child.id()),
            _ => 0,
        }
    }

    pub(crate) fn stop(mut self) -> Result<Kept, String> {
        let output = self.scratch.path().join("out");
        match &mut self.what {
            What::Nothing => Ok(Kept { bytes: None, lost: None, printed_ns: None }),
            What::Ring(instance) => Ok(end_tracing(instance)),
            What::Program(child, lost) => {
                let began = Instant::now();
                // Not SIGINT: whoever starts this in a shell's background has that disregarded.
                // SAFETY: sends a signal to a child that was not waited for.
                unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
                while child.try_wait().map_err(|error| error.to_string())?.is_none() {
                    if began.elapsed() > ENDING {
                        return Err("did not end".to_owned());
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
                let (lost, printed_ns) = match *lost {
                    Lost::Untold => (None, None),
                    Lost::Perf => (lost_by_perf(&output), None),
                    Lost::Json(key, printed) => {
                        let text = fs::read(self.scratch.path().join("printed")).unwrap_or_default();
                        let answer: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
                        (answer[key].as_u64(), printed.ns(&answer))
                    }
                };
                Ok(Kept { bytes: output.exists().then(|| bytes_below(&output)), lost, printed_ns })
            }
        }
    }
}

impl Drop for Running {
    /// Whatever ends the benchmark, nobody goes on looking.
    fn drop(&mut self) {
        match &mut self.what {
            What::Nothing => {}
            What::Ring(instance) => _ = end_tracing(instance),
            What::Program(child, _) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// CPU time of a process and its children, ns.
fn cpu_ns_below(pid: u32) -> u64 {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let of = |task: PathBuf| {
        let own = fs::read_to_string(task.join("schedstat")).ok();
        let own = own.and_then(|text| text.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0);
        let children = fs::read_to_string(task.join("children")).unwrap_or_default();
        own + children.split_whitespace().filter_map(|child| child.parse().ok()).map(cpu_ns_below).sum::<u64>()
    };
    tasks.flatten().map(|task| of(task.path())).sum()
}

fn bytes_below(path: &Path) -> u64 {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| bytes_below(&entry.path())).sum(),
        Err(_) => fs::metadata(path).map_or(0, |about| about.len()),
    }
}

/// `None` where perf does not say.
fn lost_by_perf(output: &Path) -> Option<u64> {
    let counted = Command::new("perf").args(["report", "--stats", "-i"]).arg(output).output().ok()?;
    let text = String::from_utf8_lossy(&counted.stdout).into_owned();
    text.contains("TOTAL events").then_some(())?;
    // Those of each event are samples; those of all, with their percentage, are records of losses.
    let lost = text.lines().filter(|line| line.contains("LOST_SAMPLES") && !line.contains('%'));
    Some(lost.filter_map(|line| line.split(':').nth(1)?.split_whitespace().next()?.parse::<u64>().ok()).sum())
}

fn tracing() -> Option<PathBuf> {
    ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .map(PathBuf::from)
        .into_iter()
        .find(|path| path.join("instances").is_dir())
}

fn begin_tracing(events: &[&str]) -> Result<PathBuf, String> {
    let instance = tracing().ok_or("no tracing")?.join(format!("instances/peers-{}", std::process::id()));
    fs::create_dir(&instance).map_err(|error| error.to_string())?;
    let set = |file: &str, value: &str| fs::write(instance.join(file), value);
    let switched = set("buffer_size_kb", "16384")
        .and_then(|()| events.iter().try_for_each(|event| set(&format!("events/sched/{event}/enable"), "1")))
        .and_then(|()| set("tracing_on", "1"));
    if let Err(error) = switched {
        let _ = fs::remove_dir(&instance);
        return Err(error.to_string());
    }
    Ok(instance)
}

/// Counts what the ring holds, and takes it away.
fn end_tracing(instance: &Path) -> Kept {
    let _ = fs::write(instance.join("tracing_on"), "0");
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for cpu in fs::read_dir(instance.join("per_cpu")).into_iter().flatten().flatten() {
        let text = fs::read_to_string(cpu.path().join("stats")).unwrap_or_default();
        for (name, count) in text.lines().filter_map(|line| line.split_once(": ")) {
            *counts.entry(name.to_owned()).or_default() += count.trim().parse::<u64>().unwrap_or(0);
        }
    }
    let _ = fs::remove_dir(instance);
    let count = |name: &str| counts.get(name).copied();
    let lost = count("overrun").zip(count("dropped events")).map(|(one, other)| one + other);
    Kept { bytes: count("bytes"), lost, printed_ns: None }
}
