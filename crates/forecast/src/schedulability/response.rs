//! Response times under fixed priorities, on a whole processor or within a reservation.

use super::demand::Demand;
use super::server::Server;
use super::supply::Supply;

/// Work that may run before the task in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interferer {
    /// Its longest computing time, ns.
    pub compute_ns: u64,
    /// Its period, or least time between activations, ns.
    pub period_ns: u64,
    /// How late an activation may be released, so that the next one follows closer than a period, ns.
    pub jitter_ns: u64,
    /// The relative deadline, ns, of the constant-bandwidth server that serves it (`SCHED_DEADLINE`), if there is one:
    /// then it gets no more than its budget in a period from when it wakes, plus what is left of the last budget.
    pub server_deadline_ns: Option<u64>,
}

impl Interferer {
    fn demand(&self, window: u128) -> u128 {
        let Interferer { compute_ns, period_ns, jitter_ns, server_deadline_ns } = *self;
        if let Some(deadline_ns) = server_deadline_ns {
            return Server::of(&Demand { compute_ns, period_ns, deadline_ns }, jitter_ns).come_within(window);
        }
        (window + u128::from(jitter_ns)).div_ceil(u128::from(period_ns.max(1))) * u128::from(compute_ns)
    }
}

/// Steps after which the search is given up: such a set is practically overloaded.
const STEPS: usize = 200_000;
/// How many activations of one busy period are examined.
const ACTIVATIONS: u128 = 20_000;
/// The longest response time to look for, ns: a year.
const MAX_RESPONSE_NS: u128 = 31_536_000_000_000_000;

/// The longest response time, ns, of a task with this computing time, period and jitter below these interferers, once
/// blocked for `blocking_ns` by work that it cannot preempt; measured from the nominal release. Activations may queue
/// up behind each other, as they do if the deadline is beyond the period. `None` if there is no bound: the processor,
/// or the reservation, is overloaded or nearly so.
///
/// With w(q) the least fixed point of w = B + (q+1)·C + sum over j of ceil((w + Jj)/Tj)·Cj, the response time is
/// the maximum over q of J + w(q) - q·T (Joseph and Pandya, Computer Journal 1986; Tindell, Burns and Wellings,
/// Real-Time Systems 1994). Within a reservation w is the time its supply needs for that demand.
pub fn response_time(own: Interferer, interferers: &[Interferer], blocking_ns: u64, supply: Supply) -> Option<u64> {
    let all = interferers.iter().chain(std::iter::once(&own));
    let load: f64 = all.map(|task| task.compute_ns as f64 / task.period_ns.max(1) as f64).sum();
    if load > supply.share() * (1.0 + 1e-12) {
        return None;
    }
    let mut worst = 0u128;
    let mut below = Below::of(interferers, supply);
    for activation in 0..ACTIVATIONS {
        let work = u128::from(blocking_ns) + (activation + 1) * u128::from(own.compute_ns);
        let released = activation * u128::from(own.period_ns);
        let since = |window: u128| window.saturating_sub(released) + u128::from(own.jitter_ns);
        let mut window = below.done_at_most(work)?;
        if since(window) > worst {
            window = below.done(work)?;
            worst = worst.max(since(window));
        }
        // The busy period ends when an activation is done before the next one can be released.
        if window + u128::from(own.jitter_ns) <= released + u128::from(own.period_ns) {
            return u64::try_from(worst).ok();
        }
    }
    None
}

/// The same if `peers` have the priority of the task itself and are served in order of arrival, as by `SCHED_FIFO`:
/// those that come later never run before it. It examines the releases at which another of them may just have come
/// (Martin, Minet and George, Real-Time Systems 2005, for FP/FIFO).
pub fn response_time_among(
    own: Interferer,
    above: &[Interferer],
    peers: &[Interferer],
    blocking_ns: u64,
    supply: Supply,
) -> Option<u64> {
    let all: Vec<Interferer> = above.iter().chain(peers).copied().collect();
    // As if every peer came first: safe, and needed if the search below is given up.
    let plain = response_time(own, &all, blocking_ns, supply);
    if peers.is_empty() {
        return plain;
    }
    match among(own, above, peers, blocking_ns, supply) {
        Some(found) => Some(plain.map_or(found, |plain| plain.min(found))),
        None => plain,
    }
}

