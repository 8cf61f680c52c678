//! What is to be sent in real time, and by which modems.

use crate::device::DeviceRunPlan;
use punctual_context::Context;
use punctual_context::device::Competitor;
use punctual_load::Load;
use punctual_modem::experiment::Experiment;
use punctual_modem::judge::Pair;

/// A file, and in which context it is received.
#[derive(Debug, Clone)]
pub struct LivePlan {
    /// The file, the modems, how often. Its slots and stalls are left alone.
    pub experiment: Experiment,
    /// Of the work on the calling ends' samples; in the kernel there is one modem.
    pub context: Context,
    /// Whose datapumps both ends have, the calling end's first; `None`: ours, which alone work in the kernel. A call's own thread
    /// makes them, since they may not be handed to another; no memory for them: `None`.
    pub pumps: Option<fn() -> Option<Pair>>,
    /// How many modems call at once, each over a line of its own.
    pub modems: u32,
    /// Where the threads begin, in turn, and where what they compete with is; at least one.
    pub cpus: Vec<u32>,
    /// What wants these CPUs meanwhile.
    pub competitors: Vec<Competitor>,
    /// What keeps the machine busy meanwhile.
    pub load: Load,
    /// Soft devices that work meanwhile.
    pub devices: Option<DeviceRunPlan>,
}
