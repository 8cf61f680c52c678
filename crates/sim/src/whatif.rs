//! What if a device ran on this machine: a simulated machine with the interference that was measured.

use crate::cost::Cost;
use crate::error::{Error, Result};
use crate::interference::{Interference, MAX_BYTES};
use crate::machine::{Activity, Arrival, Engine, MachineSpec, Policy, SourceSpec, ThreadSpec, WorkContext};
use crate::observe::{Activation, Observer, Unit};
use crate::random::mix;
use crate::time::{MAX_TIME, MICROSECOND, MILLISECOND, NANOSECOND, Picoseconds, SECOND, format_span};
use crate::watch::{ToTheEnd, Watch};
use punctual_recording::Distribution;
use punctual_recording::counted;

/// No what-if handles more activations than this.
const MAX_ACTIVATIONS: u64 = 2_000_000_000;

/// Where the device's work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// In its interrupt handler.
    Irq,
    /// In softirq context.
    Softirq,
    /// In a thread of this fixed priority, 1 to 99.
    Thread(u8),
    /// In a reservation by a floating budget (`SCHED_DEADLINE`).
    Reservation {
        /// Budget, ps.
        runtime: Picoseconds,
        /// Of every, ps.
        period: Picoseconds,
    },
    /// In a reservation by precomputed slots of 1 ms, never outside of them.
    Slots {
        /// Milliseconds.
        runtime: u32,
        /// Of every so many.
        period: u32,
    },
}

impl Context {
    /// Reads `irq`, `softirq`, `thread:80`, `reservation:2ms/8ms` or `slots:2/8`.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn parse(text: &str) -> std::result::Result<Context, String> {
        let wrong =
            || format!("{text:?} is no context: irq, softirq, thread:80, reservation:2ms/8ms and slots:2/8 are");
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let pair = || rest.split_once('/').ok_or_else(wrong);
        match kind {
            "irq" if rest.is_empty() => Ok(Context::Irq),
            "softirq" | "dpc" if rest.is_empty() => Ok(Context::Softirq),
            "thread" => {
                let priority = rest.parse().map_err(|_| wrong())?;
                if !(1..=99).contains(&priority) {
                    return Err(format!("priority {priority} is not within 1 to 99"));
                }
                Ok(Context::Thread(priority))
            }
            "reservation" => {
                let (runtime, period) = pair()?;
                let runtime = crate::time::parse_span(runtime)?;
                let period = crate::time::parse_span(period)?;
                Ok(Context::Reservation { runtime, period })
            }
            "slots" => {
                let (runtime, period) = pair()?;
                let number = |part: &str| part.parse::<u32>().map_err(|_| wrong());
                Ok(Context::Slots { runtime: number(runtime)?, period: number(period)? })
            }
            _ => Err(wrong()),
        }
    }
}

/// The question.
#[derive(Debug, Clone)]
pub struct WhatIf {
    /// The device's period, ps.
    pub period: Picoseconds,
    /// Its buffers, at least 2.
    pub buffers: u64,
    /// Its compute time for each period, ps.
    pub compute: Picoseconds,
    /// Where that runs.
    pub context: Context,
    /// Priorities of threads that never stop computing.
    pub competitors: Vec<u8>,
    /// A thread that does nothing but wake: priority and period. Its lateness is the others' latency.
    pub bystander: Option<(u8, Picoseconds)>,
    /// What else takes the CPU: of several recordings, all of them one after the other.
    pub interference: Option<Interference>,
    /// The recordings one by one where there are several: how they differ widens the interval.
    pub rounds: Vec<Interference>,
    /// How long the simulated time is.
    pub duration: Picoseconds,
    /// How long threads of one priority take turns for.
    pub quantum: Picoseconds,
    /// From which all random numbers come.
    pub seed: u64,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Activations that were due and are settled.
    pub activations: u64,
    /// Of those, how many were not done within `(buffers - 1) * period`.
    pub misses: u64,
    /// Most activations that were due and not done at one time.
    pub pending_max: u64,
    /// From due to start of the work, ns.
    pub latency: Distribution,
    /// From due to done, ns.
    pub response: Distribution,
    /// The bystander's lateness, ns.
    pub bystander: Option<Distribution>,
    /// Times between the bystander's starts, ns.
    pub bystander_intervals: Option<Distribution>,
    /// Share of the CPU that the device had, the competitors had, and that nobody had.
    pub shares: [f64; 3],
    /// Simulated time, ps.
    pub exposure: Picoseconds,
    /// Events handled.
    pub events: u64,
    /// Whether it was ended before the simulated time was over, or before it was known how sure the misses are.
    pub interrupted: bool,
    /// How sure the misses are; `None` where nothing recorded went in, so that they follow from the question alone.
    pub interval: Option<Interval>,
}

