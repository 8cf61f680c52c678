//! Kills every command at random moments: nothing is left but recordings that open.
//!
//! 30 kills by default; `PUNCTUAL_KILLS` sets another number, and `PUNCTUAL_TEST_ALL=1` means 600.

use crate::support::{self, wait_until};
use punctual_recording::Recording;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Every process of ours has this in its environment.
const MARK: &str = "PUNCTUAL_KILL_TEST";

/// The commands, each long enough to be killed anywhere. A command that the machine does not allow ends with an error
/// at once, which is as good a moment as any.
///
/// `WINDOW` and `SURFACE` are test programs with a window.
const COMMANDS: [&[&str]; 30] = [
    &["record", "-q", "-D", "60s", "-o", "a.punctual"],
    &["record", "-q", "-D", "60s", "-o", "a.punctual", "--load", "cpu"],
    &["record", "-q", "-D", "60s", "-o", "a.punctual", "--load-command", "setsid sleep 1000 & exec sleep 1000"],
    &["record", "-q", "-D", "60s", "-o", "a.punctual", "--why", "p99"],
    &["record", "-q", "-o", "a.punctual", "--follow", "--", "sh", "-c", "while :; do sleep 0.01; done"],
    &["record", "-q", "-D", "60s", "-o", "a.punctual", "--via", "softirq"],
    &["check", "-q", "-D", "3s", "-o", "a.punctual"],
    &["log", "-q", "-D", "60s", "-o", "a.punctual", "--load", "cpu"],
    &["idle", "-q", "-D", "60s", "-o", "a.punctual"],
    &["timers", "-q", "-D", "20s", "-o", "a.punctual"],
    &["compare", "-q", "--repeat", "2", "-D", "700ms", "-o", "a.punctual", "--a", "sleep 0.1", "--while-b", "sleep 9"],
    &["drill", "fifo", "-q", "-D", "20s", "-o", "drill.jsonl"],
    &["drill", "softirq", "-q", "-D", "20s"],
    &["device", "run", "audio64", "-q", "-D", "20s", "-o", "a.punctual", "--competitor", "spin:50"],
    &["device", "run", "audio64", "-q", "-D", "20s", "-o", "a.punctual", "--context", "irq"],
    &["load", "run", "mixed", "-q", "-D", "20s"],
    &["interact", "-q", "-o", "a.punctual", "--", "sh", "-c", "setsid sleep 1000 & exec cat"],
    &["interact", "-q", "-o", "a.punctual", "--via", "x11", "--", "WINDOW", "window.log"],
    &["interact", "-q", "-o", "a.punctual", "--via", "wayland", "--", "SURFACE", "surface.log"],
    &["reserve", "-q", "-o", "r", "--load", "cpu", "--", "sh", "-c", "while :; do sleep 0.01; done"],
    &["reserve", "-q", "-o", "r", "--measure", "700ms", "v90", "--competitor", "spin:normal"],
    &["reserve", "run", "-q", "1ms/50ms", "--", "sleep", "1000"],
    &["rialto", "run", "-q", "2/8", "--", "sleep", "1000"],
    &["modem", "line", "-q", "-D", "60s"],
    &["modem", "transfer", "-q", "file", "--context", "thread:24", "--competitor", "spin:normal"],
    &["sim", "papers", "--html", "page.html"],
    &["sim", "run", "soft-modem-dialup", "-o", "a.punctual"],
    &["lab", "run", "-q", "--kernel", "6.12", "--seeds", "1", "-o", "l", "--", "record", "-D", "60s"],
    &["device", "mix", "audio64,modem", "-q", "--context", "thread:80", "-D", "20s", "-o", "a.punctual"],
    &["device", "study", "modem", "-q", "-D", "60s", "-o", "s"],
];

fn kills() -> usize {
    let number = std::env::var("PUNCTUAL_KILLS").ok().and_then(|text| text.parse().ok());
    number.unwrap_or(if support::tests_all() { 600 } else { 30 })
}

