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
//! * `episode`: one late wakeup: replayed, told as its victim's story, judged piece by piece; and causes over many.
//! * [`gap`]: what a loop's gap is put down to.
//! * `calltree`: the stacks that were seen meanwhile.
//!
//! No input or output, no clock, no kernel interface: the same split comes out of the same recording everywhere.

mod calltree;
mod episode;
pub mod gap;
mod kind;

pub use calltree::{CallTree, Room, add_lateness, folded, late_stacks};
pub use episode::chain::{Link, chain};
pub use episode::classify::seen_at;
pub use episode::nesting::is_nesting_known;
pub use episode::replay::{CpuTimeline, Running, Slice, replay, replay_events};
pub use episode::split::{Detail, Part, Piece, Split, split};
pub use episode::summary::{Cause, Summary, summarize};
pub use kind::Kind;
