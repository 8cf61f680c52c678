//! Whether the medians agree with cyclictest's: `cargo bench -p punctual-probe --bench truth` as root.
//!
//! Same priority, CPU and interval, in turn within one run; the yardstick is how well cyclictest agrees with itself.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod begin;

use begin::is_left_out;
use punctual_kernel::capabilities::{find_program, try_scheduling};
use punctual_kernel::scheduling::Scheduling;
use punctual_probe::{Plan, Step, run};
use punctual_recording::Stage;

const ROUNDS: usize = 10;
const SECONDS: u64 = 3;

fn main() {
    if is_left_out("needs real-time priority", || try_scheduling(Scheduling::Fifo(80))) {
        return;
    }
    let Some(program) = find_program("cyclictest") else {
        println!("SKIPPED: cyclictest is not installed (package rt-tests)");
        return;
    };
    let (mut theirs, mut ours, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.extend(cyclictest_median_us(&program));
        ours.push(median_us(true));
        plain.push(median_us(false));
    }
    println!("Medians of the total, us: {ROUNDS} rounds of {SECONDS} s in turn, FIFO 80, 1 ms, CPU 0");
    for (name, values) in [("cyclictest", &theirs), ("punctual", &ours), ("punctual --no-bpf", &plain)] {
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let list: Vec<String> = values.iter().map(|value| format!("{value:.1}")).collect();
        println!(
            "{name:<18} {:>6.1} to {:>6.1}, middle {:>6.1}   ({})",
            sorted[0],
            sorted[sorted.len() - 1],
            sorted[sorted.len() / 2],
            list.join(" ")
        );
    }
    let spread = |values: &[f64]| {
        let (low, high) =
            values.iter().fold((f64::MAX, f64::MIN), |(low, high), &value| (low.min(value), high.max(value)));
        (low, high)
    };
    let (low, high) = spread(&theirs);
    for (name, values) in [("punctual", &ours), ("punctual --no-bpf", &plain)] {
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted[sorted.len() / 2];
        let agrees = if (low..=high).contains(&middle) { "agrees" } else { "does not agree" };
        println!("{name}: the middle of its medians, {middle:.1}, {agrees} with cyclictest's {low:.1} to {high:.1}");
    }
}

fn median_us(bpf: bool) -> f64 {
    let directory = tempfile::tempdir().expect("a directory");
    let duration_ns = Some(SECONDS * 1_000_000_000);
    let plan = Plan { duration_ns, cpus: Some(vec![0]), bpf, ..Plan::new(directory.path().join("a")) };
    let outcome = run(&plan, &mut |_| Step::Go).expect("a recording");
    let total = outcome.document.distributions.sum(|key| key.stage == Stage::Total);
    total.quantile(0.5).unwrap_or(0) as f64 / 1000.0
}

/// The median of cyclictest's histogram, which counts in whole microseconds: the middle of that bucket.
fn cyclictest_median_us(program: &std::path::Path) -> Option<f64> {
    let loops = (SECONDS * 1000).to_string();
    let output = std::process::Command::new(program)
        .args(["-q", "-p", "80", "-t", "1", "-a", "0", "-i", "1000", "-m", "-h", "20000", "-l", &loops])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let buckets: Vec<(f64, u64)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
        })
        .collect();
    let half = buckets.iter().map(|(_, count)| count).sum::<u64>() / 2;
    let mut seen = 0;
    buckets.into_iter().find_map(|(value, count)| {
        seen += count;
        (seen > half).then_some(value + 0.5)
    })
}
