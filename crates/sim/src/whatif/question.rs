//! The question, and the machine that answers it.

use super::{Context, When};
use crate::cost::Cost;
use crate::error::{Error, Result};
use crate::interference::{Interference, MAX_BYTES};
use crate::machine::{Activity, Arrival, Engine, MachineSpec, Policy, SourceSpec, ThreadSpec, WorkContext};
use crate::time::{MAX_TIME, MICROSECOND, MILLISECOND, Picoseconds, SECOND, format_span};

/// No what-if handles more activations than this.
const MAX_ACTIVATIONS: u64 = 2_000_000_000;

/// The samples of each block, and the size of the ring between device and work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingSize {
    /// Samples that come in each period.
    pub samples: u32,
    /// Samples that the ring holds.
    pub size: u64,
}

impl RingSize {
    /// Whether it holds exactly so many blocks.
    fn holds(&self, blocks: u64) -> bool {
        u64::from(self.samples).checked_mul(blocks) == Some(self.size)
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
    /// The ring that its blocks come through; `None` for one that is never full.
    pub ring: Option<RingSize>,
    /// Where that work runs.
    pub context: Context,
    /// Priorities of threads that never stop computing.
    pub competitors: Vec<u8>,
    /// A thread that does nothing but wake: priority and period. Its lateness is the others' latency.
    pub bystander: Option<(u8, Picoseconds)>,
    /// What else takes the CPU; several recordings follow one after the other.
    pub interference: Option<Interference>,
    /// The recordings one by one, if there are several: their differences widen the interval.
    pub rounds: Vec<Interference>,
    /// When these were made and when a run is to take place; `None` if that is not known.
    pub when: Option<When>,
    /// How long to simulate.
    pub duration: Picoseconds,
    /// How long a turn among threads of one priority lasts.
    pub quantum: Picoseconds,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl WhatIf {
    /// A device alone on a machine without interference, for an hour, seed 1.
    pub fn new(period: Picoseconds, buffers: u64, compute: Picoseconds, context: Context) -> WhatIf {
        WhatIf {
            period,
            buffers,
            compute,
            ring: None,
            context,
            competitors: Vec::new(),
            bystander: None,
            interference: None,
            rounds: Vec::new(),
            when: None,
            duration: 3600 * SECOND,
            quantum: 20 * crate::time::MILLISECOND,
            seed: 1,
        }
    }

    /// The same question with one value changed, for a sweep: `runtime` and `period` of the reservation in
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
            ("buffers", _) => {
                // A ring that holds exactly its buffers changes with them.
                if let Some(ring) = question.ring.as_mut().filter(|ring| ring.holds(self.buffers)) {
                    ring.size = u64::from(ring.samples).saturating_mul(number);
                }
                question.buffers = number;
            }
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
        // The device's thread first, then bystander, competitors and what was measured.
        let policy = self.policy();
        if let Some(policy) = policy {
            spec.threads.push(ThreadSpec::new("device", policy, Activity::Signalled, Cost::default()));
        }
        if let Some((priority, period)) = self.bystander {
            let policy = Policy::Priority(priority);
            spec.threads.push(ThreadSpec::new("bystander", policy, Activity::Signalled, Cost::default()));
            spec.sources.push(SourceSpec {
                // Where the two coincide, just after the device's interrupt, so that it meets the worst case.
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
            arrival: match self.ring {
                Some(RingSize { samples, size }) => Arrival::Sampled { period: self.period, samples, ring: size },
                None => Arrival::Periodic { period: self.period, offset: self.period },
            },
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
                "the recording has {} late wakeups in {}, more than can be replayed in {} MB: use a shorter one, or \
                 one of fewer wakeups a second, which says as much",
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

    /// The same question without the recordings, and without the threads that it does not ask about.
    pub(super) fn alone(&self) -> WhatIf {
        WhatIf {
            interference: None,
            rounds: Vec::new(),
            when: None,
            bystander: None,
            competitors: self.competitors.clone(),
            ..*self
        }
    }
}

/// An interrupt on the first CPU whose handler takes `path`, and wakes a thread if there is one.
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
