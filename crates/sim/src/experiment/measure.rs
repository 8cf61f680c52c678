//! The measures of an experiment's runs.

use super::collect::Run;
use super::quantity::Measure;
use super::schema::Value;
use crate::cost::Cost;
use crate::machine::{Activity, Arrival, Engine, MachineSpec, Policy, SourceSpec, ThreadSpec, WorkContext};
use crate::modem::{Block, Fate};
use crate::observe::{Activation, Observer};
use crate::time::{MAX_TIME, MICROSECOND, MILLISECOND, NEVER, Picoseconds, SECOND};

/// What a measure needs to know of the experiment.
pub(super) struct Subject<'a> {
    pub(super) spec: &'a MachineSpec,
    pub(super) devices: &'a [super::build::DeviceSpec],
    /// Which of them is asked about.
    pub(super) device: usize,
    pub(super) duration: Picoseconds,
    pub(super) has_link: bool,
}

impl Subject<'_> {
    fn thread(&self, name: &str) -> Result<usize, String> {
        let found = self.spec.threads.iter().position(|thread| thread.name == name);
        found.ok_or_else(|| format!("there is no thread {name:?}"))
    }

    fn source(&self, name: &str) -> Result<usize, String> {
        let found = self.spec.sources.iter().position(|source| source.name == name);
        found.ok_or_else(|| format!("there is no source {name:?}"))
    }

    fn device(&self) -> Result<&super::build::DeviceSpec, String> {
        self.devices.get(self.device).ok_or_else(|| "there is no device".to_owned())
    }

    fn phase(&self, name: &str) -> Result<u32, String> {
        let device = self.device()?;
        let found = device.phase_names.iter().position(|phase| phase == name);
        found.map(|phase| phase as u32).ok_or_else(|| format!("the device has no phase {name:?}"))
    }
}

fn starts(runs: &[Run], thread: usize, first: usize) -> Vec<Picoseconds> {
    let mut gaps = Vec::new();
    for run in runs {
        gaps.extend(run.starts[thread].windows(2).map(|pair| pair[1].1 - pair[0].1).take(first));
    }
    gaps
}

fn micros(time: Picoseconds) -> f64 {
    time as f64 / MICROSECOND as f64
}

fn millis(time: Picoseconds) -> f64 {
    time as f64 / MILLISECOND as f64
}

fn mean(values: impl Iterator<Item = Picoseconds>) -> Option<f64> {
    let (sum, count) = values.fold((0u128, 0u64), |(sum, count), value| (sum + u128::from(value), count + 1));
    (count > 0).then(|| sum as f64 / count as f64)
}

impl Measure {
    /// Checks the names in it.
    pub(super) fn check(&self, subject: &Subject) -> Result<(), String> {
        self.read(subject, &[]).map(|_| ())
    }

