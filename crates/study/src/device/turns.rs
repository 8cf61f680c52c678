//! Several rounds of two things in turn: how many, in which order, and how much the machine changes between them.

use punctual_comparison::student_quantile;

/// How long a round should be, ns.
const ROUND_NS: u64 = 15_000_000_000;
/// Fewer say next to nothing about how much they differ: Student's t with one degree of freedom is 12.7.
const MIN_ROUNDS: u64 = 3;
/// The most rounds: each starts the load anew.
const MAX_ROUNDS: u64 = 6;
/// The spread between rounds is taken at the level that this many late wakeups per round exceed,
/// if the device's own level is seldom reached: a small count shows nothing but chance.
const LATE_IN_A_ROUND: usize = 20;
/// What the range between rounds does not cover.
const UNCOVERED: f64 = 0.05;

/// One recording of several in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Without a device.
    Without {
        /// From 1 on.
        round: u32,
    },
    /// With the device at this place.
    With {
        /// From 1 on.
        round: u32,
        /// Its place in the plan.
        device: usize,
    },
}

/// How many rounds a verification of this length has.
pub(super) fn rounds_of(duration_ns: u64) -> u32 {
    let rounds = (duration_ns / ROUND_NS).min(MAX_ROUNDS);
    if rounds < MIN_ROUNDS { 1 } else { rounds as u32 }
}

/// Every second round goes backwards: steady changes affect both sides alike.
pub(super) fn order_of(rounds: u32, devices: usize) -> Vec<Turn> {
    let one = |round: u32| {
        let mut turns = vec![Turn::Without { round }];
        turns.extend((0..devices).map(|device| Turn::With { round, device }));
        if round.is_multiple_of(2) {
            turns.reverse();
        }
        turns
    };
    (1..=rounds).flat_map(one).collect()
}

/// By which factor the mean rate of as many further rounds may differ from that of these, with 95 %: `rounds` are the
/// latenesses of each, ns, and how long it was, s. Student's t of the logarithms of their rates, less what chance alone
/// makes of counts; `None` for fewer than three rounds.
pub(super) fn range_between(rounds: &[(Vec<u64>, f64)], slack_ns: u64) -> Option<f64> {
    if (rounds.len() as u64) < MIN_ROUNDS {
        return None;
    }
    let mut all: Vec<u64> = rounds.iter().flat_map(|(late, _)| late).copied().collect();
    all.sort_unstable_by(|left, right| right.cmp(left));
    let level = all.get(rounds.len() * LATE_IN_A_ROUND).copied().unwrap_or(0).min(slack_ns);
    let above = |late: &[u64]| late.iter().filter(|&&value| value >= level).count() as f64 + 0.5;
    let counts: Vec<f64> = rounds.iter().map(|(late, _)| above(late)).collect();
    let logarithms: Vec<f64> =
        counts.iter().zip(rounds).map(|(count, (_, seconds))| (count / seconds.max(1e-9)).ln()).collect();
    let number = logarithms.len() as f64;
    let mean = logarithms.iter().sum::<f64>() / number;
    let variance = logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (number - 1.0);
    let chance = counts.iter().map(|count| 1.0 / count).sum::<f64>() / number;
    // Both means vary by it, that of these rounds and that of the others.
    let error = (2.0 * (variance - chance).max(0.0) / number).sqrt();
    Some((student_quantile(number - 1.0, UNCOVERED) * error).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_has_its_turn_in_each_round_and_every_second_round_goes_backwards() {
        let order = order_of(2, 2);
        let with = |round, device| Turn::With { round, device };
        let expected =
            [Turn::Without { round: 1 }, with(1, 0), with(1, 1), with(2, 1), with(2, 0), Turn::Without { round: 2 }];
        assert_eq!(order, expected);
        assert_eq!([5, 44, 45, 60, 600].map(|seconds| rounds_of(seconds * 1_000_000_000)), [1, 1, 3, 4, 6]);
    }

    #[test]
    fn rounds_that_differ_by_chance_alone_widen_nothing_and_others_do() {
        let round = |late: usize| (vec![2_000_000; late], 10.0);
        assert_eq!(range_between(&[round(50), round(10)], 1_000_000), None);
        let alike = range_between(&[round(48), round(55), round(50)], 1_000_000).unwrap();
        assert_eq!(alike, 1.0);
        let wandering = range_between(&[round(20), round(80), round(40)], 1_000_000).unwrap();
        assert!(wandering > 3.0, "{wandering}");
        let more_rounds = [20, 80, 40, 20, 80, 40].map(round);
        assert!(range_between(&more_rounds, 1_000_000).unwrap() < wandering / 2.0);
    }

    #[test]
    fn a_device_that_is_seldom_late_goes_by_how_often_others_are() {
        let round = |late: usize| ([vec![200_000; late], vec![9_000_000]].concat(), 10.0);
        let range = range_between(&[round(400), round(1_600), round(400)], 8_000_000).unwrap();
        assert!(range > 5.0, "{range}");
    }
}
