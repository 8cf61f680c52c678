//! What CPUs have done with their time since boot, according to `/proc/stat`.

use crate::{clock, steal};

const IDLE: usize = 3;
const IOWAIT: usize = 4;

/// The times of some CPUs, added up, ns. A kernel that stops the tick of idle CPUs knows how long they idled to the
/// microsecond; other kernels know it only to the tick, as all do steal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTimes {
    /// The time that passed, idle or not.
    pub passed_ns: u64,
    /// The time in which they had nothing to do.
    pub idle_ns: u64,
    /// The time in which the host ran something else; `None` where the kernel has no such column.
    pub steal_ns: Option<u64>,
}

impl CpuTimes {
    /// The times of these CPUs since boot; `None` where the kernel does not say.
    pub fn now(cpus: &[u32]) -> Option<CpuTimes> {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let second = rustix::param::clock_ticks_per_second();
        let idle = steal::column_ns(&text, cpus, IDLE, second)?;
        let waiting = steal::column_ns(&text, cpus, IOWAIT, second)?;
        Some(CpuTimes {
            passed_ns: clock::monotonic_ns().saturating_mul(cpus.len() as u64),
            idle_ns: idle.saturating_add(waiting),
            steal_ns: steal::column_ns(&text, cpus, steal::STEAL, second),
        })
    }

    /// What was added since then.
    #[must_use]
    pub fn since(&self, before: &CpuTimes) -> CpuTimes {
        CpuTimes {
            passed_ns: self.passed_ns.saturating_sub(before.passed_ns),
            idle_ns: self.idle_ns.saturating_sub(before.idle_ns),
            steal_ns: self.steal_ns.zip(before.steal_ns).map(|(now, before)| now.saturating_sub(before)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_since_is_the_difference() {
        let before = CpuTimes { passed_ns: 100, idle_ns: 50, steal_ns: Some(5) };
        let after = CpuTimes { passed_ns: 300, idle_ns: 150, steal_ns: Some(5) };
        assert_eq!(after.since(&before), CpuTimes { passed_ns: 200, idle_ns: 100, steal_ns: Some(0) });
        // A counter that went backwards, as on a CPU that was removed and came back, adds no time.
        assert_eq!(before.since(&after).idle_ns, 0);
    }

    #[test]
    fn machine_a_cpu_idles_no_longer_than_time_passes() {
        let cpus = crate::scheduling::allowed_cpus();
        let before = CpuTimes::now(&cpus).expect("/proc/stat");
        std::thread::sleep(std::time::Duration::from_millis(200));
        let spent = CpuTimes::now(&cpus).unwrap().since(&before);
        assert!(spent.passed_ns >= 200_000_000 * cpus.len() as u64, "{spent:?}");
        // Allow each CPU one tick either way.
        assert!(spent.idle_ns <= spent.passed_ns + 20_000_000 * cpus.len() as u64, "{spent:?}");
    }
}
