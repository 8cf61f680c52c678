//! Reservations where a control group or a resource limit leaves little: one clear line, and nothing stays changed.

use crate::requires;
use crate::support::nobody::Nobody;
use crate::support::{self, MAX_ATTEMPTS, attempts, code, start, stderr, stdout};
use punctual_kernel::other_thread::ThreadScheduling;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A control group with a limit; when it is dropped, it is removed. It is below the root group: whatever else limits the processes of
/// this controller goes on doing so, since only a machine whose processes are in the root group is tested.
struct LimitedGroup(PathBuf);

impl LimitedGroup {
    /// `settings`: the file and its text in control groups of version 2, and of version 1. `None` if this machine has no such groups,
    /// or this user may not make one.
    fn of(test: &str, controller: &str, settings: [(&str, &str); 2]) -> Option<LimitedGroup> {
        let root = Path::new("/sys/fs/cgroup");
        let shared = std::fs::read_to_string(root.join("cgroup.subtree_control")).unwrap_or_default();
        let is_second = shared.split_whitespace().any(|name| name == controller);
        let (below, (file, text)) =
            if is_second { (root.to_path_buf(), settings[0]) } else { (root.join(controller), settings[1]) };
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let is_at_root = own.lines().any(|line| match is_second {
            true => line == "0::/",
            false => line.split_once(&format!(":{controller}:")).is_some_and(|(_, path)| path == "/"),
        });
        if !is_at_root {
            support::skip(test, &format!("these processes are in a group of {controller} of somebody else's"));
            return None;
        }
        let group = LimitedGroup(below.join(format!("punctual-limits-{controller}-{}", std::process::id())));
        let made = std::fs::create_dir(&group.0).and_then(|()| std::fs::write(group.0.join(file), text));
        if let Err(error) = made {
            support::skip(test, &format!("no group with {file} below {}: {error}", below.display()));
            return None;
        }
        Some(group)
    }

