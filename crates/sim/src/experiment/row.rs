//! Rows of an experiment's file: the points of a paper, and the keys that each may have.

use super::quantity::Measure;
use serde::Deserialize;

/// How the number of a row arises. Whether it agrees with the paper is a separate question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A mechanism goes in and the number comes out; nothing was fitted to it.
    Prediction,
    /// It comes out because a value was chosen to make it so.
    Fitted,
    /// What the paper measured goes in.
    Input,
    /// Arithmetic on printed numbers, or another row restated.
    Identity,
    /// This machine cannot produce it.
    NotSimulated,
}

/// A number or a word.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A word.
    Text(String),
}

/// One point of a paper.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name, unique over all experiments.
    pub id: String,
    /// Where the paper prints it.
    #[serde(default)]
    pub printed: String,
    /// What it is.
    pub item: String,
    /// In which case it is measured.
    pub case: Option<String>,
    /// On which of several devices; the first when absent.
    pub device: Option<String>,
    /// How it is measured.
    pub measure: Option<Measure>,
    /// What the paper prints.
    pub published: Option<Value>,
    /// The unit of both.
    #[serde(default)]
    pub unit: String,
    /// Its class.
    pub class: Class,
    /// Largest difference.
    pub tolerance: Option<f64>,
    /// The largest difference, percent of what is published.
    pub tolerance_percent: Option<f64>,
    /// Smallest value that holds.
    pub at_least: Option<f64>,
    /// Largest value that holds.
    pub at_most: Option<f64>,
    /// Why it may differ by that much.
    pub resolution: Option<String>,
    /// The assumption it depends on.
    pub assumption: Option<String>,
    /// Why it is an input, or not simulated.
    pub because: Option<String>,
}
