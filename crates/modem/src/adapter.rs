//! A starved end: an adapter with small buffers, and a processor that is not always available, in virtual time.
//!
//! Samples come and go at the line's pace, whatever the processor does. A block that is complete asks for work, as an
//! interrupt does. Its output has a fixed time on the line: with n buffers it begins n-1 blocks after the input was
//! complete. What is not ready by then is silence (an *underrun*), and is useless if it is made later: the line does
//! not wait. [`punctual_datapump::Line`] decides which blocks are worked off, dropped or lost in the ring, as for real
//! devices.

use crate::SAMPLE_RATE;
use punctual_datapump::Line;
use punctual_random::Random;
use std::collections::VecDeque;

/// Samples in a block: 12.5 ms (MSR-TR-2000-88, section 4).
pub const BLOCK: usize = 90;
/// A block's time, ns.
pub const BLOCK_NS: u64 = BLOCK as u64 * 1_000_000_000 / SAMPLE_RATE;

/// The processor's clock gains one ns in this many against the line's: 100 ppm, as two crystals may differ (assumed).
/// Without it, slots and blocks whose periods have a common multiple would meet at the same few points throughout the
/// call.
const DRIFT: u64 = 10_000;

/// The time of a sample, ns from the beginning of the call.
pub fn time_of(sample: u64) -> u64 {
    (u128::from(sample) * 1_000_000_000 / u128::from(SAMPLE_RATE)) as u64
}

/// What happens to blocks that are waiting when the processor comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// Every one is processed.
    WorkOff,
    /// Only the newest is.
    DropStale,
}

/// A moment of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The receiver is lifted.
    Lifted,
    /// The far end answers.
    Answered,
    /// Both ends are linked.
    Linked,
}

/// Times in which the processor does nothing for the modem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// How long each lasts, ns.
    pub length_ns: u64,
    /// Each stretch of this length contains one, ns. It is longer than a stall.
    pub every_ns: u64,
    /// Where in its stretch it begins, ns; `None`: at a random point.
    pub at_ns: Option<u64>,
    /// When the first stretch begins.
    pub from: Moment,
    /// How many there are; `None`: as many as there is time for.
    pub max_count: Option<u64>,
}

impl Stalls {
    /// One of this length in each stretch of that, at a random point, once both ends are linked.
    pub const fn every(length_ns: u64, every_ns: u64) -> Stalls {
        Stalls { length_ns, every_ns, at_ns: None, from: Moment::Linked, max_count: None }
    }

    /// A single one, which begins so long after a moment.
    pub const fn once(length_ns: u64, from: Moment, at_ns: u64) -> Stalls {
        Stalls { length_ns, every_ns: at_ns + length_ns + 1, at_ns: Some(at_ns), from, max_count: Some(1) }
    }
}

/// A recurring part of the processor: so much of each period, ns. At other times there is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Its length, at the beginning of each period, ns.
    pub runtime_ns: u64,
    /// The period, ns.
    pub period_ns: u64,
}

/// When the processor works for the modem.
#[derive(Debug, Clone)]
pub struct Cpu {
    slot: Option<Slot>,
    phase_ns: u64,
    stalls: Option<Stalls>,
    /// Where counting of the stalls begins; there are none before.
    origin_ns: Option<u64>,
    random: Random,
    /// Which stretch `stall` is in.
    stretch: u64,
    /// Beginning and end of the stall that is in progress or comes next.
    stall: (u64, u64),
    /// How many beginnings of stalls the processor has met.
    pub met: u64,
}

impl Cpu {
    /// A processor. The seed gives the phase of its slots and the points of its stalls.
    pub fn new(slot: Option<Slot>, stalls: Option<Stalls>, seed: u64) -> Cpu {
        let mut random = Random(seed);
        let phase_ns = slot.map_or(0, |slot| random.below(slot.period_ns.max(1)));
        Cpu { slot, phase_ns, stalls, origin_ns: None, random, stretch: 0, stall: (u64::MAX, u64::MAX), met: 0 }
    }

    /// This moment of the call has come: if stalls begin with it, they come from now on.
    pub fn begin_stalls(&mut self, moment: Moment, now_ns: u64) {
        if let (Some(stalls), None) = (self.stalls.filter(|stalls| stalls.from == moment), self.origin_ns) {
            self.origin_ns = Some(now_ns);
            self.stall = self.draw(stalls, now_ns);
        }
    }

