//! How often a device runs dry: its slack, the waits beyond it, and the mean time between underruns, CPU by CPU.

use crate::Error;
use crate::input::{Input, Late, Lateness};
use crate::interval::{Estimate, further_exposure};
use crate::spread::{Condition, MIN_PIECES, SETTLED_PIECES, Spread, levels, separate};
use crate::stall::stalls;
use punctual_device::Profile;
use punctual_recording::Stage;
use std::collections::BTreeSet;

mod apart;
mod outcome;

use apart::{WorstThread, are_alike, threads_counted};
pub use outcome::Outcome;

/// The one-sided confidence of *holds*.
pub(crate) const HOLDS_CONFIDENCE: f64 = 0.995;

/// How often a device would run dry on one CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuUnderruns {
    /// The CPU; `None` for threads that could move between CPUs.
    pub cpu: Option<u32>,
    /// Stalls beyond the slack that were seen there.
    pub over: u64,
    /// How many times the device itself would have run dry there.
    pub misses: f64,
    /// The mean time between underruns, s of use.
    pub mttf_s: Estimate,
}

/// How often a device runs dry under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Underruns {
    /// Stalls beyond the slack that were seen, on the worst CPU; late wakeups, where the recording's tail does not
    /// reach down to the slack.
    pub over: u64,
    /// How many times the device itself would have run dry there, as it is played over the recording: separate waits
    /// beyond the slack, each weighted by the chance that it holds up one of the device's activations. Never more if
    /// the slack is larger.
    pub misses: f64,
    /// Whether both count wakeups, more than there are stalls, because the tail does not reach down to the slack.
    pub is_upper_count: bool,
    /// The worst CPU; `None` for threads that could move between CPUs.
    pub cpu: Option<u32>,
    /// The thread that all this is of, if several could move between CPUs and a test distinguishes them.
    pub thread: Option<u32>,
    /// Every CPU, worst first.
    pub cpus: Vec<CpuUnderruns>,
    /// Whether no test could distinguish the CPUs: then the interval is that of an average CPU. `None` for one CPU.
    pub alike: Option<bool>,
    /// The share of all wakeups, including skipped ones, that were later than the slack.
    pub probability: Option<f64>,
    /// Stalls per late wakeup; 1 where they come singly. `None` if none was late.
    pub extremal_index: Option<f64>,
    /// How many times as variable such a count is taken to be as it would be if underruns came independently, at least
    /// 1: intervals are widened by this.
    pub dispersion: f64,
    /// The exposure in pieces that know nothing of each other; `None` if nothing shows that any do.
    pub pieces: Option<f64>,
    /// How many times as frequent late wakeups are at the end as at the beginning, if that is not chance.
    pub drift: Option<f64>,
    /// That change in words, to follow *stalls are*.
    pub drift_in_words: Option<String>,
    /// What keeps the forecast from saying *holds* without a condition, on any CPU.
    pub conditions: Vec<Condition>,
    /// Underruns per hour of use that this device would meet.
    pub per_hour: Estimate,
    /// The mean time between underruns, s of use: one for each separate wait.
    pub mttf_s: Estimate,
    /// Its lower limit with 99.5 %, one-sided, on the worst CPU: this decides *holds*.
    pub holds_low_s: f64,
    /// The same, if the machine drifts as much as the recording could hide: this decides *holds* without a condition.
    pub plain_low_s: f64,
    /// The mean time between stalls, s of use, on the worst CPU: a stall may be several underruns.
    pub mttf_per_stall_s: Option<f64>,
    /// The mean time between missed buffers as the paper has it, s of use: (n-1)·t over the probability
    /// (Cota-Robles and Held, OSDI 1999, section 5); it counts every buffer of a stall.
    pub mttf_per_buffer_s: Option<f64>,
    /// The outcome against the device's want.
    pub outcome: Outcome,
    /// How much longer to measure until the outcome is known, s of this load; `None` if it is known, or if measuring
    /// would not tell.
    pub measure_further_s: Option<f64>,
    /// Whether that is the least it takes, namely what it takes if stalls come independently. A recording that is not
    /// many times as long as the machine remembers does not show how much longer it takes if they do not.
    pub further_is_least: bool,
}

