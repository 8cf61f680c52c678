//! The idle loop: gaps in a loop that does nothing else, and what the kernel ran meanwhile.
//!
//! * `gap_loop`, `calibrated`: the loops; `ticker`: the counter that they read.
//! * `trace`: interrupts, softirqs and threads as BPF programs noted them.
//! * `session`: both, started, read and stopped.
//! * [`echo`]: the program on a pseudo-terminal that `--validate` types into.

mod calibrated;
pub mod echo;
mod gap_loop;
mod session;
mod ticker;
pub(crate) mod trace;

pub use calibrated::{BINS_EACH, Calibration, DURATION_BINS};
pub use gap_loop::RawGap;
pub use session::{IdlePlan, IdleSession, LoopTotals, Taken};
pub use ticker::Ticker;
