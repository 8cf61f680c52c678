//! Plans of several recordings, and the conclusions from them.
//!
//! * [`record_under`]: one recording with a load beside it.
//! * [`run_load`]: a load by itself, to see what it gets done.
//! * [`sweep`]: the same what-if at every point of a grid, resumable and in shards.
//! * [`check`]: an idle recording and a loaded one, and what both mean for common devices.
//! * [`alternate`]: two sides measured in turn; [`type_at_paces`]: one script typed at two paces; [`open_side`] and [`open_input_side`]: recordings read for a comparison.
//! * [`device`]: soft devices in their contexts, and what they do to a bystander.
//! * [`idle`]: loops that want their CPU all the time, and what took it from them.
//! * [`lab`]: the same command on several kernels, each in a guest whose clock counts instructions.
//! * [`late_events`]: the late events of a recording, and how they follow one another.
//! * [`log_events`]: an event log with a load or a command beside it.
//! * [`modem`]: modems on a telephone line, by this machine's clock.
//! * [`reserve`]: the reservation of a program's thread, found by trials and proven.
//! * [`rialto`]: commands with Rialto/NT's reservations, and random time constraints.
//! * [`timers`]: the ways to get periodic callbacks, one after the other.

#![forbid(unsafe_code)]

mod check;
mod companion;
mod compare;
pub mod device;
mod error;
pub mod idle;
pub mod lab;
mod late_events;
mod load_run;
mod loaded;
mod log;
pub mod modem;
pub mod reserve;
pub mod rialto;
mod running;
pub mod sweep;
pub mod timers;

pub use check::{Check, CheckPlan, Part, check, judge, usual_devices};
pub use compare::inputs::{are_of_inputs, open_input_side, open_input_sides};
pub use compare::paces::{AtPaces, PacesPlan, type_at_paces};
pub use compare::{Alternated, Alternation, SidePlan, Turn, alternate, open_side, side_directory};
pub use error::StudyError;
pub use late_events::{LateEvents, late_events};
pub use load_run::{LoadRun, run_load};
pub use loaded::{local_machine, record_under, record_under_watched};
pub use log::{IfRefused, LogPlan, LogProgress, log_events};
pub use running::GettingReady;
