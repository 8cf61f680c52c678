//! Recordings as text, JSON and CSV.
