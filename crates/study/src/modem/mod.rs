//! A telephone line in real time, and a paper's tables in virtual time.
//!
//! * [`line`](mod@line): two modems as pseudo-terminals, for ordinary programs; [`apart`]: each in a process of its own.
//! * [`live`]: a file sent to modems whose datapumps run in threads of this machine.
//! * [`tables`]: the paper's transfers, each beside what the paper prints.

pub mod apart;
mod beside;
mod calls;
pub mod line;
pub mod live;
mod live_plan;
pub mod tables;
