//! Latencies of inputs, summed up by kind and task, and what limits say about them.

use punctual_forecast::interarrival::mean_and_deviation;
use punctual_recording::{Distribution, Interaction, Limit, LimitSpec, waits_ns};
use std::collections::{BTreeMap, BTreeSet};

/// Waiting up to this long goes unnoticed, ns, unless the user says otherwise: the paper's threshold (III.a, after
/// Shneiderman).
pub const USUAL_PATIENCE_NS: u64 = 100_000_000;
/// How many causes, and tasks, have names; later ones count together.
pub(super) const MAX_CAUSES: usize = 4_096;
/// All kinds of input together.
pub(super) const ALL: &str = "all";

/// How long a kind of input may take before somebody notices, ns.
#[derive(Debug, Clone, Default)]
pub struct Patience(BTreeMap<String, u64>);

impl Patience {
    /// For some kinds; the others have [`USUAL_PATIENCE_NS`].
    pub fn new(by_kind: impl IntoIterator<Item = (String, u64)>) -> Patience {
        Patience(by_kind.into_iter().collect())
    }

    /// The patience for a kind.
    pub fn of(&self, kind: &str) -> u64 {
        self.0.get(kind).or_else(|| self.0.get(ALL)).copied().unwrap_or(USUAL_PATIENCE_NS)
    }
}

/// A limit on the latency of a kind of input; `all` is every one.
#[derive(Debug, Clone)]
pub struct KindLimit {
    /// The kind.
    pub kind: String,
    /// The limit.
    pub limit: LimitSpec,
}

/// Latencies of a kind of input.
pub(super) struct KindSum {
    pub(super) kind: String,
    pub(super) inputs: u64,
    pub(super) latencies: Distribution,
    /// The first of each key, and the later ones.
    pub(super) cold: Distribution,
    pub(super) warm: Distribution,
    /// The standard deviation of the later ones, ns.
    pub(super) warm_deviation_ns: Option<u64>,
    pub(super) patience_ns: u64,
    /// The sum of the time over the patience, ns, and of its squares, ms squared.
    pub(super) over_ns: u64,
    pub(super) over_squared_ms: f64,
}

/// The sum of each latency's excess over a threshold, to the first power, ns, and to the second, ms squared.
pub(super) fn over(latencies: impl Iterator<Item = u64>, threshold_ns: u64) -> (u64, f64) {
    latencies
        .map(|latency| latency.saturating_sub(threshold_ns))
        .fold((0, 0.0), |sum: (u64, f64), over| (sum.0.saturating_add(over), sum.1 + (over as f64 / 1e6).powi(2)))
}

pub(super) fn kinds(inputs: &[Interaction], patience: &Patience) -> Vec<KindSum> {
    let names: BTreeSet<&str> = inputs.iter().map(|input| input.kind.as_str()).collect();
    let of = |name: &str| {
        let own = || inputs.iter().filter(|input| input.kind == name);
        let distribution = |wanted: &dyn Fn(&Interaction) -> bool| {
            let mut distribution = Distribution::new();
            own().filter(|one| wanted(one)).filter_map(Interaction::latency_ns).for_each(|ns| distribution.record(ns));
            distribution
        };
        let warm = own().filter(|input| input.repeat > 1).filter_map(Interaction::latency_ns);
        let (_, deviation_ns) = mean_and_deviation(&warm.map(|ns| ns as f64).collect::<Vec<_>>());
        let patience_ns = patience.of(name);
        let (over_ns, over_squared_ms) = over(own().filter_map(Interaction::latency_ns), patience_ns);
        KindSum {
            kind: name.to_owned(),
            inputs: own().count() as u64,
            latencies: distribution(&|_| true),
            cold: distribution(&|input| input.repeat == 1),
            warm: distribution(&|input| input.repeat > 1),
            warm_deviation_ns: deviation_ns.map(|ns| ns.round() as u64),
            patience_ns,
            over_ns,
            over_squared_ms,
        }
    };
    let mut kinds: Vec<KindSum> = names.into_iter().map(of).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.inputs));
    kinds
}

pub(super) fn tasks(inputs: &[Interaction]) -> Vec<(String, Distribution)> {
    let mut tasks: Vec<(String, Distribution)> = Vec::new();
    for input in inputs.iter().filter(|input| !input.task.is_empty()) {
        let Some(latency) = input.latency_ns() else { continue };
        let found = tasks.iter().position(|(name, _)| *name == input.task);
        let at = found.unwrap_or(tasks.len());
        if found.is_none() && at < MAX_CAUSES {
            tasks.push((input.task.clone(), Distribution::new()));
        }
        if let Some((_, distribution)) = tasks.get_mut(at) {
            distribution.record(latency);
        }
    }
    tasks
}

/// Whether a limit on a kind of input judges this one.
pub(super) fn is_of_kind(kind: &str, input: &Interaction) -> bool {
    match kind {
        ALL => input.is_measured(),
        kind => input.kind == kind,
    }
}

/// What a limit on a kind of input judges: also those that were taken together with a later one, because a program that
/// stalls would keep it otherwise.
pub(crate) fn judged(kind: &str, inputs: &[Interaction]) -> Distribution {
    let mut distribution = Distribution::new();
    let waits = inputs.iter().zip(waits_ns(inputs)).filter(|(input, _)| is_of_kind(kind, input));
    waits.filter_map(|(_, ns)| ns).for_each(|ns| distribution.record(ns));
    distribution
}

pub(super) fn judge(limit: &KindLimit, inputs: &[Interaction]) -> (String, Limit) {
    let distribution = judged(&limit.kind, inputs);
    (limit.kind.clone(), limit.limit.judge(|_| distribution.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responsiveness_is_what_is_over_the_threshold() {
        let latencies = [50_000_000, 100_000_000, 101_000_000, 250_000_000];
        let (one, two) = over(latencies.into_iter(), 100_000_000);
        assert_eq!(one, 151_000_000);
        assert!((two - (1.0 + 150.0 * 150.0)).abs() < 1e-9, "{two}");
        assert_eq!(over([].into_iter(), 0), (0, 0.0));
        let patience = Patience::new([("page".to_owned(), 1), ("all".to_owned(), 2)]);
        assert_eq!((patience.of("page"), patience.of("key"), Patience::default().of("key")), (1, 2, USUAL_PATIENCE_NS));
    }

    /// As the paper gives single inputs: by the mean of warm trials and its deviation.
    #[test]
    fn the_first_of_a_key_is_in_no_mean_of_later_ones() {
        let input = |repeat: u32, latency_ns: u64| Interaction {
            kind: "page".into(),
            repeat,
            seen_ns: Some(latency_ns),
            ..Interaction::default()
        };
        let told = |inputs: &[Interaction]| {
            let kind = kinds(inputs, &Patience::default()).remove(0);
            (kind.cold.count(), kind.warm.mean(), kind.warm_deviation_ns)
        };
        assert_eq!(told(&[input(1, 9_000), input(2, 10), input(3, 20), input(4, 30)]), (1, Some(20), Some(10)));
        assert_eq!(told(&[input(1, 9_000), input(2, 10)]), (1, Some(10), None));
        assert_eq!(told(&[input(1, 9_000)]), (1, None, None));
    }
}
