//! The periodic thread that suffers in the drills which bring their own victim.

use super::VictimActivation;
use punctual_kernel::scheduling::{Scheduling, drop_timer_slack, pin_to, set_scheduling};
use punctual_kernel::{Refused, clock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The name by which others find it: at most 15 characters.
pub(crate) const NAME: &str = "drill-victim";
/// Below the threads that `punctual record` measures, so that it does not disturb them.
pub(crate) const PRIORITY: u32 = 70;
/// Its period, ns.
pub(crate) const PERIOD_NS: u64 = 1_000_000;

/// How long to wait for the victim to report an activation, ns.
const PATIENCE: Duration = Duration::from_millis(20);

/// Makes the calling thread real-time if this user may; otherwise it goes on as a normal one, without slack.
pub(crate) fn become_victim(cpu: Option<u32>, priority: u32) -> Result<(), Refused> {
    if let Some(cpu) = cpu {
        pin_to(cpu)?;
    }
    if set_scheduling(Scheduling::Fifo(priority)).is_err() {
        drop_timer_slack();
    }
    Ok(())
}

/// A victim in a thread of its own; it ends when this is dropped.
pub(crate) struct Victim {
    thread: Option<JoinHandle<()>>,
    ended: Arc<AtomicBool>,
    watched: Arc<AtomicBool>,
    activations: Receiver<VictimActivation>,
    tid: u32,
}

impl Victim {
    /// Starts it. It does its job every period while it is watched; the job returns how much of its time was taken from it, ns.
    pub(crate) fn start(
        cpu: Option<u32>,
        priority: u32,
        job: impl FnMut() -> u64 + Send + 'static,
    ) -> Result<Victim, Refused> {
        let (ended, watched) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (sender, activations) = channel();
        let (ready, is_ready) = channel();
        let (its_end, its_watch) = (Arc::clone(&ended), Arc::clone(&watched));
        let body = move || {
            let prepared = become_victim(cpu, priority).map(|()| clock::thread_id());
            let going_on = prepared.is_ok();
            let _ = ready.send(prepared);
            if going_on {
                suffer(job, &its_end, &its_watch, &sender);
            }
        };
        let failed = |reason: String| Refused::because("starting the victim", reason);
        let thread = std::thread::Builder::new().name(NAME.to_owned()).spawn(body);
        let thread = thread.map_err(|error| failed(error.to_string()))?;
        let tid = is_ready.recv().map_err(|error| failed(error.to_string()))??;
        Ok(Victim { thread: Some(thread), ended, watched, activations, tid })
    }

    pub(crate) fn tid(&self) -> u32 {
        self.tid
    }

    /// Reports its activations from now on.
    pub(crate) fn watch(&self) {
        self.watched.store(true, Ordering::Release);
        while self.activations.try_recv().is_ok() {}
    }

    /// The activation that suffered most between these times; `None` if none fell between them.
    pub(crate) fn worst_between(&self, start_ns: u64, end_ns: u64) -> Option<VictimActivation> {
        let mut worst: Option<VictimActivation> = None;
        // Up to the first one that began afterwards.
        loop {
            match self.activations.recv_timeout(PATIENCE) {
                Ok(activation) if activation.first_ns >= end_ns => {
                    worst = worse(worst, activation, start_ns, end_ns);
                    break;
                }
                Ok(activation) => worst = worse(worst, activation, start_ns, end_ns),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        self.watched.store(false, Ordering::Release);
        worst
    }
}

fn worse(
    worst: Option<VictimActivation>,
    activation: VictimActivation,
    start_ns: u64,
    end_ns: u64,
) -> Option<VictimActivation> {
    let meets = activation.due_ns < end_ns && activation.done_ns > start_ns;
    let response = |activation: &VictimActivation| activation.done_ns - activation.due_ns;
    match worst {
        _ if !meets => worst,
        Some(worst) if response(&worst) >= response(&activation) => Some(worst),
        _ => Some(activation),
    }
}

fn suffer(mut job: impl FnMut() -> u64, ended: &AtomicBool, watched: &AtomicBool, sender: &Sender<VictimActivation>) {
    let tid = clock::thread_id();
    let mut due_ns = clock::monotonic_ns();
    while !ended.load(Ordering::Acquire) {
        let now = clock::monotonic_ns();
        // The next point of the grid that is still ahead.
        due_ns += (now.saturating_sub(due_ns) / PERIOD_NS + 1) * PERIOD_NS;
        clock::sleep_until(due_ns);
        if watched.load(Ordering::Acquire) {
            let first_ns = clock::monotonic_ns();
            let delayed_ns = job();
            let done_ns = clock::monotonic_ns();
            let _ = sender.send(VictimActivation { tid, due_ns, first_ns, done_ns, delayed_ns });
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