/// Between which numbers the misses of a run as long as the simulated time lie, 95 times of 100: of one recording while the
/// machine stays as it was recorded, of several while it changes from run to run as it did from one of them to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// How much time was recorded, ps.
    pub recorded: Picoseconds,
    /// In how many recordings.
    pub recordings: u64,
    /// Repetitions, each on the recording's seconds drawn anew and with other phases.
    pub repetitions: u64,
    /// At least so many misses.
    pub low: u64,
    /// At most so many.
    pub high: u64,
    /// Why the recording cannot carry the answer, and what would.
    pub refused: Option<String>,
}

impl Answer {
    /// One sentence.
    pub fn verdict(&self) -> String {
        let time = format_span(self.exposure);
        let counted = match self.misses {
            0 => format!("No buffer of {} missed in {time} of simulated time", self.activations),
            misses => {
                format!("{} of {} missed in {time} of simulated time", counted(misses, "buffer"), self.activations)
            }
        };
        match &self.interval {
            _ if self.interrupted => format!("{counted}. It was interrupted: how sure that is was not worked out."),
            None => format!("{counted}."),
            Some(Interval { refused: Some(why), .. }) => why.clone(),
            Some(interval) => format!(
                "{counted}, from {} recorded{}: {} to {} in a run as long, 95 times of 100 while the machine {}.",
                format_span(interval.recorded),
                if interval.recordings > 1 { format!(" in {} rounds", interval.recordings) } else { String::new() },
                interval.low,
                interval.high,
                match interval.recordings {
                    0 | 1 => "stays as it was recorded",
                    _ => "changes no more than between the rounds",
                }
            ),
        }
    }
}

/// Less recorded than this has too few seconds to be drawn from.
const MIN_RECORDED: Picoseconds = 20 * SECOND;
/// So many times as long as the time asked about a recording without a miss must be to exclude one: `-ln 0.05`.
const TIMES_WITHOUT: u64 = 3;
/// Repetitions at least and at most, and for how much simulated time in all.
const REPETITIONS: (u64, u64, Picoseconds) = (24, 100, 36_000 * SECOND);
/// How much is simulated before the watcher is asked again.
const PIECE: Picoseconds = 60 * SECOND;

/// What an answer is made of.
struct Seen {
    /// What the switch to a thread takes before its first instruction.
    switch: Picoseconds,
    source: u32,
    bystander: u32,
    limit: Picoseconds,
    arrived: u64,
    answer: Answer,
    last_bystander: Option<Picoseconds>,
}

impl Observer for Seen {
    fn arrival(&mut self, source: u32, _unit: &Unit) {
        if source == self.source {
            self.arrived += 1;
            self.answer.pending_max = self.answer.pending_max.max(self.arrived - self.answer.activations);
        }
    }

    fn activation(&mut self, activation: &Activation) {
        if activation.unit.source == Some(self.source) {
            self.answer.activations += 1;
            self.answer.misses += u64::from(activation.response() > self.limit);
            let switch = if activation.thread.is_some() { self.switch } else { 0 };
            self.answer.latency.record((activation.latency() + switch) / NANOSECOND);
            self.answer.response.record(activation.response() / NANOSECOND);
        } else if activation.thread == Some(self.bystander) {
            if let Some(lateness) = &mut self.answer.bystander {
                lateness.record((activation.latency() + self.switch) / NANOSECOND);
            }
            if let (Some(gaps), Some(last)) = (&mut self.answer.bystander_intervals, self.last_bystander) {
                gaps.record((activation.start - last) / NANOSECOND);
            }
            self.last_bystander = Some(activation.start);
        }
    }
}

