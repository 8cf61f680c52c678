//! The drill that moves a working victim from CPU to CPU by its affinity.

use super::spinner::spin;
use super::stop::Stop;
use super::victim::Victim;
use super::worker::{Injector, Made};
use punctual_kernel::scheduling::{Scheduling, pin_thread_to, set_scheduling};
use punctual_kernel::{Refused, clock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How long the victim works in each period, ns: by the clock, so that a move falls into it.
const WORK_NS: u64 = 300_000;
/// How far apart two moves are, ns.
const BETWEEN_MOVES_NS: u64 = 100_000;
/// Less than this passes between two consecutive readings of the clock, ns, unless something took the CPU.
const GAP_NS: u64 = 5_000;

/// Lives in the thread that moves the victim.
pub(crate) struct Mover {
    victim: Victim,
    cpus: Vec<u32>,
    next: usize,
    /// Where the victim last was.
    seen_on: Arc<AtomicU32>,
    tid: u32,
}

impl Mover {
    /// Starts the victim; the calling thread runs just below it.
    pub(crate) fn prepare(cpus: Vec<u32>, priority: u32) -> Result<Mover, Refused> {
        let seen_on = Arc::new(AtomicU32::new(cpus.first().copied().unwrap_or(0)));
        let its_cpu = Arc::clone(&seen_on);
        let job = move || {
            its_cpu.store(clock::current_cpu(), Ordering::Relaxed);
            let begin = clock::monotonic_ns();
            let (mut last, mut taken) = (begin, 0);
            while last < begin + WORK_NS {
                let now = spin(last, 0);
                taken += Some(now - last).filter(|&gap| gap > GAP_NS).unwrap_or(0);
                last = now;
            }
            taken
        };
        let victim = Victim::start(None, priority, job)?;
        // As a normal thread, if this user may have no other.
        let _ = set_scheduling(Scheduling::Fifo(priority.saturating_sub(1).max(1)));
        Ok(Mover { victim, cpus, next: 0, seen_on, tid: clock::thread_id() })
    }
}

impl Injector for Mover {
    fn inject(&mut self, at_ns: u64, length_ns: u64, stop: &Stop) -> Result<Option<Made>, Refused> {
        if !stop.sleep_until(at_ns) {
            return Ok(None);
        }
        self.victim.watch();
        let (start_ns, cpu) = (clock::monotonic_ns(), self.seen_on.load(Ordering::Relaxed));
        let mut moves = 0;
        let end_ns = loop {
            pin_thread_to(self.victim.tid(), self.cpus[self.next % self.cpus.len()])?;
            self.next += 1;
            moves += 1;
            let now = clock::monotonic_ns();
            if now >= start_ns + length_ns {
                break now;
            }
            clock::sleep_until((now + BETWEEN_MOVES_NS).min(start_ns + length_ns));
        };
        let victim = self.victim.worst_between(start_ns, end_ns);
        Ok(Some(Made { start_ns, end_ns, cpu, tid: Some(self.tid), victim, moves: Some(moves), ..Made::default() }))
    }
}
