//! Interference as it was measured: what a recording's wakeups say about when the CPU was not available.

use crate::cost::Cost;
use crate::machine::{Activity, Arrival, Policy, SourceSpec, ThreadSpec, WorkContext};
use crate::random::Xoshiro256;
use crate::time::{MAX_TIME, NANOSECOND, NEVER, Picoseconds, SECOND};
use punctual_recording::{Distribution, Wakeup};
use std::sync::Arc;

/// Excess below this is the scatter of the path, not interference: 1 us.
const SCATTER_NS: u64 = 1_000;

/// In how many phases to the device each block of the recording comes.
const PHASES: usize = 8;

/// Up to so many wakeups, their usual lateness is found exactly; beyond that, to a thousandth.
const EXACT: usize = 1 << 20;

/// The most memory that a replay may take, bytes; a question that needs more is refused.
pub const MAX_BYTES: u64 = 240_000_000;
/// A second of it takes this much: a list for each level and phase ...
const SECOND_BYTES: u64 = (3 * PHASES * size_of::<Vec<(Picoseconds, Picoseconds)>>()) as u64;
/// ... and a late wakeup this, in these lists, which grow by doubling, and in what they are made of.
const LATE_BYTES: u64 = (2 * PHASES * size_of::<(Picoseconds, Picoseconds)>() + 2 * size_of::<Sample>()) as u64;

/// Lateness at interrupt level, softirq level, thread level, ns; no longer than can be simulated.
fn levels(wakeup: &Wakeup) -> [u64; 3] {
    let irq = wakeup.irq_ns.unwrap_or(0);
    let softirq = wakeup.softirq_ns.unwrap_or(0);
    let thread = wakeup.total_ns.saturating_sub(irq.saturating_add(softirq));
    [irq, softirq, thread].map(|late_ns| late_ns.min(MAX_TIME / NANOSECOND))
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    expected_ns: u64,
    /// Interrupt level, softirq level, thread level.
    late_ns: [u64; 3],
}

/// How much the lateness of one task's wakeups exceeds its usual lateness, level by level, in order of time.
///
/// Feed it the wakeups of *one* periodic task on one CPU: several tasks would count every stall several times.
#[derive(Debug, Clone)]
pub struct Interference {
    period_ns: u64,
    samples: Vec<Sample>,
    usual_ns: [u64; 3],
    count: u64,
    /// How many wakeups were late; if there are too many, only the first are kept, because the question is refused.
    late: u64,
    from_ns: u64,
    to_ns: u64,
}

