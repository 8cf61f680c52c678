//! `punctual record --why` on threads whose control group runs out of quota or weighs less, and on stopped threads:
//! real culprits, each with a log of the truth. A wrong name counts separately from an unknown one.

use crate::requires;
use crate::support::{self, code, json, number, own_name, run, stderr};
use punctual_kernel::clock::monotonic_ns as now_ns;
use punctual_kernel::scheduling::{allowed_cpus, pin_to};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Where a machine with control groups of version 1 shares out processor time.
const MOUNT: &str = "/sys/fs/cgroup/cpu";
/// A gap in a victim's work that is shorter than this is ignored, ns.
const GAP_NS: u64 = 15_000_000;
/// A sleeper wakes this often, and a worker asks the kernel this often for how long its group was throttled, ns.
const STEP_NS: u64 = 1_000_000;

/// A control group; when it is dropped, it is removed with everything in it.
struct TestGroup {
    path: PathBuf,
    name: String,
}

impl TestGroup {
    /// `None` if this machine has none, or this user may not make one.
    fn make(what: &str, settings: &[(&str, &str)]) -> Option<TestGroup> {
        let name = format!("/punctual-{what}-{}", std::process::id());
        let path = Path::new(MOUNT).join(&name[1..]);
        if let Err(error) = std::fs::create_dir(&path) {
            support::skip(&format!("why groups {what}"), &format!("no group can be made below {MOUNT}: {error}"));
            return None;
        }
        for (file, text) in settings {
            std::fs::write(path.join(file), text).unwrap();
        }
        Some(TestGroup { path, name })
    }

