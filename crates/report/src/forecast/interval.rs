//! A mean time between underruns with its limits, in words.

use punctual_forecast::{Estimate, format_seconds};

/// No recording could show a longer time between underruns than this, ten years, s.
const MAX_TOLD_S: f64 = 10.0 * 365.25 * 86_400.0;

/// What may be said of a mean time between underruns, in text and on a page: without what no recording could show.
pub(super) fn told(mttf: &Estimate) -> Estimate {
    let told = |seconds: Option<f64>| seconds.filter(|seconds| *seconds <= MAX_TOLD_S);
    Estimate { low: mttf.low, value: told(mttf.value), high: told(mttf.high) }
}

/// A mean time and its limits, both of them however far apart they are: they are those of the page and of the JSON.
pub(super) fn interval_text(mttf: &Estimate) -> String {
    let is_longer = mttf.high.is_some();
    let mttf = told(mttf);
    match (mttf.low, mttf.value, mttf.high) {
        (Some(low), Some(value), Some(high)) => {
            format!("{} ({} to {})", format_seconds(value), format_seconds(low), format_seconds(high))
        }
        (Some(low), None, Some(high)) => format!("{} to {}", format_seconds(low), format_seconds(high)),
        (Some(low), Some(value), None) if is_longer => {
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
        let said = |low, value, high| interval_text(&Estimate { low: Some(low), value: Some(value), high });
        assert_eq!(said(0.5, 25.0, Some(90.0)), "25 s (500 ms to 90 s)");
        assert_eq!(said(0.5, 25.0, Some(4e18)), "25 s (500 ms or more)");
        assert_eq!(said(0.5, 1e12, Some(4e18)), "at least 500 ms");
        assert_eq!(said(0.5, 25.0, None), "at least 500 ms");
        // Seven in 20 s that came in bursts: both limits, as on the page, however far apart.
        assert_eq!(said(2.16e-3, 2.8, Some(1_800.0)), "2.80 s (2.16 ms to 30 min)");
    }
}
