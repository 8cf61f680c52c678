//! One wakeup: its stamps, and the stages between them.

use crate::Stage;

/// The instants at which one wakeup passed each point, in nanoseconds of `CLOCK_MONOTONIC`.
///
/// 0 means that the point was not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamps {
    /// When the timer was due to expire.
    pub expected: u64,
    /// First instruction of the interrupt's timer handler.
    pub irq: u64,
    /// First instruction of the softirq callback.
    pub softirq: u64,
    /// The thread was made runnable.
    pub waking: u64,
    /// The thread was switched in; without `irq` and `waking`, when it was allowed to continue: its timer had expired
    /// before it was armed, no interrupt came and the thread never slept.
    pub switch_in: u64,
    /// First user-space instruction.
    pub user: u64,
}

/// Clocks read on two paths may disagree by this much across an update of the timekeeper;
/// stamps that are further out of order are not believed.
const CLOCK_DISAGREEMENT_NS: u64 = 1_000;

/// One activation of a periodic job. Stage lengths are in nanoseconds; `None` if not passed through or not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wakeup {
    /// The CPU on which the thread ran.
    pub cpu: u32,
    /// The thread.
    pub tid: u32,
    /// When the timer was due to expire or, for a followed thread that no timer woke, when the known part of its wakeup
    /// began; ns of `CLOCK_MONOTONIC`.
    pub expected_ns: u64,
    /// See [`Stage::Irq`].
    pub irq_ns: Option<u64>,
    /// See [`Stage::Softirq`].
    pub softirq_ns: Option<u64>,
    /// See [`Stage::Wake`].
    pub wake_ns: Option<u64>,
    /// See [`Stage::Thread`].
    pub thread_ns: Option<u64>,
    /// See [`Stage::User`].
    pub user_ns: Option<u64>,
    /// See [`Stage::Total`].
    pub total_ns: u64,
    /// Activations that passed without a wakeup directly after this one; in a softirq chain also those directly before
    /// it whose wake never came.
    pub missed: u64,
    /// How much of the total, at most, was time in which the host ran something else, where that can be known.
    pub steal_ns: Option<u64>,
    /// See [`Stage::Work`]; only for followed threads.
    pub work_ns: Option<u64>,
    /// How much of the work the thread spent on a CPU; only for followed threads.
    pub executed_ns: Option<u64>,
    /// What woke the thread: a position in the document's `followed.wakers`; only for followed threads.
    pub woken_by: Option<u32>,
}

/// The instants at which one wakeup of a followed thread passed each point, ns of `CLOCK_MONOTONIC`; 0: not passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FollowedStamps {
    /// When the known part of the wakeup began: its timer was due, the interrupt or softirq that woke it began, or
    /// another thread woke it.
    pub began: u64,
    /// First instruction of the timer's handler, where a timer woke it.
    pub irq: u64,
    /// The thread was made runnable.
    pub waking: u64,
    /// It was switched in.
    pub switch_in: u64,
    /// It blocked again.
    pub switch_out: u64,
}

/// What a driver says of one of its activations, ns of `CLOCK_MONOTONIC`; 0: not passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DriverStamps {
    /// When its interrupt was due.
    pub expected: u64,
    /// When the interrupt came.
    pub interrupt: u64,
    /// When the work that the interrupt deferred began.
    pub deferred: u64,
    /// When its thread began.
    pub thread: u64,
}

impl Stamps {
    /// Whether the thread continued at once, without interrupt and wake.
    fn never_slept(&self) -> bool {
        self.switch_in != 0 && self.irq == 0 && self.softirq == 0 && self.waking == 0
    }
}

impl Wakeup {
    /// The wakeup of a followed thread. Its chain ends when the thread is switched in: nobody sees its first
    /// instruction. `None` if the stamps are out of order by more than 1 us, so that none of them can be believed.
    pub fn from_followed(stamps: &FollowedStamps, cpu: u32, tid: u32) -> Option<Wakeup> {
        let mut lengths = [None; 3];
        let mut reached = stamps.began;
        let points = [stamps.irq, if stamps.waking == stamps.began { 0 } else { stamps.waking }, stamps.switch_in];
        for (length, &point) in lengths.iter_mut().zip(&points) {
            if point == 0 {
                continue;
            }
            if point + CLOCK_DISAGREEMENT_NS < reached {
                return None;
            }
            let point = point.max(reached);
            *length = Some(point - reached);
            reached = point;
        }
        let [irq_ns, wake_ns, thread_ns] = lengths;
        thread_ns?;
        Some(Wakeup {
            cpu,
            tid,
            expected_ns: stamps.began,
            irq_ns,
            wake_ns,
            thread_ns,
            total_ns: reached - stamps.began,
            work_ns: (stamps.switch_out != 0).then(|| stamps.switch_out.saturating_sub(reached)),
            ..Wakeup::default()
        })
    }