    /// Runs this in it.
    fn run(&self, directory: &Path, words: &[&str]) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""]).arg(&self.0).args(words);
        command.current_dir(directory).stdin(Stdio::null()).output().unwrap()
    }

    fn is_empty(&self) -> bool {
        support::wait_until(|| std::fs::read_to_string(self.0.join("cgroup.procs")).unwrap().trim().is_empty())
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        for _ in 0..200 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A loop of 10 ms in a process of its own.
struct Target(Child);

impl Target {
    fn start() -> Target {
        let child = Command::new("sh").args(["-c", "while :; do sleep 0.01; done"]).stdin(Stdio::null()).spawn();
        Target(child.unwrap())
    }

    fn scheduling(&self) -> ThreadScheduling {
        ThreadScheduling::of(self.0.id()).unwrap()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One line that says what was refused, and why; a second one may say what to do.
fn assert_one_line(output: &Output, why: &str, what: &str) {
    let said = stderr(output);
    assert_eq!(code(output), 1, "{what}: {}{said}", stdout(output));
    assert!(said.contains(why) && said.starts_with("error: ") && said.lines().count() <= 2, "{what}: {said}");
}

const PUNCTUAL: &str = env!("CARGO_BIN_EXE_punctual");

/// A study needs a keeper, and both need threads; it gets as far as it has room for.
#[test]
fn a_group_without_room_for_processes_is_one_line_and_nothing_stays_changed() {
    const TEST: &str = "a_group_without_room_for_processes_is_one_line_and_nothing_stays_changed";
    requires!(
        "a_group_without_room_for_processes_is_one_line_and_nothing_stays_changed",
        "followed threads",
        "deadline reservation"
    );
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "file").unwrap();
    let target = Target::start();
    let (pid, before) = (target.0.id().to_string(), target.scheduling());
    let of_process: [&str; 6] = [PUNCTUAL, "reserve", "-q", "--measure", "300ms", "--pid"];
    let of_process = [&of_process[..], &[pid.as_str()]].concat();
    let of_command = [PUNCTUAL, "reserve", "-q", "--measure", "300ms", "--", "sleep", "30"];
    let held = [PUNCTUAL, "reserve", "run", "1ms/50ms", "--", "true"];
    let modem = [PUNCTUAL, "modem", "transfer", "file", "-q", "--attempts", "1", "--context", "thread:other"];
    let mut met = 0;
    for (room, commands) in [
        ("1", vec![&of_process[..], &of_command, &held, &modem]),
        ("2", vec![&of_process]),
        ("3", vec![&of_process, &of_command]),
    ] {
        let Some(group) = LimitedGroup::of(TEST, "pids", [("pids.max", room); 2]) else { return };
        for words in commands {
            let what = format!("{words:?} with room for {room}");
            assert_one_line(&group.run(directory.path(), words), "Resource temporarily unavailable", &what);
            assert!(group.is_empty(), "{what} left a process");
            assert_eq!(target.scheduling(), before, "{what}");
            met += 1;
        }
        if room == "2" {
            assert_eq!(code(&group.run(directory.path(), &held)), 0, "one for the command is enough");
        }
    }
    assert_eq!(met, 7);
}

/// A quota takes CPU time from ordinary threads of its group, and none from a reservation, as the page says.
#[test]
fn a_quota_of_the_group_takes_nothing_from_a_reservation() {
    const TEST: &str = "a_quota_of_the_group_takes_nothing_from_a_reservation";
    requires!("a_quota_of_the_group_takes_nothing_from_a_reservation", "deadline reservation");
    let directory = tempfile::tempdir().unwrap();
    let quota = [("cpu.max", "5000 100000"), ("cpu.cfs_quota_us", "5000")];
    let Some(group) = LimitedGroup::of(TEST, "cpu", quota) else { return };
    // Spins for a second, without a process of its own, which would be an ordinary one; then its CPU time in ticks of 10 ms and its
    // policy, where 6 is that of reservations.
    let script = "now() { read -r time rest </proc/uptime; now=${time%.*}${time#*.}; }; now; until=$((now + 100)); \
                  while [ $now -lt $until ]; do n=0; while [ $n -lt 2000 ]; do n=$((n + 1)); done; now; done; \
                  read -r all </proc/$$/stat; set -- $all; echo ${14} ${41}";
    let spinner = ["sh", "-c", script];
    let of = |output: &Output| -> (u64, u64) {
        let said = stdout(output);
        let mut numbers = said.split_whitespace().map(|number| number.parse().unwrap());
        (numbers.next().unwrap(), numbers.next().unwrap())
    };
    let mut most = 0;
    for attempt in attempts(MAX_ATTEMPTS) {
        let (ordinary, policy) = of(&group.run(directory.path(), &spinner));
        assert_eq!(policy, 0);
        let words = [&[PUNCTUAL, "reserve", "run", "-q", "40ms/100ms", "--"], &spinner[..]].concat();
        let output = group.run(directory.path(), &words);
        if stderr(&output).contains("Device or resource busy") {
            return support::skip(TEST, "what else is reserved leaves no room");
        }
        let (reserved, policy) = of(&output);
        assert_eq!((policy, code(&output)), (6, 0), "{}", stderr(&output));
        eprintln!("attempt {attempt}: {ordinary} ticks as an ordinary thread, {reserved} with the reservation");
        assert!(ordinary < 20, "the quota holds: {ordinary}");
        most = most.max(reserved);
        // The host may take a CPU for a while.
        if most >= 25 {
            break;
        }
    }
    assert!(most >= 25, "{most} ticks of 40");
    assert!(group.is_empty());
}

/// The kernel reserves 95 % of the CPUs together at most: whoever finds no room is told, does not succeed, and the settings stay.
#[test]
fn more_than_all_reservations_together_may_have_is_a_warning_and_no_success() {
    const TEST: &str = "more_than_all_reservations_together_may_have_is_a_warning_and_no_success";
    requires!("more_than_all_reservations_together_may_have_is_a_warning_and_no_success", "deadline reservation");
    let shares = || {
        ["sched_rt_runtime_us", "sched_rt_period_us"]
            .map(|name| std::fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).unwrap())
    };
    let (directory, before) = (tempfile::tempdir().unwrap(), shares());
    if before[0].trim() == "-1" {
        return support::skip(TEST, "this machine has no such bound");
    }
    let cpus = std::thread::available_parallelism().unwrap().get();
    // A CPU more than there are, each nearly whole.
    let words = ["reserve", "run", "94ms/100ms", "--", "sleep", "0.5"];
    let held: Vec<Child> = (0..=cpus).map(|_| start(directory.path(), &words)).collect();
    let outputs: Vec<Output> = held.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let refused: Vec<&Output> = outputs.iter().filter(|output| code(output) != 0).collect();
    assert!(!refused.is_empty(), "{outputs:?}");
    for output in refused {
        let said = stderr(output);
        assert!(said.contains("has no reservation: ") && said.contains("Device or resource busy"), "{said}");
        assert_eq!(code(output), 1, "{said}");
    }
    assert_eq!(shares(), before);
}

/// A user whose limit allows no such priority, nor a reservation.
#[test]
fn a_limit_on_real_time_priorities_is_one_line_that_says_what_allows_more() {
    let Some(nobody) = Nobody::of("a_limit_on_real_time_priorities_is_one_line_that_says_what_allows_more") else {
        return;
    };
    std::fs::write(nobody.directory().join("file"), "file").unwrap();
    let none = ["--inh-caps=-all", "--bounding-set=-all"];
    for context in ["thread:24", "reservation:1ms/8ms"] {
        let mut command = nobody.punctual(&none);
        let output = command.args(["modem", "transfer", "file", "-q", "--context", context]).output().unwrap();
        assert_one_line(&output, "CAP_SYS_NICE", context);
    }
    let mut command = nobody.punctual(&none);
    let output = command.args(["reserve", "run", "1ms/8ms", "--", "true"]).output().unwrap();
    assert!(code(&output) == 1 && stderr(&output).contains("CAP_SYS_NICE"), "{}", stderr(&output));
}

/// Of two programs of one name, the second that was started has it alone; without `--nth` both, which is told.
#[test]
fn one_of_several_threads_of_a_name_has_it_and_all_of_them_are_told() {
    requires!("one_of_several_threads_of_a_name_has_it_and_all_of_them_are_told", "deadline reservation");
    let directory = tempfile::tempdir().unwrap();
    let script = "sleep 0.6 & echo $! >pids; sleep 0.6 & echo $! >>pids; wait";
    let of = |nth: &[&str]| {
        let words =
            [&["reserve", "run", "1ms/50ms", "-q", "--json", "--thread", "^sleep$"], nth, &["--", "sh", "-c", script]];
        let output = support::run(directory.path(), &words.concat());
        (code(&output), support::json(&output))
    };
    let (code, answer) = of(&["--nth", "2"]);
    let pids = std::fs::read_to_string(directory.path().join("pids")).unwrap();
    let second: u64 = pids.lines().last().unwrap().parse().unwrap();
    let threads = answer["threads"].as_array().unwrap();
    let tids: Vec<u64> = threads.iter().map(|thread| thread["tid"].as_u64().unwrap()).collect();
    assert_eq!((code, tids, &threads[0]["refused"]), (0, vec![second], &serde_json::Value::Null), "{answer}");
    let (code, answer) = of(&[]);
    assert_eq!((code, answer["threads"].as_array().unwrap().len()), (0, 2), "{answer}");
    let told = "sleep: 2 of the threads with this name had it, each as much; `--nth` names one of them";
    assert!(answer["verdict"].as_str().unwrap().contains(told), "{answer}");
}
