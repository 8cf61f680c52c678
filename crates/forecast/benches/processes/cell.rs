//! What the answers to simulated recordings of one length come to: how often they are right, refused and wrong.

use super::SCALE_NS;
use super::process::Process;
use super::recorded::{PERIOD_NS, record};
use punctual_forecast::{Input, Method, Outcome, Stage};
use punctual_random::Random;

/// How often the devices run dry in the long run, a second.
const RATES: [f64; 3] = [1.0, 0.1, 0.01];
const HOUR_S: f64 = 3_600.0;
/// Below this length of a recording, s, nothing is said of the next hour.
const SHORT_S: f64 = 1_700.0;

/// Of one device.
#[derive(Default)]
struct Cell {
    covered: u32,
    unsafe_side: u32,
    conditional: u32,
    holds: u32,
    false_holds: u32,
    false_conditional: u32,
}

/// Of the worst hour.
#[derive(Default)]
struct Hour {
    refused: u32,
    covered: u32,
    unsafe_side: u32,
    /// The next hour: how often its limit was said, and how often it held.
    said: u32,
    held: u32,
}

/// What was counted of one process.
pub(crate) struct Counted {
    process: Process,
    /// The slack of each device, ns, and of the level exceeded once an hour.
    slacks: [u64; RATES.len()],
    level: f64,
    cells: [Cell; RATES.len()],
    hour: Hour,
    runs: u32,
}

impl Counted {
    pub(crate) fn new(process: Process) -> Counted {
        Counted {
            process,
            slacks: RATES.map(|rate| (process.level(rate) * SCALE_NS) as u64),
            level: process.level(1.0 / HOUR_S / process.of_all_cpus()) * SCALE_NS,
            cells: Default::default(),
            hour: Hour::default(),
            runs: 0,
        }
    }

    /// Records it once, from this seed, and asks.
    pub(crate) fn run(&mut self, seconds: f64, seed: u64) {
        let after = if seconds < SHORT_S { 0.0 } else { HOUR_S };
        let (input, later) = record(self.process, seconds, after, &mut Random(seed));
        self.runs += 1;
        for ((cell, rate), slack) in self.cells.iter_mut().zip(RATES).zip(self.slacks) {
            cell.ask(&input, slack, 1.0 / rate);
        }
        self.hour.ask(&input, self.level, later * SCALE_NS);
    }

    #[allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
    pub(crate) fn print(&self, of: &str) {
        let share = |count: u32, of: u32| {
            if of == 0 { "-".to_owned() } else { format!("{:.3}", f64::from(count) / f64::from(of)) }
        };
        let runs = self.runs;
        for (cell, rate) in self.cells.iter().zip(RATES) {
            println!(
                "{of} {:>5} s {:>8} {:>7} {:>7} {:>7} {:>7} {:>7}",
                1.0 / rate,
                share(cell.covered, runs),
                share(cell.unsafe_side, runs),
                share(cell.conditional, runs),
                share(cell.holds, runs),
                share(cell.false_holds, runs),
                share(cell.false_conditional, runs)
            );
        }
        let hour = &self.hour;
        println!(
            "{of} {:>7} {:>8} {:>7} refused {:>7}; next hour: refused {:>7}, below {}",
            "hour",
            share(hour.covered, runs - hour.refused),
            share(hour.unsafe_side, runs - hour.refused),
            share(hour.refused, runs),
            share(runs - hour.said, runs),
            share(hour.held, hour.said)
        );
    }
}

impl Cell {
    /// Asks for a device with this slack, ns, which runs dry once in `truth` seconds.
    fn ask(&mut self, input: &Input, slack: u64, truth: f64) {
        // Wants are whole seconds: the device is asked with one, and its limits are held against others.
        let found = input.underruns(&device(slack), Stage::Total).expect("a device that works");
        let above = found.mttf_s.low.is_some_and(|low| low > truth);
        let under = found.mttf_s.high.is_some_and(|high| high < truth);
        let conditional = !found.is_settled;
        assert!(found.outcome != Outcome::Holds || !conditional);
        self.covered += u32::from(!above && !under);
        self.unsafe_side += u32::from(above);
        self.conditional += u32::from(conditional);
        self.holds += u32::from(found.holds_low_s >= 0.5 * truth);
        // At twice the truth it is false as well, and less often.
        let wrong = found.holds_low_s >= 1.001 * truth;
        self.false_holds += u32::from(wrong && !conditional);
        self.false_conditional += u32::from(wrong && conditional);
    }
}

impl Hour {
    /// Asks for the worst hour, of which the level is known, and for the next one, which came to `later`: ns.
    fn ask(&mut self, input: &Input, truth: f64, later: f64) {
        let tail = input.tail(Stage::Total).expect("the stage was recorded");
        let level = tail.level(HOUR_S * 1e9);
        if level.method == Method::Bound {
            self.refused += 1;
        } else {
            let low = level.level.high.is_some_and(|high| high < truth);
            self.unsafe_side += u32::from(low);
            self.covered += u32::from(!low && level.level.low.is_none_or(|low| low <= truth));
        }
        if let Ok(next) = tail.next(HOUR_S * 1e9) {
            self.said += 1;
            self.held += u32::from(later <= next as f64);
        }
    }
}

/// A device of the recording's own period with this slack, ns: it computes for what is left of its buffers.
fn device(slack_ns: u64) -> punctual_device::Profile {
    let buffers = (slack_ns.div_ceil(PERIOD_NS) + 1).max(2) as u32;
    let compute = u64::from(buffers - 1) * PERIOD_NS - slack_ns;
    let any = punctual_device::Catalogue::shipped().profiles()[0].clone();
    any.with_period(PERIOD_NS).with_buffers(buffers).with_compute(compute)
}
