//! Threads that migrate: compared with a scheduler that decides anew at every moment, and with theory.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use punctual_sim::cost::Cost;
use punctual_sim::machine::{Activity, Engine, MachineSpec, Policy, ThreadSpec};
use punctual_sim::observe::{Everything, Level};
use punctual_sim::theory::{Task, edf_feasible, global_edf_admitted};

const LENGTH: u64 = 6_000;

/// Period, offset and work of a periodic thread.
type Job = (u64, u64, u64);

fn migrating(policy: Policy, (period, offset, work): Job) -> ThreadSpec {
    let mut thread = ThreadSpec::new("job", policy, Activity::Periodic { period, offset }, Cost::constant(work));
    thread.migrates = true;
    thread
}

fn run(cpus: usize, threads: Vec<ThreadSpec>) -> (Engine, Everything) {
    let spec = MachineSpec { cpus, threads, ..MachineSpec::default() };
    let mut engine = Engine::new(spec).expect("the machine is possible");
    let mut seen = Everything::default();
    engine.run(LENGTH, &mut seen);
    (engine, seen)
}

/// When each job of each thread is done, if at every moment the first `cpus` threads that have work run.
fn at_every_moment(cpus: usize, jobs: &[Job]) -> Vec<(usize, u64)> {
    let (mut left, mut done) = (vec![0u64; jobs.len()], Vec::new());
    let mut waiting = vec![0u64; jobs.len()];
    for now in 0..LENGTH {
        for (thread, &(period, offset, _)) in jobs.iter().enumerate() {
            waiting[thread] += u64::from(now >= offset && (now - offset) % period == 0);
        }
        let mut free = cpus;
        for (thread, &(_, _, work)) in jobs.iter().enumerate() {
            if left[thread] == 0 && waiting[thread] > 0 {
                waiting[thread] -= 1;
                left[thread] = work;
            }
            if left[thread] > 0 && free > 0 {
                free -= 1;
                left[thread] -= 1;
                if left[thread] == 0 {
                    done.push((thread, now + 1));
                }
            }
        }
    }
    done
}

fn jobs() -> impl Strategy<Value = (usize, Vec<Job>)> {
    (1..4usize, prop::collection::vec((40..300u64, 0..50u64, 1..60u64), 2..9))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn fixed_priorities_are_served_as_if_decided_at_every_moment((cpus, jobs) in jobs()) {
        let threads = jobs.iter().enumerate().map(|(at, &job)| migrating(Policy::Priority(90 - at as u8), job)).collect();
        let (_, seen) = run(cpus, threads);
        let mut found: Vec<(usize, u64)> =
            seen.activations.iter().map(|done| (done.thread.unwrap() as usize, done.end)).collect();
        let mut expected = at_every_moment(cpus, &jobs);
        found.sort_unstable();
        expected.sort_unstable();
        prop_assert!(found.len() >= jobs.len().min(cpus));
        prop_assert_eq!(found, expected);
    }

    /// What the density test admits meets every deadline.
    #[test]
    fn what_theory_admits_meets_its_deadlines(
        cpus in 1..4usize, raw in prop::collection::vec((40..300u64, 0..100u64, 1..100u64, 1..60u64), 2..9),
    ) {
        let tasks: Vec<Task> = raw.iter().map(|&(period, _, share, less)| {
            let deadline = (period - period * less / 200).max(2);
            Task { period, deadline, compute: (deadline * share / 160).max(1) }
        }).collect();
        prop_assume!(global_edf_admitted(&tasks, cpus).is_ok());
        let threads = tasks.iter().zip(&raw).map(|(task, raw)| {
            migrating(Policy::EarliestDeadline { deadline: task.deadline }, (task.period, raw.1, task.compute))
        }).collect();
        let (_, seen) = run(cpus, threads);
        prop_assert!(!seen.activations.is_empty());
        for done in &seen.activations {
            prop_assert!(done.response() <= tasks[done.thread.unwrap() as usize].deadline, "{done:?}");
        }
    }
}

/// Some migrate, some stay: nobody runs, and no CPU is idle, if a thread with precedence may have that CPU.
///
/// What meets is counted over all machines: on one whose threads each stay on a CPU of their own and are never done in
/// time, every CPU has one slice without an end, which is of no single job.
#[test]
fn nobody_runs_before_one_whose_deadline_is_earlier() {
    let met = Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(120));
    let judged = runner.run(&(jobs(), any::<u8>()), |((cpus, jobs), stays)| {
        let mut threads: Vec<ThreadSpec> =
            jobs.iter().map(|&job| migrating(Policy::EarliestDeadline { deadline: job.0 }, job)).collect();
        for (at, thread) in threads.iter_mut().enumerate() {
            (thread.cpu, thread.migrates) = (at % cpus, stays >> at & 1 == 0);
        }
        let (_, seen) = run(cpus, threads.clone());
        met.set(met.get() + earliest_first(&jobs, &threads, &seen)?);
        Ok(())
    });
    judged.unwrap_or_else(|failed| panic!("{failed}"));
    assert!(met.get() > 10_000, "{} met", met.get());
}