    /// Reads it off the runs; `None` if nothing of the kind happened.
    #[expect(clippy::too_many_lines, reason = "one flat match: each measure is read in its own arm")]
    pub(super) fn read(&self, subject: &Subject, runs: &[Run]) -> Result<Option<Value>, String> {
        let number = |value: f64| Ok(Some(Value::Number(value)));
        let maybe = |value: Option<f64>| Ok(value.map(Value::Number));
        let blocks = |phase: &Option<String>| -> Result<Vec<&Block>, String> {
            let phase = phase.as_deref().map(|name| subject.phase(name)).transpose()?;
            subject.device()?;
            let blocks = runs.iter().flat_map(|run| &run.devices[subject.device].blocks);
            Ok(blocks.filter(|block| phase.is_none_or(|p| p == block.phase)).collect())
        };
        let gaps_of = |phase: &str| Ok::<_, String>(block_gaps(runs, subject.device, subject.phase(phase)?));
        match self {
            Measure::IntervalCount { thread, from, to, first } => {
                let gaps = starts(runs, subject.thread(thread)?, *first);
                number(gaps.iter().filter(|&&gap| (from.0..to.0).contains(&gap)).count() as f64)
            }
            Measure::IntervalShare { thread, from, to, first } => {
                let gaps = starts(runs, subject.thread(thread)?, *first);
                let within = gaps.iter().filter(|&&gap| (from.0..to.0).contains(&gap)).count();
                maybe((!gaps.is_empty()).then(|| 100.0 * within as f64 / gaps.len() as f64))
            }
            Measure::IntervalDeviation { thread, first } => {
                let gaps = starts(runs, subject.thread(thread)?, *first);
                let Some(mean) = mean(gaps.iter().copied()) else { return Ok(None) };
                let square: f64 = gaps.iter().map(|&gap| (gap as f64 - mean).powi(2)).sum();
                number((square / gaps.len() as f64).sqrt() / MICROSECOND as f64)
            }
            Measure::IntervalMean { thread, first } => {
                let gaps = starts(runs, subject.thread(thread)?, *first);
                maybe(mean(gaps.into_iter()).map(|mean| mean / MICROSECOND as f64))
            }
            Measure::IntervalMin { thread, first } => {
                maybe(starts(runs, subject.thread(thread)?, *first).into_iter().min().map(micros))
            }
            Measure::IntervalMax { thread, first } => {
                maybe(starts(runs, subject.thread(thread)?, *first).into_iter().max().map(micros))
            }
            Measure::LatencyMax { thread } => maybe(max_latency(runs, subject.thread(thread)?).map(micros)),
            Measure::LatencyRatio { thread, over } => {
                let (above, below) = (subject.thread(thread)?, subject.thread(over)?);
                let pair = max_latency(runs, above).zip(max_latency(runs, below));
                maybe(pair.map(|(above, below)| above as f64 / below.max(1) as f64))
            }
            Measure::TimeBetweenLate { thread, limit } => {
                let late = late(runs, subject.thread(thread)?, limit.0);
                let seconds = subject.duration as f64 / SECOND as f64 * runs.len() as f64;
                maybe((late > 0).then(|| seconds / late as f64))
            }
            Measure::LateCount { thread, limit } => number(late(runs, subject.thread(thread)?, limit.0 + 1) as f64),
            Measure::ElapsedMax { phase } => {
                let blocks = blocks(phase)?;
                maybe(blocks.iter().filter(|b| b.start != NEVER).map(|block| block.end - block.start).max().map(millis))
            }
            Measure::ElapsedMean { phase } => {
                let blocks = blocks(phase)?;
                let elapsed = blocks.iter().filter(|b| b.start != NEVER).map(|block| block.end - block.start);
                maybe(mean(elapsed).map(|mean| mean / MILLISECOND as f64))
            }
            Measure::ElapsedMedian { phase } => {
                let blocks = blocks(phase)?;
                let mut elapsed: Vec<_> =
                    blocks.iter().filter(|b| b.start != NEVER).map(|block| block.end - block.start).collect();
                elapsed.sort_unstable();
                maybe(elapsed.get(elapsed.len() / 2).copied().map(millis))
            }
            Measure::BlockIntervalMean { phase } => {
                maybe(mean(gaps_of(phase)?.into_iter()).map(|mean| mean / MILLISECOND as f64))
            }
            Measure::BlockIntervalMin { phase } => maybe(gaps_of(phase)?.into_iter().min().map(millis)),
            Measure::BlockIntervalMax { phase } => maybe(gaps_of(phase)?.into_iter().max().map(millis)),
            Measure::PhaseStart { phase } => {
                let first = blocks(&Some(phase.clone()))?.iter().map(|block| block.arrival).min();
                maybe(first.map(|first| first as f64 / SECOND as f64))
            }
            Measure::Load { phase } => {
                let wanted = Some(phase.clone());
                let blocks = blocks(&wanted)?;
                let busy: u128 = blocks.iter().filter(|b| b.start != NEVER).map(|b| u128::from(b.end - b.start)).sum();
                let gap = mean(gaps_of(phase)?.into_iter());
                maybe(gap.map(|gap| 100.0 * busy as f64 / (gap * blocks.len() as f64)))
            }
            Measure::PendingMax { from_phase } => {
                let from = from_phase.as_deref().map_or(Ok(0), |name| subject.phase(name))?;
                let blocks = blocks(&None)?;
                maybe(blocks.iter().filter(|b| b.phase >= from).map(|block| block.pending as f64).reduce(f64::max))
            }
            Measure::Overruns => {
                subject.device()?;
                number(runs.iter().map(|run| run.devices[subject.device].overruns as f64).sum())
            }
            Measure::FaultShare => {
                let blocks = blocks(&None)?;
                let bears = subject.device()?.tolerance.start;
                let never = runs.iter().map(|run| never_in_time(&run.devices[subject.device].never, bears, run.length));
                let never: usize = never.sum();
                let faults = never + blocks.iter().filter(|block| block.fate != Fate::Good).count();
                let all = never + blocks.len();
                maybe((all > 0).then(|| 100.0 * faults as f64 / all as f64))
            }
            Measure::Sufficiency => {
                if !subject.has_link {
                    return Err("there is no link to be sufficient for".to_owned());
                }
                let faults: u64 = runs.iter().map(|run| run.transfer.faults).sum();
                let through = runs.iter().filter(|run| run.transfer.took.is_some()).count();
                let word = match (faults, through) {
                    (0, _) => "sufficient",
                    (_, 0) => "insufficient",
                    _ => "marginal",
                };
                Ok(Some(Value::Text(word.to_owned())))
            }
            Measure::PaperRule { work, period } => {
                let policy = subject.device()?.thread.map(|t| subject.spec.threads[t].policy);
                let Some(Policy::Reservation { runtime, period: of, .. }) = policy else {
                    return Err("the device runs in no reservation".to_owned());
                };
                let is_enough = is_enough((runtime, of), work.0, period.0);
                Ok(Some(Value::Text(if is_enough { "sufficient" } else { "insufficient" }.to_owned())))
            }
            Measure::Successes => number(runs.iter().filter(|run| run.transfer.took.is_some()).count() as f64),
            Measure::Disconnections => number(runs.iter().filter(|run| run.transfer.broken).count() as f64),
            Measure::TransferMean => {
                let took = runs.iter().filter_map(|run| run.transfer.took);
                maybe(mean(took).map(|mean| mean / SECOND as f64))
            }
            Measure::TransferMin => {
                let least = runs.iter().filter_map(|run| run.transfer.took).min();
                maybe(least.map(|least| least as f64 / SECOND as f64))
            }
            Measure::TransferMax => {
                let most = runs.iter().filter_map(|run| run.transfer.took).max();
                maybe(most.map(|most| most as f64 / SECOND as f64))
            }
            Measure::TransferDeviation => {
                let took: Vec<f64> =
                    runs.iter().filter_map(|run| run.transfer.took).map(|took| took as f64 / SECOND as f64).collect();
                // The deviation of the sample, as in the paper: its two transfers of 2/16 are 34.406 s apart and
                // deviate by 24.329 s.
                maybe((took.len() > 1).then(|| {
                    let mean = took.iter().sum::<f64>() / took.len() as f64;
                    (took.iter().map(|took| (took - mean).powi(2)).sum::<f64>() / (took.len() - 1) as f64).sqrt()
                }))
            }
            Measure::Faults => {
                let faults = runs.iter().flat_map(|run| &run.devices[subject.device].blocks);
                subject.device()?;
                number(faults.filter(|block| block.fate != Fate::Good).count() as f64)
            }
            Measure::HandlerWaitMax { source } => {
                let index = subject.source(source)?;
                maybe(runs.iter().map(|run| run.source_waits[index].handler).max().map(micros))
            }
            Measure::ProcedureWaitMax { source } => {
                let index = subject.source(source)?;
                maybe(runs.iter().map(|run| run.source_waits[index].procedure).max().map(micros))
            }
            Measure::WaitShare { thread } => {
                let waited: Picoseconds = waits(runs, subject.thread(thread)?).sum();
                let whole: Picoseconds = runs.iter().map(|run| run.length).sum();
                maybe((whole > 0).then(|| 100.0 * waited as f64 / whole as f64))
            }
            Measure::WaitMean { thread } => {
                maybe(mean(waits(runs, subject.thread(thread)?)).map(|mean| mean / MILLISECOND as f64))
            }
            Measure::WaitMax { thread } => maybe(waits(runs, subject.thread(thread)?).max().map(millis)),
            Measure::Migrations { thread } => {
                let thread = subject.thread(thread)?;
                number(runs.iter().map(|run| run.migrations[thread] as f64).sum())
            }
            Measure::ConstraintsMet { thread } => {
                let thread = subject.thread(thread)?;
                let seen = |of: fn(&super::collect::Constraints) -> u64| -> u64 {
                    runs.iter().map(|run| of(&run.constraints[thread])).sum()
                };
                let granted = seen(|seen| seen.granted);
                maybe((granted > 0).then(|| 100.0 * seen(|seen| seen.met) as f64 / granted as f64))
            }
            Measure::ConstraintsGranted { thread } => {
                let thread = subject.thread(thread)?;
                let (granted, refused) = runs.iter().fold((0, 0), |(granted, refused), run| {
                    let seen = run.constraints[thread];
                    (granted + seen.granted, refused + seen.refused)
                });
                maybe((granted + refused > 0).then(|| 100.0 * granted as f64 / (granted + refused) as f64))
            }
            Measure::RingTime { phase } => {
                let phase = subject.phase(phase)? as usize;
                let device = subject.device()?;
                number(device.tolerance.ring as f64 * 1000.0 / device.phases.phases[phase].rate as f64)
            }
            Measure::StallTolerance { period, buffers } => {
                number(millis(stall_tolerance(period.0, *buffers, !runs.is_empty())?))
            }
        }
    }
}

