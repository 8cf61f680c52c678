//! Every interface to Linux: what it and this user allow, clocks, scheduling, power, BPF objects, and the guard process
//! that restores the machine however the measurement ends.
//!
//! What there is:
//!
//! * [`capabilities`]: what this kernel and this user allow, and what would allow the rest; [`limits`]: what this
//!   process has been given.
//! * [`features`]: what kernels have, since when, and how to find out; [`Missing`], [`Trial`]: what a kernel cannot
//!   give, and trying out what it can.
//! * [`host`]: what a recording says about the machine; [`cpus`], [`cpu_times`]: its CPUs, and what they did;
//!   [`steal`]: time in which the host ran something else; [`tick`]: how often the kernel's tick comes, as built and as
//!   observed, and what interrupts for timers.
//!
//! Threads and processes:
//!
//! * [`clock`]: absolute sleeps and clock readings without allocation.
//! * [`scheduling`]: policies, priorities, CPU affinity, deadline reservations; [`rests`]: when real-time threads that
//!   would take all of their CPU leave it to others; [`watchdog`]: whether they leave the rest of their program any.
//! * [`other_thread`]: how threads of other programs are scheduled; [`keeper`]: the process that restores them;
//!   [`reservation_watch`]: frees threads with a reservation that the kernel keeps from the CPU for good.
//! * [`stat_line`], [`thread_stat`]: what `/proc` says of a process or a thread; [`number_in_kernel`]: the number by which
//!   BPF programs know the calling thread.
//! * [`guard`]: the child process that runs the load and ends all of it when the parent is gone; [`own_child`]: a
//!   command that runs in place of this program; [`pseudo_terminal`]: terminals whose other end programs open;
//!   [`local_line`]: a line to another process of the same user; [`unix_peers`]: which local sockets are connected to
//!   each other.
//! * [`performance_event`]: events of a CPU or of a thread; [`hardware_counters`]: what the processor counts for a
//!   program.
//! * [`trace_marker`]: what programs write into the kernel's tracing, read alongside whoever else reads it.
//!
//! BPF programs:
//!
//! * [`bpf`]: loads objects and maps their memory; [`linking`]: links objects; [`bpf_programs`]: those that are loaded,
//!   whoever loaded them; [`verifier`]: how close programs are to the kernel's limits.
//! * [`kernel_types`]: the types that the running kernel describes; [`per_cpu`]: where it keeps what programs look up
//!   about their CPU.
//! * [`callbacks`]: what happened to the softirq callbacks that interrupts queue.
//! * [`bpf_layout`]: how shared records are laid out, for tests.
//!
//! This program itself:
//!
//! * [`ending`], [`signals`]: whether somebody asked it to end, and which signals its caller disregards.
//! * [`hold`]: what is held for as long as a value lives: locked memory, a power-latency request.
//! * [`memory_bound`]: a bound on its memory; [`standard_output`]: whether it was started with one, and how wide
//!   that is.

mod asked_function;
pub mod bpf;
pub mod bpf_jumps;
pub mod bpf_layout;
mod bpf_memory;
pub mod bpf_programs;
mod bpf_words;
pub mod budget_use;
pub mod callbacks;
pub mod capabilities;
pub mod clock;
pub mod cpu_times;
pub mod cpus;
pub mod ending;
pub mod features;
mod function_addresses;
pub mod guard;
pub mod hardware_counters;
pub mod hold;
pub mod host;
pub mod keeper;
pub mod kernel_types;
pub mod limits;
pub mod linking;
mod loading;
pub mod local_line;
pub mod memory_bound;
mod missing;
pub mod other_thread;
pub mod own_child;
pub mod per_cpu;
pub mod performance_event;
pub mod pseudo_terminal;
mod real_time_share;
pub mod reservation_watch;
pub mod rests;
pub mod scheduling;
pub mod signals;
mod slice;
pub mod standard_output;
pub mod stat_line;
pub mod steal;
mod thread_number;
pub mod thread_stat;
pub mod tick;
pub mod trace_marker;
mod trial;
pub mod unix_peers;
pub mod verifier;
pub mod watchdog;

pub use bpf_words::{listen, said};
pub use function_addresses::function_addresses;
pub use missing::{Missing, is_older_than};
pub use thread_number::number_in_kernel;
pub use trial::{Found, Trial};

use punctual_recording::{Hint, NEEDS_ROOT};

/// What the kernel refused, and what was being done.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {reason}")]
pub struct Refused {
    /// What was being done.
    pub doing: String,
    /// What the kernel said.
    pub reason: String,
    /// Whether it was refused for want of a privilege that BPF programs take.
    pub lacks_privilege: bool,
    /// Whether it was refused because there is no more of it, such as CPU time that reservations share: less might be granted.
    pub is_full: bool,
    /// What this kernel lacks for it, if that is why.
    pub missing: Option<Box<Missing>>,
    /// What would allow it, if whoever asked knows.
    pub remedy: Option<&'static str>,
}

impl Refused {
    /// The last operating-system error, hit while `doing` something.
    pub fn last_os_error(doing: impl Into<String>) -> Refused {
        Refused::because(doing, plain(&std::io::Error::last_os_error()))
    }

    /// An error in words, hit while `doing` something.
    pub fn because(doing: impl Into<String>, reason: impl Into<String>) -> Refused {
        Refused {
            doing: doing.into(),
            reason: reason.into(),
            lacks_privilege: false,
            is_full: false,
            missing: None,
            remedy: None,
        }
    }

    /// This kernel lacks something that was to be used while `doing` something.
    pub fn lacking(doing: impl Into<String>, missing: Missing) -> Refused {
        let reason = missing.line();
        Refused { missing: Some(Box::new(missing)), ..Refused::because(doing, reason) }
    }

    /// The same with what would allow it.
    #[must_use]
    pub fn with_remedy(self, remedy: Option<&'static str>) -> Refused {
        Refused { remedy, ..self }
    }

    /// BPF programs that this user may not load.
    pub(crate) fn for_want_of_privilege(doing: impl Into<String>) -> Refused {
        let reason = format!("permission denied: {NEEDS_ROOT}, or CAP_BPF and CAP_PERFMON");
        Refused { lacks_privilege: true, ..Refused::because(doing, reason) }
    }
}

impl Hint for Refused {
    fn hint(&self) -> Option<&'static str> {
        let to_load = self.lacks_privilege.then_some("sudo punctual ..., or see `punctual capabilities`");
        self.remedy.or(to_load)
    }
}

/// An operating-system error without the number that the standard library adds to it.
pub fn plain(error: &std::io::Error) -> String {
    punctual_recording::without_error_number(error)
}
