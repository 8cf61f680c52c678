//! `punctual why`, and what `punctual record` needs for it.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use punctual_blame::Kind;
use punctual_probe::recorder::{Threshold, WhySettings};
use punctual_recording::Stage;
use std::path::PathBuf;

/// What of a recording is kept as evidence.
#[derive(Debug, Args)]
pub(crate) struct WhyRecordArguments {
    /// Keep evidence of who made a wakeup late, for `punctual why`, if it is later than this: 500us, a
    /// period such as 64@48kHz, or p99.9 of the wakeups so far
    #[arg(long, value_name = "THRESHOLD", value_parser = threshold)]
    pub(crate) why: Option<Threshold>,
    /// With --why, for followed threads: what the threshold is compared with, and where the evidence ends: `total`, at the
    /// switch to the thread; `response`, when it sleeps again, including page faults, locks and I/O; or `request`, when it waits
    /// for its next work, including waits for other threads and processes
    #[arg(long, value_name = "STAGE", default_value = "total", requires = "why", value_parser = ["total", "response", "request"])]
    pub(crate) why_stage: String,
    /// With --why: how many stacks to sample each second on each CPU; 0 for none
    #[arg(long, value_name = "HZ", default_value = "1000", requires = "why", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) sample_rate: u32,
    /// With --why: keep the evidence of at most this many late wakeups
    #[arg(long, value_name = "NUMBER", default_value = "10000", requires = "why", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) why_episodes: u64,
}

impl WhyRecordArguments {
    pub(crate) fn settings(&self) -> Option<WhySettings> {
        let threshold = self.why?;
        let stage = Stage::from_name(&self.why_stage).unwrap_or_default();
        Some(WhySettings { threshold, stage, sample_rate: self.sample_rate, max_episodes: self.why_episodes })
    }
}

#[derive(Debug, Args)]
pub(crate) struct WhyArguments {
    /// A recording made with `punctual record --why`
    #[arg(value_name = "RECORDING", required_unless_present = "explain")]
    pub(crate) recording: Option<PathBuf>,
    /// Explain a kind of cause, or `void`: what it is, how to be sure, and what helps; needs no recording
    #[arg(long, value_name = "KIND", value_parser = topic(), conflicts_with_all = ["episode", "folded", "perfetto", "all_handlers", "html"])]
    pub(crate) explain: Option<Topic>,
    /// Show this episode alone, in full
    #[arg(long, value_name = "NUMBER")]
    pub(crate) episode: Option<u64>,
    /// Show all notes, every cause with at least a thousandth of the lateness, the five longest late wakeups with their parts,
    /// and what the recording cost; JSON has everything
    #[arg(long, conflicts_with_all = ["explain", "episode", "folded", "all_handlers"])]
    pub(crate) all: bool,
    /// Show only late wakeups of threads with this name, or of the thread with this number
    #[arg(long, value_name = "NAME|TID", conflicts_with_all = ["explain", "all_handlers"])]
    pub(crate) thread: Option<String>,
    /// Print stacks below their causes as flame graph tools read them; the weights are ns of lateness
    #[arg(long, conflicts_with_all = ["json", "export_markdown"])]
    pub(crate) folded: bool,
    /// Write a trace for Perfetto: CPUs, threads, interrupts, softirqs, the late thread's parts, the samples
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Compare every interrupt handler, softirq and callback of the run with limits, whether or not a wakeup was late
    #[arg(long, conflicts_with_all = ["episode", "folded", "perfetto", "html"])]
    pub(crate) all_handlers: bool,
    /// Render an HTML report with a section for each cause and a flame graph
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
}

/// What `--explain` explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Cause(Kind),
    /// Late wakeups of which nothing is concluded.
    Void,
}

/// What the first sentence of an answer calls kinds of causes.
fn words(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Irq => &["interrupt", "interrupts"],
        Kind::Softirq => &["softirqs"],
        Kind::Blind => &["out of sight"],
        Kind::Steal => &["host", "the host"],
        Kind::KernelWake => &["ordinary path", "the ordinary path"],
        Kind::Own => &["own work", "their own work"],
        Kind::Lock => &["locks"],
        Kind::Wait => &["waits", "waiting"],
        _ => &[],
    }
}

/// A kind of cause, by its code name, by its name in tables or by what the first sentence calls it; or `void`.
fn topic() -> impl TypedValueParser<Value = Topic> {
    let names = Kind::ALL.map(|kind| {
        let label = Some(kind.label()).filter(|label| *label != kind.name());
        PossibleValue::new(kind.name()).aliases(label.into_iter().chain(words(kind).iter().copied()))
    });
    let void = PossibleValue::new("void").aliases(["without evidence", "without-evidence"]);
    PossibleValuesParser::new(names.into_iter().chain([void])).try_map(|name| {
        let is_it =
            |kind: &Kind| [kind.name(), kind.label()].contains(&name.as_str()) || words(*kind).contains(&name.as_str());
        match Kind::ALL.into_iter().find(is_it) {
            Some(kind) => Ok(Topic::Cause(kind)),
            None if name.starts_with("void") || name.starts_with("without") => Ok(Topic::Void),
            None => Err(name),
        }
    })
}

/// `500us`, `64@48kHz` or `p99.9`.
fn threshold(text: &str) -> Result<Threshold, String> {
    if let Some(quantile) = text.strip_prefix('p') {
        let percent: f64 =
            quantile.parse().map_err(|_| format!("`{text}` is not a quantile: write one such as p99.9"))?;
        if !(50.0..100.0).contains(&percent) {
            return Err(format!("`{text}` is out of range: give a quantile from p50 to below p100, such as p99.9"));
        }
        return Ok(Threshold::Quantile(punctual_recording::quantile_of_percent(percent)));
    }
    match super::values::threshold_time(text)? {
        ns @ 1..=10_000_000_000 => Ok(Threshold::Fixed(ns)),
        _ => Err(format!("`{text}` is out of range: give 1ns to 10s, such as 500us")),
    }
}