/// Whether a reservation of so many of so many milliseconds is enough for this work in every period, by the paper's rule.
fn is_enough((runtime, of): (u32, u32), work: Picoseconds, period: Picoseconds) -> bool {
    let share = u128::from(runtime) * u128::from(period) >= u128::from(work) * u128::from(of);
    share && u64::from(of.saturating_sub(runtime)) * MILLISECOND <= period
}

fn waits(runs: &[Run], thread: usize) -> impl Iterator<Item = Picoseconds> {
    runs.iter().flat_map(move |run| &run.waits[thread]).map(|(begin, end)| end - begin)
}

fn max_latency(runs: &[Run], thread: usize) -> Option<Picoseconds> {
    let begun = runs.iter().flat_map(|run| &run.starts[thread]).map(|(arrival, start)| start - arrival).max();
    let never = runs.iter().flat_map(|run| run.never[thread].iter().map(|due| run.length - due)).max();
    begun.max(never)
}

/// Activations that start at least so late, including those that had been due for so long when the run ended.
fn late(runs: &[Run], thread: usize, limit: Picoseconds) -> usize {
    let begun = runs.iter().flat_map(|run| &run.starts[thread]).filter(|(arrival, start)| start - arrival >= limit);
    let never = runs.iter().map(|run| never_in_time(&run.never[thread], limit, run.length)).sum::<usize>();
    begun.count() + never
}

