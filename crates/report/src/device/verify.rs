//! Forecasts beside what was counted, as text.

use super::Run;
use crate::layout::{grouped, table};
use crate::verdict::device::verified_verdict;

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
    /// Whether the two agree; `None` if what is expected is so wide that it would agree with almost any count.
    pub agrees: Option<bool>,
}

impl VerifiedRow<'_> {
    /// Buffers that the device missed, in all rounds.
    fn underruns(&self) -> u64 {
        self.runs.iter().filter_map(|run| run.activations.devices.first()).map(|device| device.underruns).sum()
    }
}

/// The outcome of a verification, in a sentence.
pub(super) fn verdict(rows: &[VerifiedRow<'_>]) -> String {
    verified_verdict(&rows.iter().map(|row| row.agrees).collect::<Vec<_>>())
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
            match row.agrees {
                Some(true) => "yes",
                Some(false) => "no",
                None => "cannot tell",
            }
            .to_owned(),
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
    let wide = match rows.iter().any(|row| row.agrees.is_none()) {
        true => {
            "Where the most stalls forecast are over ten times the fewest, taken as 1 at least, the count cannot tell.\n"
        }
        false => "",
    };
    format!(
        "{}\n\nForecast from {exposure_s:.0} s without a device, {in_turn}.\nOne stall may cost several buffers.\n{wide}\n{}\n",
        verdict(rows),
        table(&header, 2..10, lines)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(agrees: Option<bool>) -> VerifiedRow<'static> {
        VerifiedRow {
            runs: Vec::new(),
            mttf_s: (None, None, None),
            exposure_s: 10.0,
            expected: (0.0, Some(968.64)),
            counted: 0,
            range: None,
            agrees,
        }
    }

    #[test]
    fn a_forecast_that_cannot_tell_is_not_counted_among_those_that_agree() {
        let said = |agree: &[Option<bool>]| {
            let rows: Vec<VerifiedRow<'_>> = agree.iter().map(|agrees| row(*agrees)).collect();
            verdict(&rows)
        };
        assert_eq!(said(&[Some(true)]), "1 of 1 forecast agrees with the underruns that were counted.");
        assert!(said(&[None]).starts_with("Whether 1 forecast agrees with the underruns that were counted cannot"));
        let all = said(&[Some(true), None, Some(false), None]);
        assert!(all.starts_with("1 of 2 forecasts agree with") && all.contains(" Whether 2 forecasts agree"), "{all}");
        let text = verified_text(&[row(None)], 10.0);
        assert!(text.contains("cannot tell") && text.contains("over ten times the fewest"), "{text}");
        assert!(!verified_text(&[row(Some(true))], 10.0).contains("over ten"));
    }
}
