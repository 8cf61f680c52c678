//! Pure: what a stream of timer callbacks says.
//!
//! A program asks for a callback every period; the stream is when they came. [`analyse`] gives the times between
//! callbacks and the lateness against the ideal grid, the histogram of Jones and Regehr (MSR-TR-98-29, table 2), drift,
//! and the [`Pattern`]s of known faults; [`catch_up`] names what a timer does after its program was stalled.
//! The crate does no I/O and knows no kernel interface: a measured stream and a made-up one go the same way.
//!
//! * [`Stream`], [`Callback`]: when callbacks were asked for and came.
//! * [`Analysis`], [`Summary`], [`Histogram`]: what is counted.
//! * [`Pattern`]: rounding fault, beat, drift, coalescing.
//! * [`CatchUp`]: burst, skip or shift after a stall.
//! * [`Timers`], [`MethodResult`]: the result of measuring several ways, and its verdict in words.

mod analysis;
mod catch_up;
mod drift;
mod pattern;
mod result;
mod stream;

pub use analysis::{Analysis, Histogram, Summary, analyse};
pub use catch_up::{CatchUp, catch_up, majority};
pub use drift::{Trend, trend};
pub use pattern::{MIN_CALLBACKS, Pattern, patterns};
pub use result::{Effect, Measured, MethodResult, Slack, Timers};
pub use stream::{Callback, Stream};
