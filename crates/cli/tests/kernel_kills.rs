//! Kills at random moments of every command: nothing is left but recordings that open.
//!
//! 30 kills as a rule; `PUNCTUAL_KILLS` sets another number, and `PUNCTUAL_TEST_ALL=1` means 600.

mod support;

use punctual_recording::Recording;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::wait_until;

/// What every process of ours has in its environment.
const MARK: &str = "PUNCTUAL_KILL_TEST";

/// The commands, each long enough to be killed anywhere. Those that the machine does not allow end with an error at
/// once, which is as good a moment as another.
///
/// `WINDOW` and `SURFACE` are programs of the tests with a window.
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

/// How many kills.
fn kills() -> usize {
    let number = std::env::var("PUNCTUAL_KILLS").ok().and_then(|text| text.parse().ok());
    number.unwrap_or(if support::tests_all() { 600 } else { 30 })
}

/// A generator whose seed is told, so that a failure can be had again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// BPF programs in the kernel, by number. Somebody else's may come and go: those of the names that ours have count.
fn bpf_programs(own: &BTreeSet<String>) -> BTreeSet<u32> {
    let all = libbpf_rs::query::ProgInfoIter::default();
    let ours = all.filter(|program| own.contains(&program.name.to_string_lossy().into_owned()));
    ours.map(|program| program.id).collect()
}

/// The names of all programs in this project's sources, as the kernel cuts them.
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

/// Processes that a run has started and that are still there, zombies apart.
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

/// Instances of the kernel's tracing that this project made.
fn instances() -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("punctual"));
    ours.map(|entry| entry.path()).collect()
}

/// Files that tell of displays whose server is gone: it would have removed them.
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

/// Whether a scheduler of BPF programs is at work: `disabled` where none is; nothing where the kernel has none.
fn scheduler() -> String {
    std::fs::read_to_string("/sys/kernel/sched_ext/state").unwrap_or_default()
}

/// Every recording below a directory opens and adds up; how many there were.
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

#[test]
fn a_kill_at_a_random_moment_leaves_nothing_but_recordings_that_open() {
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64 | 1;
    let seed = std::env::var("PUNCTUAL_KILL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(seed);
    eprintln!("PUNCTUAL_KILL_SEED={seed}");
    let mut random = Random(seed);
    let own = own_names();
    assert!(own.len() > 20, "the programs' names are not found: {own:?}");
    let (programs, traces, displays, served) = (bpf_programs(&own), instances(), stale_displays(), scheduler());
    let (window, surface) =
        (support::interact::example("interact_window"), support::interact::example("interact_surface"));
    let count = kills();
    // Every command once before any comes twice.
    let mut order: Vec<usize> = (0..count).map(|index| index % COMMANDS.len()).collect();
    for index in (1..order.len()).rev() {
        order.swap(index, random.below(index as u64 + 1) as usize);
    }
    let (mut opened, mut ended, mut met) = (0, 0, BTreeSet::new());
    let began = Instant::now();
    for (number, &which) in order.iter().enumerate() {
        let words = COMMANDS[which];
        let directory = tempfile::tempdir().unwrap();
        let scratch = directory.path().join("tmp");
        std::fs::create_dir(&scratch).unwrap();
        std::fs::write(directory.path().join("file"), [b'x'; 3_000]).unwrap();
        let mark = format!("{}-{number}", std::process::id());
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        let word = |word: &&str| match *word {
            "WINDOW" => window.clone(),
            "SURFACE" => surface.clone(),
            word => word.into(),
        };
        command.args(words.iter().map(word)).current_dir(directory.path()).env("TMPDIR", &scratch).env(MARK, &mark);
        // Where the lab has no kernel it ends at once.
        command.env("PUNCTUAL_DEBIAN_MIRROR", "http://127.0.0.1:9");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        // Most of what can go wrong lies in the beginning; some of it after the first segments.
        let moment = if random.below(2) == 0 { random.below(3_000) } else { random.below(500) };
        std::thread::sleep(Duration::from_millis(moment));
        ended += usize::from(child.try_wait().unwrap().is_some());
        support::signal(&child, libc::SIGKILL);
        child.wait().unwrap();
        let what = || format!("kill {number} after {moment} ms of {words:?}");
        assert!(wait_until(|| processes(&mark).is_empty()), "{}: left {:?}", what(), processes(&mark));
        assert!(wait_until(|| bpf_programs(&own).is_subset(&programs)), "{}: BPF programs are left", what());
        assert!(wait_until(|| instances().is_subset(&traces)), "{}: left {:?}", what(), instances());
        assert!(wait_until(|| stale_displays().is_subset(&displays)), "{}: left {:?}", what(), stale_displays());
        assert!(wait_until(|| scheduler() == served), "{}: scheduler {}", what(), scheduler());
        let rest = || std::fs::read_dir(&scratch).unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
        assert!(wait_until(|| rest().is_empty()), "{}: left {:?}", what(), rest());
        opened += open_all(directory.path());
        met.insert(words[0]);
    }
    let took = began.elapsed().as_secs();
    eprintln!(
        "{count} kills of {} commands in {took} s, {ended} of them too late; {opened} recordings opened",
        met.len()
    );
    assert!(opened > count / 10, "{opened} recordings of {count} kills");
}
