//! Forecasts beside what was counted, as text.

use super::Run;
use crate::layout::{counted, grouped, table};

/// A forecast beside a count.
pub struct VerifiedRow<'a> {
    /// The runs with the device, one per round.
    pub runs: Vec<Run<'a>>,
    /// The forecast mean time between underruns, s: low, estimate, high.
    pub mttf_s: (Option<f64>, Option<f64>, Option<f64>),
    /// How long the device ran, s.
    pub exposure_s: f64,
    /// Stalls to expect in that time: fewest and, if there is a limit, most.
    pub expected: (f64, Option<f64>),
    /// Stalls that were counted.
    pub counted: u64,
    /// The factor by which the machine itself may have changed the rate, judged by how rounds without a device differ
    /// from each other; `None` for fewer than three rounds.
    pub range: Option<f64>,
    /// Whether the two agree.
    pub agrees: bool,
}

impl VerifiedRow<'_> {
    /// Buffers that the device missed, in all rounds.
    fn underruns(&self) -> u64 {
        self.runs.iter().filter_map(|run| run.activations.devices.first()).map(|device| device.underruns).sum()
    }
}

/// The outcome of a verification, in a sentence.
pub(super) fn verified_verdict(rows: &[VerifiedRow<'_>]) -> String {
    let agree = rows.iter().filter(|row| row.agrees).count();
    format!("{agree} of {} agree with the underruns that were counted.", counted(rows.len(), "forecast"))
}

/// A verification as text.
pub fn verified_text(rows: &[VerifiedRow<'_>], exposure_s: f64) -> String {
    let seconds = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let lines = rows.iter().map(|row| {
        let device = row.runs.first().and_then(|run| run.activations.devices.first());
        vec![
            device.map_or_else(String::new, |device| device.device.clone()),
            device.map_or_else(String::new, |device| device.context.clone()),
            seconds(row.mttf_s.0),
            seconds(row.mttf_s.1),
            seconds(row.mttf_s.2),
            format!("{:.1}", row.exposure_s),
            format!("{:.1} to {}", row.expected.0, seconds(row.expected.1)),
            grouped(row.counted),
            grouped(row.underruns()),
            row.range.map_or_else(|| "-".to_owned(), |range| format!("{range:.2}")),
            if row.agrees { "yes" } else { "no" }.to_owned(),
        ]
    });
    let header = [
        "device",
        "context",
        "MTTF low s",
        "estimate",
        "high",
        "ran s",
        "stalls forecast",
        "counted",
        "buffers",
        "changes by",
        "agrees",
    ];
    let rounds = rows.iter().map(|row| row.runs.len()).max().unwrap_or(0);
    let in_turn = if rounds > 1 {
        format!("in {rounds} rounds, in turn with the devices; *changes by* is how much rounds differ beyond chance")
    } else {
        "in one round, which does not tell how much the machine changes meanwhile: from 45 s on there are more"
            .to_owned()
    };
    format!(
        "{}\n\nForecast from {exposure_s:.0} s without a device, {in_turn}.\nOne stall may cost several buffers.\n\n{}\n",
        verified_verdict(rows),
        table(&header, 2..10, lines)
    )
}
