//! Threads of this process that need reservations, and studies of them.

use super::{MAX_ATTEMPTS, start, stderr, stdout, wait_until};
use punctual_kernel::clock::{thread_cpu_ns, thread_id};
use punctual_kernel::other_thread::ThreadScheduling;
use serde_json::Value;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A thread of this process that works a fifth of its time.
pub(crate) struct Periodic {
    pub(crate) tid: u32,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Periodic {
    /// One that works 4 ms of every 20 ms.
    pub(crate) fn start(name: &str) -> Periodic {
        Periodic::start_every(name, Duration::from_millis(20))
    }

    /// One that works 2 ms of every 10 ms: attempts with it take half as long.
    pub(crate) fn start_brisk(name: &str) -> Periodic {
        Periodic::start_every(name, Duration::from_millis(10))
    }

    fn start_every(name: &str, period: Duration) -> Periodic {
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let (send, receive) = std::sync::mpsc::channel();
        let work_ns = u64::from(period.subsec_nanos()) / 5;
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            // Before all others, so that it is periodic beside builds too; who may not is told so seldom.
            // SAFETY: takes numbers alone, of which 0 is the calling thread.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
            send.send(thread_id()).unwrap();
            let mut due = Instant::now();
            while !told.load(Ordering::Relaxed) {
                // Where others leave it too little it sleeps all the same: a thread that never waits is not periodic.
                due = (due + period).max(Instant::now() + Duration::from_millis(1));
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                let until = thread_cpu_ns() + work_ns;
                while thread_cpu_ns() < until {}
            }
        });
        Periodic { tid: receive.recv().unwrap(), ends, thread: Some(thread.unwrap()) }
    }

    pub(crate) fn scheduling(&self) -> ThreadScheduling {
        ThreadScheduling::of(self.tid).unwrap()
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// What makes a study short.
pub(crate) const SHORT: [&str; 10] =
    ["--measure", "600ms", "--attempts", "1", "--attempt", "400ms", "--rounds", "1", "--round", "600ms"];

/// The same for a device that has 20 blocks in a quarter of a second.
pub(crate) const SHORT_OF_DEVICE: [&str; 10] =
    ["--measure", "600ms", "--attempts", "1", "--attempt", "250ms", "--rounds", "1", "--round", "300ms"];

/// The same for a brisk thread.
const SHORT_OF_BRISK: [&str; 10] =
    ["--measure", "600ms", "--attempts", "1", "--attempt", "200ms", "--rounds", "1", "--round", "600ms"];

/// Every job was on time, late or missing, and was counted once.
pub(crate) fn assert_adds_up(counts: &Value) {
    let of = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(of("jobs"), of("on_time") + of("late") + of("missing"), "{counts}");
    assert!(of("by_host") <= of("late") + of("missing"), "{counts}");
}

/// Starts a study of brisk threads, and waits until it has given them their reservations. On a busy machine one may find no period
/// to reserve for, and ends.
pub(crate) fn start_until_tried(directory: &Path, more: &[&str], signal: i32, has_given: &dyn Fn() -> bool) -> Child {
    let process = std::process::id().to_string();
    for attempt in 0..MAX_ATTEMPTS {
        let output = format!("s{signal}-{attempt}");
        let words = ["reserve", "-q", "--pid", &process, "-o", &output];
        let words: Vec<&str> = words.iter().chain(more).chain(&SHORT_OF_BRISK).copied().collect();
        let mut child = start(directory, &words);
        let (mut is_tried, mut has_ended) = (false, false);
        let _ = wait_until(|| {
            is_tried = has_given();
            has_ended = child.try_wait().unwrap().is_some();
            is_tried || has_ended
        });
        if is_tried {
            return child;
        }
        if !has_ended {
            super::signal(&child, libc::SIGTERM);
        }
        let ended = child.wait_with_output().unwrap();
        eprintln!("attempt {attempt}: {}{}", stdout(&ended), stderr(&ended));
    }
    panic!("a reservation is tried in none of {MAX_ATTEMPTS} studies");
}