impl Underruns {
    /// How many times the device would have run dry, as every answer says it: [`Underruns::misses`] to the nearest
    /// whole number, and never 0 where there was a wait beyond the slack. The sum is no whole number where the device's
    /// period is not the recording's: then a wait counts by its chance to hold up one of the device's activations.
    pub fn ran_dry(&self) -> u64 {
        if self.misses > 0.0 { self.misses.round().max(1.0) as u64 } else { 0 }
    }

    /// What follows a number or a time of the worst CPU, or the worst thread, where a test distinguishes it from others:
    /// ` on CPU 1`, ` in thread 4711`, and otherwise nothing.
    pub fn where_worst(&self) -> String {
        if let Some(thread) = self.thread {
            return format!(" in thread {thread}");
        }
        // Where counts are only bounds, the CPU with the largest one need not be the worst.
        let cpu = self.cpu.filter(|_| self.alike == Some(false) && !self.is_upper_count);
        cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"))
    }
}

/// One stage of an input, ready to play devices over: each CPU with how its stalls spread.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    stage: Stage,
    cpus: Vec<(Input, Spread)>,
    /// All CPUs together, if there are several and no test distinguishes them.
    together: Option<Spread>,
    /// The thread that is late most often, if they could move between CPUs and a test distinguishes them.
    worst_thread: Option<WorstThread>,
}

/// What one CPU saw beyond a slack.
struct Count {
    over: u64,
    sum: f64,
    /// The most there can be, where the tail does not reach down to the slack.
    most: f64,
    value: f64,
    filled: u64,
    activations: u64,
    index: Option<f64>,
    is_upper: bool,
    exposure_s: f64,
    /// How many underruns one that is drawn from them comes with, itself included.
    together: f64,
}

impl Count {
    /// How many overruns one comes with, by how many each stretch that was seen holds.
    fn repeat(&mut self, weights: impl Iterator<Item = f64>) {
        let (once, squared) = weights.fold((0.0, 0.0), |sums, weight| (sums.0 + weight, sums.1 + weight * weight));
        self.together = if once > 0.0 { squared / once } else { 1.0 };
    }

    /// Takes the overruns of whole cycles for what single wakeups show.
    fn take_cycles(&mut self, all: u64, tasks: f64) {
        (self.sum, self.most, self.value) = (all as f64 / tasks, all as f64 / tasks, all as f64 / tasks);
        self.filled = self.filled.max(all);
    }
}

impl Input {
    /// How often a device that begins its work where `stage` ends runs dry under this load.
    ///
    /// The device is played over the recording, CPU by CPU: each separate wait beyond the slack is an underrun, if it
    /// holds up one of the device's own activations. These are `t` apart and the recording's wakeups `p`: a wait that
    /// made m wakeups late beyond the slack holds one up with probability min(1, m·p/t) if t >= p, and counts p/t fold
    /// if the recording is coarser than the device, because such a recording misses short stalls.
    ///
    /// # Errors
    /// [`Error::Device`] for a device that cannot work; [`Error::Recording`] where the stage was not measured.
    pub fn underruns(&self, device: &Profile, stage: Stage) -> Result<Underruns, Error> {
        device.usable_slack_ns()?;
        self.watch(stage)?.underruns(device)
    }

