//! Numbers with their intervals, one per line, and curves of such numbers.

use serde::Serialize;

/// What a number measures, which decides how it is read out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// How many times as much.
    #[default]
    Factor,
    /// Seconds.
    Seconds,
}

/// A number that is known to lie between two others; `None` if there is no limit, or no estimate.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Interval {
    /// The lower limit.
    pub low: Option<f64>,
    /// The estimate.
    pub estimate: Option<f64>,
    /// The upper limit.
    pub high: Option<f64>,
}

/// Intervals below one another on a logarithmic axis.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Intervals {
    /// What the numbers are.
    pub unit: Unit,
    /// The name of the axis.
    pub axis: String,
    /// The lines from the top.
    pub rows: Vec<IntervalRow>,
    /// A number to compare them with, such as 1 for ratios, and its name.
    pub against: Option<(f64, String)>,
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct IntervalRow {
    /// What it describes.
    pub name: String,
    /// The interval.
    pub interval: Interval,
    /// A number to compare this line alone with.
    pub want: Option<f64>,
    /// What it means, in a word.
    pub verdict: String,
    /// What that is for whoever reads it: its colour.
    pub judged: Judged,
}

/// Whether something is as one would like it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// It holds, or is better.
    Good,
    /// It fails, or is worse.
    Bad,
    /// Neither is shown.
    #[default]
    Open,
}

/// Seconds against lengths of time, both logarithmic, each with its interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Band {
    /// The name of the axis to the right; its numbers are ns, shown as milliseconds.
    pub x_axis: String,
    /// The name of the axis upwards; its numbers are seconds.
    pub y_axis: String,
    /// The lines, in the order of their legend.
    pub lines: Vec<BandLine>,
}

/// One curve.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct BandLine {
    /// Its name in the legend.
    pub name: String,
    /// Its colour and dash.
    pub style: usize,
    /// To the right, ns, ascending.
    pub ns: Vec<u64>,
    /// Upwards, s.
    pub seconds: Vec<Interval>,
}
