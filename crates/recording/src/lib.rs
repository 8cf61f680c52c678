//! The waist of punctual: what every measurement produces and every explanation reads.
//!
//! A *recording* is a directory `NAME.punctual/` that people and any Parquet engine can read:
//!
//! ```text
//! recording.json            provenance, distributions, counters, why it ended (rewritten by rename every second)
//! wakeups/000001.parquet    one row per wakeup, one column per stage; a segment each second
//! maxima/000001.parquet     the largest value of each second, task and stage
//! tail.parquet              the 10,000 largest values of each task and stage, with their times
//! events/                   from `record --why`: the evidence around each late wakeup, one JSON line per episode
//! events/log/, events/log.json   from an event log: one row per event, and what was counted
//! gaps/, gaps.json          from an idle loop: when it did not have its CPU, and what had it
//! activations/, activations.json   from soft devices: each block they processed, and what became of them
//! interactions/, interaction_parts/, interactions.json   from inputs to a program: when each was put in, taken and seen, and what
//!                           the time between was spent on
//! interaction_code/         from inputs to a program: call trees of the code that was at work for them
//! interaction_waits/        from inputs to a program: when the state machine of 1996 has somebody wait
//! interaction_events/       from the same with `--toolkit`: what the program's toolkit passed on to it
//! ```
//!
//! Times are whole nanoseconds of `CLOCK_MONOTONIC`; there are no floats on disk. A recording that was cut short still
//! opens, and says that it is cut.
//!
//! The crate knows no kernel interface: a measured machine, a simulated one and a guest kernel write the same
//! recording, so that one forecast or report serves them all.
//!
//! * [`Stage`] and [`Wakeup`]: one activation, split into stages that add up to its total exactly.
//! * [`Distribution`]: every value counted, 1 ns and up, three significant digits, exact extremes.
//! * [`Writer`]: rows in, a crash-safe directory out.
//! * [`Recording`]: opens a directory, whole or cut; [`merge`] adds up recordings that belong together.
//!
//! A wakeup's stamps become stages, and these add up:
//!
//! ```
//! use punctual_recording::{Distribution, Stage, Stamps, Wakeup};
//!
//! let stamps =
//!     Stamps { expected: 1_000_000, irq: 1_002_000, waking: 1_003_500, switch_in: 1_005_000, user: 1_006_000, ..Stamps::default() };
//! let wakeup = Wakeup::from_stamps(&stamps, 0, 4711);
//! assert_eq!(wakeup.stage(Stage::Irq), Some(2_000));
//! assert_eq!(wakeup.total_ns, 6_000);
//! assert!(wakeup.adds_up());
//!
//! // A kernel event that nobody saw is not known; it is not zero.
//! let unobserved = Wakeup::from_stamps(&Stamps { expected: 1_000_000, user: 1_006_000, ..Stamps::default() }, 0, 4711);
//! assert_eq!((unobserved.total_ns, unobserved.stage(Stage::Irq)), (6_000, None));
//!
//! let mut totals = Distribution::new();
//! totals.record(wakeup.total_ns);
//! totals.record_n(9_000, 99);
//! assert_eq!((totals.count(), totals.max(), totals.count_above(7_000)), (100, Some(9_000), 99));
//! ```

#![forbid(unsafe_code)]

mod activations;
mod document;
mod episodes;
mod error;
mod format;
mod gaps;
mod hint;
mod interactions;
mod log;
mod wakeups;

/// One late wakeup with the evidence around it, and what that is made of.
pub mod episode {
    pub use crate::episodes::episode::*;
    pub use crate::episodes::lock_waking::*;
}

