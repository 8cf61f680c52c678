//! What the processor counts while a program runs: cycles, instructions and misses of its caches, the kernel's work for the
//! program apart from its own.
//!
//! The counters are opened on a process before it starts the program, and start with the program: they count every thread
//! and process that the program starts, also those that end, and nothing of the process that started it.

use crate::performance_event;
use perf_event_open_sys::bindings;
use std::fs::File;
use std::io::Read;

/// How many counters there are.
pub const COUNTERS: usize = 6;

/// Their names: what is counted, and in whose code.
pub const NAMES: [&str; COUNTERS] = [
    "cycles_user",
    "cycles_kernel",
    "instructions_user",
    "instructions_kernel",
    "cache_misses_user",
    "cache_misses_kernel",
];

/// What they count, to the kernel: type and number.
const EVENTS: [(u32, u64); COUNTERS / 2] = [
    (bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_CPU_CYCLES as u64),
    (bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_INSTRUCTIONS as u64),
    (bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_CACHE_MISSES as u64),
];

/// Why there are none where the kernel knows no such event.
const NO_PMU: &str = "this machine shows no performance counters of its processor (PMU), as most virtual machines";

/// The counters of a program.
#[derive(Debug)]
pub struct HardwareCounters([Result<File, String>; COUNTERS]);

/// What a counter says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// How often it counted, while it did.
    pub value: u64,
    /// For how long it should have counted, ns: all threads together.
    pub wanted_ns: u64,
    /// For how long it did, ns: if there are more events than the processor has counters, they take turns.
    pub counted_ns: u64,
}

/// What all of them say; `None` is what is not counted.
pub type Reading = [Option<Counted>; COUNTERS];

impl HardwareCounters {
    /// Counts for what this process starts from now on, once that has become another program.
    pub fn of_children(process: u32) -> HardwareCounters {
        HardwareCounters::open(process, &EVENTS, true)
    }

    /// Counts for this process from now on: whether this machine and this user have them.
    pub(crate) fn tried() -> HardwareCounters {
        HardwareCounters::open(std::process::id(), &EVENTS, false)
    }

    fn open(process: u32, events: &[(u32, u64); COUNTERS / 2], from_exec: bool) -> HardwareCounters {
        HardwareCounters(std::array::from_fn(|at| {
            let (kind, config) = events[at / 2];
            let mut attributes = bindings::perf_event_attr {
                type_: kind,
                config,
                read_format: (bindings::PERF_FORMAT_TOTAL_TIME_ENABLED | bindings::PERF_FORMAT_TOTAL_TIME_RUNNING)
                    .into(),
                ..Default::default()
            };
            let is_of_kernel = at % 2 == 1;
            attributes.set_exclude_user(is_of_kernel.into());
            attributes.set_exclude_kernel((!is_of_kernel).into());
            attributes.set_exclude_hv(1);
            attributes.set_inherit(1);
            attributes.set_disabled(from_exec.into());
            attributes.set_enable_on_exec(from_exec.into());
            let opened = performance_event::open_for(attributes, process);
            opened.map(File::from).map_err(|error| in_words(&error))
        }))
    }

    /// What they say now.
    pub fn read(&self) -> Reading {
        std::array::from_fn(|at| self.0[at].as_ref().ok().and_then(counted))
    }

    /// Of each, why it does not count; `None`: it does.
    pub fn refusals(&self) -> [Option<&str>; COUNTERS] {
        std::array::from_fn(|at| self.0[at].as_ref().err().map(String::as_str))
    }
}

/// Reads one.
fn counted(mut event: &File) -> Option<Counted> {
    let mut bytes = [0; 24];
    event.read_exact(&mut bytes).ok()?;
    let word = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
    Some(Counted { value: word(0)?, wanted_ns: word(8)?, counted_ns: word(16)? })
}

fn in_words(error: &std::io::Error) -> String {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP) => NO_PMU.to_owned(),
        Some(Errno::ACCESS | Errno::PERM) => {
            let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
            format!("not allowed to this user (kernel.perf_event_paranoid = {})", level.trim())
        }
        _ => crate::plain(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn every_counter_counts_or_has_a_reason() {
        let counters = HardwareCounters::of_children(std::process::id());
        let (read, refusals) = (counters.read(), counters.refusals());
        for (counted, refusal) in read.iter().zip(refusals) {
            assert_eq!(counted.is_none(), refusal.is_some_and(|why| !why.is_empty()), "{counters:?}");
        }
    }

    /// The kernel's own events take the same way as the processor's, which few virtual machines have.
    #[test]
    fn what_a_program_starts_is_counted_and_whoever_started_the_program_is_not() {
        let faults = (bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_PAGE_FAULTS as u64);
        let switches = (bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_CONTEXT_SWITCHES as u64);
        let unknown = (bindings::PERF_TYPE_SOFTWARE, 999);
        let script = "read go; for one in 1 2 3 4 5 6 7 8 9 10; do sh -c 'sh -c :; :'; done; echo done; read end";
        let mut starter = Command::new("sh");
        let mut starter =
            starter.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sh starts");
        let (mut input, mut output) = (starter.stdin.take().unwrap(), starter.stdout.take().unwrap());
        let counters = HardwareCounters::open(starter.id(), &[faults, switches, unknown], true);
        let before = counters.read();
        input.write_all(b"go\n").unwrap();
        output.read_exact(&mut [0; 5]).unwrap();
        let after = counters.read();
        drop(input);
        let _ = starter.wait();
        assert_eq!(counters.refusals().map(|why| why.is_some()), [false, false, false, false, true, true]);
        let user = |read: &Reading| read[0].unwrap();
        assert_eq!(user(&before), Counted::default(), "nothing has been started yet");
        // Twenty programs, each with a page of its own at least.
        assert!(user(&after).value >= 20, "{after:?}");
        assert!(user(&after).wanted_ns > 0 && user(&after).counted_ns == user(&after).wanted_ns, "{after:?}");
        assert_eq!(after[4..], [None, None]);
    }
}
