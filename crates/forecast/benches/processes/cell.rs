//! What the answers to simulated recordings of one length amount to: how often they are right, refused and wrong.

use super::SCALE_NS;
use super::kept::{Number, Numbers};
use super::process::Process;
use super::promised::Promise;
use super::recorded::{PERIOD_NS, record};
use punctual_device::Profile;
use punctual_forecast::{
    Answer, Condition, DeviceAnswer, Group, Horizon, Method, Outcome, Question, Underruns, WorstCase, answer,
};
use punctual_random::Random;

/// How often the devices run dry in the long run, s: ten or a hundred times less often where a recording lasts so long
/// that it keeps none of the others.
fn intervals(seconds: f64) -> [f64; 3] {
    let factor = 10f64.powf((seconds / 9_000.0).log10().ceil().max(0.0));
    [factor, 10.0 * factor, 100.0 * factor]
}
const HOUR_S: f64 = 3_600.0;
/// For recordings shorter than this, s, the forecast says nothing of the next hour.
const SHORT_S: f64 = 1_700.0;

/// The counts of one device.
#[derive(Default)]
struct Cell {
    /// How often it ran dry, relative to the truth, over all runs.
    counted: f64,
    covered: u32,
    unsafe_side: u32,
    holds: u32,
    /// The same where that limit reaches 0.9 of the truth, and twice the truth: there it is false.
    near: u32,
    twice: u32,
    /// Only the recording's length would keep the forecast from saying *holds* without a condition.
    plainly: u32,
    /// The limit of a plain *holds* is beyond the truth, and the recording shows no reason for a condition, except its
    /// length.
    unwarned: u32,
    /// The limit of a *holds* with its condition is beyond the truth.
    warned: u32,
}

/// The counts of the worst hour.
#[derive(Default)]
struct Hour {
    refused: u32,
    covered: u32,
    unsafe_side: u32,
    /// The next hour: how often its limit was given, and how often it held.
    said: u32,
    held: u32,
}

/// The counts of one process.
pub(crate) struct Counted {
    process: Process,
    /// The slack of each device, and of the level exceeded once an hour, ns.
    devices: Vec<Profile>,
    seconds: f64,
    level: f64,
    cells: [Cell; 3],
    hour: Hour,
    /// Recordings that show a reason for a condition, and how many show each kind, in the order of [`REASONS`].
    shown: u32,
    reasons: [u32; REASONS.len()],
    runs: u32,
    /// What the first recording was answered, in short: another method, or another process, answers something else.
    first: u64,
}

/// What a recording may show that keeps the forecast from saying *holds* without a condition.
const REASONS: [Condition; 3] = [Condition::Memory, Condition::Clusters, Condition::Drift];

fn share(count: u32, of: u32) -> String {
    if of == 0 { "-".to_owned() } else { format!("{:.3}", f64::from(count) / f64::from(of)) }
}

impl Counted {
    pub(crate) fn new(process: Process, seconds: f64) -> Counted {
        let slack = |interval: f64| (process.level(1.0 / interval) * SCALE_NS) as u64;
        Counted {
            process,
            devices: intervals(seconds).map(|interval| device(slack(interval))).into(),
            seconds,
            level: process.level(1.0 / HOUR_S / process.of_all_cpus()) * SCALE_NS,
            cells: Default::default(),
            hour: Hour::default(),
            shown: 0,
            reasons: [0; REASONS.len()],
            runs: 0,
            first: 0,
        }
    }

    /// How many recordings were counted.
    pub(crate) fn runs(&self) -> u32 {
        self.runs
    }

    /// Whether the first recording, which came from this seed, is answered as it was.
    pub(crate) fn begins_alike(&self, seed: u64) -> bool {
        let mut again = Counted::new(self.process, self.seconds);
        again.run(seed);
        again.first == self.first
    }

