//! What measuring costs: `cargo bench -p punctual-probe --bench cost` as root.
//!
//! Everything that is compared runs in turn, several rounds in one run, because the machine is shared and noisy: read
//! the ratios. `-- wakeups`, `-- cyclictest`, `-- least`, `-- switches` or `-- programs` runs a part of it.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod attached;
mod begin;

use attached::attached;
use begin::is_left_out;
use punctual_kernel::bpf::{LoadedObject, enable_run_time_statistics, run_statistics};
use punctual_kernel::scheduling::{Scheduling, pin_to, set_scheduling};
use punctual_kernel::{capabilities, clock, hold};
use punctual_probe::{Plan, StageTracer, Step, Via, recording_cost_ns, run};
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
const SECONDS: u64 = 2;
const INTERVAL_NS: u64 = 1_000_000;

fn main() {
    if is_left_out("needs real-time priority", || capabilities::try_scheduling(Scheduling::Fifo(80))) {
        return;
    }
    // As the measurement does, so that all contenders run alike.
    let _power = hold::PowerRequest::hold();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [(&str, fn()); 5] = [
        ("wakeups", wakeups),
        ("cyclictest", against_cyclictest),
        ("least", beside_the_least),
        ("switches", unrelated_switches),
        ("programs", programs),
    ];
    for (_, part) in parts.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| word == name)) {
        part();
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn plan(directory: &Path, bpf: bool) -> Plan {
    Plan { duration_ns: Some(SECONDS * 1_000_000_000), cpus: Some(vec![0]), bpf, ..Plan::new(directory) }
}

/// CPU time of the measuring thread per wakeup, us.
fn record(bpf: bool) -> f64 {
    let directory = tempfile::tempdir().expect("a directory");
    let outcome = run(&plan(&directory.path().join("a"), bpf), &mut |_| Step::Go).expect("a recording");
    let counters = outcome.document.counters;
    counters.cpu_ns as f64 / counters.wakeups as f64 / 1000.0
}

/// CPU time per wakeup of a loop that does nothing but sleep to an absolute time and read the clock, us.
fn bare_loop() -> f64 {
    std::thread::spawn(|| {
        pin_to(0).expect("CPU 0");
        set_scheduling(Scheduling::Fifo(80)).expect("real-time priority");
        let mut next = clock::monotonic_ns() + INTERVAL_NS;
        let end = next + SECONDS * 1_000_000_000;
        let (before, mut wakeups) = (clock::thread_cpu_ns(), 0u64);
        while next < end {
            clock::sleep_until(next);
            let late = clock::monotonic_ns().saturating_sub(next);
            wakeups += 1;
            next += INTERVAL_NS * (late / INTERVAL_NS + 1);
        }
        (clock::thread_cpu_ns() - before) as f64 / wakeups as f64 / 1000.0
    })
    .join()
    .expect("the loop ends")
}

/// CPU time per wakeup of cyclictest, us: a long run less a short one, so that its start does not count.
fn cyclictest() -> Option<f64> {
    let program = capabilities::find_program("cyclictest")?;
    let cpu_of = |loops: u64| -> Option<f64> {
        let before = children_cpu_us();
        let status = std::process::Command::new(&program)
            .args(["-q", "-p", "80", "-t", "1", "-a", "0", "-i", "1000", "-m", "-l", &loops.to_string()])
            .stdout(std::process::Stdio::null())
            .status()
            .ok()?;
        status.success().then(|| children_cpu_us() - before)
    };
    let (short, long) = (200, 200 + SECONDS * 1000);
    Some((cpu_of(long)? - cpu_of(short)?) / (long - short) as f64)
}

fn children_cpu_us() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: getrusage fills the structure it is given.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    us(usage.ru_utime) + us(usage.ru_stime)
}

