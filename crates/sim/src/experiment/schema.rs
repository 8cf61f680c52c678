//! How an experiment is written: the keys of its TOML file.

pub use super::row::{Class, Row, Value};
use crate::cost::Cost;
use crate::time::Span;
use serde::Deserialize;

/// A whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Always `punctual.experiment/1`.
    pub schema: String,
    /// A short name.
    pub name: String,
    /// The paper whose numbers it is held to, if any.
    pub paper: Option<String>,
    /// What it shows.
    #[serde(default)]
    pub about: String,
    /// A machine that comes with the program, on which this file builds: what stands here goes before what stands
    /// there, and lists are joined by the names of their elements.
    pub base: Option<String>,
    /// How long each run is; absent in a file of rows that no machine can give.
    pub duration: Option<Span>,
    /// How many runs, each with its own seed.
    #[serde(default = "one")]
    pub runs: u64,
    /// The first seed.
    #[serde(default = "one")]
    pub seed: u64,
    /// Named assumptions: what the paper leaves open.
    #[serde(default)]
    pub assumption: Vec<Assumption>,
    /// Values that were chosen because of what came out.
    #[serde(default)]
    pub fitted: Vec<Fitted>,
    /// The machine's rules.
    #[serde(default)]
    pub machine: Machine,
    /// The clock that drives timers.
    pub clock: Option<Clock>,
    /// Interrupts.
    #[serde(default)]
    pub source: Vec<Source>,
    /// Threads.
    #[serde(default)]
    pub thread: Vec<Thread>,
    /// Sampling devices: `[device]`, or several `[[device]]`.
    #[serde(default, deserialize_with = "one_or_many")]
    pub device: Vec<Device>,
    /// A transfer over the device.
    pub link: Option<Link>,
    /// Variants; without any there is one, the file as it stands.
    #[serde(default)]
    pub case: Vec<Case>,
    /// What the paper says.
    #[serde(default)]
    pub row: Vec<Row>,
}

fn one() -> u64 {
    1
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Device>, D::Error> {
    use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
    struct Devices;
    impl<'de> serde::de::Visitor<'de> for Devices {
        type Value = Vec<Device>;
        fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
            formatter.write_str("a device, or a list of devices")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Vec<Device>, A::Error> {
            Device::deserialize(MapAccessDeserializer::new(map)).map(|device| vec![device])
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<Vec<Device>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }
    deserializer.deserialize_any(Devices)
}

/// A named assumption.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// Its name.
    pub name: String,
    /// What is assumed.
    pub what: String,
}

/// A value that was chosen because of what came out.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// Its name.
    pub name: String,
    /// What it is, and why this value.
    pub what: String,
    /// The key that holds it.
    pub key: String,
    /// The values over which its rows are shown.
    pub range: Vec<toml::Value>,
    /// The rows it was fitted on.
    pub on: Vec<String>,
}

/// The machine's rules. See [`crate::machine::MachineSpec`].
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Machine {
    /// CPUs; 1.
    pub cpus: Option<usize>,
    /// 20 ms.
    pub quantum: Option<Span>,
    /// Whether a preempted thread gets a whole quantum anew.
    pub preempted_gets_fresh_quantum: bool,
    /// 0.
    pub wait_boost: u8,
    /// Never.
    pub starvation_boost: Option<Span>,
    /// Whether the holder of a lock runs at the level of the highest that waits for it.
    pub inheritance: bool,
    /// 0.
    pub context_switch: Option<Span>,
    /// What a thread pays besides that goes on on another CPU; 0.
    pub migration: Option<Span>,
    /// 0.
    pub fpu_save: Option<Span>,
    /// The priority at which a thread runs in its slot; above all others when absent.
    pub slot_priority: Option<u8>,
    /// 1 ms.
    pub slot_unit: Option<Span>,
    /// Whether rate-monotonic and EDF threads must pass their analysis.
    pub admission: bool,
}

/// See [`crate::machine::ClockSpec`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Absent: interrupts exactly on demand.
    pub period: Option<Span>,
    /// One period.
    pub offset: Option<Span>,
    /// 28.
    pub irql: Option<u8>,
    /// 0.
    #[serde(default)]
    pub cpu: usize,
    /// 0.
    #[serde(default)]
    pub isr: Cost,
    /// 0.
    #[serde(default)]
    pub dpc: Cost,
}

/// When interrupts come.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrival {
    /// Every so often.
    Periodic {
        /// Between two.
        period: Span,
        /// The first.
        #[serde(default)]
        offset: Span,
    },
    /// At random.
    Poisson {
        /// Mean time between two.
        mean: Span,
    },
    /// At these times.
    Times(Vec<Span>),
}

/// Where work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// In the handler.
    Irq,
    /// In the deferred procedure.
    Dpc,
    /// In a thread.
    Thread,
}

/// See [`crate::machine::SourceSpec`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// 0.
    #[serde(default)]
    pub cpu: usize,
    /// 3 to 31.
    pub irql: u8,
    /// When.
    pub arrival: Arrival,
    /// Whether interrupts are lost while one waits.
    #[serde(default)]
    pub latched: bool,
    /// The handler itself.
    #[serde(default)]
    pub isr: Cost,
    /// The deferred procedure itself.
    #[serde(default)]
    pub dpc: Cost,
    /// Whether the deferred procedure goes first.
    #[serde(default)]
    pub important: bool,
    /// The work.
    #[serde(default)]
    pub work: Cost,
    /// Where the work is done.
    pub context: Context,
    /// The thread that does it.
    pub thread: Option<String>,
}

