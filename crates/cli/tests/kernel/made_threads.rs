//! Threads that a program makes one after the other, and that take a name of their own and soon end: each is followed from its first sleep on.

use crate::requires;
use crate::support::{code, json, number, own_name, run, stderr};
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How long each of them sleeps, twice: far less than it takes until a name is heard of.
const NAP: Duration = Duration::from_millis(2);

#[test]
fn threads_that_take_a_name_and_soon_end_are_followed_from_their_first_sleep() {
    requires!("threads that are made", "BPF", "BTF", "kernel's thread ids");
    let directory = tempfile::tempdir().unwrap();
    let name = CString::new(own_name("made")).expect("a name without NUL");
    let (is_over, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let maker = {
        let (is_over, made) = (Arc::clone(&is_over), Arc::clone(&made));
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let name = name.clone();
                let one = std::thread::spawn(move || {
                    // SAFETY: the name ends in a zero.
                    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
                    (0..2).for_each(|_| std::thread::sleep(NAP));
                });
                one.join().unwrap();
                made.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let comm = format!("^{}$", own_name("made"));
    let before = made.load(Ordering::Relaxed);
    let output = run(directory.path(), &["record", "-q", "-D", "2s", "--comm", &comm, "-o", "a.punctual"]);
    is_over.store(true, Ordering::Relaxed);
    maker.join().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let report = json(&run(directory.path(), &["report", "a.punctual", "--json"]));
    // More are made before the measurement begins and after it has ended; each wakes twice.
    let (wakeups, all) = (number(&report["wakeups"]), made.load(Ordering::Relaxed) - before);
    eprintln!("{wakeups} wakeups of {all} threads that were made meanwhile");
    assert!(wakeups >= 100 && wakeups >= all / 2, "{wakeups} of {all}");
}
