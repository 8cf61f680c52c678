//! A call whose calling end is served by somebody else, who has a clock: a thread of a real machine.
//!
//! The line and the far end are computed when that thread asks, up to the time that it gives: they are never late. What
//! the thread has not made by the time at which it was due is silence on the line, as in virtual time.

use super::{Call, Plan};
use crate::adapter::{Adapter, BLOCK, BLOCK_NS, Counters, time_of};
use crate::end::Pump;
use crate::telephone::Telephone;
use crate::transfer::{Attempt, Course, Ending};
use punctual_datapump::{Qam, Role};
use punctual_line::ClockedLine;

/// A call in progress. Times are ns since its beginning.
#[derive(Debug)]
pub struct Live<P = Qam> {
    call: Call<P>,
    line: ClockedLine,
    bytes: Vec<u8>,
    ending: Option<Ending>,
    /// The block that is being worked on, and what it gave.
    working: Option<(u64, Vec<i16>)>,
}

impl Live<Qam> {
    /// A call with the real datapump. It ignores the plan's slots and stalls: the machine has its own.
    pub fn new(telephone: &Telephone, plan: Plan, seed: u64, bytes: &[u8]) -> Live<Qam> {
        Live::over(Live::pumps(telephone, &plan), telephone, plan, seed, bytes)
    }

    /// The datapumps of such a call: the calling end's, and the far end's.
    pub fn pumps(telephone: &Telephone, plan: &Plan) -> [Qam; 2] {
        [telephone.pump(Role::Calling, plan.setup.buffers.max(2)), telephone.pump(Role::Answering, 1)]
    }
}

impl<P: Pump> Live<P> {
    /// The same with these datapumps, which may work elsewhere.
    pub fn over(pumps: [P; 2], telephone: &Telephone, plan: Plan, seed: u64, bytes: &[u8]) -> Live<P> {
        Live {
            call: Call::new(plan, seed, bytes, pumps),
            line: ClockedLine::new(seed, telephone.line, telephone.drift_ppm),
            bytes: bytes.to_vec(),
            ending: None,
            working: None,
        }
    }

    /// The calling end's datapump.
    pub fn pump(&mut self) -> &mut P {
        &mut self.call.caller.end.pump
    }

    /// The line goes on until then; returns how the call ended, if it did.
    pub fn advance(&mut self, now_ns: u64) -> Option<Ending> {
        let (line, length) = (&mut self.line, self.bytes.len());
        while self.ending.is_none() && time_of(self.call.sample) <= now_ns {
            let from_near = self.call.adapter.send_what_is_there();
            self.ending = self.call.pass(from_near, &mut |near, far| line.pass(near, far), length);
        }
        self.ending
    }

    /// When the next block will be complete.
    pub fn next_block_ns(&self) -> u64 {
        (self.call.sample / BLOCK as u64 + 1) * BLOCK_NS
    }

    /// Takes up a block, if one waits; returns when it was complete.
    pub fn begin(&mut self, now_ns: u64) -> Option<u64> {
        let block = self.call.adapter.begin(now_ns);
        self.working = block.map(|block| (block, Vec::new()));
        block.map(|block| (block + 1) * BLOCK_NS)
    }

    /// The signal processing of that block: what the thread is for.
    pub fn work(&mut self) {
        if let (Some((_, sent)), Some(received)) = (&mut self.working, self.call.adapter.front()) {
            sent.resize(BLOCK, 0);
            self.call.caller.process(received, sent);
        }
    }

    /// That work is done now: the line goes on until now, and sends what was made from here on.
    pub fn complete(&mut self, now_ns: u64) -> Option<Ending> {
        let ended = self.advance(now_ns);
        if let Some((block, made)) = self.working.take() {
            self.call.adapter.complete(block, &mut |_, sent| sent.copy_from_slice(&made));
        }
        ended
    }

    /// What has been counted so far.
    pub fn counters(&self) -> Counters {
        self.call.adapter.counters()
    }

    /// Its adapter.
    pub fn adapter(&self) -> &Adapter {
        &self.call.adapter
    }

    /// Bytes of the file that have arrived.
    pub fn arrived(&self) -> usize {
        self.call.received.len()
    }

    /// Its course so far.
    pub fn course(&self) -> &Course {
        &self.call.course
    }