    fn draw(&mut self, stalls: Stalls, origin_ns: u64) -> (u64, u64) {
        if stalls.max_count.is_some_and(|max| self.stretch >= max) {
            return (u64::MAX, u64::MAX);
        }
        let within =
            stalls.at_ns.unwrap_or_else(|| self.random.below(stalls.every_ns.saturating_sub(stalls.length_ns).max(1)));
        let begin = origin_ns + self.stretch * stalls.every_ns + within;
        (begin, begin + stalls.length_ns)
    }

    /// The first time from here on at which the processor works, and until when it can go on.
    fn window(&mut self, from_ns: u64) -> (u64, u64) {
        let mut now = from_ns;
        loop {
            while let (Some(stalls), Some(origin)) = (self.stalls, self.origin_ns)
                && self.stall.1 <= now
            {
                self.stretch += 1;
                self.met += 1;
                self.stall = self.draw(stalls, origin);
            }
            if self.stall.0 <= now {
                now = self.stall.1;
                continue;
            }
            let Some(slot) = self.slot else { return (now, self.stall.0) };
            let within = (now + now / DRIFT + self.phase_ns) % slot.period_ns.max(1);
            if within < slot.runtime_ns {
                return (now, self.stall.0.min(now + slot.runtime_ns - within));
            }
            now += slot.period_ns - within;
        }
    }

    /// When the processor first works at or after this time.
    pub fn available(&mut self, from_ns: u64) -> u64 {
        self.window(from_ns).0
    }

    /// When work that begins now is done, if it takes this much of the processor's time.
    pub fn finish(&mut self, from_ns: u64, work_ns: u64) -> u64 {
        let (mut now, mut left) = (from_ns, work_ns);
        loop {
            let (begin, end) = self.window(now);
            if left <= end - begin {
                return begin + left;
            }
            left -= end - begin;
            now = end;
        }
    }
}

/// What an adapter has counted. Blocks: `arrived = processed + dropped + lost + waiting`. Samples sent:
/// `played + underrun_samples + silent`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Blocks that were complete.
    pub arrived: u64,
    /// Blocks that were processed.
    pub processed: u64,
    /// Blocks that were dropped for a newer one.
    pub dropped: u64,
    /// Blocks that were overwritten in the ring.
    pub lost: u64,
    /// How often the ring wrapped around.
    pub overruns: u64,
    /// Blocks that have arrived and were not processed yet.
    pub waiting: u64,
    /// How often samples to send were missing.
    pub underruns: u64,
    /// How many samples were missing.
    pub underrun_samples: u64,
    /// Samples that were made in time and sent.
    pub played: u64,
    /// Samples before the first output was due.
    pub silent: u64,
    /// Samples that were made too late and never sent.
    pub late_samples: u64,
}

impl Counters {
    /// Received samples that the datapump never saw.
    pub fn lost_samples(&self) -> u64 {
        (self.dropped + self.lost) * BLOCK as u64
    }
}

/// How an adapter and its work are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// How many samples the receive ring holds.
    pub ring: u32,
    /// Buffers: the output of a block begins this many blocks less one after it was complete. At least 2.
    pub buffers: u32,
    /// Processor time per block, ns.
    pub compute_ns: u64,
    /// What happens to waiting blocks.
    pub late: Late,
}

impl Default for Setup {
    /// The paper's ring and computation (1.84 ms of each 12.5), and the least number of buffers.
    fn default() -> Setup {
        Setup { ring: 512, buffers: 2, compute_ns: 1_840_000, late: Late::WorkOff }
    }
}

impl Setup {
    /// How late work may begin without an underrun, ns.
    pub fn slack_ns(&self) -> u64 {
        (u64::from(self.buffers.max(2)) - 1).saturating_mul(BLOCK_NS).saturating_sub(self.compute_ns)
    }
}

#[derive(Debug, Clone, Copy)]
enum Doing {
    Nothing { since_ns: u64 },
    Waking { at_ns: u64 },
    Working { until_ns: u64, block: u64 },
}

/// An adapter and the work for it.
#[derive(Debug)]
pub struct Adapter {
    setup: Setup,
    /// When its processor works.
    pub cpu: Cpu,
    line: Line,
    blocks: VecDeque<(u64, Vec<i16>)>,
    filling: Vec<i16>,
    /// Output, with the number of the block during which it is sent.
    outputs: VecDeque<(u64, Vec<i16>)>,
    doing: Doing,
    sample: u64,
    is_dry: bool,
    processed: u64,
    sending: Counters,
}

impl Adapter {
    /// An adapter whose first sample is yet to come.
    pub fn new(setup: Setup, cpu: Cpu) -> Adapter {
        let setup = Setup { buffers: setup.buffers.max(2), ..setup };
        Adapter {
            setup,
            cpu,
            line: Line::new(BLOCK_NS, BLOCK as u32, setup.ring, setup.late == Late::DropStale),
            blocks: VecDeque::new(),
            filling: Vec::with_capacity(BLOCK),
            outputs: VecDeque::new(),
            doing: Doing::Nothing { since_ns: 0 },
            sample: 0,
            is_dry: false,
            processed: 0,
            sending: Counters::default(),
        }
    }

