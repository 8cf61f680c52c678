//! Follows the wakeups of threads that are not punctual's own, without touching them.
//!
//! * [`Selection`]: whom to follow.
//! * `records`: what the BPF programs and this process share: the Rust side of `bpf/followed.h`.
//! * `memory`: the table of threads and the rings of records that lie there.
//! * `makers`: programs whose threads take a name of their own.
//! * `programs`: the programs in the kernel, and the threads that they are told to follow.
//! * `drain`: takes the records out of the rings, in order of time.
//! * `nearest`: what somebody may have meant by a name that no thread has.
//! * `patience`: what keeps them from waking, for somebody who waits for them.
//! * `table`: what is known about each thread, and about what wakes them.
//! * `without_sleep`: threads that never slept, which no wakeup tells of.
//! * `waits`: what the end of a wakeup's work is for, and what ended the sleep before it.
//! * `session`: carries out a plan.

mod drain;
mod makers;
mod memory;
mod nearest;
mod patience;
pub(crate) mod programs;
mod records;
mod selection;
mod session;
mod table;
mod waits;
mod without_sleep;

pub use nearest::nearest_name;
pub use programs::Programs;
pub(crate) use records::shown;
pub(crate) use selection::mark;
pub use selection::{Selection, name_expression};
pub(crate) use session::run;
