//! Synthetic inputs for tests.

use crate::input::{Input, Late, Lateness, ObservedTask};
use punctual_device::{OnMiss, Origin, Profile, Source, Sources};
use punctual_recording::{Distribution, Stage};

pub(crate) use punctual_random::Random;

/// A device with these numbers and a want of an hour.
pub(crate) fn device(period_ns: u64, buffers: u32, compute_ns: u64) -> Profile {
    let source = || Source::Assumption(None);
    Profile {
        id: "test".into(),
        name: "Test".into(),
        what: "a device for tests".into(),
        period_ns,
        buffers,
        compute_ns,
        want_s: 3_600,
        on_miss: OnMiss::Drop,
        unit: None,
        rate_millihertz: None,
        signal: None,
        origin: Origin::Named,
        sources: Sources { period: source(), buffers: source(), compute: source(), want: source() },
        printed: None,
    }
}

/// One task with these late wakeups (when, by how much, ns; in order) beside this many that were 10 us late.
pub(crate) fn input(period_ns: u64, late: &[(u64, u64)], others: u64, missed: Option<u64>) -> Input {
    let mut distribution = Distribution::new();
    distribution.record_n(10_000, others);
    for &(_, value) in late {
        distribution.record(value);
    }
    let largest = late.iter().map(|&(at_ns, value_ns)| Late { at_ns, task: 0, value_ns }).collect();
    let wakeups = others + late.len() as u64;
    let lateness = Lateness { distribution, largest, complete_above_ns: 10_000, by_task: Vec::new() };
    Input {
        measure: "fifo:80".into(),
        load: "test".into(),
        compression_thousandths: None,
        exposure_ns: (wakeups + missed.unwrap_or(0)) * period_ns,
        tasks: vec![ObservedTask { tid: 1, cpu: None, period_ns, wakeups, missed }],
        stages: [(Stage::Total, lateness)].into(),
        lost: 0,
        cut: false,
        cycles: None,
        cautions: Vec::new(),
    }
}

/// Two CPUs at 1 kHz for an hour: this many late wakeups of 20 ms on each.
pub(crate) fn two_cpus(first: u64, second: u64) -> Input {
    let every = |count: u64| -> Vec<(u64, u64)> {
        (0..count).map(|index| (index * 3_600_000_000_000 / count, 20_000_000)).collect()
    };
    let (left, right) =
        (input(1_000_000, &every(first), 3_600_000, Some(0)), input(1_000_000, &every(second), 3_600_000, Some(0)));
    let mut both = left.clone();
    both.tasks = vec![left.tasks[0].clone(), right.tasks[0].clone()];
    (both.tasks[0].cpu, both.tasks[1].cpu) = (Some(0), Some(1));
    let (own, added) = (left.stages[&Stage::Total].clone(), right.stages[&Stage::Total].clone());
    let sum = both.stages.get_mut(&Stage::Total).unwrap();
    sum.distribution.add(&added.distribution);
    sum.by_task = vec![(own.distribution, own.complete_above_ns), (added.distribution, added.complete_above_ns)];
    sum.largest.extend(added.largest.iter().map(|late| Late { task: 1, ..*late }));
    sum.largest.sort_unstable();
    both
}
