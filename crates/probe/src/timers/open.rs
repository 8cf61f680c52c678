//! Makes a way ready to use.

use super::clock::{MethodClock, Shift};
use super::method::{Method, TimerMethod};
use super::{condvar, event, posix, sleep, timerfd, uring};
use TimerMethod::*;
use punctual_kernel::Refused;

/// Makes a way ready to use; not for Python, which is another program.
pub(super) fn open(kind: TimerMethod, clock: MethodClock) -> Result<Box<dyn Method>, Refused> {
    if !kind.clocks().contains(&clock) {
        let names: Vec<&str> = kind.clocks().iter().map(|clock| clock.name()).collect();
        let reason = format!("its call accepts no clock but {}", names.join(", "));
        return Err(Refused::because(format!("waiting on the clock {}", clock.name()), reason));
    }
    let shift = Shift::to(clock);
    Ok(match kind {
        NanosleepAbsolute => Box::new(sleep::Absolute(shift)),
        NanosleepRelative => Box::new(sleep::Relative(shift)),
        Busy => Box::new(sleep::Busy(shift)),
        RustSleep => Box::new(sleep::Rust),
        Timerfd => Box::new(timerfd::Timerfd::open(shift)?),
        PosixSignal => Box::new(posix::PosixTimer::open(posix::Target::Process, shift)?),
        PosixThread => Box::new(posix::PosixTimer::open(posix::Target::Thread, shift)?),
        Setitimer => Box::new(posix::Setitimer),
        EpollWait => Box::new(event::Epoll::open(false)?),
        EpollPwait2 => Box::new(event::Epoll::open(true)?),
        Poll => Box::new(event::Poll),
        Ppoll => Box::new(event::Ppoll),
        Select => Box::new(event::Select),
        IoUring => Box::new(uring::Uring::open(shift)?),
        Condvar => Box::new(condvar::Condvar::open(shift)?),
        PythonSleep => return Err(Refused::because("measuring Python", "it is another program")),
    })
}
