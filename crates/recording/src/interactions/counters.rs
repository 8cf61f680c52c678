//! What the kernel and the processor counted for a program between an input and the next one.

use serde::{Deserialize, Serialize};

/// How many counters there are in all.
pub(crate) const COUNTERS: usize = OF_KERNEL + OF_PROCESSOR;
const OF_KERNEL: usize = 11;
const OF_PROCESSOR: usize = 7;

/// Counts for all threads of a program and of the processes that it started, from just before an input was put in to
/// just before the next one, including their work in the background. What is unknown is `None`, never 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InputCounters {
    /// Page faults without a disk.
    pub minor_faults: Option<u64>,
    /// Page faults that had to wait for a disk.
    pub major_faults: Option<u64>,
    /// How often threads went to sleep; this count and the next two leave out threads that came and went within a
    /// process.
    pub waits: Option<u64>,
    /// How often threads left their CPU although they could have continued.
    pub preemptions: Option<u64>,
    /// How often threads changed CPU.
    pub migrations: Option<u64>,
    /// System calls of the `read` family.
    pub reads: Option<u64>,
    /// System calls of the `write` family.
    pub writes: Option<u64>,
    /// Bytes that those read from files, pipes and terminals.
    pub read_bytes: Option<u64>,
    /// Bytes that those wrote.
    pub written_bytes: Option<u64>,
    /// Bytes that were requested from disks.
    pub disk_read_bytes: Option<u64>,
    /// Bytes that were left for disks to write.
    pub disk_written_bytes: Option<u64>,
    /// The processor's counts.
    pub hardware: HardwareCounts,
}

/// What the processor counted in the program's own code and in the kernel's code for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HardwareCounts {
    /// Cycles in the program's own code.
    pub cycles_user: Option<u64>,
    /// Cycles in the kernel.
    pub cycles_kernel: Option<u64>,
    /// Instructions of the program's own code.
    pub instructions_user: Option<u64>,
    /// Instructions of the kernel.
    pub instructions_kernel: Option<u64>,
    /// Cache misses in the program's own code.
    pub cache_misses_user: Option<u64>,
    /// Cache misses in the kernel.
    pub cache_misses_kernel: Option<u64>,
    /// For how much of the time the counter that counted least was active, in thousandths; the counts of the others are
    /// scaled up by it.
    pub counted_thousandths: Option<u64>,
}

/// The processor's counters that were requested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardwareDocument {
    /// Each of them.
    pub counters: Vec<HardwareCounter>,
}

/// A counter of the processor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardwareCounter {
    /// `cycles_user`, ...
    pub name: String,
    /// Why it does not count; `None` if it does.
    pub absent: Option<String>,
}

impl HardwareCounts {
    /// From the values of the counters, in the order of the fields.
    pub fn of(counts: [Option<u64>; OF_PROCESSOR - 1], counted_thousandths: Option<u64>) -> HardwareCounts {
        let [
            cycles_user,
            cycles_kernel,
            instructions_user,
            instructions_kernel,
            cache_misses_user,
            cache_misses_kernel,
        ] = counts;
        HardwareCounts {
            cycles_user,
            cycles_kernel,
            instructions_user,
            instructions_kernel,
            cache_misses_user,
            cache_misses_kernel,
            counted_thousandths,
        }
    }
}

impl InputCounters {
    /// The values in the order of the fields.
    pub fn values(&self) -> [Option<u64>; COUNTERS] {
        [
            self.minor_faults,
            self.major_faults,
            self.waits,
            self.preemptions,
            self.migrations,
            self.reads,
            self.writes,
            self.read_bytes,
            self.written_bytes,
            self.disk_read_bytes,
            self.disk_written_bytes,
            self.hardware.cycles_user,
            self.hardware.cycles_kernel,
            self.hardware.instructions_user,
            self.hardware.instructions_kernel,
            self.hardware.cache_misses_user,
            self.hardware.cache_misses_kernel,
            self.hardware.counted_thousandths,
        ]
    }

    /// From values in the order of the fields.
    pub(crate) fn of(values: [Option<u64>; COUNTERS]) -> InputCounters {
        let [minor_faults, major_faults, waits, preemptions, migrations, reads, writes, rest @ ..] = values;
        let [read_bytes, written_bytes, disk_read_bytes, disk_written_bytes, counts @ .., counted_thousandths] = rest;
        InputCounters {
            minor_faults,
            major_faults,
            waits,
            preemptions,
            migrations,
            reads,
            writes,
            read_bytes,
            written_bytes,
            disk_read_bytes,
            disk_written_bytes,
            hardware: HardwareCounts::of(counts, counted_thousandths),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_come_back_in_their_order() {
        let counters = InputCounters::of(std::array::from_fn(|at| (at != 2).then_some(at as u64)));
        assert_eq!((counters.minor_faults, counters.waits, counters.reads), (Some(0), None, Some(5)));
        assert_eq!((counters.writes, counters.read_bytes, counters.disk_written_bytes), (Some(6), Some(7), Some(10)));
        let hardware = counters.hardware;
        assert_eq!((hardware.cycles_user, hardware.counted_thousandths), (Some(11), Some(17)));
        assert_eq!(InputCounters::of(counters.values()), counters);
    }
}
