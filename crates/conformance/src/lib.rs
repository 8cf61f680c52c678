//! What punctual does and says, held against what is so.
//!
//! * [`truth`]: what a recording blames, held against what fire drills injected.
//! * [`causes`]: the same for causes that `why` was not built with.
//! * [`matrix`]: every command on every kernel, and what is to come of it.
//!
//! `scripts/kernels` and `scripts/causes` are its command lines.

pub mod causes;
pub mod matrix;
pub mod truth;