    /// An activation of a driver. Its thread stage begins with the deferred work or, if there is none, with the
    /// interrupt, because nothing says when the thread was made runnable. If the interrupt was not seen, or the stamps
    /// are out of order by more than 1 us, it has only its total.
    pub fn from_driver(stamps: &DriverStamps, cpu: u32, tid: u32) -> Wakeup {
        let mut wakeup = Wakeup {
            cpu,
            tid,
            expected_ns: stamps.expected,
            total_ns: stamps.thread.saturating_sub(stamps.expected),
            ..Wakeup::default()
        };
        if stamps.interrupt == 0 || stamps.thread < stamps.expected {
            return wakeup;
        }
        let mut lengths = [None; 2];
        let mut reached = stamps.expected;
        for (length, point) in lengths.iter_mut().zip([stamps.interrupt, stamps.deferred]) {
            if point == 0 {
                continue;
            }
            let is_early = point.saturating_add(CLOCK_DISAGREEMENT_NS) < reached;
            if is_early || point > stamps.thread.saturating_add(CLOCK_DISAGREEMENT_NS) {
                return wakeup;
            }
            let point = point.clamp(reached, stamps.thread);
            *length = Some(point - reached);
            reached = point;
        }
        [wakeup.irq_ns, wakeup.softirq_ns] = lengths;
        wakeup.thread_ns = Some(stamps.thread - reached);
        wakeup
    }

    /// The wakeup with these stamps.
    ///
    /// It has stages only where the interrupt and the wake were seen and the stamps are in order (to within 1 us of
    /// disagreement between clock readings, which is folded into the earlier stage): otherwise the wakeup counts as
    /// *unobserved* and has only its total.
    ///
    /// A thread that never slept, because its timer had expired before it was armed, has no stage but [`Stage::User`]:
    /// no interrupt came, nothing woke it, it had the CPU when it armed the timer.
    pub fn from_stamps(stamps: &Stamps, cpu: u32, tid: u32) -> Wakeup {
        let mut wakeup = Wakeup {
            cpu,
            tid,
            expected_ns: stamps.expected,
            total_ns: stamps.user.saturating_sub(stamps.expected),
            ..Wakeup::default()
        };
        if stamps.never_slept() {
            // Before the timer was due the kernel would have waited; after the reading nobody can have continued.
            let possible = stamps.expected.saturating_sub(CLOCK_DISAGREEMENT_NS)
                ..=stamps.user.saturating_add(CLOCK_DISAGREEMENT_NS);
            wakeup.user_ns = possible.contains(&stamps.switch_in).then_some(wakeup.total_ns);
            return wakeup;
        }
        if stamps.irq == 0 || stamps.waking == 0 {
            return wakeup;
        }
        let points = [stamps.irq, stamps.softirq, stamps.waking, stamps.switch_in];
        let mut lengths = [None; 4];
        let mut reached = stamps.expected;
        for (length, &point) in lengths.iter_mut().zip(&points) {
            if point == 0 {
                continue;
            }
            if point + CLOCK_DISAGREEMENT_NS < reached || point > stamps.user + CLOCK_DISAGREEMENT_NS {
                return wakeup;
            }
            let point = point.clamp(reached, stamps.user.max(reached));
            *length = Some(point - reached);
            reached = point;
        }
        [wakeup.irq_ns, wakeup.softirq_ns, wakeup.wake_ns, wakeup.thread_ns] = lengths;
        wakeup.user_ns = Some(stamps.user.saturating_sub(reached));
        wakeup
    }

    /// Whether the stages were seen, not only the total.
    pub fn is_observed(&self) -> bool {
        // A followed thread's first instruction is never seen; its switch always is.
        self.user_ns.is_some() || self.thread_ns.is_some()
    }

    /// The length of a stage or composite, if this wakeup has it.
    pub fn stage(&self, stage: Stage) -> Option<u64> {
        match stage {
            Stage::Irq => self.irq_ns,
            Stage::Softirq => self.softirq_ns,
            Stage::Wake => self.wake_ns,
            Stage::Thread => self.thread_ns,
            Stage::User => self.user_ns,
            Stage::Total => Some(self.total_ns),
            Stage::DpcInterruptLatency => Some(self.irq_ns? + self.softirq_ns?),
            // From its wake on; a thread that never slept was not woken.
            Stage::ThreadLatency if self.irq_ns.is_none() && self.thread_ns.is_none() => None,
            Stage::ThreadLatency => Some(self.thread_ns.unwrap_or(0) + self.user_ns?),
            Stage::Work => self.work_ns,
            Stage::Response => Some(self.total_ns + self.work_ns?),
            Stage::Request => None,
        }
    }

