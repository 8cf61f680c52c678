//! Carries out a plan that reads a driver's stamps.

use super::source::{Source, Stamped, refused};
use crate::recorder::{self, Watch};
use crate::shared::error::RunError;
use crate::shared::observation::{FLUSH, Observation, Outcome, Step, conclude, count_cpu_times, note, take_last};
use crate::shared::plan::Plan;
use punctual_kernel::cpu_times::CpuTimes;
use punctual_kernel::ending::GettingReady;
use punctual_kernel::scheduling::kernel_priority;
use punctual_kernel::{clock, cpus, host, steal};
use punctual_recording::{Configuration, Counters, EndReason, Ended, Provenance, Task, Wakeup, Writer};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often the file is read; a module keeps what comes in between.
const ROUND: Duration = Duration::from_millis(20);
/// How many threads of a driver are told apart.
const MAX_THREADS: usize = 64;
/// Anything longer is no period.
const MAX_PERIOD_NS: u64 = 3_600_000_000_000;
/// What is not seen of a driver.
const TAKEN_ON_TRUST: &str = "what the driver does not say: its stamps are taken as given";
const WAKE: &str = "when the driver's thread was made runnable: its thread stage begins with the deferred work";
const CAUSES: &str = "who made a wakeup late: record with --why";

/// Carries out a plan that reads the stamps of this file.
pub(crate) fn run(
    plan: &Plan,
    path: &Path,
    observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<Outcome, RunError> {
    let getting_ready = GettingReady::begin();
    let mut source = Source::open(path)?;
    let first = source.first()?;
    let online = cpus::online();
    if !is_believable(&first, 0, clock::monotonic_ns(), &online) {
        return Err(refused(path, "what it gives is not stamps of this clock".to_owned()).into());
    }
    let mut provenance = provenance(plan, &first);
    let recorder = recorder::start(plan, &mut provenance);
    match &recorder {
        Some(recorder) => provenance.blind.extend(recorder.blind()),
        None => {
            provenance.blind.push(CAUSES.to_owned());
            if provenance.host.virtualization.as_deref() != Some("none") {
                provenance.blind.push(steal::blindness().to_owned());
            }
        }
    }
    let mut writer = Writer::create(&plan.output, provenance, Vec::new())?;
    let mut watch = recorder::begin(plan, recorder, &writer, &[])?;
    drop(getting_ready);
    if let Some(watch) = &mut watch {
        watch.begin_measuring();
    }
    let start = clock::monotonic_ns();
    writer.begin(start, clock::monotonic_to_unix_ns())?;
    let mut session = Session {
        plan,
        source,
        watch,
        start,
        end: plan.duration_ns.map_or(u64::MAX, |duration| start.saturating_add(duration)),
        times_before: CpuTimes::now(&online),
        online,
        threads: Vec::new(),
        taken: Vec::new(),
        finished: Vec::new(),
        lost_before: first.lost,
        lost: 0,
        not_believed: 0,
        longest_ns: 0,
    };
    let mut ended = session.until_the_end(&mut writer, observe);
    session.count(&mut writer);
    if let Ok(ended) = &mut ended {
        let step = observe(&mut Observation { ended_ns: Some(ended.at_ns), ..session.observation(&mut writer) });
        take_last(ended, step);
    }
    let ended = recorder::finish(session.watch.take(), &mut writer, ended);
    conclude(plan, writer, ended)
}

fn provenance(plan: &Plan, first: &Stamped) -> Provenance {
    Provenance {
        configuration: Configuration {
            interval_ns: first.period_ns,
            cpus: vec![first.cpu],
            via: "driver".to_owned(),
            ..Configuration::default()
        },
        load: plan.load.clone(),
        blind: [TAKEN_ON_TRUST, WAKE].map(str::to_owned).to_vec(),
        ..host::provenance(&plan.command_line)
    }
}

/// Whether stamps can belong to an activation that began after `start` and is over by `now`. A file may give anything.
fn is_believable(stamped: &Stamped, start: u64, now: u64, online: &[u32]) -> bool {
    let thread = stamped.stamps.thread;
    stamped.stamps.expected >= start.max(1)
        && stamped.stamps.expected <= thread
        && thread <= now
        && stamped.period_ns <= MAX_PERIOD_NS
        && online.contains(&stamped.cpu)
}

/// What a thread's wakeups are counted under, like those of punctual's own threads.
fn measure(stamped: &Stamped) -> String {
    match i32::try_from(stamped.policy) {
        Ok(libc::SCHED_FIFO) => format!("fifo:{}", stamped.priority.min(99)),
        Ok(libc::SCHED_RR) => format!("rr:{}", stamped.priority.min(99)),
        Ok(libc::SCHED_DEADLINE) => "deadline".to_owned(),
        _ => "other".to_owned(),
    }
}

struct Session<'a> {
    plan: &'a Plan,
    source: Source,
    watch: Option<Watch>,
    start: u64,
    /// When the measurement ends if nothing else ends it.
    end: u64,
    online: Vec<u32>,
    times_before: Option<CpuTimes>,
    /// Thread and measure of each task.
    threads: Vec<(u32, String)>,
    taken: Vec<Stamped>,
    /// The wakeups that this round brought.
    finished: Vec<Wakeup>,
    /// What the module had lost when measuring began.
    lost_before: u32,
    lost: u32,
    not_believed: u64,
    longest_ns: u64,
}

