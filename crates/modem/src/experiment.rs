//! A file sent several times, as in MSR-TR-2000-88, section 6.5, and what stalls of different lengths do to a call.

use crate::SAMPLE_RATE;
use crate::adapter::{Setup, Slot, Stalls};
use crate::arq::Options;
use crate::end::Pump;
use crate::telephone::Telephone;
use crate::transfer::{Attempt, Course, Transfer};
use crate::virtual_time::{Direction, FarEnd, Plan};
use punctual_random::Random;

/// The least line time that a call is given, samples: two minutes.
const MIN_LIMIT: u64 = 120 * SAMPLE_RATE;
/// The slowest file to wait for, bit/s: less than the slowest reservation of the paper that still got one through.
const SLOWEST: u64 = 600;

/// A file, the modems, and how often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Experiment {
    /// The modems and the line.
    pub telephone: Telephone,
    /// Which way the file goes.
    pub direction: Direction,
    /// Who the far end is.
    pub far_end: FarEnd,
    /// How the calling end is made.
    pub setup: Setup,
    /// Its part of the processor; `None`: all of it.
    pub slot: Option<Slot>,
    /// Its stalls.
    pub stalls: Option<Stalls>,
    /// The seed of the first attempt; each has one of its own.
    pub seed: u64,
    /// How often the file is sent.
    pub attempts: u32,
}

impl Default for Experiment {
    /// Ten attempts from a pool of servers to an end that has its whole processor.
    fn default() -> Experiment {
        Experiment {
            telephone: Telephone::default(),
            direction: Direction::Download,
            far_end: FarEnd::Pool,
            setup: Setup::default(),
            slot: None,
            stalls: None,
            seed: 1,
            attempts: 10,
        }
    }
}

/// How far an experiment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Calls that are over.
    pub done: u32,
    /// Calls in all.
    pub of: u32,
    /// Bytes of this call that have arrived.
    pub bytes: usize,
    /// The call's time on the line, ns.
    pub line_ns: u64,
}

/// Makes the call with a seed and tells how far it is, as in [`Telephone::watched_call`].
type OneCall<'a> = dyn FnMut(u64, &mut dyn FnMut(usize, u64) -> bool) -> Option<(Attempt, Course)> + 'a;

impl Experiment {
    /// What each of its calls should be.
    pub fn plan(&self, bytes: &[u8]) -> Plan {
        Plan {
            direction: self.direction,
            far_end: self.far_end,
            setup: self.setup,
            slot: self.slot,
            stalls: self.stalls,
            link: Options::default(),
            limit: MIN_LIMIT + bytes.len() as u64 * 8 * SAMPLE_RATE / SLOWEST,
        }
    }

    /// Sends the file as often as was asked for. `progress` says whether to go on; if not, only the finished attempts
    /// are returned.
    pub fn transfer(&self, bytes: &[u8], progress: &mut dyn FnMut(Step) -> bool) -> Transfer {
        self.attempts_by(bytes, progress, &mut |seed, show| {
            self.telephone.watched_call(self.plan(bytes), seed, bytes, show)
        })
    }

    /// The same with other pumps, such as somebody else's; of each pair the first calls.
    pub fn transfer_with<P: Pump>(
        &self,
        bytes: &[u8],
        pumps: &mut dyn FnMut() -> Option<[P; 2]>,
        progress: &mut dyn FnMut(Step) -> bool,
    ) -> Transfer {
        self.attempts_by(bytes, progress, &mut |seed, show| {
            self.telephone.call_with(pumps()?, self.plan(bytes), seed, bytes, show)
        })
    }

    fn attempts_by(&self, bytes: &[u8], progress: &mut dyn FnMut(Step) -> bool, call: &mut OneCall<'_>) -> Transfer {
        let mut transfer = Transfer { bytes: bytes.len() as u64, ..Transfer::default() };
        for done in 0..self.attempts {
            let seed = self.seed.wrapping_add(u64::from(done));
            let show = &mut |bytes, line_ns| progress(Step { done, of: self.attempts, bytes, line_ns });
            let Some((attempt, course)) = call(seed, show) else { break };
            transfer.attempts.push(attempt);
            transfer.courses.push(course);
        }
        transfer
    }
}

/// What stalls of one length did, one stall in each call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StallRow {
    /// How long a stall was, ns.
    pub length_ns: u64,
    /// Which way the file went.
    pub direction: Direction,
    /// Calls.
    pub calls: u32,
    /// Calls whose file arrived intact.
    pub succeeded: u32,
    /// Calls in which nothing was late or lost.
    pub unharmed: u32,
    /// How often samples to send were missing, over all calls.
    pub underruns: u64,
    /// Wraps of the receive ring.
    pub overruns: u64,
    /// Damaged frames at both ends.
    pub crc_errors: u64,
    /// Calls that trained again.
    pub retrained: u32,
    /// How much longer the transfer took than the same call without a stall, s; the mean of those that succeeded.
    pub mean_extra_s: Option<f64>,
    /// The largest such value, s.
    pub max_extra_s: Option<f64>,
}

