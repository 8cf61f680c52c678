//! Whether real-time threads leave their CPU to whoever is below them.
//!
//! None of them can tell by itself: each may wait again and again, and all together still leave nothing. So a thread of the lowest
//! real-time priority asks for the CPU every 10 ms and notes when it got it. It asks only while one of them wants to know: on a
//! CPU that is left alone it sleeps.

use super::CYCLE_NS;
use super::queued::Queued;
use crate::scheduling::{self, Scheduling};
use crate::{Refused, clock, steal};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::Thread;

/// How often it asks, ns.
const ROUND_NS: u64 = 10_000_000;
/// A CPU that nobody below has had for longer than this is crowded, ns.
const CROWDED_NS: u64 = CYCLE_NS / 2;
/// So is one that was left to nobody for longer than this, without the host's doing: those below get moments of it, ns.
pub(super) const SELDOM_NS: u64 = CYCLE_NS / 5;
/// For this long afterwards: every such time has a rest for everybody, ns.
pub(super) const REMEMBERED_NS: u64 = 2 * CYCLE_NS;
/// A thread that was kept from the CPU is believed to have been kept by others unless the thread below gets it within
/// this, ns: then it was stopped, or the host had the CPU.
pub(super) const GRACE_NS: u64 = 500_000;
/// How long it goes on asking after somebody last wanted to know, ns.
const WANTED_NS: u64 = 4 * CYCLE_NS;

/// What is known about the room that real-time threads leave on a CPU.
#[derive(Debug, Default)]
pub struct Room {
    /// When the thread below last had the CPU, ns of `CLOCK_MONOTONIC`.
    had_ns: AtomicU64,
    /// Until when it counts as kept from it, ns of `CLOCK_MONOTONIC`.
    crowded_until_ns: AtomicU64,
    /// Until when it should ask, ns of `CLOCK_MONOTONIC`.
    wanted_until_ns: AtomicU64,
    /// CPU time that the threads above have taken in all, ns.
    taken_ns: AtomicU64,
    cpu: AtomicU32,
    /// The id of the thread below; 0: there is none.
    tid: AtomicU32,
    below: OnceLock<Thread>,
    stop: AtomicBool,
}

impl Room {
    /// Makes the thread below ask on this CPU for a while. Whoever wants that may know for how long nobody below could
    /// have had it, ns.
    pub(super) fn want(&self, now_ns: u64, kept_ns: u64, cpu: u32) {
        let has_asked = self.wanted_until_ns.swap(now_ns + WANTED_NS, Relaxed) > now_ns;
        let has_moved = self.cpu.swap(cpu, Relaxed) != cpu;
        // One that has ended, or was never there, has the number 0, which to the kernel is whoever calls.
        if let (true, below @ 1..) = (has_moved, self.tid.load(Relaxed)) {
            // If it cannot go there, it reports on the CPU that it is on.
            let _ = scheduling::pin_thread_to(below, cpu);
        }
        if !has_asked || has_moved {
            self.had_ns.store(now_ns.saturating_sub(kept_ns.min(CROWDED_NS - GRACE_NS)), Relaxed);
        }
        if let (false, Some(below)) = (has_asked, self.below.get()) {
            below.unpark();
        }
    }

    /// Adds CPU time that a thread above has taken, ns; returns what all have taken.
    pub(super) fn take(&self, cpu_ns: u64) -> u64 {
        self.taken_ns.fetch_add(cpu_ns, Relaxed) + cpu_ns
    }

    /// Whether nobody below gets the CPU, or only seldom.
    #[inline]
    pub(super) fn is_crowded(&self, now_ns: u64) -> bool {
        let kept = now_ns.saturating_sub(self.had_ns.load(Relaxed));
        kept > CROWDED_NS || now_ns < self.crowded_until_ns.load(Relaxed)
    }

    /// Nobody knows whether anybody below could have had the CPU: everybody was stopped, or the host had it.
    pub(super) fn begins_anew(&self, now_ns: u64) {
        self.had_ns.store(now_ns, Relaxed);
    }

    /// The thread below has the CPU, for which it waited so long, not counting what the host took.
    pub(super) fn had(&self, now_ns: u64, waited_ns: u64) {
        if waited_ns > SELDOM_NS {
            self.crowded_until_ns.store(now_ns + REMEMBERED_NS, Relaxed);
        }
        self.had_ns.store(now_ns, Relaxed);
    }

    fn ask(&self) {
        let host = || steal::steal_ns(&[self.cpu.load(Relaxed)]).unwrap_or(0);
        let mut host_before = host();
        let queued = Queued::open();
        while !self.stop.load(Relaxed) {
            let now_ns = clock::monotonic_ns();
            if now_ns >= self.wanted_until_ns.load(Relaxed) {
                std::thread::park();
                self.had_ns.store(clock::monotonic_ns(), Relaxed);
                continue;
            }
            let asked_ns = now_ns + ROUND_NS;
            let queued_before = queued.ns();
            clock::sleep_until(asked_ns);
            let now_ns = clock::monotonic_ns();
            let mut waited_ns = now_ns.saturating_sub(asked_ns);
            if waited_ns > SELDOM_NS {
                // Asking for it takes longer than everything else here. So this is what the host took since the last
                // time, which is not long ago if this thread is late again and again.
                let host_now = host();
                waited_ns = waited_ns.saturating_sub(host_now.saturating_sub(host_before));
                host_before = host_now;
                // One that is stopped or frozen is late, and waits for no CPU.
                waited_ns = waited_ns.min(queued.since(queued_before).unwrap_or(waited_ns));
            }
            self.had(now_ns, waited_ns);
        }
    }
}