fn never_in_time(due: &[Picoseconds], limit: Picoseconds, end: Picoseconds) -> usize {
    due.iter().filter(|&&due| end - due >= limit).count()
}

fn block_gaps(runs: &[Run], device: usize, phase: u32) -> Vec<Picoseconds> {
    let mut gaps = Vec::new();
    for run in runs {
        let within = |pair: &&[Block]| pair[0].phase == phase && pair[1].phase == phase;
        gaps.extend(run.devices[device].blocks.windows(2).filter(within).map(|pair| pair[1].arrival - pair[0].arrival));
    }
    gaps
}

/// The most buffers of a device whose tolerance is searched for: each stall that is tried takes thirty times as many
/// periods.
const MAX_BUFFERS: u64 = 1_000;

/// Runs a machine with a buffered device and one stall, and finds by bisection, to 1 us, the longest stall at which no
/// buffer comes to its end unserved.
fn stall_tolerance(period: Picoseconds, buffers: u64, measure: bool) -> Result<Picoseconds, String> {
    if period == 0 || buffers < 2 {
        return Err("a buffered device has at least two buffers, each of some length".to_owned());
    }
    let length = period.checked_mul(30 * buffers.min(MAX_BUFFERS + 1)).filter(|length| *length <= MAX_TIME);
    let Some(length) = length.filter(|_| buffers <= MAX_BUFFERS) else {
        return Err(format!(
            "at most {MAX_BUFFERS} buffers are tried, and no longer than 30 days for thirty times all of them"
        ));
    };
    if !measure {
        return Ok(0);
    }
    struct Late(Picoseconds, bool);
    impl Observer for Late {
        fn activation(&mut self, activation: &Activation) {
            self.1 |= activation.thread == Some(0) && activation.response() > self.0;
        }
    }
    let (mut holds, mut fails) = (0, 2 * buffers * period);
    while fails - holds > MICROSECOND {
        let stall = holds.midpoint(fails);
        let stalling = SourceSpec {
            name: "stall".to_owned(),
            cpu: 0,
            irql: 30,
            // Just before a release, so that the release waits for all of it.
            arrival: Arrival::Times(vec![10 * period - 1]),
            latched: false,
            isr: Cost::constant(0),
            dpc: Cost::constant(0),
            important: false,
            work: Cost::constant(stall),
            context: WorkContext::Irq,
            thread: None,
        };
        let device = ThreadSpec::new(
            "device",
            Policy::Priority(31),
            Activity::Periodic { period, offset: 0 },
            Cost::constant(0),
        );
        let spec = MachineSpec { sources: vec![stalling], threads: vec![device], ..MachineSpec::default() };
        let mut late = Late((buffers - 1) * period, false);
        Engine::new(spec).map_err(|error| error.to_string())?.run(length, &mut late);
        if late.1 { fails = stall } else { holds = stall }
    }
    Ok(holds.next_multiple_of(MICROSECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_long_periods_are_compared_as_they_are() {
        assert!(is_enough((4, 12), 4 * MILLISECOND, 12 * MILLISECOND));
        assert!(!is_enough((3, 12), 4 * MILLISECOND, 12 * MILLISECOND));
        assert!(is_enough((60_000, 65_536), MAX_TIME / 2, MAX_TIME));
        assert!(!is_enough((30_000, 65_536), MAX_TIME / 2, MAX_TIME));
    }

    #[test]
    fn no_tolerance_is_searched_for_without_end() {
        let found = stall_tolerance(2 * MILLISECOND, 6, true).unwrap();
        assert!(found.abs_diff(10 * MILLISECOND) <= MICROSECOND, "{found}");
        for (period, buffers) in [(1, MAX_BUFFERS + 1), (1, u64::MAX), (MAX_TIME, 2), (MAX_TIME, u64::MAX), (1, 1)] {
            for measure in [false, true] {
                assert!(stall_tolerance(period, buffers, measure).is_err(), "{period} {buffers}");
            }
        }
        assert_eq!(stall_tolerance(MAX_TIME / 60, 2, false), Ok(0));
    }
}
