//! Tables 1 to 3 of MSR-TR-2000-88 with the modem of this program, in virtual time.
//!
//! The simulated machine of the experiments on the same tables (`punctual_sim`) says when the calling end's blocks are
//! worked on; the datapump, the line and the link of `punctual_modem` say what that does to a call.
//!
//! * [`all_rows`], [`chosen`]: the rows; [`run`]: the calls of a [`TablesPlan`], spread over processors and resumable.
//!
//! # Where things are
//!
//! `study.json` in the caller's directory says which study it is; `table-1-res-3-16/attempt-001.json` is an attempt,
//! written when it is over, `clean/attempt-001.json` the one that nothing delays.

mod error;
mod plan;
mod run;
mod store;
#[cfg(test)]
mod tests;

pub use error::TablesError;
pub use plan::{RowPlan, TablesPlan, all_rows, chosen};
pub use run::{TablesProgress, run};
