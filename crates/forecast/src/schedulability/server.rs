//! What the constant-bandwidth server of a `SCHED_DEADLINE` thread can ask for, if the thread may wake late.
//!
//! A thread that wakes before its deadline is over continues with what is left of its budget, if that is no more than
//! its density until then. If it is more, the thread gets a new deadline and a whole budget if its deadline is its
//! period (`update_dl_entity`), and keeps as much as its density allows if its deadline is shorter
//! (`update_dl_revised_wakeup`). So more can come than from a sporadic task, but only as much as the lateness of the
//! previous wakeup makes room for: with C in every T, due D after the wakeup, and late by at most J, a rest is due
//! after at most J - (T - D), and a period that begins anew is shorter by at most J.

use super::demand::Demand;

/// A thread with its server, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Server {
    compute: u128,
    period: u128,
    deadline: u128,
    late: u128,
}

impl Server {
    /// How late the thread wakes at most; a period, if it may wake at any time.
    pub(super) fn of(task: &Demand, late_ns: u64) -> Server {
        let [compute, deadline, late] = [task.compute_ns, task.deadline_ns, late_ns].map(u128::from);
        Server { compute, period: u128::from(task.period_ns.max(1)), deadline, late }
    }

    fn share(&self, time: u128) -> u128 {
        (time.min(self.deadline) * self.compute).div_ceil(self.deadline.max(1))
    }

    /// How long after a wakeup a rest of a budget can be due.
    pub(super) fn rest(&self) -> u128 {
        (self.late + self.deadline).saturating_sub(self.period)
    }

    /// The most work that comes and is due within a window of this length.
    pub(super) fn due_within(&self, window: u128) -> u128 {
        let Server { compute, period, deadline, late } = *self;
        if late == 0 || deadline > period {
            let whole = if window < deadline { 0 } else { ((window - deadline) / period + 1) * compute };
            // The kernel accepts no such thread.
            return if late == 0 { whole } else { whole + compute };
        }
        let (whole, beyond) = (window / period, window % period);
        let part = if beyond >= deadline {
            compute
        } else if deadline == period && beyond + late >= period {
            // The first budget is left as soon as a new one can follow.
            self.share(beyond)
        } else {
            self.share(beyond.min(self.rest()))
        };
        whole * compute + part
    }

    /// The most work that comes within a window of this length, from a moment at which none of it can run yet.
    pub(super) fn come_within(&self, window: u128) -> u128 {
        let Server { compute, period, deadline, late } = *self;
        if window == 0 {
            return 0;
        }
        let whole = window.div_ceil(period);
        let begun = window - (whole - 1) * period;
        let part = if deadline > period {
            ((window + late).div_ceil(period) - whole) * compute
        } else if begun + late <= period {
            // There is no more work.
            0
        } else if deadline == period {
            self.share(begun)
        } else {
            self.share((begun + late.min(period) + deadline).saturating_sub(2 * period))
        };
        whole * compute + part
    }

    /// The last point before an instant where [`Server::due_within`] may step or change its slope.
    pub(super) fn change_before(&self, instant: u128) -> Option<u128> {
        let mut places = vec![self.deadline];
        if self.late > 0 && self.deadline <= self.period {
            places.extend([self.rest().min(self.deadline), self.period.saturating_sub(self.late), self.period]);
        }
        let last = |place: u128| instant.checked_sub(place + 1).map(|room| room / self.period * self.period + place);
        places.into_iter().filter_map(last).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(compute_ns: u64, deadline_ns: u64, period_ns: u64, late_ns: u64) -> Server {
        Server::of(&Demand { compute_ns, period_ns, deadline_ns }, late_ns)
    }

    #[test]
    fn in_time_it_is_a_sporadic_task() {
        let server = server(4, 8, 10, 0);
        assert_eq!([7, 8, 17, 18].map(|window| server.due_within(window)), [0, 4, 4, 8]);
        assert_eq!([0, 1, 10, 11].map(|window| server.come_within(window)), [0, 4, 4, 8]);
    }

    #[test]
    fn a_rest_with_a_short_deadline() {
        // Woken 5 late, it has until 8 later; the next wakeup may come 5 later, on time, with 3 left: at most 4 * 3 /
        // 8.
        let server = server(400, 80, 100, 50);
        assert_eq!(server.rest(), 30);
        assert_eq!([10, 30, 79, 80, 130].map(|window| server.due_within(window)), [50, 150, 150, 400, 550]);
        // From a wakeup 20 late, with 10 left, so that the next comes at 80: 50 of the first budget, 400 of the second.
        assert_eq!([1, 70, 80, 100].map(|window| server.come_within(window)), [400, 400, 450, 550]);
    }

    #[test]
    fn a_new_budget_with_a_deadline_of_a_period() {
        let server = server(500, 100, 100, 30);
        // A rest until 30; or less than 5 a tick of the first, until a second one comes at 70, 30 early.
        assert_eq!(
            [20, 30, 60, 70, 90, 100, 120].map(|window| server.due_within(window)),
            [100, 150, 150, 350, 450, 500, 600]
        );
        // Its next one may come at 70.
        assert_eq!([70, 80, 100, 101].map(|window| server.come_within(window)), [500, 900, 1_000, 1_000]);
    }

    #[test]
    fn at_any_time_it_has_its_share_and_a_budget() {
        let server = server(500, 100, 100, 100);
        assert_eq!([10, 50, 100, 250].map(|window| server.due_within(window)), [50, 250, 500, 1_250]);
        assert_eq!([10, 50, 100, 150].map(|window| server.come_within(window)), [550, 750, 1_000, 1_250]);
    }

    #[test]
    fn where_its_demand_changes() {
        let server = server(500, 100, 100, 30);
        let changes: Vec<u128> =
            std::iter::successors(Some(231), |&before| server.change_before(before)).skip(1).collect();
        assert_eq!(changes, [230, 200, 170, 130, 100, 70, 30]);
    }
}
