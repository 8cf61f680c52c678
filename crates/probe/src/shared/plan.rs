//! What to measure.

use crate::followed::Selection;
use crate::recorder::WhySettings;
use crate::shared::error::PlanError;
use punctual_kernel::scheduling::{Scheduling, allowed_cpus, check_allowed};
use punctual_recording::{LimitSpec, LoadInfo, RecordingKind};
use std::path::PathBuf;

/// A scheduling policy, without its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_RR`.
    RoundRobin,
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_DEADLINE`.
    Deadline,
}

impl Policy {
    /// The name used in options and recordings.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Fifo => "fifo",
            Policy::RoundRobin => "rr",
            Policy::Other => "other",
            Policy::Deadline => "deadline",
        }
    }
}

/// What wakes the measured threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// The timer interrupt wakes the thread itself.
    Timer,
    /// The timer interrupt queues a softirq callback, and that wakes the thread.
    Softirq,
}

impl Via {
    /// The name used in options and recordings.
    pub fn name(self) -> &'static str {
        match self {
            Via::Timer => "timer",
            Via::Softirq => "softirq",
        }
    }
}

/// What to measure, and where to write it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Whose threads to follow instead of measuring with threads of its own: then the interval, policy, priorities,
    /// CPUs, `via`, `bpf` and the power request do not matter.
    pub follow: Option<Selection>,
    /// The file of a kernel module's stamps, to be read instead of measuring with threads of its own: the same then
    /// does not matter.
    pub stamps: Option<PathBuf>,
    /// The period of each thread, ns.
    pub interval_ns: u64,
    /// How often followed threads should begin anew, ns; nothing else tells that.
    pub followed_period_ns: Option<u64>,
    /// How long to measure, ns; `None` until told to stop.
    pub duration_ns: Option<u64>,
    /// The policy of the threads.
    pub policy: Policy,
    /// For each CPU, one thread of each of these priorities; ignored by policies without one.
    pub priorities: Vec<u32>,
    /// One thread (of each priority) on each of these CPUs; `None` for every allowed one.
    pub cpus: Option<Vec<u32>>,
    /// What wakes the threads.
    pub via: Via,
    /// Whether to follow the wakeups inside the kernel.
    pub bpf: bool,
    /// Whether to keep the processors out of deep idle states.
    pub power_request: bool,
    /// Stop at the first wakeup whose total exceeds this, ns.
    pub break_ns: Option<u64>,
    /// Whether and how to record what makes wakeups late.
    pub why: Option<WhySettings>,
    /// Judged at the end.
    pub limits: Vec<LimitSpec>,
    /// The directory to write.
    pub output: PathBuf,
    /// What kind of recording it is: more than wakeups if the caller writes other things beside them.
    pub kind: RecordingKind,
    /// What else runs meanwhile.
    pub load: LoadInfo,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
}

/// The range of periods that SCHED_DEADLINE takes.
const DEADLINE_PERIODS_NS: std::ops::RangeInclusive<u64> = 100_000..=4_000_000_000;

impl Plan {
    /// What `punctual record` measures if nothing else is asked for: FIFO 80 every 1 ms on every allowed CPU, followed
    /// in the kernel, until told to stop.
    pub fn new(output: impl Into<PathBuf>) -> Plan {
        Plan {
            follow: None,
            stamps: None,
            interval_ns: 1_000_000,
            followed_period_ns: None,
            duration_ns: None,
            policy: Policy::Fifo,
            priorities: vec![80],
            cpus: None,
            via: Via::Timer,
            bpf: true,
            power_request: true,
            break_ns: None,
            why: None,
            limits: Vec::new(),
            output: output.into(),
            kind: RecordingKind::Wakeups,
            load: LoadInfo::default(),
            command_line: Vec::new(),
        }
    }

    /// The name by which the followed command is known before it becomes the program; `None` if no command is followed.
    pub fn command_mark(&self) -> Option<String> {
        self.follow.as_ref().filter(|selection| selection.command).map(|_| crate::followed::mark())
    }

    /// The CPUs that the plan measures.
    ///
    /// # Errors
    /// If a CPU was asked for that this process may not use.
    pub fn measured_cpus(&self) -> Result<Vec<u32>, PlanError> {
        let allowed = allowed_cpus();
        let Some(cpus) = &self.cpus else { return Ok(allowed) };
        check_allowed(cpus, &allowed)?;
        Ok(cpus.clone())
    }

    /// The scheduling of the threads of one CPU.
    ///
    /// # Errors
    /// If the policy does not take the interval.
    pub fn schedulings(&self) -> Result<Vec<Scheduling>, PlanError> {
        let priorities = self.priorities.iter().copied();
        Ok(match self.policy {
            Policy::Fifo => priorities.map(Scheduling::Fifo).collect(),
            Policy::RoundRobin => priorities.map(Scheduling::RoundRobin).collect(),
            Policy::Other => vec![Scheduling::Other],
            Policy::Deadline => {
                if !DEADLINE_PERIODS_NS.contains(&self.interval_ns) {
                    return Err(PlanError("--policy deadline takes intervals from 100us to 4s".to_owned()));
                }
                // A tenth of the period is plenty for a thread that reads a clock, and can be admitted beside others.
                let runtime_ns = (self.interval_ns / 10).clamp(20_000, 1_000_000);
                vec![Scheduling::Deadline { runtime_ns, period_ns: self.interval_ns }]
            }
        })
    }
}
