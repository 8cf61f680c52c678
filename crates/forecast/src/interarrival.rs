//! Do late events come periodically, in clusters or at random?
//!
//! Endo, Wang, Chen and Seltzer (*Using latency to evaluate interactive system performance*, Table 2) give the number
//! of events above a threshold and the mean and standard deviation of the times between them, and conclude from a
//! deviation as large as the mean that there is no strong periodicity. The idea is right, but it shows little. Here two
//! tests follow, each with a probability, and the answer is *at random* unless one of them speaks.
//!
//! * **Clusters**: for independent events the gaps between them, divided by the whole, are uniform spacings; the sum of
//!   their squares (Greenwood 1946) is large where events come in clusters. Its distribution is drawn at random for
//!   each number of events.
//! * **Period**: at the frequency f, independent events point in all directions of the circle of their phases, so that
//!   the power `|sum of exp(2 pi i f t)|^2 / n` exceeds z with probability exp(-z) (Rayleigh). The largest over many
//!   frequencies is judged by Bonferroni. The events of a cluster point the same way and would pass for a period, so
//!   each cluster counts once here.

use crate::stall::{GAP_NS, Stalls};
use punctual_random::Random;

/// Fewer events than this say nothing about how they come.
pub const MIN_EVENTS: usize = 8;
/// A test speaks below this probability. With two tests, at most one in fifty sets of independent events is called
/// otherwise.
pub const UNLIKELY: f64 = 0.01;
/// The search for clusters takes no more events: these are enough, and the work stays bounded.
const MAX_EVENTS: usize = 4_000;
/// The search for a period takes no more events.
const MAX_PHASES: usize = 1_000;
/// Draws of Greenwood's statistic.
const DRAWS: usize = 2_000;

/// How events come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrival {
    /// Too few to say.
    TooFew,
    /// At equal distances, more or less.
    Periodic {
        /// The distance, ns.
        period_ns: f64,
        /// How sharp it is: 1 if each event comes exactly on time, 0 if phases are uniform.
        sharpness: f64,
    },
    /// Several together, then none for a long time.
    Clustered,
    /// Independently of each other, as far as can be told.
    Random,
}

impl Arrival {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Arrival::TooFew => "too few",
            Arrival::Periodic { .. } => "periodic",
            Arrival::Clustered => "clustered",
            Arrival::Random => "random",
        }
    }
}

/// Events above a threshold, and the times between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Interarrival {
    /// The threshold, ns.
    pub threshold_ns: u64,
    /// How many events there were.
    pub events: u64,
    /// The mean time from one to the next, ns; `None` where there are fewer than two.
    pub mean_ns: Option<f64>,
    /// The standard deviation of these times, ns; `None` where there are fewer than three events.
    pub deviation_ns: Option<f64>,
    /// How they come.
    pub arrival: Arrival,
    /// The test that decided, or the one that came nearest to it.
    pub test: &'static str,
    /// The probability of its result if the events were independent, corrected for the number of looks.
    pub p: Option<f64>,
}

/// The events of stalls: each cause once, because neighbours over a threshold within one stall are one event.
pub fn events_of(stalls: &Stalls) -> Vec<u64> {
    stalls.peaks().into_iter().map(|(_, start_ns)| start_ns).collect()
}

/// Summarizes events at these times, ns, in any order.
pub fn interarrival(threshold_ns: u64, times_ns: &[u64]) -> Interarrival {
    let mut times: Vec<u64> = times_ns.to_vec();
    times.sort_unstable();
    let spaces: Vec<f64> = times.windows(2).map(|two| (two[1] - two[0]) as f64).collect();
    let (mean_ns, deviation_ns) = mean_and_deviation(&spaces);
    let (arrival, test, p) = judge(&times);
    Interarrival { threshold_ns, events: times.len() as u64, mean_ns, deviation_ns, arrival, test, p }
}

/// The mean of values, if there are any, and their standard deviation, if there are several.
pub fn mean_and_deviation(values: &[f64]) -> (Option<f64>, Option<f64>) {
    let count = values.len() as f64;
    let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / count);
    let deviation = mean
        .filter(|_| values.len() > 1)
        .map(|mean| (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt());
    (mean, deviation)
}

const GREENWOOD: &str = "Greenwood's spacings";
const RAYLEIGH: &str = "Rayleigh periodogram";