/// The thread below; it ends when this is dropped.
#[derive(Debug)]
pub struct RoomBelow(Arc<Room>);

impl RoomBelow {
    /// Starts it on a CPU below threads with such scheduling; `None` if none of them runs ahead of ordinary ones for as
    /// long as it wants.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(cpu: u32, above: impl IntoIterator<Item = Scheduling>) -> Result<Option<RoomBelow>, Refused> {
        if !above.into_iter().any(Scheduling::is_real_time) {
            return Ok(None);
        }
        let room = Arc::new(Room { cpu: cpu.into(), ..Room::default() });
        let (tell, told) = mpsc::channel();
        let shared = Arc::clone(&room);
        let body = move || {
            let set = scheduling::pin_to(cpu).and_then(|()| scheduling::set_scheduling(Scheduling::Fifo(1)));
            let is_set = set.is_ok();
            shared.tid.store(clock::thread_id(), Relaxed);
            let _ = tell.send(set);
            if is_set {
                shared.ask();
            }
            // Somebody else's thread may have the number next.
            shared.tid.store(0, Relaxed);
        };
        let doing = "starting a thread below those of real-time priority";
        let spawned = std::thread::Builder::new().name("room".to_owned()).stack_size(128 * 1024).spawn(body);
        let thread = spawned.map_err(|error| Refused::because(doing, error.to_string()))?;
        let _ = room.below.set(thread.thread().clone());
        told.recv().map_err(|_| Refused::because(doing, "it ended early"))??;
        Ok(Some(RoomBelow(room)))
    }

    /// What it reports.
    pub fn room(&self) -> Arc<Room> {
        Arc::clone(&self.0)
    }
}

impl Drop for RoomBelow {
    fn drop(&mut self) {
        self.0.stop.store(true, Relaxed);
        if let Some(below) = self.0.below.get() {
            below.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_crowded_while_nobody_below_has_it() {
        let room = Room::default();
        room.want(CYCLE_NS, 0, 0);
        assert!(!room.is_crowded(CYCLE_NS + CROWDED_NS));
        assert!(room.is_crowded(CYCLE_NS + CROWDED_NS + 1));
        room.had(CYCLE_NS + CROWDED_NS + 1, 1);
        assert!(!room.is_crowded(CYCLE_NS + CROWDED_NS + 1));
    }

    #[test]
    fn a_cpu_that_is_left_to_others_in_time_is_not_crowded() {
        let room = Room::default();
        for asked in (ROUND_NS..10 * CYCLE_NS).step_by(ROUND_NS as usize) {
            let had = asked + SELDOM_NS;
            room.had(had, SELDOM_NS);
            assert!(!room.is_crowded(had), "{asked}");
        }
    }

    #[test]
    fn what_is_left_once_in_a_while_is_not_enough() {
        for (waited_ns, is_crowded) in [(SELDOM_NS + 1, true), (1, false)] {
            let room = Room::default();
            for had in (CYCLE_NS..20 * CYCLE_NS).step_by(CYCLE_NS as usize) {
                room.had(had, waited_ns);
                assert_eq!(room.is_crowded(had + 1), is_crowded, "{had}");
            }
        }
    }

    #[test]
    fn who_knows_better_is_believed_where_nobody_asked() {
        let room = Room::default();
        room.want(10 * CYCLE_NS, 2 * CROWDED_NS, 0);
        assert!(!room.is_crowded(10 * CYCLE_NS + GRACE_NS));
        assert!(room.is_crowded(10 * CYCLE_NS + GRACE_NS + 1));
        // The thread below asks meanwhile, and knows it better still.
        room.had(10 * CYCLE_NS + 1, 1);
        room.want(10 * CYCLE_NS + 2, 2 * CROWDED_NS, 0);
        assert!(!room.is_crowded(10 * CYCLE_NS + 3 + GRACE_NS));
    }

    #[test]
    fn nobody_is_moved_where_no_thread_is_below() {
        std::thread::spawn(|| {
            let before = scheduling::allowed_cpus();
            // Two CPUs, unless the machine has only one.
            for cpu in before.iter().take(2) {
                Room { cpu: u32::MAX.into(), ..Room::default() }.want(CYCLE_NS, 0, *cpu);
                assert_eq!(scheduling::allowed_cpus(), before, "moved to CPU {cpu}");
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn nobody_asks_below_threads_that_take_turns_with_others() {
        let ordinary = [Scheduling::Other, Scheduling::Idle];
        assert!(RoomBelow::start(0, ordinary).unwrap().is_none());
    }
}
