//! A telephone line in real time, and a paper's tables in virtual time.
//!
//! * [`line`](mod@line): two modems as pseudo-terminals, for ordinary programs.
//! * [`live`]: a file to modems whose datapumps threads of this machine work on.
//! * [`tables`]: the paper's transfers, each beside what it prints.

mod beside;
mod calls;
pub mod line;
pub mod live;
mod live_plan;
pub mod tables;
