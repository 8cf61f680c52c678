//! Points over time and histograms as inline SVG, with the paper's own numbers drawn across.

use crate::encode::plain_page::{coordinate, escape, number};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Left of the plot is room for a count of millions beside the name of the axis.
const LEFT: f64 = 86.0;
const WIDTH: f64 = 640.0;
const RIGHT: f64 = 128.0;
const TOP: f64 = 22.0;
const HEIGHT: f64 = 210.0;
const BOTTOM: f64 = 44.0;
/// At most this many points are drawn in one pixel column, including the lowest and the highest.
const MAX_IN_COLUMN: usize = 12;
/// Width of a histogram's bucket, us.
const BUCKET: f64 = 50.0;

/// One picture.
pub(crate) struct Plot<'a> {
    /// Its name, which is read out if it cannot be seen.
    pub(crate) title: &'a str,
    /// Quantity and unit to the right.
    pub(crate) x: &'a str,
    /// Quantity and unit upwards.
    pub(crate) y: &'a str,
    /// Bars with a logarithmic count instead of dots.
    pub(crate) histogram: bool,
    /// The paper's numbers on the vertical axis: drawn across.
    pub(crate) said_y: &'a [f64],
    /// The paper's numbers on the horizontal axis: drawn upright.
    pub(crate) said_x: &'a [f64],
}

/// The next of 1, 2 and 5 times a power of ten that gives at most `marks` marks up to `most`.
fn step(most: f64, marks: f64) -> f64 {
    let mut scale = 10f64.powf((most.max(1e-9) / marks).log10().floor());
    loop {
        for factor in [1.0, 2.0, 5.0] {
            if most / (scale * factor) <= marks {
                return scale * factor;
            }
        }
        scale *= 10.0;
    }
}

/// Distinct dots by pixel column. Several points on the same dot are drawn once; a crowded column keeps its extremes.
fn dots(points: &[(f64, f64)], x_at: impl Fn(f64) -> f64, y_at: impl Fn(f64) -> f64) -> (String, usize) {
    let mut columns: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for &(x, y) in points {
        columns.entry(x_at(x).round() as i64).or_default().push(y_at(y).round() as i64);
    }
    let (mut path, mut drawn) = (String::new(), 0);
    for (x, mut column) in columns {
        column.sort_unstable();
        column.dedup();
        let every = column.len().div_ceil(MAX_IN_COLUMN).max(1);
        let last = column.len() - 1;
        for (index, y) in column.into_iter().enumerate() {
            if index % every == 0 || index == last {
                let _ = write!(path, "M{x} {y}h0");
                drawn += 1;
            }
        }
    }
    (path, drawn)
}

fn frame(out: &mut String) {
    let _ = writeln!(out, "<path class=\"axis\" d=\"M{LEFT} {TOP}v{HEIGHT}h{WIDTH}\"/>");
}

/// Where labels stand that would each like to begin at a place and take a length: in order, apart from one another, and none
/// beyond the end as long as all have room.
fn apart(wanted: &[(f64, f64)], start: f64, end: f64) -> Vec<f64> {
    let mut free = start;
    let mut places: Vec<f64> = Vec::new();
    for &(place, length) in wanted {
        places.push(place.max(free));
        free = place.max(free) + length;
    }
    let mut limit = end;
    for (place, (_, length)) in places.iter_mut().zip(wanted).rev() {
        *place = (*place).min(limit - length);
        limit = *place;
    }
    places
}

/// Labels of the paper's numbers, pushed apart where they would overlap.
fn said(values: &[f64], y_at: impl Fn(f64) -> f64, out: &mut String) {
    let mut places: Vec<(f64, f64)> = values.iter().map(|&value| (y_at(value), value)).collect();
    places.sort_by(|one, other| one.0.total_cmp(&other.0));
    places.dedup_by(|one, other| one.1 == other.1);
    let wanted: Vec<(f64, f64)> = places.iter().map(|(y, _)| (y + 4.0, 13.0)).collect();
    // The lowest stands no lower than the axis, below which are the numbers of the other one.
    let labels = apart(&wanted, TOP - 4.0, TOP + HEIGHT + 2.0 + 13.0);
    for ((y, value), label) in places.into_iter().zip(labels) {
        let _ = writeln!(
            out,
            "<path class=\"said\" d=\"M{LEFT} {}h{WIDTH}\"/><text class=\"saidtext\" x=\"{}\" y=\"{}\">paper: {}</text>",
            coordinate(y),
            LEFT + WIDTH + 6.0,
            coordinate(label),
            number(value)
        );
    }
}

