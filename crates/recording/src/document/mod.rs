//! `recording.json`: what a recording says of itself, and how the directory around it is written, read and merged.

pub(crate) mod asked;
pub(crate) mod check;
pub(crate) mod contents;
mod counting;
pub(crate) mod kind;
pub(crate) mod kind_of;
pub(crate) mod limit;
pub(crate) mod merge;
pub(crate) mod reader;
mod steal;
pub(crate) mod tables;
pub(crate) mod writer;
