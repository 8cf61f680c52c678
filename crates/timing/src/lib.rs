//! Pure: what a stream of timer callbacks says.
//!
//! A program asks for a callback every period; the stream is when they came. [`analyse`] gives the times between
//! callbacks and the lateness against the ideal grid, the histogram of Jones and Regehr (MSR-TR-98-29, table 2), drift,
//! and the [`Pattern`]s of known faults; [`catch_up`] names what a timer does after its program was stalled.
//! The crate does no I/O and knows no kernel interface: a measured stream and an invented one are treated alike.
//!
//! * [`Stream`], [`Callback`]: when callbacks were asked for and came.
//! * [`Analysis`], [`Summary`], [`Histogram`]: what is counted.
//! * [`Pattern`]: rounding fault, beat, drift, coalescing.
//! * [`CatchUp`]: burst, skip or shift after a stall.
//! * [`Timers`], [`MethodResult`]: the result of measuring several ways, and its verdict in words.
//!
//! ```
//! use punctual_timing::{Callback, CatchUp, Pattern, Stream, catch_up, patterns};
//!
//! // A clock that ticks every 1,003 us, and a timer of 1 ms that rounds to it: 3 us later each time.
//! let callbacks: Vec<Callback> =
//!     (0..2_000).map(|n| Callback { asked_ns: n * 1_000_000, at_ns: n * 1_003_000, periods: 1 }).collect();
//! let stream = Stream { period_ns: 1_000_000, origin_ns: 0, anchored: false, callbacks: &callbacks };
//! let found = patterns(&stream);
//! assert!(found.iter().any(|pattern| matches!(pattern, Pattern::Drift { .. })), "{found:?}");
//!
//! // After a stall of 5.5 periods five callbacks come at once.
//! let after = [5_500_000, 5_510_000, 5_520_000, 5_530_000, 5_540_000, 6_000_000];
//! assert_eq!(catch_up(1_000_000, 5_500_000, 5_500_000, &after), CatchUp::Burst);
//! ```

#![forbid(unsafe_code)]

mod analysis;
mod catch_up;
mod drift;
mod pattern;
mod result;
mod stream;

pub use analysis::{Analysis, Histogram, Summary, analyse};
pub use catch_up::{CatchUp, catch_up, majority};
pub use drift::{Trend, trend};
pub use pattern::{Pattern, patterns};
pub use result::{Effect, Measured, MethodResult, Slack, Tick, Timers};
pub use stream::{Callback, Stream};
