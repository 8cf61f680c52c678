//! How far repeats of one measurement lie apart, and what `compare` makes of them, on real recordings.
//!
//! `cargo bench -p punctual-comparison --bench repeats -- DIRECTORY [--csv]`
//!
//! The directory holds recordings of one measurement, named in the order in which they were made. For each quantile of
//! the total it prints the standard deviation of its logarithm between runs, between neighbours, and as the seconds of
//! a run alone suggest; then the share of false alarms when neighbours, and groups of neighbours in turn, are compared.
//! With `--csv` it prints a line for each run, stage and quantile.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use punctual_comparison::{Estimate, FIGURES, Gather, Outcome, Run, Side, compare};
use punctual_recording::{Recording, Stage};
use std::path::PathBuf;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let Some(directory) = words.iter().find(|word| !word.starts_with("--")) else {
        println!("give a directory with recordings of one measurement");
        return;
    };
    let entries = std::fs::read_dir(directory).expect("a directory").flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.join("recording.json").exists()).collect();
    paths.sort();
    let runs: Vec<Run> = paths.iter().map(read).collect();
    if words.iter().any(|word| word == "--csv") {
        for (path, run) in paths.iter().zip(&runs) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            for ((_, stage), about) in &run.stages {
                for (estimate, quantile) in about.estimates.iter().zip(&FIGURES) {
                    println!("{name},{},{},{:.6},{:.6}", stage.name(), quantile.name, estimate.ln, estimate.variance);
                }
            }
        }
        return;
    }
    println!("quantile  between runs  neighbours/sqrt 2  within");
    for (index, quantile) in FIGURES.iter().enumerate() {
        let of_run = |run: &Run| -> Option<Estimate> {
            let total = run.stages.iter().find(|((_, stage), _)| *stage == Stage::Total)?;
            total.1.estimates.get(index).copied()
        };
        let all: Vec<Estimate> = runs.iter().filter_map(of_run).collect();
        if all.len() < 3 {
            continue;
        }
        let count = all.len() as f64;
        let mean = all.iter().map(|one| one.ln).sum::<f64>() / count;
        let between = all.iter().map(|one| (one.ln - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let neighbours = all.windows(2).map(|two| 0.5 * (two[1].ln - two[0].ln).powi(2)).sum::<f64>() / (count - 1.0);
        let within = all.iter().map(|one| one.variance).sum::<f64>() / count;
        println!("{:12} {:13.3} {:18.3} {:7.3}", quantile.name, between.sqrt(), neighbours.sqrt(), within.sqrt());
    }
    for group in [1usize, 2, 3, 5] {
        let (mut compared, mut alarms, mut stage_alarms) = (0, 0, 0);
        for chunk in runs.windows(2 * group).step_by(group) {
            // A B B A A B ...
            let side = |wanted: bool| {
                let own = chunk.iter().enumerate().filter(|(index, _)| (index % 4 == 0 || index % 4 == 3) == wanted);
                own.map(|(_, run)| run.clone()).collect::<Vec<Run>>()
            };
            let sides = [true, false].map(|a| Side { name: String::new(), runs: side(a), inputs: Vec::new() });
            let comparison = compare(&sides[0], &sides[1], &[]).expect("recordings of one measurement");
            compared += 1;
            for stage in comparison.stages.iter().filter(|stage| stage.verdict.by.is_some()) {
                let ratio = stage.shown().expect("what decided");
                let about = format!("{} {} {}", stage.stage.name(), ratio.figure.name, stage.verdict.outcome.name());
                println!("    {about}: {:.2} ({:.2} to {:.2})", ratio.estimate, ratio.low, ratio.high);
            }
            alarms += usize::from(comparison.outcome != Outcome::NoDifference);
            let others = comparison.stages.iter().filter(|stage| stage.stage != Stage::Total);
            stage_alarms += usize::from(others.into_iter().any(|stage| stage.verdict.outcome != Outcome::NoDifference));
        }
        println!(
            "{group} against {group} in turn: {alarms} false alarms in {compared}; in {stage_alarms} some other stage"
        );
    }
}

fn read(path: &PathBuf) -> Run {
    let recording = Recording::open(path).expect("a recording");
    let mut gather = Gather::new(recording.document().clone());
    recording.for_each_wakeup(|wakeup| gather.push(wakeup)).expect("a whole recording");
    gather.finish().expect("wakeups")
}
