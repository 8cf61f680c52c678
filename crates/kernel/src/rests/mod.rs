//! Rests of real-time threads: at the same times for all of them, whichever process of punctual they belong to.
//!
//! A real-time thread that wants its CPU all the time leaves it nothing. If several of them take turns at resting, the
//! others take what one leaves. So they rest together: in the last tenth of each [`CYCLE_NS`] of `CLOCK_MONOTONIC`,
//! which they all read. Nobody has to be told, and nobody can be too starved to say so.
//!
//! Threads that always take all of a CPU ask only [`rest_end`]. Others rest only if nobody below them gets the CPU,
//! which a thread below them finds out: [`RoomBelow`], and for each of those above it [`Resting`].

mod queued;
mod resting;
mod room;

pub use resting::{Resting, Times};
pub use room::{Room, RoomBelow};

/// Of each of these, counted from the clock's zero, ...
pub const CYCLE_NS: u64 = 100_000_000;
/// ... real-time threads that would take all of their CPU rest for this long: all of them in the last part.
pub const REST_NS: u64 = 10_000_000;

/// When the rest that this time falls into ends, ns; `None` if it falls into none.
#[inline]
pub fn rest_end(now_ns: u64) -> Option<u64> {
    let within = now_ns % CYCLE_NS;
    (within >= CYCLE_NS - REST_NS).then(|| now_ns - within + CYCLE_NS)
}

/// Whether this time falls into a rest in which even work rests that came from outside: every other rest is one.
#[inline]
pub fn is_long_rest(now_ns: u64) -> bool {
    now_ns / CYCLE_NS % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_rests_at_the_end_of_a_cycle() {
        assert_eq!(rest_end(0), None);
        assert_eq!(rest_end(CYCLE_NS - REST_NS - 1), None);
        assert_eq!(rest_end(7 * CYCLE_NS - REST_NS), Some(7 * CYCLE_NS));
        assert_eq!(rest_end(7 * CYCLE_NS - 1), Some(7 * CYCLE_NS));
        assert_eq!(rest_end(7 * CYCLE_NS), None);
        assert!(is_long_rest(2 * CYCLE_NS - 1) && !is_long_rest(2 * CYCLE_NS));
    }
}