impl Session<'_> {
    fn until_the_end(
        &mut self,
        writer: &mut Writer,
        observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
    ) -> punctual_recording::Result<Ended> {
        let end = self.end;
        let ended = |reason, detail| Ended { reason, detail, at_ns: clock::monotonic_ns().min(end) };
        let mut flushed = Instant::now();
        loop {
            // Before the file is read: then it contains everything that came before the end.
            let is_over = clock::monotonic_ns() >= end;
            self.finished.clear();
            let took_all = match self.take(writer) {
                Ok(may_be_more) => !may_be_more,
                Err(error) => return Ok(ended(EndReason::Failed, Some(error.to_string()))),
            };
            if let Some(watch) = &mut self.watch {
                watch.round()?;
            }
            if flushed.elapsed() >= FLUSH {
                flushed = Instant::now();
                self.count(writer);
                writer.flush()?;
            }
            if self.plan.break_ns.is_some_and(|limit| self.longest_ns > limit) {
                return Ok(ended(EndReason::LimitExceeded, None));
            }
            if is_over {
                return Ok(ended(EndReason::Completed, None));
            }
            if let Step::Stop(reason, detail) = observe(&mut self.observation(writer)) {
                return Ok(ended(reason, detail));
            }
            if took_all {
                let left = Duration::from_nanos(end.saturating_sub(clock::monotonic_ns()));
                std::thread::sleep(left.min(ROUND));
            }
        }
    }

    fn observation<'a>(&'a self, writer: &'a mut Writer) -> Observation<'a> {
        Observation { finished: &self.finished, ..Observation::now(self.plan, self.start, writer) }
    }

    /// Takes what has come; returns whether there may be more.
    fn take(&mut self, writer: &mut Writer) -> Result<bool, punctual_kernel::Refused> {
        let mut taken = std::mem::take(&mut self.taken);
        let may_be_more = self.source.take(&mut taken);
        let now = clock::monotonic_ns();
        for stamped in taken.drain(..) {
            // What began before or ended after does not belong here; at the end there may be some.
            let is_outside =
                (1..self.start).contains(&stamped.stamps.expected) || (self.end..now).contains(&stamped.stamps.thread);
            if is_outside {
                continue;
            }
            let task = self.task(&stamped, writer);
            match task.filter(|_| is_believable(&stamped, self.start, now, &self.online)) {
                Some(task) => self.push(task, &stamped, writer),
                None => self.not_believed += 1,
            }
        }
        self.taken = taken;
        may_be_more
    }

    /// The task of the thread that these stamps came from; `None` if there are too many.
    fn task(&mut self, stamped: &Stamped, writer: &mut Writer) -> Option<usize> {
        let measure = measure(stamped);
        let is_it = |(tid, known): &(u32, String)| *tid == stamped.tid && *known == measure;
        if let Some(task) = self.threads.iter().position(is_it) {
            return Some(task);
        }
        if self.threads.len() >= MAX_THREADS {
            return None;
        }
        self.threads.push((stamped.tid, measure.clone()));
        let has_period = stamped.period_ns > 0;
        let counters = Counters { missed: has_period.then_some(0), ..Counters::default() };
        let period_ns = stamped.period_ns.min(MAX_PERIOD_NS);
        Some(writer.add_task(Task { measure, tid: stamped.tid, cpu: None, period_ns, counters }))
    }

    fn push(&mut self, task: usize, stamped: &Stamped, writer: &mut Writer) {
        let mut wakeup = Wakeup::from_driver(&stamped.stamps, stamped.cpu, stamped.tid);
        wakeup.missed = stamped.missed.into();
        if !wakeup.is_observed() {
            self.not_believed += 1;
        }
        self.lost = stamped.lost.wrapping_sub(self.lost_before);
        self.longest_ns = self.longest_ns.max(wakeup.total_ns);
        writer.push(task, &wakeup);
        self.finished.push(wakeup);
        if let Some(watch) = &mut self.watch {
            let priority = kernel_priority(i32::try_from(stamped.policy).unwrap_or(0), stamped.priority.min(99));
            watch.wakeup(&wakeup, "the driver's thread", priority);
        }
    }

    fn count(&self, writer: &mut Writer) {
        if !self.threads.is_empty() {
            // The module counts them together: they are attributed to its first thread.
            writer.set_thread_counts(0, self.lost.into(), self.not_believed, 0);
        }
        if self.not_believed > 0 {
            let text = "some stamps of the driver were out of order, or not of this clock: they count as unobserved";
            note(writer.provenance_mut(), text.to_owned());
        }
        count_cpu_times(&self.online, self.times_before, writer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::DriverStamps;

    #[test]
    fn what_cannot_be_is_not_believed() {
        let stamps = DriverStamps { expected: 1_000, interrupt: 1_001, deferred: 1_002, thread: 1_003 };
        let right = Stamped { stamps, period_ns: 10, ..Stamped::default() };
        let is_believed = |stamped: Stamped| is_believable(&stamped, 900, 2_000, &[0]);
        assert!(is_believed(right));
        let with = |expected, thread| Stamped { stamps: DriverStamps { expected, thread, ..stamps }, ..right };
        for (what, wrong) in [
            ("before the beginning", with(899, 1_003)),
            ("never", with(0, 0)),
            ("ended before it was due", with(1_000, 999)),
            ("in the future", with(1_000, 2_001)),
            ("on no CPU", Stamped { cpu: 7, ..right }),
            ("every century", Stamped { period_ns: u64::MAX, ..right }),
        ] {
            assert!(!is_believed(wrong), "{what}");
        }
    }

    #[test]
    fn a_thread_is_counted_as_punctuals_own_are() {
        let of = |policy: i32, priority| measure(&Stamped { policy: policy as u32, priority, ..Stamped::default() });
        assert_eq!(of(libc::SCHED_FIFO, 50), "fifo:50");
        assert_eq!(of(libc::SCHED_OTHER, 0), "other");
        assert_eq!(of(libc::SCHED_FIFO, u32::MAX), "fifo:99");
        assert_eq!(measure(&Stamped { policy: u32::MAX, ..Stamped::default() }), "other");
    }
}
