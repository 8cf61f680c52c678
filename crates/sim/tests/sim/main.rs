//! The simulated machine against theory, against other schedulers, and against the papers' numbers. One binary: each file would
//! be linked by itself.

mod invariants;
mod locks;
mod migration;
mod oracle;
mod overflow;
mod papers;
mod signals;
mod timers;
mod whatif;