/// How many bytes each call in the table of stalls sends, and the stretch in which the stall comes, ns: the file takes
/// 16.7 s at 9,600 bit/s.
const STALLED_BYTES: usize = 20_000;
const STALLED_WITHIN_NS: u64 = 12_000_000_000;

/// One stall of each length at a random point, in so many calls and in both directions. `progress` says whether to go
/// on; if not, only the complete rows are returned.
pub fn stall_table(
    base: &Experiment,
    lengths_ns: &[u64],
    calls: u32,
    progress: &mut dyn FnMut(Step) -> bool,
) -> Vec<StallRow> {
    let mut random = Random(base.seed);
    let bytes: Vec<u8> = (0..STALLED_BYTES).map(|_| random.bits() as u8).collect();
    let of = calls * 2 * (lengths_ns.len() as u32 + 1);
    let mut done = 0;
    let mut rows = Vec::new();
    for direction in [Direction::Download, Direction::Upload] {
        let mut row_of = |stalls: Option<Stalls>| -> Option<Vec<Attempt>> {
            let experiment = Experiment { direction, stalls, attempts: calls, ..*base };
            let show = &mut |step: Step| progress(Step { done: done + step.done, of, ..step });
            let attempts = experiment.transfer(&bytes, show).attempts;
            done += calls;
            (attempts.len() == calls as usize).then_some(attempts)
        };
        let Some(undisturbed) = row_of(None) else { return rows };
        for &length_ns in lengths_ns {
            let stalls = Stalls { max_count: Some(1), ..Stalls::every(length_ns, STALLED_WITHIN_NS) };
            let Some(attempts) = row_of(Some(stalls)) else { return rows };
            rows.push(row(length_ns, direction, &attempts, &undisturbed));
        }
    }
    rows
}

fn row(length_ns: u64, direction: Direction, attempts: &[Attempt], undisturbed: &[Attempt]) -> StallRow {
    let count = |of: fn(&Attempt) -> bool| attempts.iter().filter(|attempt| of(attempt)).count() as u32;
    let sum = |of: fn(&Attempt) -> u64| attempts.iter().map(of).sum();
    let extra: Vec<f64> = attempts
        .iter()
        .zip(undisturbed)
        .filter(|(attempt, undisturbed)| attempt.succeeded() && undisturbed.succeeded())
        .filter_map(|(attempt, undisturbed)| Some((attempt.transfer_ns?, undisturbed.transfer_ns?)))
        .map(|(stalled, undisturbed)| (stalled as f64 - undisturbed as f64) / 1e9)
        .collect();
    StallRow {
        length_ns,
        direction,
        calls: attempts.len() as u32,
        succeeded: count(Attempt::succeeded),
        unharmed: count(|attempt| attempt.underruns + attempt.overruns + attempt.lost_samples == 0),
        underruns: sum(|attempt| attempt.underruns),
        overruns: sum(|attempt| attempt.overruns),
        crc_errors: sum(|attempt| attempt.crc_errors + attempt.far_crc_errors),
        retrained: count(|attempt| attempt.retrains > 0),
        mean_extra_s: (!extra.is_empty()).then(|| extra.iter().sum::<f64>() / extra.len() as f64),
        max_extra_s: extra.iter().copied().reduce(f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_stall_does_nothing_and_a_long_one_is_counted_and_survived() {
        let lengths = [8_000_000, 30_000_000, 150_000_000];
        let rows = stall_table(&Experiment::default(), &lengths, 2, &mut |_| true);
        assert_eq!(rows.len(), 6);
        for row in &rows {
            assert_eq!((row.calls, row.succeeded), (2, 2), "{row:?}");
            match row.length_ns {
                8_000_000 => {
                    assert_eq!((row.unharmed, row.crc_errors, row.retrained), (2, 0, 0), "{row:?}");
                    assert_eq!(row.max_extra_s, Some(0.0));
                }
                length => {
                    assert_eq!(row.unharmed, 0, "{row:?}");
                    assert_eq!(row.overruns > 0, length == 150_000_000, "{row:?}");
                }
            }
        }
    }

    #[test]
    fn who_stops_it_keeps_what_is_over() {
        let experiment = Experiment { attempts: 3, ..Experiment::default() };
        let transfer = experiment.transfer(&[7; 500], &mut |step| step.done < 1);
        assert_eq!((transfer.attempts.len(), transfer.successes()), (1, 1));
        assert!(stall_table(&experiment, &[1_000_000], 1, &mut |_| false).is_empty());
    }
}
