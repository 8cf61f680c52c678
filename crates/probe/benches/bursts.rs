//! How well the loops of `punctual idle` find and measure what takes their CPU, and whether oslat finds the same:
//! `cargo bench -p punctual-probe --bench bursts` as root, about a minute.
//!
//! A FIFO thread `burst-bench` spins 100 times for 0.2 to 10 ms and stamps when it began and ended, and how much CPU
//! time the scheduler gave it. What BPF attributes to other threads, and stretches of 100 us with nothing traced (the
//! host), are taken out of a gap, so that the figures hold on a busy machine too.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod begin;

use begin::is_left_out;
use punctual_kernel::capabilities::{find_program, try_scheduling};
use punctual_kernel::clock::{monotonic_ns, sleep_until, thread_cpu_ns};
use punctual_kernel::scheduling::{Scheduling, allowed_cpus, pin_to, set_scheduling};
use punctual_probe::idle::{IdlePlan, IdleSession, RawGap};
use punctual_recording::{Ran, TraceEntry};
use std::thread::JoinHandle;
use std::time::Duration;

const BURSTS: u64 = 100;
/// From one burst's beginning to the next, ns.
const APART_NS: u64 = 35_000_000;
const NAME: &str = "burst-bench";

/// What a burst should take, ns: 0.2 to 10 ms.
fn length_ns(number: u64) -> u64 {
    200_000 + number * 9_800_000 / (BURSTS - 1)
}

/// A burst's own stamps, ns.
#[derive(Clone, Copy)]
struct Burst {
    began: u64,
    ended: u64,
    /// CPU time that the thread got in between.
    cpu: u64,
}

/// Bursts on a CPU from this time on.
fn burst(cpu: u32, from_ns: u64) -> JoinHandle<Vec<Burst>> {
    let body = move || {
        pin_to(cpu).expect("the CPU is there");
        set_scheduling(Scheduling::Fifo(50)).expect("real-time priority");
        let one = |number: u64| {
            sleep_until(from_ns + number * APART_NS);
            let cpu = thread_cpu_ns();
            let began = monotonic_ns();
            while monotonic_ns() < began + length_ns(number) {}
            Burst { began, ended: monotonic_ns(), cpu: thread_cpu_ns() - cpu }
        };
        (0..BURSTS).map(one).collect()
    };
    std::thread::Builder::new().name(NAME.to_owned()).spawn(body).expect("a thread")
}

/// A stretch without the loop, and what ran then.
struct Stretch {
    start: u64,
    end: u64,
    /// Leaving out the loop's own counting.
    length: u64,
    inside: Vec<TraceEntry>,
}

struct Found {
    stretches: Vec<Stretch>,
    bursts: Vec<Burst>,
    ns_per_iteration: f64,
    followed: bool,
}

/// Runs the loop on one CPU for as long as the bursts take, and `beside` at the same time.
fn measure(cpu: u32, calibrated_ns: Option<u64>, bpf: bool, beside: &mut dyn FnMut(u64)) -> Found {
    let seconds = 12;
    let plan = IdlePlan {
        duration_ns: seconds * 1_000_000_000,
        cpus: Some(vec![cpu]),
        threshold_ns: 5_000,
        real_time: false,
        calibrated_ns,
        bpf,
        output: std::path::PathBuf::new(),
        command_line: Vec::new(),
    };
    let mut session = IdleSession::start(&plan).expect("the loop starts");
    let from = monotonic_ns() + 300_000_000;
    beside(from);
    let bursts = burst(cpu, from);
    let (mut gaps, mut entries): (Vec<RawGap>, Vec<TraceEntry>) = (Vec::new(), Vec::new());
    let mut take = |session: &mut IdleSession| {
        let taken = session.take(0);
        gaps.extend(taken.gaps);
        entries.extend(taken.entries);
    };
    while !bursts.is_finished() {
        take(&mut session);
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(100));
    session.stop();
    take(&mut session);
    let totals = session.totals(0);
    let ticker = session.ticker();
    let own = session.calibration(0).map_or(0, |calibration| ticker.ns(calibration.ticks));
    let stretches: Vec<Stretch> = (gaps.iter())
        .map(|gap| {
            let length = ticker.ns(gap.ticks);
            let start = gap.end_ns - length - own;
            let within = |entry: &&TraceEntry| entry.start_ns < gap.end_ns && entry.end_ns > start;
            Stretch { start, end: gap.end_ns, length, inside: entries.iter().filter(within).cloned().collect() }
        })
        .collect();
    let noise: u64 = stretches.iter().map(|stretch| stretch.length).sum();
    Found {
        stretches,
        bursts: bursts.join().expect("the bursts"),
        ns_per_iteration: totals.measured_ns.saturating_sub(noise) as f64 / totals.iterations.max(1) as f64,
        followed: session.is_followed(),
    }
}

