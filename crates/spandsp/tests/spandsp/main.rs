//! Calls of the library's modem. One binary: each file would be linked by itself.

mod judged;
mod steady;
mod transfer;
