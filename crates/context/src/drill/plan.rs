//! What to inject, and the bounds that no plan may exceed.

use super::DrillKind;
use punctual_kernel::scheduling::check_allowed;
use punctual_recording::{BareUnit, format_ns, parse_duration};
use std::str::FromStr;

/// The longest injection, ns.
pub const MAX_NS: u64 = 50_000_000;
/// The shortest, ns.
const MIN_NS: u64 = 10_000;
/// The shortest time for which the scheduler can be made to throttle a thread, ns.
const MIN_THROTTLE_NS: u64 = 100_000;
/// The longest drill, ns.
pub const MAX_DURATION_NS: u64 = 600_000_000_000;
/// The largest share of a CPU that injections may take, percent.
const DUTY_PERCENT: u64 = 25;
/// The same with the user's explicit consent.
const DUTY_WITH_CONSENT_PERCENT: u64 = 50;

/// How long injections last: every length in the range is equally likely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// ns.
    pub min_ns: u64,
    /// ns.
    pub max_ns: u64,
}

impl FromStr for Lengths {
    type Err = String;

    /// `2ms` or `200us..5ms`.
    fn from_str(text: &str) -> Result<Lengths, String> {
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        let min_ns = parse_duration(from, BareUnit::Refused)?;
        let max_ns = parse_duration(to, BareUnit::Refused)?;
        if min_ns > max_ns {
            return Err(format!("`{text}` runs backwards: write the shorter one first, such as 200us..5ms"));
        }
        if max_ns > MAX_NS || min_ns < MIN_NS {
            let (low, high) = (format_ns(MIN_NS), format_ns(MAX_NS));
            return Err(format!("`{text}` is out of range: an injection lasts {low} to {high}, such as 2ms"));
        }
        Ok(Lengths { min_ns, max_ns })
    }
}

/// Which pages the victim of the page-fault drill touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Memory that was given back to the kernel: it comes back zeroed.
    Fresh,
    /// A mapped file that was thrown out of the page cache: it is read again.
    File,
}

/// What to inject.
#[derive(Debug, Clone)]
pub struct DrillPlan {
    /// The cause.
    pub kind: DrillKind,
    /// How long each injection lasts.
    pub lengths: Lengths,
    /// How far apart they begin on each CPU, on average, ns.
    pub every_ns: u64,
    /// How long the drill lasts at most, ns.
    pub duration_ns: u64,
    /// How many injections it makes, on all CPUs together; `None`: until its time is up.
    pub count: Option<u64>,
    /// Where: `None` for the drill's own choice, which is every allowed CPU, or one for a drill with a victim.
    pub cpus: Option<Vec<u32>>,
    /// The priority of the drill's real-time thread or its victim; `None` for the drill's own choice.
    pub priority: Option<u32>,
    /// The seed of the random lengths and starts.
    pub seed: u64,
    /// Whether the user agreed to more than a quarter of a CPU.
    pub consent: bool,
    /// For the page-fault drill.
    pub pages: Pages,
}

/// A plan that no drill may have: wrong usage.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

impl DrillPlan {
    /// The CPUs to drill, among those that this process may use: one worker each.
    ///
    /// # Errors
    /// What is wrong with the plan, and what would be right.
    pub fn check(&self, allowed: &[u32]) -> Result<Vec<u32>, PlanError> {
        self.check_bounds()?;
        let wrong = |text: String| Err(PlanError(text));
        let kind = self.kind;
        if self.priority.is_some() && kind.default_priority().is_none() {
            return wrong(format!("--priority does not go with the drill {kind}, which has no thread of that kind"));
        }
        if kind == DrillKind::Migrate && self.priority == Some(1) {
            return wrong("the drill migrate needs room below its victim: give --priority 2 or higher".to_owned());
        }
        if self.pages == Pages::File && kind != DrillKind::PageFault {
            return wrong(format!("--pages goes with the drill page-fault, not with {kind}"));
        }
        if kind == DrillKind::Throttle && self.cpus.is_some() {
            return wrong(
                "-a does not go with the drill throttle: a thread with a reservation runs on any CPU".to_owned(),
            );
        }
        let first = || allowed.first().copied().into_iter().collect::<Vec<u32>>();
        let cpus = match &self.cpus {
            None if kind.brings_victim() && kind != DrillKind::Migrate => first(),
            None => allowed.to_vec(),
            Some(cpus) => cpus.clone(),
        };
        check_allowed(&cpus, allowed).map_err(|error| PlanError(error.to_string()))?;
        if kind == DrillKind::Migrate && cpus.len() < 2 {
            return wrong("the drill migrate moves a thread between CPUs: give it two, such as -a 0,1".to_owned());
        }
        Ok(cpus)
    }