/// That no slice is of a thread, or of nobody, while one with an earlier deadline waited for that CPU; how many pairs of
/// a slice and an open job met.
fn earliest_first(jobs: &[Job], threads: &[ThreadSpec], seen: &Everything) -> Result<usize, TestCaseError> {
    let deadline = |thread: usize, arrival: u64| arrival + jobs[thread].0;
    let mut met = 0;
    for slice in &seen.slices {
        let running = seen.activations.iter().find(|job| {
            slice.level == Level::Thread
                && job.thread == Some(slice.index)
                && job.start <= slice.start
                && job.end >= slice.end
        });
        // A job that is not done by the end has no activation.
        if slice.level == Level::Thread && running.is_none() {
            continue;
        }
        for open in &seen.activations {
            let thread = open.thread.unwrap() as usize;
            // The first of the thread's jobs that is not done.
            let first = seen
                .activations
                .iter()
                .filter(|job| job.thread == open.thread && job.end > slice.start)
                .map(|job| job.unit.arrival)
                .min();
            if open.unit.arrival > slice.start || open.end <= slice.start || first != Some(open.unit.arrival) {
                continue;
            }
            if !threads[thread].migrates && threads[thread].cpu != slice.cpu as usize {
                continue;
            }
            let runs = seen.slices.iter().any(|other| {
                other.level == Level::Thread
                    && other.index as usize == thread
                    && other.start < slice.end
                    && other.end > slice.start
            });
            let before = running.is_none_or(|job| {
                deadline(thread, open.unit.arrival) < deadline(job.thread.unwrap() as usize, job.unit.arrival)
            });
            met += 1;
            prop_assert!(runs || !before, "{slice:?} while {open:?} waited");
        }
    }
    Ok(met)
}

/// Dhall and Liu, 1978: little more than one CPU's worth of work misses deadlines on two under global EDF, and none if
/// the heavy task has a CPU of its own.
#[test]
fn a_heavy_task_beside_light_ones_misses_under_global_edf_alone() {
    let light = (100, 0, 10);
    let heavy = (105, 0, 100);
    let edf = |job: Job| migrating(Policy::EarliestDeadline { deadline: job.0 }, job);
    let global = vec![edf(light), edf(light), edf(heavy)];
    let mut partitioned = global.clone();
    for (thread, cpu) in partitioned.iter_mut().zip([0, 0, 1]) {
        (thread.migrates, thread.cpu) = (false, cpu);
    }
    let late = |threads: Vec<ThreadSpec>| {
        let (_, seen) = run(2, threads);
        let heavy: Vec<_> = seen.activations.iter().filter(|done| done.thread == Some(2)).collect();
        (heavy.iter().filter(|done| done.response() > 105).count(), heavy.len())
    };
    let (missed, all) = late(global);
    assert!(missed > 0 && all > 10, "{missed} of {all}");
    let (missed, all) = late(partitioned);
    assert!(missed == 0 && all > 10, "{missed} of {all}");
    let task = |(period, _, compute): Job| Task { period, compute, deadline: period };
    assert!(global_edf_admitted(&[task(light), task(light), task(heavy)], 2).is_err());
    assert!(edf_feasible(&[task(light), task(light)]).is_ok() && edf_feasible(&[task(heavy)]).is_ok());
}

/// Three that never stop share two CPUs equally: they take turns across CPUs.
#[test]
fn spinners_take_turns_across_cpus() {
    let threads = (0..3).map(|_| ThreadSpec { migrates: true, ..ThreadSpec::spinner("spin", 8) }).collect();
    let mut engine = Engine::new(MachineSpec { cpus: 2, quantum: 50, threads, ..MachineSpec::default() }).unwrap();
    engine.run(60_000, &mut Everything::default());
    for thread in 0..3 {
        let had = engine.thread_time(thread);
        assert!(had.abs_diff(40_000) <= 50, "thread {thread} had {had} of 40,000");
        assert!(engine.migrations(thread) > 100, "thread {thread} moved {} times", engine.migrations(thread));
    }
}

/// A server of `SCHED_DEADLINE` that migrates has its budget in each period, wherever it runs; both CPUs together admit
/// 190 percent, of which no single thread has more than one CPU.
#[test]
fn floating_budgets_migrate() {
    let server = |runtime| {
        let mut thread = ThreadSpec::spinner("server", 8);
        thread.policy = Policy::Deadline { runtime, deadline: 100, period: 100, reclaim: false, tick: None };
        thread.migrates = true;
        thread
    };
    let (engine, _) = run(2, vec![server(60), server(60), server(60)]);
    for thread in 0..3 {
        let had = engine.thread_time(thread);
        assert!(had.abs_diff(LENGTH * 60 / 100) <= 60, "server {thread} had {had}");
    }
    let spec = MachineSpec { cpus: 2, threads: vec![server(70), server(70), server(60)], ..MachineSpec::default() };
    let refused = Engine::new(spec).unwrap_err().to_string();
    assert!(refused.contains("100.0 percent of 2 CPUs"), "{refused}");
}
