//! A real-time thread's part in leaving its CPU to others.

use super::queued::Queued;
use super::room::{REMEMBERED_NS, Room, SELDOM_NS};
use super::{CYCLE_NS, is_long_rest, rest_end};
use crate::clock;
use std::sync::Arc;

/// Threads that together take less than this share of a CPU are not the ones that leave nothing of it, ...
const SHARE: u64 = 20;

/// At which of the common times a thread rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// At each.
    Each,
    /// At every other, so that it gets to run between others that rest.
    EveryOther,
}

/// What a real-time thread knows about whether to rest. It rests, together with all others, if nobody below gets the
/// CPU and the threads of its run have a part in that: they take a twentieth of the CPU or more, or would if they were
/// not kept from it themselves.
#[derive(Debug)]
pub struct Resting {
    room: Arc<Room>,
    times: Times,
    /// When it last looked, ns of `CLOCK_MONOTONIC`; 0: not yet.
    looked_ns: u64,
    /// The CPU time that it had then, ns.
    cpu_ns: u64,
    /// And what all threads of its run had, ns.
    taken_ns: u64,
    /// When it was last asked whether to rest, ns of `CLOCK_MONOTONIC`.
    asked_ns: u64,
    /// Until when it counts as kept from the CPU, ns of `CLOCK_MONOTONIC`.
    kept_until_ns: u64,
    takes_part: bool,
    /// For how long it has waited for a CPU; opened by the thread itself.
    queued: Option<Queued>,
    /// What that said when it last looked, ns.
    queued_ns: Option<u64>,
}

impl Resting {
    /// For a thread above the one that reports on this room.
    pub fn new(room: Arc<Room>, times: Times) -> Resting {
        Resting {
            room,
            times,
            looked_ns: 0,
            cpu_ns: 0,
            taken_ns: 0,
            asked_ns: 0,
            kept_until_ns: 0,
            takes_part: true,
            queued: None,
            queued_ns: None,
        }
    }

    /// For the calling thread, which came this much later than it was due, ns: when it goes on, if it should rest now.
    #[inline]
    pub fn came(&mut self, now_ns: u64, mut late_ns: u64) -> Option<u64> {
        if late_ns >= SELDOM_NS && self.was_stopped() {
            late_ns = 0;
            self.room.begins_anew(now_ns);
        }
        if late_ns >= SELDOM_NS {
            self.kept_until_ns = now_ns + REMEMBERED_NS;
        }
        let is_new = late_ns >= SELDOM_NS && !self.takes_part;
        if is_new || now_ns.saturating_sub(self.looked_ns) >= CYCLE_NS {
            self.look(now_ns, late_ns, clock::thread_cpu_ns(), clock::current_cpu());
        }
        self.asked_ns = now_ns;
        let is_time = self.times == Times::Each || is_long_rest(now_ns);
        let end = rest_end(now_ns).filter(|_| is_time && self.takes_part && self.room.is_crowded(now_ns))?;
        self.asked_ns = end;
        Some(end)
    }

    /// The same for a thread that has wanted the CPU ever since it last asked.
    #[inline]
    pub fn works_on(&mut self, now_ns: u64) -> Option<u64> {
        self.came(now_ns, now_ns.saturating_sub(self.asked_ns))
    }

    /// Whether neither others made it late nor its own work: it hardly had a CPU since it last looked, nor waited for one,
    /// because the program was stopped, or everything was.
    fn was_stopped(&self) -> bool {
        let queued_ns = self.queued.as_ref().and_then(|queued| queued.since(self.queued_ns));
        queued_ns.is_some_and(|queued_ns| clock::thread_cpu_ns() - self.cpu_ns + queued_ns < SELDOM_NS)
    }

