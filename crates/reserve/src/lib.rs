//! Reservations of a CPU for a periodic job: finds the job in what a thread did, predicts with two models what it needs,
//! judges attempts, and searches for the smallest reservation by trials.
//!
//! Pure: the caller runs the thread. All times are whole ns.
//!
//! * [`periodic`]: the job of a thread that wakes periodically.
//! * [`by_rule`], [`by_supply`]: two predictions, and what each assumes.
//! * [`grid`]: the reservations that may be tried; [`Search`]: which to try next.
//! * [`Fewest`]: how many of something are too many.
//! * [`Attempt`]: some seconds under one [`Setting`], and what became of its [`Jobs`]; [`Trial`]: several of them, and their
//!   [`Class`]. [`Habits`]: what the loop does when it is behind, which later attempts go by.
//!
//! ```
//! use punctual_reserve::{Class, Job, Search, Step, grid};
//!
//! // 2 ms of work every 10 ms, to be done before the next.
//! let job = Job { period_ns: 10_000_000, work_ns: 2_000_000, deadline_ns: 10_000_000 };
//! let mut search = Search::new(grid(job, 2_000_000, 1));
//! let found = loop {
//!     match search.next_step() {
//!         Step::Answer(found) => break found.unwrap(),
//!         // A thread that is woken when its reservation begins gets the budget of each whole period before its deadline.
//!         Step::Try(tried) => search.tell(Class::of(u32::from(job.deadline_ns / tried.period_ns * tried.budget_ns >= job.work_ns), 1)),
//!     }
//! };
//! assert!((190..=220).contains(&found.share_thousandths()));
//! ```

#![forbid(unsafe_code)]

mod attempt;
mod counts;
mod fewest;
mod grid;
mod habits;
mod job;
mod looks;
#[cfg(test)]
mod played_tests;
mod predict;
mod reservation;
mod search;
mod stretch;
mod trial;

pub use attempt::{Attempt, SLACK_NS};
pub use counts::{AttemptCounts, Jobs};
pub use fewest::Fewest;
pub use grid::{MAX_SHARE_THOUSANDTHS, MIN_PERIOD_NS, grid, with_margin};
pub use habits::Habits;
pub use job::{Activation, Job, MIN_REGULAR_THOUSANDTHS, NotPeriodic, PeriodicJob, Work, periodic};
pub use predict::{by_rule, by_supply};
pub use reservation::Reservation;
pub use search::{Class, Search, Step};
pub use trial::{Setting, Trial};
