//! Whether real-time threads leave their CPU to whoever is below them.
//!
//! None of them can tell by itself: each may wait again and again, and all together still leave nothing. So a thread just below
//! those of a run asks for the CPU every 10 ms, and tells them when it last got it.

use punctual_kernel::rests::{CYCLE_NS, is_long_rest, rest_end};
use punctual_kernel::scheduling::{self, Scheduling};
use punctual_kernel::{Refused, clock, steal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;

/// It asks this often, ns.
const ROUND_NS: u64 = 10_000_000;
/// A CPU that has been left to nobody for longer is crowded, ns.
const CROWDED_NS: u64 = CYCLE_NS / 2;
/// So is one that was not left to anybody for longer, without the host's doing: those below get moments of it, ns.
const SELDOM_NS: u64 = CYCLE_NS / 5;
/// So long after that: there is a long rest in every such time, ns.
const REMEMBERED_NS: u64 = 2 * CYCLE_NS;

/// What the thread below tells those above it.
#[derive(Debug)]
pub struct Room {
    /// When it last had the CPU, ns of `CLOCK_MONOTONIC`.
    had_ns: AtomicU64,
    /// Until when it counts as kept from it, ns of `CLOCK_MONOTONIC`.
    crowded_until_ns: AtomicU64,
    stop: AtomicBool,
}

impl Room {
    fn new(now_ns: u64) -> Room {
        Room { had_ns: now_ns.into(), crowded_until_ns: 0.into(), stop: false.into() }
    }

    /// When a thread above goes on that would leave its CPU to nobody, where it rests now. It rests at every other time only,
    /// so that it gets to run itself between others that rest.
    #[inline]
    pub fn rest_end(&self, now_ns: u64) -> Option<u64> {
        let kept = now_ns.saturating_sub(self.had_ns.load(Relaxed));
        let is_crowded = kept > CROWDED_NS || now_ns < self.crowded_until_ns.load(Relaxed);
        rest_end(now_ns).filter(|_| is_crowded && is_long_rest(now_ns))
    }

    /// The thread below has the CPU, for which it asked at this time, and of which the host took so much meanwhile.
    fn had(&self, asked_ns: u64, now_ns: u64, host_ns: u64) {
        if now_ns.saturating_sub(asked_ns + host_ns) > SELDOM_NS {
            self.crowded_until_ns.store(now_ns + REMEMBERED_NS, Relaxed);
        }
        self.had_ns.store(now_ns, Relaxed);
    }
}

/// The thread below; it ends when this is dropped.
#[derive(Debug)]
pub struct RoomBelow(Arc<Room>);

impl RoomBelow {
    /// Starts it below threads with such scheduling on a CPU; `None` where none of them goes before ordinary ones for as long
    /// as it wants.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(cpu: u32, above: impl Iterator<Item = Scheduling>) -> Result<Option<RoomBelow>, Refused> {
        let priorities = above.filter_map(|scheduling| match scheduling {
            Scheduling::Fifo(priority) | Scheduling::RoundRobin(priority) => Some(priority),
            _ => None,
        });
        let Some(lowest) = priorities.min() else { return Ok(None) };
        let own = Scheduling::Fifo(lowest.saturating_sub(1).max(1));
        let room = Arc::new(Room::new(clock::monotonic_ns()));
        let (tell, told) = mpsc::channel();
        let shared = Arc::clone(&room);
        let body = move || {
            let set = scheduling::pin_to(cpu).and_then(|()| scheduling::set_scheduling(own));
            let is_set = set.is_ok();
            let _ = tell.send(set);
            if is_set {
                ask(&shared, cpu);
            }
        };
        let doing = "starting a thread below the device's";
        let spawned = std::thread::Builder::new().name("room".to_owned()).stack_size(128 * 1024).spawn(body);
        spawned.map_err(|error| Refused::because(doing, error.to_string()))?;
        told.recv().map_err(|_| Refused::because(doing, "it ended early"))??;
        Ok(Some(RoomBelow(room)))
    }

    /// What it tells.
    pub fn room(&self) -> Arc<Room> {
        Arc::clone(&self.0)
    }
}

impl Drop for RoomBelow {
    fn drop(&mut self) {
        self.0.stop.store(true, Relaxed);
    }
}

fn ask(room: &Room, cpu: u32) {
    let host = || steal::steal_ns(&[cpu]).unwrap_or(0);
    let mut host_before = host();
    while !room.stop.load(Relaxed) {
        let asked_ns = clock::monotonic_ns() + ROUND_NS;
        clock::sleep_until(asked_ns);
        let now_ns = clock::monotonic_ns();
        let mut host_ns = 0;
        if now_ns.saturating_sub(asked_ns) > SELDOM_NS {
            // Asking for it takes longer than all else here. So this is what the host took since the last time, which is not long
            // ago where this thread is late again and again.
            let host_now = host();
            host_ns = host_now.saturating_sub(host_before);
            host_before = host_now;
        }
        room.had(asked_ns, now_ns, host_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_kernel::rests::REST_NS;

    /// Within the rest at the end of a cycle.
    fn within(cycle: u64) -> u64 {
        (cycle + 1) * CYCLE_NS - REST_NS / 2
    }

    #[test]
    fn a_thread_rests_at_every_other_time_while_nobody_below_it_has_the_cpu() {
        let room = Room::new(0);
        assert_eq!((room.rest_end(within(0)), room.rest_end(within(1))), (None, Some(2 * CYCLE_NS)));
        assert_eq!((room.rest_end(within(2)), room.rest_end(within(2) + CYCLE_NS / 2)), (None, None));
        assert_eq!(room.rest_end(within(3)), Some(4 * CYCLE_NS));
    }

    #[test]
    fn a_thread_that_leaves_the_cpu_to_others_in_time_goes_on() {
        let room = Room::new(0);
        for asked in (ROUND_NS..10 * CYCLE_NS).step_by(ROUND_NS as usize) {
            let had = asked + SELDOM_NS;
            room.had(asked, had, 0);
            assert_eq!(room.rest_end(had), None, "{asked}");
        }
    }

    #[test]
    fn what_is_left_once_in_a_while_is_not_enough() {
        let room = Room::new(0);
        let mut rests = 0;
        for cycle in 1..20 {
            // It had the CPU for a moment, not long before the rest.
            let had = within(cycle) - 2 * REST_NS;
            room.had(had - SELDOM_NS - 1, had, 0);
            rests += u64::from(room.rest_end(within(cycle)).is_some());
        }
        assert_eq!(rests, 10);
        let room = Room::new(0);
        for cycle in 1..20 {
            let had = within(cycle) - 2 * REST_NS;
            room.had(had - 2 * SELDOM_NS, had, SELDOM_NS);
            assert_eq!(room.rest_end(within(cycle)), None, "the host took it");
        }
    }

    #[test]
    fn nobody_asks_below_threads_that_take_turns_with_others() {
        let ordinary = [Scheduling::Other, Scheduling::Idle];
        assert!(RoomBelow::start(0, ordinary.into_iter()).unwrap().is_none());
    }
}
