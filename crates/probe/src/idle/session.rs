//! What takes the CPU away from a loop that wants it all.
//!
//! A thread on each CPU reads the time-stamp counter again and again and hands on only the times between two readings
//! that are longer than a threshold: the idle loop of Olawuyi and others, "Using Latency to Evaluate Computer System
//! Performance" (2014), II.c to II.e, without its calibrated count. Meanwhile BPF programs on tracepoints note what
//! else ran. Nothing here judges: [`punctual_recording::TraceEntry`]s and [`RawGap`]s are put together elsewhere.

use crate::idle::calibrated::{Calibration, calibrate};
use crate::idle::gap_loop::{IdleLoop, LoopCounts, RawGap};
use crate::idle::ticker::Ticker;
use crate::idle::trace::Tracer;
use crate::shared::control::Control;
use crate::shared::error::PlanError;
use crate::shared::error::RunError;
use punctual_kernel::ending::GettingReady;
use punctual_kernel::scheduling::{self, Scheduling, allowed_cpus, check_allowed};
use punctual_kernel::{Refused, capabilities, clock, hold, host, number_in_kernel, steal};
use punctual_recording::{Configuration, Provenance, TraceEntry};
use rtrb::{Consumer, RingBuffer};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// What to measure, and where to write it.
#[derive(Debug, Clone)]
pub struct IdlePlan {
    /// How long to measure, ns.
    pub duration_ns: u64,
    /// CPUs to measure; `None` for every allowed one.
    pub cpus: Option<Vec<u32>>,
    /// Only gaps longer than this are kept, ns.
    pub threshold_ns: u64,
    /// Whether the loops have real-time priority (FIFO 1) rather than `SCHED_IDLE`.
    pub real_time: bool,
    /// How long a loop of a fixed count should take, ns, as in the paper's II.c; `None`: no count, two readings of the
    /// counter follow one another.
    pub calibrated_ns: Option<u64>,
    /// Whether to follow what takes the CPU inside the kernel.
    pub bpf: bool,
    /// The directory to write.
    pub output: PathBuf,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
}

/// What one CPU's loop and the programs handed on since the last time.
#[derive(Debug, Default)]
pub struct Taken {
    /// Everything that happened up to here is in this one or an earlier one, ns of `CLOCK_MONOTONIC`.
    pub reached_ns: u64,
    /// In order of time.
    pub gaps: Vec<RawGap>,
    /// In order of their ends.
    pub entries: Vec<TraceEntry>,
    /// Entries that were overwritten before they could be read.
    pub entries_lost: u64,
}

/// What one CPU's loop has counted since the beginning.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoopTotals {
    /// How long the loop has measured, including its gaps, excluding its own sleeps, ns.
    pub measured_ns: u64,
    /// Readings of the counter.
    pub iterations: u64,
    /// Gaps for which the queue had no room.
    pub lost: u64,
    /// Steal that the kernel counts for this CPU, ns, in steps of 10 ms.
    pub steal_ns: Option<u64>,
}

struct Measured {
    cpu: u32,
    tid: u32,
    /// What the kernel's programs call the thread; not known if no program may be loaded.
    number: Option<u32>,
    queue: Consumer<RawGap>,
    counts: Arc<LoopCounts>,
    handle: JoinHandle<()>,
    calibration: Option<Calibration>,
    steal_before: Option<u64>,
}

/// Loops that are running. However it ends, the loops end and the programs leave the kernel.
pub struct IdleSession {
    control: Arc<Control>,
    measured: Vec<Measured>,
    tracer: Option<Tracer>,
    ticker: Ticker,
    provenance: Provenance,
}

/// Gaps that one CPU may queue: 65,536 of 16 bytes.
const QUEUE: usize = 1 << 16;

