//! `punctual timers` against the running kernel: names, counts and orders; never how fast it is.

use crate::requires;
use crate::support::nobody::Nobody;
use crate::support::{self, code, json, run, start, stderr, stdout, wait_until};
use punctual_recording::{EndReason, Recording};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

fn are_all_called(answer: &Value) -> bool {
    answer["ways"].as_array().unwrap().iter().all(|way| way["callbacks"].as_u64() > Some(0))
}

/// Measures with these options for longer and longer, until that is enough; returns the answer.
fn until_enough(directory: &Path, options: &[&str], is_enough: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    for length in ["3s", "9s", "27s"] {
        let _ = std::fs::remove_dir_all(directory.join("a.punctual"));
        let output = run(directory, &[&["timers", "-q", "-D", length, "--json"], options].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        last = json(&output);
        if is_enough(&last) {
            return last;
        }
    }
    panic!("not enough in 27 s: {last}");
}

#[test]
fn every_way_is_measured_or_absent_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["timers", "-q", "-D", "5s", "--json", "-o", "a.punctual"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!((answer["schema"].as_str(), answer["exit_code"].as_u64()), (Some("punctual.timers/1"), Some(0)));
    assert!(!answer["verdict"].as_str().unwrap().is_empty());
    let ways = answer["ways"].as_array().unwrap();
    assert_eq!(ways.len(), 16);
    let (mut callbacks, mut cut_short) = (0, 0);
    for way in ways {
        let name = way["way"].as_str().unwrap();
        if let Some(reason) = way["absent"].as_str() {
            support::skip(name, reason);
            assert!(way["callbacks"].is_null());
            continue;
        }
        let count = way["callbacks"].as_u64().unwrap();
        callbacks += count;
        if count < 2 {
            // Its share of the time was over, because others took theirs on a busy machine.
            cut_short += 1;
            assert!(way["intervals"].is_null(), "{way}");
            continue;
        }
        let bins = way["histogram"]["bins"].as_array().unwrap();
        assert_eq!(bins.iter().map(|bin| bin["count"].as_u64().unwrap()).sum::<u64>(), count - 1, "{name}");
        for kind in ["intervals", "lateness", "overshoot"] {
            let of = |figure: &str| way[kind][figure].as_i64().unwrap();
            assert!(of("min_ns") <= of("mean_ns") && of("mean_ns") <= of("max_ns"), "{name} {kind}");
        }
        // Linux never calls before the time that was asked for.
        assert!(way["overshoot"]["min_ns"].as_i64().unwrap() >= 0, "{name}: {}", way["overshoot"]);
        assert!(way["shortest_wait_ns"].as_u64().unwrap() >= way["unit_ns"].as_u64().unwrap(), "{name}");
        // A wait that begins when the one before has ended cannot catch up.
        if way["anchored"] == false {
            assert!(way["intervals"]["min_ns"].as_i64().unwrap() >= 1_000_000, "{way}");
            assert!(way["drift_ppm"].as_f64().is_none_or(|ppm| ppm >= 0.0), "{way}");
        }
    }
    assert!(cut_short * 4 <= ways.len(), "{cut_short} ways had no time");
    // What the kernel was built with, according to its own file, or nothing.
    let tick = &answer["tick"];
    assert_eq!(tick["configured_hz"].is_null(), tick["configured_in"].is_null(), "{tick}");
    match (tick["configured_hz"].as_u64(), tick["observed_ns"].as_u64()) {
        (Some(hz), Some(observed)) => assert!(observed * hz > 900_000_000, "a tick does not come early: {tick}"),
        (None, _) => support::skip("configured_hz", "no file gives CONFIG_HZ"),
        (Some(_), None) => support::skip("the tick as it comes", "others kept the CPU for a fifth of a second"),
    }
    assert_eq!(tick["device"].is_null(), !Path::new("/sys/devices/system/clockevents/clockevent0").exists(), "{tick}");
    let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
    let document = recording.document();
    assert_eq!(document.ended.as_ref().unwrap().reason, EndReason::Completed);
    assert_eq!(document.counters.wakeups, callbacks);
    let missed: u64 = ways.iter().filter_map(|way| way["missed"].as_u64()).sum();
    assert_eq!(document.counters.missed, Some(missed));
    assert_eq!(document.tasks.len(), 16);
    let report = run(directory.path(), &["report", "a.punctual"]);
    assert_eq!(code(&report), 0, "{}", stderr(&report));
    assert!(stdout(&report).contains("nanosleep-absolute"));
    let forecast = run(directory.path(), &["forecast", "a.punctual", "--device", "modem"]);
    assert_eq!(code(&forecast), 0, "{}", stderr(&forecast));
}

#[test]
fn only_the_ways_asked_for_and_text_with_the_verdict_first() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["timers", "-q", "-D", "1s", "-i", "500us", "--way", "timerfd,nanosleep-relative,timerfd"];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().next().unwrap().contains("nanosleep-relative"), "{text}");
    assert!(text.contains("Times between callbacks") && !text.contains("epoll"), "{text}");
    // What the kernel was built for, what was seen, and what interrupts, or that they are not known.
    let tick = text.lines().find(|line| line.contains("tick the kernel was") || line.contains("built for a tick of "));
    let tick = tick.unwrap_or_else(|| panic!("no tick: {text}"));
    assert!(tick.contains("; one came every ") || tick.contains("; none was seen"), "{tick}");
    let device = ["; timers interrupt by ", "; what interrupts for timers is not known"];
    assert!(device.iter().any(|words| tick.contains(words)), "{tick}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing was to be kept");
}

