//! Plans of several recordings, and what is concluded from them.
//!
//! * [`record_under`]: one recording with a load beside it.
//! * [`check`]: an idle recording and a loaded one, and what both mean for common devices.
//! * [`timers`]: the ways to get periodic callbacks, one after the other.

mod check;
mod loaded;
pub mod timers;

pub use check::{Check, CheckPlan, DeviceCount, Part, catalogue_ids, check};
pub use loaded::{StudyError, local_machine, record_under};
