//! Limits that a user sets, such as `p99.9=200us,response:max=1ms`.

use crate::document::contents::Limit;
use crate::format::units::{BareUnit, parse_duration};
use crate::{Distribution, Stage};

/// A limit on a quantile of a stage, or on its maximum; on the total unless another stage is named.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitSpec {
    /// As the user wrote it: `max`, `p99.9`.
    what: String,
    /// The fraction of wakeups that must stay within the limit; `None` for all.
    quantile: Option<f64>,
    limit_ns: u64,
    stage: Stage,
}

impl LimitSpec {
    /// Reads a comma-separated list of limits: `p99.9=200us,max=1ms`.
    ///
    /// # Errors
    /// A sentence that says what was wrong and what would be right.
    pub fn parse_list(text: &str) -> Result<Vec<LimitSpec>, String> {
        text.split(',').map(LimitSpec::parse).collect()
    }

    /// The same, with a stage before a limit that is not on the total: `p99.9=200us,response:max=1ms`.
    ///
    /// # Errors
    /// A sentence that says what was wrong and what would be right.
    pub fn parse_list_of_stages(text: &str) -> Result<Vec<LimitSpec>, String> {
        text.split(',').map(LimitSpec::parse_of_stage).collect()
    }

    fn parse_of_stage(text: &str) -> Result<LimitSpec, String> {
        let Some((name, limit)) = text.split_once(':') else { return LimitSpec::parse(text) };
        let stages = || Stage::ALL.into_iter().filter(|stage| stage.is_of_a_wakeup());
        let stage = stages().find(|stage| stage.name() == name.trim()).ok_or_else(|| {
            let names: Vec<&str> = stages().map(Stage::name).collect();
            format!("`{text}` is not a limit: there is no stage `{}`; give one of {}", name.trim(), names.join(", "))
        })?;
        Ok(LimitSpec { stage, ..LimitSpec::parse(limit)? })
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
        let limit_ns = parse_duration(limit, BareUnit::Refused)?;
        Ok(LimitSpec { what: what.to_owned(), quantile, limit_ns, stage: Stage::Total })
    }

    /// The stage that it limits.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Judges the distribution of its stage, which `of` gives.
    pub fn judge(&self, of: impl Fn(Stage) -> Distribution) -> Limit {
        let found = of(self.stage);
        let found_ns = self.quantile.map_or_else(|| found.max(), |quantile| found.quantile(quantile));
        let exceeded = found_ns.is_some_and(|found| found > self.limit_ns);
        let stage = (self.stage != Stage::Total).then(|| self.stage.name().to_owned());
        Limit { what: self.what.clone(), limit_ns: self.limit_ns, found_ns, exceeded, stage }
    }
}

/// `p99.9`: 0.999.
fn quantile_of(what: &str) -> Option<f64> {
    let percent = what.strip_prefix('p')?.parse::<f64>().ok()?;
    (percent > 0.0 && percent < 100.0).then(|| quantile_of_percent(percent))
}

/// The quantile for a percentage: for 99.9 what `0.999` is in source text. 99.9 divided by 100 is a little more, and
/// may pick the next value.
pub fn quantile_of_percent(percent: f64) -> f64 {
    // As a decimal number with an exponent, it is rounded only once.
    format!("{percent}e-2").parse().unwrap_or(percent / 100.0)
}

impl Limit {
    /// The stage that it limits; one that this program does not know is the total.
    pub fn of_stage(&self) -> Stage {
        let named = |name: &String| Stage::ALL.into_iter().find(|stage| stage.name() == name);
        self.stage.as_ref().and_then(named).unwrap_or_default()
    }

    /// How many wakeups its quantile needs in order to differ from the maximum, if there were fewer.
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
        let judged: Vec<Limit> = limits.iter().map(|limit| limit.judge(|_| total.clone())).collect();
        assert!(judged[0].exceeded && judged[0].found_ns.unwrap().abs_diff(499_500) <= 1_000);
        assert!(!judged[1].exceeded && judged[1].found_ns == Some(500_000));
        assert_eq!(limits[0].judge(|_| Distribution::new()).found_ns, None);
        assert_eq!(judged[0].takes_more_than(999), Some(1_000));
        assert_eq!((judged[0].takes_more_than(1_000), judged[1].takes_more_than(1)), (None, None));
        for wrong in ["", "max", "p0=1us", "p100=1us", "q5=1", "max=abc", "p99.9=200us,"] {
            assert!(LimitSpec::parse_list(wrong).is_err(), "{wrong}");
            assert!(LimitSpec::parse_list_of_stages(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_is_of_the_stage_before_it() {
        let of = |stage: Stage| {
            let mut own = Distribution::new();
            own.record(if stage == Stage::Response { 2_000_000 } else { 10_000 });
            own
        };
        let limits = LimitSpec::parse_list_of_stages("max=1ms, response:max=1ms,work:p50=1ms").unwrap();
        let judged: Vec<Limit> = limits.iter().map(|limit| limit.judge(of)).collect();
        let told: Vec<(Stage, bool)> = judged.iter().map(|limit| (limit.of_stage(), limit.exceeded)).collect();
        assert_eq!(told, [(Stage::Total, false), (Stage::Response, true), (Stage::Work, false)]);
        // A limit of the total is written as it always was.
        assert!(serde_json::to_value(&judged[0]).unwrap().get("stage").is_none());
        for wrong in ["request:max=1ms", "respons:max=1ms", "response:", "response:max", ":max=1ms"] {
            let said = LimitSpec::parse_list_of_stages(wrong).unwrap_err();
            assert!(!said.is_empty() && !said.contains('\n'), "{wrong}: {said}");
        }
        assert!(LimitSpec::parse_list("response:max=1ms").is_err());
        let said = LimitSpec::parse_list_of_stages("response:max=1").unwrap_err();
        assert_eq!(said, "`1` has no unit: write 1us, or 1ms if you mean that");
    }
}