    /// All that was counted, to be kept.
    pub(crate) fn numbers(&mut self) -> Numbers<'_> {
        let hour = &mut self.hour;
        let mut numbers: Numbers<'_> = vec![
            ("first".to_owned(), Number::Mark(&mut self.first)),
            ("runs".to_owned(), Number::Count(&mut self.runs)),
            ("shows".to_owned(), Number::Count(&mut self.shown)),
            ("hour refused".to_owned(), Number::Count(&mut hour.refused)),
            ("hour covered".to_owned(), Number::Count(&mut hour.covered)),
            ("hour unsafe".to_owned(), Number::Count(&mut hour.unsafe_side)),
            ("next said".to_owned(), Number::Count(&mut hour.said)),
            ("next held".to_owned(), Number::Count(&mut hour.held)),
        ];
        let reasons = REASONS.iter().zip(&mut self.reasons);
        numbers.extend(reasons.map(|(reason, count)| (reason.name().to_owned(), Number::Count(count))));
        for (index, cell) in self.cells.iter_mut().enumerate() {
            let own = [
                ("counted", Number::Sum(&mut cell.counted)),
                ("covered", Number::Count(&mut cell.covered)),
                ("unsafe", Number::Count(&mut cell.unsafe_side)),
                ("holds", Number::Count(&mut cell.holds)),
                ("near", Number::Count(&mut cell.near)),
                ("twice", Number::Count(&mut cell.twice)),
                ("plainly", Number::Count(&mut cell.plainly)),
                ("unwarned", Number::Count(&mut cell.unwarned)),
                ("warned", Number::Count(&mut cell.warned)),
            ];
            numbers.extend(own.map(|(name, number)| (format!("device {} {name}", index + 1), number)));
        }
        numbers
    }

    /// Records the process once, from this seed, and asks for a forecast.
    pub(crate) fn run(&mut self, seed: u64) {
        let after = if self.seconds < SHORT_S { 0.0 } else { HOUR_S };
        let (input, later) = record(self.process, self.seconds, after, &mut Random(seed));
        let devices = self.devices.clone();
        let question = Question { devices, horizons: vec![Horizon::Hour], ..Question::default() };
        let Answer { groups, .. } = answer(&[input], &question).expect("devices that work");
        if self.runs == 0 {
            self.first = in_short(&groups[0], later);
        }
        self.runs += 1;
        for ((cell, interval), found) in self.cells.iter_mut().zip(intervals(self.seconds)).zip(&groups[0].devices) {
            cell.take(&found.underruns, interval, self.seconds);
        }
        let conditions = &groups[0].devices[0].underruns.conditions;
        self.shown += u32::from(REASONS.iter().any(|reason| conditions.contains(reason)));
        for (count, reason) in self.reasons.iter_mut().zip(REASONS) {
            *count += u32::from(conditions.contains(&reason));
        }
        self.hour.take(&groups[0].worst[0], self.level, later * SCALE_NS);
    }

    /// One row: the worst of the three devices, except for how often each holds.
    pub(crate) fn row(&self) -> String {
        let (runs, hour) = (self.runs, &self.hour);
        let worst = |of: fn(&Cell) -> u32| self.cells.iter().map(of).max().unwrap_or(0);
        let least = self.cells.iter().map(|cell| cell.covered).min().unwrap_or(0);
        let devices =
            |of: fn(&Cell) -> u32| self.cells.iter().map(|cell| share(of(cell), runs)).collect::<Vec<_>>().join(" ");
        let (holds, plainly) = (devices(|cell| cell.holds), devices(|cell| cell.plainly));
        format!(
            "{:>7} {:>7} {:>7}   {holds}   {plainly}   {:>7} {:>7} {:>5} {:>7}   {:>7} {:>5}",
            share(least, runs),
            share(worst(|cell| cell.unsafe_side), runs),
            share(self.shown, runs),
            share(worst(|cell| cell.unwarned), runs),
            share(worst(|cell| cell.warned), runs),
            share(hour.covered, runs - hour.refused),
            share(hour.refused, runs),
            share(runs - hour.said, runs),
            share(hour.held, hour.said)
        )
    }

    /// A row for each device, and the reasons for conditions.
    pub(crate) fn each(&self) -> String {
        let runs = self.runs;
        let device = |(cell, interval): (&Cell, f64)| {
            let counts = [cell.covered, cell.unsafe_side, cell.holds, cell.plainly, cell.unwarned, cell.warned];
            let [covered, beyond, holds, plainly, unwarned, warned] = counts.map(|count| share(count, runs));
            format!(
                "    once in {interval} s: covered {covered}, unsafe {beyond}, holds {holds}, at 0.9 {}, at 2 {}, plainly {plainly}, unwarned {unwarned}, warned {warned}; counted {:.3}\n",
                share(cell.near, runs),
                share(cell.twice, runs),
                cell.counted / f64::from(runs)
            )
        };
        let rows: String = self.cells.iter().zip(intervals(self.seconds)).map(device).collect();
        let reasons =
            REASONS.iter().zip(self.reasons).map(|(reason, count)| format!("{} {}", reason.name(), share(count, runs)));
        format!("{rows}    {}\n", reasons.collect::<Vec<_>>().join(", "))
    }
}

/// What is promised of each device, and of the hour: recordings of a process are promised this if they are at least
/// [`MIN_PIECES`] of its memories long.
const COVERED: Promise = Promise::AtLeast(0.93);
const UNSAFE: Promise = Promise::AtMost(0.03);
const UNWARNED: Promise = Promise::AtMost(0.005);
const HELD: Promise = Promise::AtLeast(0.95);
/// Only of processes that are benign, and of the next hour only where the recording is long enough for it.
const REFUSED: Promise = Promise::AtMost(0.3);
const MIN_PIECES: f64 = 20.0;

