//! Limits that a user sets on the total, such as `p99.9=200us,max=1ms`.

use crate::Distribution;
use crate::document::contents::Limit;
use crate::format::units::{BareUnit, parse_duration};

/// A limit on a quantile of the total, or on its maximum.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitSpec {
    /// As the user wrote it: `max`, `p99.9`.
    what: String,
    /// The fraction of wakeups that must keep the limit; `None` for all.
    quantile: Option<f64>,
    limit_ns: u64,
}

impl LimitSpec {
    /// Reads a comma-separated list of limits.
    ///
    /// # Errors
    /// A sentence that says what was wrong and what would be right.
    pub fn parse_list(text: &str) -> Result<Vec<LimitSpec>, String> {
        text.split(',').map(LimitSpec::parse).collect()
    }

    fn parse(text: &str) -> Result<LimitSpec, String> {
        let wrong = || {
            format!("`{text}` is not a limit: write a quantile or max and a duration, such as p99.9=200us or max=1ms")
        };
        let (what, limit) = text.split_once('=').ok_or_else(wrong)?;
        let what = what.trim();
        let quantile = match what {
            "max" => None,
            _ => Some(quantile_of(what).ok_or_else(wrong)?),
        };
        let limit_ns = parse_duration(limit, BareUnit::Microseconds)?;
        Ok(LimitSpec { what: what.to_owned(), quantile, limit_ns })
    }

    /// Judges a distribution of totals.
    pub fn judge(&self, total: &Distribution) -> Limit {
        let found_ns = self.quantile.map_or_else(|| total.max(), |quantile| total.quantile(quantile));
        let exceeded = found_ns.is_some_and(|found| found > self.limit_ns);
        Limit { what: self.what.clone(), limit_ns: self.limit_ns, found_ns, exceeded }
    }
}

/// `p99.9`: 0.999.
fn quantile_of(what: &str) -> Option<f64> {
    let percent = what.strip_prefix('p')?.parse::<f64>().ok()?;
    (percent > 0.0 && percent < 100.0).then_some(percent / 100.0)
}

impl Limit {
    /// How many wakeups it takes for its quantile to be another than the maximum, where there were fewer.
    pub fn takes_more_than(&self, wakeups: u64) -> Option<u64> {
        let takes = (1.0 / (1.0 - quantile_of(&self.what)?)).round() as u64;
        (takes > wakeups).then_some(takes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_as_people_write_them() {
        let limits = LimitSpec::parse_list("p99.9=200us,max=1ms").unwrap();
        let mut total = Distribution::new();
        for value in 1..=1000 {
            total.record(value * 500);
        }
        let judged: Vec<Limit> = limits.iter().map(|limit| limit.judge(&total)).collect();
        assert!(judged[0].exceeded && judged[0].found_ns.unwrap().abs_diff(499_500) <= 1_000);
        assert!(!judged[1].exceeded && judged[1].found_ns == Some(500_000));
        assert_eq!(limits[0].judge(&Distribution::new()).found_ns, None);
        assert_eq!(judged[0].takes_more_than(999), Some(1_000));
        assert_eq!((judged[0].takes_more_than(1_000), judged[1].takes_more_than(1)), (None, None));
        for wrong in ["", "max", "p0=1us", "p100=1us", "q5=1", "max=abc", "p99.9=200us,"] {
            assert!(LimitSpec::parse_list(wrong).is_err(), "{wrong}");
        }
    }
}