fn judge(times: &[u64]) -> (Arrival, &'static str, Option<f64>) {
    let times = &times[..times.len().min(MAX_EVENTS)];
    if times.len() < MIN_EVENTS || times[0] == times[times.len() - 1] {
        return (Arrival::TooFew, "none", None);
    }
    let clusters = greenwood(times);
    let heads = if clusters < UNLIKELY { heads(times) } else { times.to_vec() };
    let heads = &heads[..heads.len().min(MAX_PHASES)];
    let found = if heads.len() < MIN_EVENTS { None } else { Some(periodogram(heads)) };
    // A period comes first: a job that runs every second for half of the time is both, and its period says more.
    if let Some((period_ns, power, p)) = found.filter(|found| found.2 < UNLIKELY) {
        return (Arrival::Periodic { period_ns, sharpness: (power / heads.len() as f64).sqrt() }, RAYLEIGH, Some(p));
    }
    if clusters < UNLIKELY {
        return (Arrival::Clustered, GREENWOOD, Some(clusters));
    }
    match found.filter(|found| found.2 < clusters) {
        Some((_, _, p)) => (Arrival::Random, RAYLEIGH, Some(p)),
        None => (Arrival::Random, GREENWOOD, Some(clusters)),
    }
}

/// The first event of each cluster: leaves out those closer to the previous one than a quarter of the mean distance.
fn heads(times: &[u64]) -> Vec<u64> {
    let near = (times[times.len() - 1] - times[0]) / (4 * times.len() as u64);
    let mut heads = times.to_vec();
    let mut last = None;
    heads.retain(|&time| {
        let is_new = last.is_none_or(|last: u64| time - last > near);
        last = Some(time);
        is_new
    });
    heads
}

/// The probability that the gaps of independent events vary as much.
fn greenwood(times: &[u64]) -> f64 {
    let span = (times[times.len() - 1] - times[0]) as f64;
    let statistic = |spaces: &mut dyn Iterator<Item = f64>| spaces.map(|space| space * space).sum::<f64>();
    let seen = statistic(&mut times.windows(2).map(|two| (two[1] - two[0]) as f64 / span));
    let count = times.len() - 1;
    // Fewer events get more draws: drawing is cheap there.
    let draws = (DRAWS * 40 / count).clamp(400, DRAWS);
    let mut random = Random(count as u64);
    let mut larger = 0usize;
    let mut spaces = vec![0.0; count];
    for _ in 0..draws {
        let mut sum = 0.0;
        for space in &mut spaces {
            *space = -random.uniform().ln();
            sum += *space;
        }
        larger += usize::from(statistic(&mut spaces.iter().map(|space| space / sum)) >= seen);
    }
    (larger + 1) as f64 / (draws + 1) as f64
}

/// The period with the most power, that power, and the probability of as much if events were independent.
fn periodogram(times: &[u64]) -> (f64, f64, f64) {
    let first = times[0];
    let since: Vec<f64> = times.iter().map(|time| (time - first) as f64).collect();
    let span = since[since.len() - 1];
    let count = since.len() as f64;
    // From four turns in the whole (a slower one looks like a cluster) to a quarter of the mean distance: a job that
    // comes on time is often missed. The steps are fine enough not to miss a peak.
    let step = 0.25 / span;
    let steps = (4.0 * (4.0 * count - 4.0)).max(1.0) as usize;
    let mut best = (0.0f64, 4.0 / span);
    for index in 0..=steps {
        let frequency = 4.0 / span + index as f64 * step;
        let power = power(&since, frequency);
        if power > best.0 {
            best = (power, frequency);
        }
    }
    // A harmonic has as much power as the period itself: the slowest that has nearly as much is the period.
    for divisor in (2..=8).rev() {
        let slower = best.1 / f64::from(divisor);
        if slower * span < 4.0 {
            continue;
        }
        let refined = (-8..=8).map(|offset| slower + f64::from(offset) * 0.05 / span);
        let there = refined.map(|frequency| (power(&since, frequency), frequency));
        if let Some(found) = there.max_by(|left, right| left.0.total_cmp(&right.0))
            && found.0 > 0.8 * best.0
        {
            best = found;
            break;
        }
    }
    // Neighbouring frequencies are not independent looks; four to the width of a peak count as half of that.
    let looks = (steps as f64 / 2.0).max(1.0);
    (1.0 / best.1, best.0, (looks * (-best.0).exp()).min(1.0))
}

