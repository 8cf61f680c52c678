//! The ways in which a program can ask Linux for a periodic callback, measured one after the other.
//!
//! * [`TimerMethod`]: the ways, by name.
//! * [`MethodThread`]: a thread that measures one of them: its callbacks, the same without timer slack, stalls.
//! * [`MethodClock`]: the clocks on which they can run.
//! * [`SignalsHeld`]: keeps the signals of timers from the rest of the program.
//!
//! The measuring loop waits, reads the clock and writes into memory that was touched before: it allocates nothing.

mod clock;
mod condvar;
mod event;
mod method;
mod open;
mod plan;
mod posix;
mod python;
mod sleep;
mod thread;
mod timerfd;
mod uring;

pub use clock::MethodClock;
pub use method::TimerMethod;
pub use plan::{MethodPlan, MethodRun, STALLS, StallRun};
pub use posix::SignalsHeld;
pub use thread::MethodThread;
