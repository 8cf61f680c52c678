//! Interference as it was measured: what a recording's wakeups say about when the CPU was not to be had.

use crate::cost::Cost;
use crate::machine::{Activity, Arrival, Policy, SourceSpec, ThreadSpec, WorkContext};
use crate::time::{NANOSECOND, NEVER, Picoseconds, SECOND};
use punctual_recording::Wakeup;
use std::sync::Arc;

/// Excess below this is the scatter of the path, not interference: 1 us.
const SCATTER_NS: u64 = 1_000;

#[derive(Debug, Clone, Copy)]
struct Sample {
    expected_ns: u64,
    /// Interrupt level, softirq level, thread level.
    late_ns: [u64; 3],
}

/// The lateness of one task's wakeups over its usual one, level by level, in the order of time.
///
/// Feed it the wakeups of *one* periodic task on one CPU: those of several would count every stall several times.
#[derive(Debug, Clone)]
pub struct Interference {
    period_ns: u64,
    samples: Vec<Sample>,
    usual_ns: [u64; 3],
    count: u64,
    from_ns: u64,
    to_ns: u64,
}

impl Interference {
    /// Interference seen by a task with this period, from its wakeups.
    ///
    /// The usual lateness of each level is its median; what is above it by more than 1 us is interference.
    /// The rest is the cost of the path, see [`Interference::path`].
    pub fn from_wakeups<'a>(period_ns: u64, wakeups: impl IntoIterator<Item = &'a Wakeup>) -> Interference {
        let mut samples: Vec<Sample> = wakeups
            .into_iter()
            .map(|wakeup| {
                let irq = wakeup.irq_ns.unwrap_or(0);
                let softirq = wakeup.softirq_ns.unwrap_or(0);
                let late_ns = [irq, softirq, wakeup.total_ns.saturating_sub(irq + softirq)];
                Sample { expected_ns: wakeup.expected_ns, late_ns }
            })
            .collect();
        samples.sort_by_key(|sample| sample.expected_ns);
        let count = samples.len() as u64;
        let from_ns = samples.first().map_or(0, |sample| sample.expected_ns);
        let to_ns = samples.last().map_or(0, |sample| sample.expected_ns + period_ns);
        let usual_ns: [u64; 3] = std::array::from_fn(|level| {
            let mut values: Vec<u64> = samples.iter().map(|sample| sample.late_ns[level]).collect();
            if values.is_empty() {
                return 0;
            }
            let middle = values.len() / 2;
            *values.select_nth_unstable(middle).1
        });
        for sample in &mut samples {
            for (late, usual) in sample.late_ns.iter_mut().zip(usual_ns) {
                *late = late.saturating_sub(usual);
                if *late <= SCATTER_NS {
                    *late = 0;
                }
            }
        }
        samples.retain(|sample| sample.late_ns.iter().any(|&late| late > 0));
        Interference { period_ns: period_ns.max(1), samples, usual_ns, count, from_ns, to_ns }
    }

    /// How many wakeups it was made from, and how many of them were late.
    pub fn counts(&self) -> (u64, u64) {
        (self.count, self.samples.len() as u64)
    }

    /// How much time was observed, in picoseconds.
    pub fn observed(&self) -> Picoseconds {
        (self.to_ns - self.from_ns).saturating_mul(NANOSECOND)
    }

    /// What a wakeup costs without interference: medians up to the softirq, and from there to the thread.
    pub fn path(&self) -> (Picoseconds, Picoseconds) {
        ((self.usual_ns[0] + self.usual_ns[1]) * NANOSECOND, self.usual_ns[2] * NANOSECOND)
    }

    /// Sources and a thread that take the CPU as it was taken, for a machine with a device of this period released
    /// at its multiples. `thread` is the index that the thread will have.
    ///
    /// Time is cut into blocks of about a second, which the machine draws at random: what came together stays
    /// together. Lateness seen at a release of the recording comes at the release of the device that is next to
    /// it: a release at any time is as likely to be late, and by as much, as it was when measured. Lateness of
    /// successive wakeups within one stall is one stretch of time, not their sum.
    pub fn sources(&self, device_period: Picoseconds, cpu: usize, thread: usize) -> (Vec<SourceSpec>, ThreadSpec) {
        let block = device_period * (SECOND / device_period).max(1);
        let origin = self.from_ns;
        let count = (self.observed() / block).max(1) as usize;
        let mut sources = Vec::new();
        for level in 0..3 {
            let mut blocks: Vec<Vec<(Picoseconds, Picoseconds)>> = vec![Vec::new(); count];
            let mut end = 0;
            for sample in self.samples.iter().filter(|sample| sample.late_ns[level] > 0) {
                let at = (sample.expected_ns - origin).saturating_mul(NANOSECOND);
                let nearest = (at + device_period / 2) / device_period * device_period;
                let at = if at.abs_diff(nearest) * 2 <= self.period_ns * NANOSECOND { nearest } else { at };
                let until = at + sample.late_ns[level] * NANOSECOND;
                let work = until.saturating_sub(at.max(end));
                end = end.max(until);
                let index = (at / block) as usize;
                if work > 0 && index < count {
                    blocks[index].push((at % block, work));
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
