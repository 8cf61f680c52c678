//! Inputs to a program: whether one side of runs is slower than the other, on which kind of input, by how much, and
//! why.
//!
//! A run gives its figures for each kind of input, and how uncertain its own inputs leave them ([`GatherInputs`]);
//! ratios, standing and verdict work as for wakeups. No input is judged by itself: what makes whole runs differ makes
//! all inputs of a run differ.

mod by_hand;
mod compare;
mod comparison;
mod figures;
mod gather;
mod parts;
mod sides;
#[cfg(test)]
mod tests;

pub use by_hand::as_by_hand;
pub use compare::compare_inputs;
pub use comparison::{FigureComparison, GroupComparison, GroupSide, InputComparison, InputSide, InputSummary};
pub use figures::{INPUT_FIGURES, MEDIAN, START_FIGURE, WAITING};
pub use gather::{GatherInputs, Group, InputRun};
pub use parts::{Cause, ClearCause, KindDifference, PartDifference, Parts};
