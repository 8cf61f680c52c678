//! The results of simulations.

mod answer;
mod cases;
mod figures;
pub mod page;
pub mod plane;
mod rows;
pub mod sweep;
mod text;
pub mod timeline;
pub mod trace;

pub use answer::{
    ExperimentAnswer, ExperimentSweepAnswer, ExperimentsAnswer, PapersAnswer, WhatifAnswer, WhatifSweepAnswer,
};
pub use sweep::{ExperimentSweep, experiment_sweep_text};
pub use text::*;
