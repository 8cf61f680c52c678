//! Takes the records out of the rings on a thread of its own: writing a segment may take longer than a ring holds.

use super::memory::Rings;
use super::records::Record;
use punctual_kernel::scheduling::Eager;
use punctual_kernel::{Refused, clock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The rings are emptied this often: the evidence of late wakeups waits in other rings until they are noticed.
const ROUND: Duration = Duration::from_millis(10);
/// And this often while a round brings much: threads that switch as fast as they can fill a ring in 20 ms.
const BUSY_ROUND: Duration = Duration::from_millis(3);
const BUSY_RECORDS: u64 = 1 << 11;
/// A record may become visible this much later than the time that stands in it.
const SETTLE_NS: u64 = 2_000_000;
/// How many records may wait to be written (64 MB) before they are left in the rings, which count what they lose.
const MAX_WAITING: usize = 1 << 19;
/// So many are handed on at a time, and what one round brought: in between, whoever takes them looks at the clock.
const FULL_BATCH: usize = 1 << 15;

/// The thread that empties the rings.
pub(super) struct Drain {
    records: Receiver<Vec<Record>>,
    waiting: Arc<AtomicUsize>,
    /// All records from before this moment are handed on, ns.
    handed_on: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drain {
    /// Starts it. It runs ahead of ordinary threads, so that whoever fills the CPUs neither hides late wakeups nor lets
    /// the rings fill up.
    pub(super) fn start(rings: Rings) -> Result<Drain, Refused> {
        let (sender, records) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let (handed_on, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (their_waiting, their_stop) = (Arc::clone(&waiting), Arc::clone(&stop));
        let their_handed_on = Arc::clone(&handed_on);
        let body = move || {
            let _eager = Eager::begin();
            empty(&rings, &sender, (&their_waiting, &their_handed_on), &their_stop);
        };
        let thread = std::thread::Builder::new()
            .name("drain".to_owned())
            .spawn(body)
            .map_err(|error| Refused::because("starting the thread that empties the rings", error.to_string()))?;
        Ok(Drain { records, waiting, handed_on, stop, thread: Some(thread) })
    }

    /// A call of [`Drain::take`] that follows brings all records from before this moment, ns of `CLOCK_MONOTONIC`, if it takes all:
    /// where others want the CPUs, the thread that empties the rings may not have run for longer than a job may take.
    pub(super) fn handed_on_until_ns(&self) -> u64 {
        self.handed_on.load(Ordering::Acquire)
    }

    /// What came since the last call, in order of time. False if there may be more.
    pub(super) fn take(&self, into: &mut Vec<Record>) -> bool {
        while let Ok(records) = self.records.try_recv() {
            self.waiting.fetch_sub(records.len(), Ordering::Relaxed);
            into.extend(records);
            if into.len() > FULL_BATCH {
                return false;
            }
        }
        true
    }

    /// Whether so much waits that whoever takes it should run ahead of ordinary threads.
    pub(super) fn is_behind(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > MAX_WAITING / 8
    }

    /// Empties the rings a last time; what came is ready to be taken.
    pub(super) fn stop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.stop();
    }
}

fn empty(
    rings: &Rings,
    sender: &Sender<Vec<Record>>,
    (waiting, handed_on): (&AtomicUsize, &AtomicU64),
    stop: &AtomicBool,
) {
    let mut taken: Vec<Record> = Vec::new();
    loop {
        let last = stop.load(Ordering::Acquire);
        // A thread that moved to a CPU whose ring had already been emptied may have left its previous record in one
        // that had not: what is too new to be sure waits for the next round.
        let settled = if last { u64::MAX } else { clock::monotonic_ns().saturating_sub(SETTLE_NS) };
        let mut brought = 0;
        let has_room = last || waiting.load(Ordering::Relaxed) < MAX_WAITING;
        if has_room {
            brought = rings.take(&mut taken);
        }
        taken.sort_by_key(|record| record.at);
        let ready: Vec<Record> = taken.drain(..taken.partition_point(|record| record.at < settled)).collect();
        if !ready.is_empty() {
            waiting.fetch_add(ready.len(), Ordering::Relaxed);
            if sender.send(ready).is_err() {
                return;
            }
        }
        if last {
            return;
        }
        // What was left in the rings is not known.
        if has_room {
            handed_on.store(settled, Ordering::Release);
        }
        std::thread::sleep(if brought < BUSY_RECORDS { ROUND } else { BUSY_ROUND });
    }
}