    /// The sample that is sent next, after the work that was done by then: `work` takes a block and makes one.
    pub fn send(&mut self, work: &mut dyn FnMut(&[i16], &mut [i16])) -> i16 {
        self.work_until(time_of(self.sample), work);
        self.send_what_is_there()
    }

    /// The same if somebody else says when work begins and is done: [`Adapter::begin`], [`Adapter::complete`].
    pub fn send_what_is_there(&mut self) -> i16 {
        let (block, within) = (self.sample / BLOCK as u64, (self.sample % BLOCK as u64) as usize);
        while self.outputs.front().is_some_and(|(number, _)| *number < block) {
            self.outputs.pop_front();
        }
        if let Some((number, samples)) = self.outputs.front()
            && *number == block
        {
            self.is_dry = false;
            self.sending.played += 1;
            return samples[within];
        }
        if block < u64::from(self.setup.buffers) {
            self.sending.silent += 1;
            return 0;
        }
        self.sending.underruns += u64::from(!std::mem::replace(&mut self.is_dry, true));
        self.sending.underrun_samples += 1;
        0
    }

    /// Takes the sample that is received in the same 1/7200 s.
    pub fn receive(&mut self, sample: i16) {
        self.filling.push(sample);
        self.sample += 1;
        if self.filling.len() == BLOCK {
            let number = self.sample / BLOCK as u64 - 1;
            self.line.arrive(time_of(self.sample));
            self.blocks.push_back((number, std::mem::replace(&mut self.filling, Vec::with_capacity(BLOCK))));
        }
    }

    fn work_until(&mut self, now_ns: u64, work: &mut dyn FnMut(&[i16], &mut [i16])) {
        loop {
            match self.doing {
                Doing::Nothing { since_ns } if !self.blocks.is_empty() => {
                    let at_ns = self.cpu.available(since_ns.max(self.line.last));
                    self.doing = Doing::Waking { at_ns };
                }
                Doing::Waking { at_ns } if at_ns <= now_ns => {
                    self.doing = match self.begin(at_ns) {
                        Some(block) => {
                            Doing::Working { until_ns: self.cpu.finish(at_ns, self.setup.compute_ns), block }
                        }
                        None => Doing::Nothing { since_ns: at_ns },
                    };
                }
                Doing::Working { until_ns, block } if until_ns <= now_ns => {
                    self.doing = Doing::Nothing { since_ns: until_ns };
                    self.complete(block, work);
                }
                _ => return,
            }
        }
    }

    /// Work begins at this time: returns the number of the block that it is for, if one waits. Older ones are not
    /// worked on any more.
    pub fn begin(&mut self, now_ns: u64) -> Option<u64> {
        let next = self.line.begin(now_ns).map(|complete_ns| complete_ns / BLOCK_NS - 1);
        while self.blocks.front().is_some_and(|(number, _)| next.is_none_or(|next| *number < next)) {
            self.blocks.pop_front();
        }
        next
    }

    /// The block that has waited longest: the one that was begun.
    pub fn front(&self) -> Option<&[i16]> {
        self.blocks.front().map(|(_, samples)| &samples[..])
    }

    /// Samples that have come by then and were not worked on.
    pub fn pending(&self, now_ns: u64) -> u64 {
        self.line.pending(now_ns)
    }

    /// The work for this block is done by now: its output is sent if its time has not passed.
    pub fn complete(&mut self, block: u64, work: &mut dyn FnMut(&[i16], &mut [i16])) {
        let Some((_, received)) = self.blocks.pop_front() else { return };
        let mut sent = vec![0; BLOCK];
        work(&received, &mut sent);
        self.line.take();
        self.processed += 1;
        let due = block + u64::from(self.setup.buffers);
        let begin = due * BLOCK as u64;
        self.sending.late_samples += self.sample.saturating_sub(begin).min(BLOCK as u64);
        if due >= self.sample / BLOCK as u64 {
            self.outputs.push_back((due, sent));
        }
    }

    /// Blocks that were worked on, underruns and overruns: checked after each sample.
    pub(crate) fn so_far(&self) -> [u64; 3] {
        [self.processed, self.sending.underruns, self.line.overruns]
    }