fn wakeups() {
    let mut rows: Vec<(&str, Vec<f64>)> =
        ["bare loop", "cyclictest", "record --no-bpf", "record"].map(|name| (name, Vec::new())).to_vec();
    for _ in 0..ROUNDS {
        rows[0].1.push(bare_loop());
        rows[1].1.extend(cyclictest());
        rows[2].1.push(record(false));
        rows[3].1.push(record(true));
    }
    let bare = rows[0].1.clone();
    println!("CPU time per wakeup, {ROUNDS} rounds of {SECONDS} s in turn, FIFO 80, 1 ms, CPU 0");
    println!("{:<16} {:>10} {:>10} {:>10} {:>12} {:>12}", "", "median us", "min", "max", "ratio", "extra us");
    for (name, values) in &mut rows {
        if values.is_empty() {
            println!("{name:<16} not installed");
            continue;
        }
        // Round by round, so that whatever changed between rounds cancels.
        let mut ratios: Vec<f64> = values.iter().zip(&bare).map(|(value, bare)| value / bare).collect();
        let mut extra: Vec<f64> = values.iter().zip(&bare).map(|(value, bare)| value - bare).collect();
        let (ratio, extra) = (median(&mut ratios), median(&mut extra));
        let middle = median(values);
        println!(
            "{name:<16} {middle:>10.2} {:>10.2} {:>10.2} {ratio:>12.3} {extra:>12.2}",
            values[0],
            values[values.len() - 1]
        );
    }
    if let Ok(mut tracer) = StageTracer::load(Via::Timer) {
        match recording_cost_ns(&mut tracer, 1 << 20) {
            Ok(cost) => println!("\nrecording a wakeup in user space: {cost:.1} ns"),
            Err(refused) => println!("\nrecording a wakeup in user space: {refused}"),
        }
    }
}

/// The rounds in which both are run in turn, and where in their order the interval of the median ends: of twenty values
/// the median lies between the sixth and the fifteenth with 96 % confidence, however they are spread.
const PAIRED_ROUNDS: usize = 20;
const INTERVAL: (usize, usize) = (5, 14);

/// `record --no-bpf` beside cyclictest: the ratio of their CPU times per wakeup.
fn against_cyclictest() {
    let mut ratios = Vec::new();
    for round in 0..PAIRED_ROUNDS {
        // Each goes first equally often.
        let first = (round % 2 == 0).then(|| record(false));
        let Some(other) = cyclictest() else {
            println!("\ncyclictest: not installed");
            return;
        };
        ratios.push(first.unwrap_or_else(|| record(false)) / other);
    }
    let middle = median(&mut ratios);
    println!(
        "\nCPU time per wakeup of record --no-bpf, by that of cyclictest, {PAIRED_ROUNDS} rounds of {SECONDS} s in turn"
    );
    println!(
        "median {middle:.3}, its interval {:.3} to {:.3} (96 %); all from {:.3} to {:.3}",
        ratios[INTERVAL.0],
        ratios[INTERVAL.1],
        ratios[0],
        ratios[PAIRED_ROUNDS - 1]
    );
}

/// What is attached while the own threads are measured; nothing where those of `record` are asked for.
type Attach = fn() -> Option<LoadedObject>;

/// What a wakeup of the own threads takes more as a whole with programs: the least that can be at the places that it
/// passes, and those of `record`.
fn beside_the_least() {
    let rows: [(&str, bool, Attach); 3] = [
        ("empty programs where a wakeup passes", false, || {
            let object = include_bytes!(concat!(env!("OUT_DIR"), "/bare_wakeup.bpf.o"));
            Some(attached("bare_wakeup", object, &[]))
        }),
        ("ones that record the time there, and no more", false, || {
            let rings = [("rings", punctual_kernel::cpus::possible() as u32)];
            let object = include_bytes!(concat!(env!("OUT_DIR"), "/least_wakeup.bpf.o"));
            Some(attached("least_wakeup", object, &rings))
        }),
        ("record", true, || None),
    ];
    let (mut alone, mut more): (Vec<f64>, [Vec<f64>; 3]) = Default::default();
    for _ in 0..PAIRED_ROUNDS {
        let without = record(false);
        alone.push(without);
        for ((_, bpf, attach), more) in rows.iter().zip(&mut more) {
            let _attached = attach();
            more.push(record(*bpf) - without);
        }
    }
    println!(
        "\nWhat a wakeup of the own threads takes more than the {:.2} us of record --no-bpf, us of CPU time:",
        median(&mut alone)
    );
    println!("{PAIRED_ROUNDS} rounds of {SECONDS} s in turn, the median, its interval (96 %), and all");
    for ((name, ..), mut more) in rows.into_iter().zip(more) {
        let middle = median(&mut more);
        println!(
            "{name:<46} {middle:>+6.2} ({:+.2} to {:+.2}), {:+.2} to {:+.2}",
            more[INTERVAL.0],
            more[INTERVAL.1],
            more[0],
            more[PAIRED_ROUNDS - 1]
        );
    }
}