    /// What came of it, whether it has ended or not.
    pub fn attempt(&mut self) -> Attempt {
        let ending = self.ending.unwrap_or(Ending::TooLong);
        let bytes = std::mem::take(&mut self.bytes);
        let attempt = self.call.attempt(ending, &bytes);
        self.bytes = bytes;
        attempt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SAMPLE_RATE;
    use crate::adapter::{BLOCK_NS, Cpu, Late, Setup, Slot};
    use crate::arq::Options;
    use crate::virtual_time::{Direction, FarEnd};
    use proptest::prelude::*;
    use punctual_random::Random;

    /// A call whose thread is present during these slots; and what came of it in virtual time.
    fn both(runtime_ns: u64, seed: u64, direction: Direction, late: Late, buffers: u32) -> [Attempt; 2] {
        let slot = Slot { runtime_ns, period_ns: 13_000_000 };
        let setup = Setup { late, buffers, ..Setup::default() };
        let (far_end, limit) = (FarEnd::Pool, 40 * SAMPLE_RATE);
        let plan = Plan { direction, far_end, setup, slot: Some(slot), stalls: None, link: Options::default(), limit };
        let mut random = Random(seed);
        let bytes: Vec<u8> = (0..2_000).map(|_| random.bits() as u8).collect();
        let telephone = Telephone::default();
        let expected = telephone.call(plan, seed, &bytes, &mut |_, _| true).unwrap();
        let mut live = Live::new(&telephone, plan, seed, &bytes);
        let mut cpu = Cpu::new(Some(slot), None, seed);
        let mut since = 0;
        loop {
            let at = cpu.available(since);
            if live.advance(at).is_some() {
                break;
            }
            if live.begin(at).is_none() {
                since = live.next_block_ns().max(at);
                continue;
            }
            let until = cpu.finish(at, setup.compute_ns);
            live.work();
            if live.complete(until).is_some() {
                break;
            }
            since = until;
        }
        let counted = live.counters();
        assert_eq!(counted.arrived, counted.processed + counted.dropped + counted.lost + counted.waiting);
        let samples = live.call.sample;
        assert!(samples - (counted.played + counted.underrun_samples + counted.silent) <= 1, "{counted:?}");
        [live.attempt(), expected]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        fn a_thread_that_keeps_up_gets_the_call_of_virtual_time_and_one_that_does_not_is_accounted_for(
            seed in any::<u64>(), runtime in 1_000_000..12_000_000u64, upload in any::<bool>(), stale in any::<bool>(),
            buffers in 2..4u32,
        ) {
            let late = if stale { Late::DropStale } else { Late::WorkOff };
            let direction = if upload { Direction::Upload } else { Direction::Download };
            let [live, expected] = both(runtime, seed, direction, late, buffers);
            if expected.underruns + expected.lost_samples == 0 {
                // If a block is done just as a sample comes, whatever depends on it may wait for the next block.
                let apart_ns = live.set_up_ns.abs_diff(expected.set_up_ns);
                prop_assert!(apart_ns <= BLOCK_NS, "{:?} {:?}", live, expected);
                let transfer_ns = [live, expected].map(|attempt| attempt.transfer_ns.unwrap_or(0));
                prop_assert!(transfer_ns[0].abs_diff(transfer_ns[1]) <= BLOCK_NS, "{:?} {:?}", live, expected);
                let times = Attempt { set_up_ns: expected.set_up_ns, transfer_ns: expected.transfer_ns, ..live };
                prop_assert_eq!(times, expected);
            } else {
                // Which sample of a block was the last one in time differs by one here and there.
                prop_assert!(live.underruns + live.lost_samples > 0, "{:?} {:?}", live, expected);
            }
        }
    }

    #[test]
    fn a_block_that_is_done_as_a_sample_comes_moves_the_set_up_by_one_block_at_most() {
        let [live, expected] = both(2_459_310, 2_314_939_305_950_073_606, Direction::Download, Late::WorkOff, 3);
        assert_eq!(live.set_up_ns.abs_diff(expected.set_up_ns), BLOCK_NS);
        assert_eq!(Attempt { set_up_ns: expected.set_up_ns, transfer_ns: expected.transfer_ns, ..live }, expected);
    }
}
