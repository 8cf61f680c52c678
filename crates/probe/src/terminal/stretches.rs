//! What the flight recorder saw of the stretches of time in which somebody waited.

use crate::recorder::disk_limits::DiskLimits;
use crate::recorder::evidence::{Evidence, Investigator};
use crate::recorder::hooks::HookWatch;
use crate::recorder::kept::{Kept, joined};
use crate::recorder::missed_runs::MissedRuns;
use crate::recorder::{Connections, FlightRecorder, LateWakeup};
use punctual_kernel::{Refused, clock, scheduling};
use punctual_recording::episode::HookedProgram;
use punctual_recording::{Episode, Stage};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The evidence reaches this far before and after the stretch, ns.
const BEFORE_NS: u64 = 5_000_000;
const AFTER_NS: u64 = 300_000;
/// A record may be finished this much later than the time that it holds, ns.
const SETTLE_NS: u64 = 1_000_000;
/// How many wait for their names before further ones are refused; each holds what all CPUs did in the stretch.
const MAX_WAITING: usize = 64;
/// Nor may they hold more than this, bytes.
const MAX_WAITING_BYTES: u64 = 64 << 20;
/// The thread that finds names gives way to whoever is working.
const NICE: i32 = 10;

/// A stretch of a thread's time that somebody waited for.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// The caller's number for it.
    pub id: u64,
    /// The thread.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// From when, ns of `CLOCK_MONOTONIC`.
    pub begin_ns: u64,
    /// To when.
    pub end_ns: u64,
}

/// What was made of a stretch.
#[derive(Debug)]
pub struct Made {
    /// The caller's number for it.
    pub id: u64,
    /// What happened in it.
    pub episode: Episode,
    /// Whether a part of the evidence is missing: it was overwritten, or there was no room for it.
    pub has_hole: bool,
}

/// A time of which somebody may ask for the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// From when, ns of `CLOCK_MONOTONIC`.
    pub begin_ns: u64,
    /// To when, as far as is known; `None`: to now, and on.
    pub end_ns: Option<u64>,
}

/// The flight recorder, and a thread that makes episodes of what it saw.
pub struct Stretches {
    recorder: FlightRecorder,
    hooks: HookWatch,
    missed: MissedRuns,
    kept: Kept,
    wanted: Vec<Wanted>,
    asked: VecDeque<Stretch>,
    sender: Option<Sender<(u64, Box<Evidence>)>>,
    waiting: Arc<AtomicUsize>,
    waiting_bytes: Arc<AtomicU64>,
    made: Receiver<Made>,
    thread: Option<JoinHandle<()>>,
    refused: u64,
    sample_rate: u32,
}

