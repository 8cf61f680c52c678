//! Is one side of recordings later than the other, by how much, and can these data show it?
//!
//! Pure: runs in, a [`Comparison`] out. A side is one run or several of the same measurement.
//!
//! * [`Gather`]: one pass over a recording's wakeups into counts for each second, and from them a [`Run`]: quantiles, and how
//!   uncertain they are, by a bootstrap over blocks of seconds as long as the seconds hang together.
//! * [`ratio`]: the ratio of two sides' quantiles with an interval that holds the spread between runs.
//! * [`compare`]: all stages side by side, the devices' slack, the loads' throughput, what differs in provenance,
//!   and a [`Verdict`].
//!
//! The method and its measured coverage are described in `docs/compare.md`.

#![forbid(unsafe_code)]

mod blocks;
mod compare;
mod devices;
mod differences;
mod error;
mod figure;

pub mod ratio;
mod resample;
mod student;
mod verdict;

pub use blocks::{Gather, Run, RunStage, measured_ns};
pub use compare::{Comparison, Quantiles, Side, SideSummary, StageComparison, Throughput, compare};
pub use devices::{DeviceComparison, RateRatio};
pub use differences::Difference;
pub use error::Error;
pub use figure::{Estimate, FIGURES, Figure};
pub use ratio::{CONFIDENCE, Ratio};
pub use verdict::{Outcome, Verdict};
