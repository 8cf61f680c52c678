//! What the flight recorder costs: `cargo bench -p punctual-probe --bench recorder` as root.
//!
//! Two threads on each CPU hand a byte to and fro, paced to 10,000 switches a second. The idle time of the whole
//! machine tells the CPU time that it spends on them, with the recorder attached and detached in turn.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod begin;
mod pairs;

use begin::is_left_out;
use pairs::median;
use punctual_kernel::bpf;
use punctual_kernel::scheduling::allowed_cpus;
use punctual_probe::recorder::FlightRecorder;

const ROUNDS: usize = 7;
const SECONDS: f64 = 1.5;
/// Round trips a second: a trip is two wakings and two switches.
const TRIPS: u64 = 5_000;

fn main() {
    if is_left_out("loads BPF programs", bpf::may_load) {
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

/// CPU time of the threads on all CPUs for a round trip, ns. Time in interrupts on top of them counts too.
fn spent(cpus: &[u32]) -> f64 {
    pairs::spent(cpus, Some(TRIPS), SECONDS, std::thread::sleep).0
}

/// The kernel's own measurement of the programs, including the cost of measuring.
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
