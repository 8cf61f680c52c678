//! Counts as bars, inline SVG.

use crate::encode::plain_page::{escape, number};
use crate::layout::grouped;
use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 150.0;
/// Where the bars begin: left of it is room for a count of seven digits.
const LEFT: f64 = 72.0;
/// Where they end: right of it is room for half of such a count.
const RIGHT: f64 = WIDTH - 28.0;

/// The smallest of 1, 2, 5, 10, ... times a power of ten that is not below this.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= least).unwrap_or(power * 10.0)
}

/// Bars with a logarithmic height, so that one in thousands can be seen. `unit`: what the axis counts in.
/// Values above `most` are drawn in the last bar, which says so.
pub(super) fn histogram(title: &str, bars: &[(u64, u64)], bin: u64, unit: f64, most: Option<u64>, body: &mut String) {
    let Some(&(last, _)) = bars.last() else { return };
    let end = most.unwrap_or(last + bin).max(bin);
    let beyond: u64 = bars.iter().filter(|(from, _)| *from >= end).map(|(_, count)| count).sum();
    let tallest = bars.iter().map(|(_, count)| *count).max().unwrap_or(1) as f64;
    let height = |count: u64| ((count as f64).ln() + 1.0) / (tallest.ln() + 1.0) * (HEIGHT - 30.0);
    let x = |value: u64| LEFT + value.min(end) as f64 / end as f64 * (RIGHT - LEFT);
    let _ = write!(
        body,
        "<figure><svg viewBox=\"0 0 {WIDTH} {0}\" width=\"{WIDTH}\" height=\"{0}\" role=\"img\" aria-label=\"{1}\">",
        HEIGHT + 20.0,
        escape(title)
    );
    for &(from, count) in bars.iter().filter(|(from, _)| *from < end) {
        let (left, right) = (x(from), x(from + bin).max(x(from) + 1.0));
        let tall = height(count).max(1.0);
        let _ = write!(
            body,
            "<rect class=\"bar\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"/>",
            HEIGHT - tall,
            (right - left - 0.3).max(0.7)
        );
    }
    let _ = write!(body, "<path class=\"axis\" d=\"M{LEFT} {HEIGHT}H{RIGHT}\"/>");
    let step = round_step(end as f64 / unit / 8.0) * unit;
    let mut value = 0.0;
    while value <= end as f64 {
        let _ = write!(
            body,
            "<text class=\"soft\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(value as u64),
            HEIGHT + 15.0,
            number(value / unit)
        );
        value += step;
    }
    heights(tallest as u64, HEIGHT - height(tallest as u64), HEIGHT - height(1), body);
    body.push_str("</svg>");
    let more = if beyond > 0 { format!("; {} further to the right", grouped(beyond)) } else { String::new() };
    let _ = writeln!(body, "<figcaption>{}{more}</figcaption></figure>", escape(title));
}

/// What the tallest bar and a bar of one count, each with its top at this height. Where no bar is taller than one, they
/// are the same.
fn heights(tallest: u64, top: f64, top_of_one: f64, body: &mut String) {
    let mut text = |y: f64, count: u64| {
        let x = LEFT - 4.0;
        let count = grouped(count);
        let _ = write!(body, "<text class=\"soft\" x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{count}</text>");
    };
    text(top + 10.0, tallest);
    if tallest > 1 {
        text(top_of_one + 4.0, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::plain_page::tests::{assert_well_formed, labels};

    #[test]
    fn axes_have_round_steps() {
        for (least, step) in [(0.7, 1.0), (1.0, 1.0), (1.3, 2.0), (30.0, 50.0), (64.0, 100.0)] {
            assert_eq!(round_step(least), step);
        }
    }

    #[test]
    fn a_histogram_is_well_formed() {
        let mut body = String::new();
        histogram("a < b", &[(0, 3), (950_000, 1_000), (7_000_000, 1)], 50_000, 1e6, Some(6_000_000), &mut body);
        assert_well_formed(&crate::encode::plain_page::frame("x", "", &body));
        assert!(body.contains("1 further to the right") && body.contains("a &lt; b"));
    }

    /// Whatever was measured: a run that was cut may have one value, or several that all differ.
    #[test]
    fn no_label_is_over_another_or_cut_off() {
        let shapes: [&[u64]; 7] = [&[1], &[1, 1, 1, 1], &[2], &[1, 2], &[3, 1, 40_000], &[9_999_999], &[1, 120_000, 7]];
        let kinds = [(50_000, 1e6, Some(6_000_000)), (100_000, 1e6, None), (10, 1.0, None)];
        let mut met = 0;
        for (bin, unit, most) in kinds {
            for (counts, apart) in shapes.iter().flat_map(|counts| [1, 3, 71, 999].map(|apart| (counts, apart))) {
                let bars: Vec<(u64, u64)> =
                    counts.iter().zip(1..).map(|(count, at)| (at * apart * bin, *count)).collect();
                let mut body = String::new();
                histogram("a", &bars, bin, unit, most, &mut body);
                let labels = labels(&body);
                for (index, ([left, right, top, bottom], words)) in labels.iter().enumerate() {
                    assert!(*left >= 0.0 && *right <= WIDTH, "{words} is cut off: {bars:?}: {body}");
                    for ([other_left, other_right, other_top, other_bottom], other) in &labels[index + 1..] {
                        let aside = right <= other_left || other_right <= left;
                        let clear = aside || bottom <= other_top || other_bottom <= top;
                        assert!(clear, "{words} is over {other}: {bars:?}: {body}");
                        met += 1;
                    }
                }
            }
        }
        assert!(met > 1_000, "{met} pairs");
    }
}
