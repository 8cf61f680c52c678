//! How often the intervals hold what they promise: simulated recordings of known tails, forecast through the same code
//! as real ones.
//!
//! `cargo bench -p punctual-forecast --bench coverage -- [--runs 500] [--tail NAME] [--hours 1]`
//!
//! Each run is a recording of `hours` at 1 kHz with about 5,000 stalls an hour. It asks for the level of an hour, of a
//! day (8 hours of use) and of a week (40 hours), and the mean time between underruns of devices that meet 3, 6 and 30
//! stalls an hour (at 3 the chance of seeing none in an hour is just 5 %: the worst case of the bound). It prints the
//! share of intervals that hold the truth (`covered`) and that lie wholly on the unsafe side of it (`unsafe`: level too
//! low, time too long), and the share of forecasts that were withheld (`vetoed`), which count as neither. `bound`: the
//! share of runs in which "stalls longer than all seen come at most three times in as long as was measured" is true;
//! every forecast prints it.

use punctual_forecast::{Horizon, Input, Late, Lateness, Method, ObservedTask};
use punctual_random::Random;
use punctual_recording::{Distribution, Stage};
use std::collections::BTreeMap;

const STALLS_AN_HOUR: f64 = 5_000.0;
const PERIOD_NS: u64 = 1_000_000;
const HOUR_NS: f64 = 3.6e12;
/// The shortest stall, ns, and the scale of what lies above it.
const FLOOR_NS: f64 = 200_000.0;
const SCALE_NS: f64 = 100_000.0;

/// The lengths of stalls: the length, in scales, that a share `survival` of the stalls exceeds.
#[derive(Clone, Copy)]
enum Lengths {
    Pareto(f64),
    Lognormal,
    Weibull,
    /// Exponential, and this many stalls an hour of 20 to 40 scales.
    RareMode(f64),
}

impl Lengths {
    fn quantile(self, survival: f64) -> f64 {
        match self {
            Lengths::Pareto(shape) if shape.abs() < 1e-9 => -survival.ln(),
            Lengths::Pareto(shape) => (survival.powf(-shape) - 1.0) / shape,
            Lengths::Lognormal => normal_quantile(1.0 - survival).exp(),
            Lengths::Weibull => (-survival.ln()).powi(2),
            Lengths::RareMode(_) => {
                let (mut low, mut high) = (0.0f64, 60.0f64);
                for _ in 0..80 {
                    let middle = 0.5 * (low + high);
                    if self.survival(middle) > survival { low = middle } else { high = middle }
                }
                0.5 * (low + high)
            }
        }
    }

    fn survival(self, length: f64) -> f64 {
        match self {
            Lengths::RareMode(rate) => {
                let share = rate / STALLS_AN_HOUR;
                let rare = (1.0 - (length - 20.0) / 20.0).clamp(0.0, 1.0);
                (1.0 - share) * (-length).exp() + share * rare
            }
            Lengths::Pareto(shape) if shape.abs() < 1e-9 => (-length).exp(),
            Lengths::Pareto(shape) => (1.0 + shape * length).max(0.0).powf(-1.0 / shape),
            Lengths::Weibull => (-length.sqrt()).exp(),
            Lengths::Lognormal => {
                let (mut low, mut high) = (0.0f64, 1.0f64);
                for _ in 0..60 {
                    let middle = 0.5 * (low + high);
                    if self.quantile(middle) > length { low = middle } else { high = middle }
                }
                0.5 * (low + high)
            }
        }
    }
}

