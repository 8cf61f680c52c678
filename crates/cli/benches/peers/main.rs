//! What looking costs, beside every peer that is installed, in one run: `cargo bench --workspace --profile dev --bench peers` as
//! root. `-- perf log` runs those whose names contain one of the words; `-- rounds=1` one round.
//!
//! Threads of this program switch as fast as they can, then 10,000 times a second, then as an audio engine does, with one
//! collector after another attached, several rounds in turn. Each is held against its round's run with nothing attached, so that
//! what changed between rounds cancels: read the differences.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod collectors;
#[path = "../workloads/mod.rs"]
mod workloads;

use collectors::{Collector, Kept};
use punctual_kernel::capabilities;
use punctual_kernel::scheduling::Scheduling;
use std::io::Write;
use workloads::Spent;

const ROUNDS: usize = 5;

/// What one collector cost in one round.
struct Round {
    /// A switch as fast as they come.
    fast: Spent,
    /// 10,000 switches a second.
    paced: Spent,
    /// Periods of an audio engine.
    audio: Spent,
    /// CPU time of the collector's processes for each switch, while paced, ns.
    reader_ns: f64,
    /// And from when it had begun until it was stopped, ns.
    seen_ns: f64,
    kept: Kept,
    switches: f64,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        return;
    }
    if let Err(refused) = capabilities::try_scheduling(Scheduling::Fifo(50)) {
        println!("SKIPPED: the benchmark needs real-time priority ({refused})");
        return;
    }
    let rounds = words.iter().find_map(|word| word.strip_prefix("rounds=")?.parse().ok()).unwrap_or(ROUNDS);
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-') && !word.contains('=')).collect();
    let is_wanted = |collector: &&Collector| {
        collector.is_nothing() || wanted.is_empty() || wanted.iter().any(|word| collector.name.contains(word.as_str()))
    };
    let all = collectors::all();
    let mut rows: Vec<(&Collector, Vec<Round>)> = Vec::new();
    for collector in all.iter().filter(is_wanted) {
        match collector.missing() {
            None => rows.push((collector, Vec::new())),
            Some(why) => println!("{:<28} {why}", collector.name),
        }
    }
    for number in 0..rounds {
        for (collector, results) in &mut rows {
            print!("\rround {} of {rounds}: {:<28}", number + 1, collector.name);
            let _ = std::io::stdout().flush();
            match measure(collector) {
                Ok(round) => results.push(round),
                Err(why) => println!("\r{:<28} {why}", collector.name),
            }
        }
    }
    println!("\r{:<50}", "");
    print_table(&rows);
}

fn measure(collector: &Collector) -> Result<Round, String> {
    let mut running = collector.start()?;
    let begun_ns = running.cpu_ns();
    // No part of what a switch costs: a recording with causes has the kernel measure its programs until enough events have
    // passed. `--bench programs -- outside` has a row for that.
    let beginning = workloads::ping_pong();
    running.settle()?;
    let fast = workloads::ping_pong();
    // What is left of the fast switches is no part of what paced ones cost.
    running.settle()?;
    let before_ns = running.cpu_ns();
    let paced = workloads::paced();
    let reader_ns = running.cpu_ns().saturating_sub(before_ns) as f64 / paced.count;
    let audio = workloads::audio();
    running.settle()?;
    let seen_ns = running.cpu_ns().saturating_sub(begun_ns) as f64;
    let kept = running.stop()?;
    let switches = beginning.count + fast.count + paced.count + audio.count * workloads::SWITCHES_A_PERIOD;
    Ok(Round { fast, paced, audio, reader_ns, seen_ns, kept, switches })
}

fn print_table(rows: &[(&Collector, Vec<Round>)]) {
    let Some((_, nothing)) = rows.first().filter(|(_, rounds)| !rounds.is_empty()) else { return };
    let base = |value: fn(&Round) -> f64| middle(nothing.iter().map(value)).0;
    println!(
        "nothing attached: {:.0} ns a switch as fast as they come, {:.0} ns at 10,000 a second, {:.1} us a period of the audio engine \
         (medians of {} rounds, CPU time of the threads)\n",
        base(|round| round.fast.ns),
        base(|round| round.paced.ns),
        base(|round| round.audio.ns) / 1000.0,
        nothing.len()
    );
    println!(
        "{:<28} {:>22} {:>22} {:>20} {:>10} {:>12} {:>8} {:>18}",
        "median (from to)",
        "+ns a switch, fast",
        "+ns, 10,000/s",
        "+us an audio period",
        "reader ns",
        "bytes/switch",
        "lost",
        "printed/seen"
    );
    for (collector, rounds) in rows.iter().skip(1) {
        let more = |value: fn(&Round) -> f64, unit: f64| {
            let differences = rounds.iter().zip(nothing).map(|(round, base)| (value(round) - value(base)) / unit);
            spread(middle(differences))
        };
        let lost: Vec<u64> = rounds.iter().filter_map(|round| round.kept.lost).collect();
        let lost = if lost.is_empty() { "-".to_owned() } else { lost.iter().sum::<u64>().to_string() };
        let bytes = middle(rounds.iter().filter_map(|round| Some(round.kept.bytes? as f64 / round.switches))).0;
        let printed = rounds.iter().filter_map(|round| Some(round.kept.printed_ns? / round.seen_ns));
        println!(
            "{:<28} {:>22} {:>22} {:>20} {:>10} {:>12} {lost:>8} {:>18}",
            collector.name,
            more(|round| round.fast.ns, 1.0),
            more(|round| round.paced.ns, 1.0),
            more(|round| round.audio.ns, 1000.0),
            format!("{:.0}", middle(rounds.iter().map(|round| round.reader_ns)).0),
            if bytes.is_nan() { "-".to_owned() } else { format!("{bytes:.1}") },
            ratios(middle(printed)),
        );
    }
}

fn spread((median, least, greatest): (f64, f64, f64)) -> String {
    let digits = usize::from(median.abs() < 10.0);
    format!("{median:+.digits$} ({least:+.digits$} {greatest:+.digits$})")
}

/// Of what a command prints of its own cost to what is seen of it from outside.
fn ratios((median, least, greatest): (f64, f64, f64)) -> String {
    if median.is_nan() { "-".to_owned() } else { format!("{median:.2} ({least:.2} {greatest:.2})") }
}

/// Median, least and greatest; not a number where there is none.
fn middle(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.as_slice() {
        [] => (f64::NAN, f64::NAN, f64::NAN),
        [least, .., greatest] => (values[values.len() / 2], *least, *greatest),
        [one] => (*one, *one, *one),
    }
}
