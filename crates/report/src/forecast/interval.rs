//! A mean time between underruns with its limits, in words.

use punctual_forecast::{Estimate, are_too_wide, format_seconds};

/// No recording could show a longer time between underruns than this, ten years, s.
const MAX_TOLD_S: f64 = 10.0 * 365.25 * 86_400.0;

/// A mean time and its limits. If the limits together say nothing, the one that decides the answer stays: for a device
/// that fails, the upper one.
pub(super) fn interval_text(mttf: &Estimate, fails: bool) -> String {
    let told = |seconds: Option<f64>| seconds.filter(|seconds| *seconds <= MAX_TOLD_S);
    match (mttf.low, told(mttf.value), told(mttf.high)) {
        (Some(low), Some(value), Some(high)) if are_too_wide(low, high) => match fails {
            true => format!("{} ({} or less)", format_seconds(value), format_seconds(high)),
            false => format!("{} ({} or more)", format_seconds(value), format_seconds(low)),
        },
        (Some(low), Some(value), Some(high)) => {
            format!("{} ({} to {})", format_seconds(value), format_seconds(low), format_seconds(high))
        }
        (Some(low), None, Some(high)) => format!("{} to {}", format_seconds(low), format_seconds(high)),
        (Some(low), Some(value), None) if mttf.high.is_some() => {
            format!("{} ({} or more)", format_seconds(value), format_seconds(low))
        }
        (Some(low), _, None) => format!("at least {}", format_seconds(low)),
        (None, _, Some(high)) => format!("at most {}", format_seconds(high)),
        (None, _, None) => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_recording_shows_is_left_open() {
        let said = |low, value, high| interval_text(&Estimate { low: Some(low), value: Some(value), high }, false);
        assert_eq!(said(0.5, 25.0, Some(90.0)), "25 s (500 ms to 90 s)");
        assert_eq!(said(0.5, 25.0, Some(4e18)), "25 s (500 ms or more)");
        assert_eq!(said(0.5, 1e12, Some(4e18)), "at least 500 ms");
        assert_eq!(said(0.5, 25.0, None), "at least 500 ms");
        // Seven in 20 s that came in bursts: limits a millionfold apart are no limits.
        let bursts = Estimate { low: Some(2.16e-3), value: Some(2.8), high: Some(1_800.0) };
        assert_eq!(
            [true, false].map(|fails| interval_text(&bursts, fails)),
            ["2.80 s (30 min or less)", "2.80 s (2.16 ms or more)"]
        );
    }
}
