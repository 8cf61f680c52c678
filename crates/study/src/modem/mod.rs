//! A telephone line in real time.
//!
//! * [`line`]: two modems as pseudo-terminals, for ordinary programs.

pub mod line;
