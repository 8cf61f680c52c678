//! The pseudo worst case: a measured latency in a form for analyses of deterministic systems.

use crate::interval::Estimate;
use crate::level::{Level, Method, Tail};
use crate::{Error, Input};
use punctual_recording::Stage;

/// A measured latency at a task's permitted error rate.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyFigure {
    /// The permitted error rate: once in this many seconds of use.
    pub permitted_s: u64,
    /// Hours of use for an hour of the load, if the recording gives that number; otherwise one is assumed.
    pub compression: Option<f64>,
    /// The latency that separate waits exceed that often on the worst CPU, ns, with its interval.
    pub at_rate: Estimate,
    /// The latency charged as plain blocking, ns: the estimate above, or, if there is none, the longest seen, which may
    /// be too short.
    pub charged_ns: u64,
    /// Whether it is only the longest seen, because the recording is too short for the permitted rate or its tail may
    /// not be modelled.
    pub is_longest_seen: bool,
    /// Why it is only the longest seen, where that is known.
    pub veto: Option<String>,
    /// How much longer to measure, at least, until it may be an estimate, s of this load; `None` if it is one, or if
    /// measuring may not help.
    pub measure_further_s: Option<f64>,
    /// The mean latency of all activations, ns.
    pub mean_ns: u64,
    /// Activations between two such events.
    pub activations: f64,
    /// The pseudo worst case, ns.
    pub pseudo_ns: u64,
}

/// The pseudo worst case, ns: between two such events, one latency L stands beside the average latencies A of the other
/// activations, N in all, and is spread over them: (L + (N-1)·A) / N = A + (L - A)/N.
///
/// Cota-Robles and Held (OSDI 1999, section 5.2) describe the amortization and give no formula; this is the simplest
/// one that does what they describe. It answers whether the set keeps up *on average* although latencies happen. It is
/// optimistic for the activation that meets L itself, which needs buffering for L: compare plain blocking.
pub fn pseudo_worst_case(latency_ns: u64, mean_ns: u64, activations: f64) -> u64 {
    let activations = activations.max(1.0);
    let excess = latency_ns.saturating_sub(mean_ns) as f64;
    mean_ns + (excess / activations).ceil() as u64
}

/// The latency of a stage, as recorded, at a task's permitted error rate, on the CPU where it is worst. `tails`: those
/// of each CPU.
///
/// # Errors
/// [`Error::Recording`] if the stage was not measured.
pub(super) fn latency_figure(
    input: &Input,
    tails: &[Tail],
    stage: Stage,
    permitted_s: u64,
    period_ns: u64,
) -> Result<LatencyFigure, Error> {
    let missing = || Error::Recording(format!("it has no stage `{}`", stage.name()));
    let lateness = input.stages.get(&stage).ok_or_else(missing)?;
    let mean_ns = lateness.distribution.mean().ok_or_else(missing)?;
    // The permitted rate counts hours of use; the recording's time is that of its load.
    let horizon_ns = permitted_s as f64 * 1e9 / input.compression();
    let longest = lateness.distribution.max().unwrap_or(mean_ns);
    let charge = |level: Level| {
        let modelled = level.level.value.filter(|_| level.method != Method::Bound);
        (modelled.map_or(longest, |value| value.ceil() as u64), modelled.is_none(), level)
    };
    let charges = tails.iter().map(|tail| charge(tail.level(horizon_ns)));
    let (charged_ns, is_longest_seen, level) = charges.max_by_key(|charge| (charge.0, charge.1)).ok_or_else(missing)?;
    let further = level.further.filter(|_| is_longest_seen);
    let activations = permitted_s as f64 * 1e9 / period_ns.max(1) as f64;
    Ok(LatencyFigure {
        permitted_s,
        compression: input.compression_thousandths.map(|_| input.compression()),
        at_rate: level.level,
        charged_ns,
        is_longest_seen,
        veto: level.veto.filter(|_| is_longest_seen),
        measure_further_s: further.map(|further| further * input.exposure_of(stage) / 1e9),
        mean_ns,
        activations,
        pseudo_ns: pseudo_worst_case(charged_ns, mean_ns, activations),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_long_latency_among_ten() {
        // 20 ms once and 1 ms nine times is 29 ms for ten activations.
        assert_eq!(pseudo_worst_case(20_000_000, 1_000_000, 10.0), 2_900_000);
        assert_eq!(pseudo_worst_case(20_000_000, 1_000_000, 1.0), 20_000_000);
    }

    /// Twice an hour a storm of ten waits, 8 ms apart: judged by its stalls, in which that many come together, the
    /// machine looks far better than it does to a task that wakes every millisecond.
    #[test]
    fn a_storm_makes_many_activations_late() {
        const MS: u64 = 1_000_000;
        let (mut random, mut late) = (crate::testing::Random(4), Vec::new());
        for storm in 0..800u64 {
            let begin = storm * 1_800_000 * MS + (random.uniform() * 600e9) as u64;
            late.extend((0..10).map(|wait| (begin + wait * 8 * MS, 100_000 + (random.exponential() * 2e6) as u64)));
        }
        let input = crate::testing::input(MS, &late, 400 * 3_600_000, Some(0));
        let stalls = input.tail(Stage::Total).unwrap().level(1_800e9).level.value.unwrap();
        let tails = input.tails_of_waits(Stage::Total);
        let figure = latency_figure(&input, &tails, Stage::Total, 1_800, MS).unwrap();
        let beyond = late.iter().filter(|wait| wait.1 > figure.charged_ns).count();
        let by_stalls = late.iter().filter(|wait| wait.1 as f64 > stalls).count();
        // Some waits overlap; one of those counts.
        assert!(beyond <= 840 && by_stalls > 2_000, "{beyond} and {by_stalls} of {} waits: {figure:?}", late.len());
    }

    proptest! {
        #[test]
        fn between_the_mean_and_the_latency(latency in 0..1u64 << 40, mean in 0..1u64 << 40, activations in 0.0..1e9f64) {
            let pseudo = pseudo_worst_case(latency, mean, activations);
            prop_assert!(pseudo >= mean && pseudo <= latency.max(mean) + 1);
        }
    }
}