impl Plot<'_> {
    /// The picture, and how many of the points are drawn.
    pub(crate) fn svg(&self, points: &[(f64, f64)]) -> (String, usize) {
        let (width, height) = (LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0f64, f64::max);
        let x_end = largest(&mut points.iter().map(|point| point.0).chain(self.said_x.iter().copied()))
            + if self.histogram { BUCKET } else { 0.0 };
        let x_step = step(x_end.max(1e-6), 10.0);
        let x_max = if self.histogram { (x_end / x_step).ceil() * x_step } else { x_end.max(1e-6) };
        let y_max = largest(&mut points.iter().map(|point| point.1).chain(self.said_y.iter().copied())).max(1e-6);
        let mut out = format!(
            "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}; \
             to the right {}, upwards {}; {} points, the highest at {}\">\n",
            escape(self.title),
            escape(self.x),
            escape(self.y),
            points.len(),
            number(points.iter().map(|point| point.1).fold(0.0, f64::max))
        );
        let x_at = |x: f64| LEFT + WIDTH * x / x_max;
        let mut mark = 0.0;
        while mark <= x_max * 1.000_001 {
            let x = coordinate(x_at(mark));
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{x} {TOP}v{HEIGHT}\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                TOP + HEIGHT + 16.0,
                number(mark)
            );
            mark += x_step;
        }
        let drawn = if self.histogram {
            self.bars(points, y_max, x_at, &mut out)
        } else {
            self.points(points, y_max, x_at, &mut out)
        };
        self.upright(width, x_at, &mut out);
        frame(&mut out);
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n</svg>",
            LEFT + WIDTH / 2.0,
            height - 8.0,
            escape(self.x),
            TOP + HEIGHT / 2.0,
            escape(self.y)
        );
        (out, drawn)
    }

    /// The paper's numbers on the horizontal axis, with their labels above.
    fn upright(&self, width: f64, x_at: impl Fn(f64) -> f64, out: &mut String) {
        let texts: Vec<String> = self.said_x.iter().map(|&value| format!("paper: {}", number(value))).collect();
        let wanted: Vec<(f64, f64)> =
            self.said_x.iter().zip(&texts).map(|(&value, text)| (x_at(value), text.len() as f64 * 7.0 + 8.0)).collect();
        for ((&value, text), label) in self.said_x.iter().zip(&texts).zip(apart(&wanted, f64::NEG_INFINITY, width)) {
            let x = x_at(value);
            let _ = writeln!(
                out,
                "<path class=\"said\" d=\"M{x:.1} {TOP}v{HEIGHT}\"/><text class=\"saidtext\" x=\"{label:.1}\" y=\"{}\">{text}</text>",
                TOP - 8.0
            );
        }
    }

    fn points(&self, points: &[(f64, f64)], most: f64, x_at: impl Fn(f64) -> f64, out: &mut String) -> usize {
        let most = most * 1.05;
        let y_at = |y: f64| TOP + HEIGHT * (1.0 - y / most);
        let every = step(most, 6.0);
        let mut mark = 0.0;
        while mark <= most {
            let y = coordinate(y_at(mark));
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {y}h{WIDTH}\"/><text x=\"{}\" y=\"{y}\" dy=\"4\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                number(mark)
            );
            mark += every;
        }
        let (path, drawn) = dots(points, x_at, y_at);
        let _ = writeln!(out, "<path class=\"dots\" d=\"{path}\"/>");
        said(self.said_y, y_at, out);
        drawn
    }

    /// Bars from half a count up, on a logarithmic scale, so that a single late one is still visible.
    fn bars(&self, points: &[(f64, f64)], most: f64, x_at: impl Fn(f64) -> f64, out: &mut String) -> usize {
        let decades = most.log10().ceil().max(1.0);
        let low = 0.5f64.log10();
        let y_at = |count: f64| TOP + HEIGHT * (1.0 - (count.log10() - low) / (decades - low));
        for decade in 0..=decades as i32 {
            let count = 10f64.powi(decade);
            let y = coordinate(y_at(count));
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {y}h{WIDTH}\"/><text x=\"{}\" y=\"{y}\" dy=\"4\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                number(count)
            );
        }
        for &(bucket, count) in points {
            let (left, right, top) = (x_at(bucket), x_at(bucket + BUCKET), y_at(count));
            let _ = writeln!(
                out,
                "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{} to {} us: {}</title></rect>",
                coordinate(left),
                coordinate(top),
                coordinate((right - left - 0.5).max(1.5)),
                coordinate((TOP + HEIGHT - top).max(0.0)),
                number(bucket),
                number(bucket + BUCKET),
                number(count)
            );
        }
        points.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::plain_page::tests::labels;

    #[test]
    fn extremes_survive_the_thinning() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|at| (at as f64 / 1000.0, (at * 7 % 500) as f64)).collect();
        points.push((50.0, 900.0));
        let plot = Plot { title: "t", x: "time, s", y: "ms", histogram: false, said_y: &[], said_x: &[] };
        let (svg, drawn) = plot.svg(&points);
        assert!(drawn < 10_000 && svg.len() < 120_000, "{drawn} {}", svg.len());
        assert!(svg.contains("the highest at 900"));
        let top = coordinate(TOP + HEIGHT * (1.0 - 1.0 / 1.05));
        let top: f64 = top.parse().unwrap();
        assert!(svg.contains(&format!(" {}h0", top.round())), "the highest point is drawn");
    }

    #[test]
    fn labels_are_pushed_apart() {
        let mut out = String::new();
        said(&[10.0, 10.5, 10.0], |value| 100.0 + value, &mut out);
        assert_eq!(out.matches("<text").count(), 2);
        assert!(out.contains("y=\"114\"") && out.contains("y=\"127\""), "{out}");
    }

    /// Numbers that a paper prints close to one another, at either end of an axis.
    #[test]
    fn no_number_of_a_paper_is_over_another_or_cut_off() {
        let close = |from: f64| [from, from * 1.001, from * 1.002];
        let mut met = 0;
        for histogram in [true, false] {
            for said in [close(9_760.0), close(0.001), close(400.0)] {
                let (said_x, said_y): (&[f64], &[f64]) = if histogram { (&said, &[]) } else { (&[], &said) };
                let plot = Plot { title: "t", x: "time, us", y: "us", histogram, said_y, said_x };
                let (svg, _) = plot.svg(&[(0.0, 1.0), (9_000.0, 9_000.0)]);
                let bare = svg.replace(" transform=\"translate(14 127) rotate(-90)\"", " x=\"14\" y=\"127\"");
                let labels = labels(&bare);
                let said: Vec<_> = labels.iter().filter(|(_, words)| words.starts_with("paper: ")).collect();
                assert_eq!(said.len(), 3, "{svg}");
                for (place, words) in said {
                    assert!(place[1] <= LEFT + WIDTH + RIGHT, "{words} is cut off: {svg}");
                    for (other, others) in labels.iter().filter(|(other, _)| other != place) {
                        let clear = place[1] <= other[0] || other[1] <= place[0] || place[3] <= other[2] + 2.0;
                        assert!(clear || other[3] <= place[2] + 2.0, "{words} is over {others}: {svg}");
                        met += 1;
                    }
                }
            }
        }
        assert!(met > 100, "{met} pairs");
    }

    #[test]
    fn steps_are_round() {
        assert_eq!((step(28.0, 10.0), step(0.9, 6.0), step(18_200.0, 10.0)), (5.0, 0.2, 2000.0));
    }
}
