//! The ways to get periodic callbacks, measured one after the other in a given time.

use crate::StudyError;
use punctual_kernel::scheduling::allowed_cpus;
use punctual_kernel::{capabilities, clock, host, steal, tick};
use punctual_probe::RunError;
use punctual_probe::timers::{MethodClock, MethodPlan, MethodRun, MethodThread, STALLS, SignalsHeld, TimerMethod};
use punctual_recording::{
    Configuration, Counters, Document, EndReason, Ended, LoadInfo, Provenance, Task, Wakeup, Writer, counted,
};
use punctual_timing::{
    Callback, Effect, Measured, MethodResult, Slack, Stream, Summary, Tick, Timers, analyse, catch_up, majority,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What to measure.
#[derive(Debug, Clone)]
pub struct TimersPlan {
    /// The period of the callbacks, ns.
    pub period_ns: u64,
    /// How long all of it may take, ns.
    pub duration_ns: u64,
    /// The ways, in this order.
    pub ways: Vec<TimerMethod>,
    /// The clock that they wait on, if their call takes it.
    pub clock: MethodClock,
    /// Whether to measure each way with one setting changed at a time: timer slack, clock, priority.
    pub effects: bool,
    /// The priority under `SCHED_FIFO`; normal scheduling otherwise. With `effects`, the priority of the changed setting.
    pub priority: Option<u32>,
    /// How long each stall lasts, ns; 0: none; `None`: five and a half periods.
    pub stall_ns: Option<u64>,
    /// The recording to write, if any.
    pub output: Option<PathBuf>,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
}

/// How the measurement is going.
#[derive(Debug, Clone, Copy)]
pub struct TimersProgress {
    /// The way that is being measured.
    pub way: TimerMethod,
    /// Since the beginning.
    pub elapsed: Duration,
    /// How long all of it may take.
    pub duration: Duration,
}

/// A way with its settings: what one thread measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    kind: TimerMethod,
    clock: MethodClock,
    slack_ns: u64,
    priority: Option<u32>,
    effect: Effect,
}

impl Cell {
    /// What came of measuring it, or why nothing did.
    fn result(&self, measured: Result<Measured, String>) -> MethodResult {
        MethodResult {
            name: self.name(),
            effect: self.effect,
            way: self.kind.name().to_owned(),
            call: self.kind.call().to_owned(),
            unit_ns: self.kind.unit_ns(),
            anchored: self.kind.is_anchored(),
            measured,
        }
    }

    /// Its name in recordings and reports.
    fn name(&self) -> String {
        match self.effect {
            Effect::None => self.kind.name().to_owned(),
            effect => format!("{} {}", self.kind.name(), effect.name()),
        }
    }
}

/// The priority that shows the effect of priority, if none was given.
const EFFECT_PRIORITY: u32 = 80;

/// What to measure, in this order: with effects, everything about a way is side by side, so that it meets the same moments.
fn cells(plan: &TimersPlan) -> Vec<Cell> {
    let plain = |kind: TimerMethod| {
        let priority = plan.priority.filter(|_| !plan.effects);
        Cell { kind, clock: plan.clock, slack_ns: 0, priority, effect: Effect::None }
    };
    let mut cells = Vec::new();
    for &kind in &plan.ways {
        cells.push(plain(kind));
        if !plan.effects {
            continue;
        }
        if kind.has_slack() {
            cells.push(Cell { slack_ns: 1, effect: Effect::Slack, ..plain(kind) });
        }
        for (clock, effect) in [
            (MethodClock::Realtime, Effect::Realtime),
            (MethodClock::Boottime, Effect::Boottime),
            (MethodClock::Tai, Effect::Tai),
        ] {
            if kind.clocks().contains(&clock) {
                cells.push(Cell { clock, effect, ..plain(kind) });
            }
        }
        // A loop that never sleeps gets no real-time priority.
        if kind != TimerMethod::Busy {
            let priority = Some(plan.priority.unwrap_or(EFFECT_PRIORITY));
            cells.push(Cell { priority, effect: Effect::Priority, ..plain(kind) });
        }
    }
    cells
}

/// A stall without a length of its own lasts this many half periods.
const STALL_HALF_PERIODS: u64 = 11;
/// The longest stall that nobody asked for, ns.
const STALL_NS: u64 = 100_000_000;
/// How much of the time of a way with timer slack, in hundredths, is measured with the slack that programs get.
const WITH_SLACK: u64 = 70;
/// What setting up a way takes, roughly, ns; starting Python takes longer.
const SET_UP_NS: u64 = 5_000_000;
const SET_UP_PYTHON_NS: u64 = 300_000_000;

