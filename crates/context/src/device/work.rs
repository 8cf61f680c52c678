//! The work of a device, as it is worked off.

use crate::own::process::OwnProcess;
use punctual_datapump::{Decoder, Pump};

/// The work itself, as the processor's own code or to be handed to the kernel.
pub(super) enum Work {
    Filter(Box<Pump>),
    Decode(Decoder),
    /// A user's own, in the kernel.
    Own {
        budget_ns: u64,
    },
    /// Another crate's, which the thread that works on it has.
    Guest,
    /// A user's own, in a process.
    Process(Box<OwnProcess>),
}

impl Work {
    /// Works off this many units.
    #[inline]
    pub(super) fn run(&mut self, units: u64) {
        match self {
            Work::Filter(pump) => pump.run(units),
            Work::Decode(decoder) => decoder.run(units),
            Work::Own { .. } | Work::Guest => {}
            Work::Process(process) => process.work_on(),
        }
    }

    /// The block with this number comes next.
    #[inline]
    pub(super) fn begin_block(&mut self, block: u64) {
        match self {
            Work::Decode(decoder) => decoder.begin_block(block),
            Work::Process(process) => process.begin_block(block),
            Work::Filter(_) | Work::Own { .. } | Work::Guest => {}
        }
    }
}