fn power(since: &[f64], frequency: f64) -> f64 {
    let (mut sine, mut cosine) = (0.0, 0.0);
    for time in since {
        let (s, c) = (std::f64::consts::TAU * (frequency * time).fract()).sin_cos();
        sine += s;
        cosine += c;
    }
    (sine * sine + cosine * cosine) / since.len() as f64
}

/// Events closer together than this are one: the distance within which late wakeups are one stall.
pub const ONE_EVENT_NS: u64 = GAP_NS;

/// Joins events closer than [`ONE_EVENT_NS`] to the previous one, as stalls are joined. For gaps and other events
/// without stalls.
pub fn joined(times_ns: &[u64]) -> Vec<u64> {
    let mut times = times_ns.to_vec();
    times.sort_unstable();
    let mut last = None;
    times.retain(|&time| {
        let is_new = last.is_none_or(|last: u64| time - last > ONE_EVENT_NS);
        last = Some(time);
        is_new
    });
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: f64 = 1e9;

    fn times(mut next: impl FnMut(&mut Random) -> f64, count: usize, seed: u64) -> Vec<u64> {
        let mut random = Random(seed);
        let mut now = 1e9;
        let points = (0..count).map(|_| {
            now += next(&mut random);
            // Wakeups lie on a grid of 1 ms.
            (now / 1e6).round() as u64 * 1_000_000
        });
        points.collect()
    }

    fn share(make: impl Fn(u64) -> Vec<u64>, right: impl Fn(Arrival) -> bool) -> f64 {
        let runs = 100;
        let hits = (0..runs).filter(|&seed| right(interarrival(0, &make(seed)).arrival)).count();
        hits as f64 / f64::from(runs as u32)
    }

    #[test]
    fn independent_events_are_called_random() {
        for count in [10, 40, 200] {
            let right = share(
                |seed| joined(&times(|random| -random.uniform().ln() * 0.5 * SECOND, count, seed)),
                |arrival| arrival == Arrival::Random,
            );
            assert!(right >= 0.95, "{count}: {right}");
        }
    }

    #[test]
    fn periods_with_jitter_and_misses_are_found() {
        for (count, jitter, kept) in [(20, 0.05, 1.0), (60, 0.1, 1.0), (100, 0.05, 0.7), (200, 0.15, 0.5)] {
            let make = |seed| {
                let mut random = Random(seed ^ 0xabcd);
                let grid = (0..count).filter_map(move |index| {
                    let at = (f64::from(index) + jitter * (random.uniform() + random.uniform() - 1.0)) * 0.73 * SECOND;
                    (random.uniform() < kept).then_some((at + SECOND) as u64)
                });
                grid.collect::<Vec<_>>()
            };
            let right = share(make, |arrival| match arrival {
                Arrival::Periodic { period_ns, .. } => (period_ns / (0.73 * SECOND) - 1.0).abs() < 0.02,
                _ => false,
            });
            assert!(right >= 0.95, "{count} {jitter} {kept}: {right}");
        }
    }

    #[test]
    fn clusters_are_found() {
        for (count, inside) in [(60, 5.0), (200, 4.0), (400, 8.0)] {
            let right = share(
                |seed| {
                    let cluster = |random: &mut Random| {
                        let ends = random.uniform() < 1.0 / inside;
                        -random.uniform().ln() * if ends { 10.0 * SECOND } else { 0.05 * SECOND }
                    };
                    joined(&times(cluster, count, seed))
                },
                |arrival| arrival == Arrival::Clustered,
            );
            assert!(right >= 0.95, "{count} {inside}: {right}");
        }
    }

    #[test]
    fn few_events_say_nothing_and_the_table_of_the_paper_is_what_it_is() {
        let few = interarrival(5, &[1, 2, 3]);
        assert_eq!((few.events, few.arrival, few.p), (3, Arrival::TooFew, None));
        assert_eq!((few.mean_ns, few.deviation_ns), (Some(1.0), Some(0.0)));
        let none = interarrival(5, &[]);
        assert_eq!((none.events, none.mean_ns, none.deviation_ns), (0, None, None));
        assert_eq!(interarrival(5, &[7; 20]).arrival, Arrival::TooFew);
    }

    #[test]
    fn neighbours_in_one_stall_are_one_event() {
        let at = |milliseconds: u64| milliseconds * 1_000_000;
        assert_eq!(joined(&[at(100), at(101), at(109), at(500), at(505)]), [at(100), at(500)]);
    }
}
