//! The result of measuring several ways, and its verdict in words.

use crate::{Analysis, CatchUp, Pattern};

/// What timer slack does to a way. Medians of the overshoot, ns; if the way takes times in units of more than a
/// tenth of the period, medians of the time between callbacks beyond the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slack {
    /// With the slack that programs get by default.
    pub default_ns: i64,
    /// With a slack of 1 ns.
    pub without_ns: i64,
}

/// A setting that was changed to see its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// None was.
    None,
    /// A timer slack of 1 ns.
    Slack,
    /// `CLOCK_REALTIME`.
    Realtime,
    /// `CLOCK_BOOTTIME`.
    Boottime,
    /// `CLOCK_TAI`.
    Tai,
    /// A real-time priority.
    Priority,
}

impl Effect {
    /// All of them, in the order of tables.
    pub const ALL: [Effect; 6] =
        [Effect::None, Effect::Slack, Effect::Realtime, Effect::Boottime, Effect::Tai, Effect::Priority];

    /// Its name in tables, recordings and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Effect::None => "as it is",
            Effect::Slack => "slack 1ns",
            Effect::Realtime => "realtime",
            Effect::Boottime => "boottime",
            Effect::Tai => "tai",
            Effect::Priority => "fifo",
        }
    }
}

/// What was measured for a way.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The stream of callbacks.
    pub analysis: Analysis,
    /// What `clock_getres` says about its clock, ns.
    pub resolution_ns: u64,
    /// How long it waits, ns, when asked for the shortest wait that it can express; the median of several.
    pub granularity_ns: Option<u64>,
    /// What it did after a stall; `None` if none was made.
    pub catch_up: Option<CatchUp>,
    /// The effect of timer slack; `None` if the way has none or it was not measured.
    pub slack: Option<Slack>,
    /// CPU time that the measuring thread used for each callback, user and kernel, ns.
    pub cpu_ns_per_callback: Option<u64>,
    /// Callbacks that came but for which there was no room.
    pub lost: u64,
}

/// One way of asking for periodic callbacks.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodResult {
    /// Its name, as in `--way`, with the setting that was changed, if one was.
    pub name: String,
    /// The setting that was changed.
    pub effect: Effect,
    /// The way, as in `--way`.
    pub way: String,
    /// The call that it waits in.
    pub call: String,
    /// The unit in which it takes times, ns.
    pub unit_ns: u64,
    /// Whether it asks for points of a grid.
    pub anchored: bool,
    /// What was measured, or why nothing was.
    pub measured: Result<Measured, String>,
}

/// What the kernel bases its timers on. What is not known is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tick {
    /// How many ticks a second the kernel was built for.
    pub configured_hz: Option<u32>,
    /// The file that says so.
    pub configured_in: Option<String>,
    /// How far apart ticks came on a busy CPU, ns.
    pub observed_ns: Option<u64>,
    /// The device whose interrupts drive timers.
    pub device: Option<String>,
    /// How finely that can be set, ns.
    pub device_resolution_ns: Option<f64>,
}

/// All ways.
#[derive(Debug, Clone, PartialEq)]
pub struct Timers {
    /// What was asked for, ns.
    pub period_ns: u64,
    /// The policy that the threads had, such as `other` or `fifo:80`.
    pub scheduling: String,
    /// The clock that they were asked to wait on.
    pub clock: String,
    /// The stall, ns; `None` if none was made.
    pub stall_ns: Option<u64>,
    /// What the kernel bases them on.
    pub tick: Tick,
    /// The ways, in the order in which they were measured.
    pub ways: Vec<MethodResult>,
    /// What was not as asked for.
    pub notes: Vec<String>,
    /// Whether the user ended it early.
    pub interrupted: bool,
}

/// The verdict names timer slack that holds callbacks back by more than this, ns.
const SLACK_NS: i64 = 20_000;
/// Slack holds back by no more than itself, 50 us unless a program asks for more: a larger difference has another reason, ns.
const MAX_SLACK_NS: i64 = 100_000;
/// No clock drifts by this much: what seems to is kept from the CPU, millionths.
const BEHIND_PPM: f64 = 10_000.0;
/// The order of faults in the verdict.
const ORDER: [&str; 4] = ["rounding_fault", "beat", "coalescing", "drift"];

impl Timers {
    /// The ways that were measured.
    pub fn measured(&self) -> impl Iterator<Item = (&MethodResult, &Measured)> {
        self.ways.iter().filter_map(|way| Some((way, way.measured.as_ref().ok()?)))
    }

    /// For each way for which it was measured: how much a changed setting took off the median lateness, ns.
    pub fn gains_ns(&self, effect: Effect) -> Vec<(&str, i64)> {
        let median = |measured: &Measured| measured.analysis.overshoot.map(|overshoot| overshoot.median_ns);
        let of = |way: &str, effect: Effect| {
            let mut same = self.measured().filter(|(result, _)| result.way == way && result.effect == effect);
            same.next().and_then(|(_, measured)| median(measured))
        };
        let changed = self.measured().filter(|(result, _)| result.effect == effect);
        changed
            .filter_map(|(result, measured)| {
                Some((result.way.as_str(), of(&result.way, Effect::None)? - median(measured)?))
            })
            .collect()
    }

    /// Whether settings were changed to see their effect.
    pub fn has_effects(&self) -> bool {
        self.ways.iter().any(|way| way.effect != Effect::None)
    }

