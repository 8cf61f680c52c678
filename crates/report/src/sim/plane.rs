//! Planes: a class or a count at every point of a grid, as in Figure 17 of soft-modem-2000.

use crate::encode::head::{Head, Part, standing};
use crate::encode::plain_page::{LETTER, escape};
use crate::layout::{counted, grouped};
use punctual_sim::experiment::Point;
use punctual_sim::sweep::{Axis, Sweep};
use std::fmt::Write;

/// What is at a point of a plane. A missing point was not asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Nothing was late.
    Sufficient,
    /// It got through, but not undisturbed.
    Marginal,
    /// It did not get through.
    Insufficient,
    /// No such machine can exist.
    Impossible,
    /// How many were missed, or any other count where more is worse.
    Count(u64),
}

impl Cell {
    /// Reads the name of a class.
    pub fn of_class(name: &str) -> Option<Cell> {
        Some(match name {
            "sufficient" => Cell::Sufficient,
            "marginal" => Cell::Marginal,
            "insufficient" => Cell::Insufficient,
            "impossible" => Cell::Impossible,
            _ => return None,
        })
    }

    fn word(&self) -> String {
        match self {
            Cell::Sufficient => "sufficient".to_owned(),
            Cell::Marginal => "marginal".to_owned(),
            Cell::Insufficient => "insufficient".to_owned(),
            Cell::Impossible => "impossible".to_owned(),
            Cell::Count(count) => grouped(*count),
        }
    }
}

impl From<&Point> for Cell {
    fn from(point: &Point) -> Cell {
        Cell::of_class(point.class()).unwrap_or(Cell::Impossible)
    }
}

const LEFT: f64 = 64.0;
/// Above the plane is the name of the axis upwards, which beside a low plane would be cut off.
const TOP: f64 = 28.0;
/// A grid with more columns or rows than this would have cells too small to distinguish.
const MAX_SIDE: usize = 400;
/// Each combination of the leading axes of a grid with more than two axes gives a plane; no more than this.
const MAX_PLANES: u64 = 24;

/// A count in at most four letters, so that it fits into its cell.
fn short(count: u64) -> String {
    match count {
        0..=9_999 => count.to_string(),
        10_000..=999_999 => format!("{}k", count / 1000),
        1_000_000..=999_999_999 => format!("{}M", count / 1_000_000),
        _ => ">1G".to_owned(),
    }
}

fn draw(cell: &Cell, most: u64, x: f64, y: f64, side: f64, name: &str, out: &mut String) {
    let (class, letter) = match cell {
        Cell::Sufficient => ("yes", "●".to_owned()),
        Cell::Marginal => ("some", "◐".to_owned()),
        Cell::Insufficient => ("no", "×".to_owned()),
        Cell::Impossible => ("none", "–".to_owned()),
        Cell::Count(0) => ("yes", "0".to_owned()),
        Cell::Count(count) => ("worse", short(*count)),
    };
    // Counts span many powers of ten: the depth of colour follows their logarithm.
    let depth = match cell {
        Cell::Count(count) if *count > 0 => 0.15 + 0.45 * ((*count as f64).ln_1p() / (most.max(1) as f64).ln_1p()),
        _ => 1.0,
    };
    let opacity = if depth < 1.0 { format!(" fill-opacity=\"{depth:.2}\"") } else { String::new() };
    let _ = write!(
        out,
        "<g><title>{}: {}</title><rect class=\"{class}\"{opacity} x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{w:.1}\"/>",
        escape(name),
        cell.word(),
        w = (side - 1.5).max(1.0)
    );
    let (size, fits) = match letter.chars().count() {
        1 => (14.0, side >= 14.0),
        2 => (12.0, side >= 20.0),
        _ => (10.0, side >= 27.0),
    };
    if fits {
        let ink = match class {
            "yes" | "some" | "no" => format!(" class=\"on{class}\""),
            _ => String::new(),
        };
        let _ = write!(
            out,
            "<text{ink} x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" style=\"font-size:{size}px\">{letter}</text>",
            x + side / 2.0 - 0.75,
            y + side / 2.0 + size * 0.35
        );
    }
    out.push_str("</g>\n");
}

