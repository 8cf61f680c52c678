//! Made-up machines: how late each wakeup of a run is, and how runs of one machine differ.

use crate::made_up::{PERIOD_NS, SECOND_NS, run_of};
use punctual_comparison::Run;
use punctual_random::Random;
use punctual_recording::Wakeup;

/// The time between the end of a run and the start of the next, seconds.
const GAP_S: u64 = 2;

/// How a machine behaves between its runs and within them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Process {
    /// Every wakeup is independent, all runs alike.
    Steady,
    /// Each run has a level: the standard deviation of its logarithm.
    Levels(f64),
    /// Each run is in one of two regimes, in the second this many times as late; the probability of the second, and
    /// that of staying in the regime of the previous run (0: drawn anew each time).
    Regimes { factor: f64, share: f64, staying: f64 },
    /// Each run draws how many wakeups are late in it: the share of the tail, its logarithm's standard deviation.
    Cliff(f64),
    /// Body and share of the tail wander from second to second (autoregression), throughout all runs.
    Wander { rho: f64, body: f64, tail: f64 },
    /// Storms of mean length (seconds) come independently, one in this many seconds; meanwhile a tenth of all wakeups
    /// is late.
    Storms { length_s: f64, every_s: f64 },
    /// On and off in turn, this many seconds each, throughout all runs: three times as late while on.
    OnOff(u64),
    /// Everything becomes later by this every minute.
    Drift(f64),
    /// One run in this many is a stranger, ten times as late.
    Strangers(f64),
}

/// The benchmark's machines with their names.
pub(crate) const PROCESSES: [(&str, Process); 19] = [
    ("steady", Process::Steady),
    ("runs differ by sd 0.12", Process::Levels(0.12)),
    ("runs differ by sd 0.3", Process::Levels(0.3)),
    ("runs differ by sd 0.7", Process::Levels(0.7)),
    ("two regimes x2, drawn each run", Process::Regimes { factor: 2.0, share: 0.5, staying: 0.0 }),
    ("two regimes x5, drawn each run", Process::Regimes { factor: 5.0, share: 0.5, staying: 0.0 }),
    ("a regime x3 in 1 of 5 runs", Process::Regimes { factor: 3.0, share: 0.2, staying: 0.0 }),
    ("two regimes x3, 0.4 stay", Process::Regimes { factor: 3.0, share: 0.5, staying: 0.4 }),
    ("two regimes x3, 0.8 stay", Process::Regimes { factor: 3.0, share: 0.5, staying: 0.8 }),
    ("share of late ones sd 0.5", Process::Cliff(0.5)),
    ("seconds correlated 0.9", Process::Wander { rho: 0.9, body: 0.05, tail: 0.5 }),
    ("seconds correlated 0.98 (50 s)", Process::Wander { rho: 0.98, body: 0.15, tail: 0.15 }),
    ("the same, sd 0.4", Process::Wander { rho: 0.98, body: 0.4, tail: 0.4 }),
    ("wander over 10 min, sd 0.4", Process::Wander { rho: 0.9983, body: 0.4, tail: 0.4 }),
    ("storms of 3 s every 30 s", Process::Storms { length_s: 3.0, every_s: 30.0 }),
    ("on and off every 20 s", Process::OnOff(20)),
    ("on and off every 3 s", Process::OnOff(3)),
    ("10 % later every minute", Process::Drift(0.1)),
    ("one run in ten ten times as late", Process::Strangers(0.1)),
];

impl Process {
    /// Whether its runs differ only in how late a whole run is: such a run is a steady one with all its figures
    /// shifted.
    fn is_level(self) -> bool {
        matches!(self, Process::Steady | Process::Levels(_) | Process::Regimes { .. } | Process::Strangers(_))
    }
}

/// One machine in time, which makes one run after another.
pub(crate) struct Machine {
    process: Process,
    random: Random,
    now_s: u64,
    number: u64,
    regime: bool,
    wander: f64,
    storm_until_s: f64,
    next_storm_s: f64,
}

