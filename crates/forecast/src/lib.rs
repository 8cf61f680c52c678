//! How often will it be too late, and can this set of jobs be scheduled.
//!
//! Pure: late wakeups in, worst cases, mean times between underruns and schedulability out, each with an interval or
//! with the reason why there is none. A recording becomes an [`Input`] for each measure and load, from its document,
//! tail and block maxima alone; [`answer`] answers a [`Question`] from several of them side by side.
//!
//! * [`Input::of_loops`]: the same for other programs' loops, whose cycles may take longer than their period.
//! * [`stalls`]: late wakeups with one cause count once, within a limited time; skipped activations are filled in,
//!   once.
//! * [`Input::underruns`]: how often a device runs dry, CPU by CPU, by playing it over the recording, with an interval
//!   that is as wide as stalls vary.
//! * [`Input::tail`] and [`Tail::level`]: the worst of an hour, a day, a week: by ranks, by a tail model that nothing
//!   contradicted, or only by a bound.
//! * [`Input::advise`], [`Input::curve`], [`Input::time_scale`]: what buffering or period would do.
//! * [`interarrival`]: whether late events come periodically, in clusters or at random.
//! * [`schedulability`]: response times, EDF demand, reservations, and the latency that a task set tolerates.
//!
//! `docs/forecast.md` and `docs/forecast-truth.md` describe the method and its measured coverage.
//!
//! ```
//! use punctual_forecast::garwood;
//! use punctual_forecast::schedulability::{Standing, TaskSet, analyse};
//!
//! // Nothing seen in an hour is no zero: up to three an hour are possible.
//! let none = garwood(0);
//! assert_eq!(none.value, None);
//! assert!((none.high.unwrap() - 2.996).abs() < 0.001);
//!
//! let set = TaskSet::parse_toml(
//!     r#"
//!     [[task]]
//!     name = "audio"
//!     period = "2ms"
//!     compute = "1ms"
//!
//!     [[task]]
//!     name = "video"
//!     period = "10ms"
//!     compute = "4ms"
//!     "#,
//! )?;
//! let analysis = analyse(&set, None)?;
//! assert_eq!(analysis.standing, Standing::Schedulable);
//! // Late by this much, all of them still meet their deadlines.
//! assert_eq!(analysis.tasks[0].bears_ns, Some(1_000_000));
//! # Ok::<(), punctual_forecast::Error>(())
//! ```

#![forbid(unsafe_code)]

mod advice;
mod answer;
mod error;
mod exposure;
mod input;
pub mod interarrival;
mod interval;
mod level;
mod loops;
mod pareto;
pub mod schedulability;
mod special;
mod spread;
mod stall;
mod starved;
#[cfg(test)]
mod testing;
mod underrun;
mod veto;

pub use advice::{Advice, Curve, CurvePoint, CurveQuestion, MAX_BUFFERS, TimeScale, Variant};
pub use answer::{Answer, DeviceAnswer, Group, JudgedDevice, Question, WorstCase, answer, format_seconds, under_load};
pub use error::Error;
pub use exposure::{Horizon, LoadClass, Usage};
pub use input::{Input, Late, Lateness, ObservedTask};
pub use interval::{CONFIDENCE, Estimate, ZERO_EVENTS, are_too_wide, garwood, may_be_too_many};
pub use level::{ENOUGH, Level, Method, Tail};
pub use loops::{Loops, has_loops};
pub use punctual_recording::Stage;
pub use special::ln_gamma;
pub use spread::{Condition, Drift, Spread};
pub use stall::{GAP_NS, MAX_STALL_NS, Stall, Stalls, stalls};
pub use starved::starved;
pub use underrun::{CpuUnderruns, Outcome, Underruns};
