//! How much more often one side exceeds each device's slack.

use crate::student::beta_quantile;
use punctual_device::Profile;
use punctual_forecast::{Input, Stage};

/// How many times as often something happens on side B as on side A. Limits that do not exist are `None`: something
/// never seen on A may be any number of times as frequent on B.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RateRatio {
    /// The lower limit of the 95 % interval.
    pub low: Option<f64>,
    /// The ratio; `None` if side A saw none.
    pub estimate: Option<f64>,
    /// The upper limit.
    pub high: Option<f64>,
}

/// A device on both sides, for one measure.
#[derive(Debug, Clone)]
pub struct DeviceComparison {
    /// The device.
    pub device: Profile,
    /// Whose wakeups it is judged by, on A and on B: policy and priority.
    pub measure: (String, String),
    /// Its slack, ns.
    pub slack_ns: u64,
    /// Stalls beyond the slack, on the worst CPU.
    pub over: (u64, u64),
    /// How many times it runs dry there, as its forecast counts: not at all in some stalls, several times in others.
    pub ran_dry: (u64, u64),
    /// Stalls beyond the slack in an hour; `None` if there were none.
    pub per_hour: (Option<f64>, Option<f64>),
    /// How many times as often B exceeds the slack; the interval assumes that stalls are independent and does not
    /// include the spread between runs.
    pub ratio: RateRatio,
}

/// A side's inputs of one measure, joined one run after another. `None` if they cannot be joined.
pub(crate) fn joined(inputs: &[Input], measure: &str) -> Option<Input> {
    let mut own = inputs.iter().filter(|input| input.measure == measure).cloned();
    let first = own.next()?;
    own.try_fold(first, |sum, next| sum.followed_by(next).ok())
}

/// Every device that can work at all, on both sides.
pub(crate) fn compare_devices(devices: &[Profile], a: &Input, b: &Input) -> Vec<DeviceComparison> {
    let compared = devices.iter().filter_map(|device| {
        let slack_ns = device.usable_slack_ns().ok()?;
        let (left, right) = (a.underruns(device, Stage::Total).ok()?, b.underruns(device, Stage::Total).ok()?);
        // Late wakeups and stalls are counts of different kinds.
        let alike = left.is_upper_count == right.is_upper_count;
        let hours = |input: &Input| input.exposure_ns as f64 / 3.6e12;
        let ratio = rate_ratio(
            (left.over, left.dispersion),
            (right.over, right.dispersion),
            hours(b) / hours(a).max(f64::MIN_POSITIVE),
        );
        let per_hour = |over: u64, input: &Input| (over > 0).then(|| over as f64 / hours(input));
        Some(DeviceComparison {
            device: device.clone(),
            measure: (a.measure.clone(), b.measure.clone()),
            slack_ns,
            over: (left.over, right.over),
            ran_dry: (left.ran_dry(), right.ran_dry()),
            per_hour: (per_hour(left.over, a), per_hour(right.over, b)),
            ratio: if alike { ratio } else { RateRatio::default() },
        })
    });
    compared.collect()
}

/// The ratio of two rates (count, how many times as variable as independent ones), with an exposure `exposure` times as
/// long on B.
///
/// Stalls that come together count as clusters, as large as the counts are times as variable as independent ones, each
/// side by its own measure, with at least one cluster if there is a stall. If the clusters of both sides are single
/// stalls, the interval is the exact one given the sum of the counts (Przyborowski and Wilenski 1940).
fn rate_ratio(a: (u64, f64), b: (u64, f64), exposure: f64) -> RateRatio {
    let cluster = |(count, dispersion): (u64, f64)| dispersion.clamp(1.0, (count as f64).max(1.0));
    let (left, right) = (a.0 as f64 / cluster(a), b.0 as f64 / cluster(b));
    let odds = |share: f64| share / (1.0 - share) * cluster(b) / cluster(a) / exposure;
    RateRatio {
        low: (b.0 > 0).then(|| odds(beta_quantile(right, left + 1.0, 0.025))),
        estimate: (a.0 > 0).then(|| b.0 as f64 / a.0 as f64 / exposure),
        high: (a.0 > 0).then(|| odds(beta_quantile(right + 1.0, left, 0.975))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_compared_with_exact_intervals() {
        // 10 against 10 in equal time: the share of B is a half, Clopper-Pearson 0.272 to 0.728.
        let even = rate_ratio((10, 1.0), (10, 1.0), 1.0);
        assert_eq!(even.estimate, Some(1.0));
        assert!((even.low.unwrap() - 0.3736).abs() < 2e-3, "{even:?}");
        assert!((even.high.unwrap() - 2.676).abs() < 2e-2, "{even:?}");
        // Twice as long and as many: half as often.
        assert_eq!(rate_ratio((10, 1.0), (10, 1.0), 2.0).estimate, Some(0.5));
        // None on A: a lower limit only.
        let new = rate_ratio((0, 1.0), (20, 1.0), 1.0);
        assert!(new.low.unwrap() > 4.0 && new.estimate.is_none() && new.high.is_none(), "{new:?}");
        // None at all says nothing.
        let none = rate_ratio((0, 1.0), (0, 1.0), 1.0);
        assert_eq!((none.low, none.estimate, none.high), (None, None, None));
        // What comes together on only one side leaves the other side's count as certain as it was.
        let burst = rate_ratio((6, 1.0), (295, 59.0), 1.0);
        assert!((burst.estimate.unwrap() - 49.2).abs() < 0.1, "{burst:?}");
        assert!(burst.low.unwrap() > 5.0 && burst.high.unwrap() < 250.0, "{burst:?}");
        // However variable they are, what was seen is one cluster.
        assert_eq!(rate_ratio((6, 1e9), (9, 1e9), 1.0), rate_ratio((6, 6.0), (9, 9.0), 1.0));
        // Stalls that come in bursts say less.
        assert!(rate_ratio((10, 4.0), (10, 1.0), 1.0).low.unwrap() < even.low.unwrap());
    }
}