impl Machine {
    pub(crate) fn new(process: Process, seed: u64) -> Machine {
        let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5eed);
        let wander = random.normal();
        let regime = random.uniform() < 0.5;
        let now_s = (random.uniform() * 1_000.0) as u64;
        Machine { process, random, now_s, number: 0, regime, wander, storm_until_s: 0.0, next_storm_s: 0.0 }
    }

    /// A run like those of a pool, which are steady, if only whole runs differ; `None` for other machines.
    pub(crate) fn run_of_pool(&mut self, seconds: u64, pool: &[Run]) -> Option<Run> {
        if !self.process.is_level() {
            return None;
        }
        let (level, _) = self.level();
        let mut run = pool[(self.random.uniform() * pool.len() as f64) as usize].clone();
        self.number += 1;
        run.document.provenance.run_id = self.number.to_string();
        run.document.provenance.started_ns = self.now_s * SECOND_NS;
        self.now_s += seconds + GAP_S;
        let estimates = run.stages.values_mut().flat_map(|stage| &mut stage.estimates);
        estimates.for_each(|estimate| estimate.ln += level.ln());
        Some(run)
    }

    /// One run: everything this many times as late as the machine has it, and a tail that is `tail` times as late.
    pub(crate) fn run(&mut self, seconds: u64, [body, tail]: [f64; 2]) -> Run {
        let (level, tail_share) = self.level();
        let mut wakeups = Vec::with_capacity(seconds as usize * 1_000);
        let start_ns = self.now_s * SECOND_NS;
        for second in 0..seconds {
            let (here, share) = self.second();
            for index in 0..1_000 {
                let value = 20_000.0 * (0.3 * self.random.normal()).exp() * level * here;
                let in_tail = self.random.uniform() < 0.005 * tail_share * share;
                let total_ns = if in_tail { 10.0 * value * tail } else { value * body } as u64;
                let expected_ns = start_ns + second * SECOND_NS + index * PERIOD_NS;
                wakeups.push(Wakeup { tid: 1, expected_ns, total_ns, ..Wakeup::default() });
            }
        }
        for _ in 0..GAP_S {
            self.second();
        }
        self.number += 1;
        run_of(self.number, &wakeups, |document| document.provenance.started_ns = start_ns)
    }

    /// How late a whole run is, and how many times as many of its wakeups are late.
    fn level(&mut self) -> (f64, f64) {
        let random = &mut self.random;
        match self.process {
            Process::Levels(deviation) => ((deviation * random.normal()).exp(), 1.0),
            Process::Regimes { factor, share, staying } => {
                let stays = random.uniform() < staying;
                // Those that do not stay switch or, where none stays, are drawn.
                self.regime = if staying == 0.0 { random.uniform() < share } else { self.regime == stays };
                (if self.regime { factor } else { 1.0 }, 1.0)
            }
            Process::Cliff(deviation) => (1.0, 2.0 * (deviation * random.normal()).exp()),
            Process::Strangers(share) => (if random.uniform() < share { 10.0 } else { 1.0 }, 1.0),
            _ => (1.0, 1.0),
        }
    }

    /// The second that passes: how late, and how many times as many wakeups are late.
    fn second(&mut self) -> (f64, f64) {
        self.now_s += 1;
        match self.process {
            Process::Wander { rho, body, tail } => {
                self.wander = rho * self.wander + (1.0 - rho * rho).sqrt() * self.random.normal();
                ((body * self.wander).exp(), (tail * self.wander).exp())
            }
            Process::Storms { length_s, every_s } => {
                let now = self.now_s as f64;
                if self.next_storm_s == 0.0 {
                    self.next_storm_s = now - every_s * self.random.uniform().ln();
                }
                while now >= self.next_storm_s {
                    self.storm_until_s = self.next_storm_s - length_s * self.random.uniform().ln();
                    self.next_storm_s = self.storm_until_s - every_s * self.random.uniform().ln();
                }
                (1.0, if now < self.storm_until_s { 20.0 } else { 1.0 })
            }
            Process::OnOff(length_s) => (if (self.now_s / length_s).is_multiple_of(2) { 1.0 } else { 3.0 }, 1.0),
            Process::Drift(a_minute) => ((a_minute / 60.0 * (self.now_s % 10_000) as f64).exp(), 1.0),
            _ => (1.0, 1.0),
        }
    }
}