/// A generator that reports its seed, so that a failure can be reproduced.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Ids of BPF programs. Other people's may come and go: only programs with the names of ours count.
fn bpf_programs(own: &BTreeSet<String>) -> BTreeSet<u32> {
    support::programs::of_this_test(&own.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The names of all programs in this project's sources, as the kernel truncates them.
fn own_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for directory in ["probe", "context", "kernel"] {
        let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(directory).join("src");
        let mut ahead = vec![at];
        while let Some(next) = ahead.pop() {
            if next.is_dir() {
                ahead.extend(std::fs::read_dir(&next).into_iter().flatten().flatten().map(|entry| entry.path()));
            } else if next.to_string_lossy().ends_with(".bpf.c") {
                let text = std::fs::read_to_string(&next).unwrap_or_default();
                let after = |key: &str| {
                    let found = text.match_indices(key).map(|(at, _)| &text[at + key.len()..]);
                    found
                        .map(|rest| rest.split(|character: char| !is_word(character)).next().unwrap_or("").to_owned())
                        .collect::<Vec<_>>()
                };
                names.extend(after("int BPF_PROG(").into_iter().chain(after("\nint ")));
            }
        }
    }
    names.into_iter().filter(|name| name.len() > 3).map(|name| name.chars().take(15).collect()).collect()
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Processes that a run has started and that still exist, except zombies.
fn processes(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().filter(|name| name.parse::<u32>().is_ok()).map(str::to_owned) else {
            continue;
        };
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|word| word == wanted.as_bytes()) && support::is_alive(&pid) {
            let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push(format!("{pid} {}", name.trim()));
        }
    }
    found
}

/// Tracing instances that this project made in the kernel, `punctual-log-PID`, and whose process is gone.
fn instances() -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("punctual") && name.rsplit('-').next().is_none_or(|pid| !support::is_alive(pid))
    });
    ours.map(|entry| entry.path()).collect()
}

/// Files that tell of displays whose server is gone; a server that ends in order removes them.
fn stale_displays() -> BTreeSet<PathBuf> {
    let is_lock = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(".X") && name.ends_with("-lock")
    };
    let is_stale = |path: &PathBuf| {
        let pid = std::fs::read_to_string(path).unwrap_or_default();
        !pid.trim().is_empty() && !support::is_alive(pid.trim())
    };
    let entries = std::fs::read_dir("/tmp").into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(is_lock).filter(is_stale).collect()
}

/// Whether a scheduler of BPF programs is active: `disabled` if none is; empty if the kernel supports none.
fn scheduler() -> String {
    std::fs::read_to_string("/sys/kernel/sched_ext/state").unwrap_or_default()
}

/// Checks that every recording below a directory opens and adds up; returns how many there were.
fn open_all(below: &Path) -> usize {
    let mut opened = 0;
    let mut ahead = vec![below.to_owned()];
    while let Some(next) = ahead.pop() {
        if next.join("recording.json").exists() {
            let recording = Recording::open(&next).unwrap_or_else(|error| panic!("does not open: {error}"));
            assert_eq!(recording.count_not_adding_up().unwrap(), 0);
            opened += 1;
            continue;
        }
        let entries = std::fs::read_dir(&next).into_iter().flatten().flatten().map(|entry| entry.path());
        ahead.extend(entries.filter(|path| path.is_dir()));
    }
    opened
}

/// What was there before anything of this test ran, and what it takes to look for more.
struct Before {
    own: BTreeSet<String>,
    programs: BTreeSet<u32>,
    traces: BTreeSet<PathBuf>,
    displays: BTreeSet<PathBuf>,
    served: String,
    window: PathBuf,
    surface: PathBuf,
}

impl Before {
    fn look() -> Before {
        let own = own_names();
        assert!(own.len() > 20, "the programs' names are not found: {own:?}");
        Before {
            programs: bpf_programs(&own),
            own,
            traces: instances(),
            displays: stale_displays(),
            served: scheduler(),
            window: support::interact::example("interact_window"),
            surface: support::interact::example("interact_surface"),
        }
    }
}

/// One kill: which command, and after how long.
#[derive(Clone, Copy)]
struct Kill {
    number: usize,
    words: &'static [&'static str],
    after_ms: u64,
}

