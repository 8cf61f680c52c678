//! How often buffers run dry, and what can be scheduled.

pub mod interarrival;
mod page;
pub mod schedulability;
mod text;

pub use page::forecast_page;
pub use text::*;
