//! The waist of punctual: what every measurement produces and every explanation reads.
//!
//! A *recording* is a directory `NAME.punctual/` that people and any Parquet engine can read:
//!
//! ```text
//! recording.json            provenance, distributions, counters, why it ended (by rename, every second)
//! wakeups/000001.parquet    a row a wakeup, one column a stage; a segment a second
//! maxima/000001.parquet     the largest value of each second, task and stage
//! tail.parquet              the 10,000 largest values of each task and stage, with their times
//! events/                   of `record --why`: the evidence around each late wakeup, a JSON line an episode
//! events/log/, events/log.json   of an event log: a row an event, and what was counted
//! gaps/, gaps.json          of an idle loop: when it did not have its CPU, and what had it
//! activations/, activations.json   of soft devices: each block they processed, and what became of them
//! ```
//!
//! Times are whole nanoseconds of `CLOCK_MONOTONIC`; there are no floats on disk.
//! A recording that was cut short opens, and says that it is cut.
//!
//! The crate knows no kernel interface: a measured machine, a simulated one and a guest kernel
//! write the same recording, so that one forecast or report serves them all.
//!
//! * [`Stage`] and [`Wakeup`]: one activation, split into stages that add up to its total exactly.
//! * [`Distribution`]: every value counted, 1 ns and up, three significant digits, exact extremes.
//! * [`Writer`]: rows in, a crash-safe directory out.
//! * [`Recording`]: opens a directory, whole or cut; [`merge`] adds up what may be added.

mod activations;
pub mod bounds;
mod buckets;
mod caught;
mod digest;
mod directory;
mod distribution;
mod document;
mod document_check;
pub mod episode;
mod episode_check;
mod episodes;
mod error;
mod event_class;
mod gaps;
pub mod input;
mod json_file;
mod limit;
mod log;
mod merge;
mod numbers;
mod parquet_check;
mod place;
mod printable;
mod reader;
mod segments;
mod stage;
mod table;
mod tail;
mod texts;
mod units;
mod validation;
mod wakeup;
mod writer;

pub use activations::{
    ACTIVATIONS_SCHEMA, ActivationDocument, ActivationRow, ActivationWriter, DeviceSummary, for_each_activation,
    read_activation_document,
};
pub use digest::digest;
pub use directory::Directory;
pub use distribution::{Distribution, Distributions, Key};
pub use document::{
    Configuration, Counters, Document, EndReason, Ended, Followed, FollowedThread, Host, Limit, LoadInfo, LoadScore,
    Provenance, SCHEMA, SCHEMA_VERSION, Setting, Task, Waker, WakerKind,
};
pub use episode::Episode;
pub use episodes::{
    EpisodeWriter, HandlerSum, RecorderSummary, for_each_episode, read_handler_sums, read_recorder_summary,
    rewrite_episodes, write_handler_sums,
};
pub use error::{Error, ErrorKind, Result};
pub use event_class::EventClass;
pub use gaps::{
    CalibratedCount, CauseKind, CauseSum, CountMode, CpuGaps, GAPS_SCHEMA, Gap, GapDocument, GapWriter, InterruptCost,
    Periodicity, for_each_gap, read_gap_document,
};
pub use limit::LimitSpec;
pub use log::{
    BrokenMarks, CpuDrops, LOG_SCHEMA, LogCost, LogCount, LogDocument, LogRow, LogWriter, MarkCounts, count_log_rows,
    for_each_log_row, is_log, read_log_document,
};
pub use merge::{compatible, merge};
pub use numbers::{read_numbers, write_numbers};
pub use place::{DIRECTORY_MODE, FILE_MODE, Place, Standing};
pub use printable::{is_control, printable};
pub use reader::Recording;
pub use stage::Stage;
pub use tail::{BLOCK_NS, BlockMaximum, TAIL_LENGTH, TailValue};
pub use units::{BareUnit, format_ns, parse_duration, parse_list};
pub use validation::{
    Keystroke, KeystrokeParts, SeenKeystroke, VALIDATION_SCHEMA, ValidationDocument, read_validation, write_validation,
};
pub use wakeup::{FollowedStamps, Stamps, Wakeup};
pub use writer::{OTHERS, Totals, Writer};
