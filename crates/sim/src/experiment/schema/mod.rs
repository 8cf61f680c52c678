//! How an experiment is written: the keys of its TOML file.

mod device;
mod thread;

pub use super::row::{Class, Row, Value};
pub use device::{Arrival, Context, Device, Link, Phase, Source};
pub use thread::{Activity, Constraint, Hold, Policy, Raise, Rule, Thread};

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
    /// The paper whose numbers it is compared with, if any.
    pub paper: Option<String>,
    /// What it shows.
    #[serde(default)]
    pub about: String,
    /// A machine that comes with the program, on which this file builds: this file overrides it, and lists are joined
    /// by the names of their elements.
    pub base: Option<String>,
    /// How long each run is; absent in a file whose rows no machine can produce.
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
    /// Values that were chosen to make rows come out.
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
    /// Variants; without any there is one, the file as written.
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

/// A value that was chosen to make rows come out.
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
    /// The rows that it was fitted to.
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
    /// Whether a preempted thread gets a whole new quantum.
    pub preempted_gets_fresh_quantum: bool,
    /// 0.
    pub wait_boost: u8,
    /// Never.
    pub starvation_boost: Option<Span>,
    /// Whether the holder of a lock runs at the level of the highest that waits for it.
    pub inheritance: bool,
    /// 0.
    pub context_switch: Option<Span>,
    /// What a thread that moves to another CPU pays in addition; 0.
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

/// A variant of the experiment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Keys and their new values: `"device.context" = "dpc"`; elements of lists go by their name.
    #[serde(default)]
    pub set: toml::Table,
}
