//! The thread that finds names and writes episodes.

use super::bounded_channel::{BoundedReceiver, BoundedSender, most_bytes, queue};
use super::evidence::{Evidence, Investigator};
use punctual_kernel::scheduling::{Scheduling, set_scheduling, set_scheduling_of};
use punctual_kernel::{clock, ending};
use punctual_recording::{EpisodeWriter, RecorderSummary};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The evidence of one recording takes no more than this, bytes.
const MAX_BYTES: u64 = 256 << 20;
/// The writing thread has fallen behind when so many wait for it, and has caught up when fewer than these do.
const BEHIND: u64 = 32;
const CAUGHT_UP: u64 = 8;
/// It is far behind when what waits takes this share of what may, a part in so many.
const FAR_BEHIND: u64 = 4;
/// When the measurement is over, what waits to be written may take so long, or so long after the program was asked to end.
const WRITING: Duration = Duration::from_secs(10);
const ASKED: Duration = Duration::from_millis(700);
/// The episode that is being written may take so long beyond that.
const LAST: Duration = Duration::from_millis(500);

enum Message {
    Episode(Box<Evidence>),
    Summary(Box<RecorderSummary>),
}

/// What the thread tells of its work.
#[derive(Default)]
pub(super) struct Written {
    pub(super) kept: u64,
    pub(super) void: u64,
    pub(super) over_budget: u64,
    /// Episodes that came after one that could not be written, and that one.
    pub(super) unwritten: u64,
    /// CPU time of the writing thread: before the first episode, reading the kernel's symbols; and since then.
    pub(super) starting_ns: u64,
    pub(super) cpu_ns: u64,
    failed: Option<punctual_recording::Error>,
}

/// The thread that finds names and writes. That is work, and must not be what makes the threads late that are looked
/// at: it runs when nobody else wants the CPU, unless it falls behind. On a machine where somebody always wants it, evidence
/// would be lost that was there.
pub(super) struct WritingThread {
    /// `None` once nothing more comes.
    sender: Option<BoundedSender<Message>>,
    written: Arc<Mutex<Written>>,
    /// Set when there is no time left to write episodes.
    given_up: Arc<AtomicBool>,
    tid: u32,
    hurry: Hurry,
    thread: Option<JoinHandle<()>>,
}

/// How the writing thread gets its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hurry {
    /// When nobody else wants the CPU.
    Spare,
    /// A tenth of what a normal thread gets.
    BelowOthers,
    /// As a normal thread.
    AsOthers,
}

impl WritingThread {
    /// Starts it. It keeps no more than so many episodes.
    pub(super) fn start(writer: EpisodeWriter, most_episodes: u64) -> WritingThread {
        let (sender, receiver) = queue(most_bytes());
        let (tell_tid, tid) = sync_channel(1);
        let written = Arc::new(Mutex::new(Written::default()));
        let given_up = Arc::new(AtomicBool::new(false));
        let shared = (Arc::clone(&written), Arc::clone(&given_up));
        let thread = std::thread::Builder::new().name("why".to_owned());
        let thread = thread
            .spawn(move || write_episodes(writer, &tell_tid, receiver, (&shared.0, &shared.1), most_episodes))
            .ok();
        // Reading the kernel's symbols takes a tenth of a second: not while it is measured.
        let tid = tid.recv().unwrap_or(0);
        WritingThread { sender: Some(sender), written, given_up, tid, hurry: Hurry::Spare, thread }
    }

    /// Whether no further episode has room.
    pub(super) fn is_full(&self) -> bool {
        self.sender.as_ref().is_none_or(BoundedSender::is_full)
    }

    /// Hands on the evidence of an episode; whether there was room for it.
    pub(super) fn episode(&self, evidence: Evidence) -> bool {
        let bytes = evidence.bytes();
        self.sender.as_ref().is_some_and(|sender| sender.put(Message::Episode(Box::new(evidence)), bytes))
    }

    /// Hands on what was counted so far.
    pub(super) fn summary(&self, summary: RecorderSummary) {
        if let Some(sender) = &self.sender {
            sender.put(Message::Summary(Box::new(summary)), 0);
        }
    }

