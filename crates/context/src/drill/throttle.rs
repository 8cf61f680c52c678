//! The drill with a reservation that is used up: the scheduler keeps the victim from its CPU until the next period.
//!
//! At each injection the victim asks for a little CPU time in a period that is longer by the length of the injection,
//! and uses all of it at once. It keeps reading its own CPU time, which makes the kernel account to the microsecond
//! rather than at the next tick.

use super::VictimActivation;
use super::stop::Stop;
use super::worker::{Injector, Made};
use punctual_kernel::scheduling::{Scheduling, drop_timer_slack, set_scheduling};
use punctual_kernel::{Refused, clock};

/// The reservation's runtime, ns.
const RUNTIME_NS: u64 = 200_000;
/// How much is added to the period, since the victim runs on for a while after its runtime is over, ns.
const MARGIN_NS: u64 = 100_000;
/// A victim that is not throttled for this long gives up, ns.
const PATIENCE_NS: u64 = 100_000_000;
/// What it ran before or after the wait, nobody knows which, may be this long, ns.
const MAX_UNCLEAR_NS: u64 = 10_000;

/// The reservation that makes a thread wait this long when it has used it up.
pub(crate) fn reservation(length_ns: u64) -> Scheduling {
    Scheduling::Deadline { runtime_ns: RUNTIME_NS, period_ns: RUNTIME_NS + length_ns + MARGIN_NS }
}

/// Why a reservation was refused.
pub(crate) fn with_reason(refused: Refused) -> Refused {
    let reason =
        "it needs root or CAP_SYS_NICE, every CPU for this process, and bandwidth that nobody else has reserved";
    Refused::because(refused.doing, format!("{}; {reason}", refused.reason))
}

/// Lives in the victim's thread, which cannot be pinned.
pub(crate) struct Overrunner {
    tid: u32,
}

impl Overrunner {
    /// Sets the calling thread up.
    pub(crate) fn prepare() -> Result<Overrunner, Refused> {
        drop_timer_slack();
        set_scheduling(reservation(2_000_000)).map_err(with_reason)?;
        set_scheduling(Scheduling::Other)?;
        Ok(Overrunner { tid: clock::thread_id() })
    }

    /// Works until it was kept from its CPU for the whole length between two looks at the clock, and it is clear when.
    ///
    /// Nearly always the wait begins as a look at its CPU time returns, by which the kernel accounts: so it ran before the
    /// wait what that look says, and after it what a second look adds, which is much only where the host took the CPU. If a
    /// tick took it away elsewhere, nobody knows how much of what it ran came first.
    fn overrun(&self, length_ns: u64) -> Option<(u64, u64)> {
        let begin = clock::monotonic_ns();
        let (mut last_ns, mut last_cpu_ns) = (begin, clock::thread_cpu_ns());
        loop {
            let asked_ns = clock::monotonic_ns();
            let (cpu_ns, now_ns) = (clock::thread_cpu_ns(), clock::monotonic_ns());
            let ran_ns = cpu_ns.saturating_sub(last_cpu_ns);
            let kept_ns = (now_ns - last_ns).saturating_sub(ran_ns);
            let is_clear = now_ns - asked_ns >= length_ns || ran_ns <= MAX_UNCLEAR_NS;
            if kept_ns >= length_ns && is_clear {
                let since_ns = clock::thread_cpu_ns().saturating_sub(cpu_ns).min(kept_ns);
                return Some((now_ns - kept_ns, now_ns - since_ns));
            }
            if now_ns > begin + length_ns + PATIENCE_NS {
                return None;
            }
            (last_ns, last_cpu_ns) = (now_ns, cpu_ns);
        }
    }
}

impl Injector for Overrunner {
    fn inject(&mut self, at_ns: u64, length_ns: u64, stop: &Stop) -> Result<Option<Made>, Refused> {
        if !stop.sleep_until(at_ns) {
            return Ok(None);
        }
        let (first_ns, cpu) = (clock::monotonic_ns(), clock::current_cpu());
        set_scheduling(reservation(length_ns))?;
        let throttled = self.overrun(length_ns);
        let done_ns = clock::monotonic_ns();
        set_scheduling(Scheduling::Other)?;
        let Some((start_ns, end_ns)) = throttled else { return Ok(None) };
        let delayed_ns = end_ns - start_ns;
        let victim = Some(VictimActivation { tid: self.tid, due_ns: at_ns, first_ns, done_ns, delayed_ns });
        Ok(Some(Made { start_ns, end_ns, cpu, tid: Some(self.tid), victim, ..Made::default() }))
    }
}
