//! A call with the real datapump over a telephone line: [`punctual_datapump::Qam`] at both ends, [`punctual_line::Line`] between.

use crate::adapter::BLOCK;
use crate::end::{Pump, PumpStatus};
use crate::transfer::{Attempt, Course};
use crate::virtual_time::{Plan, call};
use punctual_datapump::{Phase, QamOptions, Role, Status};
use punctual_line::ClockedLine;

pub use punctual_datapump::{ECHO_BANK, MAX_ECHO_BANKS, Qam, Rate};
pub use punctual_line::{Law, LineOptions, MAX_DRIFT_PPM};

impl Pump for Qam {
    fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        next_bit: &mut dyn FnMut() -> bool,
        push_bit: &mut dyn FnMut(bool),
    ) {
        Qam::process(self, received, sent, &mut || Some(next_bit()), &mut |bit| push_bit(bit));
    }

    fn status(&self) -> PumpStatus {
        status_of(&Qam::status(self))
    }
}

/// How a datapump is doing, wherever it works.
pub fn status_of(status: &Status) -> PumpStatus {
    PumpStatus {
        is_connected: status.phase == Phase::Connected,
        bits_per_second: status.bits_per_second(),
        retrains: status.retrains,
    }
}

/// The two modems and what is between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Telephone {
    /// The rate that both begin with if the line allows; below it they fall back.
    pub max_rate: Rate,
    /// The line.
    pub line: LineOptions,
    /// How much faster the answering end's clock runs, ppm, at most [`MAX_DRIFT_PPM`] either way: in a call of one
    /// process, where [`punctual_line::ClockedLine`] is the line.
    pub drift_ppm: i32,
    /// Banks of 128 taps of the calling end's echo canceller: how much its datapump computes.
    pub echo_banks: u32,
}

impl Default for Telephone {
    /// 9,600 bit/s at most, over two wires with an echo, A-law and noise 35 dB below the signal.
    fn default() -> Telephone {
        Telephone { max_rate: Rate::Four, line: LineOptions::telephone(), drift_ppm: 0, echo_banks: 1 }
    }
}

impl Telephone {
    /// The pump of an end that has this many blocks of samples between what it sends and the line.
    pub fn pump(&self, role: Role, blocks: u32) -> Qam {
        let echo_delay = blocks * BLOCK as u32;
        // The far end is never late: what it computes would show nowhere.
        let echo_banks = if role == Role::Calling { self.echo_banks } else { 1 };
        Qam::new(role, QamOptions { max_rate: self.max_rate, echo_banks, echo_delay, ..QamOptions::default() })
    }

    /// Makes a call and sends these bytes, see [`call`]. The seed is also that of the line's noise.
    pub fn call(
        &self,
        plan: Plan,
        seed: u64,
        bytes: &[u8],
        progress: &mut dyn FnMut(usize, u64) -> bool,
    ) -> Option<Attempt> {
        self.watched_call(plan, seed, bytes, progress).map(|(attempt, _)| attempt)
    }

    /// The same, including the call's course.
    pub fn watched_call(
        &self,
        plan: Plan,
        seed: u64,
        bytes: &[u8],
        progress: &mut dyn FnMut(usize, u64) -> bool,
    ) -> Option<(Attempt, Course)> {
        let pumps = [self.pump(Role::Calling, plan.setup.buffers.max(2)), self.pump(Role::Answering, 1)];
        self.call_with(pumps, plan, seed, bytes, progress)
    }

    /// The same with other pumps, such as somebody else's; the first calls.
    pub fn call_with<P: Pump>(
        &self,
        pumps: [P; 2],
        plan: Plan,
        seed: u64,
        bytes: &[u8],
        progress: &mut dyn FnMut(usize, u64) -> bool,
    ) -> Option<(Attempt, Course)> {
        let mut line = ClockedLine::new(seed, self.line, self.drift_ppm);
        let called = call(plan, seed, bytes, pumps, &mut |near, far| line.pass(near, far), progress);
        called.map(|called| (called.attempt, called.course))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SAMPLE_RATE;
    use crate::adapter::{Setup, Stalls};
    use crate::arq::Options;
    use crate::virtual_time::{Direction, FarEnd};
    use punctual_random::Random;

    fn plan(direction: Direction, stall_ms: u64) -> Plan {
        let stalls = Stalls::every(stall_ms * 1_000_000, 3_000_000_000);
        Plan {
            direction,
            far_end: FarEnd::Pool,
            setup: Setup::default(),
            slot: None,
            stalls: (stall_ms > 0).then_some(stalls),
            link: Options::default(),
            limit: 900 * SAMPLE_RATE,
        }
    }

    fn bytes(count: usize) -> Vec<u8> {
        let mut random = Random(5);
        (0..count).map(|_| random.bits() as u8).collect()
    }

    #[test]
    fn files_arrive_exact_whatever_the_stalls_and_every_stall_beyond_the_slack_is_counted() {
        let (mut calls, mut retrains) = (0, 0);
        for direction in [Direction::Download, Direction::Upload] {
            for (seed, stall_ms) in [(1, 0), (2, 10), (3, 30), (4, 120)] {
                let plan = plan(direction, stall_ms);
                let attempt = Telephone::default().call(plan, seed, &bytes(6_000), &mut |_, _| true).unwrap();
                assert!(attempt.succeeded(), "{direction:?} {stall_ms} ms: {attempt:?}");
                let losses = attempt.underruns + attempt.overruns;
                match stall_ms {
                    0 | 10 => assert_eq!((losses, attempt.retrains, attempt.resent), (0, 0, 0), "{attempt:?}"),
                    _ => assert!(losses >= attempt.stalls && attempt.stalls > 0, "{attempt:?}"),
                }
                calls += 1;
                retrains += attempt.retrains;
            }
        }
        assert_eq!(calls, 8);
        assert!(retrains > 0, "losing a ring of samples must make a datapump train again");
    }

    #[test]
    fn the_same_seed_gives_the_same_attempt() {
        let run = || Telephone::default().call(plan(Direction::Download, 60), 9, &bytes(3_000), &mut |_, _| true);
        assert_eq!(run(), run());
    }
}
