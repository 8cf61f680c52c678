//! The ways to get a periodic callback, by name, and what each of them can do.

use punctual_kernel::Refused;

/// A row for each way: what it is, its name, and the call that it waits in.
macro_rules! ways {
    ($($(#[$about:meta])* $way:ident: $name:literal, $call:literal;)*) => {
        /// A way of asking for periodic callbacks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum TimerMethod {
            $($(#[$about])* $way,)*
        }

        impl TimerMethod {
            /// All ways, in the order in which they are measured.
            pub const ALL: [TimerMethod; [$($name),*].len()] = [$(TimerMethod::$way),*];

            /// Its name in options, recordings and reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(TimerMethod::$way => $name,)*
                }
            }

            /// The call that it waits in.
            pub fn call(self) -> &'static str {
                match self {
                    $(TimerMethod::$way => $call,)*
                }
            }
        }
    };
}

ways! {
    /// `clock_nanosleep` to absolute times.
    NanosleepAbsolute: "nanosleep-absolute", "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME)";
    /// `clock_nanosleep` for a period at a time.
    NanosleepRelative: "nanosleep-relative", "clock_nanosleep(CLOCK_MONOTONIC)";
    /// A periodic `timerfd`.
    Timerfd: "timerfd", "timerfd_settime(TFD_TIMER_ABSTIME), read";
    /// A POSIX timer that signals the process (`SIGEV_SIGNAL`).
    PosixSignal: "posix-signal", "timer_settime, SIGEV_SIGNAL, sigwaitinfo";
    /// A POSIX timer that signals the thread (`SIGEV_THREAD_ID`).
    PosixThread: "posix-thread", "timer_settime, SIGEV_THREAD_ID, sigwaitinfo";
    /// `setitimer(ITIMER_REAL)`: SIGALRM.
    Setitimer: "setitimer", "setitimer(ITIMER_REAL), sigtimedwait";
    /// `epoll_wait` with a timeout, in whole milliseconds.
    EpollWait: "epoll-wait", "epoll_wait, timeout to the next point of the grid";
    /// `epoll_pwait2` with a timeout.
    EpollPwait2: "epoll-pwait2", "epoll_pwait2, timeout to the next point of the grid";
    /// `poll` with a timeout, in whole milliseconds.
    Poll: "poll", "poll, timeout to the next point of the grid";
    /// `ppoll` with a timeout.
    Ppoll: "ppoll", "ppoll, timeout to the next point of the grid";
    /// `select` with a timeout, in whole microseconds.
    Select: "select", "select, timeout to the next point of the grid";
    /// `IORING_OP_TIMEOUT` to absolute times.
    IoUring: "io-uring", "io_uring, IORING_OP_TIMEOUT with IORING_TIMEOUT_ABS";
    /// `pthread_cond_timedwait` to absolute times.
    Condvar: "condvar", "pthread_cond_timedwait, CLOCK_MONOTONIC";
    /// Reads the clock until it is time.
    Busy: "busy", "reads the clock until it is time";
    /// For comparison: `std::thread::sleep` of Rust.
    RustSleep: "rust-sleep", "std::thread::sleep";
    /// For comparison: `time.sleep` of Python.
    PythonSleep: "python-sleep", "time.sleep";
}

use TimerMethod::*;

impl TimerMethod {
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
            format!("`{name}` is not a way to wait: give one of {}", names.join(", "))
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
