//! What somebody who uses a program waits for.

pub(crate) mod files;
pub(crate) mod outcome;