fn length(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// How much room the longest value of an axis takes.
fn longest(axis: &Axis) -> f64 {
    (0..axis.values.len()).map(|index| length(&axis.written(index))).fold(0.0, f64::max)
}

/// Where a plane stands in its picture, so that no name and no value of its axes is cut off.
struct Place {
    columns: usize,
    rows: usize,
    /// Of a cell.
    side: f64,
    /// Left of the plane is room for the values of the axis upwards.
    left: f64,
    /// The middle of the name of the axis to the right.
    middle: f64,
    width: f64,
    height: f64,
}

impl Place {
    /// `None` if there is nothing to draw, or too much.
    fn of(right: &Axis, up: Option<&Axis>) -> Option<Place> {
        let (columns, rows) = (right.values.len(), up.map_or(1, |up| up.values.len()));
        if columns == 0 || rows == 0 || columns > MAX_SIDE || rows > MAX_SIDE {
            return None;
        }
        let side = (900.0 / columns as f64).min(600.0 / rows as f64).clamp(2.0, 30.0);
        let half_value = longest(right) / 2.0;
        let left = LEFT.max(half_value - side / 2.0).max(up.map_or(0.0, longest) + 10.0);
        let plane = left + side * columns as f64;
        let half_name = length(&right.name) / 2.0 + 1.5 * LETTER;
        let middle = f64::midpoint(left, plane).max(half_name);
        let upwards = up.map_or(0.0, |up| length(&up.name) + 3.0 * LETTER);
        let width = (plane + half_value.max(20.0)).max(middle + half_name).max(upwards).max(200.0);
        Some(Place { columns, rows, side, left, middle, width, height: TOP + side * rows as f64 + 48.0 })
    }

    /// The left and the top edge of a cell.
    fn cell(&self, row: usize, column: usize) -> (f64, f64) {
        (self.left + self.side * column as f64, TOP + self.side * (self.rows - 1 - row) as f64)
    }
}

/// The line around a plane, and the axis below it.
fn draw_right_axis(right: &Axis, place: &Place, out: &mut String) {
    let &Place { columns, rows, side, left, middle, .. } = place;
    let bottom = TOP + side * rows as f64;
    let _ =
        writeln!(out, "<path class=\"axis\" d=\"M{left:.1} {TOP}V{bottom:.1}H{:.1}\"/>", left + side * columns as f64);
    let every = ((longest(right) + 6.0) / side).ceil().max(1.0) as usize;
    for column in (0..columns).step_by(every) {
        let value = escape(&right.written(column));
        let x = left + side * (column as f64 + 0.5);
        let _ = write!(out, "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{value}</text>", bottom + 16.0);
    }
    let _ = writeln!(
        out,
        "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{} →</text>",
        bottom + 38.0,
        escape(&right.name)
    );
}

/// The axis beside a plane, with its name above.
fn draw_up_axis(up: &Axis, place: &Place, out: &mut String) {
    let every = (14.0 / place.side).ceil() as usize;
    for row in (0..place.rows).step_by(every.max(1)) {
        let value = escape(&up.written(row));
        let y = place.cell(row, 0).1 + place.side * 0.5 + 4.0;
        let _ = write!(out, "<text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\">{value}</text>", place.left - 6.0);
    }
    let _ = writeln!(out, "<text x=\"4\" y=\"{}\">↑ {}</text>", TOP - 14.0, escape(&up.name));
}

/// One plane as SVG: the last two axes of the sweep, the last but one upwards, the last to the right, as in Figure 17.
/// A sweep of one axis is one row. With more than two axes, `leading` says which plane (0 is the first). `None` if
/// there is nothing to draw, or too much.
pub fn plane_svg(sweep: &Sweep, cells: &[(u64, Cell)], leading: u64, title: &str) -> Option<String> {
    let axes = sweep.axes();
    let right = axes.last()?;
    let up = axes.len().checked_sub(2).map(|index| &axes[index]);
    let place = Place::of(right, up)?;
    let Place { columns, rows, side, width, height, .. } = place;
    let most = cells.iter().map(|(_, cell)| if let Cell::Count(count) = cell { *count } else { 0 }).max().unwrap_or(0);
    let plane = (columns * rows) as u64;
    let mut out = format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" \
         aria-label=\"{}\">\n",
        escape(title)
    );
    for (index, cell) in cells {
        if index / plane != leading {
            continue;
        }
        let (row, column) = ((index % plane) as usize / columns, (index % plane) as usize % columns);
        let name = match up {
            Some(up) => format!("{} {}, {} {}", up.name, up.written(row), right.name, right.written(column)),
            None => format!("{} {}", right.name, right.written(column)),
        };
        let (x, y) = place.cell(row, column);
        draw(cell, most, x, y, side, &name, &mut out);
    }
    draw_right_axis(right, &place, &mut out);
    if let Some(up) = up {
        draw_up_axis(up, &place, &mut out);
    }
    out.push_str("</svg>\n");
    Some(out)
}

