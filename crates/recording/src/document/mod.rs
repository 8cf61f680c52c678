//! `recording.json`: what a recording says of itself, and how the directory around it is written, read and merged.
//!
//! * `contents`, `load`: its fields; `kind`, `kind_of`: what a recording holds; `asked`: whom it followed; `without_sleep`: of
//!   whom no wakeup tells; `limit`: limits that a user set; `steal`: what the host took, in words.
//! * `writer`: rows in, a crash-safe directory out; `tables`: the tables of wakeups, as it and the reader know them.
//! * `reader`, `check`: opens it, whole or cut short, within bounds; `counting`: goes through its wakeups with several
//!   threads; `merge`: adds up several.

pub(crate) mod asked;
pub(crate) mod check;
pub(crate) mod contents;
mod counting;
pub(crate) mod kind;
pub(crate) mod kind_of;
pub(crate) mod limit;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod reader;
mod steal;
pub(crate) mod tables;
pub(crate) mod without_sleep;
pub(crate) mod writer;