    /// The share of a CPU that the injections take at most, percent.
    pub(crate) fn share_percent(&self) -> u64 {
        self.lengths.max_ns.saturating_mul(100).div_ceil(self.every_ns.max(1))
    }

    /// The share of a CPU that injections may take, including those of other drills, percent.
    pub(crate) fn max_percent(&self) -> u64 {
        if self.consent { DUTY_WITH_CONSENT_PERCENT } else { DUTY_PERCENT }
    }

    fn check_bounds(&self) -> Result<(), PlanError> {
        let wrong = |text: String| Err(PlanError(text));
        let Lengths { min_ns, max_ns } = self.lengths;
        if min_ns > max_ns || min_ns < MIN_NS || max_ns > MAX_NS {
            return wrong(format!("an injection lasts {} to {}", format_ns(MIN_NS), format_ns(MAX_NS)));
        }
        if self.kind == DrillKind::Throttle && min_ns < MIN_THROTTLE_NS {
            return wrong(format!("a thread is throttled for {} or longer", format_ns(MIN_THROTTLE_NS)));
        }
        if self.duration_ns == 0 || self.duration_ns > MAX_DURATION_NS {
            return wrong("a drill lasts up to 10 min: give a shorter -D".to_owned());
        }
        // At least twice the length apart, so that they never meet however they are jittered.
        let max_percent = self.max_percent();
        if self.share_percent() > max_percent {
            let apart = format_ns(max_ns * 100 / max_percent);
            let how = if self.consent { "" } else { ", or agree to up to 50 % with --yes" };
            let (length, every) = (format_ns(max_ns), format_ns(self.every_ns));
            return wrong(format!(
                "{length} every {every} is more than {max_percent} % of a CPU: give --every {apart} or longer{how}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(kind: DrillKind) -> DrillPlan {
        DrillPlan {
            kind,
            lengths: Lengths { min_ns: 2_000_000, max_ns: 2_000_000 },
            every_ns: 500_000_000,
            duration_ns: 20_000_000_000,
            count: None,
            cpus: None,
            priority: None,
            seed: 1,
            consent: false,
            pages: Pages::Fresh,
        }
    }

    #[test]
    fn lengths_are_read() {
        assert_eq!("2ms".parse(), Ok(Lengths { min_ns: 2_000_000, max_ns: 2_000_000 }));
        assert_eq!("200us..5ms".parse(), Ok(Lengths { min_ns: 200_000, max_ns: 5_000_000 }));
        for wrong in ["51ms", "5ms..200us", "1us", "..", "x", "1ms..60ms"] {
            assert!(wrong.parse::<Lengths>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_plan_leaves_the_bounds() {
        let allowed = [0, 1];
        assert_eq!(plan(DrillKind::Irq).check(&allowed).unwrap(), [0, 1]);
        assert_eq!(plan(DrillKind::Lock).check(&allowed).unwrap(), [0]);
        assert_eq!(plan(DrillKind::Migrate).check(&allowed).unwrap(), [0, 1]);
        let refused = |change: fn(&mut DrillPlan)| {
            let mut plan = plan(DrillKind::Irq);
            change(&mut plan);
            plan.check(&allowed).unwrap_err().to_string()
        };
        assert!(refused(|plan| plan.every_ns = 7_900_000).contains("25 %"));
        assert!(refused(|plan| (plan.every_ns, plan.consent) = (3_900_000, true)).contains("50 %"));
        assert!(refused(|plan| plan.every_ns = 0).contains("25 %"));
        assert!(refused(|plan| plan.lengths.max_ns = MAX_NS + 1).contains("50.0 ms"));
        assert!(refused(|plan| plan.duration_ns = MAX_DURATION_NS + 1).contains("10 min"));
        assert!(refused(|plan| plan.priority = Some(3)).contains("--priority"));
        assert!(refused(|plan| plan.cpus = Some(vec![7])).contains("CPU 7"));
        assert!(refused(|plan| (plan.kind, plan.cpus) = (DrillKind::Migrate, Some(vec![1]))).contains("two"));
        assert!(refused(|plan| (plan.kind, plan.cpus) = (DrillKind::Throttle, Some(vec![1]))).contains("-a"));
        let mut exact = plan(DrillKind::Irq);
        exact.every_ns = 8_000_000;
        assert!(exact.check(&allowed).is_ok());
        (exact.every_ns, exact.consent) = (4_000_000, true);
        assert!(exact.check(&allowed).is_ok());
    }
}