    /// What was written so far.
    pub(super) fn written(&self) -> Option<MutexGuard<'_, Written>> {
        self.written.lock().ok()
    }

    /// The first error since this was called last.
    pub(super) fn failure(&self) -> Option<punctual_recording::Error> {
        self.written()?.failed.take()
    }

    /// Gives it as much of the CPUs as it takes not to fall behind.
    pub(super) fn keep_up(&mut self) {
        let waiting = self.sender.as_ref().map_or(0, BoundedSender::waiting);
        self.hurry(match (waiting, self.hurry) {
            _ if self.sender.as_ref().is_some_and(|sender| sender.is_filled_to(FAR_BEHIND)) => Hurry::AsOthers,
            (waiting, Hurry::AsOthers) if waiting >= BEHIND => Hurry::AsOthers,
            (waiting, Hurry::Spare) if waiting < BEHIND => Hurry::Spare,
            (waiting, _) if waiting < CAUGHT_UP => Hurry::Spare,
            _ => Hurry::BelowOthers,
        });
    }

    fn hurry(&mut self, hurry: Hurry) {
        if self.hurry == hurry || self.tid == 0 {
            return;
        }
        self.hurry = hurry;
        let scheduling = if hurry == Hurry::Spare { Scheduling::Idle } else { Scheduling::Other };
        // Where the kernel refuses, it stays as it is: slower, or more in the way.
        let _ = set_scheduling_of(self.tid, scheduling, false);
        if hurry == Hurry::BelowOthers {
            let _ = rustix::process::setpriority_process(rustix::process::Pid::from_raw(self.tid as i32), 10);
        }
    }

    /// Waits for what is still to be written, not for ever: nothing was measured any more from this time on. Whether all of it
    /// was written.
    pub(super) fn finish(&mut self, over: Instant) -> bool {
        self.sender = None;
        let Some(thread) = self.thread.take() else { return true };
        // Nothing is measured any more that it could disturb.
        self.hurry(Hurry::AsOthers);
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
        thread.join().is_ok()
    }
}

/// What the writing thread works with.
struct EpisodeWriting<'a> {
    writer: EpisodeWriter,
    investigator: Investigator,
    written: &'a Mutex<Written>,
    /// No more episodes than this.
    most: u64,
    kept: u64,
    /// CPU time of the thread when it began, ns.
    starting_ns: u64,
    failure: Option<String>,
}

impl EpisodeWriting<'_> {
    fn count(&self, count: impl FnOnce(&mut Written)) {
        if let Ok(mut written) = self.written.lock() {
            count(&mut written);
        }
    }

    fn summary(&mut self, mut summary: Box<RecorderSummary>) -> punctual_recording::Result<()> {
        if let Ok(written) = self.written.lock() {
            (summary.kept, summary.void) = (written.kept, written.void);
            if self.failure.is_some() {
                summary.failure.clone_from(&self.failure);
                // Counted when the summary was sent: those that failed since are missing.
                let counted = summary.kept + summary.over_budget + summary.writing_behind;
                summary.writing_behind += summary.late.saturating_sub(counted);
            }
        }
        self.writer.write_summary(&summary)
    }

    fn episode(&mut self, evidence: &Evidence) -> punctual_recording::Result<()> {
        if self.kept >= self.most || self.writer.bytes() > MAX_BYTES {
            self.count(|written| written.over_budget += 1);
            return Ok(());
        }
        let episode = self.investigator.investigate(self.kept + 1, evidence);
        let result = self.writer.push(&episode);
        match &result {
            Err(error) => {
                self.failure = Some(error.to_string());
                self.count(|written| written.unwritten += 1);
            }
            Ok(()) => {
                self.kept += 1;
                self.count(|written| {
                    written.kept = self.kept;
                    written.void += u64::from(episode.void.is_some());
                    written.cpu_ns = clock::thread_cpu_ns().saturating_sub(self.starting_ns);
                });
            }
        }
        result
    }
}

fn write_episodes(
    writer: EpisodeWriter,
    tell_tid: &SyncSender<u32>,
    receiver: BoundedReceiver<Message>,
    (written, given_up): (&Mutex<Written>, &AtomicBool),
    most: u64,
) {
    let investigator = Investigator::new();
    let starting_ns = clock::thread_cpu_ns();
    let mut writing = EpisodeWriting { writer, investigator, written, most, kept: 0, starting_ns, failure: None };
    writing.count(|written| written.starting_ns = starting_ns);
    let _ = set_scheduling(Scheduling::Idle);
    let _ = tell_tid.send(clock::thread_id());
    receiver.for_each(|message| {
        let result = match message {
            Message::Summary(summary) => writing.summary(summary),
            // A smaller one might fit, and take the room for what is to be said of the end.
            Message::Episode(_) if writing.failure.is_some() || given_up.load(Ordering::Relaxed) => {
                writing.count(|written| written.unwritten += 1);
                Ok(())
            }
            Message::Episode(evidence) => writing.episode(&evidence),
        };
        if let Err(error) = result {
            writing.count(|written| _ = written.failed.get_or_insert(error));
        }
    });
}
