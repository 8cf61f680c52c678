//! What the event log costs and how much it keeps up with: `cargo bench -p punctual-probe --bench log` as root.
//!
//! Two threads on each CPU hand a byte to and fro. First they are paced, with the log attached and detached in turn:
//! how much longer one round trip takes. Then they run as fast as they can for some seconds: how many events a second
//! are written, and whether any are dropped. Last, how much longer a system call takes with the class `futex`, which
//! looks at every one.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod begin;
mod pairs;

use begin::is_left_out;
use pairs::{median, spent};
use punctual_kernel::scheduling::allowed_cpus;
use punctual_kernel::{bpf, clock};
use punctual_probe::eventlog::{EventLog, IfRefused};
use punctual_recording::{Directory, EventClass, LogWriter};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
/// Round trips a second when paced: a trip is two wakings and at least two switches.
const TRIPS: u64 = 5_000;

fn main() {
    if is_left_out("loads BPF programs", bpf::may_load) {
        return;
    }
    let cpus = allowed_cpus();
    println!("{} CPUs, {ROUNDS} rounds in turn", cpus.len());
    for (name, classes) in [("sched", &[EventClass::Sched][..]), ("default", &EventClass::DEFAULT)] {
        let (mut extra, mut detached, mut events) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (without, _) = spent(&cpus, Some(TRIPS), 1.5, sleep);
            let (mut with, mut logged) = (0.0, 0.0);
            let (rows, ..) = logging(classes, || (with, logged) = spent(&cpus, Some(TRIPS), 1.5, sleep));
            extra.push(with - without);
            detached.push(without);
            events.push(rows as f64 / logged);
        }
        let (extra, detached, events) = (median(&mut extra), median(&mut detached), median(&mut events));
        println!(
            "{name}: a round trip takes {detached:.0} ns of its threads' CPU time, {extra:+.0} ns with the log ({events:.1} events, all of the machine's)"
        );
    }
    for (name, classes) in [("sched", &[EventClass::Sched][..]), ("all", &EventClass::CHOICES)] {
        let mut trips = 0.0;
        let (rows, dropped, seconds, cost_ns) = logging(classes, || trips = spent(&cpus, None, 3.0, sleep).1);
        println!(
            "{name}, as fast as they can: {:.0} events a second on all CPUs, {dropped} dropped; reading and writing took {:.0} ns of CPU an event; {:.0} round trips a second",
            rows as f64 / seconds,
            cost_ns as f64 / rows.max(1) as f64,
            trips / 3.0
        );
    }
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(system_call());
        logging(&[EventClass::Futex], || with.push(system_call()));
    }
    println!("getppid takes {:.0} ns, {:.0} ns with the class futex", median(&mut without), median(&mut with));
}

/// Logs and writes while `work` runs. Returns how many rows, how many were dropped, how long it took, s, and the CPU time, ns.
fn logging(classes: &[EventClass], work: impl FnOnce() + Send) -> (u64, u64, f64, u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut writer = LogWriter::create(&Directory::make(directory.path()).expect("a directory")).expect("a writer");
    let mut log = EventLog::start(classes, IfRefused::Fail, None).expect("the log starts");
    let before_ns = clock::thread_cpu_ns();
    let worked = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            work();
            worked.store(true, Ordering::Release);
        });
        let mut flushed = Instant::now();
        while !worked.load(Ordering::Acquire) {
            log.take(Duration::from_millis(50), &mut |row| writer.push(row));
            if flushed.elapsed() > Duration::from_secs(1) {
                flushed = Instant::now();
                writer.flush(&mut log.document()).expect("it is written");
            }
        }
    });
    let mut document = log.end(&mut |row| {
        writer.push(row);
        true
    });
    writer.finish(&mut document).expect("it is written");
    let seconds = (document.reached_ns - document.started_ns) as f64 / 1e9;
    // The measured threads belong to this process: only what the reader and this thread took counts.
    let cost_ns = document.cost.reader_ns + clock::thread_cpu_ns() - before_ns;
    (document.rows(), document.dropped(), seconds, cost_ns)
}

/// How long a system call takes that does nothing, ns.
fn system_call() -> f64 {
    const CALLS: u32 = 300_000;
    let began = clock::thread_cpu_ns();
    for _ in 0..CALLS {
        // SAFETY: takes nothing, changes nothing.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
    (clock::thread_cpu_ns() - began) as f64 / f64::from(CALLS)
}
