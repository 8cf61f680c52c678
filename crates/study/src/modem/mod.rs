//! A telephone line in real time, and a paper's tables in virtual time.
//!
//! * [`line`](mod@line): two modems as pseudo-terminals, for ordinary programs.
//! * [`live`]: a file to a modem whose datapump a thread of this machine works on.
//! * [`tables`]: the paper's transfers, each beside what it prints.

pub mod line;
pub mod live;
pub mod tables;
