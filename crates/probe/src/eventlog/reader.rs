//! The thread that empties the rings.

use super::marks::{MarkLosses, Marks};
use super::merge::Noted;
use super::rings::{LogRings, dropped};
use punctual_kernel::trace_marker::TraceMarker;
use punctual_kernel::{Refused, clock, scheduling};
use punctual_recording::episode::{Event, EventKind};
use punctual_recording::printable;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The rings are emptied this often if much comes, or if programs may put marks, whose memory is smaller.
const ROUND: Duration = Duration::from_millis(5);
/// And this often if little comes: a ring that was filled by no more than this in one such time is not full after the
/// next, even if sixteen times as much comes.
const QUIET_ROUND: Duration = Duration::from_millis(20);
const QUIET_RECORDS: usize = 4096;
/// What was read is handed on this often, or when it is much.
const HAND_ON_NS: u64 = 50_000_000;
const FULL_BATCH: usize = 16_384;
/// More events than this, by [weight](Noted::weight), are not kept while nobody takes them, handed on or not: the rings then
/// overwrite, and that is counted.
const MAX_KEPT: usize = 1 << 18;
/// Batches that may wait.
pub(super) const QUEUE: usize = 16;
/// Runs ahead of ordinary threads, not of real-time ones.
pub(super) const NICE: i32 = -15;

/// What was read since the last one.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) noted: Vec<Noted>,
    /// The sum of their weights.
    pub(super) weight: usize,
    /// Everything up to here is in this or an earlier one, ns.
    pub(super) reached_ns: u64,
    /// Since the beginning, by CPU.
    pub(super) dropped: Vec<(u32, u64)>,
    pub(super) marks: MarkLosses,
    /// CPU time of this thread, ns.
    pub(super) reader_ns: u64,
}

/// Where events come from.
pub(super) struct Sources {
    pub(super) rings: Option<LogRings>,
    pub(super) marks: Option<Marks>,
    pub(super) trace: Option<TraceMarker>,
}

/// What the reader and whoever takes its batches tell each other.
pub(super) struct Shared {
    /// The reader is to hand on what there is, and to end.
    pub(super) stopping: AtomicBool,
    /// Nothing later is logged, ns.
    pub(super) until_ns: AtomicU64,
    /// Events, by weight, that were handed on and that nobody has taken yet.
    pub(super) waiting: AtomicUsize,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared { stopping: AtomicBool::new(false), until_ns: AtomicU64::new(u64::MAX), waiting: AtomicUsize::new(0) }
    }
}

pub(super) struct Reader {
    pub(super) sources: Sources,
    pub(super) sender: SyncSender<Batch>,
    /// Room of batches that were taken, for reuse.
    pub(super) spare: Receiver<Vec<Noted>>,
    pub(super) shared: Arc<Shared>,
    pub(super) trace_missed: u64,
}

impl Reader {
    /// Runs it in a thread of its own.
    pub(super) fn start(self) -> Result<JoinHandle<()>, Refused> {
        let spawned = std::thread::Builder::new().name("log-reader".to_owned()).spawn(move || self.run());
        spawned.map_err(|error| Refused::because("starting a thread", error.to_string()))
    }

