//! The thread that finds names and writes episodes.

use super::bounded_channel::{BoundedReceiver, BoundedSender, max_bytes, queue};
use super::ended_threads::EndedThreads;
use super::evidence::{Evidence, Investigator};
use super::kernel_code::KernelCode;
use super::symbols_ahead::SymbolsAhead;
use punctual_kernel::scheduling::{Scheduling, set_scheduling_of};
use punctual_kernel::{clock, ending};
use punctual_recording::EpisodeWriter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The evidence of one recording takes no more than this, bytes.
pub(super) const MAX_BYTES: u64 = 256 << 20;
/// The writing thread has fallen behind when this many wait for it, and has caught up when fewer than these do.
const BEHIND: u64 = 32;
const CAUGHT_UP: u64 = 8;
/// It is far behind when what waits takes this share of its bound, one part in so many.
const FAR_BEHIND: u64 = 4;
/// When the measurement is over, writing what waits may take this long, or this long after the program was asked to end.
const WRITING: Duration = Duration::from_secs(10);
const ASKED: Duration = Duration::from_millis(700);
/// The episode that is being written may take this much longer.
const LAST: Duration = Duration::from_millis(500);

/// What the writing thread writes into. Gone when the measurement's end stops waiting for it: the file then has what
/// the thread had counted by then.
type Episodes = Mutex<Option<EpisodeWriter>>;

/// What the thread reports about its work.
#[derive(Default)]
pub(super) struct Written {
    pub(super) kept: u64,
    pub(super) void: u64,
    /// How much of the disk the kept ones take.
    pub(super) bytes: u64,
    pub(super) over_budget: u64,
    /// The first episode that could not be written, and those that came after it.
    pub(super) unwritten: u64,
    /// CPU time of the writing thread: before the first episode, with what reading the kernel's symbols took; and since
    /// then.
    pub(super) starting_ns: u64,
    pub(super) cpu_ns: u64,
    /// Why the first of these could not be written, and the same for whoever has to act on it.
    pub(super) failure: Option<String>,
    failed: Option<punctual_recording::Error>,
}

/// The thread that finds names and writes. That is work, and must not be what makes the observed threads late: it runs
/// when nobody else wants the CPU, unless it falls behind. On a machine where somebody always wants it, existing
/// evidence would be lost.
pub(super) struct WritingThread {
    /// `None` once nothing more comes.
    sender: Option<BoundedSender<Box<Evidence>>>,
    episodes: Arc<Episodes>,
    written: Arc<Mutex<Written>>,
    /// Set when there is no time left to write episodes.
    given_up: Arc<AtomicBool>,
    tid: u32,
    share: Share,
    thread: Option<JoinHandle<KernelCode>>,
    /// What the thread knew of the kernel's functions, once it has ended.
    kernel: Option<KernelCode>,
}

/// How the writing thread gets its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    /// When nobody else wants the CPU.
    Spare,
    /// A tenth of what a normal thread gets.
    BelowOthers,
    /// Like a normal thread.
    AsOthers,
}

impl WritingThread {
    /// Starts it. It keeps no more than this many episodes, and looks for names among these symbols, which need not have this
    /// process's `own` programs, and the threads that have ended.
    pub(super) fn start(
        writer: EpisodeWriter,
        max_episodes: u64,
        symbols: SymbolsAhead,
        own: Vec<u32>,
        ended: Option<Arc<EndedThreads>>,
    ) -> WritingThread {
        let episodes = Arc::new(Mutex::new(Some(writer)));
        let (sender, receiver) = queue(max_bytes());
        let (tell_tid, tid) = sync_channel(1);
        let written = Arc::new(Mutex::new(Written::default()));
        let given_up = Arc::new(AtomicBool::new(false));
        let body = {
            let (episodes, shared, no_time) = (Arc::clone(&episodes), Arc::clone(&written), Arc::clone(&given_up));
            move || {
                let (symbols, symbols_ns) = symbols.wait();
                let investigator = Investigator::new(symbols, &own, ended, true);
                let starting_ns = symbols_ns + clock::thread_cpu_ns();
                if let Ok(mut written) = shared.lock() {
                    written.starting_ns = starting_ns;
                }
                let _ = tell_tid.send(clock::thread_id());
                write_episodes(investigator, &episodes, receiver, (&shared, &no_time), max_episodes)
            }
        };
        let thread = std::thread::Builder::new().name("why".to_owned()).spawn(body).ok();
        // Reading the kernel's symbols takes a tenth of a second: not during the measurement. Until then the thread is
        // a normal one: if every CPU is wanted all the time, one that runs only when nobody else wants to would never
        // report that it is ready.
        let tid = tid.recv().unwrap_or(0);
        let sender = Some(sender);
        let share = Share::AsOthers;
        let mut writing = WritingThread { sender, episodes, written, given_up, tid, share, thread, kernel: None };
        writing.give(Share::Spare);
        writing
    }

    /// Whether there is no room for another episode.
    pub(super) fn is_full(&self) -> bool {
        self.sender.as_ref().is_none_or(BoundedSender::is_full)
    }

    /// Hands on the evidence of an episode; returns whether there was room for it.
    pub(super) fn episode(&self, evidence: Evidence) -> bool {
        let bytes = evidence.bytes();
        self.sender.as_ref().is_some_and(|sender| sender.put(Box::new(evidence), bytes))
    }

    /// No more evidence comes.
    pub(super) fn no_more(&mut self) {
        self.sender = None;
    }

    /// What the thread knew of the kernel's functions; `None` if it has not ended in order.
    pub(super) fn take_kernel_code(&mut self) -> Option<KernelCode> {
        self.kernel.take()
    }

