//! Recordings as text for people, JSON for programs, CSV for spreadsheets; the simulator also as pages and traces.
//!
//! Text begins with a verdict in words; what was lost, missed, unobserved or done otherwise than asked
//! stands before the tables. Times are in microseconds in text and whole nanoseconds in JSON and CSV.

pub mod answer;
pub mod capabilities;
pub mod compare;
pub mod device;
pub mod drill;
pub mod encode;
pub mod forecast;
pub mod idle;
mod load;
pub mod log;
pub mod recording;
pub mod schedulability;
pub mod sim;
pub mod timers;
pub mod why;

pub use load::{
    LoadInstalledAnswer, LoadListAnswer, LoadResult, LoadRow, LoadRunAnswer, load_list_text, load_result_text,
    score_in_words, scores_in_words,
};
pub use recording::answer::ReportAnswer;
pub use recording::csv::csv;
pub use recording::stages::{StageRow, stage_rows};
pub use recording::text::{measurement_text, microseconds, table};
pub use recording::verdict::{check_verdict, failure_in_words, recording_verdict};

use punctual_forecast::JudgedDevice;
use punctual_recording::Document;
use std::path::PathBuf;

/// One or more recordings, laid side by side.
pub struct Measurement {
    /// The recordings and where they are. Merged ones stand here once, under the first's path.
    pub parts: Vec<(PathBuf, Document)>,
    /// What common devices would have met.
    pub devices: Vec<JudgedDevice>,
    /// The verdict in words.
    pub verdict: String,
    /// What the process exits with.
    pub exit_code: u8,
    /// Whether every thread and CPU gets its own rows in text.
    pub by_cpu: bool,
}

/// The name of a document's load.
pub fn load_name(document: &Document) -> &str {
    match document.provenance.load.name.as_str() {
        "" => "none",
        name => name,
    }
}
