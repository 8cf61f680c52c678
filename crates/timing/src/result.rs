//! The result of measuring several ways, and its verdict in words.

use crate::{Analysis, CatchUp, Pattern};

/// What timer slack does to a way. Medians of the overshoot, ns; where the way takes times in units of more than a
/// tenth of the period, of the time between callbacks beyond the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slack {
    /// With the slack that programs get by default.
    pub default_ns: i64,
    /// With a slack of 1 ns.
    pub without_ns: i64,
}

/// What was measured of a way.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The stream of callbacks.
    pub analysis: Analysis,
    /// What `clock_getres` says of the clock it runs on, ns.
    pub resolution_ns: u64,
    /// How long it waits, ns, when it is asked for the shortest wait that it can express; the median of several.
    pub granularity_ns: Option<u64>,
    /// After a stall; `None` where none was made.
    pub catch_up: Option<CatchUp>,
    /// The effect of timer slack; `None` where the way has none or it was not measured.
    pub slack: Option<Slack>,
    /// CPU time that the measuring thread used for each callback, user and kernel, ns.
    pub cpu_ns_per_callback: Option<u64>,
    /// Callbacks that came and for which there was no room.
    pub lost: u64,
}

/// One way of asking for periodic callbacks.
#[derive(Debug, Clone, PartialEq)]
pub struct WayResult {
    /// Its name, as in `--way`.
    pub name: String,
    /// The call that it waits in.
    pub call: String,
    /// The unit in which it takes times, ns.
    pub unit_ns: u64,
    /// Whether it asks for points of a grid.
    pub anchored: bool,
    /// What was measured, or why nothing was.
    pub measured: Result<Measured, String>,
}

/// All ways.
#[derive(Debug, Clone, PartialEq)]
pub struct Timers {
    /// What was asked for, ns.
    pub period_ns: u64,
    /// The policy that the threads had, such as `other` or `fifo:80`.
    pub scheduling: String,
    /// The stall, ns; `None` where none was made.
    pub stall_ns: Option<u64>,
    /// The ways, in the order in which they were measured.
    pub ways: Vec<WayResult>,
    /// What was not as asked.
    pub notes: Vec<String>,
    /// Whether the user ended it early.
    pub interrupted: bool,
}

/// Timer slack that holds callbacks back by more than this is named, ns.
const SLACK_NS: i64 = 20_000;
/// In this order faults stand in the verdict.
const ORDER: [&str; 4] = ["rounding_fault", "beat", "coalescing", "drift"];

impl Timers {
    /// The ways that were measured.
    pub fn measured(&self) -> impl Iterator<Item = (&WayResult, &Measured)> {
        self.ways.iter().filter_map(|way| Some((way, way.measured.as_ref().ok()?)))
    }

