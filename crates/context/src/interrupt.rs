//! The interrupt: a timer that expires on one CPU in hard interrupt context, where a BPF program runs.
//!
//! It is the timer of a perf event of the software CPU clock: pinned to its CPU, re-armed by the kernel without drift,
//! and gone with the descriptor, however the process ends. The other half is `bpf/interrupt.h`.

use perf_event_open_sys as perf;
use perf_event_open_sys::bindings;
use punctual_kernel::bpf::SharedMemory;
use punctual_kernel::{Refused, clock, function_addresses, limits, performance_event, scheduling};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

/// CPUs that the programs have room for.
pub const MAX_CPUS: usize = 512;

/// The shortest period of the kernel's software clock events, ns.
pub const MIN_PERIOD_NS: u64 = 10_000;

/// The delay by which the programs recognise the timer of a thread's event while they learn it, ns: as in
/// `bpf/interrupt.h`.
const LEARNING_BASE_NS: u64 = 7_200_000_000_000;
const LEARNING_STEP_NS: u64 = 50_000_000;

/// The kernel's function that timers of its software clock events call.
const HANDLER: &str = "perf_swevent_hrtimer";

/// `struct interrupt_source` of `bpf/interrupt.h`, one for each CPU. Its fields concern only the programs and this module.
#[derive(Debug)]
#[repr(C)]
pub struct SourceRecord {
    timer: u64,
    handler: u64,
    learner: u32,
    pad: u32,
}

/// The programs' table of sources, within the memory they share with this process.
#[derive(Clone)]
pub struct SourceTable {
    memory: Arc<SharedMemory>,
    offset: usize,
}

impl SourceTable {
    /// The table of [`MAX_CPUS`] records that begins `offset` bytes into the memory.
    pub fn new(memory: Arc<SharedMemory>, offset: usize) -> SourceTable {
        SourceTable { memory, offset }
    }

    fn record(&self, cpu: u32) -> *mut SourceRecord {
        let offset = self.offset + cpu as usize * size_of::<SourceRecord>();
        self.memory.at::<SourceRecord>(offset, 1).as_ptr()
    }

    /// Whose timer the programs will next take for the CPU's interrupt. Where the kernel hides its functions from this
    /// process they take nobody's.
    fn set_learner(&self, cpu: u32, learner: u32) {
        let [handler] = function_addresses([HANDLER]);
        let record = self.record(cpu);
        // SAFETY: the record lies within the mapping (`at` checked) and is accessed by volatile reads and writes only.
        unsafe {
            (&raw mut (*record).handler).write_volatile(handler);
            (&raw mut (*record).learner).write_volatile(learner);
        }
    }

    fn forget(&self, cpu: u32) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.record(cpu)).timer).write_volatile(0) }
    }

    fn is_known(&self, cpu: u32) -> bool {
        // SAFETY: as above.
        unsafe { (&raw const (*self.record(cpu)).timer).read_volatile() != 0 }
    }
}

/// A timer of one CPU. It stops when this is dropped.
pub struct InterruptSource {
    event: OwnedFd,
    cpu: u32,
    table: SourceTable,
}

impl InterruptSource {
    /// Opens and starts the timer, and makes the programs learn it.
    ///
    /// The programs must be attached, one of them calling `learn_interrupt`. The first interrupt comes
    /// `period_ns` from now, at least [`MIN_PERIOD_NS`].
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(cpu: u32, period_ns: u64, table: &SourceTable) -> Result<InterruptSource, Refused> {
        let doing = || format!("making an interrupt on CPU {cpu}");
        if cpu as usize >= MAX_CPUS {
            return Err(Refused::because(doing(), format!("there is room for CPUs below {MAX_CPUS} only")));
        }
        if clock::in_pid_namespace() {
            let reason = "a PID namespace (a container?) hides this process's thread ids from the kernel's programs";
            return Err(Refused::because(doing(), reason));
        }
        // Enabled on its own CPU, the event starts its timer in the system call of a thread that the program knows,
        // with a delay that nobody else's timer has.
        let enable = || {
            scheduling::pin_to(cpu)?;
            let delay_ns = LEARNING_BASE_NS + u64::from(clock::thread_id()) * LEARNING_STEP_NS;
            let source = InterruptSource { event: open(cpu, delay_ns)?, cpu, table: table.clone() };
            source.table.set_learner(cpu, clock::thread_id());
            // SAFETY: the descriptor is a perf event's; the call takes a plain number.
            let result = unsafe { perf::ioctls::ENABLE(source.event.as_raw_fd(), 0) };
            let refused = Refused::last_os_error(format!("starting the timer of CPU {cpu}"));
            source.table.set_learner(cpu, 0);
            if result == 0 { Ok(source) } else { Err(refused) }
        };
        let enabled = std::thread::scope(|scope| scope.spawn(enable).join());
        let source = enabled.unwrap_or_else(|_| Err(Refused::because(doing(), "the thread ended early")))?;
        if !table.is_known(cpu) {
            let reason = match function_addresses([HANDLER]) {
                _ if limits::addresses_are_hidden() => limits::ADDRESSES_HIDDEN.to_owned(),
                [0] => format!("this kernel names no function `{HANDLER}`, by which the event's timer is known"),
                _ => "the BPF program did not see the event's timer start".to_owned(),
            };
            return Err(Refused::because(doing(), reason));
        }
        source.set_period(period_ns)?;
        Ok(source)
    }

    /// The CPU it belongs to.
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// The next interrupt comes `period_ns` from now, and the following ones at that distance.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn set_period(&self, period_ns: u64) -> Result<(), Refused> {
        let period = period_ns.max(MIN_PERIOD_NS);
        // SAFETY: the descriptor is a perf event's; the kernel reads one number that lives through the call.
        let result = unsafe { perf::ioctls::PERIOD(self.event.as_raw_fd(), (&raw const period) as u64) };
        if result == 0 { Ok(()) } else { Err(Refused::last_os_error(format!("arming the timer of CPU {}", self.cpu))) }
    }
}

impl Drop for InterruptSource {
    fn drop(&mut self) {
        // Before the event goes away: its memory may become somebody else's timer.
        self.table.forget(self.cpu);
    }
}

/// Opens the event without starting it yet.
fn open(cpu: u32, period_ns: u64) -> Result<OwnedFd, Refused> {
    let mut attributes = bindings::perf_event_attr {
        type_: bindings::PERF_TYPE_SOFTWARE,
        config: u64::from(bindings::PERF_COUNT_SW_CPU_CLOCK),
        ..Default::default()
    };
    attributes.__bindgen_anon_1.sample_period = period_ns.max(MIN_PERIOD_NS);
    attributes.set_disabled(1);
    // The line of a refusal is the whole answer of whoever asks for a device: it says what would allow it.
    performance_event::open(attributes, cpu, "opening a timer event on").map_err(|refused| match refused.remedy {
        Some(remedy) => Refused { reason: format!("{}; {remedy}", refused.reason), remedy: None, ..refused },
        None => refused,
    })
}