impl Stretches {
    /// Starts the recorder. `own_programs` are this process's other programs. With a `sample_rate` above 0 every CPU's
    /// stack is taken that often a second; where the kernel refuses that, it goes on without.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(own_programs: &[u32], sample_rate: u32) -> Result<Stretches, Refused> {
        let mut recorder = FlightRecorder::start_with_symbols(sample_rate, Stage::Request)?;
        // Nobody asks what it costs.
        recorder.stop_measuring();
        let symbols = recorder.take_symbols();
        let ended = recorder.ended();
        let mut own = recorder.program_ids();
        own.extend_from_slice(own_programs);
        let mut hooks = HookWatch::new(own.clone());
        hooks.read(clock::monotonic_ns());
        let (sender, receiver) = channel::<(u64, Box<Evidence>)>();
        let (hand_on, made) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let their_waiting = Arc::clone(&waiting);
        let waiting_bytes = Arc::new(AtomicU64::new(0));
        let their_bytes = Arc::clone(&waiting_bytes);
        let (tell, ready) = channel();
        let body = move || {
            // Reading the kernel's symbols takes a tenth of a second: not during the measurement. A whole input is
            // over, and the next one has begun, before anybody looks at its evidence.
            let mut investigator = Investigator::new(symbols.wait().0, &own, ended, false);
            scheduling::set_nice(NICE);
            let _ = tell.send(());
            for (id, evidence) in receiver {
                let (episode, has_hole) = (investigator.investigate(id, &evidence), evidence.has_hole());
                their_bytes.fetch_sub(evidence.bytes(), Ordering::Relaxed);
                drop(evidence);
                their_waiting.fetch_sub(1, Ordering::Relaxed);
                if hand_on.send(Made { id, episode, has_hole }).is_err() {
                    return;
                }
            }
        };
        let spawned = std::thread::Builder::new().name("naming".to_owned()).spawn(body);
        let thread = spawned.map_err(|error| Refused::because("starting a thread", error.to_string()))?;
        let _ = ready.recv();
        let asked = VecDeque::new();
        Ok(Stretches {
            recorder,
            hooks,
            missed: MissedRuns::default(),
            kept: Kept::with_room(),
            wanted: Vec::new(),
            asked,
            sender: Some(sender),
            waiting,
            waiting_bytes,
            made,
            thread: Some(thread),
            refused: 0,
            sample_rate,
        })
    }

    /// What the recorder does not see on this kernel.
    pub fn blind(&self) -> Vec<String> {
        self.recorder.blind()
    }

    /// What the sampling clock is, see [`FlightRecorder::clock`].
    pub fn sample_clock(&self) -> Option<&'static str> {
        self.recorder.clock()
    }

    /// The kernel's numbers for its programs.
    pub fn program_ids(&self) -> Vec<u32> {
        self.recorder.program_ids()
    }

    /// Keeps what happens in these times, for longer than the recorder's rings hold it, and what happened since the
    /// first of them as long as there is room; none: nobody will ask for anything from the past any more. Call it often.
    pub fn keep(&mut self, wanted: impl Iterator<Item = Wanted>) {
        self.wanted.clear();
        self.wanted.extend(wanted);
        self.keep_on();
    }

    fn keep_on(&mut self) {
        let asked = self.asked.iter().map(|asked| Wanted { begin_ns: asked.begin_ns, end_ns: Some(asked.end_ns) });
        let spans = self.wanted.iter().copied().chain(asked).map(|Wanted { begin_ns, end_ns }| {
            (begin_ns.saturating_sub(BEFORE_NS), end_ns.map_or(u64::MAX, |end_ns| end_ns.saturating_add(AFTER_NS)))
        });
        let until_ns = clock::monotonic_ns().saturating_sub(SETTLE_NS);
        self.kept.go_on(&self.recorder, &joined(spans), until_ns);
    }

    /// Asks for an episode of a stretch.
    pub fn ask(&mut self, stretch: Stretch) {
        self.asked.push_back(stretch);
    }

    /// Copies what was asked for out of the rings, as soon as they have it; call this often. Hands on the episodes made since.
    pub fn round(&mut self, mut take: impl FnMut(Made)) {
        let now = clock::monotonic_ns();
        self.hooks.read(now);
        self.missed.read(now, &self.recorder);
        if !self.asked.is_empty() {
            self.keep_on();
        }
        while self.asked.front().is_some_and(|asked| asked.end_ns + AFTER_NS + SETTLE_NS < now) {
            let Some(asked) = self.asked.pop_front() else { break };
            self.copy(&asked);
        }
        while let Ok(made) = self.made.try_recv() {
            take(made);
        }
    }

    fn copy(&mut self, asked: &Stretch) {
        let Some(sender) = self.sender.as_ref().filter(|_| self.waiting.load(Ordering::Relaxed) < MAX_WAITING) else {
            self.refused += 1;
            return;
        };
        let (from, to) = (asked.begin_ns.saturating_sub(BEFORE_NS), asked.end_ns + AFTER_NS);
        let programs: Vec<HookedProgram> = self.hooks.between(asked.begin_ns, asked.end_ns);
        let late = LateWakeup {
            tid: asked.tid,
            name: asked.name.clone(),
            priority: 120,
            cpu: 0,
            expected_ns: asked.begin_ns,
            end_ns: asked.end_ns,
            stage: Stage::Request,
            is_asked_for: false,
            waits_for_answers: false,
            may_sleep_within: false,
            has_period: false,
            asker_unknown: false,
            connections: Connections::default(),
        };
        let evidence = Evidence {
            copied: self.kept.between_or(from, (asked.begin_ns, to), || self.recorder.copy(from, to)),
            programs,
            threshold_ns: 0,
            usual_delivery_ns: 0,
            fault_path_ns: self.recorder.fault_path_ns(),
            nesting_known: self.recorder.nesting_known(),
            missed_runs: self.missed.since(asked.begin_ns, &self.recorder),
            sample_period_ns: self.recorder.sample_period_ns(self.sample_rate),
            disk_limit: DiskLimits::default().of(asked.tid, clock::monotonic_ns()),
            late,
        };
        let bytes = evidence.bytes();
        if self.waiting_bytes.load(Ordering::Relaxed) + bytes > MAX_WAITING_BYTES {
            self.refused += 1;
            return;
        }
        self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if sender.send((asked.id, Box::new(evidence))).is_err() {
            self.refused += 1;
        }
    }

    /// Stretches for which no episode could be made, because too many waited.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Hands on what is left, for at most this long.
    pub fn finish(mut self, patience: Duration, mut take: impl FnMut(Made)) -> u64 {
        let until = Instant::now() + patience;
        if let Some(last) = self.asked.back() {
            let now = clock::monotonic_ns();
            let left = (last.end_ns + AFTER_NS + SETTLE_NS + 100_000).saturating_sub(now);
            std::thread::sleep(Duration::from_nanos(left).min(patience));
        }
        self.round(&mut take);
        self.refused += self.asked.len() as u64;
        self.asked.clear();
        self.sender = None;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.made.recv_timeout(left) {
                Ok(made) => take(made),
                Err(_) => break,
            }
        }
        let unfinished = self.waiting.load(Ordering::Relaxed) as u64;
        if unfinished == 0
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
        self.refused + unfinished
    }
}
