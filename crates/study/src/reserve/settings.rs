//! Settings as the kernel has them.

use punctual_kernel::Refused;
use punctual_kernel::limits::real_time_limit_us;
use punctual_kernel::other_thread::ThreadScheduling;
use punctual_recording::format_ns;
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

/// Whether a thread may be tried with this setting: a real-time priority may end a program that has a limit for it, which is no
/// trial. One that has such a priority already has lived with the limit.
pub(super) fn check(tid: u32, setting: Setting) -> Result<(), Refused> {
    let Setting::Priority(priority) = setting else { return Ok(()) };
    let Some(limit_us) = real_time_limit_us(tid) else { return Ok(()) };
    if ThreadScheduling::of(tid).is_ok_and(|now| now.is_at_least(1)) {
        return Ok(());
    }
    Err(Refused::because(
        format!("trying fifo:{priority} for thread {tid}"),
        format!(
            "the kernel would end its program if it ran for {} without a sleep (RLIMIT_RTTIME), so the priority was left out: \
             `prlimit --pid {tid} --rttime=unlimited` lifts the limit",
            format_ns(limit_us.saturating_mul(1_000))
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_reserve::Reservation;
    use std::process::{Child, Command};
    use std::time::Duration;

    struct Sleeper(Child);

    impl Sleeper {
        /// A process with this limit, us, once it has it.
        fn start(limit: u64) -> Option<Sleeper> {
            let child = Command::new("prlimit").arg(format!("--rttime={limit}")).args(["sleep", "60"]).spawn();
            let sleeper = Sleeper(child.ok()?);
            for _ in 0..500 {
                if real_time_limit_us(sleeper.0.id()) == Some(limit) {
                    return Some(sleeper);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            None
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn no_priority_is_tried_that_may_end_the_program_but_a_reservation_is() {
        let Some(sleeper) = Sleeper::start(200_000) else {
            return punctual_testing::skip(
                "no_priority_is_tried_that_may_end_the_program_but_a_reservation_is",
                "no prlimit",
            );
        };
        let tid = sleeper.0.id();
        let refused = check(tid, Setting::Priority(50)).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("trying fifo:50 for thread {tid}: ")), "{refused}");
        assert!(refused.contains("for 200 ms without a sleep (RLIMIT_RTTIME)"), "{refused}");
        let reservation = Reservation { budget_ns: 1_000_000, period_ns: 10_000_000 };
        for setting in [Setting::AsItWas, Setting::Reserved(reservation)] {
            assert!(check(tid, setting).is_ok(), "{setting:?}");
        }
        assert!(check(std::process::id(), Setting::Priority(50)).is_ok(), "this process has no such limit");
    }
}