impl WhatIf {
    /// A device alone on a machine without interference, for an hour, seed 1.
    pub fn new(period: Picoseconds, buffers: u64, compute: Picoseconds, context: Context) -> WhatIf {
        WhatIf {
            period,
            buffers,
            compute,
            context,
            competitors: Vec::new(),
            bystander: None,
            interference: None,
            rounds: Vec::new(),
            duration: 3600 * SECOND,
            quantum: 20 * crate::time::MILLISECOND,
            seed: 1,
        }
    }

    /// The same question with one value set otherwise, for a sweep: `runtime` and `period` of the reservation in
    /// milliseconds, `priority` of the thread, `buffers`, `compute` and `device-period` in microseconds.
    ///
    /// # Errors
    /// A name that is none of these, a value below 1, or one that the context does not have.
    pub fn with(&self, name: &str, value: i64) -> Result<WhatIf> {
        let refuse = |what: &str| Err(Error::Sweep(format!("--sweep {name}={value}: {what}")));
        let Some(number) = u64::try_from(value).ok().filter(|&number| number > 0) else {
            return refuse("values are whole numbers from 1");
        };
        if number > MAX_TIME / MILLISECOND {
            return refuse("such a value is longer than 30 days");
        }
        let short = u32::try_from(number).unwrap_or(u32::MAX);
        let mut question = self.clone();
        match (name, &mut question.context) {
            ("runtime", Context::Reservation { runtime, .. }) => *runtime = number * MILLISECOND,
            ("period", Context::Reservation { period, .. }) => *period = number * MILLISECOND,
            ("runtime", Context::Slots { runtime, .. }) => *runtime = short,
            ("period", Context::Slots { period, .. }) => *period = short,
            ("priority", Context::Thread(priority)) if number <= 99 => *priority = short as u8,
            ("buffers", _) => question.buffers = number,
            ("compute", _) => question.compute = number * MICROSECOND,
            ("device-period", _) => question.period = number * MICROSECOND,
            ("runtime" | "period" | "priority", _) => return refuse("the context has no such value"),
            _ => {
                let values = "runtime, period, priority, buffers, compute and device-period";
                return Err(Error::Sweep(format!("--sweep {name}: only {values} can be swept")));
            }
        }
        Ok(question)
    }

    /// The machine that answers it.
    ///
    /// # Errors
    /// A line that names what is impossible.
    pub fn machine(&self) -> Result<MachineSpec> {
        self.check()?;
        let (path, switch) = self.interference.as_ref().map_or((0, 0), Interference::path);
        let mut spec =
            MachineSpec { seed: self.seed, quantum: self.quantum, context_switch: switch, ..MachineSpec::default() };
        // The device's thread first, then bystander, competitors and whatever was measured.
        let policy = self.policy();
        if let Some(policy) = policy {
            spec.threads.push(ThreadSpec::new("device", policy, Activity::Signalled, Cost::default()));
        }
        if let Some((priority, period)) = self.bystander {
            let policy = Policy::Priority(priority);
            spec.threads.push(ThreadSpec::new("bystander", policy, Activity::Signalled, Cost::default()));
            spec.sources.push(SourceSpec {
                // Just after the device's interrupt wherever the two coincide, so that it meets the worst case.
                arrival: Arrival::Periodic { period, offset: 1 },
                thread: Some(spec.threads.len() - 1),
                ..timer("bystander's timer", path)
            });
        }
        for &priority in &self.competitors {
            spec.threads.push(ThreadSpec::spinner("competitor", priority));
        }
        if let Some(interference) = &self.interference {
            let (sources, taker) = interference.sources(self.period, 0, spec.threads.len(), self.seed);
            spec.sources.extend(sources);
            spec.threads.push(taker);
        }
        spec.sources.push(SourceSpec {
            arrival: Arrival::Periodic { period: self.period, offset: self.period },
            work: Cost::constant(self.compute),
            context: match self.context {
                Context::Irq => WorkContext::Irq,
                Context::Softirq => WorkContext::Dpc,
                _ => WorkContext::Thread,
            },
            thread: policy.is_some().then_some(0),
            ..timer("device", path)
        });
        Ok(spec)
    }

    /// Whether the question itself is possible, whatever was recorded.
    ///
    /// # Errors
    /// A line that names what is impossible.
    pub fn check_question(&self) -> Result<()> {
        let alone = WhatIf { bystander: self.bystander, ..self.alone() };
        Engine::new(alone.machine()?).map(|_| ())
    }

