//! How long a forecast of a day at 1 kHz takes, and how much memory.
//!
//! `cargo bench -p punctual-forecast --bench day -- [--tasks 2]`
//!
//! The input is made up: 86.4 million wakeups a task, as its document, tail and block maxima would hold them, in all
//! stages. The time runs from those to the whole answer about every shipped device, with advice, curves and the table
//! of worst cases.

use punctual_device::Catalogue;
use punctual_forecast::{CurveQuestion, Input, Question, Stage, answer};
use punctual_recording::{
    BLOCK_NS, Counters, Document, Host, LoadInfo, Provenance, SCHEMA, TAIL_LENGTH, TailValue, Task,
};
use std::time::Instant;

const DAY_S: u64 = 86_400;

/// Deterministic noise in (0, 1).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn recording(tasks: u32) -> (Document, Vec<TailValue>) {
    let mut state = 1;
    let wakeups = DAY_S * 1_000;
    let mut tail = Vec::new();
    let mut document = Document {
        kind: None,
        schema: SCHEMA.to_owned(),
        ended: None,
        provenance: Provenance {
            host: Host::default(),
            load: LoadInfo { name: "office".into(), ..LoadInfo::default() },
            ..Provenance::default()
        },
        tasks: Vec::new(),
        counters: Counters::default(),
        limits: Vec::new(),
        segments: 0,
        distributions: Default::default(),
        last_ns: 0,
        followed: None,
        recorder: None,
        added: 0,
    };
    for tid in 0..tasks {
        let counters = Counters { wakeups, missed: Some(1), ..Counters::default() };
        document.tasks.push(Task { measure: "fifo:80".into(), tid, cpu: Some(tid), period_ns: 1_000_000, counters });
        for stage in Stage::ALL {
            let key = punctual_recording::Key { measure: "fifo:80".into(), stage, cpu: tid, load: "office".into() };
            let distribution = document.distributions.entry(key);
            distribution.record_n(20_000, wakeups - 200_000);
            for _ in 0..200_000 {
                distribution.record(20_000 + (-100_000.0 * uniform(&mut state).ln()) as u64);
            }
            for _ in 0..TAIL_LENGTH {
                let expected_ns = (uniform(&mut state) * (DAY_S * BLOCK_NS) as f64) as u64;
                let value_ns = 320_000 + (-300_000.0 * uniform(&mut state).ln()) as u64;
                distribution.record(value_ns);
                tail.push(TailValue { tid, stage, expected_ns, value_ns });
            }
        }
    }
    (document, tail)
}

fn memory_mb(field: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1_024.0)
}

#[allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--tasks").skip(1);
    let tasks = arguments.next().map_or(2, |count| count.parse().expect("a number of tasks"));
    let (document, tail) = recording(tasks);
    let question = Question {
        devices: Catalogue::shipped().profiles().to_vec(),
        stages: Question::TABLE_STAGES.to_vec(),
        advise: true,
        reliabilities: vec![0.999, 0.999_99],
        curve: Some(CurveQuestion {
            device: None,
            buffering_ns: (1..=32).map(|ms| ms * 1_000_000).collect(),
            compute_thousandths: 250,
            stages: vec![Stage::DpcInterruptLatency, Stage::Total],
        }),
        ..Question::default()
    };
    let begin = Instant::now();
    let seconds: Vec<u64> = (0..DAY_S).collect();
    let inputs = Input::from_recording(&document, &tail, &seconds, &[]).expect("it holds wakeups");
    let taken_in = begin.elapsed();
    let found = answer(&inputs, &question).expect("it can be answered");
    println!(
        "{tasks} tasks, a day at 1 kHz: taken in {:.0} ms, answered in all {:.0} ms, at most {:.0} MB resident",
        taken_in.as_secs_f64() * 1e3,
        begin.elapsed().as_secs_f64() * 1e3,
        memory_mb("VmHWM").unwrap_or(f64::NAN)
    );
    println!("{}", found.verdict);
}
