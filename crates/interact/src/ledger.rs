//! Follows inputs through the kernel and writes down the outcome of each, whoever puts them in.

use crate::code::Code;
use crate::kernel_tracing::{KernelTracing, Until};
use crate::processes::Spent;
use crate::split::{Awaited, parts};
use crate::track::{DOUBTED_NS, Doubt, Taken, Tracker};
use punctual_kernel::clock;
use punctual_probe::terminal::Seen;
use punctual_probe::terminal::stretches::{Made, Stretch, Wanted};
use punctual_recording::{
    CodeDocument, Document, Ended, Interaction, InteractionDocument, InteractionWriter, Outcome, Result, Writer,
};
use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often to copy what the recorder's rings hold: on a busy machine they are full in a tenth of a second.
const KEEP_NS: u64 = 40_000_000;
/// How often to close a segment.
const FLUSH: Duration = Duration::from_secs(1);
/// How long naming may take at the end.
const NAMING: Duration = Duration::from_secs(20);
/// The same once the program has been asked to end.
const NAMING_IN_HASTE: Duration = Duration::from_millis(700);
/// How long it may take to name functions at the end.
const NAMING_CODE: Duration = Duration::from_secs(5);
/// Rows that wait for their parts.
const MAX_UNSPLIT: usize = 4_096;

