//! The event log: chosen classes of events, a row each.

pub(crate) mod files;
