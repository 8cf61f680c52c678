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
mod layout;
mod load;
pub mod log;
pub mod recording;
pub mod schedulability;
pub mod sim;
pub mod timers;
pub mod why;

pub use layout::{load_name, microseconds, table};
pub use load::{
    LoadInstalledAnswer, LoadListAnswer, LoadResult, LoadRow, LoadRunAnswer, load_list_text, load_result_text,
    score_in_words, scores_in_words,
};
pub use recording::answer::ReportAnswer;
pub use recording::csv::csv;
pub use recording::model::Measurement;
pub use recording::stages::{StageRow, stage_rows};
pub use recording::text::measurement_text;
pub use recording::verdict::{check_verdict, failure_in_words, recording_verdict};

#[cfg(test)]
mod schemas_tests;
