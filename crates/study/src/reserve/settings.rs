//! Settings as the kernel has them.

use punctual_kernel::other_thread::ThreadScheduling;
use punctual_reserve::{Reservation, Setting};

/// How a thread is scheduled with this setting; `None` for its original state.
pub(super) fn wanted(setting: Setting) -> Option<ThreadScheduling> {
    match setting {
        Setting::AsItWas => None,
        Setting::Priority(priority) => Some(ThreadScheduling::fifo(priority)),
        Setting::Reserved(reservation) => Some(reserved(reservation)),
    }
}

/// Whether a thread is scheduled as this setting has it; in its original state it may be scheduled in any way.
pub(super) fn is_scheduled(tid: u32, setting: Setting) -> bool {
    wanted(setting).is_none_or(|wanted| ThreadScheduling::of(tid).is_ok_and(|now| now == wanted))
}

/// How a thread is scheduled with this reservation.
pub(super) fn reserved(reservation: Reservation) -> ThreadScheduling {
    ThreadScheduling::reserved(reservation.budget_ns, reservation.period_ns)
}
