//! The flight recorder: keeps the evidence of every wakeup that is later than a threshold.
//!
//! BPF programs note what happens on every CPU in rings that overwrite ([`FlightRecorder`]). [`Watch`] looks at each
//! measured wakeup; when one is late it copies the time around it out of the rings, which go on recording meanwhile, and
//! hands it to a thread that finds names and writes the episode.

mod accepted;
mod armers;
mod bounded_channel;
mod budget;
mod connections;
mod counter;
pub(crate) mod disk_limits;
mod ended;
pub(crate) mod evidence;
mod fault_path;
mod faulted;
mod groups;
mod handlers;
pub(crate) mod hooks;
pub(crate) mod kept;
mod kernel_code;
mod late;
mod maps;
pub(crate) mod missed;
mod naming;
mod processes;
pub(crate) mod program_files;
pub(crate) mod programs;
pub(crate) mod requests;
mod rings;
mod start;
pub(crate) mod symbols;
mod symbols_ahead;
#[cfg(test)]
mod test_event;
mod watch;
mod writing;

pub use counter::counter_sampling;
pub use late::{Connections, LateWakeup};
pub use programs::FlightRecorder;
pub(crate) use start::{begin, finish, start};
pub use watch::{Threshold, Watch, WhySettings};