/// Measures the ways. Asks `observe` about every 20 ms whether to go on.
///
/// # Errors
/// [`StudyError`]: a thread could not be started or the recording could not be written. A way that this machine does
/// not have is not an error: the result has it, with the reason.
pub fn measure(
    plan: &TimersPlan,
    observe: &mut dyn FnMut(TimersProgress) -> bool,
) -> Result<(Timers, Option<Document>), StudyError> {
    let began = Instant::now();
    let _signals = SignalsHeld::hold();
    let cells = cells(plan);
    let threads: Result<Vec<MethodThread>, _> = cells.iter().map(|cell| MethodThread::spawn(cell.kind)).collect();
    let threads = threads.map_err(RunError::from)?;
    let steal_before = steal::steal_ns(&allowed_cpus());
    let mut writer = match &plan.output {
        Some(output) => Some(Writer::create(output, provenance(plan), tasks(plan, &cells, &threads))?),
        None => None,
    };
    let mut timers = nothing_yet(plan);
    let end = began + Duration::from_nanos(plan.duration_ns);
    for (index, thread) in threads.into_iter().enumerate() {
        if timers.interrupted {
            break;
        }
        let (cell, kind, tid) = (cells[index], thread.kind(), thread.tid());
        let left = u64::try_from(end.saturating_duration_since(Instant::now()).as_nanos()).unwrap_or(u64::MAX);
        let way_plan = way_plan(plan, &cells[index..], left);
        let duration = Duration::from_nanos(plan.duration_ns);
        let mut interrupted = false;
        let result = thread.run(way_plan, &mut || {
            interrupted |= !observe(TimersProgress { way: kind, elapsed: began.elapsed(), duration });
            !interrupted
        });
        timers.interrupted |= interrupted;
        let result = match result {
            None => Err("it was still waiting when the measurement ended".to_owned()),
            Some(Err(refused)) => Err(refused.to_string()),
            Some(Ok(run)) => {
                note_run(&mut timers, kind, &run);
                if let Some(writer) = &mut writer {
                    push(writer, index, (tid, kind), plan.period_ns, &run)?;
                }
                Ok(judge(kind, plan.period_ns, &run))
            }
        };
        if way_plan.stall_ns > 0 {
            timers.stall_ns = Some(way_plan.stall_ns);
        }
        timers.ways.push(cell.result(result));
    }
    let document = match writer {
        None => None,
        Some(mut writer) => {
            let steal = steal::steal_ns(&allowed_cpus()).zip(steal_before);
            writer.set_steal(steal.map(|(now, before)| now.saturating_sub(before)));
            writer.provenance_mut().fallbacks.clone_from(&timers.notes);
            let reason = if timers.interrupted { EndReason::Interrupted } else { EndReason::Completed };
            Some(writer.finish(Ended { reason, detail: None, at_ns: 0 }, Vec::new())?)
        }
    };
    Ok((timers, document))
}

/// The result before anything was measured.
fn nothing_yet(plan: &TimersPlan) -> Timers {
    Timers {
        period_ns: plan.period_ns,
        scheduling: match plan.priority {
            Some(priority) if !plan.effects => format!("fifo:{priority}"),
            _ => "other".to_owned(),
        },
        clock: plan.clock.name().to_owned(),
        stall_ns: None,
        tick: tick(),
        ways: Vec::new(),
        notes: Vec::new(),
        interrupted: false,
    }
}

/// What the kernel makes timers of, as far as this user may know.
fn tick() -> Tick {
    let configured = tick::configured_hz();
    let device = tick::clock_event(allowed_cpus().first().copied().unwrap_or(0));
    Tick {
        configured_hz: configured.as_ref().map(|(hz, _)| *hz),
        configured_in: configured.map(|(_, path)| path.display().to_string()),
        observed_ns: tick::observed_tick_ns(),
        device_resolution_ns: device.as_ref().and_then(|device| device.resolution_ns),
        device: device.map(|device| device.name),
    }
}