impl Kill {
    /// Kills the command; returns how many recordings were left, and whether the command had ended before.
    fn does(self, before: &Before) -> (usize, bool) {
        let Kill { number, words, after_ms } = self;
        let directory = tempfile::tempdir().unwrap();
        let scratch = directory.path().join("tmp");
        std::fs::create_dir(&scratch).unwrap();
        std::fs::write(directory.path().join("file"), [b'x'; 3_000]).unwrap();
        let mark = format!("{}-{number}", std::process::id());
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        let word = |word: &&str| match *word {
            "WINDOW" => before.window.clone(),
            "SURFACE" => before.surface.clone(),
            word => word.into(),
        };
        command.args(words.iter().map(word)).current_dir(directory.path()).env("TMPDIR", &scratch).env(MARK, &mark);
        // If the lab has no kernel, it ends at once.
        command.env("PUNCTUAL_DEBIAN_MIRROR", "http://127.0.0.1:9");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after_ms));
        let ended = child.try_wait().unwrap().is_some();
        support::signal(&child, libc::SIGKILL);
        child.wait().unwrap();
        let what = || format!("kill {number} after {after_ms} ms of {words:?}");
        let left = |what_is: &str, is_gone: &dyn Fn() -> bool, shown: &dyn Fn() -> String| {
            assert!(wait_until(is_gone), "{}: {what_is} left {}", what(), shown());
        };
        left("processes", &|| processes(&mark).is_empty(), &|| format!("{:?}", processes(&mark)));
        let programs = || bpf_programs(&before.own);
        left("BPF programs", &|| programs().is_subset(&before.programs), &|| format!("{:?}", programs()));
        left("tracing", &|| instances().is_subset(&before.traces), &|| format!("{:?}", instances()));
        left("displays", &|| stale_displays().is_subset(&before.displays), &|| format!("{:?}", stale_displays()));
        left("a scheduler", &|| scheduler() == before.served, &scheduler);
        let rest = || std::fs::read_dir(&scratch).unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
        left("files", &|| rest().is_empty(), &|| format!("{:?}", rest()));
        (open_all(directory.path()), ended)
    }
}

/// The kills that a seed gives; every command comes once before any comes twice.
fn kills_of(seed: u64) -> Vec<Kill> {
    let mut random = Random(seed);
    let count = kills();
    let mut order: Vec<usize> = (0..count).map(|index| index % COMMANDS.len()).collect();
    for index in (1..order.len()).rev() {
        order.swap(index, random.below(index as u64 + 1) as usize);
    }
    let kill = |(number, which): (usize, usize)| {
        // Most of what can go wrong is at the beginning; some of it comes after the first segments.
        let after_ms = if random.below(2) == 0 { random.below(3_000) } else { random.below(500) };
        Kill { number, words: COMMANDS[which], after_ms }
    };
    order.into_iter().enumerate().map(kill).collect()
}

/// How many commands run at once; what each one leaves behind is told apart from what the others have.
const AT_ONCE: usize = 3;

#[test]
fn a_kill_at_a_random_moment_leaves_nothing_but_recordings_that_open() {
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64 | 1;
    let seed = std::env::var("PUNCTUAL_KILL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(seed);
    eprintln!("PUNCTUAL_KILL_SEED={seed}");
    let (before, kills, next) = (Before::look(), kills_of(seed), AtomicUsize::new(0));
    let began = Instant::now();
    let done: Vec<(usize, bool)> = std::thread::scope(|scope| {
        let turns = || {
            let taken = std::iter::from_fn(|| kills.get(next.fetch_add(1, Ordering::Relaxed)));
            taken.map(|kill| kill.does(&before)).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(turns)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let met: BTreeSet<&str> = kills.iter().map(|kill| kill.words[0]).collect();
    let opened: usize = done.iter().map(|(opened, _)| opened).sum();
    let (count, took) = (done.len(), began.elapsed().as_secs());
    let ended = done.iter().filter(|(_, ended)| *ended).count();
    eprintln!(
        "{count} kills of {} commands in {took} s, {ended} of them too late; {opened} recordings opened",
        met.len()
    );
    assert_eq!(count, kills.len());
    assert!(opened > count / 10, "{opened} recordings of {count} kills");
}
