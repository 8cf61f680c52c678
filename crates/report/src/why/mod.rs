//! Who made wakeups late.

mod advice;
mod answer;
pub mod cost;
pub mod handlers;
pub mod page;
mod text;
pub mod trace;
pub mod tree;
mod waits;

pub use answer::{HandlersAnswer, WhyAnswer};
pub use text::*;