fn among(own: Interferer, above: &[Interferer], peers: &[Interferer], blocking_ns: u64, supply: Supply) -> Option<u64> {
    let everything = || above.iter().chain(peers).chain(std::iter::once(&own));
    let load: f64 = everything().map(|task| task.compute_ns as f64 / task.period_ns.max(1) as f64).sum();
    if load > supply.share() * (1.0 + 1e-12) {
        return None;
    }
    let blocking = u128::from(blocking_ns);
    // A supply may begin to run dry in the middle: everything of a busy period and one more of each.
    let all: Vec<Interferer> = everything().copied().collect();
    let busy = Below::of(&all, supply).done_at_most(blocking)?;
    let mut below = Below::of(above, supply);
    let released = |task: &Interferer, until: u128| {
        (1 + (until + u128::from(task.jitter_ns)) / u128::from(task.period_ns.max(1))) * u128::from(task.compute_ns)
    };
    let mut releases = vec![0u128];
    for task in peers.iter().chain(std::iter::once(&own)) {
        let (period, jitter) = (u128::from(task.period_ns.max(1)), u128::from(task.jitter_ns));
        if busy / period > ACTIVATIONS {
            return None;
        }
        releases.extend((0..=(busy + jitter) / period).map(|count| (count * period).saturating_sub(jitter)));
    }
    releases.sort_unstable();
    releases.dedup();
    let mut worst = 0;
    for release in releases.into_iter().filter(|&release| release < busy.max(1)) {
        let before =
            blocking + released(&own, release) + peers.iter().map(|peer| released(peer, release)).sum::<u128>();
        let since = |done: u128| done.saturating_sub(release) + u128::from(own.jitter_ns);
        if since(below.done_at_most(before)?) > worst {
            worst = worst.max(since(below.done(before)?));
        }
    }
    u64::try_from(worst).ok()
}

/// When work that others precede is done, from the beginning of a busy period on.
struct Below {
    above: Vec<Interferer>,
    /// Of the servers that wake at any time, such as reservations, the one with the largest budget: for the others, the
    /// worst at each instant counts.
    free: Option<Interferer>,
    supply: Supply,
    steps: usize,
}

impl Below {
    fn of(above: &[Interferer], supply: Supply) -> Below {
        let is_free = |task: &Interferer| {
            task.server_deadline_ns == Some(task.period_ns) && task.jitter_ns >= task.period_ns && task.period_ns > 0
        };
        let place =
            (0..above.len()).filter(|&place| is_free(&above[place])).max_by_key(|&place| above[place].compute_ns);
        let mut above = above.to_vec();
        let free = place.map(|place| above.swap_remove(place));
        Below { above, free, supply, steps: 0 }
    }

    /// The latest time at which this work is done; `None` if the search is given up.
    ///
    /// A server that wakes at any time may begin with a rest of its budget that is due l later, and has a whole one
    /// every period from then on. The larger that rest is, the later the others come. With n of them before the end,
    /// the worst case is the latest l at which the n-th still comes before the work is done.
    fn done(&mut self, work: u128) -> Option<u128> {
        let Some(free) = self.free else { return self.settle(work, None) };
        let (budget, period) = (u128::from(free.compute_ns), u128::from(free.period_ns));
        let rest = |due: u128| (budget * due).div_ceil(period);
        let mut worst = self.settle(work + rest(period), None)?;
        for whole in 1.. {
            let others = (whole - 1) * period;
            let mut due = period;
            loop {
                let done = self.settle(work + rest(due) + (whole - 1) * budget, None)?;
                if done <= others {
                    return Some(worst);
                }
                if done - others >= due {
                    break;
                }
                // If no more of the rest is done than before, the work is done at a time that grows with l by the
                // budget's share.
                let alone = done.saturating_sub(rest(due) + others);
                let next = (alone * period).div_ceil(period.saturating_sub(budget).max(1));
                if next >= due {
                    break;
                }
                due = next;
            }
            worst = worst.max(self.settle(work + rest(due) + whole * budget, None)?);
        }
        Some(worst)
    }

    /// With this work, if for the free one too the worst at each instant counts.
    fn done_at_most(&mut self, work: u128) -> Option<u128> {
        self.settle(work, self.free)
    }

