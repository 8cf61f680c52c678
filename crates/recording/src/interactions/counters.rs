//! What the kernel counted of a program between an input and the next one.

/// How many counters there are.
pub(crate) const COUNTERS: usize = 11;

/// Counts for all threads of a program and of the processes that it started, from just before an input was put in to just
/// before the next one, including what they did in the background. What is not known is `None`, never 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InputCounters {
    /// Page faults without a disk.
    pub minor_faults: Option<u64>,
    /// Page faults that had to wait for a disk.
    pub major_faults: Option<u64>,
    /// How often threads went to sleep; here and in the next two, without threads that came and went within a process.
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
}

impl InputCounters {
    /// In the order of their fields.
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
        ]
    }

    /// Of values in the order of their fields.
    pub(crate) fn of(values: [Option<u64>; COUNTERS]) -> InputCounters {
        let [minor_faults, major_faults, waits, preemptions, migrations, reads, writes, ..] = values;
        let [.., read_bytes, written_bytes, disk_read_bytes, disk_written_bytes] = values;
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
        assert_eq!(InputCounters::of(counters.values()), counters);
    }
}