    /// What has been counted so far.
    pub fn counters(&self) -> Counters {
        let Line { arrived, taken, dropped, lost, overruns, .. } = self.line;
        Counters {
            arrived,
            processed: self.processed,
            dropped,
            lost,
            overruns,
            waiting: arrived - taken,
            ..self.sending
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(setup: Setup, cpu: Cpu, samples: u64, stalls_from_ns: u64) -> (Adapter, u64) {
        let mut adapter = Adapter::new(setup, cpu);
        let mut seen = 0;
        for sample in 0..samples {
            if time_of(sample) >= stalls_from_ns {
                adapter.cpu.begin_stalls(Moment::Linked, time_of(sample));
            }
            adapter.send(&mut |received, sent| {
                seen += received.len() as u64;
                sent.copy_from_slice(received);
            });
            adapter.receive(1);
        }
        (adapter, seen)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn every_sample_is_accounted_for(
            seed in any::<u64>(), length in 0..400_000_000u64, every in 1..2_000_000_000u64, buffers in 0..5u32,
            slot in prop::option::of((1..20_000_000u64, 1..40_000_000u64)), stale in any::<bool>(),
            compute_ns in 0..14_000_000u64, samples in 0..20_000u64,
        ) {
            let late = if stale { Late::DropStale } else { Late::WorkOff };
            let setup = Setup { ring: 512, buffers, compute_ns, late };
            let slot = slot.map(|(runtime_ns, period_ns)| Slot { runtime_ns, period_ns });
            let stalls = Stalls::every(length, every.max(length + 1));
            let (adapter, seen) = run(setup, Cpu::new(slot, Some(stalls), seed), samples, 0);
            let counted = adapter.counters();
            prop_assert_eq!(counted.arrived, samples / BLOCK as u64);
            prop_assert_eq!(counted.arrived, counted.processed + counted.dropped + counted.lost + counted.waiting);
            prop_assert_eq!(seen, counted.processed * BLOCK as u64);
            prop_assert_eq!(counted.played + counted.underrun_samples + counted.silent, samples);
            prop_assert!(counted.underruns <= counted.underrun_samples);
        }
    }

    #[test]
    fn a_stall_within_the_slack_costs_nothing_and_one_beyond_it_is_counted() {
        let setup = Setup::default();
        assert_eq!(setup.slack_ns(), 10_660_000);
        let mut counted = Vec::new();
        for length_ms in [5, 10, 13, 20, 40, 59, 80, 200] {
            let stalls = Stalls::every(length_ms * 1_000_000, 1_000_000_000);
            let cpu = Cpu::new(None, Some(stalls), length_ms);
            let (adapter, _) = run(setup, cpu, 40 * SAMPLE_RATE, 100_000_000);
            let counters = adapter.counters();
            let met = adapter.cpu.met;
            assert!((39..=40).contains(&met), "{met}");
            match length_ms {
                5 | 10 => assert_eq!((counters.underruns, counters.overruns), (0, 0), "{length_ms}"),
                // Longer than the slack and a block: wherever it begins, an output is late.
                _ if length_ms >= 25 => assert!(counters.underruns >= met, "{length_ms}: {counters:?}"),
                _ => assert!(counters.underruns > 0, "{length_ms}: {counters:?}"),
            }
            if length_ms < 59 {
                assert_eq!(counters.overruns, 0, "{length_ms}");
            }
            counted.push((counters.underrun_samples, counters.overruns));
        }
        assert!(counted.is_sorted_by_key(|(samples, _)| *samples), "{counted:?}");
        assert!(counted[7].1 >= 39, "200 ms wrap the ring each time: {counted:?}");
    }

    #[test]
    fn slots_that_are_enough_keep_up_and_others_do_not() {
        // MSR-TR-2000-88, table 3, with three buffers and only the newest block worth processing.
        let setup = Setup { buffers: 3, late: Late::DropStale, ..Setup::default() };
        let keeps_up = |runtime_ms: u64, period_ms: u64| {
            let slot = Slot { runtime_ns: runtime_ms * 1_000_000, period_ns: period_ms * 1_000_000 };
            let (adapter, _) = run(setup, Cpu::new(Some(slot), None, 1), 60 * SAMPLE_RATE, 0);
            let counters = adapter.counters();
            counters.underruns + counters.dropped + counters.overruns == 0
        };
        let sufficient = [(2, 13), (3, 15), (4, 16), (8, 20)];
        let insufficient = [(1, 8), (2, 14), (2, 15), (3, 16), (3, 17), (4, 17), (7, 20)];
        assert_eq!(sufficient.map(|(runtime, period)| keeps_up(runtime, period)), [true; 4]);
        assert_eq!(insufficient.map(|(runtime, period)| keeps_up(runtime, period)), [false; 7]);
    }
}
