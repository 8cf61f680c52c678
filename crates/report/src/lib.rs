//! Recordings as text, JSON and CSV.

pub mod forecast;
pub mod schedulability;
