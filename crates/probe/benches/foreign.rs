//! What following other programs' threads costs: `cargo bench -p punctual-probe --bench foreign` as root.
//!
//! Attached and detached in turn within one run, because the machine is shared and noisy: read the differences.
//! `-- cost`, `-- rate` or `-- programs` runs a part of it.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod begin;

use begin::is_left_out;
use punctual_kernel::bpf::{LoadedObject, enable_run_time_statistics, run_statistics};
use punctual_kernel::scheduling::{Scheduling, pin_to, set_scheduling};
use punctual_kernel::{capabilities, clock};
use punctual_probe::{Plan, Programs, Selection, Step, run};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
/// How long a pair goes back and forth.
const TRIPS: Duration = Duration::from_millis(200);
/// How many trips are timed together. The reported batch is slower than a twentieth of them: that
/// leaves out what the host, interrupts and other programs took.
const BATCH: u32 = 50;

fn main() {
    if is_left_out("needs real-time priority", || capabilities::try_scheduling(Scheduling::Fifo(50))) {
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [(&str, fn()); 3] = [("cost", cost), ("rate", rate), ("programs", programs)];
    for (_, part) in parts.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| word == name)) {
        part();
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Two threads on one CPU that pass a byte back and forth when told to: each trip is two wakeups and two switches.
struct Pair {
    tids: [u32; 2],
    go: Option<Sender<()>>,
    cost: std::sync::mpsc::Receiver<f64>,
    threads: Vec<JoinHandle<()>>,
}

fn echo(mut input: PipeReader, mut output: PipeWriter) {
    let mut byte = [0];
    while input.read_exact(&mut byte).is_ok() && output.write_all(&byte).is_ok() {}
}

fn prepare(scheduling: Scheduling, cpu: u32) -> u32 {
    pin_to(cpu).expect("the CPU is there");
    set_scheduling(scheduling).expect("real-time priority");
    clock::thread_id()
}

impl Pair {
    fn start() -> Pair {
        let (a, mut to_echo) = std::io::pipe().expect("a pipe");
        let (mut from_echo, b) = std::io::pipe().expect("a pipe");
        let (tell, told) = channel();
        let (go, begin) = channel::<()>();
        let (say, cost) = channel();
        let tell_echo = tell.clone();
        let echoing = std::thread::spawn(move || {
            let _ = tell_echo.send(prepare(Scheduling::Fifo(50), 0));
            echo(a, b);
        });
        let passing = std::thread::spawn(move || {
            let _ = tell.send(prepare(Scheduling::Fifo(50), 0));
            let mut byte = [0];
            while begin.recv().is_ok() {
                let began = Instant::now();
                let mut batches = Vec::new();
                while began.elapsed() < TRIPS {
                    let batch = Instant::now();
                    for _ in 0..BATCH {
                        to_echo.write_all(&byte).expect("a byte goes out");
                        from_echo.read_exact(&mut byte).expect("a byte comes back");
                    }
                    batches.push(batch.elapsed().as_nanos() as f64 / f64::from(BATCH) / 2.0);
                }
                batches.sort_by(f64::total_cmp);
                let _ = say.send(batches[batches.len() / 20]);
            }
        });
        let tids = [told.recv().expect("a thread id"), told.recv().expect("a thread id")];
        Pair { tids, go: Some(go), cost, threads: vec![echoing, passing] }
    }

    /// Elapsed ns for each wakeup and switch, at a priority above whatever else runs.
    fn measure(&self) -> f64 {
        self.go.as_ref().and_then(|go| go.send(()).ok()).expect("the pair waits");
        self.cost.recv().expect("the pair answers")
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.go = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Empties the rings meanwhile, as a recording does.
fn draining<T>(programs: Programs, work: impl FnOnce() -> T) -> (T, u64, u64) {
    let stop = Arc::new(AtomicBool::new(false));
    let their_stop = Arc::clone(&stop);
    let (say, ready) = channel();
    let drain = std::thread::spawn(move || {
        // The pair leaves others no time on its CPU.
        let _ = set_scheduling(Scheduling::Fifo(60));
        let _ = say.send(());
        let mut records = 0;
        while !their_stop.load(Ordering::Relaxed) {
            records += programs.discard();
            std::thread::sleep(Duration::from_millis(5));
        }
        (records + programs.discard(), programs.lost())
    });
    let _ = ready.recv();
    let result = work();
    stop.store(true, Ordering::Relaxed);
    let (records, lost) = drain.join().expect("the drain ends");
    (result, records, lost)
}

fn following(threads: &[u32]) -> Programs {
    let mut selection = Selection::default();
    selection.threads = threads.to_vec();
    Programs::start(&selection).expect("BPF programs")
}

fn cost() {
    let pair = Pair::start();
    let (mut off, mut unrelated, mut followed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut records, mut lost) = (0, 0);
    for _ in 0..ROUNDS {
        off.push(pair.measure());
        // Somebody is followed, but not the pair.
        unrelated.push(draining(following(&[1]), || pair.measure()).0);
        off.push(pair.measure());
        let (cost, round_records, round_lost) = draining(following(&pair.tids), || pair.measure());
        followed.push(cost);
        records += round_records;
        lost += round_lost;
    }
    // Each beside the detached run just before it, so that whatever changed between rounds cancels.
    let differences = |attached: &[f64], first: usize| {
        let mut values: Vec<f64> =
            attached.iter().enumerate().map(|(round, cost)| cost - off[2 * round + first]).collect();
        let middle = median(&mut values);
        (middle, values[0], values[values.len() - 1])
    };
    let show = |name: &str, (middle, low, high): (f64, f64, f64)| {
        println!("{name:<44} {middle:>+8.0} ns   ({low:+.0} to {high:+.0})");
    };
    println!("A wakeup and a switch of a pair of threads on CPU 0, FIFO 50, {ROUNDS} rounds in turn");
    println!("{:<44} {:>8.0} ns", "detached", median(&mut off.clone()));
    show("attached, the pair is not followed", differences(&unrelated, 0));
    show("attached, the pair is followed", differences(&followed, 1));
    println!("records {records}, lost {lost}");
}

/// On each of two CPUs, a thread that wakes another twelve times every millisecond and waits for its answer each time.
fn rate() {
    const SECONDS: u64 = 5;
    const TRIPS_A_PERIOD: usize = 13;
    const PERIOD_NS: u64 = 1_000_000;
    let stop = Arc::new(AtomicBool::new(false));
    let (tell, told) = channel();
    let mut threads = Vec::new();
    for cpu in 0..2 {
        let (a, mut to_echo) = std::io::pipe().expect("a pipe");
        let (mut from_echo, b) = std::io::pipe().expect("a pipe");
        let (tell_echo, tell, stop) = (tell.clone(), tell.clone(), Arc::clone(&stop));
        threads.push(std::thread::spawn(move || {
            let _ = tell_echo.send(prepare(Scheduling::Fifo(50), cpu));
            echo(a, b);
        }));
        threads.push(std::thread::spawn(move || {
            let _ = tell.send(prepare(Scheduling::Fifo(50), cpu));
            let mut byte = [0];
            let mut next = clock::monotonic_ns();
            while !stop.load(Ordering::Relaxed) {
                next += PERIOD_NS;
                // Catches up on what it missed, up to a few periods.
                next = next.max(clock::monotonic_ns().saturating_sub(5 * PERIOD_NS));
                clock::sleep_until(next);
                for _ in 0..TRIPS_A_PERIOD {
                    to_echo.write_all(&byte).expect("a byte goes out");
                    from_echo.read_exact(&mut byte).expect("a byte comes back");
                }
            }
        }));
    }
    let mut selection = Selection::default();
    selection.threads = (0..4).map(|_| told.recv().expect("a thread id")).collect();
    let directory = tempfile::tempdir().expect("a directory");
    let plan = Plan {
        follow: Some(selection),
        duration_ns: Some(SECONDS * 1_000_000_000),
        ..Plan::new(directory.path().join("a"))
    };
    let outcome = run(&plan, &mut |_| Step::Go).expect("a recording");
    stop.store(true, Ordering::Relaxed);
    for thread in threads {
        let _ = thread.join();
    }
    let counters = outcome.document.counters;
    let cost = outcome.document.followed.map_or(0, |followed| followed.cost_ns);
    println!(
        "\nRecording {SECONDS} s over two CPUs: {:.0} wakeups/s, lost {}, unobserved {}",
        counters.wakeups as f64 / SECONDS as f64,
        counters.lost,
        counters.unobserved,
    );
    // The generating threads belong to this process too: their CPU time is not the cost of writing.
    println!("CPU of this process less the threads' own: {:.2} us a wakeup", {
        cost.saturating_sub(counters.cpu_ns) as f64 / counters.wakeups.max(1) as f64 / 1e3
    });
}

/// Run times of the programs by the kernel's own statistics, less that of an empty one.
fn programs() {
    let Ok(_statistics) = enable_run_time_statistics() else {
        println!("\nrun times of the programs: not available");
        return;
    };
    let mut empty = LoadedObject::load("empty", include_bytes!(concat!(env!("OUT_DIR"), "/empty.bpf.o")), None)
        .expect("an empty program");
    empty.attach().expect("attached");
    let base = || {
        let found = empty.programs().first().and_then(|(_, program)| run_statistics(*program));
        found.map_or(0.0, |(runs, time, _)| time as f64 / runs as f64)
    };
    let pair = Pair::start();
    for (who, tids) in [("followed", &pair.tids[..]), ("not followed", &[1])] {
        let programs = following(tids);
        for _ in 0..5 {
            pair.measure();
            programs.discard();
        }
        let base = base();
        println!("\nRun times of the BPF programs, less an empty program's {base:.0} ns; the pair is {who}");
        for (name, program) in programs.programs() {
            let Some((runs, time, _)) = run_statistics(program).filter(|(runs, ..)| *runs > 0) else { continue };
            println!("{name:<28} {runs:>10} runs {:>8.0} ns", time as f64 / runs as f64 - base);
        }
    }
}
