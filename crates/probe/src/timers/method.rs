//! The ways to get a periodic callback, by name, and what each of them can do.

use punctual_kernel::Refused;

/// A way of asking for periodic callbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerMethod {
    /// `clock_nanosleep` to absolute times.
    NanosleepAbsolute,
    /// `clock_nanosleep` for a period at a time.
    NanosleepRelative,
    /// A periodic `timerfd`.
    Timerfd,
    /// A POSIX timer that signals the process (`SIGEV_SIGNAL`).
    PosixSignal,
    /// A POSIX timer that signals the thread (`SIGEV_THREAD_ID`).
    PosixThread,
    /// `setitimer(ITIMER_REAL)`: SIGALRM.
    Setitimer,
    /// `epoll_wait` with a timeout, in whole milliseconds.
    EpollWait,
    /// `epoll_pwait2` with a timeout.
    EpollPwait2,
    /// `poll` with a timeout, in whole milliseconds.
    Poll,
    /// `ppoll` with a timeout.
    Ppoll,
    /// `select` with a timeout, in whole microseconds.
    Select,
    /// `IORING_OP_TIMEOUT` to absolute times.
    IoUring,
    /// `pthread_cond_timedwait` to absolute times.
    Condvar,
    /// Reads the clock until it is time.
    Busy,
    /// For comparison: `std::thread::sleep` of Rust.
    RustSleep,
    /// For comparison: `time.sleep` of Python.
    PythonSleep,
}

use TimerMethod::*;

impl TimerMethod {
    /// All ways, in the order in which they are measured.
    pub const ALL: [TimerMethod; 16] = [
        NanosleepAbsolute,
        NanosleepRelative,
        Timerfd,
        PosixSignal,
        PosixThread,
        Setitimer,
        EpollWait,
        EpollPwait2,
        Poll,
        Ppoll,
        Select,
        IoUring,
        Condvar,
        Busy,
        RustSleep,
        PythonSleep,
    ];

    /// Its name in options, recordings and reports.
    pub fn name(self) -> &'static str {
        match self {
            NanosleepAbsolute => "nanosleep-absolute",
            NanosleepRelative => "nanosleep-relative",
            Timerfd => "timerfd",
            PosixSignal => "posix-signal",
            PosixThread => "posix-thread",
            Setitimer => "setitimer",
            EpollWait => "epoll-wait",
            EpollPwait2 => "epoll-pwait2",
            Poll => "poll",
            Ppoll => "ppoll",
            Select => "select",
            IoUring => "io-uring",
            Condvar => "condvar",
            Busy => "busy",
            RustSleep => "rust-sleep",
            PythonSleep => "python-sleep",
        }
    }

    /// The call that it waits in.
    pub fn call(self) -> &'static str {
        match self {
            NanosleepAbsolute => "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME)",
            NanosleepRelative => "clock_nanosleep(CLOCK_MONOTONIC)",
            Timerfd => "timerfd_settime(TFD_TIMER_ABSTIME), read",
            PosixSignal => "timer_settime, SIGEV_SIGNAL, sigwaitinfo",
            PosixThread => "timer_settime, SIGEV_THREAD_ID, sigwaitinfo",
            Setitimer => "setitimer(ITIMER_REAL), sigtimedwait",
            EpollWait => "epoll_wait, timeout to the next point of the grid",
            EpollPwait2 => "epoll_pwait2, timeout to the next point of the grid",
            Poll => "poll, timeout to the next point of the grid",
            Ppoll => "ppoll, timeout to the next point of the grid",
            Select => "select, timeout to the next point of the grid",
            IoUring => "io_uring, IORING_OP_TIMEOUT with IORING_TIMEOUT_ABS",
            Condvar => "pthread_cond_timedwait, CLOCK_MONOTONIC",
            Busy => "reads the clock until it is time",
            RustSleep => "std::thread::sleep",
            PythonSleep => "time.sleep",
        }
    }

    /// The unit in which it takes times, ns.
    pub fn unit_ns(self) -> u64 {
        match self {
            EpollWait | Poll => 1_000_000,
            Setitimer | Select => 1_000,
            _ => 1,
        }
    }

    /// Whether it asks for points of a grid; the others wait for a period after each callback.
    pub fn is_anchored(self) -> bool {
        !matches!(self, NanosleepRelative | RustSleep | PythonSleep)
    }

    /// Whether the kernel adds the thread's timer slack to its waits.
    pub fn has_slack(self) -> bool {
        !matches!(self, Timerfd | PosixSignal | PosixThread | Setitimer | IoUring | Busy)
    }
}

impl std::str::FromStr for TimerMethod {
    type Err = String;

    fn from_str(name: &str) -> Result<TimerMethod, String> {
        TimerMethod::ALL.into_iter().find(|way| way.name() == name).ok_or_else(|| {
            let names: Vec<&str> = TimerMethod::ALL.iter().map(|way| way.name()).collect();
            format!("`{name}` is not a way to wait: there are {}", names.join(", "))
        })
    }
}

/// What every way can do. Times are ns of `CLOCK_MONOTONIC`.
pub(super) trait Method {
    /// Arms what needs arming: the first callback is due at `first_ns`, the others a period apart; only once if the period is 0.
    fn begin(&mut self, _first_ns: u64, _period_ns: u64) -> Result<(), Refused> {
        Ok(())
    }

    /// Waits for the callback that is due at `due_ns` and says how many periods it stands for.
    fn wait(&mut self, due_ns: u64, period_ns: u64) -> u32;

    /// Disarms what was armed.
    fn end(&mut self) {}
}