/// By bisection of the complementary error function's continued form: slow, but good enough here.
fn normal_quantile(p: f64) -> f64 {
    // Abramowitz and Stegun 26.2.17 has 7 digits, far below the noise of 500 runs.
    let cumulative = |x: f64| {
        let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
        let poly =
            t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
        let upper = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt() * poly;
        if x >= 0.0 { 1.0 - upper } else { upper }
    };
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if cumulative(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[derive(Clone, Copy, PartialEq)]
enum Times {
    Poisson,
    /// Each stall is followed by late wakeups of the same cause: 1 in 0.3 on average.
    Clustered,
    /// At regular intervals, to the millisecond.
    Periodic,
}

const TAILS: [(&str, Lengths, Times); 8] = [
    ("exponential", Lengths::Pareto(0.0), Times::Poisson),
    ("gpd+0.2", Lengths::Pareto(0.2), Times::Poisson),
    ("gpd-0.3", Lengths::Pareto(-0.3), Times::Poisson),
    ("lognormal", Lengths::Lognormal, Times::Poisson),
    ("weibull", Lengths::Weibull, Times::Poisson),
    ("clustered", Lengths::Pareto(0.0), Times::Clustered),
    ("periodic", Lengths::Pareto(0.0), Times::Periodic),
    ("rare-mode", Lengths::RareMode(0.25), Times::Poisson),
];

fn record(lengths: Lengths, times: Times, hours: f64, random: &mut Random) -> Input {
    let end = hours * HOUR_NS;
    let mut largest: Vec<Late> = Vec::new();
    let mut at = 0.0;
    loop {
        let mean = HOUR_NS / STALLS_AN_HOUR;
        at += if times == Times::Periodic { mean } else { random.exponential() * mean };
        if at >= end {
            break;
        }
        let value = FLOOR_NS + SCALE_NS * lengths.quantile(random.uniform());
        let due = at as u64 / PERIOD_NS * PERIOD_NS;
        largest.push(Late { at_ns: due, task: 0, value_ns: value as u64 });
        let (mut next, mut share) = (due, 1.0);
        while times == Times::Clustered && random.uniform() > 0.3 {
            next += PERIOD_NS;
            share *= 0.8;
            largest.push(Late { at_ns: next, task: 0, value_ns: (value * share) as u64 });
        }
    }
    largest.sort_unstable_by_key(|late| std::cmp::Reverse(late.value_ns));
    let wakeups = (end / PERIOD_NS as f64) as u64;
    let mut distribution = Distribution::new();
    distribution.record_n(10_000, wakeups - largest.len() as u64);
    for late in &largest {
        distribution.record(late.value_ns);
    }
    let complete_above_ns = if largest.len() > 10_000 { largest[9_999].value_ns } else { 10_000 };
    largest.truncate(10_000);
    largest.sort_unstable();
    Input {
        measure: "fifo:80".into(),
        load: "simulated".into(),
        compression_thousandths: None,
        exposure_ns: end as u64,
        tasks: vec![ObservedTask { tid: 1, cpu: None, period_ns: PERIOD_NS, wakeups, missed: Some(0) }],
        stages: BTreeMap::from([(
            Stage::Total,
            Lateness { distribution, largest, complete_above_ns, by_task: Vec::new() },
        )]),
        lost: 0,
        cut: false,
        cycles: None,
        cautions: Vec::new(),
    }
}

#[derive(Default, Clone)]
struct Cell {
    covered: u32,
    unsafe_side: u32,
    answered: u32,
    method: String,
    ratios: Vec<f64>,
}

impl Cell {
    fn count(&mut self, low: Option<f64>, high: Option<f64>, truth: f64, unsafe_if_high_below: bool) {
        self.answered += 1;
        let above = low.is_some_and(|low| low > truth);
        let below = high.is_some_and(|high| high < truth);
        self.covered += u32::from(!above && !below);
        self.unsafe_side += u32::from(if unsafe_if_high_below { below } else { above });
        if let Some(high) = high {
            self.ratios.push(high / truth);
        }
    }

    fn line(&mut self, tail: &str, what: &str, runs: u32) -> String {
        let share = |count: u32| {
            if self.answered == 0 {
                "   -".into()
            } else {
                format!("{:4.2}", f64::from(count) / f64::from(self.answered))
            }
        };
        self.ratios.sort_unstable_by(f64::total_cmp);
        let ratio = self.ratios.get(self.ratios.len() / 2).map_or("-".into(), |ratio| format!("{ratio:.2}"));
        format!(
            "{tail:12} {what:12} {:>16} {:>8} {:>8} {:8.2} {ratio:>8}",
            self.method,
            share(self.covered),
            share(self.unsafe_side),
            1.0 - f64::from(self.answered) / f64::from(runs)
        )
    }
}

#[allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut runs, mut hours, mut only) = (500u32, 1.0f64, None);
    while let Some(argument) = arguments.next() {
        let value = arguments.next();
        match (argument.as_str(), value) {
            ("--runs", Some(value)) => runs = value.parse().expect("a number of runs"),
            ("--hours", Some(value)) => hours = value.parse().expect("a number of hours"),
            ("--tail", Some(value)) => only = Some(value),
            (other, _) => panic!("unknown argument {other}: --runs, --hours, --tail NAME"),
        }
    }
    let horizons = [
        ("hour", Horizon::Hour),
        ("day", Horizon::Nanoseconds(8 * 3_600_000_000_000)),
        ("week", Horizon::Nanoseconds(40 * 3_600_000_000_000)),
    ];
    println!("{runs} runs a cell, {hours} h measured, nominal 95 %; `high` is the median upper limit over the truth");
    println!("tail         asked                  method  covered   unsafe   vetoed     high");
    for (index, (name, lengths, times)) in TAILS.into_iter().enumerate() {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let mut levels = vec![Cell::default(); horizons.len()];
        let mut rates = vec![Cell::default(); 3];
        let mut bound = 0;
        for run in 0..runs {
            let mut random = Random((index as u64) << 32 | u64::from(run));
            let input = record(lengths, times, hours, &mut random);
            let tail = input.tail(Stage::Total).expect("the stage was recorded");
            for (cell, (_, horizon)) in levels.iter_mut().zip(horizons) {
                let seconds = horizon.seconds(punctual_forecast::Usage::of(None));
                let truth = FLOOR_NS + SCALE_NS * lengths.quantile(3_600.0 / seconds / STALLS_AN_HOUR);
                let level = tail.level(seconds * 1e9);
                if level.method != Method::Bound {
                    level.method.name().clone_into(&mut cell.method);
                    cell.count(level.level.low, level.level.high, truth, true);
                }
            }
            let longest = (tail.longest_ns().unwrap_or(0) as f64 - FLOOR_NS) / SCALE_NS;
            bound += u32::from(lengths.survival(longest) * STALLS_AN_HOUR * hours <= 3.0);
            for (cell, per_hour) in rates.iter_mut().zip([3.0, 6.0, 30.0]) {
                let slack = FLOOR_NS + SCALE_NS * lengths.quantile(per_hour / STALLS_AN_HOUR);
                let underruns = input.underruns(&device(slack as u64), Stage::Total).expect("a device that works");
                "counts".clone_into(&mut cell.method);
                cell.count(underruns.mttf_s.low, underruns.mttf_s.high, 3_600.0 / per_hour, false);
            }
        }
        for (cell, (what, _)) in levels.iter_mut().zip(horizons) {
            println!("{}", cell.line(name, what, runs));
        }
        for (cell, what) in rates.iter_mut().zip(["mttf 20 min", "mttf 10 min", "mttf 2 min"]) {
            println!("{}", cell.line(name, what, runs));
        }
        println!("{name:12} {:12} {:>16} {:8.2}", "bound", "3/T", f64::from(bound) / f64::from(runs));
    }
}

/// A device of the recording's own period with this slack, ns: it computes for the rest of its buffers.
fn device(slack_ns: u64) -> punctual_device::Profile {
    let buffers = (slack_ns.div_ceil(PERIOD_NS) + 1) as u32;
    let compute = u64::from(buffers - 1) * PERIOD_NS - slack_ns;
    let any = punctual_device::Catalogue::shipped().profiles()[0].clone();
    any.with_period(PERIOD_NS).with_buffers(buffers).with_compute(compute)
}
