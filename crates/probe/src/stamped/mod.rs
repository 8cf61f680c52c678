//! What a driver says about itself: the stamps that a kernel module hands out, as `include/punctual_module.h` defines them.
//!
//! Nothing here measures: the module does. Its stamps become wakeups like all others.

mod session;
mod source;

pub(crate) use session::run;
