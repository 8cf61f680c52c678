//! What can be scheduled.

mod answer;
mod text;

pub use answer::SchedulabilityAnswer;
pub use text::text;

use text::share;
