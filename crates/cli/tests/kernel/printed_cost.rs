//! What a command prints of its own CPU time is what the kernel counted of it.

use crate::requires;
use crate::support::{become_thread, code, json, own_name, signal, start, stderr, wait_until, wait_until_it_measures};
use std::ffi::CString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

const TRIPS: u32 = 15_000;
/// Then both rest for a millisecond.
const TRIPS_AT_ONCE: u32 = 10;

/// Two threads by this name, each followed by a number, hand a byte to and fro.
fn hand_a_byte_to_and_fro(name: &str) {
    let ((mut from, to), (back, mut answer)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    let named = |number: u32| CString::new(format!("{name}{number}")).unwrap();
    let (first, second) = (named(1), named(2));
    let far = std::thread::spawn(move || {
        become_thread(&second, 0, None);
        let mut byte = [0];
        while from.read_exact(&mut byte).is_ok() && answer.write_all(&byte).is_ok() {}
    });
    let near = std::thread::spawn(move || {
        let (mut to, mut back) = (to, back);
        become_thread(&first, 0, None);
        for trip in 0..TRIPS {
            to.write_all(&[0]).unwrap();
            back.read_exact(&mut [0]).unwrap();
            if trip % TRIPS_AT_ONCE == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    near.join().unwrap();
    far.join().unwrap();
}

/// CPU time of a process's threads so far, ns; `None` once it has ended.
fn cpu_ns(child: &Child) -> Option<u64> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).ok()?;
    let of = |path: &Path| std::fs::read_to_string(path).ok()?.split(' ').next()?.parse::<u64>().ok();
    let spent: Vec<u64> = threads.flatten().filter_map(|thread| of(&thread.path().join("schedstat"))).collect();
    (!spent.is_empty()).then(|| spent.iter().sum())
}

#[test]
fn what_is_printed_of_the_own_cpu_time_is_what_the_kernel_counted() {
    requires!("printed cost", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let name = own_name("cost");
    let by_name = format!("^{name}");
    let commands: [&[&str]; 3] = [
        &["log", "--events", "sched"],
        &["record", "--comm", &by_name],
        &["record", "--comm", &by_name, "--why", "50ms"],
    ];
    for words in commands {
        let directory = tempfile::tempdir().unwrap();
        let recording = directory.path().join("a.punctual");
        let rest = ["-q", "-D", "10m", "-o", "a.punctual", "--json"];
        let mut child = start(directory.path(), &[words, &rest].concat());
        if words[0] == "log" {
            assert!(wait_until(|| recording.join("events/log.json").exists()));
        } else {
            wait_until_it_measures(&recording);
        }
        let before = cpu_ns(&child).unwrap();
        hand_a_byte_to_and_fro(&name);
        let asked_to_end = cpu_ns(&child).unwrap();
        signal(&child, libc::SIGINT);
        let mut ended = asked_to_end;
        while child.try_wait().unwrap().is_none() {
            ended = cpu_ns(&child).unwrap_or(ended).max(ended);
            std::thread::sleep(Duration::from_millis(1));
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = json(&output);
        let printed = match words[0] {
            "log" => answer["cost"]["process_ns"].as_f64().unwrap(),
            _ => answer["cost"]["cpu_ns_per_wakeup"].as_f64().unwrap() * answer["wakeups"].as_f64().unwrap(),
        };
        // What it does after it was asked to end belongs to it in part.
        let (least, most) = ((asked_to_end - before) as f64, (ended - before) as f64);
        eprintln!("{words:?}: printed {:.0} ms, counted {:.0} to {:.0}", printed / 1e6, least / 1e6, most / 1e6);
        assert!(printed >= least / 1.2 && printed <= most * 1.2, "{words:?}: {printed} of {least} to {most} ns");
    }
}