    /// Refuses what is impossible.
    fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::Machine(what));
        if self.period == 0 || self.duration == 0 {
            return refuse("the device's period and the simulated time must not be 0".to_owned());
        }
        if self.buffers < 2 {
            return refuse(format!("a device has at least 2 buffers, not {}", self.buffers));
        }
        if self.compute > self.period {
            return refuse(format!(
                "the device computes {} of every {}: it can never keep up",
                format_span(self.compute),
                format_span(self.period)
            ));
        }
        if let Some(interference) = self.interference.as_ref().filter(|interference| interference.bytes() > MAX_BYTES) {
            return refuse(format!(
                "the recording has {} late wakeups in {}, more than can be replayed in {} MB: a shorter one, or one of \
                 fewer wakeups a second, says as much",
                interference.counts().1,
                format_span(interference.observed() / SECOND * SECOND),
                MAX_BYTES / 1_000_000
            ));
        }
        let shortest = self.bystander.map_or(self.period, |(_, period)| period.min(self.period));
        if shortest == 0 || self.duration > MAX_TIME || self.duration / shortest > MAX_ACTIVATIONS {
            return refuse(format!("more than {MAX_ACTIVATIONS} activations: shorten the simulated time"));
        }
        Ok(())
    }

    /// How the device's thread is scheduled, if it has one.
    fn policy(&self) -> Option<Policy> {
        match self.context {
            Context::Irq | Context::Softirq => None,
            Context::Thread(priority) => Some(Policy::Priority(priority)),
            Context::Reservation { runtime, period } => {
                Some(Policy::Deadline { runtime, deadline: period, period, reclaim: false, tick: None })
            }
            Context::Slots { runtime, period } => Some(Policy::Reservation {
                runtime,
                period,
                power_of_two: false,
                outside: None,
                from: 0,
                before_priority: 1,
            }),
        }
    }

    /// The answer with its interval, on up to `threads` threads: the question again and again, each time on the
    /// recording's seconds drawn anew, in other phases and with another seed. Without a recording there is none.
    ///
    /// # Errors
    /// A line that names what is impossible.
    pub fn answer_with_interval(&self, threads: usize, watch: &dyn Watch) -> Result<Answer> {
        let mut answer = self.answer_watched(watch)?;
        watch.part_done();
        let Some(interference) = self.interference.as_ref().filter(|_| !answer.interrupted) else { return Ok(answer) };
        let recorded = interference.observed();
        let repetitions = self.repetitions();
        // Each of those that go on at once replays a recording of its own.
        let at_once = usize::try_from(MAX_BYTES / interference.bytes().max(1)).unwrap_or(usize::MAX).max(1);
        let rounds = if self.rounds.len() > 1 { &self.rounds[..] } else { std::slice::from_ref(interference) };
        let question = self.alone();
        let counted = crate::parallel::map(repetitions as usize, threads.min(at_once), |index| {
            let seed = mix(self.seed ^ mix(index as u64 + 1));
            let drawn = rounds[index % rounds.len()].resampled(seed);
            let again = WhatIf { interference: Some(drawn), seed, ..question.clone() };
            let answer = again.answer_watched(watch)?;
            watch.part_done();
            Ok((!answer.interrupted).then_some(answer.misses))
        });
        let Some(counted) = counted.into_iter().collect::<Result<Option<Vec<u64>>>>()? else {
            answer.interrupted = true;
            return Ok(answer);
        };
        let most = counted.iter().copied().max().unwrap_or(0);
        let refused = self.refusal(recorded, answer.misses, most);
        let (low, mut high) = crate::spread::interval(&counted, rounds.len());
        // What was met in no second of the recording may still come: no more often than once in a third of it.
        if most == 0 {
            high = high.max(TIMES_WITHOUT * self.duration / recorded.max(1));
        }
        let recordings = rounds.len() as u64;
        answer.interval = Some(Interval { recorded, recordings, repetitions, low, high, refused });
        Ok(answer)
    }

    /// The same question without what was recorded, and without whom it does not ask about.
    fn alone(&self) -> WhatIf {
        WhatIf {
            interference: None,
            rounds: Vec::new(),
            bystander: None,
            competitors: self.competitors.clone(),
            ..*self
        }
    }

    /// How often the question is put again for the interval.
    pub fn repetitions(&self) -> u64 {
        let (min, max, in_all) = REPETITIONS;
        let often = (in_all / self.duration.max(1)).clamp(min, max);
        // As often for every recording.
        often.next_multiple_of(self.rounds.len().max(1) as u64)
    }

    /// Why so much recorded time cannot carry the answer.
    fn refusal(&self, recorded: Picoseconds, misses: u64, most: u64) -> Option<String> {
        let span = |time: Picoseconds| format_span(time.next_multiple_of(SECOND));
        if recorded < MIN_RECORDED {
            return Some(format!(
                "A recording of {} cannot say how often a buffer is missed: record at least {}.",
                format_span(recorded / MILLISECOND * MILLISECOND),
                span(MIN_RECORDED)
            ));
        }
        let needed = self.duration.saturating_mul(TIMES_WITHOUT);
        if misses == 0 && most == 0 && recorded < needed {
            let missing = span(needed - recorded);
            return Some(format!(
                "A recording of {} without a miss cannot exclude one in {}: record {missing} more, or ask about at most {} (-D).",
                span(recorded),
                span(self.duration),
                format_span(recorded / TIMES_WITHOUT / SECOND * SECOND)
            ));
        }
        None
    }

    /// Runs it.
    ///
    /// # Errors
    /// A line that names what is impossible.
    pub fn answer(&self) -> Result<Answer> {
        self.answer_watched(&ToTheEnd)
    }

    /// The same, which the watcher may end: then the answer is of the time simulated until then.
    ///
    /// # Errors
    /// A line that names what is impossible.
    pub fn answer_watched(&self, watch: &dyn Watch) -> Result<Answer> {
        let spec = self.machine()?;
        let named = |name: &str| spec.threads.iter().position(|thread| thread.name == name);
        let mut seen = Seen {
            switch: spec.context_switch,
            source: spec.sources.len() as u32 - 1,
            bystander: named("bystander").map_or(u32::MAX, |index| index as u32),
            limit: (self.buffers - 1) * self.period,
            arrived: 0,
            answer: Answer {
                activations: 0,
                misses: 0,
                pending_max: 0,
                latency: Distribution::new(),
                response: Distribution::new(),
                bystander: self.bystander.map(|_| Distribution::new()),
                bystander_intervals: self.bystander.map(|_| Distribution::new()),
                shares: [0.0; 3],
                exposure: self.duration,
                events: 0,
                interrupted: false,
                interval: None,
            },
            last_bystander: None,
        };
        let mut engine = Engine::new(spec.clone())?;
        let mut simulated = 0;
        while simulated < self.duration && !(simulated > 0 && watch.is_over()) {
            simulated = simulated.saturating_add(PIECE).min(self.duration);
            engine.run(simulated, &mut seen);
        }
        let mut answer = seen.answer;
        (answer.exposure, answer.interrupted) = (simulated, simulated < self.duration);
        // What is due and was never done by the end has missed, if its time is over.
        let due = (simulated.saturating_sub(seen.limit) / self.period).min(seen.arrived);
        if answer.activations < due {
            answer.misses += due - answer.activations;
            answer.activations = due;
        }
        let of = |time: Picoseconds| time as f64 / simulated as f64;
        let device = match self.context {
            Context::Irq | Context::Softirq => answer.activations.saturating_mul(self.compute),
            _ => engine.thread_time(0),
        };
        let competitors = (0..spec.threads.len())
            .filter(|&index| spec.threads[index].name == "competitor")
            .map(|index| engine.thread_time(index))
            .sum();
        answer.shares = [of(device), of(competitors), of(engine.cpu_time(0).idle)];
        answer.events = engine.events();
        Ok(answer)
    }
}

/// An interrupt of the first CPU whose handler takes `path`, and wakes a thread if it has one.
fn timer(name: &str, path: Picoseconds) -> SourceSpec {
    SourceSpec {
        name: name.to_owned(),
        cpu: 0,
        irql: 20,
        arrival: Arrival::Times(Vec::new()),
        latched: false,
        isr: Cost::constant(path),
        dpc: Cost::default(),
        important: false,
        work: Cost::default(),
        context: WorkContext::Thread,
        thread: None,
    }
}