fn is_burst(entry: &TraceEntry) -> bool {
    matches!(&entry.ran, Ran::Thread(name) if name == NAME)
}

/// How much of a stretch went to other threads and to the host: with a loop that reads all the time, stretches of 100
/// us in which nothing was traced.
fn others(stretch: &Stretch, own: bool) -> u64 {
    let other = |entry: &&TraceEntry| matches!(&entry.ran, Ran::Thread(name) if name != NAME);
    let clipped = |entry: &TraceEntry| entry.end_ns.min(stretch.end).saturating_sub(entry.start_ns.max(stretch.start));
    let threads: u64 = stretch.inside.iter().filter(other).map(clipped).sum();
    let mut inside: Vec<(u64, u64)> = stretch.inside.iter().map(|entry| (entry.start_ns, entry.end_ns)).collect();
    inside.push((stretch.end, stretch.end));
    inside.sort_unstable();
    let (mut reached, mut holes) = (stretch.start, 0);
    for (start, end) in inside {
        let hole = start.saturating_sub(reached);
        holes += if hole > 100_000 { hole } else { 0 };
        reached = reached.max(end);
    }
    threads + if own { 0 } else { holes }
}

fn quantile(sorted: &[i64], share: f64) -> f64 {
    let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(f64::NAN, |value| *value as f64 / 1e3)
}

fn row(name: &str, mut errors: Vec<(i64, u64)>, found: usize, invented: Option<usize>) {
    errors.sort_unstable();
    let good = |(error, length): &&(i64, u64)| error.unsigned_abs() <= 100_000.max(length / 50);
    let within = errors.iter().filter(good).count();
    let sorted: Vec<i64> = errors.iter().map(|(error, _)| *error).collect();
    println!(
        "{name:<34} {found:>5} {:>8} {:>11} {within:>7} {:>9.1} {:>9.1} {:>9.1}",
        invented.map_or_else(|| "-".to_owned(), |count| count.to_string()),
        errors.len(),
        quantile(&sorted, 0.0),
        quantile(&sorted, 0.5),
        quantile(&sorted, 1.0),
    );
}

/// Finds each burst in a stretch and says how much longer than it really was it is measured to be.
fn accuracy(name: &str, found: &Found, own: bool) {
    let (mut errors, mut by_thread, mut count) = (Vec::new(), Vec::new(), 0);
    for burst in &found.bursts {
        let holds = |stretch: &&Stretch| stretch.start <= burst.began && stretch.end + 2_000 >= burst.ended;
        let Some(stretch) = found.stretches.iter().find(holds) else { continue };
        count += 1;
        // Bursts that a busy machine joined into one stretch cannot be measured one by one.
        let joined = found.bursts.iter().filter(|other| other.began < stretch.end && other.ended > stretch.start);
        if joined.count() == 1 {
            let others = if found.followed { others(stretch, own) } else { 0 };
            let measured = stretch.length.saturating_sub(others);
            let truth = if found.followed { burst.cpu } else { burst.ended - burst.began };
            errors.push((measured as i64 - truth as i64, truth));
        }
        let its_own =
            |entry: &&TraceEntry| is_burst(entry) && entry.start_ns < burst.ended && entry.end_ns > burst.began;
        let thread: u64 = stretch.inside.iter().filter(its_own).map(|entry| entry.end_ns - entry.start_ns).sum();
        if thread > 0 {
            by_thread.push((thread as i64 - burst.cpu as i64, burst.cpu));
        }
    }
    let of_no_burst = |stretch: &&Stretch| {
        let ours: u64 = stretch.inside.iter().filter(|entry| is_burst(entry)).map(|e| e.end_ns - e.start_ns).sum();
        ours > 100_000 && !found.bursts.iter().any(|burst| burst.began < stretch.end && burst.ended > stretch.start)
    };
    let invented = found.followed.then(|| found.stretches.iter().filter(of_no_burst).count());
    row(name, errors, count, invented);
    if found.followed && !own {
        let named = by_thread.len();
        row("  its thread, by BPF and by name", by_thread, named, None);
    }
}

/// What oslat found on a CPU.
struct Oslat {
    /// Gaps of so many us, by bucket; the last also holds longer ones.
    histogram: Vec<(u64, u64)>,
    max_us: u64,
    duration_s: f64,
}

