//! The clocks on which a way can run.

use super::method::TimerMethod;
use punctual_kernel::clock::monotonic_ns;

/// A clock of the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MethodClock {
    /// `CLOCK_MONOTONIC`.
    #[default]
    Monotonic,
    /// `CLOCK_REALTIME`: the time of day, which may be set.
    Realtime,
    /// `CLOCK_BOOTTIME`: keeps running while the machine is suspended.
    Boottime,
    /// `CLOCK_TAI`: the time of day without leap seconds.
    Tai,
}

impl MethodClock {
    /// All of them.
    pub const ALL: [MethodClock; 4] =
        [MethodClock::Monotonic, MethodClock::Realtime, MethodClock::Boottime, MethodClock::Tai];

    /// Its name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            MethodClock::Monotonic => "monotonic",
            MethodClock::Realtime => "realtime",
            MethodClock::Boottime => "boottime",
            MethodClock::Tai => "tai",
        }
    }

    pub(super) fn id(self) -> libc::clockid_t {
        match self {
            MethodClock::Monotonic => libc::CLOCK_MONOTONIC,
            MethodClock::Realtime => libc::CLOCK_REALTIME,
            MethodClock::Boottime => libc::CLOCK_BOOTTIME,
            MethodClock::Tai => libc::CLOCK_TAI,
        }
    }

    /// Now, ns.
    #[inline]
    pub(super) fn now_ns(self) -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: fills the structure it is given; these clocks exist on every Linux since 3.10.
        unsafe { libc::clock_gettime(self.id(), &raw mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    /// How far it is ahead of `CLOCK_MONOTONIC`, ns; a few ns too much, never too little, so that no time is converted
    /// to an earlier one.
    pub(super) fn ahead_ns(self) -> i64 {
        if self == MethodClock::Monotonic {
            return 0;
        }
        let read = || {
            let before = monotonic_ns();
            let now = self.now_ns();
            (monotonic_ns() - before, now as i64 - before as i64)
        };
        (0..16).map(|_| read()).min().map_or(0, |(_, ahead)| ahead)
    }
}

impl std::str::FromStr for MethodClock {
    type Err = String;

    fn from_str(name: &str) -> Result<MethodClock, String> {
        let short = name.to_ascii_lowercase();
        let short = short.trim_start_matches("clock_");
        MethodClock::ALL.into_iter().find(|clock| clock.name() == short).ok_or_else(|| {
            let names = MethodClock::ALL.map(MethodClock::name);
            format!("`{name}` is not a clock to wait on: give one of {}", names.join(", "))
        })
    }
}

impl TimerMethod {
    /// The clocks that its call takes.
    pub fn clocks(self) -> &'static [MethodClock] {
        use MethodClock::{Boottime, Monotonic, Realtime};
        match self {
            TimerMethod::NanosleepAbsolute
            | TimerMethod::NanosleepRelative
            | TimerMethod::PosixSignal
            | TimerMethod::PosixThread
            | TimerMethod::Busy => &MethodClock::ALL,
            TimerMethod::Timerfd | TimerMethod::IoUring => &[Monotonic, Realtime, Boottime],
            TimerMethod::Condvar => &[Monotonic, Realtime],
            _ => &[Monotonic],
        }
    }
}

/// Turns times of `CLOCK_MONOTONIC` into a clock's own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    pub(super) clock: MethodClock,
    ahead_ns: i64,
}

impl Shift {
    pub(super) fn to(clock: MethodClock) -> Shift {
        Shift { clock, ahead_ns: clock.ahead_ns() }
    }

    /// A time of the clock's; 0 stays 0, which disarms timers.
    #[inline]
    pub(super) fn of(self, monotonic_ns: u64) -> u64 {
        if monotonic_ns == 0 { 0 } else { monotonic_ns.saturating_add_signed(self.ahead_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_times_are_not_early() {
        for clock in MethodClock::ALL {
            assert_eq!(clock.name().parse::<MethodClock>(), Ok(clock));
            let shift = Shift::to(clock);
            let before = monotonic_ns();
            // Read later, so it is later, unless the clock was set meanwhile.
            assert!(shift.of(before) <= clock.now_ns() + 1_000_000);
            assert_eq!(shift.of(0), 0);
        }
        assert_eq!("CLOCK_TAI".parse::<MethodClock>(), Ok(MethodClock::Tai));
        assert!("sun".parse::<MethodClock>().unwrap_err().contains("boottime"));
    }
}