pub use activations::files::{
    ACTIVATIONS_SCHEMA, ActivationDocument, ActivationRow, ActivationWriter, DecodedSummary, DeviceSummary, OwnEnd,
    OwnSummary, for_each_activation, read_activation_document,
};
pub use document::asked::Asked;
pub use document::contents::{
    CAUSES_NOT_RECORDED, Configuration, Counters, Document, EndReason, Ended, Followed, FollowedThread, Host, Limit,
    NEEDS_ROOT, NOT_SERVED, Provenance, SCHEMA, SCHEMA_VERSION, Setting, THREADS_RESTED, Task, WAS_STOPPED, Waker,
    WakerKind,
};
pub use document::kind::RecordingKind;
pub use document::kind_of::kind_of;
pub use document::limit::{LimitSpec, quantile_of_percent};
pub use document::load::{LoadInfo, LoadScore, NO_LOAD};
pub use document::merge::{compatible, merge};
pub use document::reader::Recording;
pub use document::without_sleep::{Unslept, WithoutSleep};
pub use document::writer::{OTHERS, Totals, Writer};
pub use episodes::episode::Episode;
pub use episodes::files::{
    EpisodeWriter, HandlerSum, read_handler_sums, read_recorder_summary, rewrite_episodes, write_handler_sums,
    write_recorder_summary,
};
pub use episodes::in_parallel::look_into_episodes;
pub use episodes::read::for_each_episode;
pub use episodes::summary::{RecorderSummary, RequestTimes};
pub use error::{Error, ErrorKind, Result, without_error_number};
pub use format::digest::digest;
pub use format::directory::Directory;
pub use format::lock::Lock;
pub use format::numbers::{read_numbers, write_numbers};
pub use format::place::{Place, Standing};
pub use format::printable::{is_control, printable, printable_path};
pub use format::table::rows_read;
pub use format::units::{BareUnit, agreeing, counted, format_ns, grouped, is_without_unit, parse_duration, parse_list};
pub use format::{bounds, input};
pub use gaps::files::{
    CalibratedCount, CauseSum, CountMode, CpuGaps, GAPS_SCHEMA, Gap, GapDocument, GapWriter, InterruptCost,
    Periodicity, for_each_gap, read_gap_document,
};
pub use gaps::trace::{Ran, TraceEntry};
pub use gaps::validation::{
    Keystroke, KeystrokeParts, SeenKeystroke, VALIDATION_SCHEMA, ValidationDocument, read_validation, write_validation,
};
pub use hint::{CHOOSE_ANOTHER_PLACE, Hint};
pub use interactions::code::{
    CodeDocument, InputCode, MAX_CODE_DEPTH, MAX_CODE_NAME, MAX_CODE_OF_INPUT, MAX_CODE_ROWS, for_each_input_code,
};
pub use interactions::counters::{HardwareCounter, HardwareCounts, HardwareDocument, InputCounters};
pub use interactions::events::{InputEvent, MAX_INPUT_EVENTS, ToolkitDocument, ToolkitLibrary, for_each_input_event};
pub use interactions::files::{
    InteractionWriter, MAX_INTERACTIONS, MAX_PARTS, for_each_interaction_part, read_interaction_document,
    read_interactions, required_interaction_document,
};
pub use interactions::interaction::{
    BEGAN_BEFORE, FULL_PACE, INTERACTIONS_SCHEMA, Interaction, InteractionDocument, InteractionPart, OWN_PACE, START,
};
pub use interactions::outcome::Outcome;
pub use interactions::stretches::{MAX_STRETCHES_OF_INPUT, MAX_WAIT_STRETCHES, WaitStretch, for_each_wait_stretch};
pub use interactions::waits::{under_way_ns, waits_ns};
pub use log::files::{
    BrokenMarks, CpuDrops, LOG_SCHEMA, LogCost, LogCount, LogDocument, LogRow, LogWriter, LoggedThread,
    MAX_LOGGED_THREADS, MarkCounts, count_log_rows, for_each_log_row, is_log, read_log_document,
};
pub use punctual_codes::{Awaited, Call, CauseKind, EventClass, EventKind, Moment, Softirq, Stage, Vector};
pub use wakeups::after_overrun::AfterOverrun;
pub use wakeups::cycle_count::{CycleCount, MUCH_MORE};
pub use wakeups::cycles::Cycles;
pub use wakeups::distribution::{Distribution, Distributions, Key};
pub use wakeups::followed_cycles::FollowedCycles;
pub use wakeups::once::wakes_about_once;
pub use wakeups::overrun_count::{OverrunCount, range_in_words};
pub use wakeups::periods::{OverrunPeriods, PeriodsPassed};
pub use wakeups::policy::{name_and_policy, spoken_measure};
pub use wakeups::sums::WakeupRows;
pub use wakeups::tail::{BLOCK_NS, BlockMaximum, TAIL_LENGTH, TailValue, tail_length};
pub use wakeups::wakeup::{DriverStamps, FollowedStamps, Stamps, Wakeup};