impl Interference {
    /// Interference seen by a task with this period, from its wakeups.
    ///
    /// The usual lateness of each level is its median; what is above it by more than 1 us is interference.
    /// The rest is the cost of the path, see [`Interference::path`].
    pub fn from_wakeups<'a>(period_ns: u64, wakeups: impl IntoIterator<Item = &'a Wakeup> + Clone) -> Interference {
        let made = Interference::from_passes(period_ns, |take| -> Result<(), std::convert::Infallible> {
            wakeups.clone().into_iter().for_each(take);
            Ok(())
        });
        match made {
            Ok(interference) => interference,
        }
    }

    /// From wakeups that are passed in twice, in the same order, so that only the late ones are kept.
    ///
    /// # Errors
    /// The error of a pass.
    pub fn from_passes<E>(
        period_ns: u64,
        mut pass: impl FnMut(&mut dyn FnMut(&Wakeup)) -> Result<(), E>,
    ) -> Result<Interference, E> {
        let mut all: [Distribution; 3] = Default::default();
        let mut first: [Vec<u64>; 3] = Default::default();
        let (mut count, mut from_ns, mut last_ns) = (0_u64, u64::MAX, 0);
        pass(&mut |wakeup| {
            count += 1;
            from_ns = from_ns.min(wakeup.expected_ns);
            last_ns = last_ns.max(wakeup.expected_ns);
            for ((all, first), late) in all.iter_mut().zip(&mut first).zip(levels(wakeup)) {
                all.record(late);
                if first.len() < EXACT {
                    first.push(late);
                }
            }
        })?;
        let usual_ns: [u64; 3] = std::array::from_fn(|level| {
            if count > EXACT as u64 {
                return all[level].quantile(0.5).unwrap_or(0);
            }
            let values = &mut first[level];
            if values.is_empty() {
                return 0;
            }
            let middle = values.len() / 2;
            *values.select_nth_unstable(middle).1
        });
        drop(first);
        let mut samples: Vec<Sample> = Vec::new();
        let mut late = 0_u64;
        pass(&mut |wakeup| {
            let mut late_ns = levels(wakeup);
            for (late, usual) in late_ns.iter_mut().zip(usual_ns) {
                *late = late.saturating_sub(usual);
                if *late <= SCATTER_NS {
                    *late = 0;
                }
            }
            if late_ns.iter().all(|&late| late == 0) {
                return;
            }
            late += 1;
            if late <= MAX_BYTES / LATE_BYTES {
                samples.push(Sample { expected_ns: wakeup.expected_ns, late_ns });
            }
        })?;
        samples.sort_by_key(|sample| sample.expected_ns);
        let (from_ns, to_ns) = if count > 0 { (from_ns, last_ns.saturating_add(period_ns)) } else { (0, 0) };
        Ok(Interference { period_ns: period_ns.max(1), samples, usual_ns, count, late, from_ns, to_ns })
    }

    /// How many wakeups it was made from, and how many of them were late.
    pub fn counts(&self) -> (u64, u64) {
        (self.count, self.late)
    }

    /// About how much memory a replay takes, bytes.
    pub fn bytes(&self) -> u64 {
        let seconds = self.observed() / SECOND;
        seconds.saturating_mul(SECOND_BYTES).saturating_add(self.late.saturating_mul(LATE_BYTES))
    }

    /// How much time was observed, in picoseconds.
    pub fn observed(&self) -> Picoseconds {
        (self.to_ns - self.from_ns).saturating_mul(NANOSECOND)
    }

    /// What a wakeup costs without interference: the medians up to the softirq, and from there to the thread.
    pub fn path(&self) -> (Picoseconds, Picoseconds) {
        ((self.usual_ns[0] + self.usual_ns[1]) * NANOSECOND, self.usual_ns[2] * NANOSECOND)
    }

    /// Several recordings of one machine as one, each after the one before it. The path is the first one's.
    ///
    /// `None` if there are none. Their tasks should have one period.
    pub fn joined(recordings: &[Interference]) -> Option<Interference> {
        let (first, more) = recordings.split_first()?;
        let mut joined = first.clone();
        for next in more {
            let place = |sample: &Sample| sample.expected_ns.saturating_sub(next.from_ns).saturating_add(joined.to_ns);
            let moved: Vec<Sample> =
                next.samples.iter().map(|sample| Sample { expected_ns: place(sample), ..*sample }).collect();
            joined.samples.extend(moved);
            joined.to_ns = joined.to_ns.saturating_add(next.to_ns - next.from_ns);
            joined.count += next.count;
            joined.late += next.late;
        }
        Some(joined)
    }

    /// The period of the task whose wakeups it was made from, ns.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// The same machine as another recording of the same length could have shown it: the recorded seconds drawn anew,
    /// with replacement.
    pub fn resampled(&self, seed: u64) -> Interference {
        let second = SECOND / NANOSECOND;
        let seconds = ((self.to_ns - self.from_ns) / second).max(1);
        let mut random = Xoshiro256::new(seed, 0xb007);
        let mut samples = Vec::with_capacity(self.samples.len());
        for place in 0..seconds {
            let drawn = self.from_ns + random.below(seconds) * second;
            let from = self.samples.partition_point(|sample| sample.expected_ns < drawn);
            let to = self.samples.partition_point(|sample| sample.expected_ns < drawn + second);
            let shift = |sample: &Sample| sample.expected_ns - drawn + self.from_ns + place * second;
            samples
                .extend(self.samples[from..to].iter().map(|sample| Sample { expected_ns: shift(sample), ..*sample }));
        }
        Interference { samples, ..*self }
    }

    /// Sources and a thread that take the CPU as it was taken, for a machine with a device of this period released
    /// at its multiples. `thread` is the index that the thread will have.
    ///
    /// Nobody knows how the device's releases would be aligned with what was recorded: each block comes in several
    /// phases, drawn from `seed`.
    ///
    /// Time is cut into blocks of about a second, which the machine draws at random: what came together stays together.
    /// Lateness seen at a release of the recording comes at the nearest release of the device: a release at any time is
    /// as likely to be late, and by as much, as a measured one. Lateness of successive wakeups within one stall is one
    /// stretch of time, not their sum.
    pub fn sources(
        &self,
        device_period: Picoseconds,
        cpu: usize,
        thread: usize,
        seed: u64,
    ) -> (Vec<SourceSpec>, ThreadSpec) {
        let block = device_period * (SECOND / device_period).max(1);
        let origin = self.from_ns;
        let count = (self.observed() / block).max(1) as usize;
        let mut random = Xoshiro256::new(seed, 0x9a5e);
        let phases: Vec<Picoseconds> = (0..PHASES).map(|_| random.below(device_period)).collect();
        let mut sources = Vec::new();
        for level in 0..3 {
            let mut blocks: Vec<Vec<(Picoseconds, Picoseconds)>> = vec![Vec::new(); count * PHASES];
            for (phase, shift) in phases.iter().enumerate() {
                let mut end = 0;
                for sample in self.samples.iter().filter(|sample| sample.late_ns[level] > 0) {
                    let at = (sample.expected_ns - origin).saturating_mul(NANOSECOND).saturating_add(*shift);
                    let nearest = (at + device_period / 2) / device_period * device_period;
                    let at = if at.abs_diff(nearest) * 2 <= self.period_ns * NANOSECOND { nearest } else { at };
                    let until = at + sample.late_ns[level] * NANOSECOND;
                    let work = until.saturating_sub(at.max(end));
                    end = end.max(until);
                    let index = (at / block) as usize;
                    if work > 0 && index < count {
                        blocks[phase * count + index].push((at % block, work));
                    }
                }
            }
            sources.push(SourceSpec {
                name: ["measured irq", "measured softirq", "measured thread"][level].to_owned(),
                cpu,
                irql: 31,
                arrival: Arrival::Replay { block, blocks: Arc::new(blocks) },
                latched: false,
                isr: Cost::default(),
                dpc: Cost::default(),
                important: false,
                work: Cost::default(),
                context: [WorkContext::Irq, WorkContext::Dpc, WorkContext::Thread][level],
                thread: (level == 2).then_some(thread),
            });
        }
        let mut taker = ThreadSpec::new("measured", Policy::Kernel, Activity::Signalled, Cost::constant(NEVER / 4));
        taker.cpu = cpu;
        (sources, taker)
    }
}