/// What to measure of the first of these ways, given that all of them share this time.
fn way_plan(plan: &TimersPlan, cells: &[Cell], left_ns: u64) -> MethodPlan {
    let period = plan.period_ns;
    let stall_ns = stall_ns(plan.stall_ns, period);
    // A relative wait takes a period for each callback that was held up.
    let stalls = STALLS as u64 * (2 * stall_ns + 10 * period);
    let set_up = |cell: &Cell| {
        let shortest = 15 * cell.kind.unit_ns().max(100_000);
        shortest + if cell.kind == TimerMethod::PythonSleep { SET_UP_PYTHON_NS } else { SET_UP_NS }
    };
    let all: u64 = cells.iter().map(set_up).sum();
    let share = left_ns.saturating_sub(all) / cells.len().max(1) as u64;
    // The plain stream shows the effects; what comes after a stall is not among them.
    let too_long = stalls > share / 2 && plan.stall_ns.is_none();
    let stall_ns = if too_long || plan.effects { 0 } else { stall_ns };
    let measuring = if stall_ns > 0 { share.saturating_sub(stalls) } else { share };
    let first = cells.first();
    let priority = first.and_then(|cell| cell.priority);
    let has_slack = first.is_some_and(|cell| cell.kind.has_slack()) && priority.is_none() && !plan.effects;
    let duration_ns = if has_slack { measuring / 100 * WITH_SLACK } else { measuring };
    MethodPlan {
        clock: first.map_or(plan.clock, |cell| cell.clock),
        slack_ns: first.map_or(0, |cell| cell.slack_ns),
        period_ns: period,
        duration_ns: duration_ns.max(2 * period),
        without_slack_ns: if has_slack { measuring - duration_ns } else { 0 },
        stall_ns,
        priority,
    }
}

/// Whole periods and a half, so that the next point of the grid is half a period away: that tells what came at once
/// from what came on the grid.
fn stall_ns(asked: Option<u64>, period_ns: u64) -> u64 {
    match asked {
        Some(0) => 0,
        Some(stall) => (stall / period_ns).max(2) * period_ns + period_ns / 2,
        None => match period_ns / 2 * STALL_HALF_PERIODS {
            stall if stall <= STALL_NS => stall,
            _ => 0,
        },
    }
}

fn provenance(plan: &TimersPlan) -> Provenance {
    let blind = "the stages of a wakeup: only the total is measured";
    Provenance {
        configuration: Configuration {
            interval_ns: plan.period_ns,
            policy: if plan.priority.is_some() && !plan.effects { "fifo" } else { "other" }.to_owned(),
            priorities: plan.priority.into_iter().filter(|_| !plan.effects).collect(),
            cpus: allowed_cpus(),
            via: "timer".to_owned(),
            ..Configuration::default()
        },
        load: LoadInfo { name: "none".to_owned(), ..LoadInfo::default() },
        started_ns: clock::monotonic_ns(),
        monotonic_to_unix_ns: clock::monotonic_to_unix_ns(),
        blind: vec![blind.to_owned()],
        ..host::provenance(&plan.command_line)
    }
}

fn tasks(plan: &TimersPlan, cells: &[Cell], threads: &[MethodThread]) -> Vec<Task> {
    let task = |(cell, thread): (&Cell, &MethodThread)| Task {
        measure: cell.name(),
        tid: thread.tid(),
        cpu: None,
        period_ns: plan.period_ns,
        counters: Counters { missed: Some(0), ..Counters::default() },
    };
    cells.iter().zip(threads).map(task).collect()
}

fn note_run(timers: &mut Timers, kind: TimerMethod, run: &MethodRun) {
    let name = kind.name();
    let mut at_normal_priority = false;
    let mut note = |note: String| {
        if !timers.notes.contains(&note) {
            timers.notes.push(note);
        }
    };
    if let Some(refused) = &run.refused {
        let remedy = if kind == TimerMethod::Busy { String::new() } else { capabilities::real_time_remedy() };
        match kind {
            TimerMethod::Busy => note(refused.clone()),
            _ => {
                note(format!("measured at normal priority ({refused}; {remedy})"));
                // What was asked for and given to none.
                at_normal_priority = true;
            }
        }
    }
    if run.lost > 0 {
        note(format!("{name}: there was no room to keep {}", counted(run.lost, "callback")));
    }
    if run.starved {
        note(format!("{name} left the rest of the program no CPU time and was ended: use a longer period"));
    }
    if at_normal_priority {
        timers.scheduling = "other".to_owned();
    }
}

fn stream(kind: TimerMethod, period_ns: u64, run: &MethodRun) -> Stream<'_> {
    Stream { period_ns, origin_ns: run.origin_ns, anchored: kind.is_anchored(), callbacks: &run.callbacks }
}

