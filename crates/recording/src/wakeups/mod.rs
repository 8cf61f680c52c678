//! Wakeups: one activation in stages, and counts of many.
//!
//! * `wakeup`: one, from its stamps; `sums`: whether its stages add up.
//! * `distribution`, `buckets`: every value counted; `tail`: the largest ones, exactly; `rebuilt`: these, from the wakeups
//!   of a recording that was cut short.
//! * `cycles`: the cycles of somebody else's loop, from its wakeups; `series`, `grid`: by what begins one, and where a
//!   period does; `shared_timers`: which several threads share; `begun`: how many periods passed without one, where no
//!   grid shows it; `spacing`, `whole_sleeps`: which may be waits within one; `lasted`: how long one certainly lasted in which its thread
//!   slept; `woken`: what woke its thread; `other_wakers`: whoever else than usual did; `last_seen`: until when that was seen to do cycles; `spun`: which long ones may have been in time; `finished`: what is known of one thread's;
//!   `followed_cycles`: of a recording's threads; `starters`: which loops may have started threads that never slept;
//!   `cycle_count`: how many there were; `periods`: how many periods they had, and overran;
//!   `overrun_count`: how many of them took too long, as answers say it; `longest`: how long the longest took;
//!   `once`: whether a thread is a loop of the period at all; `most_often`, `policy`: whose they are, and that in words.
//! * `after_overrun`: what a loop does about the periods that it missed; `catch_up`, `catch_up_evidence`, `growth`: whether it
//!   makes up for those of a long cycle: of one, of all together, and of those that follow stops.

pub(crate) mod after_overrun;
mod begun;
pub(crate) mod buckets;
mod catch_up;
mod catch_up_evidence;
pub(crate) mod cycle_count;
pub(crate) mod cycles;
pub(crate) mod distribution;
mod finished;
pub(crate) mod followed_cycles;
mod grid;
mod growth;
mod last_seen;
mod lasted;
mod longest;
mod most_often;
pub(crate) mod once;
mod other_wakers;
pub(crate) mod overrun_count;
pub(crate) mod periods;
pub(crate) mod policy;
pub(crate) mod rebuilt;
mod series;
mod shared_timers;
mod spacing;
mod spun;
mod starters;
pub(crate) mod sums;
pub(crate) mod tail;
pub(crate) mod wakeup;
mod whole_sleeps;
mod woken;