#[test]
fn without_a_stall_nothing_is_said_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["timers", "-q", "-D", "200ms", "--stall", "0", "--way", "condvar", "--json"];
    let answer = json(&run(directory.path(), &words));
    assert!(answer["stall_ns"].is_null() && answer["ways"][0]["after_stall"].is_null(), "{answer}");
}

#[test]
fn each_clock_is_waited_on_or_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    for clock in ["realtime", "boottime", "tai"] {
        let words = ["timers", "-q", "-D", "2s", "--stall", "0", "--clock", clock, "--json"];
        let answer = json(&run(directory.path(), &words));
        assert_eq!(answer["clock"], clock);
        let ways = answer["ways"].as_array().unwrap();
        let mut cut_short = 0;
        for way in ways {
            let name = way["way"].as_str().unwrap();
            match (way["absent"].as_str(), way["callbacks"].as_u64()) {
                (Some(reason), _) => assert!(reason.contains("clock"), "{name}: {reason}"),
                // Its eighth of a second was over, because others took theirs on a busy machine.
                (None, Some(0 | 1)) => cut_short += 1,
                // A time on another clock is not converted to one that is too early.
                (None, _) => assert!(way["overshoot"]["min_ns"].as_i64().unwrap() >= 0, "{clock} {way}"),
            }
            if ["nanosleep-absolute", "posix-thread", "busy"].contains(&name) {
                assert!(way["absent"].is_null(), "{way}");
            }
            if ["setitimer", "poll", "rust-sleep"].contains(&name) {
                assert!(way["absent"].is_string(), "{way}");
            }
        }
        assert!(cut_short * 4 <= ways.len(), "{cut_short} ways had no time on {clock}");
    }
}

#[test]
fn effects_are_shown_with_one_setting_changed_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let ways = "nanosleep-absolute,timerfd";
    let effects = |answer: &Value| answer["effects"].as_array().cloned().unwrap_or_default();
    // On a busy machine, each setting may need more time than its share to be called at all.
    let answer = until_enough(directory.path(), &["--effects", "--way", ways, "-o", "a.punctual"], |answer| {
        effects(answer).first().is_some_and(|effect| effect["median_gain_ns"]["nanosleep-absolute"].is_i64())
    });
    let settings: Vec<&str> =
        answer["ways"].as_array().unwrap().iter().filter_map(|way| way["effect"].as_str()).collect();
    assert_eq!(settings, ["slack 1ns", "realtime", "boottime", "tai", "fifo", "realtime", "boottime", "fifo"]);
    assert!(effects(&answer)[0]["median_gain_ns"]["timerfd"].is_null());
    let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
    assert_eq!(recording.document().tasks.len(), 10);
    assert_eq!(code(&run(directory.path(), &["report", "a.punctual"])), 0);
    let text = stdout(&run(directory.path(), &["timers", "-q", "-D", "500ms", "--effects", "--way", "condvar"]));
    assert!(text.starts_with("What each setting does") && text.contains("Late at most"), "{text}");
}

#[test]
fn a_kill_and_a_full_disk_leave_what_was_written_and_two_at_once_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let child = start(directory.path(), &["timers", "-q", "-D", "60s", "-o", "a.punctual"]);
    let beside = start(directory.path(), &["timers", "-q", "-D", "2s", "--way", "timerfd,posix-signal", "--json"]);
    assert!(wait_until(|| directory.path().join("a.punctual/recording.json").exists()));
    let beside = beside.wait_with_output().unwrap();
    assert_eq!(code(&beside), 0, "{}", stderr(&beside));
    assert!(are_all_called(&json(&beside)), "{}", stdout(&beside));
    support::signal(&child, libc::SIGKILL);
    child.wait_with_output().unwrap();
    assert!(Recording::open(directory.path().join("a.punctual")).unwrap().is_cut());
    let report = run(directory.path(), &["report", "a.punctual"]);
    assert!(code(&report) <= 1 && stderr(&report).lines().count() <= 2, "{}", stderr(&report));
    let Some(full) = support::SmallDisk::mount(directory.path(), "200k") else {
        support::skip("timers full disk", "mounting a small file system takes root");
        return;
    };
    let ways = "busy,timerfd,nanosleep-absolute";
    let words = ["timers", "-q", "-D", "6s", "-i", "20us", "--stall", "0", "--way", ways, "-o", "a.punctual"];
    let output = run(full.path(), &words);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    assert!(stderr(&output).contains("no space left"), "{}", stderr(&output));
    assert!(stderr(&output).lines().count() <= 2, "{}", stderr(&output));
}