    /// What each changed setting does to the median lateness, in words.
    fn effects(&self) -> Option<String> {
        let mut said = Vec::new();
        for effect in Effect::ALL.into_iter().filter(|effect| *effect != Effect::None) {
            let gains: Vec<i64> = self.gains_ns(effect).into_iter().map(|(_, gain)| gain).collect();
            let (Some(least), Some(most)) = (gains.iter().min(), gains.iter().max()) else { continue };
            said.push(format!("{} {:+.1} to {:+.1} us", effect.name(), -*most as f64 / 1e3, -*least as f64 / 1e3));
        }
        (!said.is_empty()).then(|| format!("What each setting does to the median lateness: {}.", said.join(", ")))
    }

    /// The ways that show no fault, and those that fell so far behind that none could be seen.
    fn without_pattern(&self, is_first: bool) -> Vec<String> {
        let plain = self
            .measured()
            .filter(|(way, _)| way.effect == Effect::None)
            .filter(|(_, measured)| measured.analysis.patterns.is_empty() && measured.analysis.callbacks >= 100);
        let (mut clean, mut behind) = (Vec::new(), Vec::new());
        for (way, measured) in plain {
            match measured.analysis.drift_ppm.filter(|ppm| ppm.abs() > BEHIND_PPM) {
                Some(ppm) => behind.push(format!("{} ({ppm:+.0} ppm)", way.name)),
                None => clean.push(way.name.as_str()),
            }
        }
        let mut sentences = Vec::new();
        if !clean.is_empty() {
            let found = if is_first { "No fault in" } else { "No pattern of a fault in" };
            sentences.push(format!("{found} {}.", clean.join(", ")));
        }
        if !behind.is_empty() {
            let again = if self.scheduling == "other" { "; measure again with -p 80" } else { "" };
            let names = behind.join(", ");
            sentences.push(format!("Too far behind to show a fault, as when others have the CPU: {names}{again}."));
        }
        sentences
    }

    /// The verdict: the faults by their pattern, with what to do instead.
    pub fn verdict(&self) -> String {
        let mut sentences: Vec<String> = self.effects().into_iter().collect();
        for name in ORDER {
            let with: Vec<(&MethodResult, &Pattern)> = self
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
                (SLACK_NS..=MAX_SLACK_NS).contains(&held).then_some((held / 1_000, way.name.as_str()))
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
        let is_first = sentences.is_empty();
        sentences.extend(self.without_pattern(is_first));
        let few: Vec<&str> = self
            .measured()
            .filter(|(_, measured)| measured.analysis.callbacks < 100)
            .map(|(way, _)| way.name.as_str())
            .collect();
        if !few.is_empty() {
            sentences.push(format!("Fewer than 100 callbacks, too few for a verdict: {}.", few.join(", ")));
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

    fn way(name: &str, patterns: Vec<Pattern>, slack: Option<Slack>) -> MethodResult {
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
        MethodResult {
            name: name.into(),
            effect: Effect::None,
            way: name.into(),
            call: String::new(),
            unit_ns: 1,
            anchored: true,
            measured: Ok(measured),
        }
    }

    #[test]
    fn faults_are_named_by_pattern_with_what_to_do_instead() {
        let mut timers = Timers {
            period_ns: 1_000_000,
            scheduling: "other".into(),
            clock: "monotonic".into(),
            stall_ns: None,
            tick: Tick::default(),
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
        if let Ok(measured) = &mut timers.ways[0].measured {
            measured.analysis.drift_ppm = Some(291_142.0);
        }
        let behind = timers.verdict();
        assert!(behind.starts_with("Too far behind to show a fault"), "{behind}");
        assert!(behind.ends_with(": good (+291142 ppm); measure again with -p 80."), "{behind}");
        timers.ways.clear();
        assert_eq!(timers.verdict(), "Nothing was measured.");
    }

    #[test]
    fn effects_are_told_against_the_same_way_as_it_is() {
        use crate::{Callback, Stream, analyse};
        let late = |name: &str, effect, late_ns: u64| {
            let callbacks: Vec<Callback> = (0..200u64)
                .map(|n| Callback { asked_ns: n * 1_000_000, at_ns: n * 1_000_000 + late_ns, periods: 1 })
                .collect();
            let stream = Stream { period_ns: 1_000_000, origin_ns: 0, anchored: true, callbacks: &callbacks };
            let mut result = way(name, Vec::new(), None);
            result.effect = effect;
            if let Ok(measured) = &mut result.measured {
                measured.analysis = analyse(&stream);
            }
            result
        };
        let mut timers = Timers {
            period_ns: 1_000_000,
            scheduling: "other".into(),
            clock: "monotonic".into(),
            stall_ns: None,
            tick: Tick::default(),
            ways: vec![
                late("a", Effect::None, 80_000),
                late("a", Effect::Slack, 30_000),
                late("b", Effect::None, 60_000),
                late("b", Effect::Slack, 61_000),
            ],
            notes: Vec::new(),
            interrupted: false,
        };
        assert!(timers.has_effects());
        assert_eq!(timers.gains_ns(Effect::Slack), [("a", 50_000), ("b", -1_000)]);
        assert_eq!(timers.gains_ns(Effect::Tai), []);
        assert!(
            timers.verdict().starts_with("What each setting does to the median lateness: slack 1ns -50.0 to +1.0 us.")
        );
        timers.ways.truncate(1);
        assert!(!timers.has_effects());
    }
}
