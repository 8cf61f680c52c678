//! A telephone line in real time.
//!
//! * [`line`](mod@line): two modems as pseudo-terminals, for ordinary programs.
//! * [`live`]: a file to a modem whose datapump a thread of this machine works on.

pub mod line;
pub mod live;