    /// Runs until it is told to stop; what came before that is all handed on.
    fn run(mut self) {
        scheduling::set_nice(NICE);
        let (mut batch, mut has_read) = (Batch::default(), false);
        let mut handed_ns = clock::monotonic_ns();
        loop {
            let stopping = self.shared.stopping.load(Ordering::Acquire);
            let before = batch.noted.len();
            if stopping || batch.weight + self.shared.waiting.load(Ordering::Acquire) < MAX_KEPT {
                self.round(&mut batch);
                batch.weight += batch.noted[before..].iter().map(Noted::weight).sum::<usize>();
                has_read = true;
            }
            if stopping {
                self.last(&mut batch);
                self.shared.waiting.fetch_add(batch.weight, Ordering::AcqRel);
                let _ = self.sender.send(batch);
                return;
            }
            let is_quiet = self.sources.marks.is_none() && batch.noted.len() - before < QUIET_RECORDS;
            let now = clock::monotonic_ns();
            // Without a round it would say that nothing was lost so far.
            if has_read && (batch.noted.len() > FULL_BATCH || now - handed_ns > HAND_ON_NS) {
                handed_ns = now;
                let handed_on = batch.weight;
                // Before whoever takes it can subtract it.
                self.shared.waiting.fetch_add(handed_on, Ordering::AcqRel);
                match self.sender.try_send(batch) {
                    Ok(()) => {
                        batch = Batch { noted: self.spare.try_recv().unwrap_or_default(), ..Batch::default() };
                        has_read = false;
                    }
                    Err(TrySendError::Full(kept)) => {
                        self.shared.waiting.fetch_sub(handed_on, Ordering::AcqRel);
                        batch = kept;
                    }
                    Err(TrySendError::Disconnected(_)) => return,
                }
            }
            std::thread::sleep(if is_quiet { QUIET_ROUND } else { ROUND });
        }
    }

    fn round(&mut self, batch: &mut Batch) {
        let now = clock::monotonic_ns();
        let until = self.shared.until_ns.load(Ordering::Acquire);
        let noted = &mut batch.noted;
        let first = noted.len();
        let mut reached = now;
        if let Some(rings) = &mut self.sources.rings {
            reached = reached.min(rings.drain(now, until, noted));
            batch.dropped = rings.dropped();
        }
        if let Some(marks) = &mut self.sources.marks {
            marks.serve(now);
            reached = reached.min(marks.drain(now, noted));
            if now > until {
                marks.close();
            }
            batch.marks = marks.losses();
        }
        if let Some(trace) = &mut self.sources.trace {
            let missed = trace.take(|mark| {
                let event = Event {
                    at_ns: mark.time_ns,
                    cpu: mark.cpu,
                    kind: EventKind::Mark,
                    tid: mark.tid,
                    priority: 0,
                    context: 0,
                    steal_ns: 0,
                    value: 0,
                    extra: 1,
                    name: 0,
                };
                let text = printable(&mark.text);
                noted.push(Noted { event, comm: [0; 16], text: Some(text.into()) });
            });
            if missed > 0 {
                self.trace_missed += missed;
                noted.push(dropped(0, missed, now, "trace_marker"));
            }
        }
        batch.marks.dropped += self.trace_missed;
        if now > until {
            for noted in &mut noted[first..] {
                // What was lost around the end was lost within the log.
                if noted.event.kind == EventKind::Dropped {
                    noted.event.at_ns = noted.event.at_ns.min(until);
                }
            }
            let late = noted.extract_if(first.., |noted| noted.event.at_ns > until);
            late.for_each(drop);
        }
        batch.reached_ns = batch.reached_ns.max(reached);
        batch.reader_ns = clock::thread_cpu_ns();
    }

    fn last(&mut self, batch: &mut Batch) {
        if let Some(rings) = &mut self.sources.rings {
            rings.lost_at_the_end(self.shared.until_ns.load(Ordering::Acquire), &mut batch.noted);
        }
        batch.reached_ns = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn what_says_nothing_is_not_handed_on_while_too_much_waits() {
        let shared = Arc::new(Shared::default());
        shared.waiting.store(MAX_KEPT, Ordering::Release);
        let (sender, batches) = sync_channel(QUEUE);
        let (_room, spare) = sync_channel(QUEUE);
        let sources = Sources { rings: None, marks: None, trace: None };
        let reader = Reader { sources, sender, spare, shared: Arc::clone(&shared), trace_missed: 0 };
        let reader = reader.start().unwrap();
        // Several times as long as until something is handed on.
        assert!(batches.recv_timeout(Duration::from_millis(300)).is_err());
        shared.waiting.store(0, Ordering::Release);
        let batch = batches.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(batch.reader_ns > 0 && batch.reached_ns > 0);
        shared.stopping.store(true, Ordering::Release);
        let last = batches.iter().last().unwrap();
        assert_eq!(last.reached_ns, u64::MAX);
        reader.join().unwrap();
    }
}
