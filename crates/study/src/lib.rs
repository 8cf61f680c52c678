//! Plans of several recordings, and what is concluded from them.
//!
//! * [`record_under`]: one recording with a load beside it.
//! * [`run_load`]: a load by itself, to see what it gets done.
//! * [`sweep`]: the same what-if at every point of a grid, resumable and in shards.
//! * [`check`]: an idle recording and a loaded one, and what both mean for common devices.
//! * [`idle`]: loops that want their CPU all the time, and what took it from them.
//! * [`timers`]: the ways to get periodic callbacks, one after the other.

mod check;
pub mod idle;
mod load_run;
mod loaded;
mod running;
pub mod sweep;
pub mod timers;

pub use check::{Check, CheckPlan, DeviceCount, Part, catalogue_ids, check};
pub use load_run::{LoadRun, run_load};
pub use loaded::{StudyError, local_machine, record_under, record_under_watched};
pub use running::GettingReady;