/// Runs real-time ways that have no time to sleep; returns the longest time for which a thread below them was kept from
/// their CPU, ns. It comes before ordinary threads, so that the time that these take from one another does not count.
fn longest_wait_below_real_time_ways(cpu: u32) -> u64 {
    use punctual_kernel::clock::monotonic_ns;
    use punctual_kernel::scheduling::{Scheduling, pin_to, set_scheduling};
    use std::sync::atomic::{AtomicBool, Ordering};
    let directory = tempfile::tempdir().unwrap();
    let ways = "nanosleep-absolute,timerfd,posix-thread";
    let words = ["timers", "-q", "-D", "4s", "-i", "1us", "-p", "80", "--stall", "400ms", "--way", ways, "--json"];
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let below = scope.spawn(|| {
            pin_to(cpu).unwrap();
            set_scheduling(Scheduling::Fifo(1)).unwrap();
            let (mut last, mut longest) = (monotonic_ns(), 0);
            while !has_ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
                let now = monotonic_ns();
                longest = longest.max(now - last);
                last = now;
            }
            longest
        });
        // The program inherits its CPU from the thread that starts it.
        let program = scope.spawn(|| {
            pin_to(cpu).unwrap();
            run(directory.path(), &words)
        });
        let output = program.join();
        has_ended.store(true, Ordering::Relaxed);
        let (longest, output) = (below.join().unwrap(), output.unwrap());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        longest
    })
}

/// A host keeps the thread from its CPU now and then; ways that do not rest do it each time.
#[test]
fn a_real_time_way_without_time_to_sleep_lets_others_run() {
    requires!("timers real-time", "real-time priority");
    let cpu = punctual_kernel::scheduling::allowed_cpus()[0];
    let mut all = Vec::new();
    for _ in support::attempts(3) {
        let longest = longest_wait_below_real_time_ways(cpu);
        all.push(longest);
        if longest < 1_000_000_000 {
            return;
        }
    }
    panic!("the CPU was held for {all:?} ns");
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let directory = tempfile::tempdir().unwrap();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let name = format!("{signal}.punctual");
        // On a busy machine, nothing may have been measured yet.
        let is_measured = [700, 3_000, 9_000].into_iter().any(|after_ms| {
            let _ = std::fs::remove_dir_all(directory.path().join(&name));
            let child = start(directory.path(), &["timers", "-q", "-D", "60s", "--json", "-o", &name]);
            assert!(wait_until(|| directory.path().join(&name).exists()));
            std::thread::sleep(Duration::from_millis(after_ms));
            support::signal(&child, signal);
            let output = child.wait_with_output().unwrap();
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            let answer = json(&output);
            assert_eq!(answer["interrupted"], true);
            answer["ways"][0]["callbacks"].as_u64() > Some(0)
        });
        assert!(is_measured, "nothing in 9 s");
        let recording = Recording::open(directory.path().join(&name)).unwrap();
        assert_eq!(recording.document().ended.as_ref().unwrap().reason, EndReason::Interrupted);
        assert!(recording.document().counters.wakeups > 0);
    }
}

#[test]
fn a_user_without_privilege_gets_every_way() {
    let Some(nobody) = Nobody::of("timers without privilege") else { return };
    let ways = "timerfd,posix-signal,setitimer,select,condvar,busy";
    // On a busy machine, a way may need more time than its share to be called at all.
    let answer = ["1s", "6s", "30s"].into_iter().find_map(|length| {
        let output = nobody.run(&["timers", "-q", "-D", length, "-p", "50", "--way", ways, "--json"]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        Some(json(&output)).filter(are_all_called)
    });
    let answer = answer.expect("every way is called within 5 s");
    assert_eq!(answer["scheduling"], "other");
    assert!(answer["notes"].to_string().contains("measured at normal priority"), "{answer}");
}

#[test]
fn wrong_usage_is_one_line_and_help_has_examples() {
    let directory = tempfile::tempdir().unwrap();
    for words in [
        ["timers", "--way", "sundial"],
        ["timers", "-i", "0"],
        ["timers", "-D", "0"],
        ["timers", "-p", "100"],
        ["timers", "--stall", "1s"],
        ["timers", "--stall", "x"],
        ["timers", "--clock", "sundial"],
    ] {
        let output = run(directory.path(), &words);
        assert_eq!(code(&output), 129, "{words:?}");
        assert!(stderr(&output).lines().count() <= 2, "{}", stderr(&output));
    }
    assert!(stdout(&run(directory.path(), &["timers", "--help"])).contains("Examples"));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
