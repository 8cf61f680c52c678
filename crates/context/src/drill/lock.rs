//! The drill with a mutex: a normal thread holds it, and works, while a victim wants it.

use super::spinner::spin;
use super::stop::Stop;
use super::victim::Victim;
use super::worker::{Injector, Made};
use punctual_kernel::{Refused, clock};
use std::sync::{Arc, Mutex, PoisonError};

/// Lives in the thread that holds the mutex.
pub(crate) struct Holder {
    mutex: Arc<Mutex<()>>,
    victim: Victim,
    tid: u32,
}

impl Holder {
    /// Starts the victim. The calling thread stays a normal one, but runs ahead of other normal ones if this user may do that.
    pub(crate) fn prepare(cpu: u32, priority: u32) -> Result<Holder, Refused> {
        let mutex = Arc::new(Mutex::new(()));
        let wanted = Arc::clone(&mutex);
        let job = move || {
            let asked = clock::monotonic_ns();
            let _held = wanted.lock().unwrap_or_else(PoisonError::into_inner);
            clock::monotonic_ns() - asked
        };
        let victim = Victim::start(Some(cpu), priority, job)?;
        // SAFETY: takes plain numbers; 0 is the calling thread. Ordinary users are refused, and do without.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
        Ok(Holder { mutex, victim, tid: clock::thread_id() })
    }
}

impl Injector for Holder {
    fn inject(&mut self, at_ns: u64, length_ns: u64, stop: &Stop) -> Result<Option<Made>, Refused> {
        if !stop.sleep_until(at_ns) {
            return Ok(None);
        }
        self.victim.watch();
        let held = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        let (start_ns, cpu) = (clock::monotonic_ns(), clock::current_cpu());
        let end_ns = spin(start_ns, length_ns);
        drop(held);
        let victim = self.victim.worst_between(start_ns, end_ns);
        Ok(Some(Made { start_ns, end_ns, cpu, tid: Some(self.tid), victim, ..Made::default() }))
    }
}