    /// With this work, below all but the free one, and one more.
    fn settle(&mut self, work: u128, other: Option<Interferer>) -> Option<u128> {
        let Below { above, supply, steps, .. } = self;
        let mut window = supply.time_for(work);
        loop {
            let before = above.iter().chain(&other);
            let demand = work + before.map(|task| task.demand(window.max(1))).sum::<u128>();
            let next = supply.time_for(demand);
            if next <= window {
                return Some(window);
            }
            window = next;
            *steps += 1;
            if *steps > STEPS || window > MAX_RESPONSE_NS {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(compute_us: u64, period_us: u64) -> Interferer {
        Interferer {
            compute_ns: compute_us * 1_000,
            period_ns: period_us * 1_000,
            jitter_ns: 0,
            server_deadline_ns: None,
        }
    }

    #[test]
    fn a_modem_above_audio() {
        for (blocking_us, expected_us) in [(0, 5_300), (2_600, 7_900), (6_700, 15_300)] {
            let response =
                response_time(task(2_000, 16_000), &[task(3_300, 11_250)], blocking_us * 1_000, Supply::Processor);
            assert_eq!(response, Some(expected_us * 1_000), "blocked for {blocking_us} us");
        }
    }

    #[test]
    fn activations_that_queue_up() {
        // The textbook set whose second task is worst at its fifth activation (Lehoczky, RTSS 1990): 26/70 and 62/100.
        let response = response_time(task(62, 100), &[task(26, 70)], 0, Supply::Processor);
        assert_eq!(response, Some(118_000));
    }

    #[test]
    fn jitter_brings_activations_together() {
        let jittery = Interferer { jitter_ns: 9_000_000, ..task(3_000, 10_000) };
        // 2 + 3 + 3: the second comes 1 ms after the first.
        assert_eq!(response_time(task(2_000, 20_000), &[jittery], 0, Supply::Processor), Some(8_000_000));
        let own = Interferer { jitter_ns: 1_000_000, ..task(2_000, 20_000) };
        assert_eq!(response_time(own, &[], 0, Supply::Processor), Some(3_000_000));
    }

    #[test]
    fn of_equal_priorities_those_that_come_later_run_later() {
        // 2 of 10 and 5 of 20: the second job of the first comes at 10, after the other, which is done at 7 whatever
        // happens.
        let (short, long) = (task(2, 10), task(5, 20));
        assert_eq!(response_time_among(long, &[], &[short], 0, Supply::Processor), Some(7_000));
        assert_eq!(response_time_among(short, &[], &[long], 0, Supply::Processor), Some(7_000));
        // 6 of 9 and 3 of 10: as an interferer the first would come twice.
        assert_eq!(response_time(task(4, 12), &[task(6, 9)], 0, Supply::Processor), Some(16_000));
        assert_eq!(response_time(task(3, 12), &[task(6, 9)], 0, Supply::Processor), Some(9_000));
        assert_eq!(response_time_among(task(3, 10), &[], &[task(6, 9)], 0, Supply::Processor), Some(9_000));
    }

    #[test]
    fn of_equal_priorities_one_may_come_close_behind_another() {
        // The other's first comes 9 late, at 0, its second at 1, just before the task: 2 are left of the first, 3 of
        // the second, and 2 are its own.
        let late = Interferer { jitter_ns: 9_000, ..task(3, 10) };
        assert_eq!(response_time_among(task(2, 20), &[], &[late], 0, Supply::Processor), Some(7_000));
    }

    #[test]
    fn below_a_server_that_wakes_at_any_time() {
        let server = |compute_us: u64, period_us: u64| Interferer {
            jitter_ns: period_us * 1_000,
            server_deadline_ns: Some(period_us * 1_000),
            ..task(compute_us, period_us)
        };
        // A rest of 0.3 l, and a whole budget at l, just before all is done: l = 4 + 0.3 l, so 4 + 1.714 + 3.
        assert_eq!(response_time(task(4, 20), &[server(3, 10)], 0, Supply::Processor), Some(8_715));
        // Two whole ones, the second at l + 4 = 5 + 0.25 l: 4 + 0.333 + 2. With one only, l may be 4: 6.
        assert_eq!(response_time(task(4, 20), &[server(1, 4)], 0, Supply::Processor), Some(6_334));
    }

    #[test]
    fn no_response_beyond_a_year_is_looked_for() {
        const DAY_US: u64 = 86_400_000_000;
        let (own, peer) = (task(100 * DAY_US, 1_000 * DAY_US), task(150 * DAY_US, 200 * DAY_US));
        assert_eq!(response_time_among(own, &[], &[peer], 0, Supply::Processor), None);
    }

    #[test]
    fn overload_has_no_bound() {
        assert_eq!(response_time(task(6, 10), &[task(5, 10)], 0, Supply::Processor), None);
    }

    /// When work finishes below a server that begins with a rest due at `due`, and below a task.
    fn done_with(due: u64, work: u64, server: Interferer, other: Interferer) -> u64 {
        let Interferer { compute_ns: budget, period_ns: period, .. } = server;
        let mut done = 1u64;
        loop {
            let whole = done.saturating_sub(due).div_ceil(period);
            let next =
                work + budget * due / period + whole * budget + done.div_ceil(other.period_ns) * other.compute_ns;
            if next <= done {
                return done;
            }
            done = next;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_rest_delays_longer_than_the_one_that_is_found(
            (budget, more, work) in (1..8u64, 1..10u64, 1..10u64),
            (compute, period) in (1..4u64, 8..30u64),
        ) {
            let length = (budget + more) * 1_000;
            let server = Interferer { jitter_ns: length, server_deadline_ns: Some(length), ..task(budget, budget + more) };
            let other = task(compute, period);
            let load = budget as f64 / (budget + more) as f64 + compute as f64 / period as f64;
            prop_assume!(load < 0.95);
            let mut below = Below::of(&[server, other], Supply::Processor);
            let found = below.done(u128::from(work * 1_000)).unwrap();
            let worst = (1..=length).step_by(7).map(|due| done_with(due, work * 1_000, server, other)).max().unwrap();
            prop_assert!(u128::from(worst) <= found, "{worst} {found}");
            prop_assert!(found <= below.done_at_most(u128::from(work * 1_000)).unwrap());
        }
    }
}
