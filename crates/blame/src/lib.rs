//! Who made a wakeup late: an episode's events in, an exact split out.
//!
//! The time from the expected expiry to the first user-space instruction is cut at every event of the CPU on which the
//! victim waits. Each piece has one owner: an interrupt, a softirq, a thread that went before, code that let nobody
//! in, the host. The pieces are disjoint and cover the whole, so that the parts, which are sums of pieces, add up to
//! the total exactly; what nothing explains is a part too, `unknown`.
//!
//! The host's steal is taken off whatever ran while the counter grew, before anybody is accused: where it cannot be
//! told how much of it fell into a piece, as much as possible does.
//!
//! No input or output, no clock, no kernel interface: the same split comes out of the same recording everywhere.

mod cause;
mod chain;
mod classify;
mod kind;
mod nesting;
mod replay;
mod split;
mod story;
mod subject;
mod waits;

pub use cause::{Cause, Summary, summarize};
pub use chain::{Link, chain};
pub use classify::seen_at;
pub use kind::Kind;
pub use nesting::is_nesting_known;
pub use replay::{CpuTimeline, Running, Slice, replay};
pub use split::{Part, Piece, Split, split};