impl IdleSession {
    /// Starts the loops.
    ///
    /// # Errors
    /// If a CPU is not allowed or a thread cannot be started; anything else that is refused is noted, and the session
    /// does without.
    pub fn start(plan: &IdlePlan) -> Result<IdleSession, RunError> {
        let allowed = allowed_cpus();
        let cpus = plan.cpus.clone().unwrap_or_else(|| allowed.clone());
        check_allowed(&cpus, &allowed).map_err(PlanError::from)?;
        let _getting_ready = GettingReady::begin();
        let ticker = Ticker::find();
        let mut provenance = provenance(plan, &cpus);
        if !ticker.is_tsc {
            let note = "read with clock_gettime: this machine has no time-stamp counter that runs at one rate";
            provenance.fallbacks.push(note.to_owned());
        }
        let control = Arc::new(Control::default());
        control.set_cpus(cpus.len());
        let mut session = IdleSession { control, measured: Vec::new(), tracer: None, ticker, provenance };
        for &cpu in &cpus {
            session.spawn(plan, cpu)?;
        }
        if plan.bpf {
            let loops: Option<Vec<(u32, u32)>> =
                session.measured.iter().map(|loop_| Some((loop_.cpu, loop_.number?))).collect();
            // A loop that is not known would be taken for something that keeps itself from running.
            let known = || Refused::because("following the loops", "the kernel does not give their numbers");
            let started = loops.ok_or_else(known).and_then(|loops| Tracer::start(&loops));
            match started {
                Ok(tracer) => session.tracer = Some(tracer),
                Err(refused) => session.note(format!("gaps are found but not attributed to anything ({refused})")),
            }
        }
        session.provenance.configuration.bpf = session.tracer.is_some();
        session.note_blindness();
        let start = clock::monotonic_ns() + 2_000_000;
        session.provenance.started_ns = start;
        session.provenance.monotonic_to_unix_ns = clock::monotonic_to_unix_ns();
        for measured in &mut session.measured {
            measured.steal_before = steal::steal_ns(&[measured.cpu]);
        }
        session.control.start(start, start.saturating_add(plan.duration_ns));
        Ok(session)
    }

    fn spawn(&mut self, plan: &IdlePlan, cpu: u32) -> Result<(), RunError> {
        let (mut producer, mut queue) = RingBuffer::<RawGap>::new(QUEUE);
        // Touch every page of the queue now, not while measuring.
        while producer.push(RawGap::default()).is_ok() {}
        while queue.pop().is_ok() {}
        let counts = Arc::new(LoopCounts::default());
        let (tell, ready) = mpsc::channel();
        let scheduling = if plan.real_time { Scheduling::Fifo(1) } else { Scheduling::Idle };
        let (control, own_counts, ticker) = (Arc::clone(&self.control), Arc::clone(&counts), self.ticker);
        let (threshold_ns, calibrated_ns) = (plan.threshold_ns, plan.calibrated_ns);
        let body = move || {
            scheduling::drop_timer_slack();
            let not_pinned = scheduling::pin_to(cpu).err();
            hold::touch_stack();
            let number = number_in_kernel().ok();
            // At normal priority: at idle priority it may take forever, at a real-time one it would hold the CPU.
            let calibration = calibrated_ns.map(|target| calibrate(ticker, target));
            let refused = scheduling::set_scheduling(scheduling).err();
            let rests = refused.is_none() && scheduling != Scheduling::Idle;
            if refused.is_some() {
                let _ = scheduling::set_scheduling(Scheduling::Idle);
            }
            let _ = tell.send((clock::thread_id(), number, not_pinned, refused, calibration));
            let (start_ns, end_ns) = loop {
                match control.times() {
                    Some(times) => break times,
                    None if control.is_stopped() => return,
                    None => std::thread::sleep(std::time::Duration::from_micros(200)),
                }
            };
            let (control, counts) = (&*control, &*own_counts);
            IdleLoop { ticker, threshold_ns, rests, calibration, queue: producer, control, counts }
                .run(start_ns, end_ns);
        };
        let failed = |reason: String| Refused::because("starting a loop", reason);
        let builder = std::thread::Builder::new().name(format!("idle-{cpu}")).stack_size(256 * 1024);
        let handle = builder.spawn(body).map_err(|error| failed(error.to_string()))?;
        let (tid, number, not_pinned, refused, calibration) =
            ready.recv().map_err(|_| failed("it ended early".to_owned()))?;
        if let Some(refused) = not_pinned {
            return Err(refused.into());
        }
        if let Some(refused) = refused {
            let remedy = capabilities::real_time_remedy();
            self.note(format!("the loops run at idle priority, not {scheduling} ({refused}; {remedy})"));
        }
        self.measured.push(Measured { cpu, tid, number, queue, counts, handle, calibration, steal_before: None });
        Ok(())
    }

    fn note(&mut self, note: String) {
        if !self.provenance.fallbacks.contains(&note) {
            self.provenance.fallbacks.push(note);
        }
    }

