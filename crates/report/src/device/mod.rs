//! What soft devices met, and the study of one.

mod answer;
pub mod study;
mod text;

pub use answer::{DeviceAnswer, ProfilesAnswer, StudyAnswer, VerifyAnswer};
pub use text::*;