    /// Makes a stage ready for questions about many devices.
    pub(crate) fn watch(&self, stage: Stage) -> Result<Watch, Error> {
        if !self.stages.contains_key(&stage) {
            let message = format!("{} under {} has no stage `{}`", self.measure, self.load, stage.name());
            return Err(Error::Recording(message));
        }
        if self.exposure_of(stage) <= 0.0 {
            return Err(Error::Recording("nothing was measured long enough to be counted".to_owned()));
        }
        let cpus: Vec<(Input, Spread)> = self
            .by_cpu(stage)
            .into_iter()
            .filter(|input| input.exposure_of(stage) > 0.0)
            .map(|input| {
                let spread = spread_of(std::slice::from_ref(&input), stage);
                (input, spread)
            })
            .collect();
        let inputs: Vec<Input> = cpus.iter().map(|(input, _)| input.clone()).collect();
        let together = (inputs.len() > 1 && are_alike(&inputs, stage)).then(|| spread_of(&inputs, stage));
        Ok(Watch { stage, cpus, together, worst_thread: self.worst_thread(stage) })
    }
}

/// The separate waits above a level on each CPU: when they began, on any of the CPUs.
fn waits(inputs: &[Input], stage: Stage, level: u64) -> impl Iterator<Item = Vec<u64>> + '_ {
    inputs.iter().map(move |input| {
        let largest = input.stages.get(&stage).map_or(&[][..], |lateness| &lateness.largest);
        // Threads that could move are looked at one after another.
        let of = |task: usize| {
            let own = largest.iter().filter(move |late| late.task == task && late.value_ns > level);
            separate(own.map(|late| (late.at_ns, late.value_ns))).into_iter().map(|wait| wait.0)
        };
        (0..input.tasks.len()).flat_map(of).collect()
    })
}

/// Above this every value is known, on all of these CPUs.
fn known_above(inputs: &[Input], stage: Stage) -> u64 {
    inputs.iter().filter_map(|input| input.stages.get(&stage)).map(|own| own.complete_above_ns).max().unwrap_or(0)
}

fn values<'a>(inputs: &'a [Input], stage: Stage) -> impl Iterator<Item = u64> + 'a {
    let known = known_above(inputs, stage);
    let own = inputs.iter().filter_map(move |input| input.stages.get(&stage));
    own.flat_map(|lateness| lateness.largest.iter().map(|late| late.value_ns)).filter(move |&value| value >= known)
}

/// How the separate waits of these CPUs spread, all of them together.
fn spread_of(inputs: &[Input], stage: Stage) -> Spread {
    let exposure = inputs.iter().map(|input| input.exposure_of(stage)).fold(0.0, f64::max);
    let of_level = |level: u64| {
        let mut times: Vec<u64> = waits(inputs, stage, level).flatten().collect();
        times.sort_unstable();
        times
    };
    let levels: Vec<Vec<u64>> = levels(values(inputs, stage)).into_iter().map(of_level).collect();
    Spread::of(&levels, exposure)
}

/// The most weight that separate waits can have together: of those that overlap one counts.
fn most_weight(mut waits: Vec<(u64, u64, f64)>) -> f64 {
    waits.sort_unstable_by_key(|wait| wait.1);
    let mut best = vec![0.0f64; waits.len() + 1];
    for (index, &(at, _, weight)) in waits.iter().enumerate() {
        let before = waits[..index].partition_point(|other| other.1 <= at);
        best[index + 1] = best[index].max(best[before] + weight);
    }
    best[waits.len()]
}

