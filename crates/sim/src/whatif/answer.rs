//! The answer to the question.

use super::{Context, Interval, WhatIf};
use crate::error::Result;
use crate::machine::Engine;
use crate::observe::{Activation, Observer, Unit};
use crate::time::{NANOSECOND, Picoseconds, SECOND};
use crate::watch::{ToTheEnd, Watch};
use punctual_recording::{Distribution, agreeing, counted, format_ns, grouped};

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Activations that were due and are settled.
    pub activations: u64,
    /// Of those, how many were not done within `(buffers - 1) * period`, or lost when the ring was full.
    pub misses: u64,
    /// Most activations that were due and not done at one time.
    pub pending_max: u64,
    /// From due until the work started, or until the block was found lost, ns.
    pub latency: Distribution,
    /// From due until the work was done, or the block found lost, ns.
    pub response: Distribution,
    /// The bystander's lateness, ns.
    pub bystander: Option<Distribution>,
    /// Times between the bystander's starts, ns.
    pub bystander_intervals: Option<Distribution>,
    /// Shares of the CPU: the device's, the competitors', nobody's.
    pub shares: [f64; 3],
    /// Simulated time, ps.
    pub exposure: Picoseconds,
    /// Events handled.
    pub events: u64,
    /// Whether it was ended before the simulated time was over, or before it knew how sure the misses are.
    pub interrupted: bool,
    /// How sure the misses are; `None` if nothing recorded went in, because they then follow from the question alone.
    pub interval: Option<Interval>,
}

impl Answer {
    /// One sentence.
    pub fn verdict(&self) -> String {
        let time = format_ns(self.exposure / NANOSECOND);
        let all = counted(self.activations, "buffer");
        let counted = match self.misses {
            0 => format!("None of {all} was missed in {time} of simulated time"),
            misses => format!(
                "{} of {all} {} missed in {time} of simulated time",
                grouped(misses),
                agreeing(misses, "was", "were")
            ),
        };
        match &self.interval {
            _ if self.interrupted => format!("{counted}. It was interrupted before it could say how certain that is."),
            None => format!("{counted}."),
            Some(Interval { refused: Some(why), .. }) => why.clone(),
            Some(interval) => {
                let rounds = match interval.recordings {
                    0 | 1 => String::new(),
                    several => format!(" in {several} rounds"),
                };
                let within = format!("{} to {} in a run of that length", interval.low, interval.high);
                let said = match (interval.expected, interval.recordings) {
                    (Some(expected), _) => format!(
                        "at the time asked about {expected} are expected, {within}, 95 times of 100 as long as the \
                         machine goes on changing as it did between the rounds."
                    ),
                    (None, 0 | 1) => format!("{within}, 95 times of 100 while the machine stays as it was recorded."),
                    (None, _) => {
                        format!("{within}, 95 times of 100 while the machine changes no more than between the rounds.")
                    }
                };
                format!("{counted}, from {} recorded{rounds}: {said}", format_ns(interval.recorded / NANOSECOND))
            }
        }
    }
}

/// How much to simulate before asking the watcher again.
const PIECE: Picoseconds = 60 * SECOND;

/// What goes into an answer.
struct Seen {
    /// How long the switch to a thread takes before its first instruction.
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
            self.answer.misses += u64::from(activation.unit.lost || activation.response() > self.limit);
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
    /// Runs it.
    ///
    /// # Errors
    /// A line that names what is impossible.
    pub fn answer(&self) -> Result<Answer> {
        self.answer_watched(&ToTheEnd)
    }

    /// The same, but the watcher may end it: the answer then covers the time simulated until then.
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
            // No run is so long that more could be counted.
            limit: (self.buffers - 1).saturating_mul(self.period),
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
        // What was due and not done by the end has missed, if its time is over.
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
