//! How often will it be too late, and can this set of jobs be scheduled.

#![forbid(unsafe_code)]

mod error;
mod exposure;
mod input;
mod interval;
mod level;
mod pareto;
pub mod schedulability;
mod special;
mod stall;
#[cfg(test)]
mod testing;
mod underrun;
mod veto;

pub use error::Error;
pub use exposure::{Horizon, LoadClass, Usage};
pub use input::{Input, Late, Lateness, ObservedTask};
pub use interval::{CONFIDENCE, Estimate, ZERO_EVENTS, further_exposure, garwood, weighted};
pub use level::{ENOUGH, FURTHEST, Level, Method, Tail};
pub use stall::{GAP_NS, Stall, Stalls, stalls};
pub use underrun::{Outcome, Underruns};
