//! How devices, sources of interrupts and the link are written.

use super::thread::Policy;
use crate::cost::Cost;
use crate::time::Span;
use serde::Deserialize;

/// When interrupts come.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrival {
    /// Periodically.
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
    /// How long after its interrupt a block's processing may begin.
    pub start_tolerance: Option<Span>,
    /// How many parts in a million its clock is slow.
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
    /// How many late blocks in a row lose what was in flight, and no more.
    #[serde(default)]
    pub patience: u64,
    /// The first phase of the connection, by name.
    pub connected: String,
}
