//! What was measured: text, JSON, CSV, a page.

pub(crate) mod answer;
pub(crate) mod cycles;
pub(crate) mod exports;
pub(crate) mod followed;
pub(crate) mod judged;
pub(crate) mod model;
pub(crate) mod names;
pub(crate) mod over_time;
pub(crate) mod page;
pub(crate) mod requests;
pub(crate) mod stages;
pub(crate) mod text;
pub(crate) mod together;

pub use cycles::LoopCycles;
pub use names::{names_apart, part_names};
pub use over_time::{MAX_HISTORIES, Recorded};
pub use page::recording_page;