    /// Starts a process in it.
    fn start(&self, role: &str, name: &str) -> Other {
        let other = Other::start(role, name, Some(&self.path.join("cpu.stat")));
        std::fs::write(self.path.join("cgroup.procs"), other.0.id().to_string()).unwrap();
        other
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        for _ in 0..100 {
            if std::fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What a process reported.
#[derive(Default)]
struct Reported {
    stretches: Vec<(u64, u64)>,
    /// Stretches of which the quota was not nine tenths: others had the CPU.
    set_apart: u64,
}

/// A process of this test; killed when it is dropped.
struct Other(Child);

impl Other {
    /// `account` says for how long the process's group was throttled, if it is in one.
    fn start(role: &str, name: &str, account: Option<&Path>) -> Other {
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        let own = ["--exact", "why_groups::the_other_process", "--ignored", "--nocapture"];
        command.args(own).env("PUNCTUAL_ROLE", role);
        command.env("PUNCTUAL_NAME", name).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(account) = account {
            command.env("PUNCTUAL_ACCOUNT", account);
        }
        Other(command.spawn().unwrap())
    }

    /// Ends it; returns what it reported.
    fn end(mut self) -> Reported {
        let _ = self.0.kill();
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines().map_while(Result::ok);
        let stretch = |text: &str| -> Option<(u64, u64)> {
            let (from, to) = text.split_once(' ')?;
            Some((from.parse().ok()?, to.parse().ok()?))
        };
        let mut reported = Reported::default();
        for line in lines {
            reported.stretches.extend(line.strip_prefix("truth ").and_then(stretch));
            reported.set_apart += u64::from(line == "apart");
        }
        reported
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The kernel's account of how long a group was throttled. A stretch is added to it when it ends.
struct Account {
    file: PathBuf,
    throttled_ns: u64,
    asked_ns: u64,
}

impl Account {
    fn of(file: PathBuf) -> Account {
        let mut account = Account { file, throttled_ns: 0, asked_ns: 0 };
        account.begin();
        account
    }

    /// What is throttled from here on counts.
    fn begin(&mut self) {
        self.asked_ns = now_ns();
        self.throttled_ns = self.read();
    }

    fn read(&self) -> u64 {
        let text = std::fs::read_to_string(&self.file).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("throttled_time "));
        line.and_then(|number| number.parse().ok()).expect("throttled_time")
    }

    /// Whether the group was throttled for nine tenths of a stretch that lies between the beginning and now. The account
    /// does not say when: all that lies around the stretch may have been throttled.
    fn is_throttled(&self, from: u64, to: u64) -> bool {
        let throttled = self.read() - self.throttled_ns;
        let around = (from - self.asked_ns) + (now_ns() - to);
        throttled.saturating_sub(around) * 10 >= (to - from) * 9
    }

    /// Reports a stretch in which a thread of the group did not run.
    fn report(&self, from: u64, to: u64) {
        let mut output = std::io::stdout();
        let written = match self.is_throttled(from, to) {
            true => writeln!(output, "truth {from} {to}"),
            false => writeln!(output, "apart"),
        };
        written.unwrap();
    }
}

/// What the other processes do.
#[test]
#[ignore = "a process of the other tests, not a test"]
fn the_other_process() {
    let Ok(role) = std::env::var("PUNCTUAL_ROLE") else { return };
    let name = std::ffi::CString::new(std::env::var("PUNCTUAL_NAME").unwrap()).unwrap();
    // SAFETY: the name lives through the call; a killed test takes its processes along.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    let mut account = std::env::var_os("PUNCTUAL_ACCOUNT").map(|file| Account::of(file.into()));
    if account.is_some() {
        // The account is a sum over the CPUs: with all of the group on one, it is the time on the clock.
        pin_to(allowed_cpus()[0]).unwrap();
    }
    if role == "sleeper" {
        // Once there is quota again, it comes before the hog.
        // SAFETY: takes numbers alone, of which 0 is the calling thread.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    }
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        match role.as_str() {
            "worker" => {
                work(&mut account);
                std::thread::sleep(Duration::from_millis(2));
            }
            // Works whenever it may.
            "hog" => while Instant::now() < end {},
            _ => sleep(account.as_mut().expect("a sleeper is in a group")),
        }
    }
}

/// Works for 4 ms, and reports where its work was interrupted.
fn work(account: &mut Option<Account>) {
    let mut worked = 0;
    while worked < 4_000_000 {
        if let Some(account) = account {
            account.begin();
        }
        let (begin, mut last) = (now_ns(), now_ns());
        while worked < 4_000_000 && last - begin < STEP_NS {
            let now = now_ns();
            if now - last < GAP_NS {
                worked += now - last;
            } else if let Some(account) = account {
                account.report(last, now);
            }
            last = now;
        }
    }
}

/// Wakes after a step, and reports when it came late.
fn sleep(account: &mut Account) {
    account.begin();
    let due = now_ns() + STEP_NS;
    std::thread::sleep(Duration::from_nanos(STEP_NS));
    let now = now_ns();
    if now - due > GAP_NS {
        account.report(due, now);
    }
}

/// What became of the true stretches.
#[derive(Debug, Default)]
struct Tally {
    stretches: u64,
    /// See [`Reported`].
    set_apart: u64,
    met: u64,
    right: u64,
    unknown: u64,
    wrong_with_a_name: u64,
    /// What is not right.
    examples: Vec<String>,
}

impl Tally {
    /// `is_right` judges the largest piece by its kind and name.
    fn add(&mut self, answer: &Value, truth: &[(u64, u64)], is_right: impl Fn(&str, &str) -> bool) {
        let episodes = answer["episodes"].as_array().unwrap();
        for &(from, to) in truth {
            self.stretches += 1;
            let mut blamed = std::collections::BTreeMap::<(String, String), u64>::new();
            for piece in
                episodes.iter().filter(|one| one["void"] == false).flat_map(|one| one["pieces"].as_array().unwrap())
            {
                let begin = number(&piece["start_ns"]);
                let ns = (begin + number(&piece["ns"])).min(to).saturating_sub(begin.max(from));
                let text = |key: &str| piece[key].as_str().unwrap().to_owned();
                *blamed.entry((text("kind"), text("name"))).or_default() += ns;
            }
            // An episode that only touches the stretch says nothing about it.
            if blamed.values().sum::<u64>() * 10 < (to - from) * 9 {
                continue;
            }
            self.met += 1;
            let ((kind, name), _) = blamed.into_iter().max_by_key(|(_, ns)| *ns).unwrap();
            match kind.as_str() {
                _ if is_right(&kind, &name) => {
                    self.right += 1;
                    continue;
                }
                "unknown" | "blind" | "steal" => self.unknown += 1,
                // Nobody is named.
                "stopped" if name == "somebody not seen" => self.unknown += 1,
                _ => self.wrong_with_a_name += 1,
            }
            self.examples.push(format!("{kind} {name} for {from} to {to}"));
        }
        for episode in episodes {
            let sum: u64 = episode["parts"].as_array().unwrap().iter().map(|part| number(&part["ns"])).sum();
            assert_eq!(sum, number(&episode["total_ns"]), "{episode}");
        }
    }

    /// The same for stretches in which a group was throttled.
    fn add_reported(&mut self, answer: &Value, reported: &Reported, group: &TestGroup) {
        self.set_apart += reported.set_apart;
        self.add(answer, &reported.stretches, |kind, name| kind == "throttled" && name == group.name);
    }

    /// Whether enough were met, nine in ten of them are right, and hardly any wrong; what befell a few of them says
    /// less the more were met.
    fn suffices(&self, at_least: u64) -> bool {
        self.met >= at_least && self.wrong_with_a_name * 100 <= self.met && self.right * 10 >= self.met * 9
    }

    fn judge(&self, what: &str, at_least: u64) {
        eprintln!("{what}: {self:?}");
        assert!(self.met >= at_least, "{what}: too few stretches were met: {self:?}");
        assert!(self.suffices(at_least), "{what}: {self:?}");
    }
}

fn record(victim: &str, stage: &str, why: &str, duration: &str) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let comm = format!("^{victim}$");
    let words =
        ["record", "-q", "-D", duration, "--comm", &comm, "--why", why, "--why-stage", stage, "-o", "a.punctual"];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    json(&run(directory.path(), &["why", "a.punctual", "--json"]))
}

/// Fewer prove nothing.
const MIN_MET: u64 = 20;
/// An idle machine leaves the group its quota for longer: then more is recorded before it is judged.
const MAX_RECORDINGS: usize = 6;

/// A fifth of a CPU, and ahead of all others while any of it is left.
const QUOTA: [(&str, &str); 3] =
    [("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "10000"), ("cpu.shares", "262144")];

#[test]
fn a_group_that_runs_out_of_quota_in_its_work_is_named() {
    requires!("why groups", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let Some(group) = TestGroup::make("quota", &QUOTA) else { return };
    let name = own_name("worker-");
    let mut tally = Tally::default();
    for _ in 0..MAX_RECORDINGS {
        let worker = group.start("worker", &name);
        let answer = record(&name, "response", "12ms", "5s");
        tally.add_reported(&answer, &worker.end(), &group);
        if tally.suffices(MIN_MET) {
            break;
        }
    }
    tally.judge("out of quota in its work", MIN_MET);
}

#[test]
fn a_group_that_is_out_of_quota_keeps_whoever_is_woken_in_it() {
    requires!("why groups", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let Some(group) = TestGroup::make("woken", &QUOTA) else { return };
    let name = own_name("sleeper-");
    let mut tally = Tally::default();
    for _ in 0..MAX_RECORDINGS {
        let (sleeper, hog) = (group.start("sleeper", &name), group.start("hog", "quota-hog"));
        let answer = record(&name, "total", "12ms", "5s");
        drop(hog);
        tally.add_reported(&answer, &sleeper.end(), &group);
        if tally.suffices(MIN_MET) {
            break;
        }
    }
    tally.judge("woken without quota", MIN_MET);
}

/// Stops a process again and again, for 20 ms each time; returns the stretches in which all of its threads were
/// stopped. The time before, in which a thread may wait for its CPU to see the signal, does not count.
fn stop_again_and_again(pid: i32, is_over: &AtomicBool) -> Vec<(u64, u64)> {
    let mut truth = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(15));
        // SAFETY: a child of this process, which is waited for only after this thread; the status is not asked for.
        let stopped = unsafe {
            libc::kill(pid, libc::SIGSTOP);
            libc::waitpid(pid, std::ptr::null_mut(), libc::WUNTRACED)
        };
        assert_eq!(stopped, pid);
        let from = now_ns();
        std::thread::sleep(Duration::from_millis(20));
        truth.push((from, now_ns()));
        // SAFETY: as above.
        unsafe { libc::kill(pid, libc::SIGCONT) };
    }
    truth
}

#[test]
fn one_that_is_stopped_in_its_work_is_told_by_whom() {
    requires!("why groups", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let name = own_name("stopped-");
    let mut tally = Tally::default();
    for _ in 0..MAX_RECORDINGS {
        let worker = Other::start("worker", &name, None);
        let (pid, is_over) = (worker.0.id() as i32, Arc::new(AtomicBool::new(false)));
        let until = Arc::clone(&is_over);
        let stopper = std::thread::Builder::new().name("stopper".to_owned());
        let stopper = stopper.spawn(move || stop_again_and_again(pid, &until)).unwrap();
        let answer = record(&name, "response", "12ms", "2s");
        is_over.store(true, Ordering::Relaxed);
        let truth = stopper.join().unwrap();
        drop(worker);
        tally.add(&answer, &truth, |kind, name| kind == "stopped" && name.starts_with("stopper"));
        if tally.suffices(MIN_MET) {
            break;
        }
    }
    tally.judge("stopped", MIN_MET);
}