/// What the shapes mean.
pub(crate) fn legend(counts: bool) -> &'static str {
    if counts {
        "<p class=\"soft\">A number is a count, 0 on green; the deeper the red, the more, by the logarithm (k: \
         thousands, M: millions). – no such machine exists; an empty place was not computed.</p>\n"
    } else {
        "<p class=\"soft\">● sufficient, ◐ marginal, × insufficient, – no such machine exists; an empty place was not \
         computed.</p>\n"
    }
}

/// A sweep as a page: a plane for each combination of the leading axes, and every point in a table. `context` and
/// `verdict` come above them: the command, and its answer in a sentence.
pub fn plane_html(sweep: &Sweep, cells: &[(u64, Cell)], title: &str, context: &str, verdict: &str) -> String {
    let counts = cells.iter().any(|(_, cell)| matches!(cell, Cell::Count(_)));
    let mut body = legend(counts).to_owned();
    planes(sweep, cells, title, &mut body);
    let parts = [Part::new("plane", "The plane", body), Part::new("points", "Every point", points(sweep, cells))];
    let head = Head { title, context, verdict, next: &[], warnings: &[], blind: &[] };
    standing(&head, &parts, "")
}

fn planes(sweep: &Sweep, cells: &[(u64, Cell)], title: &str, body: &mut String) {
    let axes = sweep.axes();
    let plane: u64 = axes.iter().rev().take(2).map(|axis| axis.values.len() as u64).product::<u64>().max(1);
    let planes = sweep.points() / plane;
    for leading in 0..planes.min(MAX_PLANES) {
        let values = sweep.written(leading * plane);
        let fixed: Vec<String> = axes
            .iter()
            .zip(values)
            .take(axes.len().saturating_sub(2))
            .map(|(axis, value)| format!("{} {value}", axis.name))
            .collect();
        let name = if fixed.is_empty() { title.to_owned() } else { fixed.join(", ") };
        match plane_svg(sweep, cells, leading, &name) {
            Some(svg) => {
                let _ = writeln!(
                    body,
                    "<figure class=\"wide\" tabindex=\"0\">{svg}<figcaption>{}</figcaption></figure>",
                    escape(&fixed.join(", "))
                );
            }
            None => body.push_str("<p>There are no axes, or too many values along one, to draw a plane.</p>\n"),
        }
    }
    if planes > MAX_PLANES {
        let _ = writeln!(body, "<p>{} more planes are not drawn.</p>", planes - MAX_PLANES);
    }
}

