//! What this kernel and this user allow.

pub mod answer;
mod budget;
