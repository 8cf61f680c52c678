//! The patterns of known faults in the times between callbacks.

use crate::drift::trend;
use crate::stream::Stream;

/// A fault that a stream of callbacks shows. Shares are of all times between callbacks, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pattern {
    /// Two clusters, at 0 and at twice the period: the next firing time is rounded so that it is always missed, and then
    /// caught up with (Jones and Regehr, MSR-TR-98-29, tables 1 and 2, section 4.1).
    RoundingFault {
        /// Share near 0.
        at_zero: f64,
        /// Share near twice the period.
        at_double: f64,
    },
    /// Most callbacks come at a slightly wrong interval, and every so often one at 0 or at twice the period makes up for
    /// it: the waits are counted in steps that do not fit the period (MSR-TR-98-29, table 3: 2.4 % at twice the period,
    /// where ticks came 2.4 % faster).
    Beat {
        /// The interval at which most come, ns.
        interval_ns: u64,
        /// Share near 0.
        at_zero: f64,
        /// Share near twice the interval.
        at_double: f64,
    },
    /// The stream runs away from its grid.
    Drift {
        /// Millionths: +100 is 100 us a second late.
        ppm: f64,
    },
    /// Several periods come as one callback.
    Coalescing {
        /// Share of callbacks that stand for more than one period.
        share: f64,
        /// The median time between callbacks, ns.
        interval_ns: u64,
    },
}

impl Pattern {
    /// Its name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Pattern::RoundingFault { .. } => "rounding_fault",
            Pattern::Beat { .. } => "beat",
            Pattern::Drift { .. } => "drift",
            Pattern::Coalescing { .. } => "coalescing",
        }
    }

    /// What to do instead.
    pub fn remedy(&self) -> &'static str {
        match self {
            Pattern::RoundingFault { .. } => {
                "do not round the next firing time: sleep to an absolute time with clock_nanosleep or a timerfd"
            }
            Pattern::Beat { .. } => {
                "wait with a call that takes nanoseconds: a timerfd in the event loop, epoll_pwait2 or ppoll"
            }
            Pattern::Drift { .. } => "wait for absolute times: clock_nanosleep with TIMER_ABSTIME, or a timerfd",
            Pattern::Coalescing { .. } => {
                "ask for a longer period, or for a real-time priority and a timer slack of 1 ns where the way knows one"
            }
        }
    }
}

/// Fewer callbacks than this show no pattern.
const MIN_CALLBACKS: usize = 100;
/// A rounding fault sends at least this share to each of its clusters; the papers' sends half.
const CLUSTER: f64 = 0.3;
/// At least this share is at the main interval of a beat.
const MAIN: f64 = 0.7;
/// At least this many callbacks make up for the interval of a beat.
const MIN_BEATS: usize = 6;
/// How uneven a beat may be: the distances' interquartile range over their median; 1.6 would be chance.
const UNEVEN: f64 = 0.6;
/// How far the main interval of a beat must lie from the period, in its own standard errors.
const CERTAIN: f64 = 5.0;
/// If callbacks are coalesced, at least this share stands for more than one period.
const COALESCED: f64 = 0.1;

/// The patterns that a stream shows; none for a stream that only jitters around its grid.
pub fn patterns(stream: &Stream<'_>) -> Vec<Pattern> {
    if stream.callbacks.len() < MIN_CALLBACKS {
        return Vec::new();
    }
    let period = stream.period_ns.max(1) as f64;
    let intervals: Vec<f64> = stream.intervals().map(|interval| interval as f64 / period).collect();
    let mut found = Vec::new();
    if stream.anchored {
        let shape = rounding_fault(&intervals)
            .or_else(|| coalescing(stream, &intervals))
            .or_else(|| beat(stream.period_ns, &intervals));
        found.extend(shape);
    }
    if let Some(trend) = trend(stream).filter(|trend| trend.is_certain) {
        found.push(Pattern::Drift { ppm: trend.ppm });
    }
    found
}

fn share(intervals: &[f64], within: impl Fn(f64) -> bool) -> f64 {
    intervals.iter().filter(|interval| within(**interval)).count() as f64 / intervals.len() as f64
}

fn is_zero(interval: f64) -> bool {
    interval < 0.25
}

fn is_double(interval: f64) -> bool {
    (1.6..2.4).contains(&interval)
}

fn rounding_fault(intervals: &[f64]) -> Option<Pattern> {
    let (at_zero, at_double) = (share(intervals, is_zero), share(intervals, is_double));
    (at_zero >= CLUSTER && at_double >= CLUSTER).then_some(Pattern::RoundingFault { at_zero, at_double })
}

fn coalescing(stream: &Stream<'_>, intervals: &[f64]) -> Option<Pattern> {
    let told = stream.callbacks.iter().filter(|callback| callback.periods > 1).count() as f64;
    let share = told / stream.callbacks.len() as f64;
    let median = quantile(intervals, 0.5);
    let interval_ns = (median * stream.period_ns as f64).round() as u64;
    (share >= COALESCED).then_some(Pattern::Coalescing { share, interval_ns })
}

fn beat(period_ns: u64, intervals: &[f64]) -> Option<Pattern> {
    let main: Vec<f64> = intervals.iter().copied().filter(|interval| (0.6..1.45).contains(interval)).collect();
    if (main.len() as f64) < MAIN * intervals.len() as f64 {
        return None;
    }
    let middle = quantile(&main, 0.5);
    let error = (quantile(&main, 0.75) - quantile(&main, 0.25)) / (main.len() as f64).sqrt();
    if (middle - 1.0).abs() < (CERTAIN * error).max(0.003) {
        return None;
    }
    // Ticks that come too fast make up with a double interval, ticks that come too slowly with none.
    let makes_up: fn(f64) -> bool = if middle < 1.0 { is_double } else { is_zero };
    let at: Vec<usize> = (0..intervals.len()).filter(|&index| makes_up(intervals[index])).collect();
    if at.len() < MIN_BEATS {
        return None;
    }
    let wanted = (middle - 1.0).abs() / middle;
    // Quartiles: a few bursts after stalls do not hide a beat.
    let distances: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let usual = quantile(&distances, 0.5);
    let spread = (quantile(&distances, 0.75) - quantile(&distances, 0.25)) / usual;
    let fits = (0.5..2.0).contains(&(usual * wanted)) && spread < UNEVEN;
    fits.then(|| Pattern::Beat {
        interval_ns: (middle * period_ns as f64).round() as u64,
        at_zero: share(intervals, is_zero),
        at_double: share(intervals, is_double),
    })
}

fn quantile(values: &[f64], quantile: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values.get(((values.len().max(1) - 1) as f64 * quantile) as usize).copied().unwrap_or(0.0)
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
