//! Compares what punctual does and says with what is so.
//!
//! * [`truth`]: what a recording blames, compared with what fire drills injected.
//! * [`causes`]: the same for causes that `why` was not built for.
//! * [`matrix`]: every command on every kernel, and what the result should be.
//!
//! `scripts/kernels` and `scripts/causes` are its command lines.

#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "the programs that it starts hold locks and share memory as programs in C do")]
pub mod causes;
pub mod matrix;
pub mod truth;
