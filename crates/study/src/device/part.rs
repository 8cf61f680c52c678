//! A device of a run: what it is, where its work runs, and what that is.

use punctual_context::Context;
use punctual_context::device::{Phase, Wake};
use punctual_context::own::OwnWork;
use punctual_device::{Profile, Signal};

/// A device of a run.
#[derive(Debug, Clone)]
pub struct DevicePart {
    /// What it is.
    pub profile: Profile,
    /// Where its work runs.
    pub context: Context,
    /// What wakes its thread.
    pub wake: Wake,
    /// Whether only the newest block is worth processing.
    pub drop_stale: bool,
    /// Whether a reservation may use time that others leave unused.
    pub reclaim: bool,
    /// Whether, after its budget, it goes on at normal priority until the next period.
    pub compete: bool,
    /// How the line's rate changes during the run; empty: not at all.
    pub phases: Vec<Phase>,
    /// What it does.
    pub work: DeviceWork,
}

/// What a device does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceWork {
    /// Filters samples for as long as its profile computes.
    Filter,
    /// Decodes this signal.
    Decode(Signal),
    /// Is the calling end of a call of spandsp's V.22bis, in a thread.
    Spandsp,
    /// Calls this for each block.
    Own(OwnWork),
}

impl DeviceWork {
    /// What a device does unless something else is asked for: it decodes if it has a signal.
    pub fn of(profile: &Profile) -> DeviceWork {
        profile.signal.map_or(DeviceWork::Filter, DeviceWork::Decode)
    }
}
