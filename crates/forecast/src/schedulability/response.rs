//! Response times under fixed priorities, on a whole processor or within a reservation.

use super::supply::Supply;

/// Work that may run before the task in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interferer {
    /// Its longest computing time, ns.
    pub compute_ns: u64,
    /// Its period, or least time between activations, ns.
    pub period_ns: u64,
    /// By how much an activation may be released late, so that the next follows closer than a period, ns.
    pub jitter_ns: u64,
    /// Whether a constant-bandwidth server serves it (`SCHED_DEADLINE`): then it gets no more than its budget in a period from
    /// when it wakes, except for what is left of the last, which is no more than its share of the time until that period ends.
    pub is_server: bool,
}

impl Interferer {
    fn demand(&self, window: u128) -> u128 {
        let (period, compute) = (u128::from(self.period_ns.max(1)), u128::from(self.compute_ns));
        let released = (window + u128::from(self.jitter_ns)).div_ceil(period) * compute;
        if !self.is_server || window == 0 {
            return released;
        }
        let whole = window.div_ceil(period);
        let begun = window - (whole - 1) * period;
        released.min(whole * compute + (begun * compute).div_ceil(period))
    }
}

/// Steps after which an answer is given up: such a set is as good as overloaded.
const STEPS: usize = 200_000;
/// Activations of one busy period that are looked at.
const ACTIVATIONS: u128 = 20_000;
/// No response time beyond this is looked for, ns: a year.
const MAX_RESPONSE_NS: u128 = 31_536_000_000_000_000;

/// The longest response time, ns, of a task with this computing time, period and jitter below these interferers,
/// once blocked for `blocking_ns` by work that it cannot preempt; measured from the nominal release.
/// Activations may queue up behind each other, as they do where the deadline is beyond the period.
/// `None` where there is no bound: the processor, or the reservation, is overloaded or as good as.
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
    let mut steps = 0;
    for activation in 0..ACTIVATIONS {
        let demand_alone = u128::from(blocking_ns) + (activation + 1) * u128::from(own.compute_ns);
        let mut window = supply.time_for(demand_alone);
        loop {
            let demand = demand_alone + interferers.iter().map(|other| other.demand(window)).sum::<u128>();
            let next = supply.time_for(demand);
            if next <= window {
                break;
            }
            window = next;
            steps += 1;
            if steps > STEPS || window > MAX_RESPONSE_NS {
                return None;
            }
        }
        let released = activation * u128::from(own.period_ns);
        worst = worst.max(window.saturating_sub(released) + u128::from(own.jitter_ns));
        // The busy period ends where an activation is done before the next one can be released.
        if window + u128::from(own.jitter_ns) <= released + u128::from(own.period_ns) {
            return u64::try_from(worst).ok();
        }
    }
    None
}

/// The same where `peers` have the priority of the task itself and are served in the order of their coming, as `SCHED_FIFO` does: those
/// that come later never run before it. Looked at are the releases at which another of them may just have come (Martin, Minet and
/// George, Real-Time Systems 2005, for FP/FIFO).
pub fn response_time_among(
    own: Interferer,
    above: &[Interferer],
    peers: &[Interferer],
    blocking_ns: u64,
    supply: Supply,
) -> Option<u64> {
    let all: Vec<Interferer> = above.iter().chain(peers).copied().collect();
    // As if every peer came first: safe, and needed where the search below is given up.
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
    let mut steps = 0;
    let mut settle = |demand: &dyn Fn(u128) -> u128| -> Option<u128> {
        let mut window = supply.time_for(demand(0));
        loop {
            let next = supply.time_for(demand(window));
            if next <= window {
                return Some(window);
            }
            window = next;
            steps += 1;
            if steps > STEPS || window > MAX_RESPONSE_NS {
                return None;
            }
        }
    };
    let blocking = u128::from(blocking_ns);
    // A supply may begin to run dry in the middle: everything of a busy period and one more of each.
    let busy = settle(&|window| blocking + everything().map(|task| task.demand(window.max(1))).sum::<u128>())?;
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
        let done = settle(&|window| before + above.iter().map(|task| task.demand(window.max(1))).sum::<u128>())?;
        worst = worst.max(done.saturating_sub(release) + u128::from(own.jitter_ns));
    }
    u64::try_from(worst).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(compute_us: u64, period_us: u64) -> Interferer {
        Interferer { compute_ns: compute_us * 1_000, period_ns: period_us * 1_000, jitter_ns: 0, is_server: false }
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
        // 2 of 10 and 5 of 20: the second of the first comes at 10, after the other, which is done at 7 whatever happens.
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
        // The other's first comes 9 late, at 0, its second at 1, just before the task: 2 are left of the first, 3 of the second, 2 its own.
        let late = Interferer { jitter_ns: 9_000, ..task(3, 10) };
        assert_eq!(response_time_among(task(2, 20), &[], &[late], 0, Supply::Processor), Some(7_000));
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
}
