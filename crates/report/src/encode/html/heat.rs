//! Cells over time: how often, or how late, by row and column.

use crate::encode::html::subject::Subject;
use serde::Serialize;

/// A picture has rows for at most this many CPUs, as many as Linux can have; a recording may name others.
pub(crate) const MAX_CPUS: usize = 8_192;

/// A picture of cells. Empty cells are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Heat {
    /// The subject that is counted.
    pub of: Subject,
    /// How long a column is, ns.
    pub column_ns: u64,
    /// How many columns there are.
    pub columns: usize,
    /// If rows have names, such as CPUs: their names from the top.
    pub names: Vec<String>,
    /// If rows are ranges of latency: their bounds from the bottom, ns, one more than there are rows.
    pub bounds_ns: Vec<u64>,
    /// The meaning of a cell's value.
    pub value: Cell,
    /// The smallest and the largest value that colours stand for; pictures that are to be compared have the same.
    pub range: [u64; 2],
    /// Column, row and value of each cell that is not empty, one after another.
    pub cells: Vec<u64>,
}

impl Heat {
    /// Gives pictures that are to be compared the same colours, for all their values together.
    pub fn share_colours(pictures: &mut [Heat]) {
        let values = || pictures.iter().flat_map(|picture| picture.cells.iter().skip(2).step_by(3).copied());
        let range = [values().min().unwrap_or(0), values().max().unwrap_or(0)];
        pictures.iter_mut().for_each(|picture| picture.range = range);
    }
}

/// The meaning of the value of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// How many there were.
    #[default]
    Count,
    /// The longest, ns.
    LongestNs,
    /// The time taken, ns, shown as a share of the column's.
    TakenNs,
}
