//! Whether a set of jobs can be scheduled, which one breaks, and what would fix it.

mod admission;
mod bounds;
mod edf;
mod response;
mod simulate;
mod supply;

pub use admission::{Admission, AdmissionLimits, DeadlineParameters, admission};
pub use bounds::{hyperbolic, liu_layland, utilization};
pub use edf::{Demand, Edf, edf};
pub use response::{Interferer, response_time};
pub use supply::Supply;
