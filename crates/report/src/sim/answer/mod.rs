//! The answers of `punctual sim`, as programs read them: one file for each command.

mod experiment;
mod list;
mod papers;
mod row;
mod sweep;
mod whatif;

pub use experiment::ExperimentAnswer;
pub use list::ExperimentsAnswer;
pub use papers::PapersAnswer;
pub use sweep::{ExperimentSweepAnswer, WhatifSweepAnswer};
pub use whatif::WhatifAnswer;