    /// Finds out whether it has a part in what is left to others.
    fn look(&mut self, now_ns: u64, late_ns: u64, cpu_ns: u64, cpu: u32) {
        let taken_ns = self.room.take(cpu_ns - self.cpu_ns);
        let is_first = self.looked_ns == 0;
        let takes_much = (taken_ns - self.taken_ns) * SHARE >= now_ns - self.looked_ns;
        self.takes_part = is_first || takes_much || now_ns < self.kept_until_ns;
        (self.looked_ns, self.cpu_ns, self.taken_ns) = (now_ns, cpu_ns, taken_ns);
        self.queued_ns = self.queued.get_or_insert_with(Queued::open).ns();
        if self.takes_part {
            self.room.want(now_ns, late_ns, cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rests::REST_NS;
    use crate::rests::room::GRACE_NS;

    /// Within the rest at the end of a cycle.
    fn within(cycle: u64) -> u64 {
        (cycle + 1) * CYCLE_NS - REST_NS / 2
    }

    /// Nobody below has had the CPU since the first cycle.
    fn crowded() -> Arc<Room> {
        let room = Arc::new(Room::default());
        room.want(1, 0, clock::current_cpu());
        room
    }

    /// One that does not know for how long it waited for a CPU.
    fn untold(room: Arc<Room>) -> Resting {
        Resting { queued: Some(Queued::untold()), ..Resting::new(room, Times::Each) }
    }

    /// In which of these cycles it rests if it takes this much of each, in thousandths.
    fn rested(resting: &mut Resting, cycles: std::ops::Range<u64>, thousandths: u64) -> Vec<u64> {
        let mut rested = Vec::new();
        for cycle in cycles {
            let now_ns = within(cycle);
            let cpu_ns = resting.cpu_ns + CYCLE_NS / 1_000 * thousandths;
            resting.look(now_ns, 0, cpu_ns, clock::current_cpu());
            if let Some(end) = resting.came(now_ns, 0) {
                assert_eq!(end, (cycle + 1) * CYCLE_NS);
                rested.push(cycle);
            }
        }
        rested
    }

    #[test]
    fn a_thread_that_takes_much_rests_where_nobody_below_has_the_cpu() {
        let mut resting = Resting::new(crowded(), Times::Each);
        assert_eq!(rested(&mut resting, 1..8, 900), [1, 2, 3, 4, 5, 6, 7]);
        let mut resting = Resting::new(crowded(), Times::EveryOther);
        assert_eq!(rested(&mut resting, 1..8, 900), [1, 3, 5, 7]);
        assert_eq!(resting.came(within(7) + REST_NS, 0), None, "no time to rest");
    }

    #[test]
    fn a_thread_that_takes_little_goes_on_whoever_else_takes_the_cpu() {
        let mut resting = Resting::new(crowded(), Times::Each);
        // At first it is not known how much it takes.
        assert_eq!(rested(&mut resting, 1..8, 10), [1]);
    }

    #[test]
    fn threads_of_a_run_that_take_much_together_rest() {
        let room = crowded();
        let mut all: Vec<Resting> = (0..10).map(|_| Resting::new(Arc::clone(&room), Times::Each)).collect();
        for cycle in 1..8 {
            let rests = all.iter_mut().filter_map(|resting| rested(resting, cycle..cycle + 1, 10).pop()).count();
            assert_eq!(rests, 10, "{cycle}");
        }
    }

    #[test]
    fn a_thread_that_is_kept_from_the_cpu_rests_as_soon_as_it_has_it() {
        let mut resting = untold(Arc::new(Room::default()));
        for cycle in 1..5 {
            resting.look(within(cycle), 0, 0, clock::current_cpu());
        }
        assert!(!resting.takes_part);
        let long_after = within(40);
        assert_eq!(resting.came(long_after, 35 * CYCLE_NS), None);
        assert_eq!(resting.came(long_after + 2 * GRACE_NS, 0), Some(41 * CYCLE_NS));
        // If the one below gets the CPU before that, nobody kept it away.
        let mut resting = untold(Arc::new(Room::default()));
        resting.look(long_after - 5 * CYCLE_NS, 0, 0, clock::current_cpu());
        assert_eq!(resting.came(long_after, 35 * CYCLE_NS), None);
        resting.room.had(long_after + GRACE_NS, GRACE_NS);
        assert_eq!(resting.came(long_after + 2 * GRACE_NS, 0), None);
        // One that is late for a moment is not kept away by others.
        let mut resting = untold(Arc::new(Room::default()));
        resting.look(long_after - CYCLE_NS, 0, 0, clock::current_cpu());
        resting.room.had(long_after - 1, 1);
        assert_eq!(resting.came(long_after, REST_NS), None);
    }

    #[test]
    fn a_thread_in_the_midst_of_its_work_is_late_where_it_could_not_go_on() {
        let mut resting = untold(Arc::new(Room::default()));
        for cycle in 1..5 {
            resting.look(within(cycle), 0, 0, clock::current_cpu());
            resting.came(within(cycle), 0);
        }
        resting.room.had(within(4) - 1, 1);
        assert_eq!(resting.works_on(within(4) + 1), None);
        assert_eq!(resting.works_on(within(14)), None);
        assert_eq!(resting.works_on(within(14) + 2 * GRACE_NS), Some(15 * CYCLE_NS));
    }

    #[test]
    fn a_thread_that_was_stopped_goes_on_even_if_nobody_below_could_have_had_the_cpu() {
        if Queued::open().ns().is_none() {
            return punctual_testing::skip("time in the queue", "there is no schedstat");
        }
        // The thread below was stopped, too. This thread sleeps in no queue meanwhile.
        for (queued, rests) in [(Queued::open(), false), (Queued::untold(), true)] {
            let mut resting = Resting { queued: Some(queued), ..Resting::new(crowded(), Times::Each) };
            resting.look(within(3), 0, clock::thread_cpu_ns(), clock::current_cpu());
            assert_eq!(resting.came(within(3), 0), Some(4 * CYCLE_NS), "the CPU is crowded");
            assert_eq!(resting.came(within(5), 2 * CYCLE_NS).is_some(), rests);
            let again = resting.came(within(5) + 2 * GRACE_NS, 0);
            assert_eq!(again.is_some(), rests, "it is not forgotten at once");
        }
    }
}
