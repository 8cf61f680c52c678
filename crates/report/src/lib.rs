//! Recordings as text, JSON and CSV.

pub mod sim;