pub(crate) struct Ledger {
    pub(crate) tracing: Option<KernelTracing>,
    pub(crate) tracker: Tracker,
    /// What the kernel's account says of each input's time.
    pub(crate) spent: HashMap<u32, Spent>,
    /// The process of a display's server, and its name.
    server: Option<(u32, &'static str)>,
    writer: Writer,
    rows: InteractionWriter,
    /// Inputs that have ended, of which an output may still be told that they may have caused.
    held: VecDeque<Interaction>,
    /// Outputs of unknown cause that inputs may have caused which have not been written down.
    doubts: Vec<Doubt>,
    /// Inputs for which an episode was requested.
    unsplit: HashMap<u32, Awaited>,
    /// The code that was at work for inputs.
    code: Code,
    /// What is known about it; `None` if nobody looks into the kernel.
    about_code: Option<CodeDocument>,
    not_split: u64,
    /// Inputs of which a part of the evidence is missing.
    with_holes: u64,
    /// Events of toolkits for which the recording has no room.
    not_kept: u64,
    /// The time up to which all that was seen has been taken, ns.
    settled_ns: u64,
    kept_ns: u64,
    /// How far back everything is kept, whatever is known by then, ns.
    looks_back_ns: Option<u64>,
    flushed: Instant,
    process_before_ns: u64,
    driver_before_ns: u64,
}

impl Ledger {
    pub(crate) fn new(
        tracing: Option<KernelTracing>,
        tracker: Tracker,
        server: Option<(u32, &'static str)>,
        writer: Writer,
        rows: InteractionWriter,
    ) -> Ledger {
        Ledger {
            tracing,
            tracker,
            spent: HashMap::new(),
            server,
            writer,
            rows,
            held: VecDeque::new(),
            doubts: Vec::new(),
            unsplit: HashMap::new(),
            code: Code::default(),
            about_code: None,
            not_split: 0,
            with_holes: 0,
            not_kept: 0,
            settled_ns: 0,
            kept_ns: 0,
            looks_back_ns: None,
            flushed: Instant::now(),
            process_before_ns: clock::process_cpu_ns(),
            driver_before_ns: clock::thread_cpu_ns(),
        }
    }

    /// The same for inputs that become known only when they are taken, this long after they began.
    pub(crate) fn looking_back(self, looks_back: Duration) -> Ledger {
        Ledger { looks_back_ns: Some(looks_back.as_nanos() as u64), ..self }
    }

    /// The start is over: from now on, inputs come.
    pub(crate) fn inputs_begin(&mut self) {
        if let Some(tracing) = &mut self.tracing {
            tracing.watch.begin_usual();
        }
    }

    /// Copies what has happened since, for the inputs that have not ended.
    pub(crate) fn keep_evidence(&mut self, now: u64) {
        if now.saturating_sub(self.kept_ns) >= KEEP_NS
            && let Some(stretches) = self.tracing.as_mut().and_then(|tracing| tracing.stretches.as_mut())
        {
            self.kept_ns = now;
            let back = self.looks_back_ns.map(|ns| Wanted { begin_ns: now.saturating_sub(ns), end_ns: None });
            stretches.keep(self.tracker.wanted().chain(back));
        }
    }

    /// Takes what the programs in the kernel saw up to now. What others report of that time comes before
    /// [`Ledger::service`].
    pub(crate) fn look(&mut self, until: Until) {
        if let Some(tracing) = &mut self.tracing {
            let settled_ns = tracing.look(until);
            if !matches!(until, Until::End) {
                self.settled_ns = settled_ns;
            }
        }
    }

    /// Goes through what was seen, and takes the inputs that have ended. `before` hears of each thing first, and says
    /// whether it counts.
    pub(crate) fn service(&mut self, mut before: impl FnMut(&mut Tracker, &Seen) -> bool) {
        if let Some(tracing) = &mut self.tracing {
            for seen in tracing.seen.drain(..) {
                if before(&mut self.tracker, &seen) {
                    self.tracker.seen(&seen);
                }
            }
        }
        self.keep_events();
        self.tracker.forget(|tid| !Path::new(&format!("/proc/{tid}")).exists());
        let done = self.tracker.take_done(self.settled_ns);
        self.keep(done);
        // Without the kernel's programs nothing is told later.
        self.write_down(if self.tracing.is_some() { self.settled_ns } else { u64::MAX });
        let mut made = Vec::new();
        if let Some(stretches) = self.tracing.as_mut().and_then(|tracing| tracing.stretches.as_mut()) {
            stretches.round(|one| made.push(one));
        }
        made.into_iter().for_each(|made| self.split(made));
    }

    /// Writes down what toolkits have passed on.
    fn keep_events(&mut self) {
        let Some(tracing) = &self.tracing else { return };
        for event in self.tracker.take_handed_on() {
            let is_kept = tracing.event(event).is_some_and(|event| self.rows.push_event(&event));
            self.not_kept += u64::from(!is_kept);
        }
    }

    /// Writes down inputs that have ended, and asks who had their time.
    fn keep(&mut self, done: Vec<Taken>) {
        for Taken { mut row, writer, handed_ns, waits_1996 } in done {
            if let Some(spent) = self.spent.remove(&row.number) {
                row.run_delay_ns = spent.delayed_ns;
                row.cpu_ns = row.cpu_ns.or(spent.cpu_ns);
                row.counters = Some(spent.counters);
            }
            if let (Some(Outcome::Seen), Some(end_ns), Some((tid, name))) = (row.outcome, row.seen_ns, writer) {
                let stretches = self.tracing.as_mut().and_then(|tracing| tracing.stretches.as_mut());
                match stretches.filter(|_| self.unsplit.len() < MAX_UNSPLIT) {
                    Some(stretches) => {
                        let (id, begin_ns) = (u64::from(row.number), row.begin_ns);
                        let server = self.server.zip(handed_ns).map(|((pid, name), handed_ns)| (pid, name, handed_ns));
                        self.unsplit.insert(row.number, Awaited { begin_ns, end_ns, server });
                        stretches.ask(Stretch { id, tid, name, begin_ns, end_ns });
                    }
                    None => self.not_split += u64::from(self.tracing.is_some()),
                }
            }
            if let Some(waits) = waits_1996 {
                self.rows.push_waits(row.number, row.begin_ns, &waits);
            }
            self.held.push_back(row);
        }
    }

    /// Writes down the inputs that nothing can be added to any more, with all that was seen up to then.
    fn write_down(&mut self, settled_ns: u64) {
        self.doubts.extend(self.tracker.take_doubts());
        let is_over = |row: &Interaction| row.begin_ns.saturating_add(DOUBTED_NS) < settled_ns;
        while self.held.front().is_some_and(is_over)
            && let Some(mut row) = self.held.pop_front()
        {
            self.doubts.iter().for_each(|doubt| doubt.note(&mut row));
            self.rows.push(&row);
        }
        let open = || self.tracker.wanted().map(|wanted| wanted.begin_ns).next();
        let oldest_ns = self.held.front().map(|row| row.begin_ns).or_else(open);
        self.doubts.retain(|doubt| oldest_ns.is_some_and(|oldest| doubt.at_ns >= oldest));
    }

    fn split(&mut self, made: Made) {
        let number = made.id as u32;
        if let Some(awaited) = self.unsplit.remove(&number) {
            self.with_holes += u64::from(made.has_hole);
            parts(number, awaited, made.episode, &mut self.code).iter().for_each(|part| self.rows.push_part(part));
        }
    }

    /// Whether it is time to close segments.
    pub(crate) fn is_due(&self) -> bool {
        self.flushed.elapsed() >= FLUSH
    }

    /// Closes segments.
    pub(crate) fn flush(&mut self, document: &InteractionDocument) -> Result<()> {
        self.flushed = Instant::now();
        self.rows.flush(document)?;
        self.writer.flush()
    }

    /// With the counts made here.
    pub(crate) fn counted(&self, document: InteractionDocument) -> InteractionDocument {
        let watch = self.tracing.as_ref().map(|tracing| (&tracing.watch, tracing.own_runs_before));
        let cost = watch.map(|(watch, before)| {
            let cost = watch.cost();
            (cost.runs.saturating_sub(before.0), cost.ns.saturating_sub(before.1))
        });
        InteractionDocument {
            followed: self.tracing.is_some(),
            background_outputs: self.tracker.background_outputs(),
            records_lost: watch.map_or(0, |(watch, _)| watch.lost()),
            not_split: self.not_split,
            with_holes: self.with_holes,
            driver_cpu_ns: clock::thread_cpu_ns().saturating_sub(self.driver_before_ns),
            process_cpu_ns: clock::process_cpu_ns().saturating_sub(self.process_before_ns),
            program_cpu_ns: watch.map(|_| self.tracker.cpu_ns()),
            programs_ran_ns: cost.map(|(_, ns)| ns),
            programs_runs: cost.map(|(runs, _)| runs),
            code: self.about_code.clone().or_else(|| self.about_code_so_far()),
            toolkit: self.tracing.as_ref().and_then(|tracing| tracing.toolkit(self.not_kept)),
            ..document
        }
    }

    fn about_code_so_far(&self) -> Option<CodeDocument> {
        let tracing = self.tracing.as_ref()?;
        Some(self.code.document(tracing.sample_rate, tracing.sample_clock))
    }

    /// Takes all that is left, after a last [`Ledger::service`]: nothing more comes after `at_ns`.
    pub(crate) fn take_all(&mut self, at_ns: u64) {
        self.keep_events();
        let done = self.tracker.finish(at_ns);
        self.keep(done);
        self.write_down(u64::MAX);
        let mut made = Vec::new();
        let patience = if punctual_kernel::ending::is_asked() { NAMING_IN_HASTE } else { NAMING };
        if let Some(stretches) = self.tracing.as_mut().and_then(|tracing| tracing.stretches.take()) {
            stretches.finish(patience, |one| made.push(one));
        }
        made.into_iter().for_each(|made| self.split(made));
        self.not_split += self.unsplit.len() as u64;
        self.about_code = self.about_code_so_far();
        if let Some(about) = &mut self.about_code {
            std::mem::take(&mut self.code).write(NAMING_CODE, &mut self.rows, about);
        }
    }

    /// Closes the recording.
    pub(crate) fn finish(self, document: &InteractionDocument, ended: Ended) -> Result<Document> {
        self.rows.finish(document)?;
        self.writer.finish(ended, Vec::new())
    }
}
