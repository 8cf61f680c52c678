//! Whether a set of jobs can be scheduled, which job misses its deadline, and what would fix that.

mod admission;
mod analysis;
mod bounds;
mod demand;
mod edf;
mod edf_response;
mod fix;
mod global;
mod outcome;
mod pseudo;
mod response;
mod rtapp;
mod server;
mod simulate;
mod supply;
mod tasks;
mod words;

pub use admission::{Admission, AdmissionLimits, DeadlineParameters, admission};
pub use analysis::{Analysis, CpuAnalysis, ReservationAnalysis, Standing, TaskAnalysis, analyse, standing};
pub use bounds::{hyperbolic, liu_layland, utilization};
pub use demand::Demand;
pub use edf::{Edf, edf};
pub use global::{GlobalEdf, global_edf};
pub use outcome::{Analysed, Outcome};
pub use pseudo::{LatencyFigure, pseudo_worst_case};
pub use response::{Interferer, response_time, response_time_among};
pub use supply::Supply;
pub use tasks::{DEFAULT_PERMITTED_S, Policy, Reservation, Task, TaskSet};
