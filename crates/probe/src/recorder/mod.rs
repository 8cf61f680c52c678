//! The flight recorder: keeps the evidence of every wakeup that is later than a threshold.
//!
//! BPF programs note what happens on every CPU in rings that overwrite ([`FlightRecorder`]). [`Watch`] looks at each
//! measured wakeup; when one is late it copies the time around it out of the rings, which go on recording meanwhile, and
//! hands it to a thread that finds names and writes the episode.
//!
//! While it measures:
//!
//! * `start`: starts the recorder for a plan, and ends it; `programs`, `rings`: its programs, and what they note; `followers`:
//!   other programs that they go on with.
//! * `watch`: looks at each wakeup; `late_wakeup`: one that was late; `budget`: how many keep their evidence.
//! * `requests`, `stretches`, `sources`, `sleeps`, `behind`, `in_vain`, `turns`, `returns`, `called_back`, `pauses`, `who_asks`, `arrivals`, `made`, `unanswered`, `asks`: where a followed thread's request begins and ends; `request`: one of
//!   them; `of_requests`: how many there were of which so much is known, `cut`: or whose end was not seen, `ends`: who ended and may have worked on one; `looks`, `looked_at`, `waits_by`, `connections`,
//!   `socket_tables`: by which connections it comes.
//! * `kept`: evidence over a longer time than the rings hold, for whoever looks for stretches of time.
//! * `performance_events`: the sampling clock and the counts of page faults, which it can do without.
//! * `counter_sampling`: whether the processor's own counter can take samples.
//! * `missed_runs`: runs of the programs that the kernel skipped; `hooks`: other people's programs in interrupts.
//! * `handlers`: the sums of every handler; `fault_path`: what a page fault costs outside its stamps.
//!
//! What evidence becomes, off every measuring path:
//!
//! * `bounded_channel`, `writing`: what waits to be written, and the thread that writes it; `evidence`: an episode with
//!   names instead of addresses.
//! * `kernel_code`, `symbols`, `symbols_ahead`: functions of the kernel; `maps`, `naming`, `program_files`: places in
//!   programs; `faulted`: files of pages.
//! * `processes`, `armers`, `ended_threads`: whose a thread was, who armed a timer, and who has ended since.
//! * `groups`, `disk_limits`: control groups.

mod armers;
mod arrivals;
mod asker;
mod asks;
mod behind;
mod bounded_channel;
mod budget;
mod called_back;
mod collects;
mod connections;
mod counter_sampling;
mod cut;
pub(crate) mod disk_limits;
mod ended_threads;
mod ends;
pub(crate) mod evidence;
mod fault_path;
mod faulted;
mod followers;
mod groups;
mod handlers;
pub(crate) mod hooks;
mod in_vain;
pub(crate) mod kept;
mod kernel_code;
mod late_wakeup;
mod looked_at;
mod looks;
mod made;
mod maps;
pub(crate) mod missed_runs;
mod naming;
mod of_requests;
mod own_sleeps;
mod pauses;
pub(crate) mod performance_events;
mod processes;
pub(crate) mod program_files;
pub(crate) mod programs;
mod request;
pub(crate) mod requests;
mod returns;
mod rings;
mod sleeps;
mod socket_tables;
mod sources;
mod start;
mod stretches;
pub(crate) mod symbols;
mod symbols_ahead;
#[cfg(test)]
mod test_event;
mod turns;
mod unanswered;
mod waits_by;
mod watch;
mod who_asks;
mod woken_in_vain;
mod writing;

pub use counter_sampling::counter_sampling;
pub use late_wakeup::{Connections, LateWakeup};
pub use naming::{is_unnamed, named_frames};
pub use performance_events::SAMPLER;
pub use programs::FlightRecorder;
pub(crate) use start::{begin, finish, start};
pub use watch::{Threshold, Watch, WhySettings};
