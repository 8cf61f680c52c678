//! The samples that were pending in a call, second by second, as a picture.
//!
//! Figures 5 to 7, 14 and 18 of MSR-TR-2000-88 show the samples that were left after each block, over a whole call.

use crate::encode::plain_page::{coordinate, escape};
use crate::layout::{counted, grouped};
use punctual_modem::transfer::{Attempt, Course};
use std::fmt::Write as _;

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 190.0;
/// Left of the axis is room for a count of hundreds of thousands.
const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 8.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = HEIGHT - 40.0;
/// More bars could not be distinguished: in longer calls, each has several seconds.
const MAX_BARS: usize = 280;

/// The axes of all pictures of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axes {
    seconds: usize,
    samples: u32,
    ring: u32,
}

impl Axes {
    /// Axes that hold all of these calls and the ring.
    pub(super) fn of(courses: &[Course], ring: u32) -> Axes {
        let seconds = courses.iter().map(|course| course.seconds.len()).max().unwrap_or(0).max(1).next_multiple_of(3);
        let most = courses.iter().filter_map(Course::max_pending).max().unwrap_or(0);
        Axes { seconds, samples: round_up(most.max(ring)), ring }
    }

    fn x(&self, second: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * second / self.seconds as f64
    }

    fn y(&self, samples: u32) -> f64 {
        BOTTOM - (BOTTOM - TOP) * f64::from(samples) / f64::from(self.samples)
    }
}

/// The next of 1, 1.5, 2, 3, 6 and 10 times a power of ten: a half and a third of each are numbers that people read
/// easily.
fn round_up(least: u32) -> u32 {
    let mut scale = 10u32;
    loop {
        let found = [10, 15, 20, 30, 60].into_iter().map(|tenths| scale / 10 * tenths).find(|step| *step >= least);
        match (found, scale.checked_mul(10)) {
            (Some(step), _) => return step,
            (None, Some(next)) if next < u32::MAX / 6 => scale = next,
            (None, _) => return u32::MAX,
        }
    }
}

/// The picture of a call.
pub(super) fn pending(name: &str, course: &Course, attempt: &Attempt, axes: &Axes) -> String {
    let underruns: u64 = course.seconds.iter().map(|second| u64::from(second.underruns)).sum();
    let most = course.max_pending().map_or_else(|| "none".to_owned(), |most| counted(most, "sample"));
    let title = format!(
        "{name}: {}, at most {most} pending, {}, {}",
        attempt.ending.name().replace('_', " "),
        counted(underruns, "underrun"),
        counted(attempt.overruns, "overrun")
    );
    let mut out = format!(
        "<figure><figcaption>{title}</figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" role=\"img\" aria-label=\"Samples pending by second. {title}\">\n",
        title = escape(&title)
    );
    frame(axes, &mut out);
    bars(course, axes, &mut out);
    let linked = attempt.set_up_ns as f64 / 1e9;
    if attempt.bits_per_second > 0 && linked < axes.seconds as f64 {
        let x = coordinate(axes.x(linked));
        let _ = writeln!(
            out,
            "<path class=\"cross\" stroke-dasharray=\"2 3\" d=\"M{x} {TOP}V{BOTTOM}\"><title>linked after {linked:.1} s</title></path>"
        );
    }
    out.push_str("</svg></figure>\n");
    out
}

fn frame(axes: &Axes, out: &mut String) {
    for part in 0..=2 {
        let samples = axes.samples / 2 * part;
        let y = axes.y(samples);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y}H{RIGHT}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LEFT - 5.0,
            coordinate(y + 4.0),
            grouped(samples.into()),
            y = coordinate(y)
        );
    }
    let ring = coordinate(axes.y(axes.ring));
    let _ = writeln!(
        out,
        "<path class=\"cross\" stroke-dasharray=\"5 4\" d=\"M{LEFT} {ring}H{RIGHT}\"><title>the ring holds {}</title></path>\
         <path class=\"axis\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>",
        counted(axes.ring, "sample")
    );
    for part in 0..=3 {
        let second = axes.seconds as f64 * f64::from(part) / 3.0;
        let anchor = if part == 3 { "end" } else { "middle" };
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{second:.0}</text>",
            coordinate(axes.x(second)),
            BOTTOM + 15.0
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"soft\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">samples pending, by second of the call</text>",
        coordinate(f64::midpoint(LEFT, RIGHT)),
        HEIGHT - 8.0
    );
}

/// A bar for each second, or for several: the most that were pending. Below it is a mark where something was not sent
/// in time, and at the top one where the ring wrapped.
fn bars(course: &Course, axes: &Axes, out: &mut String) {
    let wide = axes.seconds.div_ceil(MAX_BARS).max(1);
    let width = axes.x(wide as f64) - axes.x(0.0);
    let (mut drawn, mut late) = (String::new(), String::new());
    for (place, seconds) in course.seconds.chunks(wide).enumerate() {
        let x = axes.x((place * wide) as f64);
        if let Some(most) = seconds.iter().filter_map(|second| second.max_pending).max() {
            // Zero is visible, too.
            let height = (BOTTOM - axes.y(most)).max(0.6);
            let _ = write!(
                drawn,
                "M{} {BOTTOM}v-{}h{}v{}z",
                coordinate(x),
                coordinate(height),
                coordinate(width.max(0.5)),
                coordinate(height)
            );
        }
        let middle = coordinate(x + width / 2.0);
        if seconds.iter().any(|second| second.underruns > 0) {
            let _ = write!(late, "M{middle} {}v4", BOTTOM + 1.0);
        }
        if seconds.iter().any(|second| second.overruns > 0) {
            let _ = write!(late, "M{middle} {TOP}v6");
        }
    }
    let _ = writeln!(out, "<path class=\"bar\" d=\"{drawn}\"/><path class=\"late\" d=\"{late}\"/>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_above_what_it_holds() {
        for (least, most) in [(1, 10), (512, 600), (601, 1_000), (7_560, 10_000), (1_001, 1_500)] {
            assert_eq!(round_up(least), most);
        }
        assert!((0..40_000_000).step_by(9_973).all(|least| round_up(least) >= least));
        assert_eq!(round_up(u32::MAX), u32::MAX);
    }
}
