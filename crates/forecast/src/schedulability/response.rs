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
}

impl Interferer {
    fn demand(&self, window: u128) -> u128 {
        (window + u128::from(self.jitter_ns)).div_ceil(u128::from(self.period_ns.max(1))) * u128::from(self.compute_ns)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn task(compute_us: u64, period_us: u64) -> Interferer {
        Interferer { compute_ns: compute_us * 1_000, period_ns: period_us * 1_000, jitter_ns: 0 }
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
    fn overload_has_no_bound() {
        assert_eq!(response_time(task(6, 10), &[task(5, 10)], 0, Supply::Processor), None);
    }
}