/// What the attached programs cost threads that nobody measures: two on one CPU pass a byte back and forth.
fn unrelated_switches() {
    let (mut off, mut on) = (Vec::new(), Vec::new());
    for round in 0..2 * ROUNDS {
        let tracer = (round % 2 == 1).then(|| {
            let mut tracer = StageTracer::load(Via::Timer).expect("BPF programs");
            tracer.attach().expect("attached");
            tracer
        });
        let cost = ping_pong_ns();
        if tracer.is_some() { on.push(cost) } else { off.push(cost) }
    }
    let mut differences: Vec<f64> = on.iter().zip(&off).map(|(on, off)| on - off).collect();
    println!("\nAn unrelated wake and switch, {ROUNDS} rounds in turn");
    println!(
        "detached {:.0} ns, attached {:.0} ns, difference {:+.0} ns",
        median(&mut off),
        median(&mut on),
        median(&mut differences)
    );
}

fn ping_pong_ns() -> f64 {
    let (mut read_a, mut write_a) = std::io::pipe().expect("a pipe");
    let (mut read_b, mut write_b) = std::io::pipe().expect("a pipe");
    let echo = std::thread::spawn(move || {
        pin_to(0).expect("CPU 0");
        let mut byte = [0];
        while read_a.read_exact(&mut byte).is_ok() {
            if write_b.write_all(&byte).is_err() {
                break;
            }
        }
    });
    let cost = std::thread::spawn(move || {
        pin_to(0).expect("CPU 0");
        let mut byte = [0];
        let (began, mut trips) = (Instant::now(), 0u32);
        while began.elapsed() < Duration::from_millis(300) {
            for _ in 0..100 {
                write_a.write_all(&byte).expect("a byte goes out");
                read_b.read_exact(&mut byte).expect("a byte comes back");
            }
            trips += 100;
        }
        began.elapsed().as_nanos() as f64 / f64::from(trips) / 2.0
    });
    let cost = cost.join().expect("the trips end");
    echo.join().expect("the echo ends");
    cost
}

/// Run times of the programs by the kernel's own statistics, less that of an empty one.
fn programs() {
    let Ok(_statistics) = enable_run_time_statistics() else {
        println!("\nrun times of the programs: not available");
        return;
    };
    let tsc_ghz = tsc_ghz();
    println!(
        "\nRun times of the BPF programs by the kernel's statistics, less an empty program's (TSC {tsc_ghz:.2} GHz)"
    );
    println!("{:<20} {:>10} {:>10} {:>10} {:>10}", "", "runs", "ns a run", "net ns", "cycles");
    for via in [Via::Timer, Via::Softirq] {
        let mut empty = LoadedObject::load("empty", include_bytes!(concat!(env!("OUT_DIR"), "/empty.bpf.o")), None)
            .expect("an empty program");
        empty.attach().expect("attached");
        let directory = tempfile::tempdir().expect("a directory");
        let mut plan = plan(&directory.path().join("a"), true);
        plan.via = via;
        let mut last = Vec::new();
        // The programs are in the kernel only while the recording runs: look from inside it.
        let _ = run(&plan, &mut |_| {
            last = programs_in_the_kernel();
            Step::Go
        });
        let base = empty.programs().first().and_then(|(_, program)| run_statistics(*program));
        let base = base.map_or(0.0, |(runs, time, _)| time as f64 / runs as f64);
        println!("{:<20} {:>10} {base:>10.0}", "empty", "");
        for (name, runs, time) in last {
            let each = time as f64 / runs.max(1) as f64;
            println!("{:<20} {runs:>10} {each:>10.0} {:>10.0} {:>10.0}", name, each - base, (each - base) * tsc_ghz);
        }
    }
}

fn programs_in_the_kernel() -> Vec<(String, u64, u64)> {
    let ours = ["timer_armed", "timer_expired", "thread_waking", "thread_switched", "interrupt"];
    libbpf_rs::query::ProgInfoIter::default()
        .filter_map(|program| {
            let name = program.name.to_string_lossy().into_owned();
            let known = ours.iter().any(|own| name.starts_with(own) || own.starts_with(name.as_str()));
            known.then_some((name, program.run_cnt, program.run_time_ns))
        })
        .collect()
}

fn tsc_ghz() -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: reads the time-stamp counter, which every x86-64 processor has.
        let read = || unsafe { std::arch::x86_64::_rdtsc() };
        let (began, before) = (clock::monotonic_ns(), read());
        std::thread::sleep(Duration::from_millis(100));
        (read() - before) as f64 / (clock::monotonic_ns() - began) as f64
    }
    #[cfg(not(target_arch = "x86_64"))]
    f64::NAN
}
