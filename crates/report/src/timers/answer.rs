//! The answer of `punctual timers`.

use crate::answer::{Answer, Named};
use crate::{NextStep, after_timers};
use punctual_timing::{Analysis, Effect, MethodResult, Pattern, Summary, Timers};
use serde::Serialize;
use std::path::Path;

/// The ways to get periodic callbacks, measured. Times are ns.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimersAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: Vec<NextStep>,
    recording: Option<&'a Path>,
    period_ns: u64,
    scheduling: &'a str,
    clock: &'a str,
    effects: Option<Vec<EffectRow>>,
    stall_ns: Option<u64>,
    interrupted: bool,
    notes: &'a [String],
    tick: TickRow<'a>,
    ways: Vec<WayRow<'a>>,
}

/// What the kernel bases its timers on.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TickRow<'a> {
    /// Ticks a second, as the kernel was built.
    configured_hz: Option<u32>,
    /// The file that says so.
    configured_in: Option<&'a str>,
    /// How far apart the ticks on a busy CPU were.
    observed_ns: Option<u64>,
    /// The device whose interrupts drive timers.
    device: Option<&'a str>,
    device_resolution_ns: Option<f64>,
}

impl<'a> TimersAnswer<'a> {
    /// The answer for programs.
    pub fn new(timers: &'a Timers, recording: Option<&'a Path>) -> TimersAnswer<'a> {
        let changed = Effect::ALL.into_iter().filter(|effect| *effect != Effect::None);
        let effect = |effect: Effect| EffectRow {
            setting: effect.name(),
            median_gain_ns: timers.gains_ns(effect).into_iter().collect(),
        };
        TimersAnswer {
            schema: "punctual.timers/1",
            verdict: timers.verdict(),
            exit_code: 0,
            next: after_timers(timers),
            recording,
            period_ns: timers.period_ns,
            scheduling: &timers.scheduling,
            clock: &timers.clock,
            effects: timers.has_effects().then(|| changed.map(effect).collect()),
            stall_ns: timers.stall_ns,
            interrupted: timers.interrupted,
            notes: &timers.notes,
            tick: TickRow {
                configured_hz: timers.tick.configured_hz,
                configured_in: timers.tick.configured_in.as_deref(),
                observed_ns: timers.tick.observed_ns,
                device: timers.tick.device.as_deref(),
                device_resolution_ns: timers.tick.device_resolution_ns,
            },
            ways: timers.ways.iter().map(WayRow::new).collect(),
        }
    }
}

impl Answer for TimersAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// How much a setting took off the median lateness of each way.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EffectRow {
    setting: &'static str,
    median_gain_ns: Named<i64>,
}

/// One way. `absent` says why nothing was measured; then everything measured is `null`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WayRow<'a> {
    way: &'a str,
    effect: Option<&'static str>,
    call: &'a str,
    absent: Option<&'a str>,
    anchored: bool,
    unit_ns: u64,
    resolution_ns: Option<u64>,
    shortest_wait_ns: Option<u64>,
    callbacks: Option<u64>,
    missed: Option<u64>,
    lost: Option<u64>,
    intervals: Option<SummaryRow>,
    lateness: Option<SummaryRow>,
    overshoot: Option<SummaryRow>,
    drift_ppm: Option<f64>,
    after_stall: Option<&'static str>,
    slack: Option<SlackRow>,
    cpu_ns_per_callback: Option<u64>,
    histogram: Option<HistogramRow>,
    patterns: Option<Vec<PatternRow>>,
}

impl<'a> WayRow<'a> {
    fn new(way: &'a MethodResult) -> WayRow<'a> {
        let measured = way.measured.as_ref().ok();
        let analysis = measured.map(|measured| &measured.analysis);
        let summary = |of: fn(&Analysis) -> Option<Summary>| analysis.and_then(of).map(SummaryRow::new);
        let slack = measured.and_then(|measured| measured.slack);
        WayRow {
            way: &way.way,
            effect: (way.effect != Effect::None).then(|| way.effect.name()),
            call: &way.call,
            absent: way.measured.as_ref().err().map(String::as_str),
            anchored: way.anchored,
            unit_ns: way.unit_ns,
            resolution_ns: measured.map(|measured| measured.resolution_ns),
            shortest_wait_ns: measured.and_then(|measured| measured.granularity_ns),
            callbacks: analysis.map(|analysis| analysis.callbacks),
            missed: analysis.map(|analysis| analysis.missed),
            lost: measured.map(|measured| measured.lost),
            intervals: summary(|analysis| analysis.intervals),
            lateness: summary(|analysis| analysis.lateness),
            overshoot: summary(|analysis| analysis.overshoot),
            drift_ppm: analysis.and_then(|analysis| analysis.drift_ppm),
            after_stall: measured.and_then(|measured| measured.catch_up).map(|catch_up| catch_up.name()),
            slack: slack.map(|slack| SlackRow { default_ns: slack.default_ns, without_ns: slack.without_ns }),
            cpu_ns_per_callback: measured.and_then(|measured| measured.cpu_ns_per_callback),
            histogram: analysis.map(HistogramRow::new),
            patterns: analysis.map(|analysis| analysis.patterns.iter().map(PatternRow::new).collect()),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SummaryRow {
    min_ns: i64,
    max_ns: i64,
    mean_ns: i64,
    median_ns: i64,
    deviation_ns: u64,
}

impl SummaryRow {
    fn new(summary: Summary) -> SummaryRow {
        SummaryRow {
            min_ns: summary.min_ns,
            max_ns: summary.max_ns,
            mean_ns: summary.mean_ns,
            median_ns: summary.median_ns,
            deviation_ns: summary.deviation_ns,
        }
    }
}

/// Median lateness with the usual timer slack and with the least.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SlackRow {
    default_ns: i64,
    without_ns: i64,
}

/// Times between callbacks.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct HistogramRow {
    bin_ns: u64,
    bins: Vec<BinRow>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BinRow {
    from_ns: u64,
    count: u64,
}

impl HistogramRow {
    fn new(analysis: &Analysis) -> HistogramRow {
        let bin_ns = analysis.histogram.bin_ns;
        let bin = |(bin, count): (&u64, &u64)| BinRow { from_ns: bin * bin_ns, count: *count };
        HistogramRow { bin_ns, bins: analysis.histogram.bins.iter().map(bin).collect() }
    }
}

/// The pattern of a known fault, with its figures.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PatternRow {
    pattern: &'static str,
    instead: &'static str,
    #[serde(flatten)]
    figures: Figures,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Figures {
    Beat { interval_ns: u64, at_zero: f64, at_double: f64 },
    RoundingFault { at_zero: f64, at_double: f64 },
    Drift { ppm: f64 },
    Coalescing { share: f64, interval_ns: u64 },
}

impl PatternRow {
    fn new(pattern: &Pattern) -> PatternRow {
        let figures = match *pattern {
            Pattern::RoundingFault { at_zero, at_double } => Figures::RoundingFault { at_zero, at_double },
            Pattern::Beat { interval_ns, at_zero, at_double } => Figures::Beat { interval_ns, at_zero, at_double },
            Pattern::Drift { ppm } => Figures::Drift { ppm },
            Pattern::Coalescing { share, interval_ns } => Figures::Coalescing { share, interval_ns },
        };
        PatternRow { pattern: pattern.name(), instead: pattern.remedy(), figures }
    }
}
