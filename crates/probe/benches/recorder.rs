//! What the flight recorder costs: `cargo bench -p punctual-probe --bench recorder` as root.
//!
//! Two threads on each CPU hand a byte to and fro, paced to 10,000 switches a second. The CPU time that the whole
//! machine spends on them is taken from its idle time, with the recorder attached and detached in turn.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use punctual_kernel::scheduling::{allowed_cpus, pin_to};
use punctual_kernel::{bpf, clock};
use punctual_probe::why::FlightRecorder;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const SECONDS: f64 = 1.5;
/// Round trips a second: a trip is two wakings and two switches.
const TRIPS: u64 = 5_000;

fn main() {
    if std::env::args().any(|word| word == "--list") {
        return;
    }
    if let Err(refused) = bpf::may_load() {
        println!("SKIPPED: the benchmark loads BPF programs ({refused})");
        return;
    }
    let cpus = allowed_cpus();
    println!("{} CPUs, {} switches a second on each, {ROUNDS} rounds in turn", cpus.len(), TRIPS * 2);
    for rate in [0, 1_000] {
        let (mut extra, mut in_first_second) = (Vec::new(), Vec::new());
        let mut per_trip = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            let detached = spent(&cpus);
            let mut recorder = FlightRecorder::start(rate, false).expect("the recorder starts");
            let measured = spent(&cpus);
            recorder.stop_measuring();
            let attached = spent(&cpus);
            drop(recorder);
            let share = |ns: f64| (ns - detached) * TRIPS as f64 / 1e9 * 100.0;
            extra.push(share(attached));
            in_first_second.push(share(measured));
            per_trip[0].push(detached);
            per_trip[1].push(attached);
        }
        println!(
            "samples {rate:>4}/s: detached {:.0} ns, attached {:.0} ns of CPU a round trip; extra {:.2} % of a CPU (from {:.2} to {:.2}), \
             while the kernel measures the programs {:.2} %",
            median(&mut per_trip[0]),
            median(&mut per_trip[1]),
            median(&mut extra),
            extra[0],
            extra[extra.len() - 1],
            median(&mut in_first_second)
        );
    }
    programs();
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU time of the threads on all CPUs for a round trip, ns. Time in their interrupts counts too.
fn spent(cpus: &[u32]) -> f64 {
    let end = Arc::new(AtomicBool::new(false));
    let pairs: Vec<_> = cpus.iter().map(|&cpu| pair(cpu, Arc::clone(&end))).collect();
    std::thread::sleep(Duration::from_secs_f64(SECONDS));
    end.store(true, Ordering::Relaxed);
    let (mut cpu_ns, mut trips) = (0, 0);
    for (first, second) in pairs {
        let (own, made) = first.join().expect("it ends");
        cpu_ns += own + second.join().expect("it ends");
        trips += made;
    }
    cpu_ns as f64 / trips as f64
}

type Pair = (std::thread::JoinHandle<(u64, u64)>, std::thread::JoinHandle<u64>);

fn pair(cpu: u32, end: Arc<AtomicBool>) -> Pair {
    let (mut to, mut from) = std::io::pipe().map(|(reader, writer)| (writer, reader)).expect("a pipe");
    let (mut back, mut answer) = std::io::pipe().map(|(reader, writer)| (writer, reader)).expect("a pipe");
    let second = std::thread::spawn(move || {
        pin_to(cpu).expect("the CPU");
        let mut byte = [0];
        while from.read_exact(&mut byte).is_ok() && back.write_all(&byte).is_ok() {}
        clock::thread_cpu_ns()
    });
    let first = std::thread::spawn(move || {
        pin_to(cpu).expect("the CPU");
        let (began, mut made) = (Instant::now(), 0);
        let mut byte = [0];
        while !end.load(Ordering::Relaxed) {
            // Ten at a time, then a rest until they are due.
            for _ in 0..10 {
                to.write_all(&byte).expect("it is read");
                answer.read_exact(&mut byte).expect("it is written");
            }
            made += 10;
            let due = Duration::from_nanos(made * 1_000_000_000 / TRIPS);
            std::thread::sleep(due.saturating_sub(began.elapsed()));
        }
        (clock::thread_cpu_ns(), made)
    });
    (first, second)
}

/// What the kernel itself measures of the programs, its measuring included.
fn programs() {
    let Ok(_statistics) = bpf::enable_run_time_statistics() else { return };
    let recorder = FlightRecorder::start(1_000, false).expect("the recorder starts");
    spent(&allowed_cpus());
    println!("\nprogram                 runs     ns a run");
    for (name, program) in recorder.programs() {
        if let Some((runs @ 1.., ns, _)) = bpf::run_statistics(program) {
            println!("{name:<20} {runs:>8}   {:>8.0}", ns as f64 / runs as f64);
        }
    }
}