fn push(
    writer: &mut Writer,
    task: usize,
    (tid, kind): (u32, TimerMethod),
    period_ns: u64,
    run: &MethodRun,
) -> punctual_recording::Result<()> {
    let missed = stream(kind, period_ns, run).missed();
    for ((callback, cpu), missed) in run.callbacks.iter().zip(&run.cpus).zip(missed) {
        let total_ns = callback.at_ns.saturating_sub(callback.asked_ns);
        let (cpu, expected_ns) = (*cpu, callback.asked_ns);
        writer.push(task, &Wakeup { cpu, tid, expected_ns, total_ns, missed, ..Wakeup::default() });
    }
    writer.set_thread_counts(task, run.lost, 0, run.cpu_ns);
    writer.flush()
}

fn judge(kind: TimerMethod, period_ns: u64, run: &MethodRun) -> Measured {
    // If waits are rounded to a large part of the period, the lateness against the grid is that of the rounding.
    let coarse = kind.unit_ns() > period_ns / 10;
    let median = |callbacks: &[Callback]| {
        let overshoot = callbacks.iter().map(|callback| callback.at_ns as i64 - callback.asked_ns as i64);
        let between = callbacks.windows(2).map(|pair| (pair[1].at_ns - pair[0].at_ns) as i64 - period_ns as i64);
        let summary = if coarse { Summary::of(between) } else { Summary::of(overshoot) };
        summary.map(|summary| summary.median_ns)
    };
    let slack = median(&run.callbacks).zip(median(&run.without_slack));
    let seen: Vec<_> =
        run.stalls.iter().map(|stall| catch_up(period_ns, stall.stall_ns, stall.end_ns, &stall.after)).collect();
    Measured {
        analysis: analyse(&stream(kind, period_ns, run)),
        resolution_ns: run.resolution_ns,
        granularity_ns: run.granularity_ns,
        catch_up: (!seen.is_empty()).then(|| majority(&seen)),
        slack: slack.map(|(default_ns, without_ns)| Slack { default_ns, without_ns }),
        cpu_ns_per_callback: run.cpu_ns.checked_div(run.callbacks.len() as u64),
        lost: run.lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(duration_ns: u64, period_ns: u64) -> TimersPlan {
        TimersPlan {
            period_ns,
            duration_ns,
            ways: TimerMethod::ALL.to_vec(),
            clock: MethodClock::Monotonic,
            effects: false,
            priority: None,
            stall_ns: None,
            output: None,
            command_line: Vec::new(),
        }
    }

    #[test]
    fn all_ways_share_the_time() {
        let plan = plan(20_000_000_000, 1_000_000);
        let mut used = 0;
        for index in 0..plan.ways.len() {
            let way = way_plan(&plan, &cells(&plan)[index..], plan.duration_ns - used);
            assert!(way.duration_ns > 500_000_000, "{way:?}");
            assert_eq!(way.stall_ns, 5_500_000);
            assert_eq!(way.without_slack_ns > 0, plan.ways[index].has_slack());
            used += way.duration_ns + way.without_slack_ns + STALLS as u64 * (2 * way.stall_ns + 10 * way.period_ns);
        }
        assert!(used <= plan.duration_ns, "{used}");
    }

    #[test]
    fn effects_change_one_setting_at_a_time() {
        let mut plan = plan(20_000_000_000, 1_000_000);
        plan.effects = true;
        let cells = cells(&plan);
        for cell in &cells {
            let changed = u32::from(cell.clock != MethodClock::Monotonic)
                + u32::from(cell.slack_ns != 0)
                + u32::from(cell.priority.is_some());
            assert_eq!(changed, u32::from(cell.effect != Effect::None), "{cell:?}");
            assert!(cell.kind.clocks().contains(&cell.clock));
        }
        let mut names: Vec<String> = cells.iter().map(Cell::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cells.len());
        let way = way_plan(&plan, &cells, plan.duration_ns);
        assert_eq!((way.stall_ns, way.without_slack_ns), (0, 0));
    }

    #[test]
    fn where_there_is_no_time_there_is_no_stall() {
        let plan = plan(1_000_000, 1_000_000);
        let short = way_plan(&plan, &cells(&plan), 1_000_000);
        assert_eq!((short.stall_ns, short.duration_ns), (0, 2_000_000));
        assert_eq!(stall_ns(Some(7_300_000), 1_000_000), 7_500_000);
        assert_eq!(stall_ns(Some(1), 1_000_000), 2_500_000);
        assert_eq!(stall_ns(Some(0), 1_000_000), 0);
        assert_eq!(stall_ns(None, 3_600_000_000_000), 0);
    }
}
