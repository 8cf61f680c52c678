//! The event log: chosen classes of events, a row each.

pub(crate) mod event_class;
pub(crate) mod files;
