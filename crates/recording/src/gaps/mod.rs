//! Gaps of an idle loop, and the keystrokes that validate it.

pub(crate) mod files;
pub(crate) mod trace;
pub(crate) mod validation;
