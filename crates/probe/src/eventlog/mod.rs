//! The event log: chosen classes of events, from the kernel's programs and from programs' own marks, in order of time.
//!
//! The flight recorder's programs write into a ring of each CPU ([`crate::recorder`] reads the same rings after a late
//! wakeup). Here a thread empties them all the time ([`EventLog`]); what it does not reach in time is overwritten, and
//! counted. Marks come from memory that programs share with this process, and from an instance of the kernel's tracing.
//! Everything is put in order (`merge`), gets names (`names`) and is handed on a row at a time.

mod mark_ring;
mod mark_trial;
mod marks;
mod merge;
mod names;
pub(crate) mod programs;
mod reader;
mod rings;
mod session;

pub use mark_trial::{Tried, try_marks};
#[cfg(test)]
pub(crate) use programs::OBJECT as RECORDER_OF_LOG;
pub use session::{EventLog, IfRefused};