impl Oslat {
    fn start(cpu: u32, file: &std::path::Path) -> Option<std::process::Child> {
        let program = find_program("oslat")?;
        let mut command = std::process::Command::new(program);
        command.args(["-q", "-D", "8", "-f", "1", "-b", "1024", "-c", &cpu.to_string()]);
        command.arg(format!("--json={}", file.display())).stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null()).spawn().ok()
    }

    fn read(file: &std::path::Path, duration_s: f64) -> Option<Oslat> {
        let text = std::fs::read_to_string(file).ok()?;
        // Lines such as `"12": 345,` within "histogram".
        let (_, rest) = text.split_once("\"histogram\"")?;
        let (inside, rest) = rest.split_once('}')?;
        let numbers = inside.split(|other: char| !other.is_ascii_digit()).filter_map(|word| word.parse::<u64>().ok());
        let numbers: Vec<u64> = numbers.collect();
        let histogram = numbers.as_chunks::<2>().0.iter().map(|&[us, count]| (us, count)).collect();
        let whole = rest.to_owned() + &text;
        let (_, max) = whole.split_once("\"max\"")?;
        let max_us = max.trim_start_matches([':', ' ']).split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
        Some(Oslat { histogram, max_us, duration_s })
    }

    fn at_least(&self, microseconds: u64) -> u64 {
        self.histogram.iter().filter(|(bucket, _)| *bucket >= microseconds).map(|(_, count)| count).sum()
    }
}

fn beside_oslat(ours: u32, theirs: u32) -> Option<()> {
    let directory = tempfile::tempdir().ok()?;
    let file = directory.path().join("oslat.json");
    // It warms up for about two seconds, then measures for eight.
    let mut oslat = Oslat::start(theirs, &file)?;
    std::thread::sleep(Duration::from_millis(2_500));
    let mut their_bursts = None;
    let found = measure(ours, None, true, &mut |from| their_bursts = Some(burst(theirs, from)));
    their_bursts?.join().ok()?;
    oslat.wait().ok()?;
    let oslat = Oslat::read(&file, 8.0)?;
    let count =
        |at_least_us: u64| found.stretches.iter().filter(|stretch| stretch.length >= at_least_us * 1_000).count();
    let expected = |at_least_us: u64| (0..BURSTS).filter(|&n| length_ns(n) >= at_least_us * 1_000).count();
    let iterations: u64 = oslat.histogram.iter().map(|(_, count)| count).sum();
    let long: u64 = (oslat.histogram.iter()).filter(|(us, _)| *us > 1).map(|(us, count)| us * count).sum();
    let their_ns = (oslat.duration_s * 1e9 - long as f64 * 1e3) / iterations.max(1) as f64;
    println!("\npunctual on CPU {ours}, oslat on CPU {theirs}, the same bursts at the same times:");
    println!("{:<34} {:>8} {:>9} {:>7}", "gaps of at least, us", "bursts", "punctual", "oslat");
    for at_least in [150, 500, 1_000] {
        let (bursts, ours) = (expected(at_least), count(at_least));
        println!("{at_least:<34} {bursts:>8} {ours:>9} {:>7}", oslat.at_least(at_least));
    }
    for at_least in [2_000, 5_000, 9_000] {
        let (bursts, ours) = (expected(at_least), count(at_least));
        println!("{at_least:<34} {bursts:>8} {ours:>9} {:>7}", "-");
    }
    let longest = found.stretches.iter().max_by_key(|stretch| stretch.length)?;
    println!(
        "longest: punctual {} us at {:.6} s, oslat {} us, its time not kept",
        longest.length / 1_000,
        longest.start as f64 / 1e9,
        oslat.max_us
    );
    println!(
        "an iteration: punctual {:.1} ns, oslat {their_ns:.1} ns, ratio {:.2}",
        found.ns_per_iteration,
        found.ns_per_iteration / their_ns
    );
    Some(())
}

fn main() {
    if is_left_out("needs real-time priority", || try_scheduling(Scheduling::Fifo(50))) {
        return;
    }
    let cpus = allowed_cpus();
    let cpu = cpus[0];
    let idle = || std::thread::sleep(Duration::from_millis(200));
    println!("{BURSTS} bursts of 0.2 to 10 ms on CPU {cpu}; measured longer than it was by, us:");
    println!(
        "{:<34} {:>5} {:>8} {:>11} {:>7} {:>9} {:>9} {:>9}",
        "loop", "found", "invented", "by itself", "within", "min", "p50", "max"
    );
    let variants = [
        ("counter (tsc), 5 us", None),
        ("calibrated 10 us", Some(10_000)),
        ("calibrated 100 us", Some(100_000)),
        ("calibrated 1 ms", Some(1_000_000)),
    ];
    for (name, calibrated_ns) in variants {
        accuracy(name, &measure(cpu, calibrated_ns, true, &mut |_| {}), calibrated_ns.is_some());
        idle();
    }
    accuracy("counter (tsc), without BPF", &measure(cpu, None, false, &mut |_| {}), false);
    println!(
        "(by itself: the only burst in its gap; within: 100 us or 2 %; without BPF other threads cannot be taken out)"
    );
    if let [first, second, ..] = cpus[..] {
        for (ours, theirs) in [(first, second), (second, first)] {
            if beside_oslat(ours, theirs).is_none() {
                println!("SKIPPED: oslat is not installed (package rt-tests) or did not answer");
            }
        }
    }
}
