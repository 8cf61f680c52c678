//! Theory against the machine: worst cases never exceed what analysis says, and reach it at a critical instant.

use proptest::prelude::*;
use punctual_sim::Engine;
use punctual_sim::cost::Cost;
use punctual_sim::machine::{Activity, MachineSpec, Policy, ThreadSpec};
use punctual_sim::observe::{Activation, Everything, Level, Observer};
use punctual_sim::theory::{Task, admit, edf_feasible, response_times};
use punctual_sim::time::NEVER;

#[derive(Default)]
struct Worst(Vec<u64>, Vec<u64>);

impl Observer for Worst {
    fn activation(&mut self, activation: &Activation) {
        let thread = activation.thread.unwrap() as usize;
        self.0[thread] = self.0[thread].max(activation.response());
        if activation.unit.sequence == 0 {
            self.1[thread] = activation.response();
        }
    }
}

fn run(threads: Vec<ThreadSpec>, length: u64) -> Worst {
    let mut worst = Worst(vec![0; threads.len()], vec![NEVER; threads.len()]);
    let spec = MachineSpec { threads, quantum: NEVER, ..MachineSpec::default() };
    Engine::new(spec).unwrap().run(length, &mut worst);
    worst
}

fn periodic(policy: Policy, period: u64, offset: u64, compute: u64) -> ThreadSpec {
    ThreadSpec::new("task", policy, Activity::Periodic { period, offset }, Cost::constant(compute))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn fixed_priorities_reach_and_never_exceed_the_analysis(
        raw in prop::collection::vec((10..200u64, 1..60u64, 0..100u64), 1..6), monotonic: bool,
    ) {
        let mut tasks: Vec<(Task, u64)> = raw.iter()
            .map(|&(period, compute, offset)| (Task { period, compute: compute.min(period), deadline: period }, offset))
            .collect();
        if monotonic {
            // Of two with the same period, the one that came first goes first, which the analysis does not know.
            tasks.sort_by_key(|(task, _)| task.period);
            tasks.dedup_by_key(|(task, _)| task.period);
        }
        let plain: Vec<Task> = tasks.iter().map(|(task, _)| *task).collect();
        let bounds = response_times(&plain);
        // Up to the first task that cannot keep up: below it, backlog makes the analysis say nothing.
        let kept = bounds.iter().take_while(|bound| bound.is_some()).count();
        let threads = |released_together: bool| tasks.iter().enumerate().take(kept).map(|(rank, (task, offset))| {
            let policy = if monotonic { Policy::RateMonotonic { period: task.period } } else { Policy::Priority(90 - rank as u8) };
            periodic(policy, task.period, if released_together { 0 } else { *offset }, task.compute)
        }).collect::<Vec<_>>();
        let together = run(threads(true), 20_000);
        let anyhow = run(threads(false), 20_000);
        for (rank, bound) in bounds.iter().take(kept).enumerate() {
            let bound = bound.unwrap();
            prop_assert_eq!(together.1[rank], bound, "the first job of {} meets a critical instant", rank);
            prop_assert!(together.0[rank] <= bound && anyhow.0[rank] <= bound, "{} > {bound}", anyhow.0[rank]);
        }
    }

    #[test]
    fn edf_meets_every_deadline_exactly_when_demand_allows(
        raw in prop::collection::vec((5..60u64, 1..30u64, 1..60u64), 1..5),
    ) {
        let tasks: Vec<Task> = raw.iter().map(|&(period, compute, deadline)| {
            let compute = compute.min(period);
            Task { period, compute, deadline: deadline.clamp(compute, period) }
        }).collect();
        let threads: Vec<ThreadSpec> = tasks.iter()
            .map(|task| periodic(Policy::EarliestDeadline { deadline: task.deadline }, task.period, 0, task.compute))
            .collect();
        let worst = run(threads.clone(), 60_000);
        let met = tasks.iter().zip(&worst.0).all(|(task, worst)| *worst <= task.deadline);
        let feasible = edf_feasible(&tasks);
        let overload: f64 = tasks.iter().map(|task| task.compute as f64 / task.period as f64).sum();
        if feasible.is_ok() {
            prop_assert!(met, "{tasks:?}: {:?}", worst.0);
        } else if !(1.0..1.05).contains(&overload) {
            // Just above a whole CPU, the backlog may need longer than the run to show.
            prop_assert!(!met, "{tasks:?}: {feasible:?}");
        }
        let spec = MachineSpec { threads, ..MachineSpec::default() };
        prop_assert_eq!(admit(&spec).is_ok(), feasible.is_ok());
    }

    /// A floating budget: in any window of two periods at least one runtime, beside other budgets up to 95 percent
    /// and above every fixed priority; never more than its share plus one runtime.
    #[test]
    fn floating_budgets_get_their_share_and_no_more(
        raw in prop::collection::vec((1..10u64, 20..80u64), 1..5), windows in prop::collection::vec(0..15_000u64, 20),
    ) {
        let mut total = 0.0;
        let servers: Vec<(u64, u64)> = raw.into_iter().filter(|&(runtime, period)| {
            let share = runtime as f64 / period as f64;
            total += share;
            total <= 0.95
        }).collect();
        let mut threads: Vec<ThreadSpec> = servers.iter().map(|&(runtime, period)| {
            let mut thread = ThreadSpec::spinner("server", 1);
            thread.policy = Policy::Deadline { runtime, deadline: period, period, reclaim: false, tick: None };
            thread
        }).collect();
        threads.push(ThreadSpec::spinner("competitor", 99));
        let mut seen = Everything::default();
        let mut engine = Engine::new(MachineSpec { threads, ..MachineSpec::default() }).unwrap();
        engine.run(20_000, &mut seen);
        for (index, &(runtime, period)) in servers.iter().enumerate() {
            for &start in &windows {
                let end = start + 2 * period;
                let got: u64 = seen.slices.iter()
                    .filter(|s| s.level == Level::Thread && s.index == index as u32 && s.end > start && s.start < end)
                    .map(|s| s.end.min(end) - s.start.max(start)).sum();
                prop_assert!(got >= runtime, "{got} < {runtime} in {start}..{end}");
            }
            let most = 20_000 * runtime / period + runtime + 1;
            prop_assert!(engine.thread_time(index) <= most);
        }
    }

    /// Enforced at ticks only, a budget is overrun by at most a tick; reclaiming uses what others leave.
    #[test]
    fn ticks_overrun_by_a_tick_and_reclaiming_takes_what_is_left(runtime in 2..10u64, tick in 2..15u64) {
        let server = |reclaim, tick| {
            let mut thread = ThreadSpec::spinner("server", 1);
            thread.policy = Policy::Deadline { runtime, deadline: 50, period: 50, reclaim, tick };
            let mut engine = Engine::new(MachineSpec { threads: vec![thread], ..MachineSpec::default() }).unwrap();
            let mut seen = Everything::default();
            engine.run(50_000, &mut seen);
            let longest = seen.slices.iter().filter(|s| s.level == Level::Thread).map(|s| s.end - s.start).max().unwrap();
            (engine.thread_time(0), longest)
        };
        let (exact, longest) = server(false, None);
        prop_assert_eq!((exact, longest), (runtime * 1000, runtime));
        prop_assert!(server(false, Some(tick)).1 < runtime + tick);
        let (reclaimed, _) = server(true, None);
        // Alone, a server of share u uses its budget at the rate u + 5 percent: the kernel's formula.
        let share = runtime as f64 / 50.0;
        let expected = 50_000.0 * share / (share + 0.05);
        prop_assert!((reclaimed as f64 / expected - 1.0).abs() < 0.05, "{reclaimed} {expected}");
    }
}
