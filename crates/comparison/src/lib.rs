//! Is one side of recordings later than the other, by how much, and can these data show it?
//!
//! Pure: runs in, a [`Comparison`] out. A side is one run or several of the same measurement.
//!
//! * [`Gather`]: one pass over a recording's wakeups into counts for each second, and from them a [`Run`]: quantiles,
//!   and how uncertain they are, by a bootstrap over blocks of seconds as long as the seconds stay correlated.
//! * [`ratio`]: the ratio of two sides' quantiles with an interval that includes the spread between runs.
//! * [`compare`]: all stages side by side, the devices' slack, the loads' throughput, what differs in provenance, and a
//!   [`Verdict`]: on the systems if there are enough runs, otherwise on these runs only ([`Standing`]).
//! * [`CausesComparison`]: who made wakeups late on either side, where both kept evidence of it; it decides nothing.
//! * [`interact`]: inputs to a program, by kind and by what was typed, and where the difference went.
//! * [`compare_several`]: several sides, each compared with the first, with one error rate for all.
//!
//! `docs/compare.md` describes the method and its measured coverage.
//!
//! ```
//! use punctual_comparison::ratio::ratio;
//! use punctual_comparison::{Estimate, FIGURES};
//!
//! // p99 of three runs of each side, each certain within some percent: 100, 104 and 98 us before, 201, 207 and 195 us after.
//! let runs = |values: [f64; 3]| values.map(|ns| Estimate { ln: ns.ln(), variance: 0.0004 });
//! let (before, after) = (runs([100e3, 104e3, 98e3]), runs([201e3, 207e3, 195e3]));
//! let doubled = ratio(FIGURES[2], &before, &after, false, 1).unwrap();
//! assert!(doubled.low > 1.5 && doubled.high < 2.6, "{doubled:?}");
//!
//! // The same side against itself: 1 lies within.
//! let same = ratio(FIGURES[2], &before, &before, false, 1).unwrap();
//! assert!(same.low < 1.0 && same.high > 1.0);
//! ```

#![forbid(unsafe_code)]

mod all_or_none;
mod blamed;
mod blocks;
mod causes;
mod compare;
mod counts;
mod devices;
mod differences;
mod error;
mod events;
mod figure;
mod in_time;
pub mod interact;
mod loops;
mod matching;
mod notes;
mod pairs;
mod rank;
pub mod ratio;
mod requests;
mod resample;
mod served;
mod settings;
mod several;
mod side;
mod standing;
mod student;
mod throughput;
mod verdict;

pub use blamed::{CauseName, CauseTimes, RunCauses};
pub use blocks::{Gather, Run, RunStage, measured_ns};
pub use causes::{CauseComparison, CauseCount, CausesComparison, CausesOfSide, Change};
pub use compare::{Comparison, INTERIM_CONFIDENCE, MIN_INTERIM_RUNS, Quantiles, StageComparison, compare, is_clear};
pub use counts::{CountComparison, Counted, slow_request_ns};
pub use devices::{DeviceComparison, RateRatio};
pub use differences::Difference;
pub use error::Error;
pub use events::{EventCount, Untold};
pub use figure::{Estimate, FIGURES, Figure};
pub use in_time::InTime;
pub use ratio::{CONFIDENCE, Level, RESOLUTION_NS, Ratio, WORTH_THE_NAME, level};
pub use requests::SideRequests;
pub use served::{GatherServed, Served};
pub use settings::device_settings;
pub use several::{Shared, are_clear, compare_several};
pub use side::{Side, SideSummary};
pub use standing::{MIN_RUNS, Standing, comes_first, order_of_round};
pub use student::student_quantile;
pub use throughput::Throughput;
pub use verdict::{Outcome, Overall, Verdict};