/// What the thread of an input saw beyond a slack, or an average one of several, or the one that is late most often.
fn count(
    input: &Input,
    lateness: &Lateness,
    stage: Stage,
    [slack_ns, period_ns]: [u64; 2],
    worst_thread: Option<WorstThread>,
) -> Count {
    let exposure = input.exposure_of(stage);
    let fill_in = input.fills_in(stage);
    let period = period_ns as f64;
    // A loop that catches up ends late once for each period that began meanwhile.
    let repeated = input.repeated_overruns();
    let most_of_one = repeated.unwrap_or(1.0);
    let weight = |recorded: u64, beyond: u64| match recorded as f64 / period {
        ratio if ratio > 1.0 => ratio,
        ratio => (beyond.div_ceil(recorded.max(1)) as f64 * ratio).min(most_of_one),
    };
    let level = slack_ns.max(lateness.complete_above_ns);
    let found = stalls(&lateness.largest, &input.tasks, level, exposure, fill_in);
    let wait = |late: &Late| {
        // What overlaps such a stretch is no part of it: its thread slept in between, for a moment.
        let until = if repeated.is_some() { late.at_ns } else { late.at_ns.saturating_add(late.value_ns) };
        (late.at_ns, until, weight(input.tasks[late.task].period_ns, late.value_ns - slack_ns))
    };
    let of = |task: usize| {
        let own = lateness.largest.iter().filter(|late| late.task == task && late.value_ns > level);
        most_weight(own.map(wait).collect())
    };
    let own: Vec<f64> = (0..input.tasks.len()).map(of).collect();
    let tasks = threads_counted(&own, worst_thread);
    let sum = own.iter().sum::<f64>() / tasks;
    let is_upper = slack_ns < lateness.complete_above_ns;
    let recorded = input.tasks.iter().map(|task| task.period_ns).max().unwrap_or(1);
    let missed = if fill_in { input.missed() } else { 0 };
    let mut count = Count {
        over: found.count as u64,
        sum,
        most: sum,
        value: sum,
        filled: found.filled,
        activations: lateness.distribution.count().saturating_add(missed),
        index: found.extremal_index(),
        is_upper,
        exposure_s: exposure / 1e9 * input.compression(),
        together: 1.0,
    };
    if is_upper {
        // Below the tail only the distribution knows: its wakeups may share waits, so they bound the waits from above.
        (count.over, count.filled, count.most) = (0, 0, 0.0);
        for (value, number) in lateness.distribution.buckets().filter(|(value, _)| *value > slack_ns) {
            let beyond = value - slack_ns;
            let filled = if fill_in { beyond.div_ceil(recorded.max(1)) } else { 1 };
            count.over = count.over.saturating_add(number);
            count.filled = count.filled.saturating_add(number.saturating_mul(filled));
            count.most += weight(recorded, beyond) * number as f64 / tasks;
        }
        count.most = count.most.max(sum);
        count.value = count.index.map_or(count.most, |index| (index * count.most).max(sum));
    }
    if repeated.is_some() {
        count.repeat(lateness.largest.iter().filter(|late| late.value_ns > level).map(|late| wait(late).2));
    }
    // Those of a loop with another period are not known.
    if slack_ns == recorded && period_ns == recorded && input.own_overruns() > 0 {
        count.take_cycles(input.own_overruns(), tasks);
    }
    count
}

/// The counts of one CPU, or of all of them together.
struct Counted<'a> {
    count: Count,
    spread: &'a Spread,
    /// The most misses that one stall alone makes.
    largest: f64,
    cpu: Option<u32>,
}

impl Counted<'_> {
    /// Underruns a second. If the worst of several is wanted, the lower limit allows for that.
    fn rate(&self, of_several: f64) -> Estimate {
        let Counted { count, spread, largest, .. } = self;
        let mut found = spread.interval(count.most, *largest);
        found.low = (count.sum > 0.0).then(|| spread.lower(count.sum, *largest, 1.0 - 0.025 / of_several));
        found.value = found.value.map(|_| count.value);
        found.scaled(1.0 / count.exposure_s)
    }

    /// Underruns a second, if none had been seen.
    fn unseen(&self) -> Estimate {
        self.spread.interval(0.0, self.largest).scaled(1.0 / self.count.exposure_s)
    }

    /// Underruns a second, at most.
    fn upper(&self) -> f64 {
        self.spread.upper(self.count.most, self.largest, HOLDS_CONFIDENCE) / self.count.exposure_s
    }

    /// The same, whatever drift the recording could not show.
    fn upper_at_any_drift(&self) -> f64 {
        self.spread.upper_at_any_drift(self.count.most, self.largest, HOLDS_CONFIDENCE) / self.count.exposure_s
    }

    fn in_short(&self, most_a_second: f64) -> CpuUnderruns {
        let mttf_s = self.rate(1.0).at_most(most_a_second).inverse();
        CpuUnderruns { cpu: self.cpu, over: self.count.over, misses: self.count.most, mttf_s }
    }
}

