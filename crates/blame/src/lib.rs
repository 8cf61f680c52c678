//! Who made a wakeup late: an episode's events in, an exact split out.
//!
//! The time from the expected expiry to the first user-space instruction is cut at every event of the CPU on which the
//! victim waits. Each piece has one owner: an interrupt, a softirq, a thread that went first, code that let nobody in,
//! the host. The pieces are disjoint and cover the whole, so that the parts, which are sums of pieces, add up to the
//! total exactly; what nothing explains is a part too, `unknown`.
//!
//! The host's steal is subtracted from whatever ran while the counter grew, before anybody is accused: if it cannot be
//! told how much of it fell into a piece, as much as possible counts.
//!
//! * `episode`: one late wakeup: replayed, told as its victim's story, judged piece by piece; and causes over many.
//! * [`gap`]: what a loop's gap is attributed to.
//! * `calltree`: the stacks that were seen meanwhile.
//!
//! No input or output, no clock, no kernel interface: the same split comes out of the same recording everywhere.
//!
//! ```
//! use punctual_blame::{Kind, split};
//! use punctual_recording::Episode;
//! use punctual_recording::episode::{Event, EventKind, Victim};
//!
//! // Thread 7 (normal priority) runs; thread 100 (FIFO 80) is due at 1,000 us, is woken at once, and first has the CPU at
//! // 1,900 us: until then the kernel did not switch.
//! let event = |at_us: u64, kind, tid, priority, value, extra| Event {
//!     at_ns: at_us * 1_000, cpu: 0, kind, tid, priority, context: 0, steal_ns: 0, value, extra, name: 1,
//! };
//! let victim = Victim { tid: 100, name: "audio".into(), priority: 19, cpu: 0 };
//! let episode = Episode {
//!     usual_delivery_ns: 10_000,
//!     names: vec!["?".into(), "copier".into()],
//!     events: vec![
//!         event(1_002, EventKind::Waking, 7, 120, 100, 19),
//!         event(1_900, EventKind::Switch, 7, 120, 100, 19),
//!         event(2_000, EventKind::Switch, 100, 19, 7, 120),
//!     ],
//!     ..Episode::of(victim, 1_000_000, 1_905_000)
//! };
//! let split = split(&episode);
//! // Less the 10 us that a switch may take.
//! let largest = &split.parts[0];
//! assert_eq!((largest.kind, largest.who.name(), largest.ns), (Kind::Kernel, "copier", 888_000));
//! // Whatever happened, the parts are the whole.
//! assert_eq!(split.parts.iter().map(|part| part.ns).sum::<u64>(), episode.total_ns());
//! ```

#![forbid(unsafe_code)]

mod calltree;
mod episode;
pub mod gap;
mod handlers;
mod kind;
mod page;
mod who;

pub use calltree::{AtWork, CallTree, Room, add_lateness, at_work, folded, late_stacks};
pub use episode::asked::{Asked, Asker, Asking};
pub use episode::chain::{Link, chain};
pub use episode::detail::{Detail, HeldBack, QUOTA_USED_UP, REAL_TIME_BUDGET_USED_UP};
pub use episode::findings::Findings;
pub use episode::groups::{IDLE_WEIGHT, Turn};
pub use episode::nesting::is_nesting_known;
pub use episode::piece::{Piece, is_not_told, longest_stretch_ns};
pub use episode::priorities::Priorities;
pub use episode::queued_requests::may_be_several;
pub use episode::replay::{CpuTimeline, Running, Slice, replay, replay_events};
pub use episode::sightings::Sightings;
pub use episode::sockets::{SocketRead, socket_reads};
pub use episode::split::{Inside, Part, Split, cgroup, split, split_awaited};
pub use episode::summary::{Cause, Summary, summarize};
pub use episode::threads::threads;
pub use handlers::is_own_work;
pub use kind::Kind;
pub use page::{VOID_PAGE, VOID_PAGE_TEXT};
pub use punctual_recording::Awaited;
pub use who::{ANSWER_OR_REQUEST, Who};
