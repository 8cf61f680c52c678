//! Which drills this kernel and this user allow, tried one by one.

use super::DrillKind;
use super::irq_off::IrqOff;
use super::kernel_burn::KernelBurn;
use super::throttle;
use punctual_kernel::Refused;
use punctual_kernel::capabilities::{Availability, real_time_remedy, try_scheduling};
use punctual_kernel::scheduling::{self, Scheduling};

/// Whether a drill is to be had.
#[derive(Debug, Clone)]
pub struct Available {
    /// Which drill.
    pub kind: DrillKind,
    /// Whether it is available.
    pub available: Availability,
    /// What was tried, or why it is not available.
    pub detail: String,
}

/// Tries what the drill needs. Injects nothing.
pub fn availability(kind: DrillKind) -> Available {
    let found = try_out(kind);
    match found {
        Ok((available, detail)) => Available { kind, available, detail },
        Err(refused) => Available { kind, available: Availability::No, detail: refused.to_string() },
    }
}

fn try_out(kind: DrillKind) -> Result<(Availability, String), Refused> {
    let yes = |detail: &str| Ok((Availability::Yes, detail.to_owned()));
    let allowed = scheduling::allowed_cpus();
    let first = allowed.first().copied().unwrap_or(0);
    match kind {
        DrillKind::Irq | DrillKind::Softirq => {
            KernelBurn::start(kind, &[first])?;
            yes("its programs load and see their timer")
        }
        DrillKind::IrqOff => {
            IrqOff::load()?.try_out()?;
            yes("its program may turn interrupts off")
        }
        DrillKind::Fifo | DrillKind::SamePriority => {
            let wanted = Scheduling::Fifo(kind.default_priority().unwrap_or(1));
            try_scheduling(wanted).map_err(|refused| {
                Refused::because(refused.doing, format!("{}; {}", refused.reason, real_time_remedy()))
            })?;
            yes("real-time priority was granted")
        }
        DrillKind::Throttle => {
            try_scheduling(throttle::reservation(2_000_000)).map_err(throttle::with_reason)?;
            yes("SCHED_DEADLINE was granted")
        }
        DrillKind::Migrate if allowed.len() < 2 => {
            Err(Refused::because("moving a thread", "this process may use one CPU only"))
        }
        DrillKind::Lock | DrillKind::PageFault | DrillKind::Migrate => {
            match try_scheduling(Scheduling::Fifo(super::victim::PRIORITY)) {
                Ok(()) => yes("the victim is real-time"),
                Err(_) => {
                    Ok((Availability::Limited, "the victim is a normal thread: no real-time priority".to_owned()))
                }
            }
        }
    }
}
