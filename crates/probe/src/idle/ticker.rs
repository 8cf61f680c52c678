//! The counter that the loop reads.

use punctual_kernel::clock;

/// The processor's time-stamp counter if it always runs at one rate, otherwise `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ticker {
    /// Whether ticks are the processor's, rather than ns.
    pub is_tsc: bool,
    /// Ticks per second.
    pub per_second: u64,
}

impl Ticker {
    /// The best counter of this machine, its rate measured against `CLOCK_MONOTONIC` for 40 ms.
    pub(crate) fn find() -> Ticker {
        if !tsc::is_invariant() {
            return Ticker { is_tsc: false, per_second: 1_000_000_000 };
        }
        let (first_ticks, first_ns) = tsc::with_clock();
        std::thread::sleep(std::time::Duration::from_millis(40));
        let (ticks, ns) = tsc::with_clock();
        let rate = u128::from(ticks - first_ticks) * 1_000_000_000 / u128::from((ns - first_ns).max(1));
        Ticker { is_tsc: true, per_second: u64::try_from(rate).unwrap_or(1).max(1) }
    }

    /// Ticks as ns.
    pub fn ns(self, ticks: u64) -> u64 {
        (u128::from(ticks) * 1_000_000_000 / u128::from(self.per_second)) as u64
    }

    /// The counter, now.
    pub(crate) fn read(self) -> u64 {
        if self.is_tsc { tsc::read() } else { clock::monotonic_ns() }
    }

    pub(crate) fn ticks(self, ns: u64) -> u64 {
        (u128::from(ns) * u128::from(self.per_second) / 1_000_000_000) as u64
    }
}

/// The processor's time-stamp counter.
pub(super) mod tsc {
    /// Whether the counter runs at one rate in every power state, and the kernel has not found it unstable.
    pub(crate) fn is_invariant() -> bool {
        if !cfg!(target_arch = "x86_64") {
            return false;
        }
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
        let has = |flag| flags.split_whitespace().any(|word| word == flag);
        let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        let distrusted = source.is_ok_and(|source| matches!(source.trim(), "hpet" | "acpi_pm" | "jiffies"));
        has("constant_tsc") && has("nonstop_tsc") && !distrusted
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn read() -> u64 {
        // SAFETY: the instruction is part of the architecture and Linux leaves it to user space.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    pub(crate) fn read() -> u64 {
        super::clock::monotonic_ns()
    }

    /// The counter and ns of `CLOCK_MONOTONIC`, from the reading that was disturbed least.
    pub(crate) fn with_clock() -> (u64, u64) {
        let mut best = (u64::MAX, 0, 0);
        for _ in 0..16 {
            let before = read();
            let ns = super::clock::monotonic_ns();
            let after = read();
            best = best.min((after.wrapping_sub(before), before / 2 + after / 2, ns));
        }
        (best.1, best.2)
    }
}