    fn note_blindness(&mut self) {
        let virtual_machine = self.provenance.host.virtualization.as_deref() != Some("none");
        let mut blind = vec!["anything shorter than the threshold"];
        if self.measured.iter().any(|measured| measured.calibration.is_some()) {
            blind.push("where in a count of the calibrated loop a gap was, and whether the count itself was slow");
        }
        match &self.tracer {
            None => blind.push("what took the CPU: gaps have lengths and times only"),
            Some(tracer) if virtual_machine && !tracer.steal_known() => {
                blind.push("whether the host had the CPU in a gap with nothing traced inside");
            }
            Some(_) => {}
        }
        // Reported and not counted: the programs have no hardware counters.
        blind.push("hardware counters of each gap: none are read");
        self.provenance.blind = blind.into_iter().map(str::to_owned).collect();
    }

    /// Where this comes from, for the recording.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The counter that the loops read.
    pub fn ticker(&self) -> Ticker {
        self.ticker
    }

    /// Whether gaps can be attributed to what caused them.
    pub fn is_followed(&self) -> bool {
        self.tracer.is_some()
    }

    /// The loops: CPU and thread id.
    pub fn loops(&self) -> Vec<(u32, u32)> {
        self.measured.iter().map(|measured| (measured.cpu, measured.tid)).collect()
    }

    /// How one CPU's loop was calibrated, if it counts.
    pub fn calibration(&self, index: usize) -> Option<Calibration> {
        self.measured[index].calibration
    }

    /// How often one CPU's count took how long, in bins of a 64th of the calibrated time.
    pub fn durations(&self, index: usize) -> Vec<u64> {
        self.measured[index].counts.durations.counts()
    }

    /// Takes what one CPU handed on since the last time; also tells the loops that somebody looks after them.
    pub fn take(&mut self, index: usize) -> Taken {
        self.control.beat();
        let measured = &mut self.measured[index];
        // In this order: a gap's entries are in their ring before the gap is handed on, and gaps up to the time that
        // was reached are in the queue before that time is reported.
        let mut taken = Taken { reached_ns: measured.counts.reached_ns.load(Ordering::Acquire), ..Taken::default() };
        while let Ok(gap) = measured.queue.pop() {
            taken.gaps.push(gap);
        }
        if let Some(tracer) = &mut self.tracer {
            taken.entries_lost = tracer.take(index, &mut taken.entries);
        }
        taken
    }

    /// What one CPU's loop has counted so far.
    pub fn totals(&self, index: usize) -> LoopTotals {
        let measured = &self.measured[index];
        let counts = &measured.counts;
        let steal = steal::steal_ns(&[measured.cpu]).zip(measured.steal_before);
        LoopTotals {
            measured_ns: self.ticker.ns(counts.measured_ticks.load(Ordering::Relaxed)),
            iterations: counts.iterations.load(Ordering::Relaxed),
            lost: counts.lost.load(Ordering::Relaxed),
            steal_ns: steal.map(|(now, before)| now.saturating_sub(before)),
        }
    }

    /// After [`IdleSession::stop`]: the gap of a loop that did not get to run again, so that it could not report the gap itself.
    pub fn open_gap(&self, index: usize) -> Option<RawGap> {
        let measured = &self.measured[index];
        let started_ns = self.control.times().map_or(0, |(start, _)| start);
        let reached_ns = measured.counts.reached_ns.load(Ordering::Acquire).max(started_ns);
        let end_ns = clock::monotonic_ns();
        if measured.handle.is_finished() || !measured.queue.is_empty() || end_ns <= reached_ns {
            return None;
        }
        let ticks = self.ticker.ticks(end_ns - reached_ns);
        measured.counts.measured_ticks.fetch_add(ticks, Ordering::Relaxed);
        Some(RawGap { end_ns, ticks })
    }

    /// Whether every loop has ended.
    pub fn is_finished(&self) -> bool {
        self.measured.iter().all(|measured| measured.handle.is_finished())
    }

    /// Whether a loop ended the run because the rest of the program made no progress.
    pub fn is_starved(&self) -> bool {
        self.control.is_starved()
    }

    /// Ends the loops and waits up to a second for them: at idle priority they may not get to run at all.
    pub fn stop(&self) {
        self.control.stop();
        let asked = std::time::Instant::now();
        while !self.is_finished() && asked.elapsed() < std::time::Duration::from_secs(1) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

impl Drop for IdleSession {
    fn drop(&mut self) {
        self.control.stop();
    }
}

fn provenance(plan: &IdlePlan, cpus: &[u32]) -> Provenance {
    Provenance {
        configuration: Configuration {
            policy: if plan.real_time { "fifo" } else { "idle" }.to_owned(),
            priorities: if plan.real_time { vec![1] } else { Vec::new() },
            cpus: cpus.to_vec(),
            via: "idle".to_owned(),
            ..Configuration::default()
        },
        ..host::provenance(&plan.command_line)
    }
}