fn points(sweep: &Sweep, cells: &[(u64, Cell)]) -> String {
    let listed = cells.len().min(5000);
    let mut body = format!(
        "<details><summary>{} of {} as a table</summary><div class=\"wide\" tabindex=\"0\"><table class=\"short\"><caption>Points</caption><thead><tr>",
        grouped(listed as u64),
        counted(cells.len(), "point")
    );
    for axis in sweep.axes() {
        let _ = write!(body, "<th scope=\"col\" class=\"n\">{}</th>", escape(&axis.name));
    }
    body.push_str("<th scope=\"col\">result</th></tr></thead>\n<tbody>\n");
    for (index, cell) in &cells[..listed] {
        body.push_str("<tr>");
        for value in sweep.written(*index) {
            let _ = write!(body, "<td class=\"n\">{}</td>", escape(&value));
        }
        let _ = writeln!(body, "<td>{}</td></tr>", cell.word());
    }
    body.push_str("</tbody></table></div></details>\n");
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::plain_page::tests::{assert_well_formed, labels};

    fn sweep(axes: &[&str]) -> Sweep {
        Sweep::new(axes.iter().map(|text| Axis::parse(text).unwrap()).collect()).unwrap()
    }

    #[test]
    fn every_point_stands_at_its_place() {
        let sweep = sweep(&["runtime=1..8", "period=7..20"]);
        let cells = [(0, Cell::Sufficient), (15, Cell::Marginal), (111, Cell::Insufficient), (5, Cell::Impossible)];
        let html = plane_html(&sweep, &cells, "Reservations & classes", "punctual sim run", "4 < 5.");
        assert_well_formed(&html);
        for point in
            ["runtime 1, period 7: sufficient", "runtime 2, period 8: marginal", "runtime 8, period 20: insuff"]
        {
            assert!(html.contains(point), "{point}");
        }
        assert!(html.contains("<p class=\"verdict\">4 &lt; 5.</p>") && html.contains("4 of 4 points as a table"));
    }

    /// Names of a machine's settings are long, and a plane may have two rows.
    #[test]
    fn no_name_and_no_value_of_an_axis_is_cut_off() {
        let mut met = 0;
        for up in [
            "compute=1..2",
            "device.policy.reservation.runtime=1000000..1000003",
            "context=irq,dpc,reservation:3.7ms/12.5ms",
        ] {
            for right in
                ["buffers=2..3", "device.policy.reservation.period=7..14", "policy={ priority = 8 },{ priority = 24 }"]
            {
                let axes = [up, right].map(|axis| Axis::parse_any(axis).unwrap());
                let sweep = Sweep::new(axes.into()).unwrap();
                let svg = plane_svg(&sweep, &[], 0, "").unwrap();
                let size = |name: &str| -> f64 {
                    svg.split(&format!(" {name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
                };
                let (width, height) = (size("width"), size("height"));
                for ([left, right, top, bottom], words) in labels(&svg) {
                    assert!(left >= 0.0 && right <= width, "{words} is cut off: {left} to {right} of {width}");
                    assert!(top >= 0.0 && bottom <= height, "{words} is cut off: {top} to {bottom} of {height}");
                    met += 1;
                }
            }
        }
        assert!(met > 40, "{met} labels");
    }

    #[test]
    fn counts_one_axis_and_three_axes() {
        let cells: Vec<(u64, Cell)> = (0..12).map(|index| (index, Cell::Count(index * index * 1000))).collect();
        for axes in [&["p=1..12"][..], &["a=1..2", "b=1..2", "c=1..3"]] {
            let html = plane_html(&sweep(axes), &cells, "misses", "punctual sim whatif", "");
            assert_well_formed(&html);
            assert!(html.contains(": 121,000</title>") && html.contains("<td>121,000</td>") && html.contains("121k"));
        }
        assert_well_formed(&plane_html(&sweep(&[]), &[], "nothing", "punctual sim whatif", ""));
    }
}
