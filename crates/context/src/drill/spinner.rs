//! The drills with a real-time thread that spins, above a victim or beside it.
//!
//! It ends each spin by its own reading of the clock; should that fail, the kernel ends the process at the limit
//! that `limit_spinning` sets.

use super::stop::Stop;
use super::worker::{Injector, Made};
use punctual_kernel::scheduling::{Scheduling, pin_to, set_scheduling};
use punctual_kernel::{Refused, capabilities, clock};

/// The kernel ends the process when a real-time thread has run this long without a pause, us.
const MAX_SPIN_US: u64 = 400_000;

/// Sets that limit for this process.
pub(crate) fn limit_spinning() {
    let limit = libc::rlimit { rlim_cur: MAX_SPIN_US, rlim_max: MAX_SPIN_US };
    // SAFETY: the kernel reads the structure, which lives through the call. A process that already has a lower limit
    // is bounded as it is.
    unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit) };
}

/// Makes the calling thread a FIFO one on one CPU. Says the way around if this user may not.
pub(crate) fn real_time(cpu: u32, priority: u32) -> Result<(), Refused> {
    pin_to(cpu)?;
    set_scheduling(Scheduling::Fifo(priority)).map_err(|refused| {
        Refused::because(refused.doing, format!("{}; {}", refused.reason, capabilities::real_time_remedy()))
    })
}

/// Spins on one CPU.
pub(crate) struct Spinner {
    tid: u32,
}

impl Spinner {
    /// Sets the calling thread up.
    pub(crate) fn prepare(cpu: u32, priority: u32) -> Result<Spinner, Refused> {
        real_time(cpu, priority)?;
        Ok(Spinner { tid: clock::thread_id() })
    }
}

/// Spins until this long after the start; returns when it ended.
pub(crate) fn spin(start_ns: u64, length_ns: u64) -> u64 {
    loop {
        let now = clock::monotonic_ns();
        if now >= start_ns + length_ns {
            return now;
        }
        std::hint::spin_loop();
    }
}

impl Injector for Spinner {
    fn inject(&mut self, at_ns: u64, length_ns: u64, stop: &Stop) -> Result<Option<Made>, Refused> {
        if !stop.sleep_until(at_ns) {
            return Ok(None);
        }
        let start_ns = clock::monotonic_ns();
        let end_ns = spin(start_ns, length_ns);
        Ok(Some(Made { start_ns, end_ns, cpu: clock::current_cpu(), tid: Some(self.tid), ..Made::default() }))
    }
}