impl Counted {
    /// What is promised and was not kept, by more than chance: in words, for a process with this memory, s.
    pub(crate) fn broken(&self, memory: f64, is_benign: bool) -> Vec<String> {
        if self.seconds < MIN_PIECES * memory {
            return Vec::new();
        }
        let (runs, hour) = (self.runs, &self.hour);
        let answered = runs - hour.refused;
        let of_devices = self.cells.iter().zip(intervals(self.seconds)).flat_map(|(cell, interval)| {
            [
                (format!("once in {interval} s, covered"), COVERED, cell.covered, runs),
                (format!("once in {interval} s, unsafe"), UNSAFE, cell.unsafe_side, runs),
                (format!("once in {interval} s, unwarned"), UNWARNED, cell.unwarned, runs),
            ]
        });
        let of_hours = [
            ("hour, covered".to_owned(), COVERED, hour.covered, answered),
            ("hour, unsafe".to_owned(), UNSAFE, hour.unsafe_side, answered),
            ("next, held".to_owned(), HELD, hour.held, hour.said),
        ];
        let is_long = self.seconds >= SHORT_S;
        let refusals = [
            ("hour, refused".to_owned(), REFUSED, hour.refused, if is_benign { runs } else { 0 }),
            ("next, refused".to_owned(), REFUSED, runs - hour.said, if is_benign && is_long { runs } else { 0 }),
        ];
        let all =
            of_devices.chain(of_hours).chain(refusals).filter(|(_, promise, count, of)| promise.is_broken(*count, *of));
        all.map(|(name, _, count, of)| format!("{name} {}", share(count, of))).collect()
    }
}

/// What tells the limits of an answer from others, to the last bit (FNV-1a).
fn in_short(group: &Group, later: f64) -> u64 {
    let of_device = |answer: &DeviceAnswer| {
        let found = &answer.underruns;
        let limits = [found.mttf_s.low, found.mttf_s.value, found.mttf_s.high];
        limits.into_iter().chain([found.misses, found.holds_low_s, found.plain_low_s].map(Some))
    };
    let of_level = |worst: &WorstCase| {
        let level = &worst.level.level;
        [level.low, level.value, level.high, worst.next.as_ref().ok().map(|&next| next as f64)]
    };
    let all = group.devices.iter().flat_map(of_device).chain(group.worst.iter().flat_map(of_level));
    let bytes = all.chain([Some(later)]).flat_map(|number| number.map_or(0, f64::to_bits).to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Cell {
    /// For a device that runs dry once in `truth` seconds. Its own want differs: its limits are compared with those of
    /// the benchmark.
    fn take(&mut self, found: &Underruns, truth: f64, seconds: f64) {
        self.counted += found.misses * truth / seconds;
        let above = found.mttf_s.low.is_some_and(|low| low > truth);
        let under = found.mttf_s.high.is_some_and(|high| high < truth);
        assert!(found.outcome != Outcome::Holds || found.conditions.is_empty());
        let is_warned = REASONS.iter().any(|reason| found.conditions.contains(reason));
        self.covered += u32::from(!above && !under);
        self.unsafe_side += u32::from(above);
        self.holds += u32::from(found.holds_low_s >= 0.5 * truth);
        self.near += u32::from(found.holds_low_s >= 0.9 * truth);
        self.twice += u32::from(found.holds_low_s >= 2.0 * truth);
        self.plainly += u32::from(found.plain_low_s >= 0.5 * truth && !is_warned);
        // At twice the truth it is false too, and less often.
        let is_unwarned = found.plain_low_s >= 1.001 * truth && !is_warned;
        self.unwarned += u32::from(is_unwarned);
        self.warned += u32::from(found.holds_low_s >= 1.001 * truth && !is_unwarned);
    }
}

impl Hour {
    /// For the worst hour, whose level is known, and the next one, which came to `later`: ns.
    fn take(&mut self, worst: &WorstCase, truth: f64, later: f64) {
        let level = &worst.level;
        if level.method == Method::Bound {
            self.refused += 1;
        } else {
            let low = level.level.high.is_some_and(|high| high < truth);
            self.unsafe_side += u32::from(low);
            self.covered += u32::from(!low && level.level.low.is_none_or(|low| low <= truth));
        }
        if let Ok(next) = &worst.next {
            self.said += 1;
            self.held += u32::from(later <= *next as f64);
        }
    }
}

/// A device of the recording's own period with this slack, ns: it computes for the rest of its buffers.
fn device(slack_ns: u64) -> Profile {
    let buffers = (slack_ns.div_ceil(PERIOD_NS) + 1).max(2) as u32;
    let compute = u64::from(buffers - 1) * PERIOD_NS - slack_ns;
    let any = punctual_device::Catalogue::shipped().profiles()[0].clone();
    // No limit reaches such a want: here only what each limit says of others counts.
    any.with_period(PERIOD_NS).with_buffers(buffers).with_compute(compute).with_want(1 << 40)
}