    /// What was written so far.
    pub(super) fn written(&self) -> Option<MutexGuard<'_, Written>> {
        self.written.lock().ok()
    }

    /// The first error since the last call.
    pub(super) fn failure(&self) -> Option<punctual_recording::Error> {
        self.written()?.failed.take()
    }

    /// Gives it as much CPU time as it needs not to fall behind.
    pub(super) fn keep_up(&mut self) {
        let waiting = self.sender.as_ref().map_or(0, BoundedSender::waiting);
        self.give(match (waiting, self.share) {
            _ if self.sender.as_ref().is_some_and(|sender| sender.is_filled_to(FAR_BEHIND)) => Share::AsOthers,
            (waiting, Share::AsOthers) if waiting >= BEHIND => Share::AsOthers,
            (waiting, Share::Spare) if waiting < BEHIND => Share::Spare,
            (waiting, _) if waiting < CAUGHT_UP => Share::Spare,
            _ => Share::BelowOthers,
        });
    }

    fn give(&mut self, share: Share) {
        // The number of one that has ended may be anybody's by now.
        let has_ended = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
        if self.share == share || self.tid == 0 || has_ended {
            return;
        }
        self.share = share;
        let scheduling = if share == Share::Spare { Scheduling::Idle } else { Scheduling::Other };
        // Where the kernel refuses, it stays as it is: slower, or more in the way.
        let _ = set_scheduling_of(self.tid, scheduling, false);
        if share == Share::BelowOthers {
            let _ = rustix::process::setpriority_process(rustix::process::Pid::from_raw(self.tid as i32), 10);
        }
    }

    /// Waits for what is still to be written, but not forever: the measurement was over at this time. Returns whether
    /// all of it was written. From here on nothing is added to the counts.
    pub(super) fn finish(&mut self, over: Instant) -> bool {
        self.no_more();
        let is_written = self.wait(over);
        if let Ok(mut episodes) = self.episodes.lock() {
            *episodes = None;
        }
        is_written
    }

    fn wait(&mut self, over: Instant) -> bool {
        // Nothing is measured any more that it could disturb.
        self.give(Share::AsOthers);
        let Some(thread) = self.thread.take() else { return true };
        let (mut asked, mut given_up) = (None, None);
        while !thread.is_finished() {
            if ending::is_asked() {
                asked.get_or_insert_with(Instant::now);
            }
            if over.elapsed() > WRITING || asked.is_some_and(|asked: Instant| asked.elapsed() > ASKED) {
                self.given_up.store(true, Ordering::Relaxed);
                if given_up.get_or_insert_with(Instant::now).elapsed() > LAST {
                    return false;
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.kernel = thread.join().ok();
        self.kernel.is_some()
    }
}

/// Writes what comes; returns what it knows of the kernel's functions then.
fn write_episodes(
    mut investigator: Investigator,
    episodes: &Episodes,
    receiver: BoundedReceiver<Box<Evidence>>,
    (shared, given_up): (&Mutex<Written>, &AtomicBool),
    most: u64,
) -> KernelCode {
    let begun_ns = clock::thread_cpu_ns();
    let count = |count: &mut dyn FnMut(&mut Written)| {
        if let Ok(mut written) = shared.lock() {
            count(&mut written);
        }
    };
    let (mut kept, mut bytes, mut has_failed) = (0, 0, false);
    receiver.for_each(|evidence| {
        // A smaller one might fit, and take the room for what is to be said about the end.
        if has_failed || given_up.load(Ordering::Relaxed) {
            return count(&mut |written| written.unwritten += 1);
        }
        if kept >= most || bytes > MAX_BYTES {
            return count(&mut |written| written.over_budget += 1);
        }
        let episode = investigator.investigate(kept + 1, &evidence);
        // Held until it is counted: whoever closes the file counts what is in it.
        let Ok(mut episodes) = episodes.lock() else { return };
        let Some(writer) = episodes.as_mut() else { return };
        match writer.push(&episode) {
            Ok(()) => {
                (kept, bytes) = (kept + 1, writer.bytes());
                let cpu_ns = clock::thread_cpu_ns().saturating_sub(begun_ns);
                count(&mut |written| {
                    (written.kept, written.cpu_ns, written.bytes) = (kept, cpu_ns, bytes);
                    written.void += u64::from(episode.void.is_some());
                });
            }
            Err(error) => {
                has_failed = true;
                if let Ok(mut written) = shared.lock() {
                    written.unwritten += 1;
                    written.failure = Some(error.to_string());
                    written.failed.get_or_insert(error);
                }
            }
        }
    });
    investigator.into_kernel_code()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_kernel::other_thread::ThreadScheduling;

    #[test]
    fn nobody_is_scheduled_in_place_of_a_thread_that_has_ended() {
        let (tell, told) = sync_channel(1);
        let (end, ended) = sync_channel::<()>(1);
        // It has the number that the writing thread had.
        let other = std::thread::spawn(move || {
            let _ = tell.send(clock::thread_id());
            let _ = ended.recv();
        });
        let tid: u32 = told.recv().unwrap();
        let thread = std::thread::spawn(KernelCode::default);
        while !thread.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut writing = WritingThread {
            sender: None,
            episodes: Arc::default(),
            written: Arc::default(),
            given_up: Arc::default(),
            tid,
            share: Share::AsOthers,
            thread: Some(thread),
            kernel: None,
        };
        let before = ThreadScheduling::of(tid).unwrap();
        writing.give(Share::Spare);
        let after = ThreadScheduling::of(tid).unwrap();
        drop(end);
        other.join().unwrap();
        assert_eq!(after, before);
    }
}