/// See [`crate::machine::Policy`].
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Policy {
    /// A priority.
    Priority(u8),
    /// Above all.
    Kernel,
    /// By this period.
    RateMonotonic(Span),
    /// By this relative deadline.
    EarliestDeadline(Span),
    /// Slots.
    Reservation {
        /// Units in each period.
        runtime: u32,
        /// Units.
        period: u32,
        /// Rialto/NT's restriction.
        #[serde(default)]
        power_of_two: bool,
        /// Priority outside; absent: never outside.
        outside: Option<u8>,
        /// From when.
        #[serde(default)]
        from: Span,
        /// 24.
        before_priority: Option<u8>,
    },
    /// A floating budget.
    Deadline {
        /// Budget.
        runtime: Span,
        /// The period, when absent.
        deadline: Option<Span>,
        /// Between replenishments.
        period: Span,
        /// GRUB.
        #[serde(default)]
        reclaim: bool,
        /// Enforcement at ticks only.
        tick: Option<Span>,
    },
}

/// How a timer asks for its wakeup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Rounded to whole milliseconds, at least one.
    Rounded,
    /// Exactly.
    Exact,
    /// A periodic kernel timer.
    KernelPeriodic,
}

/// See [`crate::machine::Activity`].
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Activity {
    /// By a source.
    Signalled,
    /// Always.
    Spinning,
    /// Released periodically.
    Periodic {
        /// Between releases.
        period: Span,
        /// The first.
        #[serde(default)]
        offset: Span,
    },
    /// By the system's timers.
    Timer {
        /// Between callbacks.
        interval: Span,
        /// When it starts.
        #[serde(default)]
        offset: Span,
        /// The rule.
        rule: Rule,
    },
}

/// See [`crate::machine::Raise`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raise {
    /// CPU time before.
    #[serde(default)]
    pub after: Span,
    /// CPU time at that level.
    pub length: Span,
    /// The level.
    pub irql: u8,
}

/// See [`crate::machine::Hold`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The lock's name.
    pub name: String,
    /// CPU time before.
    #[serde(default)]
    pub after: Span,
    /// CPU time with it.
    pub length: Span,
}

/// See [`crate::machine::ConstraintSpec`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// From release.
    pub deadline: Span,
    /// CPU time.
    pub estimate: Span,
}

/// See [`crate::machine::ThreadSpec`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// 0.
    #[serde(default)]
    pub cpu: usize,
    /// Whether any CPU may run it; `cpu` is the one that it prefers first.
    #[serde(default)]
    pub migrates: bool,
    /// Whether it exists; a case may switch it off.
    #[serde(default = "yes")]
    pub present: bool,
    /// Its rule.
    pub policy: Policy,
    /// What makes it run.
    pub activity: Activity,
    /// The work of one activation.
    #[serde(default)]
    pub work: Cost,
    /// Whether it belongs to the foreground program: then its quantum is three times as long.
    #[serde(default)]
    pub foreground: bool,
    /// A part at raised level.
    pub raise: Option<Raise>,
    /// A part in which it holds a lock.
    pub lock: Option<Hold>,
    /// A constraint for each release.
    pub constraint: Option<Constraint>,
    /// Whether all but the newest work is dropped.
    #[serde(default)]
    pub drop_stale: bool,
    /// Whether it waits for a synchronization event, not a semaphore: signals that find it set are one with it.
    #[serde(default)]
    pub event: bool,
}

fn yes() -> bool {
    true
}

/// One phase of a device.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// When it ends; the last one goes on.
    pub until: Option<Span>,
    /// Samples a second.
    pub rate: u64,
    /// Samples of each block, in turn.
    pub samples: Vec<u32>,
    /// The processing of a block.
    pub work: Cost,
}

/// A sampling device.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// 0.
    #[serde(default)]
    pub cpu: usize,
    /// 9.
    pub irql: Option<u8>,
    /// Where its blocks are processed.
    pub context: Context,
    /// The rule of its thread, in thread context.
    pub policy: Option<Policy>,
    /// Whether any CPU may run that thread.
    #[serde(default)]
    pub migrates: bool,
    /// The handler itself.
    #[serde(default)]
    pub isr: Cost,
    /// The deferred procedure itself.
    #[serde(default)]
    pub dpc: Cost,
    /// Samples of its ring.
    pub ring: Option<u64>,
    /// How late after its interrupt a block's processing may begin.
    pub start_tolerance: Option<Span>,
    /// By how many parts in a million its clock is slow.
    #[serde(default)]
    pub parts_per_million: i64,
    /// Whether each run begins at a random time within this.
    #[serde(default)]
    pub random_offset: Span,
    /// Whether all but the newest block is dropped.
    #[serde(default)]
    pub drop_stale: bool,
    /// Its phases.
    pub phase: Vec<Phase>,
}

/// See [`crate::link::LinkSpec`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Over which of several devices; the first when absent.
    pub device: Option<String>,
    /// Bits a second.
    pub line_rate: u64,
    /// Bytes.
    pub file_bytes: u64,
    /// Bytes.
    pub frame_bytes: u64,
    /// Bytes.
    pub frame_overhead: u64,
    /// Frames.
    pub window_frames: u64,
    /// Bytes.
    pub packet_bytes: u64,
    /// Bytes.
    pub packet_overhead: u64,
    /// Of 256.
    pub escaped_of_256: u64,
    /// Training.
    pub retrain: Span,
    /// Time without data.
    pub setup: Span,
    /// Given up after.
    pub give_up: Span,
    /// The other end hangs up after so long without a block processed in time; never when absent.
    pub carrier_loss: Option<Span>,
    /// So many late blocks in a row lose what was in flight, and no more.
    #[serde(default)]
    pub patience: u64,
    /// The first phase of the connection, by name.
    pub connected: String,
}

/// A variant of the experiment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Keys and their values instead: `"device.context" = "dpc"`; elements of lists go by their name.
    #[serde(default)]
    pub set: toml::Table,
}