/// The lowest mean times of any CPU with the confidence of *holds*, s, for a device that runs dry at most this often:
/// if drifts are slight, and at any drift. Where only such a drift would change the answer, that is a condition.
fn lowest(counted: &[Counted<'_>], most: f64, want_s: f64, conditions: &mut Vec<Condition>) -> [f64; 2] {
    let low_s = |of: &dyn Fn(&Counted<'_>) -> f64| 1.0 / counted.iter().map(of).fold(0.0, f64::max).min(most);
    let found = [low_s(&|one| one.upper()), low_s(&|one| one.upper_at_any_drift())];
    if !conditions.contains(&Condition::Drift) && found[0] >= want_s && found[1] < want_s {
        conditions.push(Condition::Drift);
    }
    found
}

/// What keeps the forecast from saying *holds* without a condition, on any CPU.
fn conditions(counted: &[Counted<'_>]) -> Vec<Condition> {
    let all: BTreeSet<Condition> = counted.iter().flat_map(|one| one.spread.conditions()).collect();
    all.into_iter().collect()
}

fn nothing() -> Error {
    Error::Recording("nothing was measured long enough to be counted".to_owned())
}

impl Watch {
    /// What each CPU's recording counts for a device, the worst first.
    fn count_all(&self, device: &Profile) -> Result<Vec<Counted<'_>>, Error> {
        let slack_ns = device.usable_slack_ns()?;
        let mut counted: Vec<Counted<'_>> = Vec::with_capacity(self.cpus.len());
        for (input, spread) in &self.cpus {
            let lateness = input.stages.get(&self.stage).ok_or_else(nothing)?;
            let recorded = input.tasks.iter().map(|task| task.period_ns).max().unwrap_or(1) as f64;
            let cpu = if input.tasks.len() == 1 { input.tasks[0].cpu } else { None };
            let count = count(input, lateness, self.stage, [slack_ns, device.period_ns], self.worst_thread);
            let largest = (recorded / device.period_ns as f64).max(count.together).max(1.0);
            counted.push(Counted { count, spread, largest, cpu });
        }
        let per_second = |count: &Count| count.most / count.exposure_s;
        counted.sort_by(|left, right| {
            let (left, right) = (&left.count, &right.count);
            per_second(right).total_cmp(&per_second(left)).then(left.exposure_s.total_cmp(&right.exposure_s))
        });
        Ok(counted)
    }

    /// Underruns a second, and how they are spread: for an average CPU if no test distinguishes them, otherwise for the
    /// worst.
    fn typical<'a>(&'a self, counted: &[Counted<'a>], worst: &Counted<'a>) -> (Estimate, &'a Spread) {
        let Some(together) = &self.together else {
            // Where another CPU becomes the worst, more may have gone unseen on the one that was: each limit is the
            // largest of any CPU, so that none falls where a device gets more slack.
            let rates: Vec<Estimate> = counted.iter().map(|one| one.rate(self.cpus.len() as f64)).collect();
            let most = |of: fn(&Estimate) -> Option<f64>| rates.iter().filter_map(of).reduce(f64::max);
            let rate = Estimate { low: most(|one| one.low), value: most(|one| one.value), high: most(|one| one.high) };
            return (rate, worst.spread);
        };
        let sum = |of: &dyn Fn(&Count) -> f64| counted.iter().map(|one| of(&one.count)).sum::<f64>();
        let exposure = sum(&|count| count.exposure_s);
        let mut all = together.interval(sum(&|count| count.most), worst.largest);
        all.low =
            (sum(&|count| count.sum) > 0.0).then(|| together.lower(sum(&|count| count.sum), worst.largest, 0.975));
        all.value = all.value.map(|_| sum(&|count| count.value));
        // Where none was seen, only one CPU's exposure counts. With a few seen the limit is no lower, or a device with more
        // slack, which meets none, would get a worse one.
        let unseen = counted.iter().filter_map(|one| one.unseen().high).fold(0.0, f64::max);
        let all = all.scaled(1.0 / exposure);
        (Estimate { high: all.high.map(|high| high.max(unseen)), ..all }, together)
    }

    /// The forecast for a device: see [`Input::underruns`].
    pub(crate) fn underruns(&self, device: &Profile) -> Result<Underruns, Error> {
        let want_s = device.want_s as f64;
        let counted = self.count_all(device)?;
        let worst = counted.first().ok_or_else(nothing)?;
        let sure = counted.iter().map(|one| one.rate(self.cpus.len() as f64).low.unwrap_or(0.0)).fold(0.0, f64::max);
        let (interval, spread) = self.typical(&counted, worst);
        let mut conditions = conditions(&counted);
        // No device runs dry more often than once in its period.
        let most = 1e9 / device.period_ns as f64;
        let interval = interval.at_most(most);
        let [holds_low_s, plain_low_s] = lowest(&counted, most, want_s, &mut conditions);
        let outcome = match (holds_low_s >= want_s, sure * want_s > 1.0) {
            (true, _) if conditions.is_empty() => Outcome::Holds,
            (true, _) => Outcome::HoldsAsRecorded,
            (_, true) => Outcome::Fails,
            _ => Outcome::Unknown,
        };
        let count = &worst.count;
        let pieces = counted.iter().filter_map(|one| one.spread.pieces()).reduce(f64::min);
        let dispersion = worst.spread.dispersion_with_drift(count.most / worst.largest);
        let compression = self.cpus.first().map_or(1.0, |cpu| cpu.0.compression());
        let undecided = outcome == Outcome::Unknown && !count.is_upper;
        let further_is_least = undecided && count.sum <= 0.0 && pieces.is_some_and(|pieces| pieces < MIN_PIECES);
        let further = || {
            let (dispersion, settling) = match further_is_least {
                true => (1.0, 0.0),
                false => (dispersion, pieces.map_or(0.0, |pieces| SETTLED_PIECES / pieces - 1.0)),
            };
            let more = further_exposure(count.sum, worst.largest, dispersion, want_s / count.exposure_s)?;
            Some(more.max(settling) * count.exposure_s / compression)
        };
        let sum = |of: &dyn Fn(&Count) -> u64| counted.iter().fold(0u64, |sum, one| sum.saturating_add(of(&one.count)));
        let (filled, activations) = (sum(&|count| count.filled), sum(&|count| count.activations));
        let probability = (activations > 0).then(|| (filled as f64 / activations as f64).min(1.0));
        let drift = counted.iter().find_map(|one| one.spread.drift);
        Ok(Underruns {
            over: count.over,
            misses: count.most,
            is_upper_count: counted.iter().any(|one| one.count.is_upper),
            cpu: worst.cpu,
            thread: self.worst_thread.map(|worst| worst.tid),
            cpus: counted.iter().map(|one| one.in_short(most)).collect(),
            alike: (counted.len() > 1).then_some(self.together.is_some()),
            probability,
            extremal_index: count.index,
            dispersion: spread.dispersion(count.most.max(1.0)),
            pieces,
            drift: drift.map(|drift| drift.end),
            drift_in_words: drift.map(|drift| drift.in_words()),
            conditions,
            per_hour: interval.scaled(3_600.0),
            mttf_s: interval.inverse(),
            holds_low_s,
            plain_low_s,
            mttf_per_stall_s: (count.over > 0).then(|| count.exposure_s / count.over as f64),
            mttf_per_buffer_s: probability
                .filter(|&probability| probability > 0.0)
                .map(|probability| device.tolerance_ns() as f64 / 1e9 / probability * compression),
            outcome,
            measure_further_s: undecided.then(further).flatten(),
            further_is_least,
        })
    }
}

#[cfg(test)]
mod tests;
