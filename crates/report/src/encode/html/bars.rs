//! Bars: how many took how long, by ranges of latency.

use crate::encode::html::subject::Subject;
use serde::Serialize;

/// A bar for each range of latency, as high as the number of what lies in it; both axes are logarithmic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Bars {
    /// The subject that is counted.
    pub of: Subject,
    /// The bounds of the ranges, ns, ascending: one more than there are bars.
    pub bounds_ns: Vec<u64>,
    /// What is counted apart, such as kinds of input.
    pub names: Vec<String>,
    /// For each of these, how many there are in each range.
    pub counts: Vec<Vec<u64>>,
}
