//! How often buffers run dry.

mod advice;
mod answer;
pub mod interarrival;
mod interval;
mod page;
mod text;
pub(crate) mod units;
mod worst;

pub use answer::ForecastAnswer;
pub(crate) use answer::{DeviceForecast, InterarrivalEntry, SourcesRow};
pub use page::forecast_page;
pub use text::*;