    /// Whether the stages add up to the total, as they must if they were seen.
    pub fn adds_up(&self) -> bool {
        let parts = [self.irq_ns, self.softirq_ns, self.wake_ns, self.thread_ns, self.user_ns];
        !self.is_observed() || parts.iter().flatten().sum::<u64>() == self.total_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stamps() -> impl Strategy<Value = Stamps> {
        let step = prop_oneof![Just(0u64), 1..2_000u64, 1..4_000_000_000_000u64];
        (1..u64::MAX / 16, prop::array::uniform5((any::<bool>(), step))).prop_map(|(expected, steps)| {
            let mut now = expected;
            let mut at = steps.map(|(seen, step)| {
                now += step;
                if seen { now } else { 0 }
            });
            at[4] = now;
            Stamps { expected, irq: at[0], softirq: at[1], waking: at[2], switch_in: at[3], user: at[4] }
        })
    }

    proptest! {
        #[test]
        fn stages_add_up_to_the_total(stamps in stamps()) {
            let wakeup = Wakeup::from_stamps(&stamps, 0, 1);
            prop_assert!(wakeup.adds_up());
            prop_assert_eq!(wakeup.total_ns, stamps.user - stamps.expected);
            let woken = stamps.irq != 0 && stamps.waking != 0;
            prop_assert_eq!(wakeup.is_observed(), woken || stamps.never_slept());
            if wakeup.is_observed() && woken {
                prop_assert_eq!(wakeup.thread_ns.is_some(), stamps.switch_in != 0);
                prop_assert_eq!(wakeup.softirq_ns.is_some(), stamps.softirq != 0);
            }
        }

        #[test]
        fn stamps_in_any_order_still_add_up(at in prop::array::uniform6(0..10_000u64)) {
            let [expected, irq, softirq, waking, switch_in, user] = at;
            let wakeup = Wakeup::from_stamps(&Stamps { expected, irq, softirq, waking, switch_in, user }, 0, 1);
            prop_assert!(wakeup.adds_up());
        }
    }

    proptest! {
        #[test]
        fn a_followed_wakeup_adds_up_and_ends_at_its_switch(
            began in 1..1_000_000_000u64, steps in prop::array::uniform4(0..5_000_000u64), by_timer: bool,
        ) {
            let irq = if by_timer { began + steps[0] } else { 0 };
            let waking = began + steps[0] + steps[1];
            let switch_in = waking + steps[2];
            let stamps = FollowedStamps { began, irq, waking, switch_in, switch_out: switch_in + steps[3] };
            let wakeup = Wakeup::from_followed(&stamps, 0, 1).unwrap();
            prop_assert!(wakeup.adds_up() && wakeup.is_observed());
            prop_assert_eq!(wakeup.total_ns, switch_in - began);
            prop_assert_eq!(wakeup.stage(Stage::Response), Some(switch_in + steps[3] - began));
            prop_assert_eq!(wakeup.irq_ns.is_some(), by_timer);
            prop_assert_eq!(wakeup.user_ns, None);
        }

        #[test]
        fn stamps_of_a_followed_wakeup_in_any_order_add_up_or_are_not_believed(at in prop::array::uniform5(0..10_000u64)) {
            let [began, irq, waking, switch_in, switch_out] = at;
            let stamps = FollowedStamps { began, irq, waking, switch_in, switch_out };
            prop_assert!(Wakeup::from_followed(&stamps, 0, 1).is_none_or(|wakeup| wakeup.adds_up()));
        }
    }

    #[test]
    fn a_small_disagreement_of_clocks_is_folded_and_a_large_one_is_not_believed() {
        let stamps =
            Stamps { expected: 10_000, irq: 9_990, softirq: 0, waking: 10_400, switch_in: 11_000, user: 10_990 };
        let wakeup = Wakeup::from_stamps(&stamps, 0, 1);
        assert_eq!(
            (wakeup.irq_ns, wakeup.wake_ns, wakeup.thread_ns, wakeup.user_ns),
            (Some(0), Some(400), Some(590), Some(0))
        );
        assert_eq!(wakeup.total_ns, 990);
        let stale = Stamps { irq: 5_000, ..stamps };
        assert!(!Wakeup::from_stamps(&stale, 0, 1).is_observed());
    }

    #[test]
    fn a_thread_whose_timer_had_expired_when_it_armed_it_never_slept() {
        let stamps = Stamps { expected: 1_000_000, switch_in: 14_760_000, user: 14_761_000, ..Stamps::default() };
        let wakeup = Wakeup::from_stamps(&stamps, 0, 1);
        assert!(wakeup.is_observed() && wakeup.adds_up());
        assert_eq!((wakeup.user_ns, wakeup.total_ns), (Some(13_761_000), 13_761_000));
        // Absent, not zero: no interrupt came and nothing woke it.
        assert_eq!([wakeup.irq_ns, wakeup.softirq_ns, wakeup.wake_ns, wakeup.thread_ns], [None; 4]);
        assert_eq!(wakeup.stage(Stage::ThreadLatency), None);
        // A stamp from another time is not believed.
        for switch_in in [900_000, 15_000_000] {
            assert!(!Wakeup::from_stamps(&Stamps { switch_in, ..stamps }, 0, 1).is_observed());
        }
    }

    #[test]
    fn a_thread_that_was_never_switched_out_has_no_thread_stage() {
        let stamps = Stamps { expected: 100, irq: 200, softirq: 0, waking: 250, switch_in: 0, user: 400 };
        let wakeup = Wakeup::from_stamps(&stamps, 0, 1);
        assert_eq!(wakeup.thread_ns, None);
        assert_eq!(wakeup.stage(Stage::ThreadLatency), Some(150));
        assert_eq!(wakeup.stage(Stage::DpcInterruptLatency), None);
    }
}
