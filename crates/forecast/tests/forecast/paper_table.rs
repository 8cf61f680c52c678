//! The paper's table, from tails that have its levels.

use punctual_forecast::{Horizon, Input, Late, Lateness, LoadClass, ObservedTask, Question, Stage, answer};
use punctual_recording::Distribution;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

/// Table 3 of Cota-Robles and Held (OSDI 1999), ms: interrupt to ISR, ISR to DPC, the printed sum, DPC to a
/// high-priority thread, the printed sum, DPC to a medium-priority thread, the printed sum; by load and horizon.
/// The first cell is printed as less than 1.0.
const TABLE: [(LoadClass, [[f64; 7]; 3]); 4] = [
    (
        LoadClass::Office,
        [
            [0.9, 0.1, 1.0, 1.6, 2.6, 3.1, 4.1],
            [1.4, 0.1, 1.5, 5.2, 6.7, 6.7, 8.2],
            [1.6, 0.4, 2.0, 31.0, 33.0, 31.0, 33.0],
        ],
    ),
    (
        LoadClass::Workstation,
        [
            [2.2, 0.5, 2.7, 21.0, 24.0, 21.0, 24.0],
            [5.6, 0.5, 6.1, 24.0, 30.0, 23.0, 29.0],
            [6.3, 0.6, 6.9, 24.0, 31.0, 24.0, 31.0],
        ],
    ),
    (
        LoadClass::Games,
        [
            [8.8, 0.9, 9.7, 35.0, 45.0, 36.0, 46.0],
            [9.7, 2.1, 12.0, 46.0, 58.0, 47.0, 59.0],
            [12.2, 2.1, 14.0, 70.0, 84.0, 70.0, 84.0],
        ],
    ),
    (
        LoadClass::Web,
        [
            [1.1, 0.2, 1.3, 14.0, 15.0, 51.0, 52.0],
            [1.7, 0.3, 2.0, 68.0, 70.0, 68.0, 70.0],
            [3.5, 0.3, 3.8, 80.0, 84.0, 80.0, 84.0],
        ],
    ),
];

/// A tail in which a week's level is `levels[2]`, a day's `levels[1]`, an hour's `levels[0]`, ms, in eight weeks.
fn stage_with(levels: [f64; 3], class: LoadClass, exposure_ns: u64) -> Lateness {
    let usage = punctual_forecast::Usage::of(Some(class));
    let hours = exposure_ns as f64 / 3.6e12 * class.compression_thousandths() as f64 / 1_000.0;
    let ranks = [hours, hours * 3_600.0 / usage.day_s, 8.0].map(|rank| rank.round() as usize + 20);
    let mut largest = Vec::new();
    for rank in 0..ranks[0] {
        let horizon = (0..3).rev().find(|&horizon| rank < ranks[horizon]).unwrap();
        // In no particular order of length, and evenly spaced: by the golden section.
        let at_ns = ((rank as f64 * 0.618_034).fract() * exposure_ns as f64) as u64;
        // A week's level ranks 8th of those, a day's further down.
        let value = if rank < 14 { levels[2] } else { levels[horizon.min(if rank < ranks[1] { 1 } else { 0 })] };
        largest.push(Late { at_ns, task: 0, value_ns: (value * 1e6).round() as u64 });
    }
    largest.sort_unstable();
    let mut distribution = Distribution::new();
    largest.iter().for_each(|late| distribution.record(late.value_ns));
    distribution.record_n(10_000, 1_000_000);
    Lateness { distribution, largest, complete_above_ns: 10_000, by_task: Vec::new() }
}

#[test]
fn the_papers_table_comes_out_of_composites() {
    for (class, rows) in TABLE {
        let week_h = punctual_forecast::Usage::of(Some(class)).week_s / 3_600.0;
        let exposure_ns = (8.0 * week_h * 3.6e12 * 1_000.0 / class.compression_thousandths() as f64) as u64;
        let column = |of: &dyn Fn(&[f64; 7]) -> f64| [of(&rows[0]), of(&rows[1]), of(&rows[2])];
        // Composites belong to the same wakeups, as in the paper's table: their levels are then its sums.
        let composites = [
            (Stage::Irq, column(&|row| row[0])),
            (Stage::DpcInterruptLatency, column(&|row| row[0] + row[1])),
            (Stage::ThreadLatency, column(&|row| row[2] + row[3])),
            (Stage::Total, column(&|row| row[2] + row[5])),
        ];
        let stages: BTreeMap<Stage, Lateness> =
            composites.map(|(stage, levels)| (stage, stage_with(levels, class, exposure_ns))).into();
        let input = Input {
            measure: "fifo:80".into(),
            load: "paper".into(),
            compression_thousandths: Some(class.compression_thousandths()),
            exposure_ns,
            tasks: vec![ObservedTask { tid: 1, cpu: None, period_ns: MS, wakeups: exposure_ns / MS, missed: Some(0) }],
            stages,
            lost: 0,
            cut: false,
            cycles: None,
            cautions: Vec::new(),
        };
        let usage = Some(punctual_forecast::Usage::of(Some(class)));
        let question = Question { stages: Question::TABLE_STAGES.to_vec(), usage, ..Question::default() };
        let found = answer(&[input], &question).unwrap();
        let printed = [(Stage::DpcInterruptLatency, 2), (Stage::ThreadLatency, 4), (Stage::Total, 6)];
        for (stage, cell) in printed {
            for (row, horizon) in [Horizon::Hour, Horizon::Day, Horizon::Week].into_iter().enumerate() {
                let worst = found.groups[0].worst.iter().find(|worst| worst.stage == stage && worst.horizon == horizon);
                let level_ms = worst.unwrap().level.level.value.unwrap() / 1e6;
                let expected = rows[row][cell];
                // Printed to two digits.
                let rounding = if expected >= 10.0 { 0.55 } else { 0.06 };
                assert!(
                    (level_ms - expected).abs() <= rounding,
                    "{class:?} {stage:?} {horizon}: {level_ms} for {expected}"
                );
            }
        }
    }
}
