//! A simulated recording: what [`Input`] holds of a real one, and the hour that followed it.

use super::process::Process;
use super::{SCALE_NS, floor};
use punctual_forecast::{Input, Late, Lateness, ObservedTask};
use punctual_random::Random;
use punctual_recording::{Distribution, Stage};
use std::collections::BTreeMap;

pub(crate) const PERIOD_NS: u64 = 1_000_000;
const KEPT: usize = 10_000;

/// Records a process for this many seconds, and looks how late its wakeups are in this many after that: scales, on any
/// CPU.
pub(crate) fn record(process: Process, seconds: f64, after: f64, random: &mut Random) -> (Input, f64) {
    let mut cpus = process.run(seconds, seconds + after, random);
    let later = cpus.iter().flatten().filter(|event| event.0 >= seconds).map(|event| event.1).fold(0.0, f64::max);
    cpus.iter_mut().for_each(|events| events.retain(|event| event.0 < seconds && event.1 > floor()));
    (input(&cpus, seconds), later)
}

fn input(cpus: &[Vec<(f64, f64)>], seconds: f64) -> Input {
    let wakeups = (seconds * 1e9 / PERIOD_NS as f64) as u64;
    let (mut all, mut by_task, mut sum) = (Vec::new(), Vec::new(), Distribution::new());
    for (task, events) in cpus.iter().enumerate() {
        let mut largest: Vec<Late> = events
            .iter()
            .map(|&(at, value)| {
                let at_ns = (at * 1e9) as u64 / PERIOD_NS * PERIOD_NS;
                Late { at_ns, task, value_ns: (value * SCALE_NS) as u64 }
            })
            .collect();
        let mut distribution = Distribution::new();
        distribution.record_n(10_000, wakeups.saturating_sub(largest.len() as u64));
        largest.iter().for_each(|late| distribution.record(late.value_ns));
        let mut complete = (floor() * SCALE_NS) as u64;
        if largest.len() > KEPT {
            let (_, last, _) = largest.select_nth_unstable_by_key(KEPT - 1, |late| std::cmp::Reverse(late.value_ns));
            complete = last.value_ns;
            largest.truncate(KEPT);
        }
        sum.add(&distribution);
        by_task.push((distribution, complete));
        all.extend(largest);
    }
    all.sort_unstable();
    let complete_above_ns = by_task.iter().map(|task| task.1).max().unwrap_or(0);
    let tasks: Vec<ObservedTask> = (0..cpus.len() as u32)
        .map(|cpu| ObservedTask { tid: cpu + 1, cpu: Some(cpu), period_ns: PERIOD_NS, wakeups, missed: Some(0) })
        .collect();
    let lateness = Lateness { distribution: sum, largest: all, complete_above_ns, by_task };
    Input {
        measure: "fifo:80".into(),
        load: "simulated".into(),
        compression_thousandths: None,
        exposure_ns: (seconds * 1e9) as u64,
        tasks,
        stages: BTreeMap::from([(Stage::Total, lateness)]),
        lost: 0,
        cut: false,
        cycles: None,
        cautions: Vec::new(),
    }
}