    /// The verdict: the faults by their pattern, with what to do instead.
    pub fn verdict(&self) -> String {
        let mut sentences = Vec::new();
        for name in ORDER {
            let with: Vec<(&WayResult, &Pattern)> = self
                .measured()
                .filter_map(|(way, measured)| {
                    Some((way, measured.analysis.patterns.iter().find(|pattern| pattern.name() == name)?))
                })
                .collect();
            if let Some((_, pattern)) = with.first() {
                let ways: Vec<String> =
                    with.iter().map(|(way, pattern)| format!("{} ({})", way.name, figures(pattern))).collect();
                sentences.push(format!("{}: {}; {}.", title(pattern), ways.join(", "), pattern.remedy()));
            }
        }
        let slack: Vec<(i64, &str)> = self
            .measured()
            .filter_map(|(way, measured)| {
                let slack = measured.slack?;
                let held = slack.default_ns - slack.without_ns;
                (held >= SLACK_NS).then_some((held / 1_000, way.name.as_str()))
            })
            .collect();
        if !slack.is_empty() {
            let held = slack.iter().map(|(held, _)| *held);
            let (least, most) = (held.clone().min().unwrap_or(0), held.max().unwrap_or(0));
            let by = if least == most { format!("{least} us") } else { format!("{least} to {most} us") };
            let names: Vec<&str> = slack.iter().map(|(_, name)| *name).collect();
            sentences.push(format!(
                "Timer slack holds back {} by {by}; prctl(PR_SET_TIMERSLACK, 1) or a real-time priority ends that.",
                names.join(", ")
            ));
        }
        let clean: Vec<&str> = self
            .measured()
            .filter(|(_, measured)| measured.analysis.patterns.is_empty() && measured.analysis.callbacks >= 100)
            .map(|(way, _)| way.name.as_str())
            .collect();
        if !clean.is_empty() {
            let found = if sentences.is_empty() { "No fault in" } else { "No pattern of a fault in" };
            sentences.push(format!("{found} {}.", clean.join(", ")));
        }
        let few = self.measured().filter(|(_, measured)| measured.analysis.callbacks < 100).count();
        if few > 0 {
            sentences.push(format!("{few} ways had fewer than 100 callbacks: too few for a verdict."));
        }
        if self.interrupted {
            sentences.push("It was interrupted; what was measured was kept.".to_owned());
        }
        if sentences.is_empty() { "Nothing was measured.".to_owned() } else { sentences.join(" ") }
    }
}

fn title(pattern: &Pattern) -> &'static str {
    match pattern {
        Pattern::RoundingFault { .. } => "Rounding fault, callbacks in pairs at 0 and twice the period",
        Pattern::Beat { .. } => "Beat",
        Pattern::Coalescing { .. } => "Coalescing, several periods in one callback",
        Pattern::Drift { .. } => "Drift",
    }
}

fn figures(pattern: &Pattern) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    match pattern {
        Pattern::RoundingFault { at_zero, at_double } => {
            format!("{} at 0, {} at twice the period", percent(*at_zero), percent(*at_double))
        }
        Pattern::Beat { interval_ns, at_zero, at_double } => {
            let (share, place) = if at_zero > at_double { (at_zero, "0") } else { (at_double, "twice that") };
            format!("most every {} us, {} at {place}", interval_ns / 1_000, percent(*share))
        }
        Pattern::Coalescing { share, .. } => format!("{} of the callbacks", percent(*share)),
        Pattern::Drift { ppm } => format!("{ppm:+.0} ppm"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(name: &str, patterns: Vec<Pattern>, slack: Option<Slack>) -> WayResult {
        let analysis = Analysis { callbacks: 1_000, patterns, ..Analysis::default() };
        let measured = Measured {
            analysis,
            resolution_ns: 1,
            granularity_ns: None,
            catch_up: None,
            slack,
            cpu_ns_per_callback: None,
            lost: 0,
        };
        WayResult { name: name.into(), call: String::new(), unit_ns: 1, anchored: true, measured: Ok(measured) }
    }

    #[test]
    fn faults_are_named_by_pattern_with_what_to_do_instead() {
        let mut timers = Timers {
            period_ns: 1_000_000,
            scheduling: "other".into(),
            stall_ns: None,
            ways: vec![
                way(
                    "relative",
                    vec![Pattern::Drift { ppm: 100.0 }],
                    Some(Slack { default_ns: 90_000, without_ns: 40_000 }),
                ),
                way("good", Vec::new(), None),
            ],
            notes: Vec::new(),
            interrupted: false,
        };
        let verdict = timers.verdict();
        assert!(verdict.starts_with("Drift: relative (+100 ppm); wait for absolute times"), "{verdict}");
        assert!(verdict.contains("Timer slack holds back relative by 50 us"), "{verdict}");
        assert!(verdict.ends_with("No pattern of a fault in good."), "{verdict}");
        timers.ways.remove(0);
        assert_eq!(timers.verdict(), "No fault in good.");
        timers.ways.clear();
        assert_eq!(timers.verdict(), "Nothing was measured.");
    }
}
